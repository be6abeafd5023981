//! What was found, one line each, the worst first.

use super::Show;
use crate::answers::About;
use crate::check::Report;
use crate::cli::Printed;
use crate::output::{escape, Terminal};

impl Show for Report {
    fn show(&self, _: &About, _: &Printed, _: Terminal) -> Result<String, String> {
        // A name may be whatever its owner likes.
        Ok(self.text().lines().map(|line| escape::terminal(line, false) + "\n").collect())
    }
}

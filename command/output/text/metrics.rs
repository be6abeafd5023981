//! Metrics are text already: what Prometheus reads.

use super::Show;
use crate::answers::metrics::Answer;
use crate::answers::About;
use crate::cli::Printed;
use crate::output::Terminal;

impl Show for Answer {
    fn show(&self, _: &About, _: &Printed, _: Terminal) -> Result<String, String> {
        Ok(self.to_string())
    }
}

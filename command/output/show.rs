//! What showing an answer as text takes; `text` of each question does it.

use super::page::{Page, Terminal};
use super::table::{Form, Table};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;

/// An answer that can be shown as text.
pub trait Show {
    /// Shows it.
    ///
    /// # Errors
    /// A column is asked for that there is not.
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error>;
}

/// A table for programs; `None` where one for people is asked for.
///
/// # Errors
/// A column is asked for that there is not.
pub fn for_programs(
    mut table: Table,
    printed: &Printed,
    terminal: Terminal,
) -> Result<(Table, Option<String>), Error> {
    if !printed.format.is_empty() {
        table.choose(&printed.format)?;
    }
    let text =
        (printed.form() != Form::Columns).then(|| table.show(printed.form(), !printed.noheader, terminal));
    Ok((table, text))
}

/// What is hidden or not known, and what all this is about, in one line.
pub fn close(page: &mut Page, about: &About) {
    if !about.hidden.is_empty() || !about.notes.is_empty() {
        page.ready("\n");
        about.hidden.iter().chain(&about.notes).for_each(|note| page.warning(note));
    }
    page.ready("\n");
    page.paragraph(&about.in_words());
}

/// A number where there is one.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), super::numbers::number)
}

//! What is needed to show an answer as text. The `text` module of each question does that.

use std::path::Path;

use super::html::parts;
use super::page::{Page, Terminal};
use super::printout::Printout;
use super::table::{Form, Table};
use crate::answers::{About, Answer, Report};
use crate::error::Error;
use crate::files;
use crate::model::Model;
use crate::options::{AsJson, Printed};

/// An answer that can be shown as text.
pub trait Show {
    /// Shows it.
    ///
    /// # Errors
    /// A column is asked for that there is not.
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error>;
}

/// An answer whose text for people has parts, which a page for a browser has, too.
pub trait Paged {
    /// The text for people.
    ///
    /// # Errors
    /// A column is asked for that there is not.
    fn pages(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<Page, Error>;
}

/// Writes the answer as a page for a browser.
///
/// # Errors
/// A column is asked for that there is not, or the file cannot be written.
pub fn write_page<A: Answer + Paged>(
    model: &Model<'_>,
    answer: A,
    printed: &Printed,
    (title, file): (&str, &Path),
) -> Result<Printout, Error> {
    let report = Report::new(model, answer);
    let page = report.answer.pages(&report.about, printed, Terminal::PLAIN)?;
    files::write_text(file, &parts::page(title, &report, page.parts())?)?;
    Ok(Printout::default())
}

/// An answer about a cluster, in the form that is asked for.
///
/// # Errors
/// A column is asked for that there is not.
pub fn printout<A: Answer + Show>(
    model: &Model<'_>,
    answer: A,
    form: AsJson,
    printed: &Printed,
    terminal: Terminal,
) -> Result<Printout, Error> {
    let terminal = printed.on(terminal);
    printout_as(model, answer, form, printed, |answer, about| answer.show(about, printed, terminal))
}

/// The same, shown in another way.
///
/// # Errors
/// As [`printout`].
pub fn printout_as<A: Answer>(
    model: &Model<'_>,
    answer: A,
    form: AsJson,
    printed: &Printed,
    show: impl FnOnce(&A, &About) -> Result<String, Error>,
) -> Result<Printout, Error> {
    let report = Report::new(model, answer);
    if form.json {
        return Printout::json(&report);
    }
    let shown = show(&report.answer, &report.about)?;
    // Programs read a table.
    let age = report.about.age_in_words().filter(|_| printed.form() == Form::Columns);
    Ok(Printout::text(match age {
        Some(age) => format!("{age}\n{shown}"),
        None => shown,
    }))
}

/// A table for programs; `None` if one for people is asked for.
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
    page.about(&about.in_words());
}

/// A number where there is one.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), super::numbers::number)
}

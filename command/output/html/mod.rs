//! Shows answers as one page that needs no network: the file has everything, and its Content-Security-Policy admits nothing else.
//!
//! All text passes through [`Shown`], because users choose names. Styles and the script are separate files in this directory. The page has
//! no `style` attributes and no handlers in attributes, because the policy would block them too.
//!
//! ```
//! use multifactor2_command::output::html::{svg, Cell, Column, Page, HtmlRow, Table};
//!
//! let mut table = Table::new("Accounts", &[Column::text("Account"), Column::number("RawShares")]);
//! table.row(HtmlRow::new("chem").cell(Cell::number(30.0, "30")));
//! let page = Page::new("Shares", "Cluster pages, 12:00.")
//!     .section("Accounts")
//!     .chart(&svg::bars("Shares", "In percent.", &["shares"], &[("chem".to_owned(), vec![30.0])], svg::percent))
//!     .table(&table)
//!     .finish();
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! ```

mod page;
pub mod parts;
pub mod svg;
mod table;

pub use page::Page;
pub use table::{Cell, Column, HtmlRow, Table};

use maud::Render;

use super::escape;

/// Text for HTML or SVG: markup, control and bidirectional characters are escaped.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'t>(pub &'t str);

impl Render for Shown<'_> {
    fn render_to(&self, buffer: &mut String) {
        escape::terminal(self.0, false).as_ref().render_to(buffer);
    }
}

/// The colours and their use in charts, also for a picture by itself.
const COLOURS: &str = include_str!("colours.css");

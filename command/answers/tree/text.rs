//! Shows the tree as an indented table.

use crate::answers::tree::{Tree, TreeRow};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::number;
use crate::output::show::{close, for_programs, optional, Show};
use crate::output::{Described, Form, Page, Table, Terminal};

/// The columns of the table.
pub const COLUMNS: &[Described] = &[
    ("Book", "The book; only if the settings have some"),
    ("Account", "The account, indented by its depth"),
    ("User", "The user, with the partition of the association in brackets; empty for an account"),
    ("RawShares>", "Raw shares, or parent"),
    ("NormShares>", "S: normalised shares of the algorithm in force, from 0 to 1"),
    ("RawUsage>", "Raw usage: seconds times billing, decayed"),
    ("WindowUsage>", "Only with TreeUsage=window, in place of RawUsage for shares: the weighted usage of all windows"),
    ("NormUsage>", "U: normalised usage, from 0 to 1"),
    ("EffectvUsage>", "Effective usage"),
    ("LevelFS>", "How far below its share it is: S / U; above 1, less was used than the share"),
    ("Tickets>", "Its tickets; in brackets if no job below it waits"),
    ("FairShare>", "The fair-share factor of its next job, from 0 to 1; of users only"),
    ("Waiting>", "Jobs that wait"),
    ("Running>", "Jobs that run"),
];

impl Show for Tree {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let has_books = self.rows.iter().any(|row| row.book.is_some());
        let has_windows = self.rows.iter().any(|row| row.window_usage.is_some());
        let is_here = |(name, _): &&Described| match *name {
            "Book" => has_books,
            "WindowUsage>" => has_windows,
            _ => true,
        };
        let mut table = Table::of(COLUMNS.iter().filter(is_here));
        let is_for_people = printed.form() == Form::Columns;
        self.rows.iter().for_each(|row| table.row(cells(row, has_windows, is_for_people)));
        let (table, text) = for_programs(table, printed, terminal)?;
        if let Some(text) = text {
            return Ok(text);
        }
        let mut page = Page::new(terminal);
        let has_level_fs = self.rows.iter().any(|row| row.level_fs.is_some());
        let of_level_fs = if has_level_fs { "LevelFS above 1: less used than the share. " } else { "" };
        let has_tickets = self.rows.iter().any(|row| row.tickets.is_some());
        let of_tickets = if has_tickets { " Tickets in brackets: no job waits there." } else { "" };
        page.headline(&format!("{of_level_fs}FairShare: the factor of the next job, at most 1.{of_tickets}"));
        if has_windows {
            page.paragraph("NormUsage, EffectvUsage, LevelFS and FairShare use WindowUsage (TreeUsage=window), not RawUsage.");
        }
        page.ready("\n");
        page.ready(&table.without_unknown().show(Form::Columns, !printed.noheader, terminal));
        close(&mut page, about);
        Ok(page.finish())
    }
}

fn cells(row: &TreeRow, has_windows: bool, is_for_people: bool) -> Vec<String> {
    let indent = " ".repeat(row.depth);
    let tickets = match row.tickets {
        Some(tickets) if row.active || !is_for_people => number(tickets),
        Some(tickets) => format!("({})", number(tickets)),
        None => "-".to_owned(),
    };
    let user = match row.partition.as_str() {
        "" => row.user.clone(),
        partition => format!("{} ({partition})", row.user),
    };
    let book = row.book.clone();
    let in_windows = row.window_usage.map_or_else(|| "-".to_owned(), |usage| format!("{usage:.0}"));
    let first = [
        format!("{indent}{}", row.account),
        user,
        row.shares.map_or_else(|| "parent".to_owned(), |shares| shares.to_string()),
        number(row.shares_norm),
        format!("{:.0}", row.usage),
    ];
    let cells = [
        number(row.usage_norm),
        number(row.usage_effective),
        optional(row.level_fs),
        tickets,
        optional(row.factor),
        row.waiting.to_string(),
        row.running.to_string(),
    ];
    book.into_iter().chain(first).chain(Some(in_windows).filter(|_| has_windows)).chain(cells).collect()
}

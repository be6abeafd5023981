//! Shows what a change does as a page: before and after, gains and losses by account and user.

use super::{ChangeRow, Group, StandingChange, WhatIf};
use crate::answers::Report;
use crate::error::Error;
use crate::output::html::{svg, Cell, Column, HtmlRow, Page, Table};
use crate::output::numbers::number;

/// How many places of the queue are in a page; more make it slow.
const SHOWN: usize = 5000;

/// As a page.
///
/// # Errors
/// The answer cannot be JSON.
pub fn page(report: &Report<WhatIf>) -> Result<String, Error> {
    let answer = &report.answer;
    let mut page = Page::of("What if", &report.about).lead(&answer.headline()).list(&answer.changes);
    page = answer.remarks.iter().fold(page, |page, remark| page.warning(remark));
    let gains: Vec<f64> = answer.rows.iter().filter_map(|row| row.gain).map(signed).collect();
    page = page.facts(&[
        (
            "Places that move",
            answer.moved.map_or_else(|| "not known".to_owned(), |moved| format!("{moved} of {}", gains.len())),
        ),
        ("Kendall's tau", answer.tau.map_or_else(|| "-".to_owned(), number)),
        ("Accounts that gain", gaining(&answer.accounts, |mean| mean > 0.0)),
        ("Accounts that lose", gaining(&answer.accounts, |mean| mean < 0.0)),
        ("Users that gain", gaining(&answer.users, |mean| mean > 0.0)),
        ("Users that lose", gaining(&answer.users, |mean| mean < 0.0)),
    ]);
    if answer.moved.is_some_and(|moved| moved > 0) {
        let places = svg::Axis { name: "places forward", unit: |places| format!("{places:.0}") };
        page = page.section("How far places move").chart(&svg::histogram(
            "Places of the queue by how far they move",
            "To the right: forward, so sooner. To the left: backward.",
            places,
            &gains,
            21,
        ));
    }
    for (title, name, groups) in [("Accounts", "Account", &answer.accounts), ("Users", "User", &answer.users)]
    {
        if !groups.is_empty() {
            page = page.section(title).table(&of_groups(title, name, groups));
        }
    }
    if !answer.standings.is_empty() {
        page = page.section("Shares and usage").table(&of_standings(&answer.standings));
    }
    if !answer.rows.is_empty() {
        page = page.section("The queue").table(&of_rows(&answer.rows));
    }
    match answer.rows.len().checked_sub(SHOWN + 1) {
        None => page.data(report).map(Page::finish),
        Some(more) => {
            Ok(page.paragraph(&format!("And {} more: see them with --csv or --json.", more + 1)).finish())
        }
    }
}

#[allow(clippy::cast_precision_loss)] // places of a queue
fn signed(places: i64) -> f64 {
    places as f64
}

#[allow(clippy::cast_precision_loss)] // places of a queue
fn whole(count: usize) -> Cell {
    Cell::number(count as f64, &count.to_string())
}

fn gaining(groups: &[Group], is_counted: impl Fn(f64) -> bool) -> String {
    groups.iter().filter(|group| is_counted(group.mean)).count().to_string()
}

fn of_groups(title: &str, name: &'static str, groups: &[Group]) -> Table {
    let mut table = Table::new(
        &format!("{title}, largest gain first"),
        &[
            Column::text(name),
            Column::number("Places").about("Its places that are in both queues."),
            Column::number("Forward").about("How many of them move forward, so sooner."),
            Column::number("Backward").about("How many of them move backward."),
            Column::number("Mean").about("How far they move on average; + is forward."),
            Column::number("Furthest forward").about("The largest move forward."),
            Column::number("Furthest backward").about("The largest move backward."),
        ],
    );
    for group in groups {
        table.row(
            HtmlRow::new(&group.name)
                .cell(whole(group.places))
                .cell(whole(group.forward))
                .cell(whole(group.backward))
                .cell(Cell::change(group.mean, &number(group.mean), group.mean > 0.0))
                .cell(Cell::change(signed(group.furthest_forward), &group.furthest_forward.to_string(), true))
                .cell(Cell::change(
                    signed(group.furthest_backward),
                    &group.furthest_backward.to_string(),
                    false,
                )),
        );
    }
    table
}

fn of_standings(changes: &[StandingChange]) -> Table {
    let mut table = Table::new(
        "Shares, usage and factors that the change affects",
        &[
            Column::text("Account or user"),
            Column::text("Account"),
            Column::number("NormShares before"),
            Column::number("NormShares after"),
            Column::number("RawUsage before"),
            Column::number("RawUsage after"),
            Column::number("FairShare before"),
            Column::number("FairShare after"),
        ],
    );
    for change in changes {
        let name = if change.user.is_empty() { &change.account } else { &change.user };
        let name = match change.partition.as_str() {
            "" => name.clone(),
            partition => format!("{name} ({partition})"),
        };
        let line = HtmlRow::new(&name);
        let line = if change.user.is_empty() { line.strong() } else { line };
        table.row(
            line.cell(Cell::text(&change.account))
                .cell(Cell::number(change.shares_before, &number(change.shares_before)))
                .cell(Cell::number(change.shares_after, &number(change.shares_after)))
                .cell(Cell::number(change.usage_before, &format!("{:.0}", change.usage_before)))
                .cell(Cell::number(change.usage_after, &format!("{:.0}", change.usage_after)))
                .cell(Cell::optional(change.factor_before))
                .cell(Cell::optional(change.factor_after)),
        );
    }
    table
}

fn of_rows(rows: &[ChangeRow]) -> Table {
    let mut table = Table::new(
        "The queue after the change",
        &[
            Column::text("Job"),
            Column::number("Position"),
            Column::number("Before"),
            Column::number("Gain").about(
                "How many places it moves forward; new: submitted by the change; gone: no longer there.",
            ),
            Column::text("User"),
            Column::text("Account"),
            Column::text("Partition"),
            Column::text("QOS"),
            Column::number("Priority"),
            Column::number("Priority before"),
            Column::number("FairShare"),
            Column::number("FairShare before"),
        ],
    );
    let priority = |priority: Option<u32>| {
        priority.map_or_else(Cell::none, |priority| Cell::number(f64::from(priority), &priority.to_string()))
    };
    for row in rows.iter().take(SHOWN) {
        let gain = match row.gain {
            Some(gain) => Cell::change(signed(gain), &gain.to_string(), gain > 0),
            None => Cell::word(if row.submitted { "new" } else { "gone" }),
        };
        table.row(
            HtmlRow::new(&row.job)
                .cell(row.position_after.map_or_else(Cell::none, whole))
                .cell(row.position_before.map_or_else(Cell::none, whole))
                .cell(gain)
                .cell(Cell::text(&row.user))
                .cell(Cell::text(&row.account))
                .cell(Cell::text(&row.partition))
                .cell(Cell::text(&row.qos))
                .cell(priority(row.priority_after))
                .cell(priority(row.priority_before))
                .cell(Cell::optional(row.fair_share_after))
                .cell(Cell::optional(row.fair_share_before)),
        );
    }
    table
}

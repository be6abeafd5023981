//! Shows the tree as a page, and as a picture.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::targets::{self, Targets};
use super::{Tree, TreeRow};
use crate::answers::grants::GrantRow;
use crate::answers::Report;
use crate::error::Error;
use crate::model::Algorithm;
use crate::output::html::{svg, Cell, Column, HtmlRow, Page, Table};
use crate::output::numbers::{count, number, percent, time};

/// [`COLUMNS`] with the usage that shares use instead of raw usage.
fn columns(has_windows: bool) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if has_windows {
        let about = "Usage for its shares (TreeUsage=window): the weighted usage of all windows.";
        columns.insert(RAW_USAGE + 1, Column::number("WindowUsage").about(about));
    }
    columns
}

/// Where `RawUsage` is.
const RAW_USAGE: usize = 4;

const COLUMNS: [Column; 12] = [
    Column::text("Account or user"),
    Column::bars("Share, usage").about(
        "Its part of the shares (blue, above) and of the usage (orange, below) of the account that it is in. A longer orange bar: it has used more than its share.",
    ),
    Column::number("RawShares").about("Shares as sacctmgr has them; parent: its jobs use those of the account that it is in."),
    Column::number("NormShares").about("Its part of the shares, from 0 to 1: of the whole cluster; with Fair Tree of its siblings."),
    Column::number("RawUsage").about("What it has used, in seconds times billing, decayed."),
    Column::number("NormUsage").about("Its part of all usage, from 0 to 1."),
    Column::number("EffectvUsage").about("The usage that counts, with that of the accounts above."),
    Column::number("LevelFS").about("Above 1 it has used less than its share, below 1 more."),
    Column::number("Tickets").about("Its part of the tickets; in brackets what it would have, if no job waits."),
    Column::number("FairShare").about("The fair-share factor of the next job of a user, from 0 to 1."),
    Column::number("Waiting").about("Waiting jobs and tasks, with those below."),
    Column::number("Running").about("Running jobs, with those below."),
];

/// With more rows than this, only two levels of a page are open at first.
const OPEN: usize = 200;

/// How many accounts are in the chart.
const IN_CHART: usize = 12;

/// As a page, with how far usage is from targets where there are some.
///
/// # Errors
/// The answer cannot be JSON.
pub fn page(report: &Report<Tree>, of_targets: &Targets) -> Result<String, Error> {
    let rows = &report.answer.rows;
    let users = rows.iter().filter(|row| !row.user.is_empty()).count();
    let sum =
        |of: fn(&TreeRow) -> u64| rows.iter().filter(|row| row.depth == 0).map(of).sum::<u64>().to_string();
    let mut page = Page::of("Shares and usage", &report.about);
    let first = first_level(rows);
    if let Some(sentence) = ends(&first) {
        page = page.lead(&sentence);
    }
    page = page.facts(&[
        ("Accounts", (rows.len() - users).to_string()),
        ("Associations of users", users.to_string()),
        ("Waiting jobs", sum(|row| row.waiting)),
        ("Running jobs", sum(|row| row.running)),
    ]);
    if first.len() > 1 {
        page = page.section("The first level").chart(&chart(&first));
    }
    let open = if rows.len() > OPEN { 2 } else { usize::MAX };
    let has_windows = rows.iter().any(|row| row.window_usage.is_some());
    let columns = columns(has_windows);
    let mut table = Table::new("Shares, usage and standing by account and user", &columns).open(open);
    let parts = Parts::of(report);
    for row in rows {
        table.row(line(row, has_windows, &parts));
    }
    page = page.section("Accounts and users").table(&table);
    if !report.answer.grants.is_empty() {
        page = page.section("Grants").table(&grants(&report.answer.grants));
    }
    Ok(targets::page::add(page, of_targets).data(report)?.finish())
}

const GRANT_COLUMNS: [Column; 9] = [
    Column::text("Whose"),
    Column::bars("Time, usage").about(
        "Of this period, what is over (blue, above) and what is used of all that may be used in it (orange, below). A longer orange bar: it is used faster than evenly.",
    ),
    Column::text("Unit").about("What is granted. Amounts are in hours of it."),
    Column::text("State").about("What was found at the last calculation."),
    Column::number("Granted").about("For this period."),
    Column::number("Used").about("In this period."),
    Column::number("Left").about("Of this period, with what was carried and what may be borrowed."),
    Column::number("Running").about("What running jobs use in an hour."),
    Column::text("Runs out").about("At the rate of the last seven days, before the period is over."),
];

/// How grants stand.
fn grants(all: &[GrantRow]) -> Table {
    let mut table = Table::new("Grants: what may be used and what was used", &GRANT_COLUMNS);
    for row in all {
        let (over, used) = row.parts();
        let amount = |value: f64| Cell::number(value, &number(value));
        let line = HtmlRow::new(&row.whose()).cell(if row.is_counted() { Cell::bars(over, used) } else { Cell::none() });
        table.row(
            line.cell(Cell::text(&row.unit))
                .cell(Cell::text(row.state_in_words()))
                .cell(amount(row.granted))
                .cell(amount(row.used))
                .cell(amount(row.left))
                .cell(amount(row.running))
                .cell(row.ends_at.map_or_else(Cell::none, |at| Cell::text(&time(at)))),
        );
    }
    table
}

/// As a picture: all rows, with bars.
pub fn picture(report: &Report<Tree>) -> String {
    let rows = &report.answer.rows;
    let parts = Parts::of(report);
    let lines: Vec<svg::Branch> = rows
        .iter()
        .map(|row| {
            let (shares, usage) = parts.of_row(row);
            svg::Branch {
                level: row.depth,
                name: name(row),
                is_strong: row.user.is_empty(),
                parts: [shares, usage],
                shown: row.level_fs.map(number).unwrap_or_default(),
            }
        })
        .collect();
    svg::tree(
        "Shares and usage",
        "Parts of the account above; at the end LevelFS, above 1: less used than the share.",
        ["share", "usage"],
        &lines,
    )
    .file(&report.about.in_words())
}

/// The part of shares and usage that a row has of the row above it.
struct Parts<'r> {
    above: HashMap<u32, &'r TreeRow>,
    /// Fair Tree normalises shares among those beside each other, the others in the whole cluster.
    is_by_level: bool,
}

impl<'r> Parts<'r> {
    fn of(report: &'r Report<Tree>) -> Self {
        Self {
            above: report.answer.rows.iter().map(|row| (row.id, row)).collect(),
            is_by_level: report.about.algorithm == Algorithm::FairTree,
        }
    }

    fn of_row(&self, row: &TreeRow) -> (f64, f64) {
        let part = |of: f64, all: f64| if all > 0.0 { of / all } else { 0.0 };
        if row.parent == 0 {
            return (1.0, if row.counted() > 0.0 { 1.0 } else { 0.0 });
        }
        match self.above.get(&row.parent).filter(|_| row.depth > 0) {
            Some(above) => {
                let all = if self.is_by_level { 1.0 } else { above.shares_norm };
                (part(row.shares_norm, all), part(row.counted(), above.counted()))
            }
            None => (row.shares_norm, row.usage_norm),
        }
    }
}

fn name(row: &TreeRow) -> String {
    let name = if row.user.is_empty() { &row.account } else { &row.user };
    match row.partition.as_str() {
        "" => name.clone(),
        partition => format!("{name} ({partition})"),
    }
}

fn line(row: &TreeRow, has_windows: bool, parts: &Parts<'_>) -> HtmlRow {
    let (shares, usage) = parts.of_row(row);
    let line = HtmlRow::new(&name(row)).level(row.depth);
    let line = if row.user.is_empty() { line.strong() } else { line.note(&row.account) };
    let tickets = |tickets: f64| if row.active { number(tickets) } else { format!("({})", number(tickets)) };
    let whole = |count: u64| Cell::word(&count.to_string());
    let whole_number = |value: f64| Cell::number(value, &format!("{value:.0}"));
    let line = line
        .cell(Cell::bars(shares, usage))
        .cell(row.shares.map_or_else(
            || Cell::word("parent"),
            |shares| Cell::number(f64::from(shares), &shares.to_string()),
        ))
        .cell(Cell::number(row.shares_norm, &number(row.shares_norm)))
        .cell(whole_number(row.usage));
    let line = if has_windows { line.cell(row.window_usage.map_or_else(Cell::none, whole_number)) } else { line };
    line.cell(Cell::number(row.usage_norm, &number(row.usage_norm)))
        .cell(Cell::number(row.usage_effective, &number(row.usage_effective)))
        .cell(Cell::optional(row.level_fs))
        .cell(row.tickets.map_or_else(Cell::none, |value| Cell::number(value, &tickets(value))))
        .cell(Cell::optional(row.factor))
        .cell(whole(row.waiting))
        .cell(whole(row.running))
}

fn first_level(rows: &[TreeRow]) -> Vec<&TreeRow> {
    rows.iter().filter(|row| row.depth == 1).collect()
}

/// Who is furthest from its share, in both directions.
fn ends(first: &[&TreeRow]) -> Option<String> {
    let above = |row: &&&TreeRow| row.usage_norm - row.shares_norm;
    let most = first.iter().max_by(|a, b| above(a).total_cmp(&above(b)))?;
    let least = first.iter().min_by(|a, b| above(a).total_cmp(&above(b)))?;
    let both = |row: &TreeRow| {
        format!("{} of the usage, {} of the shares", percent(row.usage_norm), percent(row.shares_norm))
    };
    (above(&most) > 0.005 && above(&least) < -0.005).then(|| {
        format!(
            "{} is furthest above its share, with {}; {} is furthest below it, with {}.",
            name(most),
            both(most),
            name(least),
            both(least)
        )
    })
}

fn chart(first: &[&TreeRow]) -> svg::Chart {
    let mut largest = first.to_vec();
    let length = |row: &TreeRow| row.shares_norm.max(row.usage_norm);
    largest.sort_by(|a, b| length(b).total_cmp(&length(a)));
    let rest = largest.len().saturating_sub(IN_CHART);
    let mut desc = "In percent of the whole cluster.".to_owned();
    if rest > 0 {
        let _ =
            write!(desc, " The {IN_CHART} largest; {} in the table.", count(rest, "other is", "others are"));
    }
    let items: Vec<(String, Vec<f64>)> = largest
        .iter()
        .take(IN_CHART)
        .map(|row| (name(row), vec![100.0 * row.shares_norm, 100.0 * row.usage_norm]))
        .collect();
    svg::bars("Share against usage", &desc, &["share", "usage"], &items, svg::percent)
}

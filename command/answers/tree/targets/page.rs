//! Shows targets and windows in the page of the tree.

use super::{Of, TargetRow, Targets, Windows};
use crate::output::html::{Cell, Column, HtmlRow, Page, Table};
use crate::output::numbers::{number, time};

const TARGETS: [Column; 8] = [
    Column::text("Whose"),
    Column::bars("Usage, target").about(
        "What was used (orange); the mark is the target. A bar that ends before the mark: less was used than the target. A bar that fills the cell: twice the target or more.",
    ),
    Column::text("Type").about("target, floor, ceiling or cap; share for a level of the tree without a line, whose target is its share."),
    Column::number("Target").about("A percentage of all usage, or of what is named with it; or hours of TargetMetric."),
    Column::number("Used").about("In the same unit."),
    Column::number("Distance").about("How far the usage is below the target; negative above it."),
    Column::number("Left").about("Of a cap, in hours of TargetMetric."),
    Column::number("Points").about("What jobs have by it alone, with Parent by all levels down to it; - if that depends on the job."),
];

const WINDOWS: [Column; 7] = [
    Column::text("Whose"),
    Column::bars("Windows").about("What was used in each window: the current one on the left, the highest column is the most that it has used in one."),
    Column::text("Begin").about("When the window begins."),
    Column::number("Used").about("What was used in it, in hours of TargetMetric; in the share tree in hours of billing."),
    Column::number("Factor").about("TargetDecay, in the share tree TreeDecay, to the power of the number of the window."),
    Column::number("Counts").about("Used times factor; next to a name the sum of all windows."),
    Column::number("Percent").about("Of what the usage is compared with."),
];

/// Adds what there is to be said; nothing where there are neither targets nor windows.
pub fn add(mut page: Page, answer: &Targets) -> Page {
    let rows = answer.targets.as_deref().unwrap_or_default();
    if !rows.is_empty() || answer.windows.is_some() {
        let mut table = Table::new("Targets: usage and what it should be", &TARGETS);
        for row in rows {
            table.row(line(row));
        }
        page = page.section("Targets").table(&table);
    }
    if let Some(windows) = &answer.windows {
        page = page.section("Windows").table(&table_of(windows, "Windows: usage and weighted usage of each"));
    }
    if let Some(windows) = &answer.tree_windows {
        let about = "Windows of the share tree: usage and weighted usage of each";
        page = page.section("Windows of the share tree").table(&table_of(windows, about));
    }
    page
}

fn line(row: &TargetRow) -> HtmlRow {
    let unit = match row.of {
        Of::All => "%",
        Of::Book => "% of the book",
        Of::Available => "% of available",
        Of::Siblings => "% of siblings",
        Of::Hours => " h",
    };
    let used = if row.of == Of::Hours { Some(row.used) } else { row.percent };
    let unit_of_used = if row.of == Of::Hours { " h" } else { "%" };
    let bar = used.map_or_else(Cell::none, |used| {
        let part = if row.target > 0.0 { used / row.target / 2.0 } else { f64::from(u8::from(used > 0.0)) };
        Cell::marked(part, if row.target > 0.0 { 0.5 } else { 0.0 })
    });
    HtmlRow::new(&row.whose())
        .cell(bar)
        .cell(Cell::text(&row.type_in_words()))
        .cell(Cell::number(row.target, &format!("{}{unit}", number(row.target))))
        .cell(used.map_or_else(Cell::none, |used| Cell::number(used, &format!("{}{unit_of_used}", number(used)))))
        .cell(Cell::optional(row.distance))
        .cell(Cell::optional(row.left))
        .cell(Cell::optional(row.points))
}

/// With more windows than this of all together, each has its column of the picture, and no row.
const MOST: usize = 5000;

fn table_of(windows: &Windows, about: &str) -> Table {
    let has_rows = windows.rows.len() * windows.factors.len() <= MOST;
    let mut table = Table::new(about, &WINDOWS).open(1);
    for row in &windows.rows {
        let whole = HtmlRow::new(&row.whose()).strong();
        table.row(
            whole
                .cell(Cell::columns(&row.used))
                .cell(Cell::text(""))
                .cell(Cell::none())
                .cell(Cell::none())
                .cell(Cell::number(row.counts, &number(row.counts)))
                .cell(Cell::optional(row.percent)),
        );
        for (age, (used, factor)) in row.used.iter().zip(&windows.factors).enumerate().filter(|_| has_rows) {
            let line = HtmlRow::new(&format!("Window {age}")).level(1);
            table.row(
                line.cell(Cell::text(""))
                    .cell(Cell::text(&time(windows.begin_of(age))))
                    .cell(Cell::number(*used, &number(*used)))
                    .cell(Cell::number(*factor, &number(*factor)))
                    .cell(Cell::number(used * factor, &number(used * factor)))
                    .cell(Cell::optional(row.percent_in(age))),
            );
        }
    }
    table
}

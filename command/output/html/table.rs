//! Tables that can be sorted, searched and folded. On a phone they become a list of cards.

use std::fmt::Write as _;

use maud::{html, Markup};

use super::svg::length;
use super::Shown;
use crate::output::numbers::number;

/// A table with this many rows needs no search.
const FEW: usize = 10;

/// How many rows of a table without levels are shown at first: more are slow to lay out.
const FIRST: usize = 200;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Text,
    Number,
    Bars,
}

/// A column. The first one of a table names its rows.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    about: &'static str,
    kind: ColumnKind,
}

impl Column {
    /// Of text.
    pub const fn text(name: &'static str) -> Self {
        Self { name, about: "", kind: ColumnKind::Text }
    }

    /// Of numbers, on the right.
    pub const fn number(name: &'static str) -> Self {
        Self { name, about: "", kind: ColumnKind::Number }
    }

    /// Of pairs of bars. It cannot be sorted, so put the numbers in separate columns.
    pub const fn bars(name: &'static str) -> Self {
        Self { name, about: "", kind: ColumnKind::Bars }
    }

    /// What it means, for the explanation below the table.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell(Markup);

impl Cell {
    /// Text.
    pub fn text(text: &str) -> Self {
        Self(html! { td { (Shown(text)) } })
    }

    /// A word in a column of numbers.
    pub fn word(text: &str) -> Self {
        Self(html! { td.n { (Shown(text)) } })
    }

    /// A number, and how it is written. It is sorted by what is written where that is a number by itself.
    pub fn number(value: f64, shown: &str) -> Self {
        let is_plain = shown.parse::<f64>().is_ok();
        let value = (!is_plain && value.is_finite()).then_some(value);
        Self(html! { td.n data-v=[value] { (Shown(shown)) } })
    }

    /// A change: more is green, less is red, and it has its sign. `is_good` says which of both is wanted.
    pub fn change(value: f64, shown: &str, is_good: bool) -> Self {
        let class = if value == 0.0 {
            "n"
        } else if is_good {
            "n up"
        } else {
            "n down"
        };
        let sign = if value > 0.0 && !shown.starts_with('+') { "+" } else { "" };
        Self(html! { td class=(class) data-v=(value) { (sign) (Shown(shown)) } })
    }

    /// A number where there is one.
    pub fn optional(value: Option<f64>) -> Self {
        value.map_or_else(Self::none, |value| Self::number(value, &number(value)))
    }

    /// No value.
    pub fn none() -> Self {
        Self(html! { td.n.empty { "-" } })
    }

    /// Two parts from 0 to 1, one above the other. Their numbers must be in other cells: these are for the eye alone.
    pub fn bars(first: f64, second: f64) -> Self {
        Self(html! { td.bars { (pair(first, second)) } })
    }
}

impl Cell {
    /// A part from 0 to 1 as a bar, and a mark. Their numbers must be in other cells.
    pub fn marked(part: f64, mark: f64) -> Self {
        let width = |part: f64| length(100.0 * part, 100.0);
        Self(html! {
            td.bars {
                svg aria-hidden="true" {
                    rect.s1 y="3" width=(width(part)) height="7" {}
                    rect.mark x=(width(mark)) width="2" height="13" {}
                }
            }
        })
    }

    /// Amounts as columns side by side; the largest is as high as the cell. Their numbers must be in other cells.
    #[allow(clippy::cast_precision_loss)] // counts
    pub fn columns(amounts: &[f64]) -> Self {
        const HEIGHT: f64 = 13.0;
        let most = amounts.iter().copied().fold(0.0, f64::max);
        let wide = 100.0 / amounts.len().max(1) as f64;
        let height = |amount: f64| if most > 0.0 && amount > 0.0 { HEIGHT * amount / most } else { 0.0 };
        Self(html! {
            td.bars {
                svg aria-hidden="true" {
                    @for (at, amount) in amounts.iter().enumerate().filter(|(_, amount)| **amount > 0.0) {
                        rect.s1 x=(length(wide * at as f64, 100.0)) y=(format!("{:.2}", HEIGHT - height(*amount)))
                            width=(length(0.9 * wide, 100.0)) height=(format!("{:.2}", height(*amount))) {}
                    }
                }
            }
        })
    }
}

/// Two bars in a cell.
fn pair(first: f64, second: f64) -> Markup {
    let width = |part: f64| length(100.0 * part, 100.0);
    html! {
        svg aria-hidden="true" {
            rect.s0 width=(width(first)) height="6" {}
            rect.s1 y="7" width=(width(second)) height="6" {}
        }
    }
}

/// A row.
#[derive(Clone, Debug)]
pub struct HtmlRow {
    name: String,
    note: String,
    level: usize,
    is_strong: bool,
    cells: Vec<Cell>,
}

impl HtmlRow {
    /// With what is in the first column.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), note: String::new(), level: 0, is_strong: false, cells: Vec::new() }
    }

    /// Where in the tree it is; the first level is 0. A row belongs to the last one before it with a lower level.
    #[must_use]
    pub fn level(self, level: usize) -> Self {
        Self { level, ..self }
    }

    /// What tells it from others of that name where the tree is not seen.
    #[must_use]
    pub fn note(self, note: &str) -> Self {
        Self { note: note.to_owned(), ..self }
    }

    /// Its name is in bold.
    #[must_use]
    pub fn strong(self) -> Self {
        Self { is_strong: true, ..self }
    }

    /// Adds a cell.
    #[must_use]
    pub fn cell(mut self, cell: Cell) -> Self {
        self.cells.push(cell);
        self
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<HtmlRow>,
    open: usize,
}

impl Table {
    /// Without rows. The caption says what it is a table of.
    pub fn new(caption: &str, columns: &[Column]) -> Self {
        Self { caption: caption.to_owned(), columns: columns.to_vec(), rows: Vec::new(), open: usize::MAX }
    }

    /// Adds a row.
    pub fn row(&mut self, row: HtmlRow) {
        self.rows.push(row);
    }

    /// How many levels of a tree are to be seen at first; all if it is not said.
    #[must_use]
    pub fn open(self, levels: usize) -> Self {
        Self { open: levels, ..self }
    }

    /// What the cards on a phone call the numbers of this table.
    pub(super) fn style(&self, id: usize) -> String {
        let mut style = String::new();
        for (at, column) in
            self.columns.iter().enumerate().skip(1).filter(|(_, column)| column.kind != ColumnKind::Bars)
        {
            let name = column.name.replace(['"', '\\', '<'], " ");
            let _ = writeln!(
                style,
                "@media (max-width: 47.99rem) {{ #table{id} td:nth-child({}):not(.bars)::before {{ content: \"{name}\"; }} }}",
                at + 1
            );
        }
        style
    }

    pub(super) fn render(&self, id: usize) -> Markup {
        let is_tree = self.rows.iter().any(|row| row.level > 0);
        let id = format!("table{id}");
        html! {
            div.controls id={ (id) "-controls" } {
                @if self.rows.len() > FEW {
                label { "Search " input.search type="search" autocomplete="off" spellcheck="false"; }
                }
                @if is_tree {
                    button.open type="button" { "Open all" }
                    button.close type="button" { "Close all" }
                    label { input.flat type="checkbox" autocomplete="off"; " Without levels" }
                }
                @if !is_tree && self.rows.len() > FIRST {
                    button.more type="button" { "Show all " (self.rows.len()) " rows" }
                }
                p role="status" {}
            }
            div.wrap tabindex="0" role="region" aria-label=(Shown(&self.caption)) {
                table.live.tree[is_tree] id=(id) data-first=[(!is_tree).then_some(FIRST)] {
                    caption { (Shown(&self.caption)) }
                    thead { tr { @for column in &self.columns { (head(*column)) } } }
                    tbody {
                        @for (at, row) in self.rows.iter().enumerate() {
                            @let has_more = self.rows.get(at + 1).is_some_and(|next| next.level > row.level);
                            (self.render_row(at, row, is_tree, has_more))
                        }
                    }
                }
            }
            @if self.columns.iter().any(|column| !column.about.is_empty()) {
                details {
                    summary { "What the columns say" }
                    dl {
                        @for column in self.columns.iter().filter(|column| !column.about.is_empty()) {
                            dt { (column.name) } dd { (column.about) }
                        }
                    }
                }
            }
        }
    }

    fn render_row(&self, at: usize, row: &HtmlRow, is_tree: bool, has_more: bool) -> Markup {
        let level = is_tree.then_some(row.level);
        let class = level.filter(|level| *level > 0).map(|level| format!("l{}", level.min(8)));
        html! {
            tr class=[class] data-level=[level] hidden[row.level >= self.open || !is_tree && at >= FIRST] {
                th scope="row" {
                    @if has_more {
                        button.fold type="button" aria-expanded=(row.level + 1 < self.open) { (Shown(&row.name)) }
                    } @else if row.is_strong {
                        span.strong { (Shown(&row.name)) }
                    } @else {
                        (Shown(&row.name))
                    }
                    @if let Some(level) = level { span.sr { ", level " (level + 1) } }
                    @if !row.note.is_empty() { span.in { " in " (Shown(&row.note)) } }
                }
                @for cell in &row.cells { (cell.0) }
            }
        }
    }
}

fn head(column: Column) -> Markup {
    html! {
        @match column.kind {
            ColumnKind::Bars => th scope="col" { span { (column.name) } },
            ColumnKind::Number => th.n scope="col" aria-sort="none" { button type="button" { (column.name) } },
            ColumnKind::Text => th scope="col" aria-sort="none" { button type="button" { (column.name) } },
        }
    }
}

//! Shows targets as one table, and windows as one table for each owner.

use std::fmt::Write as _;

use super::{Known, Mode, Of, TargetRow, Targets, Windows, WindowsRow};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::{number, span, time};
use crate::output::show::{close, for_programs, optional, Show};
use crate::output::{Described, Form, Page, Table, Terminal};

/// The columns of targets.
pub const TARGETS: &[Described] = &[
    ("Kind", "With --targets, as are the next 14. What the target is for: User, Group, Account, Parent, QOS or Partition"),
    ("Name", "The name; of a user in the tree with the account"),
    ("Book", "The book whose usage counts; empty for all usage"),
    ("Type", "target, floor, ceiling or cap; share for a level of the tree without a line, whose target is its share"),
    ("Target>", "What the line says: a percentage, or hours of TargetMetric"),
    ("Of", "What that is of: all usage, available (what the cluster could have delivered), siblings, book; or hours"),
    ("Mode", "difference if the distance is in percentage points, ratio if it is a part of the target"),
    ("Usage", "halflife or windows: how usage is counted"),
    ("Used>", "What was used, in hours of TargetMetric"),
    ("Percent>", "The same as a percentage of what the target is of; of all usage if the target is in hours"),
    ("Distance>", "How far the usage is below the target, in steps with FSStep. Negative above it"),
    ("Exact>", "The same before steps and CapTiers"),
    ("Path>", "With Parent: the sum over the levels down to it, which is FSParent"),
    ("Left>", "Of a cap: what it leaves, in hours"),
    ("Points>", "What jobs have by it alone; - if that depends on the job"),
];

/// The columns of windows.
pub const WINDOWS: &[Described] = &[
    ("Kind", "With --windows, as are the next 10. What the target is for: User, Group, Account, Parent, QOS or Partition; Tree for an association of the share tree"),
    ("Name", "The name; of a user in the tree with the account"),
    ("Of", "What the usage is compared with: all, available or siblings"),
    ("Window", "The number of the window, 0 for the current one; sum for all of them"),
    ("Begin", "When it begins"),
    ("Used>", "What was used in it, in hours of TargetMetric; of Tree in hours of billing"),
    ("All>", "What that is compared with"),
    ("Factor>", "TargetDecay, of Tree TreeDecay, to the power of the number of the window"),
    ("Counts>", "Used times factor; of the sum, what all windows count together"),
    ("AllCounts>", "The same of what it is compared with"),
    ("Percent>", "The usage in percent of what it is compared with"),
];

impl Show for Targets {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let asks_targets = self.targets_are != Known::NotAsked;
        let asks_windows = self.windows_are != Known::NotAsked;
        let is_for_people = printed.form() == Form::Columns && printed.format.is_empty();
        if !is_for_people && asks_targets && asks_windows {
            return Err(Error::Question(
                "this form prints a single table: give --targets or --windows"
                    .to_owned(),
            ));
        }
        // No rows would read as none to have.
        let unknown = [
            (self.targets_are, &self.targets_because),
            (self.windows_are, &self.windows_because),
            (self.tree_windows_are, &self.tree_windows_because),
        ];
        let unknown = unknown.into_iter().find(|(are, _)| *are == Known::NotKnown && printed.form() != Form::Columns);
        if let Some((_, Some(because))) = unknown {
            return Err(Error::Source(because.clone()));
        }
        let mut page = Page::new(terminal);
        if asks_targets {
            let mut table = Table::of(TARGETS);
            self.targets.iter().flatten().for_each(|row| table.row(row.cells()));
            let (table, text) = for_programs(table, printed, terminal)?;
            if let Some(text) = text {
                return Ok(text);
            }
            if let Some(because) = &self.targets_because {
                page.paragraph(because);
            }
            if !table.is_empty() {
                self.explain(&mut page);
                let table = if is_for_people { self.overview() } else { table };
                page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
            }
        }
        if asks_windows {
            let mut table = Table::of(WINDOWS);
            let both = self.windows.iter().chain(&self.tree_windows);
            for (windows, row) in both.flat_map(|windows| windows.rows.iter().map(move |row| (windows, row))) {
                for cells in cells(windows, row) {
                    table.row(cells);
                }
            }
            let (table, text) = for_programs(table, printed, terminal)?;
            if let Some(text) = text {
                return Ok(text);
            }
            if asks_targets {
                page.ready("\n");
            }
            let is_said = |because: &&String| self.targets_because.as_ref() != Some(because);
            // Who asks for the windows of the tree need not hear that targets have none.
            let of_targets = self.windows_because.as_ref().filter(is_said);
            let of_targets = of_targets.filter(|_| self.windows_are == Known::NotKnown || self.tree_windows.is_none());
            let of_tree = self.tree_windows_because.as_ref().filter(|_| self.tree_windows_are == Known::NotKnown);
            of_targets.into_iter().chain(of_tree).for_each(|because| page.paragraph(because));
            if is_for_people {
                if let Some(windows) = &self.windows {
                    windows.show(&mut page, printed, &self.metric);
                }
                if let Some(windows) = &self.tree_windows {
                    if self.windows.is_some() {
                        page.ready("\n");
                    }
                    page.headline("The share tree uses windows (TreeUsage=window). Each row includes all below it.");
                    windows.show(&mut page, printed, "billing");
                }
            } else if !table.is_empty() {
                page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
            }
        }
        close(&mut page, about);
        Ok(page.finish())
    }
}

impl Targets {
    /// What a reader needs to know to read the table.
    fn explain(&self, page: &mut Page) {
        let rows = || self.targets.iter().flatten();
        let mut text = "Usage and its targets. A distance above 0: usage is below the target.".to_owned();
        if self.step > 0.0 {
            let _ = write!(text, " Distances count in steps of {} (FSStep).", number(self.step));
        }
        page.headline(&text);
        let mut more = Vec::new();
        if rows().any(|row| row.of == Of::Hours || row.left.is_some()) {
            more.push(format!("h: hours of {}.", self.metric));
        }
        if rows().any(|row| row.of == Of::Available) {
            more.push("avail: of what the cluster could have delivered.".to_owned());
        }
        if rows().any(|row| row.of == Of::Siblings) {
            more.push("sib: of what it and its siblings have used; the points of a Parent are by all levels down to it.".to_owned());
        }
        if rows().any(|row| row.mode == Mode::Ratio) {
            more.push("ratio: the distance is a part of the target.".to_owned());
        }
        if rows().any(|row| row.points.is_none()) {
            more.push("Points of -: they depend on the job.".to_owned());
        }
        if !more.is_empty() {
            page.paragraph(&more.join(" "));
        }
        page.ready("\n");
    }

    /// For people: as much as fits side by side.
    fn overview(&self) -> Table {
        let mut table = Table::new(&["Whose", "Type", "Target>", "Used>", "Distance>", "Left>", "Points>"]);
        for row in self.targets.iter().flatten() {
            let used = if row.of == Of::Hours {
                format!("{}h", number(row.used))
            } else {
                row.percent.map_or_else(|| "-".to_owned(), |percent| format!("{}%", number(percent)))
            };
            let unit = match row.of {
                Of::All | Of::Book => "%",
                Of::Available => "%avail",
                Of::Siblings => "%sib",
                Of::Hours => "h",
            };
            table.row(vec![
                row.whose(),
                row.type_in_words(),
                format!("{}{unit}", number(row.target)),
                used,
                optional(row.distance),
                row.left.map_or_else(|| "-".to_owned(), |left| format!("{}h", number(left))),
                optional(row.points),
            ]);
        }
        table.without_unknown()
    }
}

impl TargetRow {
    /// The type, with what the distance is where that is no percentage points.
    pub(super) fn type_in_words(&self) -> String {
        let ratio = if self.mode == Mode::Ratio { ", ratio" } else { "" };
        format!("{}{ratio}", self.target_type.word())
    }

    fn cells(&self) -> Vec<String> {
        let mode = match self.mode {
            Mode::Difference => "difference",
            Mode::Ratio => "ratio",
        };
        vec![
            self.kind.clone(),
            self.name.clone(),
            self.book.clone().unwrap_or_default(),
            self.target_type.word().to_owned(),
            number(self.target),
            self.of.word().to_owned(),
            mode.to_owned(),
            if self.in_windows { "windows" } else { "halflife" }.to_owned(),
            number(self.used),
            optional(self.percent),
            optional(self.distance),
            optional(self.exact),
            optional(self.path),
            optional(self.left),
            optional(self.points),
        ]
    }
}

impl Windows {
    /// A table for each of whom they are.
    fn show(&self, page: &mut Page, printed: &Printed, metric: &str) {
        page.paragraph(&format!(
            "Windows of {}, of which {} count. Amounts are in hours of {metric}; trailing windows without usage are left out.",
            span(self.length),
            self.depth
        ));
        if self.told < self.depth {
            page.paragraph(&format!(
                "The snapshot has the latest {}; older ones are only in the sums.",
                self.told
            ));
        }
        for row in &self.rows {
            page.ready("\n");
            let of = match row.of {
                Of::Available => "what the cluster could have delivered",
                Of::Siblings => "what it and its siblings have used",
                _ => "all usage",
            };
            let percent = row.percent.map_or_else(
                || format!("nothing to compare with {of}"),
                |percent| format!("{}% of {of}", number(percent)),
            );
            page.headline(&format!("{}: {} h count, {percent}", row.whose(), number(row.counts)));
            let mut table = Table::new(&["Window>", "Begin", "Used>", "Factor>", "Counts>", "Percent>"]);
            let last = row.used.iter().rposition(|used| *used != 0.0).unwrap_or_default();
            for (age, (used, factor)) in row.used.iter().zip(&self.factors).enumerate().take(last + 1) {
                table.row(vec![
                    age.to_string(),
                    time(self.begin_of(age)),
                    number(*used),
                    number(*factor),
                    number(used * factor),
                    optional(row.percent_in(age)),
                ]);
            }
            let terminal = page.terminal;
            page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
        }
    }
}

/// A row for each window, and one for the sum.
fn cells(windows: &Windows, row: &WindowsRow) -> Vec<Vec<String>> {
    let whose = || [row.kind.clone(), row.name.clone(), row.of.word().to_owned()];
    let amounts = row.used.iter().zip(&row.all).zip(&windows.factors).enumerate();
    let mut rows: Vec<Vec<String>> = amounts
        .map(|(age, ((used, all), factor))| {
            let cells = [
                age.to_string(),
                time(windows.begin_of(age)),
                number(*used),
                number(*all),
                number(*factor),
                number(used * factor),
                number(all * factor),
                optional(row.percent_in(age)),
            ];
            whose().into_iter().chain(cells).collect()
        })
        .collect();
    let none = || "-".to_owned();
    let sum = ["sum".to_owned(), none(), none(), none(), none(), number(row.counts), number(row.all_counts), optional(row.percent)];
    rows.push(whose().into_iter().chain(sum).collect());
    rows
}

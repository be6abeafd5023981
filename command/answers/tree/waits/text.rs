//! Shows finished jobs and their waits as an indented table.

use super::{Of, WaitRow, Waits};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::{addend, number, seconds, span, time};
use crate::output::show::{close, for_programs, Paged, Show};
use crate::output::{Described, Form, Page, Table, Terminal};

/// The columns of the table. The last is for programs: people see it at the name.
pub const COLUMNS: &[Described] = &[
    ("Account", "The account, indented by its depth; (gone) above all accounts that are not in today's tree"),
    ("User", "The user, with the partition of the association in brackets; empty for an account, whose numbers include all below it"),
    ("Jobs>", "Jobs that have started, and ended since the date; each task of an array, run of a requeued job and part of a heterogeneous or resized one is a job"),
    ("CPUHours>", "What these jobs used: CPUTimeRAW of sacct, in hours, including usage before the date"),
    ("Wait>", "The mean of Start - Eligible, without dependencies, holds and begin times. For programs in seconds, as the next"),
    ("Wait95>", "The shortest wait that 95 % of the jobs do not exceed"),
    ("XFactor>", "The expansion factor: the mean of (wait + run) / run. Run is ElapsedRaw of sacct, at least one second"),
    ("AvgXF>", "The mean of (wait + run) / time limit, of jobs with their own limit, as in showstats of Maui and Moab"),
    ("InTree", "no: this account or user is not in today's tree"),
];

/// Without the last.
const FOR_PEOPLE: usize = COLUMNS.len() - 1;

impl Waits {
    /// The table, and its text where that is for programs.
    fn table(&self, printed: &Printed, terminal: Terminal) -> Result<(Table, Option<String>), Error> {
        let is_for_people = printed.form() == Form::Columns;
        let mut table = Table::of(COLUMNS);
        for row in &self.rows {
            table.row(self.cells(row, is_for_people));
        }
        let names = COLUMNS[..FOR_PEOPLE].iter().map(|(name, _)| name.trim_end_matches('>').to_owned());
        if is_for_people && printed.format.is_empty() {
            table.choose(&names.collect::<Vec<_>>())?;
        }
        for_programs(table, printed, terminal)
    }

    /// What is not in the tree: it may be hidden.
    fn absent(&self) -> &'static str {
        if self.partial_tree {
            "(not seen)"
        } else {
            "(gone)"
        }
    }

    fn cells(&self, row: &WaitRow, is_for_people: bool) -> Vec<String> {
        let account = if row.of == Of::Others { self.absent() } else { &row.account };
        let user = match row.partition.as_str() {
            "" if is_for_people && !row.in_tree && row.of == Of::User => format!("{} {}", row.user, self.absent()),
            "" => row.user.clone(),
            partition => format!("{} ({partition})", row.user),
        };
        let known = |value: Option<f64>, shown: fn(f64) -> String| value.map_or_else(|| "-".to_owned(), shown);
        let long = if is_for_people { |value: f64| span(seconds(value)) } else { number };
        let factor = if is_for_people { addend } else { number };
        vec![
            format!("{}{account}", " ".repeat(row.depth)),
            user,
            row.jobs.to_string(),
            number(row.cpu_hours),
            known(row.wait, long),
            known(row.wait95.map(f64::from), long),
            known(row.xfactor, factor),
            known(row.xfactor_of_limit, factor),
            if row.in_tree { "yes" } else { "no" }.to_owned(),
        ]
    }

    /// What is not as its row or column says.
    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.rows.iter().any(|row| !row.in_tree) {
            sentences.push(if self.partial_tree {
                "(not seen): not in the part of the tree that you can see.".to_owned()
            } else {
                "(gone): no longer in the tree.".to_owned()
            });
        }
        match self.never_started {
            0 => (),
            1 => sentences.push("One job ended without starting and is not counted.".to_owned()),
            many => sentences.push(format!("{many} jobs ended without starting and are not counted.")),
        }
        sentences
    }

    fn page(&self, table: &Table, about: &About, printed: &Printed, terminal: Terminal) -> Page {
        let mut page = Page::new(terminal);
        page.headline(&format!("Jobs that ended from {} to {}, according to sacct.", time(self.since), time(self.until)));
        page.paragraph("Wait: Start - Eligible. XFactor: (wait + run) / run. AvgXF: (wait + run) / time limit.");
        page.ready("\n");
        page.table(table, !printed.noheader);
        let sentences = self.sentences();
        if !sentences.is_empty() || !self.remarks.is_empty() {
            page.ready("\n");
        }
        for sentence in &sentences {
            page.paragraph(sentence);
        }
        for remark in &self.remarks {
            page.warning(remark);
        }
        close(&mut page, about);
        page
    }
}

impl Show for Waits {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let (table, text) = self.table(printed, terminal)?;
        Ok(text.unwrap_or_else(|| self.page(&table, about, printed, terminal).finish()))
    }
}

impl Paged for Waits {
    fn pages(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<Page, Error> {
        let (table, _) = self.table(printed, terminal)?;
        Ok(self.page(&table, about, printed, terminal))
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    fn row(of: Of, depth: usize, account: &str, user: &str) -> WaitRow {
        WaitRow {
            of,
            in_tree: of != Of::Others,
            id: None,
            depth,
            account: account.to_owned(),
            user: user.to_owned(),
            partition: String::new(),
            jobs: 4_294_967,
            cpu_hours: 123_456_789.25,
            wait: Some(1_234_567.0),
            wait95: Some(8_576_543),
            xfactor: Some(1234.567),
            xfactor_of_limit: Some(12.345),
        }
    }

    /// The numbers of a large site for a year, in a terminal of 80 columns.
    #[test]
    fn large_numbers_fit_into_eighty_columns() {
        let rows = vec![
            row(Of::Account, 0, "root", ""),
            row(Of::Account, 5, "a-long-name-of-an-account", ""),
            row(Of::User, 6, "a-long-name-of-an-account", "a-long-name-of-a-user"),
            row(Of::Others, 0, "", ""),
        ];
        let (remarks, never_started) = (vec!["One remark.".to_owned()], 1);
        let waits = Waits { since: 1, until: 2, rows, partial_tree: false, never_started, left_out: 0, remarks };
        let printed = Printed::default();
        let (table, _) = waits.table(&printed, Terminal::PLAIN).unwrap();
        let about = About::of(&crate::model::Model::of(&multifactor2_snapshot::Snapshot::default(), crate::model::Options::default()));
        for colours in [false, true] {
            let terminal = Terminal { width: Some(80), colours, ..Terminal::PLAIN };
            let text = waits.page(&table, &about, &printed, terminal).finish();
            let plain = text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace("\u{1b}[33m", "");
            assert!(plain.lines().all(|line| line.width() <= 80), "{plain}");
            for part in ["14-06:56:07", "99-06:22:23", " 123456789 ", "1234.57", "4294967", "One remark."] {
                assert!(plain.contains(part), "{part}: {plain}");
            }
        }
    }
}

//! Shows the queue as a table.

use super::{columns, users};
use crate::answers::queue::{Ahead, QueueAnswer, QueueRow};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::{count, percent, time};
use crate::output::show::{close, for_programs, optional, Paged, Show};
use crate::output::{Page, Table, Terminal};

impl QueueAnswer {
    /// The table, and its text where that is for programs.
    fn table(&self, printed: &Printed, terminal: Terminal) -> Result<(Table, Option<String>), Error> {
        // Only -o asks for others.
        let has_groups = !printed.format.is_empty();
        let shown = if has_groups { columns::ALL.len() } else { 1 };
        let mut table = Table::of(columns::ALL[..shown].iter().copied().flatten());
        for row in &self.rows {
            let mut cells = cells(row);
            if has_groups {
                cells.extend(columns::cells(row));
            }
            table.row(cells);
        }
        let named = Printed { format: columns::named(&printed.format), ..printed.clone() };
        for_programs(table, &named, terminal)
    }
}

impl Show for QueueAnswer {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let (table, text) = self.table(printed, terminal)?;
        Ok(text.unwrap_or_else(|| self.page(&table, about, printed, terminal).finish()))
    }
}

impl Paged for QueueAnswer {
    fn pages(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<Page, Error> {
        let (table, _) = self.table(printed, terminal)?;
        Ok(self.page(&table, about, printed, terminal))
    }
}

impl QueueAnswer {
    fn page(&self, table: &Table, about: &About, printed: &Printed, terminal: Terminal) -> Page {
        let mut page = Page::new(terminal);
        let jobs = count(self.jobs, "job", "jobs");
        page.headline(&match &self.unknown {
            None => format!(
                "{jobs} in {}, in the order in which the scheduler considers them. Higher priority comes first.",
                count(self.places, "place of the queue", "places of the queue")
            ),
            Some(unknown) => format!("{jobs} visible. Places are not known: {}", unknown.sentence),
        });
        if self.rows.is_empty() {
            page.paragraph("None of them matches the request.");
        } else {
            page.ready("\n");
            page.table(table, !printed.noheader);
            let [has_tickets, has_points] =
                ["tickets", "points"].map(|group| columns::asks_for(&printed.format, group));
            for (title, table) in users::tables(&self.users, has_tickets, has_points) {
                page.title(title);
                page.table(&table, !printed.noheader);
            }
        }
        if !self.ahead.is_empty() {
            page.title("Before the first of these in its partition");
            page.table(&ahead(&self.ahead), !printed.noheader);
        }
        if !self.outside.is_empty() {
            page.title("Not in the queue");
            let mut table = Table::new(&["Job", "User", "Account", "Reason"]);
            for job in &self.outside {
                table.row(vec![job.job.clone(), job.user.clone(), job.account.clone(), job.reason.clone()]);
            }
            page.table(&table, !printed.noheader);
        }
        close(&mut page, about);
        page
    }
}

fn cells(row: &QueueRow) -> Vec<String> {
    vec![
        row.position.map_or_else(String::new, |position| position.to_string()),
        row.rank.map_or_else(String::new, |rank| rank.to_string()),
        row.job.clone(),
        row.user.clone(),
        row.account.clone(),
        row.partition.clone(),
        row.qos.clone(),
        row.priority.to_string(),
        optional(row.fair_share),
        row.tasks.to_string(),
        row.reason.clone(),
        time(row.start),
    ]
}

/// Whose jobs come before.
pub fn ahead(ahead: &[Ahead]) -> Table {
    let mut table = Table::new(&["Account", "Jobs>", "Part>", "Tasks>", "CPUs>"]);
    for of in ahead.iter().take(NAMED) {
        table.row(vec![
            of.account.clone(),
            of.jobs.to_string(),
            percent(of.part),
            of.tasks.to_string(),
            of.cpus.to_string(),
        ]);
    }
    if ahead.len() > NAMED {
        let others = || ahead.iter().skip(NAMED);
        table.row(vec![
            count(ahead.len() - NAMED, "other", "others"),
            others().map(|of| of.jobs).sum::<usize>().to_string(),
            percent(others().map(|of| of.part).sum()),
            others().map(|of| of.tasks).sum::<u64>().to_string(),
            others().map(|of| of.cpus).sum::<u64>().to_string(),
        ]);
    }
    table
}

/// How many accounts are named; JSON has all.
const NAMED: usize = 8;

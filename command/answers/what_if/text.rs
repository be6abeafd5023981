//! Shows what a change does as tables: accounts, users, the queue before and after.

use std::fmt::Write as _;

use crate::answers::what_if::{ChangeRow, Group, StandingChange, WhatIf};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::{count, number};
use crate::output::show::{close, for_programs, optional, Show};
use crate::output::{Described, Form, Page, Table, Terminal};

/// How many rows of a table are shown to people; programs get all.
const SHOWN: usize = 20;

impl Show for WhatIf {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let (queue, text) = for_programs(queue(&self.rows, printed), printed, terminal)?;
        if let Some(text) = text {
            return Ok(text);
        }
        let mut page = Page::new(terminal);
        page.headline(&self.headline());
        self.changes.iter().for_each(|change| page.item(change));
        let mut show = |title: &str, table: Table, all: usize| {
            if all > 0 {
                page.title(title);
                page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
                rest(&mut page, all);
            }
        };
        show("Accounts, largest gain first", groups("Account", &self.accounts), self.accounts.len());
        show("Users, largest gain first", groups("User", &self.users), self.users.len());
        show("Changed shares and usage", standings(&self.standings), self.standings.len());
        show("The queue after the change", queue, self.rows.len());
        if !self.remarks.is_empty() {
            page.ready("\n");
            self.remarks.iter().for_each(|remark| page.warning(remark));
        }
        close(&mut page, about);
        Ok(page.finish())
    }
}

impl WhatIf {
    /// What matters most.
    pub(super) fn headline(&self) -> String {
        if self.changes.is_empty() {
            return "No change was given: this is the present queue. See 'multifactor2 what-if --help'.".to_owned();
        }
        let both = self.rows.iter().filter(|row| row.gain.is_some()).count();
        let mut line = match (&self.unknown, self.moved) {
            (Some(unknown), _) => format!("Priorities are as below. Places are not known: {}", unknown.sentence),
            (None, None | Some(0)) => format!("None of the {both} places in the queue moves."),
            (None, Some(moved)) => format!("{} of {both} in the queue.", count(moved, "place moves", "places move")),
        };
        if let Some(tau) = self.tau {
            let tau = number(tau);
            let _ = write!(line, " Kendall's tau of both orders is {tau} (1: the same, -1: the opposite).");
        }
        for row in self.rows.iter().filter(|row| row.submitted) {
            if let Some(position) = row.position_after {
                let _ = write!(
                    line,
                    " The submitted job would have position {position} of {}.",
                    self.rows.iter().filter(|row| row.position_after.is_some()).count()
                );
            }
        }
        line
    }
}

fn rest(page: &mut Page, all: usize) {
    if all > SHOWN {
        page.paragraph(&format!("and {} more: see them with -P, --csv or --json", all - SHOWN));
    }
}

/// With a sign, so that forward and backward are told apart.
fn gain(gain: i64) -> String {
    match gain {
        0 => "0".to_owned(),
        gain => format!("{gain:+}"),
    }
}

fn groups(title: &'static str, groups: &[Group]) -> Table {
    let mut table =
        Table::new(&[title, "Places>", "Forward>", "Backward>", "Mean>", "Furthest+>", "Furthest->"]);
    // The ends matter: who gains most and who loses most.
    let skipped = groups.len().saturating_sub(SHOWN);
    let shown = groups.iter().enumerate().filter(|(at, _)| *at < SHOWN / 2 || *at >= SHOWN / 2 + skipped);
    for (_, group) in shown {
        table.row(vec![
            group.name.clone(),
            group.places.to_string(),
            group.forward.to_string(),
            group.backward.to_string(),
            if group.mean > 0.0 { format!("+{}", number(group.mean)) } else { number(group.mean) },
            gain(group.furthest_forward),
            gain(group.furthest_backward),
        ]);
    }
    table
}

fn standings(changes: &[StandingChange]) -> Table {
    let mut table = Table::new(&[
        "Account",
        "User",
        "Shares before>",
        "after>",
        "RawUsage before>",
        "after>",
        "FairShare before>",
        "after>",
    ]);
    for change in changes.iter().take(SHOWN) {
        let mut user = change.user.clone();
        if !change.partition.is_empty() {
            let _ = write!(user, " ({})", change.partition);
        }
        table.row(vec![
            change.account.clone(),
            user,
            number(change.shares_before),
            number(change.shares_after),
            format!("{:.0}", change.usage_before),
            format!("{:.0}", change.usage_after),
            optional(change.factor_before),
            optional(change.factor_after),
        ]);
    }
    table
}

/// The columns of the queue.
pub const COLUMNS: &[Described] = &[
    ("Position>", "The place in the queue after the change, from 1"),
    ("Before>", "The place before the change"),
    ("Gain>", "How many places it moves forward; new or gone for a job that the change adds or removes"),
    ("Job", "The job as squeue shows it"),
    ("User", "Its user"),
    ("Account", "Its account"),
    ("Partition", "The partition of this row"),
    ("QOS", "Its QOS"),
    ("Priority>", "Its priority after the change"),
    ("PriorityBefore>", "Its priority before the change"),
    ("FairShare>", "Its fair-share factor after the change, from 0 to 1"),
    ("FairShareBefore>", "The factor before the change"),
];

fn queue(rows: &[ChangeRow], printed: &Printed) -> Table {
    let mut table = Table::of(COLUMNS);
    let whole = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let place = |position: Option<usize>| whole(position.map(|position| position as u64));
    let shown = if printed.form() == Form::Columns { SHOWN } else { usize::MAX };
    for row in rows.iter().take(shown) {
        table.row(vec![
            place(row.position_after),
            place(row.position_before),
            row.gain.map_or_else(|| if row.submitted { "new" } else { "gone" }.to_owned(), gain),
            row.job.clone(),
            row.user.clone(),
            row.account.clone(),
            row.partition.clone(),
            row.qos.clone(),
            whole(row.priority_after.map(u64::from)),
            whole(row.priority_before.map(u64::from)),
            optional(row.fair_share_after),
            optional(row.fair_share_before),
        ]);
    }
    table
}

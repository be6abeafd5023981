//! Shows what a job costs, TRES by TRES and account by account.

use std::fmt::Write as _;

use crate::answers::cost::limits::Reached;
use crate::answers::cost::{Account, Cost};
use crate::answers::About;
use crate::error::Error;
use crate::model::billing::Rule;
use crate::options::Printed;
use crate::output::numbers::{addend, number, ordinal, span, usage};
use crate::output::show::{close, optional, Show};
use crate::output::{Form, Page, Table, Terminal};

impl Show for Cost {
    fn show(&self, about: &About, _: &Printed, terminal: Terminal) -> Result<String, Error> {
        let mut page = Page::new(terminal);
        page.headline(&self.headline());
        page.title(&format!("Billing per second in partition {}", self.partition));
        page.ready(&self.tres().show(Form::Columns, true, terminal));
        page.paragraph(&self.sum());
        if !self.accounts.is_empty() {
            page.title("How much it lowers the fair-share factor, by account");
            page.ready(&self.accounts().show(Form::Columns, true, terminal));
            let limits: Vec<String> = self.accounts.iter().filter_map(Account::limits_in_words).collect();
            if !limits.is_empty() {
                page.ready("\n");
            }
            for limits in &limits {
                page.warning(limits);
            }
        }
        if !self.remarks.is_empty() {
            page.ready("\n");
            self.remarks.iter().for_each(|remark| page.warning(remark));
        }
        close(&mut page, about);
        Ok(page.finish())
    }
}

impl Cost {
    fn headline(&self) -> String {
        let job = if self.job.is_empty() { "This job".to_owned() } else { format!("Job {}", self.job) };
        let mut line = match (self.usage, self.seconds) {
            (Some(added), Some(seconds)) => format!(
                "{job} adds up to {} of usage to {} in {}: it is billed {} for each of {}.",
                usage(added),
                self.user,
                self.account,
                number(self.billing * self.usage_factor * self.charge_factor),
                span(i64::try_from(seconds).unwrap_or(i64::MAX))
            ),
            _ => format!(
                "{job} adds {} of usage per second to {} in {} and has no time limit.",
                number(self.billing * self.usage_factor * self.charge_factor),
                self.user,
                self.account
            ),
        };
        if self.accounts.len() > 1 {
            line += &self.best();
        }
        line
    }

    /// Which of several accounts to choose: that of the highest priority, which need not be the one where it costs least.
    fn best(&self) -> String {
        let Some(first) = self.accounts.first() else { return String::new() };
        let Some(priority) = first.priority else { return String::new() };
        let asked = self.accounts.iter().find(|account| account.asked);
        if first.asked || asked.is_some_and(|asked| asked.priority == first.priority) {
            return " No other account would give it a higher priority.".to_owned();
        }
        let place = match (first.rank, first.of) {
            (Some(rank), Some(of)) => format!(", {} of {of} in partition {}", ordinal(rank), self.partition),
            _ => String::new(),
        };
        let is_held = first.limits.as_ref().is_some_and(|limits| !limits.is_empty());
        let held = if is_held { ", but a limit is in its way there" } else { "" };
        format!(" Its priority would be highest in account {}: {priority}{place}{held}.", first.account)
    }

    fn tres(&self) -> Table {
        let mut table = Table::new(&["TRES", "Asked for>", "Weight>", "Billing>", ""]);
        for tres in &self.tres {
            let left_out = if tres.counts { "" } else { "not the largest" };
            table.row(vec![
                tres.name.clone(),
                number(tres.count),
                number(tres.weight),
                number(tres.billing),
                left_out.to_owned(),
            ]);
        }
        table
    }

    fn sum(&self) -> String {
        let rule = match self.rule {
            Rule::Cpus => "the partition has no TRESBillingWeights, so each CPU counts 1",
            Rule::Sum => "the sum of all",
            Rule::Max => "the largest of CPUs, memory, nodes and GRES, and all others (MAX_TRES)",
            Rule::MaxAndGres => {
                "the largest of CPUs, memory and nodes, all GRES, and all others (MAX_TRES_GRES)"
            }
        };
        let mut sum = format!("Billing {}: {rule}.", number(self.billing));
        if !self.qos.is_empty() {
            let _ = write!(sum, " UsageFactor of QOS {} is {}.", self.qos, number(self.usage_factor));
        }
        if (self.charge_factor - 1.0).abs() > f64::EPSILON {
            let _ = write!(
                sum,
                " Charge lines multiply usage with {} in {}.",
                number(self.charge_factor),
                self.account
            );
        }
        sum
    }

    fn accounts(&self) -> Table {
        let mut table = Table::new(&["Account", "Priority>", "Rank>", "Charge>", "FairShare now>", "after>", "Priority lost>", ""]);
        for account in &self.accounts {
            let mut name = account.account.clone();
            if !account.partition.is_empty() {
                let _ = write!(name, " ({})", account.partition);
            }
            table.row(vec![
                name,
                account.priority.map_or_else(|| "-".to_owned(), |priority| priority.to_string()),
                account.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
                number(account.charge_factor),
                optional(account.factor_before),
                optional(account.factor_after),
                account.priority_lost.map_or_else(|| "-".to_owned(), addend),
                if account.asked { "this one" } else { "" }.to_owned(),
            ]);
        }
        table
    }
}

impl Account {
    /// Which limits would hold the job there or refuse it, if any is known.
    fn limits_in_words(&self) -> Option<String> {
        let limits = self.limits.as_ref().filter(|limits| !limits.is_empty())?;
        let does = if limits.iter().any(Reached::is_of_submission) { "refuse" } else { "hold" };
        let limits: Vec<String> = limits.iter().map(Reached::in_words).collect();
        Some(format!("Current limits would {does} it in {}: {}.", self.account, limits.join("; ")))
    }
}

//! Writes the lines of `DebugFlags=Priority` into Slurm's log; building a line costs nothing while the flag is off.

mod words;

use multifactor2_accounting::charge::{Amounts, Elapsed};
use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::facts;
use multifactor2_core::policy::pools::Change;
use tracing::info;

pub use words::{ExplainedJob, Numbers, Tally};

use super::standing::{Shown, Standing};
use crate::faults;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels, Shares};
use crate::host::log::{explains, PRIORITY};
use crate::host::records::Association;
use crate::host::views;

/// Every factor of a job, its weight, their product and the sum. The caller has asked whether anybody reads it.
pub fn job<V: Levels>(config: &FactorConfig, lock: &AssocLock<'_, V>, job: &ExplainedJob<'_>) {
    let line = words::job(&config.weights, config.tres_weights.as_deref(), job, |tres| lock.tres_name(tres));
    info!(target: PRIORITY, "{line}");
}

/// Lines of `Override=` with dates that take effect, or are over or not due yet.
pub fn changes(changes: &[Change]) {
    let is_dated = |change: &&Change| change.line.from.is_some() || change.line.until.is_some();
    for Change { line, begins } in changes.iter().filter(is_dated) {
        if *begins {
            info!("{}: Override={line} takes effect", line.place.0);
        } else {
            info!("{}: Override={line} is not in force", line.place.0);
        }
    }
}

/// Shares, usage, S, U, F, tickets and the part of the level's tickets, for every association. The caller has asked whether
/// anybody reads it.
pub fn associations(standing: &Standing, lock: &AssocLock<'_, Shares>) {
    faults::point("explain");
    let (count, waiting) = standing.counts();
    info!(target: PRIORITY, "{count} associations, {waiting} users with waiting jobs");
    for (book, called) in standing.books() {
        standing.for_each(lock, book, |association, Shown { numbers, shares, usage }| {
            let raw_usage = || association.usage().map_or(0.0, |usage| usage.get_ld(|u| u.usage_raw));
            let facts = facts::Association { shares, ..views::association(association) };
            let line =
                words::association(&name(association), &facts, usage.unwrap_or_else(raw_usage), numbers);
            info!(target: PRIORITY, "{called}{line}");
        });
    }
}

fn name<A: Open>(association: Association<'_, A>) -> String {
    let account = association.text(|assoc| assoc.acct);
    let user = association.text(|assoc| assoc.user);
    let partition = association.text(|assoc| assoc.partition);
    match (user.is_empty(), partition.is_empty()) {
        (true, _) => format!("account {account}"),
        (false, true) => format!("user {user} in account {account}"),
        (false, false) => format!("user {user} in account {account}, partition {partition}"),
    }
}

/// How much usage decays over the time since the last cycle.
pub fn decay(seconds: f64, factor: f64, over: f64) {
    if explains() {
        info!(target: PRIORITY, "{}", words::decay(seconds, factor, over));
    }
}

/// What a job adds to the usage of its associations.
pub fn charge(id: u32, elapsed: &Elapsed, amounts: &Amounts) {
    if explains() {
        info!(target: PRIORITY, "{}", words::charge(id, elapsed, amounts));
    }
}

/// What a job that has ended is charged for seconds that it did not run.
pub fn minimum(id: u32, seconds: i64, amounts: &Amounts) {
    if explains() {
        info!(target: PRIORITY, "{}", words::minimum(id, seconds, amounts));
    }
}

/// What became of the priorities that a cycle has computed.
pub fn tally(tally: &Tally) {
    if explains() {
        info!(target: PRIORITY, "{}", words::tally(tally));
    }
}

//! Explanations for `DebugFlags=Priority`: why a job has its priority and an association its tickets, in
//! lines that an administrator can read. Building one costs nothing while the flag is off.

use std::fmt::Write as _;

use tracing::info;

use super::job::Pass;
use super::standing::{Numbers, Standing};
use super::sync::Ranked;
use super::write::Tally;
use crate::faults;
use crate::host::locks::{AssocLevels, Unlocked};
use crate::host::log::{explains, PRIORITY};
use crate::host::records::{Association, Job};
use multifactor2_core::factors::{unshift, Factors};
use multifactor2_core::rules::charge::{Amounts, Elapsed};

/// Every factor of a job, its weight, their product and the sum.
pub fn job(pass: &Pass<'_>, job: Job<'_>, weighted: &Factors, tres: &[f64], priority: u32, variants: &[u32]) {
    let weights = &pass.config.weights;
    let mut line = format!("job {}:", job.get(|job| job.job_id));
    for (name, weight, product) in [
        ("age", weights.age, weighted.age),
        ("association", weights.assoc, weighted.assoc),
        ("fair-share", weights.fair_share, weighted.fair_share),
        ("job size", weights.job_size, weighted.job_size),
        ("partition", weights.partition, weighted.partition),
        ("QOS", weights.qos, weighted.qos),
    ] {
        if weight != 0 {
            let factor = product / f64::from(weight);
            let _ = write!(line, " {name} {factor:.6} * {weight} = {product:.2};");
        }
    }
    if let Some(weights) = &pass.config.tres_weights {
        let _ = write!(line, " TRES {:.2}", weighted.tres);
        explain_tres(&mut line, job, tres, weights);
    }
    let _ = write!(
        line,
        " site {:.0}; nice {:.0}; sum {:.2}, priority {priority}",
        unshift(weighted.site),
        unshift(weighted.nice),
        weighted.sum()
    );
    if !variants.is_empty() {
        let _ = write!(line, "; by partition and QOS {variants:?}");
    }
    info!(target: PRIORITY, "{line}");
}

fn explain_tres(line: &mut String, job: Job<'_>, products: &[f64], weights: &[f64]) {
    let parts: Vec<String> = products
        .iter()
        .enumerate()
        .filter(|(_, product)| **product != 0.0)
        .map(|(tres, product)| {
            let weight = weights[tres];
            format!("{} {:.6} * {weight} = {product:.2}", job.host().tres_name(tres), product / weight)
        })
        .collect();
    let _ = write!(line, " ({});", parts.join(", "));
}

/// Shares, usage, S, U, F, tickets and the part of the level's tickets, for every association.
pub fn associations(standing: &Ranked<Standing>, unlocked: &mut Unlocked) {
    if !explains() {
        return;
    }
    faults::point("explain");
    let lock = unlocked.associations(AssocLevels::READ);
    let standing = standing.lock();
    let (count, waiting) = standing.counts();
    info!(target: PRIORITY, "{count} associations, {waiting} users with waiting jobs");
    standing.for_each(
        &lock,
        |association, numbers| info!(target: PRIORITY, "{}", describe(association, numbers)),
    );
}

fn describe(association: Association<'_>, n: Numbers) -> String {
    let raw = association.usage().map_or(0.0, |usage| usage.get_ld(|u| u.usage_raw));
    let shares = match association.get(|assoc| assoc.shares_raw) {
        multifactor2_core::USE_PARENT => "parent".to_owned(),
        shares => shares.to_string(),
    };
    let mut line = format!(
        "{}: shares {shares}, S {:.6}, raw usage {raw:.2}, U {:.6}, effective {:.6}, F {:.6}, ",
        name(association),
        n.shares_norm,
        n.usage_norm,
        n.usage_effective,
        n.level_fs
    );
    let what = if n.active { "tickets" } else { "not active, would have tickets" };
    let _ = write!(line, "{what} {:.6} ({:.4} of its level)", n.tickets, n.level_share);
    if let Some(factor) = n.factor {
        let _ = write!(line, ", fair-share {factor:.6}");
    }
    line
}

fn name(association: Association<'_>) -> String {
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
        info!(target: PRIORITY, "decay over {seconds} seconds: factor {factor:.15} per second, {over:.15} in all");
    }
}

/// What a job adds to the usage of its associations.
pub fn charge(job: Job<'_>, elapsed: &Elapsed, amounts: &Amounts) {
    if explains() {
        info!(
            target: PRIORITY,
            "job {} ran {} seconds: usage {:.4} after decay ({:.4} before), {} seconds of run limits released",
            job.get(|job| job.job_id),
            elapsed.run,
            amounts.usage_decayed,
            amounts.usage,
            amounts.released
        );
    }
}

/// What became of the priorities that a cycle has computed.
pub fn tally(tally: &Tally) {
    if !explains() {
        return;
    }
    let mut line = format!(
        "{} priorities computed: {} written, {} as they were",
        tally.computed, tally.written, tally.same
    );
    for (count, why) in [
        (tally.lower, "lower, which INCR_ONLY forbids"),
        (tally.held, "left to a hold"),
        (tally.direct, "left to a direct priority"),
        (tally.fresh, "left to a submission or change"),
        (tally.gone, "of jobs that have started or are gone"),
        (tally.failed, "given up after an internal error"),
    ] {
        if count != 0 {
            let _ = write!(line, ", {count} {why}");
        }
    }
    info!(target: PRIORITY, "{line}");
}

//! The lines of `DebugFlags=Priority` in words: why a job has its priority, and an association its tickets.

use std::fmt::Write as _;

use multifactor2_accounting::charge::{Amounts, Elapsed};
use multifactor2_core::factors::{unshift, Evaluation, Weights};
use multifactor2_core::facts::Association;
use multifactor2_core::policy::points::Parts;
use multifactor2_core::policy::pools::JobTickets;
use multifactor2_core::tree::USE_PARENT;

/// What is said of a job.
#[derive(Debug, Clone, Copy)]
pub struct ExplainedJob<'a> {
    /// Its id.
    pub id: u32,
    /// What its priority is made of, weighted.
    pub evaluation: &'a Evaluation,
    /// Its tickets by pool, and those of the best waiting job, where pools give tickets to single jobs.
    pub tickets: Option<(JobTickets, f64)>,
    /// What its points come from, where there are any.
    pub points: Option<Parts>,
    /// The weighted factors of its TRES.
    pub tres: &'a [f64],
    /// Its priority.
    pub priority: u32,
    /// Its priorities in each of its partitions and QOS, where there are several.
    pub variants: &'a [u32],
}

/// Every factor of a job, its weight, their product and the sum. `tres_name` names a TRES by its position.
pub fn job(
    weights: &Weights,
    tres_weights: Option<&[f64]>,
    job: &ExplainedJob<'_>,
    tres_name: impl Fn(usize) -> String,
) -> String {
    let evaluation = job.evaluation;
    let mut line = format!("job {}:", job.id);
    for (name, weight, product) in [
        ("age", weights.age, evaluation.age),
        ("association", weights.assoc, evaluation.assoc),
        ("fair-share", weights.fair_share, evaluation.fair_share),
        ("job size", weights.job_size, evaluation.job_size),
        ("partition", weights.partition, evaluation.partition),
        ("QOS", weights.qos, evaluation.qos),
    ] {
        if weight != 0 {
            let factor = product / f64::from(weight);
            let _ = write!(line, " {name} {factor:.6} * {weight} = {product:.2};");
        }
    }
    if let Some((tickets, max)) = job.tickets {
        let JobTickets { overridden, functional, share_tree, .. } = tickets;
        let _ = write!(
            line,
            " tickets {:.2} of {max:.2}: override {overridden:.2}, functional {functional:.2}, share tree {share_tree:.2};",
            tickets.total()
        );
    }
    if let Some(weights) = tres_weights {
        let _ = write!(line, " TRES {:.2}", evaluation.tres);
        explain_tres(&mut line, job.tres, weights, tres_name);
    }
    if let Some(points) = job.points {
        explain_points(&mut line, &points);
    }
    let _ = write!(
        line,
        " site {:.0}; nice {:.0}; sum {:.2}, priority {}",
        unshift(evaluation.site),
        unshift(evaluation.nice),
        evaluation.sum(),
        job.priority
    );
    if !job.variants.is_empty() {
        let _ = write!(line, "; by partition and QOS {:?}", job.variants);
    }
    line
}

/// Points by component, and their sum as it is in the site factor.
fn explain_points(line: &mut String, points: &Parts) {
    let _ = write!(line, " points {}", points.total);
    for (name, part) in [
        ("CRED", points.cred),
        ("FS", points.fs),
        ("RES", points.res),
        ("SERV", points.serv),
        ("TARGET", points.target),
        ("USAGE", points.usage),
    ] {
        if part != 0.0 {
            let _ = write!(line, " {name} {part:.2}");
        }
    }
    line.push_str(if points.is_capped { " beyond a cap, in site;" } else { " in site;" });
}

fn explain_tres(line: &mut String, products: &[f64], weights: &[f64], name: impl Fn(usize) -> String) {
    let parts: Vec<String> = products
        .iter()
        .zip(weights)
        .enumerate()
        .filter(|(_, (product, _))| **product != 0.0)
        .map(|(tres, (product, weight))| {
            format!("{} {:.6} * {weight} = {product:.2}", name(tres), product / weight)
        })
        .collect();
    let _ = write!(line, " ({});", parts.join(", "));
}

/// The numbers of one association in the last distribution.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// S
    pub shares_norm: f64,
    /// U
    pub usage_norm: f64,
    /// `U_eff`
    pub usage_effective: f64,
    /// F
    pub level_fs: f64,
    /// T; prospective where not active.
    pub tickets: f64,
    /// Part of the parent's tickets.
    pub level_share: f64,
    /// It or something below it has waiting jobs.
    pub active: bool,
    /// The factor of a user's jobs.
    pub factor: Option<f64>,
}

/// Shares, usage, S, U, F, tickets and the part of the level's tickets of an association with a name and raw usage.
pub fn association(name: &str, association: &Association, raw_usage: f64, n: Numbers) -> String {
    let shares = match association.shares {
        USE_PARENT => "parent".to_owned(),
        shares => shares.to_string(),
    };
    let mut line = format!(
        "{name}: shares {shares}, S {:.6}, raw usage {raw_usage:.2}, U {:.6}, effective {:.6}, F {:.6}, ",
        n.shares_norm, n.usage_norm, n.usage_effective, n.level_fs
    );
    let what = if n.active { "tickets" } else { "not active, would have tickets" };
    let _ = write!(line, "{what} {:.6} ({:.4} of its level)", n.tickets, n.level_share);
    if let Some(factor) = n.factor {
        let _ = write!(line, ", fair-share {factor:.6}");
    }
    line
}

/// How much usage decays over the seconds since the last cycle: `factor` per second, `over` in all.
pub fn decay(seconds: f64, factor: f64, over: f64) -> String {
    format!("decay over {seconds} seconds: factor {factor:.15} per second, {over:.15} in all")
}

/// What a job adds to the usage of its associations.
pub fn charge(id: u32, elapsed: &Elapsed, amounts: &Amounts) -> String {
    format!(
        "job {id} ran {} seconds: usage {:.4} after decay ({:.4} before), {} seconds of run limits released",
        elapsed.run, amounts.raw_decayed, amounts.raw, amounts.released
    )
}

/// What a job that has ended is charged for seconds that it did not run.
pub fn minimum(id: u32, seconds: i64, amounts: &Amounts) -> String {
    format!("job {id} is charged {seconds} more seconds by MinimumCharge: usage {:.4}", amounts.raw)
}

/// What became of the priorities that a cycle has computed, in jobs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub computed: usize,
    /// Written.
    pub written: usize,
    /// The same as before.
    pub same: usize,
    /// Lower, which `INCR_ONLY` does not allow.
    pub lower: usize,
    /// Held meanwhile.
    pub held: usize,
    /// Set directly meanwhile.
    pub direct: usize,
    /// Submitted or changed meanwhile.
    pub set: usize,
    /// Given up after a fault.
    pub failed: usize,
    /// Started, ended or gone meanwhile.
    pub gone: usize,
}

/// The tally of a cycle, in one line.
pub fn tally(tally: &Tally) -> String {
    let mut line = format!(
        "{} priorities computed: {} written, {} unchanged",
        tally.computed, tally.written, tally.same
    );
    for (count, why) in [
        (tally.lower, "lower, which INCR_ONLY forbids"),
        (tally.held, "of held jobs"),
        (tally.direct, "of jobs with a direct priority"),
        (tally.set, "of jobs submitted or changed meanwhile"),
        (tally.gone, "of jobs that have started or are gone"),
        (tally.failed, "given up after an internal error"),
    ] {
        if count != 0 {
            let _ = write!(line, ", {count} {why}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use multifactor2_core::factors::NICE_OFFSET;

    use super::*;

    #[test]
    fn a_job_in_words() {
        let weights =
            Weights { age: 1000, assoc: 2000, fair_share: 3000, job_size: 4000, partition: 5000, qos: 6000 };
        let evaluation = Evaluation {
            age: 250.0,
            assoc: 1500.0,
            fair_share: 375.0,
            job_size: 1000.0,
            partition: 2500.0,
            qos: 1500.0,
            tres: 30.0,
            site: NICE_OFFSET + 3,
            nice: NICE_OFFSET + 5,
        };
        let explained = ExplainedJob {
            id: 7,
            evaluation: &evaluation,
            points: None,
            tickets: None,
            tres: &[25.0, 0.0, 5.0],
            priority: 7153,
            variants: &[7153, 1],
        };
        assert_eq!(
            job(&weights, Some(&[100.0, 0.0, 10.0]), &explained, |tres| format!("tres{tres}")),
            "job 7: age 0.250000 * 1000 = 250.00; association 0.750000 * 2000 = 1500.00; fair-share 0.125000 * 3000 = \
             375.00; job size 0.250000 * 4000 = 1000.00; partition 0.500000 * 5000 = 2500.00; QOS 0.250000 * 6000 = \
             1500.00; TRES 30.00 (tres0 0.250000 * 100 = 25.00, tres2 0.500000 * 10 = 5.00); site 3; nice 5; sum \
             7153.00, priority 7153; by partition and QOS [7153, 1]"
        );
    }

    #[test]
    fn a_cycle_in_words() {
        let counts = Tally { computed: 9, written: 5, same: 2, held: 1, gone: 1, ..Tally::default() };
        assert_eq!(
            tally(&counts),
            "9 priorities computed: 5 written, 2 unchanged, 1 of held jobs, 1 of jobs that have started or are gone"
        );
    }
}

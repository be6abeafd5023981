//! Builds the answer from the outcomes of replays.

use multifactor2_replay::measures::fair_start::FairStarts;
use multifactor2_replay::measures::past::{GroupKind, Groups};
use multifactor2_replay::measures::{
    compare, fairness, past as past_of, summary, Counted, Fairness, Summary,
};
use multifactor2_replay::sim::{Outcome, Treatments, NEVER};
use multifactor2_replay::workload::{Machine, NO_TIME};
use multifactor2_replay::Workload;

use super::accounts::{accounts, shortfall};
use super::past::{self, Past};
use super::measures::{self, Measure, Of, Seen};
use super::{
    AccountSeries, Change, Comparison, FairStart, Jain, Measured, Missing, OverRuns, Partition, Policy, Problem,
    Replay, Series, Trace, Waits, WORDS,
};

/// What is replayed.
#[derive(Clone, Copy, Debug)]
pub struct Input<'i> {
    /// The file or directory.
    pub name: &'i str,
    /// What is in it.
    pub workload: &'i Workload,
    /// The machine.
    pub machine: &'i Machine,
    /// The scheduler, as it is called.
    pub scheduler: &'i str,
    /// What the replay does about each fact of the trace.
    pub treatments: &'i Treatments<'i>,
    /// Jobs that were submitted before are a warm-up.
    pub since: i64,
    /// The seed of jittered runs.
    pub seed: u64,
    /// Their jitter in seconds.
    pub jitter: u32,
    /// Accounts, users, partitions and classes of size.
    pub groups: &'i Groups,
    /// The policy that the cluster had, which is replayed first.
    pub past: &'i PastPolicy,
}

/// The policy that the cluster had.
#[derive(Clone, Debug)]
pub struct PastPolicy {
    /// As it is called.
    pub name: String,
    /// Where that is known from; empty if it is assumed.
    pub source: String,
}

/// What is kept of a jittered run.
#[derive(Clone, Debug)]
pub struct Jittered {
    /// Those of [`measures::over_runs`].
    pub measures: Vec<f64>,
    /// The mean wait of all jobs.
    pub wait: f64,
    /// That of each group, by place in [`Groups::all`]; not a number where it has no jobs.
    pub groups: Vec<f64>,
}

/// A policy that was replayed.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it is called.
    pub name: String,
    /// What came of the trace as it is.
    pub outcome: Outcome,
    /// The jittered runs, in the same order for each policy.
    pub jittered: Vec<Jittered>,
    /// What it leaves out.
    pub left_out: Vec<String>,
    /// Fair starts, where they were asked for.
    pub fair: Option<FairStarts>,
}

/// Intervals of a replay.
const INTERVALS: u32 = 200;

impl Input<'_> {
    fn fairness(&self, workload: &Workload, outcome: &Outcome) -> Fairness {
        fairness(workload, outcome, INTERVALS, workload.config.half_life(), self.since)
    }

    /// The measures of a jittered run, which has a separate workload.
    pub fn measured(&self, jittered: &Workload, outcome: Outcome) -> Jittered {
        let input = Input { workload: jittered, ..*self };
        let counted = Counted::of(jittered, &[&outcome], self.since);
        let summary = summary(jittered, self.machine, &outcome, &counted);
        let run = Run { name: String::new(), outcome, jittered: Vec::new(), left_out: Vec::new(), fair: None };
        let policy = input.policy(&run, &summary, &counted);
        let (wait, groups) = self.groups.mean_waits(jittered, &run.outcome, &counted);
        Jittered { measures: measures::over_runs().map(|measure| measure.value(&policy)).collect(), wait, groups }
    }

    /// The answer.
    pub fn answer(&self, runs: &[Run], stopped: bool) -> Replay {
        let outcomes: Vec<&Outcome> = runs.iter().map(|run| &run.outcome).collect();
        let counted = Counted::of(self.workload, &outcomes, self.since);
        let summaries: Vec<Summary> =
            runs.iter().map(|run| summary(self.workload, self.machine, &run.outcome, &counted)).collect();
        let policies = runs.iter().zip(&summaries).map(|(run, summary)| self.policy(run, summary, &counted));
        let policies: Vec<Policy> = policies.collect();
        let past = past_of::past(self.workload, self.groups, &runs[0].outcome, &counted, self.treatments);
        let others = runs.iter().skip(1);
        let comparisons = others.map(|other| self.comparison(&runs[0], other, &counted, past.as_ref())).collect();
        let errors = past.as_ref().map(|_| self.errors(&policies[0], &counted));
        Replay {
            trace: Trace { runs: runs.iter().map(|run| run.jittered.len()).min().unwrap_or_default(), ..self.trace(&counted) },
            past: past.as_ref().zip(errors).map(|(past, errors)| Past::new(self.past, self.groups, past, errors)),
            unsaid: past.as_ref().map_or_else(Vec::new, |past| past::unsaid(self.workload, self.groups, past)),
            facts: past::facts(self.workload, self.treatments),
            policies,
            comparisons,
            gaming: Vec::new(),
            left_out: self.treatments.left_out().map(str::to_owned).collect(),
            missing: self
                .workload
                .missing
                .iter()
                .map(|missing| Missing { what: missing.what.clone(), so: missing.so.clone() })
                .chain(self.workload.changed_limits.iter().map(|change| Missing {
                    what: "limits as they were".to_owned(),
                    so: format!("{change}: limits of another time are not in the trace"),
                }))
                .collect(),
            problems: self
                .workload
                .problems
                .iter()
                .map(|(kind, count, first)| Problem {
                    what: kind.text().to_owned(),
                    count,
                    first: first.iter().map(ToString::to_string).collect(),
                })
                .collect(),
            definitions: WORDS.into_iter().chain(measures::definitions()).collect(),
            stopped,
        }
    }

    fn trace(&self, counted: &Counted) -> Trace {
        let (workload, machine) = (self.workload, self.machine);
        let different = |of: &dyn Fn(&multifactor2_replay::workload::Job) -> u32| {
            let mut numbers: Vec<u32> = workload.jobs.iter().map(of).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len()
        };
        Trace {
            name: self.name.to_owned(),
            jobs: workload.jobs.len(),
            users: different(&|job| workload.user(job)),
            accounts: different(&|job| workload.account(job)),
            account_word: workload.account_word.to_owned(),
            first: workload.jobs.first().map_or(0, |job| job.submit),
            last: workload.jobs.last().map_or(0, |job| job.submit),
            since: self.since,
            cpus: machine.cpus(),
            nodes: machine.nodes(),
            partitions: machine
                .partitions
                .iter()
                .map(|partition| Partition { name: partition.name.clone(), cpus: machine.cpus_of(partition) })
                .collect(),
            scheduler: self.scheduler.to_owned(),
            half_life: workload.config.half_life(),
            seed: self.seed,
            runs: 0,
            runs_cut: false,
            jitter: self.jitter,
            counted: counted.count(),
            not_counted: workload.jobs.iter().filter(|job| job.submit >= self.since).count() - counted.count(),
            recorded: self.recorded(counted),
        }
    }

    /// Waits as they were recorded, of the jobs that count and have a recorded start.
    fn recorded(&self, counted: &Counted) -> Option<Waits> {
        let start = |start: i64| if start == NO_TIME { NEVER } else { start };
        let starts: Vec<i64> = self.workload.jobs.iter().map(|job| start(job.start)).collect();
        let outcome = Outcome { starts, ..Outcome::default() };
        let has_started = |(counts, start): (&bool, &i64)| *counts && *start != NEVER;
        let jobs = counted.jobs.iter().zip(&outcome.starts).map(has_started).collect();
        let summary = summary(self.workload, self.machine, &outcome, &Counted { since: self.since, jobs });
        (summary.all.wait.count > 0).then(|| Waits::from(&summary.all))
    }

    /// How much larger measures are under the past policy, replayed, than of the recorded starts.
    fn errors(&self, replayed: &Policy, counted: &Counted) -> Vec<Measured> {
        let start = |start: i64| if start == NO_TIME { NEVER } else { start };
        let starts: Vec<i64> = self.workload.jobs.iter().map(|job| start(job.start)).collect();
        let has_started = |(counts, start): (&bool, &i64)| *counts && *start != NEVER;
        let jobs = counted.jobs.iter().zip(&starts).map(has_started).collect();
        let outcome = Outcome { starts, ..Outcome::default() };
        let counted = Counted { since: self.since, jobs };
        let summary = summary(self.workload, self.machine, &outcome, &counted);
        let run = Run { name: String::new(), outcome, jittered: Vec::new(), left_out: Vec::new(), fair: None };
        let recorded = self.policy(&run, &summary, &counted);
        let error = |measure: &Measure| Measured {
            measure: measure.name.to_owned(),
            value: measure.value(replayed) - measure.value(&recorded),
        };
        measures::over_runs().map(error).collect()
    }

    fn policy(&self, run: &Run, summary: &Summary, counted: &Counted) -> Policy {
        let fairness = self.fairness(self.workload, &run.outcome);
        let accounts = accounts(self.workload, &run.outcome, &fairness, counted);
        let jain = Jain { mean: 1.0 - fairness.jain_gap.mean, worst: 1.0 - fairness.jain_gap.worst };
        let (workload, machine, outcome) = (self.workload, self.machine, &run.outcome);
        let seen = Seen { workload, machine, outcome, summary, fairness: &fairness, since: self.since };
        let others = measures::all().filter_map(|measure| match measure.of {
            Of::Replay(of) => Some(Measured { measure: measure.name.to_owned(), value: of(&seen) }),
            Of::Waits(_) | Of::Policy(_) => None,
        });
        let others = others.collect();
        Policy {
            name: run.name.clone(),
            waits: (&summary.all).into(),
            not_started: summary.not_started,
            misfits: run.outcome.misfits,
            utilisation: summary.utilisation,
            makespan: summary.makespan,
            users_normalised: summary.users_normalised.into(),
            contended: fairness.contended,
            share_error: fairness.share_error.into(),
            jain,
            shortfall: fairness.shortfall.into(),
            account_shortfall: shortfall(&accounts),
            lag: fairness.max_lag.iter().copied().fold(0.0, f64::max),
            fair_start: run.fair.map(|of| FairStart {
                jobs: of.jobs,
                later: of.later,
                unfairness: of.unfairness.into(),
            }),
            accounts,
            series: self.series(&fairness),
            others,
            runs: over_runs(&run.jittered),
            left_out: run.left_out.clone(),
            stopped: run.outcome.is_partial(),
        }
    }

    #[allow(clippy::cast_precision_loss)] // seconds
    fn series(&self, fairness: &Fairness) -> Series {
        let samples = &fairness.samples;
        let length = match samples.as_slice() {
            [first, second, ..] => (second.begin - first.begin) as f64,
            [only] => only.contended.max(1.0),
            [] => 1.0,
        };
        let accounts = fairness.accounts.iter().zip(&fairness.shares).enumerate();
        Series {
            begins: samples.iter().map(|sample| sample.begin).collect(),
            contended: samples.iter().map(|sample| (sample.contended / length).min(1.0)).collect(),
            share_error: samples.iter().map(|sample| sample.share_error).collect(),
            jain: samples.iter().map(|sample| sample.jain).collect(),
            accounts: accounts
                .map(|(at, (place, share))| AccountSeries {
                    name: self.workload.association_name(*place),
                    share: *share,
                    usage: samples.iter().map(|sample| sample.usage_share[at]).collect(),
                })
                .collect(),
        }
    }

    fn comparison(&self, first: &Run, second: &Run, counted: &Counted, past: Option<&past_of::Past>) -> Comparison {
        let workload = self.workload;
        let compared = compare(workload, &first.outcome, &second.outcome, counted);
        let [earlier, later, same] = compared.earlier_later_same;
        let before = self.groups.mean_waits(workload, &first.outcome, counted);
        let after = self.groups.mean_waits(workload, &second.outcome, counted);
        let of_run = |jittered: &Jittered, group: Option<usize>| group.map_or(jittered.wait, |at| jittered.groups[at]);
        let change = |name: &str, group: Option<usize>, jobs: usize| {
            let mean = |(whole, groups): &(f64, Vec<f64>)| group.map_or(*whole, |at| groups[at]);
            let longer = mean(&after) - mean(&before);
            let differences: Vec<f64> = first
                .jittered
                .iter()
                .zip(&second.jittered)
                .map(|(one, other)| of_run(other, group) - of_run(one, group))
                .filter(|difference| difference.is_finite())
                .collect();
            let (of_runs, deviation) = spread(&differences);
            let chance = (differences.len() > 1).then_some(2.0 * deviation);
            let band = past.map(|past| group.map_or(&past.whole, |at| &past.groups[at]));
            let error = band.map(past_of::Band::worst).filter(|error| error.is_finite());
            let is_silent = past.is_some_and(|past| past.silences.iter().any(|(at, _)| Some(*at) == group));
            // Also over the runs: jobs of one second have an order in the trace as it is, which no policy gives them.
            let is_larger = |noise: f64| longer.abs() > noise && of_runs.abs() > noise && longer * of_runs > 0.0;
            let is_told = !is_silent && error.is_some_and(is_larger) && chance.is_some_and(is_larger);
            Change { name: name.to_owned(), jobs, before: mean(&before), longer, chance, error, is_told }
        };
        let mut jobs = vec![0_usize; self.groups.all.len()];
        for at in (0..workload.jobs.len()).filter(|at| counted.jobs[*at]) {
            for group in self.groups.of_job(workload, at) {
                jobs[group] += 1;
            }
        }
        let changes = |kind: GroupKind| {
            let groups = self.groups.all.iter().enumerate().filter(|(at, group)| group.kind == kind && jobs[*at] > 0);
            let mut changes: Vec<Change> = groups.map(|(at, group)| change(&group.name, Some(at), jobs[at])).collect();
            changes.sort_by(|one, other| {
                one.longer.total_cmp(&other.longer).then_with(|| one.name.cmp(&other.name))
            });
            changes
        };
        Comparison {
            from: first.name.clone(),
            to: second.name.clone(),
            earlier,
            later,
            same,
            inversions: compared.inversions,
            whole: change("all", None, counted.count()),
            accounts: changes(GroupKind::Account),
            users: changes(GroupKind::User),
            partitions: changes(GroupKind::Partition),
        }
    }
}

/// The mean of some numbers, and their standard deviation; 0 of fewer than two.
#[allow(clippy::cast_precision_loss)] // a handful of runs
pub fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 })
}

fn over_runs(runs: &[Jittered]) -> Vec<OverRuns> {
    if runs.is_empty() {
        return Vec::new();
    }
    let of = |(at, measure): (usize, &Measure)| {
        let values: Vec<f64> = runs.iter().map(|run| run.measures[at]).collect();
        let (mean, deviation) = spread(&values);
        OverRuns {
            measure: measure.name.to_owned(),
            mean,
            deviation,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs: runs.len(),
        }
    };
    measures::over_runs().enumerate().map(of).collect()
}

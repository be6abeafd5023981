//! Finds what is odd in a configuration that works: our settings together with those of slurm.conf. Both the plugin, after a start or a
//! reconfigure, and `multifactor2 check`, before one, use it.
//!
//! A rule belongs here if it needs the configuration alone. Rules that need associations or other files are with those.

use std::fmt;

use super::table::{Component, ComponentKind, Dilution, DilutionUnit, Settings, TreeUsage};
use crate::factors::Weights;
use crate::policy::points::LARGEST_THRESHOLD;

/// How odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// It does something else than what it is for.
    Wrong,
    /// Every job has the priority that it would have without it.
    WithoutEffect,
    /// It does what it says, and few sites want that.
    Unusual,
}

/// What is odd, why, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// How odd.
    pub grade: Grade,
    /// The sentence.
    pub text: String,
}

impl Advice {
    /// Of something wrong.
    pub fn wrong(text: impl Into<String>) -> Self {
        Self { grade: Grade::Wrong, text: text.into() }
    }

    /// Of something without effect.
    pub fn without_effect(text: impl Into<String>) -> Self {
        Self { grade: Grade::WithoutEffect, text: text.into() }
    }

    /// Of something unusual.
    pub fn unusual(text: impl Into<String>) -> Self {
        Self { grade: Grade::Unusual, text: text.into() }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What to say of QOS with these flags and this threshold, with or without caps that stop jobs (`Block=yes`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thresholds {
    /// QOS in which slurmctld stops no job.
    lacking: Vec<String>,
    /// QOS whose threshold means little.
    meaningless: Vec<String>,
}

impl Thresholds {
    /// Takes a QOS: its name, whether it has the flag `EnforceUsageThreshold`, and its `UsageThreshold`, if any. `caps_stop`: some caps
    /// stop jobs.
    pub fn take(&mut self, name: &str, is_enforced: bool, threshold: Option<f64>, caps_stop: bool) {
        let enforced = threshold.filter(|_| is_enforced);
        let stops = enforced.is_some_and(|threshold| threshold > 0.0 && threshold <= LARGEST_THRESHOLD);
        if caps_stop && !stops {
            self.lacking.push(name.to_owned());
        }
        if enforced.is_some() && !(caps_stop && stops) {
            self.meaningless.push(name.to_owned());
        }
    }

    /// What there is to say.
    pub fn advice(&self) -> Vec<Advice> {
        /// How many are named.
        const NAMED: usize = 10;
        let mut found = Vec::new();
        if !self.lacking.is_empty() {
            let named = self.lacking.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(",");
            let more = match self.lacking.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            found.push(Advice::wrong(format!(
                "Target lines with Block=yes stop no jobs of QOS {named}{more}: beyond a cap these jobs come last. To \
                 stop them, too: sacctmgr modify qos {named} set UsageThreshold=0.000001 Flags+=EnforceUsageThreshold"
            )));
        }
        found.extend(self.meaningless.iter().map(|name| {
            Advice::wrong(format!(
                "QOS {name} has a UsageThreshold, which means little here: slurmctld compares it with a job's \
                 weighted fair-share factor (the column FAIRSHARE of sprio), which is relative to the best waiting \
                 user. Unset it, or the flag EnforceUsageThreshold"
            ))
        }));
        found
    }
}

/// What slurm.conf says, as far as rules need it. Times are in seconds.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of slurm.conf
pub struct Beside {
    /// Fair-share uses tickets: `PriorityType=priority/multifactor2`.
    pub has_tickets: bool,
    /// `PriorityWeight*`
    pub weights: Weights,
    /// `PriorityWeightTRES` is set.
    pub weighs_tres: bool,
    /// `PriorityMaxAge`
    pub max_age: u32,
    /// `PriorityDecayHalfLife`; 0 for no decay.
    pub half_life: u32,
    /// `PriorityUsageResetPeriod` is other than `NONE`.
    pub resets: bool,
    /// `PriorityCalcPeriod`
    pub calc_period: u32,
    /// `PriorityFlags=INCR_ONLY`
    pub increase_only: bool,
    /// `PriorityFlags=CALCULATE_RUNNING`
    pub calculate_running: bool,
    /// `PriorityFlags=NO_FAIR_TREE` or `DEPTH_OBLIVIOUS`
    pub no_fair_tree: bool,
}

/// Less is forgotten before it counts, in seconds.
const SHORT: u32 = 3600;

/// `UNLIMITED` and `INFINITE`, which slurmctld multiplies by 60.
fn is_endless(seconds: u32) -> bool {
    seconds >= u32::MAX - 60
}

/// How many times the weight of fair-share another weight may be, before fair-share decides among jobs that are all but alike only.
const OVERWHELMING: u64 = 100;

impl Settings {
    /// All that is odd together with slurm.conf; if that is unknown, only what our own settings show by themselves.
    pub fn advice(&self, beside: Option<&Beside>) -> Vec<Advice> {
        let mut found: Vec<Advice> = self.without_effect().into_iter().map(Advice::without_effect).collect();
        found.extend(self.nobody_has_tickets());
        found.extend(self.committed_by_the_minute());
        found.extend(self.short_windows());
        if let Some(beside) = beside {
            let in_windows = self.tree_usage == TreeUsage::Window;
            found.extend(beside.advice(!self.components.is_empty(), in_windows));
            found.extend(self.falls_nowhere(beside));
            found.extend(self.running_jobs_without_priorities(beside));
            if beside.no_fair_tree {
                found.push(Advice::without_effect(
                    "PriorityFlags=NO_FAIR_TREE or DEPTH_OBLIVIOUS changes nothing with priority/multifactor2: remove it",
                ));
            }
        }
        found
    }

    fn nobody_has_tickets(&self) -> Option<Advice> {
        let others = self.tickets_functional > 0 || !self.overrides.is_empty() || self.admin_comment_tickets;
        (self.tickets_share == 0 && !others).then(|| {
            Advice::wrong(
                "TicketsShare=0 gives no tickets by shares, and nothing else gives any, so every job has the \
                 fair-share factor 0. Remove it, set TicketsFunctional, or add Override lines",
            )
        })
    }

    fn committed_by_the_minute(&self) -> Option<Advice> {
        let is_minute = self.dilution_quantum <= 1.0 && self.dilution_exponent > 0.0;
        (self.dilution != Dilution::None && self.dilution_unit == DilutionUnit::Committed && is_minute).then(|| {
            let left = 100.0 * (self.dilution_quantum / (self.dilution_quantum + 60.0)).powf(self.dilution_exponent);
            Advice::wrong(format!(
                "DilutionUnit=committed counts billing times minutes: with DilutionQuantum={} a one-hour job on one \
                 CPU leaves the next job {left:.1} % of the tickets. Set DilutionQuantum to what a usual job commits, \
                 such as 960 for four CPUs for four hours",
                self.dilution_quantum
            ))
        })
    }

    fn short_windows(&self) -> Option<Advice> {
        let (length, depth, _) = self.tree_windows()?;
        let seconds = i128::from(length) * i128::from(self.tree_depth);
        (seconds < i128::from(SHORT)).then(|| {
            Advice::wrong(format!(
                "TreeWindow times TreeDepth is {length} s times {depth}: usage is forgotten after that time, so \
                 fair-share depends on who is running jobs now. A number without a dash is minutes; 1-0 is one day"
            ))
        })
    }

    fn falls_nowhere(&self, beside: &Beside) -> Option<Advice> {
        let dated = self.overrides.iter().any(|line| line.from.is_some() || line.until.is_some());
        let falls = self.dilution != Dilution::None || dated || !self.targets.is_empty();
        (beside.increase_only && falls).then(|| {
            Advice::wrong(
                "PriorityFlags=INCR_ONLY does not let a priority fall, but with Dilution, with Target and when an \
                 Override ends it must: remove INCR_ONLY",
            )
        })
    }

    fn running_jobs_without_priorities(&self, beside: &Beside) -> Option<Advice> {
        let usage = |line: &Component| line.component == ComponentKind::Usage;
        (!beside.calculate_running && self.components.iter().any(usage)).then(|| {
            Advice::without_effect(
                "Component=USAGE gives points to running jobs, whose priorities are not recalculated: add \
                 CALCULATE_RUNNING to PriorityFlags, or remove the line",
            )
        })
    }
}

impl Beside {
    /// What is odd in slurm.conf alone if a plugin computes fair-share. `has_points`: jobs have points, which are no fair-share.
    /// `in_windows`: usage for shares is in windows, which the half-life does not affect.
    pub fn advice(&self, has_points: bool, in_windows: bool) -> Vec<Advice> {
        let rules = [
            self.weights(has_points),
            self.increase_only(),
            self.age(),
            self.age_alone(),
            self.usage_for_ever().filter(|_| !in_windows),
            self.usage_is_forgotten().filter(|_| !in_windows),
            self.windows_are_emptied().filter(|_| in_windows),
            self.rare_calculation(),
        ];
        rules.into_iter().flatten().collect()
    }

    fn weights(&self, has_points: bool) -> Option<Advice> {
        let Weights { age, assoc, fair_share, job_size, partition, qos } = self.weights;
        if fair_share != 0 || has_points {
            return None;
        }
        let others =
            [age, assoc, job_size, partition, qos].iter().any(|weight| *weight != 0) || self.weighs_tres;
        Some(if others {
            let text = "PriorityWeightFairshare=0: fair-share is computed, but affects no job. Set \
                        PriorityWeightFairshare (see docs/weights.md)";
            if self.has_tickets {
                Advice::without_effect(text)
            } else {
                Advice::unusual(text)
            }
        } else {
            Advice::wrong(
                "all PriorityWeight* are 0, so all jobs have the same priority and wait in the order of submission. Set at least \
                 PriorityWeightFairshare (see docs/weights.md)",
            )
        })
    }

    fn increase_only(&self) -> Option<Advice> {
        (self.increase_only && self.weights.fair_share > 0).then(|| {
            Advice::wrong(
                "PriorityFlags=INCR_ONLY keeps each job at the highest priority that it ever had. Fair-share is \
                 relative to the users who are waiting now, so in time all jobs come near the top and their order \
                 means nothing. Remove INCR_ONLY",
            )
        })
    }

    fn age(&self) -> Option<Advice> {
        (self.max_age == 0 && self.weights.age > 0).then(|| {
            Advice::without_effect(
                "PriorityMaxAge=0 gives every job the whole PriorityWeightAge at once, so waiting changes nothing: set \
                 PriorityMaxAge, such as 7-0, or remove PriorityWeightAge",
            )
        })
    }

    fn age_alone(&self) -> Option<Advice> {
        let Weights { age, fair_share, .. } = self.weights;
        let overwhelms = fair_share > 0 && u64::from(age) >= OVERWHELMING * u64::from(fair_share);
        (overwhelms && self.max_age > 0 && !is_endless(self.max_age)).then(|| {
            let minutes = f64::from(self.max_age) * f64::from(fair_share) / f64::from(age) / 60.0;
            Advice::unusual(format!(
                "PriorityWeightAge={age} is {} times PriorityWeightFairshare: a job submitted {minutes:.0} minutes \
                 earlier comes first, whatever the shares. Set PriorityWeightFairshare higher (see docs/weights.md)",
                age / fair_share
            ))
        })
    }

    fn usage_for_ever(&self) -> Option<Advice> {
        ((self.half_life == 0 || is_endless(self.half_life)) && !self.resets).then(|| {
            Advice::wrong(
                "PriorityDecayHalfLife=0 and PriorityUsageResetPeriod=NONE: usage is never forgotten, so users who \
                 once used much stay last. Set one of the two",
            )
        })
    }

    fn usage_is_forgotten(&self) -> Option<Advice> {
        (1..SHORT).contains(&self.half_life).then(|| {
            Advice::wrong(format!(
                "PriorityDecayHalfLife is {} s: half of all usage is forgotten in that time, so fair-share depends on \
                 who is running jobs now. A number without a dash is minutes; 7-0 is seven days",
                self.half_life
            ))
        })
    }

    fn windows_are_emptied(&self) -> Option<Advice> {
        self.resets.then(|| {
            Advice::unusual(
                "PriorityUsageResetPeriod empties the windows of TreeUsage=window, which forget usage without it. Set \
                 PriorityUsageResetPeriod=NONE, unless RawUsage should be reset for limits",
            )
        })
    }

    fn rare_calculation(&self) -> Option<Advice> {
        (self.calc_period > SHORT).then(|| {
            Advice::wrong(format!(
                "PriorityCalcPeriod is {} s: priorities are computed and usage is counted only that often, so the \
                 order of jobs is that of the last calculation. Set PriorityCalcPeriod=5 (minutes)",
                self.calc_period
            ))
        })
    }
}

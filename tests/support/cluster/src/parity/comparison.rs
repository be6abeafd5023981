//! What two samples of one saved state must have in common: all but fair-share.

use super::{number, Sample, Saved, OURS, STOCK};
use crate::Row;

/// What does not depend on time or fair-share.
const EQUAL: [&str; 14] = [
    "JOBID",
    "PARTITION",
    "USER",
    "SITE",
    "ASSOC",
    "assoc",
    "JOBSIZE",
    "jobsize",
    "PARTPRIO",
    "partprio",
    "QOS",
    "qos",
    "NICE",
    "TRES",
];

/// Settings of one comparison, by name.
pub type Variant = (&'static str, &'static [(&'static str, &'static str)]);

const TRES: (&str, &str) = ("PriorityWeightTRES", "CPU=5000,Mem=3000,Node=100,GRES/gpu=2000");
const NO_FAIR_SHARE: (&str, &str) = ("PriorityWeightFairshare", "0");
/// Not even the time makes a difference.
const NO_TIME: (&str, &str) = ("PriorityWeightAge", "0");

/// Settings that together use every factor and every way of rounding.
pub const VARIANTS: [Variant; 13] = [
    ("default", &[]),
    ("favor small", &[("PriorityFavorSmall", "YES")]),
    ("relative to time", &[("PriorityFlags", "SMALL_RELATIVE_TO_TIME")]),
    (
        "relative to time, favor small",
        &[("PriorityFlags", "SMALL_RELATIVE_TO_TIME"), ("PriorityFavorSmall", "YES"), TRES],
    ),
    (
        "nothing normalised",
        &[("PriorityFlags", "NO_NORMAL_ALL"), ("PriorityWeightTRES", "CPU=5,Mem=3,Node=2")],
    ),
    ("partition and QOS as they are", &[("PriorityFlags", "NO_NORMAL_PART,NO_NORMAL_QOS")]),
    ("largest TRES", &[("PriorityFlags", "MAX_TRES"), TRES]),
    (
        "increase only",
        &[("PriorityFlags", "INCR_ONLY"), ("PriorityWeightQOS", "50000"), NO_FAIR_SHARE, NO_TIME],
    ),
    ("accrue always", &[("PriorityFlags", "ACCRUE_ALWAYS")]),
    ("TRES", &[TRES]),
    ("classic", &[("PriorityFlags", "NO_FAIR_TREE,DEPTH_OBLIVIOUS")]),
    (
        "without fair-share, to floor and ceiling",
        &[
            ("PriorityWeightQOS", "4294967295"),
            ("PriorityWeightPartition", "2000000000"),
            NO_FAIR_SHARE,
            NO_TIME,
        ],
    ),
    ("decay", &[("PriorityDecayHalfLife", "0-1"), TRES]),
];

fn of_job<'a>(sample: &'a Sample, job: &str) -> Option<&'a Row> {
    sample.sprio.iter().find(|row| row.text("JOBID") == job)
}

/// What two samples of the same state must have in common; a line for each deviation.
struct Comparison<'a> {
    stock: &'a Sample,
    ours: &'a Sample,
    settings: &'a [(&'a str, &'a str)],
    deviations: Vec<String>,
}

impl Comparison<'_> {
    fn has(&self, setting: (&str, &str)) -> bool {
        self.settings.contains(&setting)
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.deviations.push(what());
        }
    }

    /// Units of priority that a job gains between the samples by its age alone.
    #[allow(clippy::cast_precision_loss)] // seconds
    fn aged(&self) -> f64 {
        (self.ours.cycle - self.stock.cycle) as f64
    }

    fn compare_sprio(&mut self) {
        let (stock, ours, aged) = (&self.stock.sprio, &self.ours.sprio, self.aged());
        assert_eq!(stock.len(), ours.len(), "lines of sprio");
        for (stock, ours) in stock.iter().zip(ours) {
            for column in EQUAL {
                let (a, b) = (stock.text(column), ours.text(column));
                self.expect(a == b, || format!("{column} of {stock:?}: {b}"));
            }
            let [a, b] = [stock, ours].map(|row| number(row, "AGE"));
            let grown = (b - a - aged).abs() < 0.5;
            let constant = (b - a).abs() < 0.5 && (a == 0.0 || (a - 86400.0).abs() < 0.5);
            self.expect(grown || constant, || format!("AGE of {stock:?}: {b}, {aged} s later"));
            let rest = |row: &Row| number(row, "PRIORITY") - number(row, "FAIRSHARE") - number(row, "AGE");
            let at_floor = [stock, ours].iter().any(|row| number(row, "PRIORITY") <= 1.0);
            let fair_share = !self.has(NO_FAIR_SHARE);
            let same = (rest(stock) - rest(ours)).abs() <= 1.0;
            self.expect(same || at_floor && fair_share, || format!("PRIORITY: {stock:?}\n  ours {ours:?}"));
        }
    }

    /// The priority that the scheduler goes by.
    fn compare_squeue(&mut self) {
        let (stock, ours) = (&self.stock.squeue, &self.ours.squeue);
        assert_eq!(stock.len(), ours.len(), "lines of squeue");
        for (a, b) in stock.iter().zip(ours) {
            for column in ["JOBID", "PARTITION", "STATE"] {
                self.expect(a.text(column) == b.text(column), || format!("squeue: {a:?} {b:?}"));
            }
            let job = a.text("JOBID").split('_').next().unwrap();
            let factors = of_job(self.stock, job).zip(of_job(self.ours, job));
            // sprio does not show jobs that are not eligible (but does with ACCRUE_ALWAYS), nor says their fair-share.
            let unknown = factors.is_none() && !self.has(NO_FAIR_SHARE);
            let by_time_and_share = factors.map_or([0.0; 2], |(stock, ours)| {
                [stock, ours].map(|row| number(row, "FAIRSHARE") + number(row, "AGE"))
            });
            let [stock, ours] = [a, b].map(|row| number(row, "PRIORITY"));
            let same = (stock - by_time_and_share[0] - (ours - by_time_and_share[1])).abs() <= 1.0;
            let at_floor = stock <= 1.0 || ours <= 1.0;
            let held = stock == 0.0 || ours == 0.0;
            let excused = unknown && !held || at_floor && !held && !self.has(NO_FAIR_SHARE);
            self.expect(same || excused, || format!("priority of {a:?}: {ours}; {factors:?}"));
        }
    }
}

impl Comparison<'_> {
    /// The factor by which usage decays between the two cycles.
    fn decay(&self) -> f64 {
        if self.has(("PriorityDecayHalfLife", "0-1")) {
            (1.0 - 0.693 / 3600.0_f64).powf(self.aged())
        } else {
            1.0
        }
    }

    fn compare_shares(&mut self) {
        let (stock, ours, decay) = (&self.stock.sshare, &self.ours.sshare, self.decay());
        assert_eq!(stock.len(), ours.len(), "lines of sshare");
        for (a, b) in stock.iter().zip(ours) {
            for column in ["Account", "User", "RawShares", "GrpTRESMins", "TRESRunMins"] {
                self.expect(a.text(column) == b.text(column), || format!("sshare {column}: {a:?} {b:?}"));
            }
            let [stock, ours] = [a, b].map(|row| number(row, "RawUsage"));
            let tolerance = if decay < 1.0 { 1.0 } else { 0.0 };
            self.expect((stock * decay - ours).abs() <= tolerance, || format!("RawUsage: {a:?} {b:?}"));
        }
        let (stock, ours) =
            (without_fair_share(&self.stock.assoc_mgr), without_fair_share(&self.ours.assoc_mgr));
        assert!(stock.len() > 100, "scontrol show assoc_mgr is too short: {stock:?}");
        if decay < 1.0 {
            return;
        }
        self.expect(stock.len() == ours.len(), || "lines of scontrol show assoc_mgr".to_owned());
        for (a, b) in stock.iter().zip(&ours) {
            self.expect(a == b, || format!("scontrol show assoc_mgr: {a} / {b}"));
        }
    }
}

/// The lines of `scontrol show assoc_mgr` without the numbers that fair-share is about: normalised shares
/// and usage, effective usage, factors. Raw shares and raw usage stay.
fn without_fair_share(text: &str) -> Vec<String> {
    let word = |word: &str| match word.split_once('=') {
        Some(("SharesRaw/Norm/Level/Factor" | "UsageRaw/Norm/Efctv", numbers)) => {
            numbers.split('/').next().unwrap_or_default().to_owned()
        }
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).filter(|line| !line.starts_with("Association Manager as of")).collect()
}

/// Compares under each of the variants; `running` jobs move usage and run-minutes.
pub fn compare(saved: &mut Saved, variants: &[Variant], running: bool) {
    let mut failures = Vec::new();
    for (name, settings) in variants {
        let (stock, ours) = (saved.sample(STOCK, settings), saved.sample(OURS, settings));
        let mut comparison = Comparison { stock: &stock, ours: &ours, settings, deviations: Vec::new() };
        comparison.compare_sprio();
        comparison.compare_squeue();
        if !running {
            comparison.compare_shares();
        }
        eprintln!(
            "{name}: {} lines of sprio, {} jobs, {} associations, {} s apart, {} deviations",
            ours.sprio.len(),
            ours.squeue.len(),
            ours.sshare.len(),
            ours.cycle - stock.cycle,
            comparison.deviations.len()
        );
        failures.extend(comparison.deviations.into_iter().map(|deviation| format!("{name}: {deviation}")));
    }
    let shown = failures[..failures.len().min(20)].join("\n");
    assert!(failures.is_empty(), "{} deviations:\n{shown}", failures.len());
}

//! Random rules, jobs and histories, with changes of rules in between, against the naive model, which counts second by second.

use multifactor2_fixtures::charge_model::{
    ModelCharge, ModelEnd, ModelJob, ModelKind, ModelRule, ModelRules,
};
use proptest::collection::vec;
use proptest::prelude::*;
use slurm_inproc::{Host, HostResult, Job};

use super::runs::end;
use super::{begin, of, of_qos, ALICE, CAROL, NORMAL, WCKEYS};
use crate::charges::{running, LIMITS};
use crate::grants::kept;
use crate::settings::write_file;
use crate::setup::NOW;

const NAMES: [&str; 6] = ["batch", "long", "half", "physics", "chemistry", "r"];

fn rule() -> impl Strategy<Value = ModelRule> {
    let kinds = [
        ModelKind::Partition,
        ModelKind::Qos,
        ModelKind::Reservation,
        ModelKind::WcKey,
        ModelKind::Account,
        ModelKind::Parent,
        ModelKind::Requeued,
    ];
    let names = prop::sample::subsequence(NAMES.to_vec(), 1..=5);
    (prop::sample::select(kinds.to_vec()), names, 0_u32..=40, any::<bool>()).prop_map(
        |(kind, names, factor, limits)| {
            let names = if kind == ModelKind::Requeued {
                Vec::new()
            } else {
                names.into_iter().map(str::to_owned).collect()
            };
            ModelRule { kind, names, factor: f64::from(factor) / 8.0, limits }
        },
    )
}

fn rules() -> impl Strategy<Value = ModelRules> {
    (vec(rule(), 0..5), prop_oneof![Just(0), 1..2000_i64])
        .prop_map(|(rules, minimum)| ModelRules { rules, minimum })
}

/// A job as the model and as the host has it.
#[derive(Clone, Debug)]
struct Case {
    model: ModelJob,
    qos: u32,
    /// Of alice, or of carol.
    association: u32,
    /// When each run started and ended, and why.
    runs: Vec<(i64, i64, ModelEnd)>,
}

fn runs() -> impl Strategy<Value = Vec<(i64, i64, ModelEnd)>> {
    let ends =
        [ModelEnd::Requeued, ModelEnd::Preempted, ModelEnd::NodeFailed, ModelEnd::NotLaunched].to_vec();
    let last = [ModelEnd::Done, ModelEnd::Requeued, ModelEnd::Preempted, ModelEnd::NodeFailed].to_vec();
    let again = vec((1_i64..200, 0_i64..300, prop::sample::select(ends)), 0..3);
    (again, (1_i64..200, 0_i64..800, prop::sample::select(last))).prop_map(|(mut all, last)| {
        all.push(last);
        let mut now = 0;
        let run = |(waits, runs, end)| {
            let start = now + waits;
            now = start + runs;
            (start, now, end)
        };
        all.into_iter().map(run).collect()
    })
}

fn job() -> impl Strategy<Value = Case> {
    (any::<[bool; 5]>(), runs()).prop_map(|(is, runs)| {
        let accounts = vec![if is[0] { "physics" } else { "chemistry" }.to_owned()];
        Case {
            model: ModelJob {
                partition: if is[1] { "batch" } else { "long" }.into(),
                qos: if is[2] { "half" } else { "normal" }.into(),
                reservation: is[3].then(|| "r".to_owned()),
                wckey: is[4].then(|| "r".to_owned()),
                accounts,
                before: None,
                usage_factor: if is[2] { 0.5 } else { 1.0 },
                billing: 4.0,
            },
            qos: if is[2] { 2 } else { NORMAL },
            association: if is[0] { ALICE } else { CAROL },
            runs,
        }
    })
}

impl Case {
    fn begin(&self, id: u32, run: usize) -> Job {
        let start = NOW + self.runs[run].0;
        running(id)
            .association(self.association)
            .qos(self.qos)
            .partitions([self.model.partition.clone()])
            .start_time(start)
            .end_time(0)
            .end_time_expected(start + 36_000)
            .preempt_time(0)
            .wckey(self.model.wckey.clone().unwrap_or_default())
            .reservations(self.model.reservation.clone().unwrap_or_default())
            .reservation(self.model.reservation.clone().unwrap_or_default())
            .restarts(u32::try_from(run).expect("few"))
    }
}

/// When all is over.
const LAST: i64 = 2400;

/// Run seconds that a job has reserved for those of its runs that end at certain times.
fn reserved(job: &Case, ends: impl Fn(i64) -> bool) -> u64 {
    let runs = job.runs.iter().filter(|(_, end, _)| ends(*end)).count();
    u64::try_from(runs).expect("few") * if job.qos == NORMAL { 144_000 } else { 72_000 }
}

/// Grants that count what raw usage counts, of alice's account and of carol's.
const GRANTS: &str = "Grant=Account Name=physics,chemistry Amount=1 From=2033-05-18 Until=2033-05-18 Pace=1days TimeZone=UTC Factors=yes\n";

/// What was used of them, in seconds.
#[allow(clippy::cast_precision_loss)] // compared to some digits
fn of_grants(host: &Host) -> [f64; 2] {
    ["physics", "chemistry"].map(|account| {
        let line = format!("Account {account} cpu - - UTC,factors 2033-05-18 1days -");
        kept(host, &line).1.iter().sum::<i128>() as f64 / 1e6
    })
}

/// Lets the host live through it; what alice, carol and the QOS have then, and what was used of the grants.
fn in_host(
    rules: [&ModelRules; 2],
    change: i64,
    cycles: i64,
    jobs: &[Case],
) -> HostResult<([super::Sums; 3], [f64; 2])> {
    let mut host = begin(&format!("{}{GRANTS}", rules[0]), LIMITS | WCKEYS)?;
    host.init()?;
    let mut last = 0;
    for now in 1..=LAST {
        let happens = |job: &Case| job.runs.iter().any(|run| run.0 == now || run.1 == now);
        let cycle = now % cycles == 0 || now == LAST;
        if !cycle && now != change && !jobs.iter().any(happens) {
            continue;
        }
        host.advance(now - last)?;
        last = now;
        if now == change {
            write_file(&host, &format!("{}{GRANTS}", rules[1]))?;
            let over = |job: &Case| reserved(job, |end| end < now);
            super::reconfigure(&mut host, |id| {
                jobs.iter().filter(|job| job.association == id).map(over).sum()
            })?;
        }
        for (id, job) in (1..).zip(jobs) {
            for (number, (start, ends, why)) in job.runs.iter().enumerate() {
                if *start == now {
                    host.jobs(&[job.begin(id, number)])?;
                }
                if *ends == now {
                    host.jobs(&[end(id, *why, NOW + now, number)])?;
                    host.job_end(id)?;
                }
            }
        }
        if cycle {
            host.cycle()?;
        }
    }
    let found =
        ([of(&mut host, ALICE)?, of(&mut host, CAROL)?, of_qos(&mut host, NORMAL)?], of_grants(&host));
    host.quit()?;
    Ok(found)
}

/// The same by the model.
fn in_model(rules: [&ModelRules; 2], change: i64, jobs: &[Case]) -> [ModelCharge; 3] {
    let mut all = [ModelCharge::default(); 3];
    for job in jobs {
        let in_force = |second: i64| rules[usize::from(second >= change)];
        let (mut sum, mut of_run) = (ModelCharge::default(), job.model.clone());
        for (start, end, why) in &job.runs {
            for second in *start..*end {
                sum.add_second(in_force(second), &of_run);
            }
            sum.add_end(in_force(*end), &of_run, end - start, *why);
            of_run.before = Some(*why);
        }
        let mut owners = vec![usize::from(job.association != ALICE)];
        // `long` has the QOS normal.
        if job.qos == NORMAL || job.model.partition == "long" {
            owners.push(2);
        }
        for owner in owners {
            all[owner].association += sum.association;
            all[owner].qos += sum.qos;
            all[owner].wall += sum.wall;
        }
    }
    all
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn charges_are_those_of_the_model(
        first in rules(), second in rules(), change in 1_i64..LAST, cycles in 50_i64..900, jobs in vec(job(), 1..6),
    ) {
        let rules = [&first, &second];
        let (found, grants) = in_host(rules, change, cycles, &jobs).expect("the host lives");
        let expected = in_model(rules, change, &jobs);
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let raw = if at == 2 { expected.qos } else { expected.association };
            let same = near(found.raw, raw)
                && near(found.wall, expected.wall)
                && near(found.cpu, 4.0 * expected.wall)
                && near(found.memory, 8192.0 * expected.wall);
            prop_assert!(same, "{at}: {found:?}, by the model {expected:?}");
        }
        // Of a grant each second is rounded to a millionth.
        for (used, of) in grants.iter().zip(&expected) {
            let differs = (used - of.association).abs();
            prop_assert!(differs <= 0.05, "{used} of a grant, by the model {}", of.association);
        }
        // All that was reserved for these jobs is given back at their ends. At half price stock loses a part of a second in each charge.
        for (found, association) in found.iter().zip([ALICE, CAROL]) {
            let own = || jobs.iter().filter(|job| job.association == association);
            let reserved: u64 = own().map(|job| reserved(job, |_| true)).sum();
            let lost: i64 = own().filter(|job| job.qos != NORMAL).map(|_| 4 * (LAST / cycles + 6)).sum();
            let missing = reserved.checked_sub(found.back).and_then(|missing| i64::try_from(missing).ok());
            prop_assert!(missing.is_some_and(|missing| missing <= lost), "{} of {reserved} for {association}", found.back);
        }
    }
}

//! Random rules, jobs and histories, with changes of rules in between, against the naive model, which counts second by second.

use multifactor2_fixtures::charge_model::{ModelCharge, ModelJob, ModelKind, ModelRule, ModelRules};
use proptest::collection::vec;
use proptest::prelude::*;
use slurm_inproc::{state, HostResult, Job};

use super::{begin, of, of_qos, ALICE, CAROL, NORMAL};
use crate::charges::{running, LIMITS};
use crate::settings::write_file;
use crate::setup::{seeded, NOW};

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
    start: i64,
    run: i64,
    requeued: bool,
}

fn job() -> impl Strategy<Value = Case> {
    (any::<[bool; 6]>(), 1_i64..600, 0_i64..1500, any::<bool>()).prop_map(|(is, start, run, requeued)| {
        let accounts = vec![if is[0] { "physics" } else { "chemistry" }.to_owned()];
        Case {
            model: ModelJob {
                partition: if is[1] { "batch" } else { "long" }.into(),
                qos: if is[2] { "half" } else { "normal" }.into(),
                reservation: is[3].then(|| "r".to_owned()),
                wckey: is[4].then(|| "r".to_owned()),
                accounts,
                again: is[5],
                usage_factor: if is[2] { 0.5 } else { 1.0 },
                billing: 4.0,
            },
            qos: if is[2] { 2 } else { NORMAL },
            association: if is[0] { ALICE } else { CAROL },
            start,
            run,
            requeued,
        }
    })
}

impl Case {
    fn begin(&self, id: u32) -> Job {
        let start = NOW + self.start;
        running(id)
            .association(self.association)
            .qos(self.qos)
            .partitions([self.model.partition.clone()])
            .start_time(start)
            .end_time_expected(start + 36_000)
            .wckey(self.model.wckey.clone().unwrap_or_default())
            .reservations(self.model.reservation.clone().unwrap_or_default())
            .reservation(self.model.reservation.clone().unwrap_or_default())
            .restarts(u32::from(self.model.again))
    }

    fn end(&self, id: u32) -> Job {
        let job = Job::new(id).end_time(NOW + self.start + self.run);
        if self.requeued {
            job.state(state::PENDING | state::COMPLETING).restarts(1 + u32::from(self.model.again))
        } else {
            job.state(state::COMPLETE | state::COMPLETING)
        }
    }
}

/// When all is over.
const LAST: i64 = 2400;

/// Lets the host live through it; what alice, carol and the QOS have then.
fn in_host(rules: [&ModelRules; 2], change: i64, cycles: i64, jobs: &[Case]) -> HostResult<[super::Sums; 3]> {
    let mut host = begin(&rules[0].to_string(), LIMITS)?;
    host.init()?;
    let mut last = 0;
    for now in 1..=LAST {
        let starts = |job: &Case| job.start == now;
        let ends = |job: &Case| job.start + job.run == now;
        let cycle = now % cycles == 0 || now == LAST;
        if !cycle && now != change && !jobs.iter().any(|job| starts(job) || ends(job)) {
            continue;
        }
        host.advance(now - last)?;
        last = now;
        if now == change {
            write_file(&host, &rules[1].to_string())?;
            host.reconfigure(false)?;
        }
        for (id, job) in (1..).zip(jobs) {
            if starts(job) {
                host.jobs(&[job.begin(id)])?;
            }
            if ends(job) {
                host.jobs(&[job.end(id)])?;
                host.job_end(id)?;
            }
        }
        if cycle {
            host.cycle()?;
        }
    }
    let found = [of(&mut host, ALICE)?, of(&mut host, CAROL)?, of_qos(&mut host, NORMAL)?];
    host.quit()?;
    Ok(found)
}

/// The same by the model.
fn in_model(rules: [&ModelRules; 2], change: i64, jobs: &[Case]) -> [ModelCharge; 3] {
    let mut all = [ModelCharge::default(); 3];
    for job in jobs {
        let in_force = |second: i64| rules[usize::from(second >= change)];
        let (mut sum, end) = (ModelCharge::default(), job.start + job.run);
        for second in job.start..end {
            sum.add_second(in_force(second), &job.model);
        }
        sum.add_end(in_force(end), &job.model, job.run, job.requeued);
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
    #![proptest_config(ProptestConfig { cases: 40, ..seeded() })]

    #[test]
    fn charges_are_those_of_the_model(
        first in rules(), second in rules(), change in 1_i64..LAST, cycles in 50_i64..900, jobs in vec(job(), 1..6),
    ) {
        let rules = [&first, &second];
        let found = in_host(rules, change, cycles, &jobs).expect("the host lives");
        let expected = in_model(rules, change, &jobs);
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let raw = if at == 2 { expected.qos } else { expected.association };
            let same = near(found.raw, raw)
                && near(found.wall, expected.wall)
                && near(found.cpu, 4.0 * expected.wall)
                && near(found.memory, 8192.0 * expected.wall);
            prop_assert!(same, "{at}: {found:?}, by the model {expected:?}");
        }
        // All that was reserved for these jobs is given back at their ends. At half price stock loses a part of a second in each charge.
        for (found, association) in found.iter().zip([ALICE, CAROL]) {
            let own = || jobs.iter().filter(|job| job.association == association);
            let reserved: u64 = own().map(|job| if job.qos == NORMAL { 144_000 } else { 72_000 }).sum();
            let lost: i64 = own().filter(|job| job.qos != NORMAL).map(|_| 4 * (LAST / cycles + 2)).sum();
            let missing = reserved.checked_sub(found.back).and_then(|missing| i64::try_from(missing).ok());
            prop_assert!(missing.is_some_and(|missing| missing <= lost), "{} of {reserved} for {association}", found.back);
        }
    }
}

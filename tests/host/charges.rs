//! Everything that charging may write, compared with stock after every step, to the last bit of every number.

use std::fmt::Write as _;

use slurm_inproc::{state, AssociationUsage, Conf, Extended, Host, HostResult, Job, QosRecord, QosUsage};

use crate::setup::{fill, in_both, waiting, Both, NOW};

const HALF_LIFE: u32 = 604_800;

/// `AccountingStorageEnforce=associations`, and with `limits`.
pub const ASSOCIATIONS: u16 = 1;
pub const LIMITS: u16 = 3;

/// Everything that charging may write.
#[derive(Debug, Clone, PartialEq)]
pub struct Charged {
    pub associations: Vec<AssociationCharge>,
    pub qos: Vec<QosRecord>,
    /// Id, expected end, cached billing.
    pub jobs: Vec<(u32, i64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AssociationCharge {
    pub id: u32,
    pub raw: Extended,
    pub tres: Vec<Extended>,
    pub wall: f64,
    pub run_seconds: Vec<u64>,
    pub leaf: Option<(Extended, f64, Vec<Extended>)>,
}

impl Charged {
    /// What a host holds now.
    pub fn read(host: &mut Host) -> HostResult<Self> {
        let associations = host.dump_associations()?.into_iter().map(|record| AssociationCharge {
            id: record.id,
            raw: record.usage_raw,
            tres: record.usage_tres_raw,
            wall: record.grp_used_wall,
            run_seconds: record.run_secs,
            leaf: record.leaf,
        });
        Ok(Self {
            associations: associations.collect(),
            qos: host.dump_qos()?,
            jobs: host.dump_jobs()?.iter().map(|j| (j.id, j.end_time_expected, j.billable_tres)).collect(),
        })
    }

    /// Raw usage of an association.
    pub fn raw(&self, id: u32) -> Extended {
        self.associations.iter().find(|a| a.id == id).expect("is there").raw
    }
}

/// Compares two runs step by step and names the first step and the fields that differ.
#[track_caller]
pub fn assert_same(name: &str, both: &Both<Vec<Charged>>) {
    assert_eq!(both.ours.len(), both.stock.len());
    for (step, (ours, stock)) in both.ours.iter().zip(&both.stock).enumerate() {
        let mut difference = String::new();
        for (a, b) in ours.associations.iter().zip(&stock.associations).filter(|(a, b)| a != b) {
            let _ = write!(difference, "\nours  {a:?}\nstock {b:?}");
        }
        for (a, b) in ours.qos.iter().zip(&stock.qos).filter(|(a, b)| a != b) {
            let _ = write!(difference, "\nours  {a:?}\nstock {b:?}");
        }
        for (a, b) in ours.jobs.iter().zip(&stock.jobs).filter(|(a, b)| a != b) {
            let _ = write!(difference, "\nours  {a:?}\nstock {b:?}");
        }
        assert!(ours == stock, "{name}, step {step}:{difference}\n{}", both.our_log);
    }
}

/// A job of alice that runs on four processors since the clock's first time, for up to ten hours.
pub fn running(id: u32) -> Job {
    waiting(id)
        .state(state::RUNNING)
        .start_time(NOW)
        .end_time_expected(NOW + 36_000)
        .time_limit(600_u32)
        .total_cpus(4_u32)
        .tres_allocated([(1, 4), (2, 8192), (3, 77), (4, 1), (5, 4)])
}

/// What changes in a job when it ends.
pub fn ended(id: u32, at: i64) -> Job {
    Job::new(id).state(state::COMPLETE | state::COMPLETING).end_time(at)
}

/// A host with usage everywhere and enough run seconds for what will run.
pub fn prepare(host: &mut Host, enforce: u16) -> HostResult<()> {
    fill(host)?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE).enforce(enforce))?;
    let run_seconds = || [(1, 10_000_000), (2, 40_000_000_000), (4, 5_000_000), (5, 10_000_000)];
    let tres = |amount: f64| vec![(1, Extended::from(amount)), (2, Extended::from(amount * 2048.0))];
    for (id, amount) in [(4_u32, 123_456.789), (5, 1e-3), (6, 9.87e17)] {
        host.usage(&[AssociationUsage::new(id)
            .raw(Extended::from(amount))
            .wall(amount / 3.0)
            .tres(tres(amount))
            .run_secs(run_seconds())])?;
    }
    // What deleted users of an account have left behind.
    host.usage(&[AssociationUsage::new(3_u32).raw(Extended::from(555.5)).wall(5.5).tres(tres(7.0))])?;
    for id in 1..=5_u32 {
        host.qos_usage(
            &QosUsage::new(id)
                .raw(Extended::from(f64::from(id) * 1000.1))
                .wall(99.9)
                .tres(tres(3.0))
                .run_secs(run_seconds()),
        )?;
    }
    Ok(())
}

/// Steps of one run.
pub struct Run<'h> {
    pub host: &'h mut Host,
    pub steps: Vec<Charged>,
}

impl Run<'_> {
    pub fn observe(&mut self) -> HostResult<()> {
        self.steps.push(Charged::read(self.host)?);
        Ok(())
    }

    pub fn cycle_after(&mut self, seconds: i64) -> HostResult<()> {
        self.host.advance(seconds)?;
        self.host.cycle()?;
        self.observe()
    }

    pub fn end(&mut self, job: u32, at: i64) -> HostResult<()> {
        self.host.jobs(&[ended(job, at)])?;
        self.host.job_end(job)?;
        self.observe()
    }
}

/// Runs one scenario with each plugin, with and without enforced limits, and compares every step.
pub fn compare(
    name: &str,
    jobs: &[Job],
    scenario: impl Fn(&mut Run) -> HostResult<()>,
) -> HostResult<Both<Vec<Charged>>> {
    let mut last = None;
    for enforce in [ASSOCIATIONS, LIMITS] {
        let both = in_both(|host| {
            prepare(host, enforce)?;
            host.jobs(jobs)?;
            host.init()?;
            let mut run = Run { host, steps: Vec::new() };
            run.observe()?;
            scenario(&mut run)?;
            Ok(run.steps)
        })?;
        assert_same(name, &both);
        last = Some(both);
    }
    Ok(last.expect("two runs"))
}

//! Jobs that have ended since the last cycle: the part of them that our own sums have not counted yet.
//!
//! A sum is that of a time T, when a cycle ran, and is saved with T. After a restart all running jobs are counted from T on. If slurmctld
//! has forgotten the end of a job, the job runs again, so the sums must hold nothing of it from T on. Such charges wait here by job. They
//! are also saved when slurmctld ends regularly. The next slurmctld counts them for jobs that have ended for it too.

use super::tally::Charge;

/// What slurmctld's raw usage is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RawCharge {
    /// That of associations.
    pub association: f64,
    /// That of QOS.
    pub qos: f64,
    /// That of QOS without decay.
    pub undecayed_qos: f64,
}

/// What is still to be counted of a job that has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// Its id.
    pub job: u32,
    /// When it started: the same id may run again.
    pub started: i64,
    /// What it has used since the last cycle.
    pub charge: Charge,
    /// The same by [column](super::sums::columns), as it counts with half-life decay; empty where there is nothing.
    pub columns: Vec<f64>,
    /// What slurmctld's raw usage has got of it, to tell resets from what was charged. None after a restart.
    pub raw: Option<RawCharge>,
    /// Who is charged.
    pub association: Option<u32>,
    /// Its QOS, and that of its partition.
    pub qos: [Option<u32>; 2],
    /// Its Unix group.
    pub group: Option<u32>,
    /// Its partition.
    pub partition: Option<String>,
}

impl Ended {
    /// Whether it is the same run of the same job.
    pub fn is_run(&self, job: u32, started: i64) -> bool {
        (self.job, self.started) == (job, started)
    }

    /// Cuts off what it has used until a time; what is later stays here.
    #[must_use]
    pub(crate) fn taken_until(&mut self, at: i64) -> Self {
        let (before, after) = self.charge.cut(at);
        let part = if self.charge.run > 0.0 { before.run / self.charge.run } else { 1.0 };
        let columns = self.columns.iter().map(|amount| amount * part).collect();
        self.columns.iter_mut().for_each(|amount| *amount -= *amount * part);
        self.charge = after;
        // slurmctld has counted all of it at once.
        Self { charge: before, columns, raw: self.raw.take(), ..self.clone() }
    }
}

//! A tree of the independent model, put into a host and compared with what the plugin made of it.

use slurm_inproc::{AssociationUsage, Conf, Extended, FactorsFilter, Host, HostResult, Job, Partition, Qos};

use crate::setup::{FAIR_TREE, NOW, USE_PARENT};
pub use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::model::{outcomes, Association, Outcome};

/// `PriorityWeightFairshare` in these hosts.
pub const WEIGHT: u32 = 1_000_000;

/// Associations of the model; number n has the id n + 1 in the host, and its job, if it waits, has that id too.
#[derive(Clone, Debug)]
pub struct Tree(pub Vec<Association>);

/// The id of number n in the host.
pub fn id(n: usize) -> u32 {
    u32::try_from(n).expect("a small tree") + 1
}

/// An account of the model.
pub fn account(parent: usize, shares: u32, usage: f64) -> Association {
    Association { parent: Some(parent), shares: Some(shares), user: false, usage, waiting: false }
}

/// A user of the model.
pub fn user(parent: usize, shares: u32, usage: f64, waiting: bool) -> Association {
    Association { parent: Some(parent), shares: Some(shares), user: true, usage, waiting }
}

/// The root of the model.
pub fn root(usage: f64) -> Association {
    Association { parent: None, shares: Some(1), user: false, usage, waiting: false }
}

impl Tree {
    /// Number n as the host gets it.
    pub fn association(&self, n: usize) -> slurm_inproc::Association {
        let node = &self.0[n];
        let name = |n: usize| if n == 0 { "root".to_owned() } else { format!("a{n}") };
        let plain = slurm_inproc::Association::new(id(n)).shares(node.shares.unwrap_or(USE_PARENT));
        match node.parent {
            None => plain.account(name(n)),
            Some(parent) if node.user => {
                plain.parent(id(parent)).account(name(parent)).user(format!("u{n}")).uid(1000 + id(n))
            }
            Some(parent) => plain.parent(id(parent)).account(name(n)),
        }
    }

    /// Puts the tree, its usage and its waiting jobs into an empty host, without half-life decay.
    pub fn load(&self, host: &mut Host) -> HostResult<()> {
        host.configure(&Conf::new().flags(FAIR_TREE).decay_half_life(0_u32).weight_fairshare(WEIGHT))?;
        host.qos(&Qos::new(1_u32).name("normal"))?;
        host.partition(&Partition::new("all"))?;
        host.associations(&(0..self.0.len()).map(|n| self.association(n)).collect::<Vec<_>>())?;
        self.load_usage(host)?;
        let waiting: Vec<Job> =
            (0..self.0.len()).filter(|&n| self.0[n].waiting).map(|n| self.job(n)).collect();
        host.jobs(&waiting)
    }

    /// Gives every association its usage.
    pub fn load_usage(&self, host: &mut Host) -> HostResult<()> {
        let usage = |n| AssociationUsage::new(id(n)).raw(Extended::from(self.0[n].usage)).mode("only");
        host.usage(&(0..self.0.len()).map(usage).collect::<Vec<_>>())
    }

    /// A job of number n that waits.
    pub fn job(&self, n: usize) -> Job {
        assert!(self.0[n].user, "only users have jobs");
        Job::new(id(n))
            .association(id(n))
            .user_id(1000 + id(n))
            .qos(1_u32)
            .partitions(["all".to_owned()])
            .priority(1_u32)
            .submit_time(NOW - 60)
            .begin_time(NOW - 60)
    }

    /// The tickets of the best user who waits.
    pub fn best_tickets(&self) -> f64 {
        let users = self.0.iter().zip(self.outcomes()).filter(|(node, _)| node.user && node.waiting);
        users.map(|(_, outcome)| outcome.tickets).fold(0.0, f64::max)
    }

    /// What the definition says.
    pub fn outcomes(&self) -> Vec<Outcome> {
        outcomes(&self.0)
    }

    /// Compares all that a cycle has written with the definition.
    #[track_caller]
    pub fn assert_written(&self, host: &mut Host) -> HostResult<()> {
        let expected = self.outcomes();
        let records = host.dump_associations()?;
        assert_eq!(records.len(), self.0.len());
        for record in records {
            let n = record.id as usize - 1;
            let outcome = expected[n];
            assert_near(record.shares_norm, outcome.s, &format!("shares_norm of {n} in {self:?}"));
            assert_near(record.usage_norm.to_f64(), outcome.u, &format!("usage_norm of {n} in {self:?}"));
            assert_near(
                record.usage_efctv.to_f64(),
                outcome.u_eff,
                &format!("usage_efctv of {n} in {self:?}"),
            );
            assert_near(record.level_fs.to_f64(), outcome.f, &format!("level_fs of {n} in {self:?}"));
            if self.0[n].user {
                assert_near(record.fs_factor, outcome.factor, &format!("fs_factor of {n} in {self:?}"));
            }
        }
        for (n, _) in self.0.iter().enumerate().filter(|(_, node)| node.waiting) {
            let factor = job_factor(host, id(n))?;
            assert_near(factor, expected[n].factor, &format!("factor of the job of {n} in {self:?}"));
        }
        Ok(())
    }
}

/// `PriorityFS` of a job as `sprio` would show it.
pub fn job_factor(host: &mut Host, job: u32) -> HostResult<f64> {
    let shown = host.factors(&FactorsFilter::new().uid(0_u32).jobs([job]))?.pop();
    let line = shown.unwrap_or_else(|| panic!("sprio does not show job {job}"));
    Ok(line.factors.fairshare / f64::from(WEIGHT))
}

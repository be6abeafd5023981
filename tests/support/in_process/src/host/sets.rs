//! What a test sets in a host.

use super::Host;
use crate::error::HostResult;
use crate::model::{Association, AssociationUsage, Conf, Job, Partition, Qos, QosUsage, User};

#[expect(clippy::missing_errors_doc, reason = "each fails as `request` does")]
impl Host {
    /// Change settings; the plugin sees them at `init` or `reconfigure`.
    pub fn configure(&mut self, conf: &Conf) -> HostResult<()> {
        self.request(&conf.line()).map(drop)
    }

    /// Add a TRES beyond Slurm's eight (id from 1001); before the first QOS and association.
    pub fn add_tres(&mut self, id: u32, kind: &str, name: &str) -> HostResult<()> {
        self.request(&format!("tres id={id} type={kind} name={name}")).map(drop)
    }

    /// Say what the cluster has of TRES, by their ids; of the others it has what it had, at first nothing.
    pub fn tres_totals(&mut self, counts: &[(u32, u64)]) -> HostResult<()> {
        let counts: Vec<String> = counts.iter().map(|(id, count)| format!("{id}={count}")).collect();
        self.request(&format!("totals counts={}", counts.join(","))).map(drop)
    }

    /// Add, change or remove a QOS.
    pub fn qos(&mut self, qos: &Qos) -> HostResult<()> {
        self.request(&qos.line()).map(drop)
    }

    /// Add a user record.
    pub fn user(&mut self, user: &User) -> HostResult<()> {
        self.request(&user.line()).map(drop)
    }

    /// Add, change or remove associations, all in one update.
    pub fn associations(&mut self, associations: &[Association]) -> HostResult<()> {
        self.all(&associations.iter().map(Association::line).collect::<Vec<_>>())?;
        self.request("commit").map(drop)
    }

    /// Give associations usage.
    pub fn usage(&mut self, usage: &[AssociationUsage]) -> HostResult<()> {
        self.all(&usage.iter().map(AssociationUsage::line).collect::<Vec<_>>())
    }

    /// Save usage into `StateSaveLocation`, as slurmctld does every five minutes, at a reconfigure and before it unloads the
    /// plugin at its end.
    pub fn save(&mut self) -> HostResult<()> {
        self.request("save").map(drop)
    }

    /// Forget all usage and load what was saved, as slurmctld does when it starts.
    pub fn load(&mut self) -> HostResult<()> {
        self.request("load").map(drop)
    }

    /// Take the usage of an association from it and from all above it, as `sacctmgr modify ... set RawUsage=0` does.
    pub fn reset_usage(&mut self, association: u32) -> HostResult<()> {
        self.request(&format!("resetusage assoc={association}")).map(drop)
    }

    /// The same for a QOS.
    pub fn reset_qos_usage(&mut self, qos: u32) -> HostResult<()> {
        self.request(&format!("resetusage qos={qos}")).map(drop)
    }

    /// Give a QOS usage.
    pub fn qos_usage(&mut self, usage: &QosUsage) -> HostResult<()> {
        self.request(&usage.line()).map(drop)
    }

    /// Add or change a partition.
    pub fn partition(&mut self, partition: &Partition) -> HostResult<()> {
        self.request(&partition.line()).map(drop)
    }

    /// Move the partitions to a new list, as a reconfigure of releases before 23.11 does.
    pub fn renew_partitions(&mut self) -> HostResult<()> {
        self.request("repart").map(drop)
    }

    /// Add or change jobs.
    pub fn jobs(&mut self, jobs: &[Job]) -> HostResult<()> {
        self.all(&jobs.iter().map(Job::line).collect::<Vec<_>>())
    }

    /// Remove a job, as slurmctld purges it.
    pub fn delete_job(&mut self, id: u32) -> HostResult<()> {
        self.request(&format!("jobdel id={id}")).map(drop)
    }

    /// Many pending jobs of random users, partitions and QOSes, with ids from `first`; the same for the same seed.
    /// `scatter`: on a heap as it is after weeks.
    pub fn bulk_jobs(&mut self, first: u32, count: u64, seed: u64, scatter: bool) -> HostResult<()> {
        let scatter = u8::from(scatter);
        self.request(&format!("bulkjobs first={first} count={count} seed={seed} scatter={scatter}")).map(drop)
    }

    /// The same on a fresh heap as tasks of so many arrays, each with ids in a row, that were split off in turns: the list is not in the order of
    /// ids.
    pub fn bulk_tasks(&mut self, count: u64, arrays: u32) -> HostResult<()> {
        self.request(&format!("bulkjobs first=1 count={count} seed=7 scatter=0 arrays={arrays}")).map(drop)
    }

    /// Give all jobs other random sizes and site factors, so many nice values, ages of up to ten steps of so many seconds, and
    /// priority 1; the same for the same seed.
    pub fn vary_jobs(&mut self, seed: u64, step: u32, nice: u32) -> HostResult<()> {
        self.request(&format!("vary seed={seed} step={step} nice={nice}")).map(drop)
    }

    /// How many jobs there are, a digest of their ids and priorities, and the sum of the priorities.
    pub fn digest_jobs(&mut self) -> HostResult<(u64, u64, u64)> {
        let record = self.one("digest")?;
        Ok((record.get("jobs")?, record.get("digest")?, record.get("sum")?))
    }

    /// Make records larger than Slurm's from now on, as a patched Slurm would: `job`, `details`, `part` or `assoc`.
    pub fn pad(&mut self, record: &str, bytes: u32) -> HostResult<()> {
        self.request(&format!("pad {record}={bytes}")).map(drop)
    }

    /// Set the clock.
    pub fn set_clock(&mut self, seconds: i64) -> HostResult<()> {
        self.request(&format!("clock now={seconds}")).map(drop)
    }

    /// Move the clock; negative is back.
    pub fn advance(&mut self, seconds: i64) -> HostResult<()> {
        self.request(&format!("clock advance={seconds}")).map(drop)
    }

    /// Let the clock run as the machine's. The decay thread then keeps its own period.
    pub fn release_clock(&mut self) -> HostResult<()> {
        self.request("clock real=1").map(drop)
    }
}

//! What a test reads from a host.

use super::{Bench, Host};
use crate::error::{Error, HostResult};
use crate::reply::{AssociationRecord, JobRecord, LockStatistic, QosRecord, Record, Snapshot};
use std::fs;
use std::time::Duration;

#[expect(clippy::missing_errors_doc, reason = "each fails as `request` does")]
impl Host {
    /// All associations.
    pub fn dump_associations(&mut self) -> HostResult<Vec<AssociationRecord>> {
        self.records("assocs")
    }

    /// One association.
    pub fn dump_association(&mut self, id: u32) -> HostResult<AssociationRecord> {
        let record = self.one(&format!("assocs id={id}"))?;
        AssociationRecord::try_from(&record)
    }

    /// All QOSes.
    pub fn dump_qos(&mut self) -> HostResult<Vec<QosRecord>> {
        self.records("qoses")
    }

    /// All jobs.
    pub fn dump_jobs(&mut self) -> HostResult<Vec<JobRecord>> {
        self.records("jobs")
    }

    /// One job.
    pub fn dump_job(&mut self, id: u32) -> HostResult<JobRecord> {
        let record = self.one(&format!("jobs id={id}"))?;
        JobRecord::try_from(&record)
    }

    /// How long each lock was held since the start or the last reset: slurmctld's locks, and the association
    /// manager's where one of them was taken for writing.
    pub fn locks(&mut self, reset: bool) -> HostResult<Vec<LockStatistic>> {
        self.records(&format!("locks reset={}", u8::from(reset)))
    }

    /// Watch the association manager's locks, as from the start, or leave them alone: for measurements, in which the
    /// checks would be a tenth of stock's time per job. Only while no decay cycle runs.
    pub fn check_locks(&mut self, check: bool) -> HostResult<()> {
        self.request(&format!("locks check={}", u8::from(check))).map(drop)
    }

    /// Everything that a plugin may have written: equal snapshots of two plugins are equal to the last bit.
    pub fn snapshot(&mut self) -> HostResult<Snapshot> {
        Ok(Snapshot {
            jobs: self.dump_jobs()?,
            associations: self.dump_associations()?,
            qos: self.dump_qos()?,
            last_job_update: self.last_job_update()?,
        })
    }

    /// The saved state file's times: of the last cycle and of the last reset of usage.
    pub fn saved_times(&self) -> HostResult<(i64, i64)> {
        let bytes = fs::read(self.directory().join("state/priority_last_decay_ran"))?;
        let time =
            |at: usize| -> Option<i64> { Some(i64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?)) };
        match (time(0), time(8)) {
            (Some(last_ran), Some(last_reset)) => Ok((last_ran, last_reset)),
            _ => Err(Error::Protocol(format!("the state file has {} bytes, not 16 or more", bytes.len()))),
        }
    }

    /// slurmctld's stamp of the last change to jobs.
    pub fn last_job_update(&mut self) -> HostResult<i64> {
        self.one("state")?.get("last_job_update")
    }

    /// Time of `set_priority` for every job, in several rounds; `hot`: for records that are in the caches, as those of jobs
    /// that have just been made.
    pub fn bench_set(&mut self, rounds: u32, hot: bool) -> HostResult<Vec<Bench>> {
        self.bench(&format!("benchset rounds={rounds} hot={}", u32::from(hot)))
    }

    /// Time of `set_priority` for every job of the list but the first ones.
    pub fn bench_set_after(&mut self, skip: u32, rounds: u32) -> HostResult<Vec<Bench>> {
        self.bench(&format!("benchset rounds={rounds} skip={skip}"))
    }

    /// Time of making all objects for `sprio`, as root asks; here `jobs` counts the objects.
    pub fn bench_factors(&mut self) -> HostResult<Vec<Bench>> {
        self.bench("factors uid=0 count=1")
    }

    /// Time of two loops that touch what a cycle touches of every pending job, with its TRES if they have weights, and do nothing else.
    pub fn bench_lines(&mut self, rounds: u32, tres: bool) -> HostResult<Vec<Bench>> {
        self.bench(&format!("benchlines rounds={rounds} tres={}", u32::from(tres)))
    }

    fn bench(&mut self, line: &str) -> HostResult<Vec<Bench>> {
        let records = self.request(line)?;
        let bench = |record: &Record| {
            Ok(Bench {
                jobs: record.get("jobs")?,
                cpu: Duration::from_nanos(record.get("cpu_ns")?),
                wall: Duration::from_nanos(record.get("wall_ns")?),
            })
        };
        records.iter().map(bench).collect()
    }

    /// Unload the plugin, free everything and end; the log comes back.
    pub fn quit(mut self) -> HostResult<String> {
        self.request("quit")?;
        let status = self.child.wait()?;
        if status.success() {
            return Ok(self.log());
        }
        Err(Error::Died { request: "quit".to_owned(), status, log: self.log() })
    }
}

//! A running host program: starting it, asking it, ending it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, HostResult};
use crate::model::{Association, AssociationUsage, Conf, FactorsFilter, Job, Partition, Qos, QosUsage, User};
use crate::options::Options;
use crate::program::Program;
use crate::reply::{AssociationRecord, FactorsObject, JobRecord, LockStatistic, QosRecord, Record, Snapshot};

/// Requests that are written before their replies are read; both stay below what a pipe holds.
const BATCH: usize = 200;

/// One completed run of the decay thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// Runs since the program started.
    pub completed: u32,
    /// Processor time of this one.
    pub cpu: Duration,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bench {
    /// Jobs visited.
    pub jobs: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Wall-clock time.
    pub wall: Duration,
}

/// A host program that runs; it is killed when dropped.
#[derive(Debug)]
pub struct Host {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
    directory: TempDir,
    timeout: Duration,
}

impl Host {
    /// Build the program if need be and start it; no plugin is loaded yet.
    ///
    /// # Errors
    /// If it cannot be built or started.
    pub fn start(options: &Options) -> HostResult<Self> {
        let program = Program::build(options.slurmctld)?;
        let directory = tempfile::Builder::new().prefix("slurm-inproc-").tempdir()?;
        let conf = directory.path().join("slurm.conf");
        fs::create_dir(directory.path().join("state"))?;
        fs::write(&conf, options.slurm_conf(&program, directory.path()))?;
        if let Some(library) = &options.plugin.library {
            // Slurm's loader wants the type's name.
            let name = format!("{}.so", options.plugin.priority_type.replace('/', "_"));
            fs::create_dir(directory.path().join("plugins"))?;
            symlink(fs::canonicalize(library)?, directory.path().join("plugins").join(name))?;
        }
        for (name, content) in &options.files {
            fs::write(directory.path().join(name), content)?;
        }
        let mut words = options.wrapper.clone();
        words.push(program.path.display().to_string());
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .arg(&conf)
            .arg(options.clock.to_string())
            .arg(&options.log_level)
            .env("SLURM_CONF", &conf)
            .env("TZ", &options.time_zone)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(directory.path().join("log"))?)
            .spawn()?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Protocol("no pipes to the program".to_owned()));
        };
        let (sender, replies) = mpsc::channel();
        thread::spawn(move || {
            // Ends with the program, or when the host is dropped.
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut host = Self { child, requests, replies, directory, timeout: options.timeout };
        host.check_release(&program)?;
        Ok(host)
    }

    /// The library must be of the headers' release.
    fn check_release(&mut self, program: &Program) -> HostResult<()> {
        let state = self.one("state")?;
        if state.text("version") == program.version {
            return Ok(());
        }
        Err(Error::Protocol(format!("headers of {}, program of {}", program.version, state.text("version"))))
    }

    /// The directory with slurm.conf, the log and `state`, the `StateSaveLocation`.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The program's process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Names of the program's threads.
    ///
    /// # Errors
    /// If the program has ended.
    pub fn threads(&self) -> HostResult<Vec<String>> {
        let mut names = Vec::new();
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            names.push(fs::read_to_string(task?.path().join("comm"))?.trim_end().to_owned());
        }
        Ok(names)
    }

    /// Everything that was logged until now.
    pub fn log(&self) -> String {
        fs::read(self.directory.path().join("log")).map_or_else(
            |error| format!("(no log: {error})"),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Send one request line and return the data lines of its answer.
    ///
    /// # Errors
    /// If the program refuses, ends or does not answer.
    pub fn request(&mut self, line: &str) -> HostResult<Vec<Record>> {
        self.write(line)?;
        self.read(line)
    }

    fn write(&mut self, line: &str) -> HostResult<()> {
        match self.requests.write_all(format!("{line}\n").as_bytes()) {
            // The program's end is found, with its status, when the answer is read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    fn read(&mut self, request: &str) -> HostResult<Vec<Record>> {
        let request = || request.to_owned();
        let mut records = Vec::new();
        loop {
            match self.replies.recv_timeout(self.timeout) {
                Ok(line) if line == "ok" => return Ok(records),
                Ok(line) => {
                    if let Some(data) = line.strip_prefix("| ") {
                        records.push(Record::parse(data));
                    } else if let Some(reason) = line.strip_prefix("error ") {
                        return Err(Error::Refused { request: request(), reason: reason.to_owned() });
                    } else {
                        return Err(Error::Protocol(line));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Error::Hung { request: request(), timeout: self.timeout, log: self.log() });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait()?;
                    return Err(Error::Died { request: request(), status, log: self.log() });
                }
            }
        }
    }

    /// Send many requests that have no data in their answers.
    fn all(&mut self, lines: &[String]) -> HostResult<()> {
        for batch in lines.chunks(BATCH) {
            for line in batch {
                self.write(line)?;
            }
            for line in batch {
                self.read(line)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, line: &str) -> HostResult<Record> {
        let mut records = self.request(line)?;
        records.pop().ok_or_else(|| Error::Protocol(format!("no data for '{line}'")))
    }

    fn records<T>(&mut self, line: &str) -> HostResult<Vec<T>>
    where
        T: for<'a> TryFrom<&'a Record, Error = Error>,
    {
        self.request(line)?.iter().map(T::try_from).collect()
    }

    fn cycle_of(records: &[Record]) -> HostResult<Cycle> {
        let record = records.first().ok_or_else(|| Error::Protocol("no cycle".to_owned()))?;
        Ok(Cycle { completed: record.get("completed")?, cpu: Duration::from_nanos(record.get("cpu_ns")?) })
    }
}

/// What a test sets.
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

    /// Give all jobs other random sizes, nice values and site factors, ages of up to ten steps of so many seconds, and
    /// priority 1; the same for the same seed.
    pub fn vary_jobs(&mut self, seed: u64, step: u32) -> HostResult<()> {
        self.request(&format!("vary seed={seed} step={step}")).map(drop)
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

/// Calls into the plugin.
#[expect(clippy::missing_errors_doc, reason = "each fails as `request` does")]
impl Host {
    /// Load the plugin and wait until its decay thread has completed its first cycle. Works again after `fini`.
    pub fn init(&mut self) -> HostResult<Cycle> {
        Self::cycle_of(&self.request("init")?)
    }

    /// Load the plugin where it starts no decay thread (without slurmdbd, or outside slurmctld).
    pub fn init_without_thread(&mut self) -> HostResult<()> {
        self.request("init wait=0").map(drop)
    }

    /// Unload the plugin.
    pub fn fini(&mut self) -> HostResult<()> {
        self.request("fini").map(drop)
    }

    /// Run one decay cycle now, at the clock's time, and wait for its end.
    pub fn cycle(&mut self) -> HostResult<Cycle> {
        Self::cycle_of(&self.request("cycle")?)
    }

    /// Start one decay cycle and do not wait: what follows happens beside it. Give the answer to `finish_cycle`.
    pub fn start_cycle(&mut self) -> HostResult<Cycle> {
        Self::cycle_of(&self.request("cycle wait=0")?)
    }

    /// Start one decay cycle that stops before the n-th lock, from 1, that its thread takes while it holds none. The answer is
    /// for `finish_cycle`, and says whether there was such a lock; if so, what follows comes in between, until `go_on`.
    pub fn start_cycle_until(&mut self, lock: u32) -> HostResult<(Cycle, bool)> {
        self.start_cycle_until_lock(lock, "")
    }

    /// The same, counting also the moments after it has let go of all of them.
    pub fn start_cycle_until_free(&mut self, moment: u32) -> HostResult<(Cycle, bool)> {
        self.start_cycle_until_lock(moment, "after=1")
    }

    /// The same, counting also the locks that its thread takes on top of others.
    pub fn start_cycle_until_any(&mut self, lock: u32) -> HostResult<(Cycle, bool)> {
        self.start_cycle_until_lock(lock, "inside=1")
    }

    fn start_cycle_until_lock(&mut self, lock: u32, more: &str) -> HostResult<(Cycle, bool)> {
        self.request(&format!("stop at={lock} {more}"))?;
        let before = self.start_cycle()?;
        let reached = self.is_stopped(before.completed)?;
        Ok((before, reached))
    }

    /// Let a stopped cycle go on to the n-th lock from there, or to its end.
    pub fn stop_again(&mut self, before: Cycle, lock: u32) -> HostResult<bool> {
        self.request(&format!("stop at={lock} inside=1"))?;
        self.is_stopped(before.completed)
    }

    /// Wait until the first cycle after `init_without_thread` has stopped.
    pub fn wait_until_stopped(&mut self) -> HostResult<bool> {
        self.is_stopped(0)
    }

    fn is_stopped(&mut self, completed: u32) -> HostResult<bool> {
        let reached: u32 = self.one(&format!("stop seen={completed}"))?.get("reached")?;
        Ok(reached == 1)
    }

    /// Let a stopped cycle go on.
    pub fn go_on(&mut self) -> HostResult<()> {
        self.request("stop").map(drop)
    }

    /// Wait for the end of the cycle that `start_cycle` has started.
    pub fn finish_cycle(&mut self, before: Cycle) -> HostResult<Cycle> {
        Self::cycle_of(&self.request(&format!("await seen={}", before.completed))?)
    }

    /// Compute a job's priority as at submission and store it in the job.
    pub fn set_priority(&mut self, job: u32) -> HostResult<u32> {
        self.one(&format!("set id={job}"))?.get("value")
    }

    /// Compute a job's priority from a last priority, without storing it.
    pub fn try_priority(&mut self, job: u32, last: u32) -> HostResult<u32> {
        self.one(&format!("set id={job} last={last} store=0"))?.get("value")
    }

    /// Tell the plugin that a job has ended.
    pub fn job_end(&mut self, job: u32) -> HostResult<()> {
        self.request(&format!("jobend id={job}")).map(drop)
    }

    /// Tell the plugin that the settings have changed.
    pub fn reconfigure(&mut self, assoc_clear: bool) -> HostResult<()> {
        self.request(&format!("reconfig assoc_clear={}", u8::from(assoc_clear))).map(drop)
    }

    /// Have the plugin set one association's normalised and effective usage.
    pub fn set_association_usage(&mut self, id: u32) -> HostResult<()> {
        self.request(&format!("setusage id={id}")).map(drop)
    }

    /// The plugin's fair-share factor of an effective usage and normalised shares.
    pub fn fairshare_factor(&mut self, usage_efctv: f64, shares_norm: f64) -> HostResult<f64> {
        self.one(&format!("fsfactor efctv={usage_efctv:?} shares={shares_norm:?}"))?.double("value")
    }

    /// What `sprio` would get.
    pub fn factors(&mut self, filter: &FactorsFilter) -> HostResult<Vec<FactorsObject>> {
        self.records(&filter.line())
    }
}

/// What a test reads.
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

    /// Time of two plain walks over the job list: the floor of any cycle.
    pub fn bench_walk(&mut self, rounds: u32) -> HostResult<Vec<Bench>> {
        self.bench(&format!("benchwalk rounds={rounds}"))
    }

    /// Time of making all objects for `sprio`, as root asks; here `jobs` counts the objects.
    pub fn bench_factors(&mut self) -> HostResult<Vec<Bench>> {
        self.bench("factors uid=0 count=1")
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

impl Drop for Host {
    fn drop(&mut self) {
        // After `quit` both fail, and nothing is left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

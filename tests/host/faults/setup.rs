//! A host whose plugin panics on command, and a cluster of two users with waiting and running jobs.

use std::fs;
use std::path::{Path, PathBuf};

use slurm_inproc::{state, Association, Conf, Error, Host, HostResult, Job, Options, Partition, Plugin, Qos};
use tempfile::TempDir;

/// The time at which the clock stands at first: noon, in UTC.
pub const NOW: i64 = 2_000_030_400;
/// Processors of each running job.
pub const CPUS: u32 = 4;
/// Waiting jobs.
pub const WAITING: u32 = 5;

/// The plugin with faults that belongs to this test.
pub fn plugin_with_faults() -> HostResult<PathBuf> {
    let built = multifactor2_fixtures::plugin::built();
    built.ok_or_else(|| Error::Build("libpriority_multifactor2.so is not built beside this test".to_owned()))
}

/// A host and the order for its plugin's next fault.
pub struct Rig {
    pub host: Host,
    orders: TempDir,
}

impl Rig {
    /// A filled host; the plugin is not loaded.
    pub fn start(conf: &Conf) -> HostResult<Self> {
        Self::start_with(conf, |_| ())
    }

    /// The same in other surroundings.
    pub fn start_with(conf: &Conf, change: impl FnOnce(&mut Options)) -> HostResult<Self> {
        let orders = tempfile::tempdir()?;
        let mut options = Options::new(Plugin::of("priority/multifactor2", &plugin_with_faults()?));
        options.clock = NOW;
        change(&mut options);
        let variable = format!("MULTIFACTOR2_FAULTS={}", orders.path().join("order").display());
        options.wrapper = vec!["env".to_owned(), variable];
        let mut host = Host::start(&options)?;
        fill(&mut host)?;
        host.configure(conf)?;
        Ok(Self { host, orders })
    }

    /// A filled host at a time, with a multifactor2.conf, whose state is in a directory that outlives it.
    pub fn of(now: i64, state: &Path, conf: &Conf, settings: &str) -> HostResult<Self> {
        let mut rig = Self::start_with(conf, |options| {
            options.clock = now;
            options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
        })?;
        rig.host.configure(&Conf::new().state_save_location(state.display().to_string()))?;
        Ok(rig)
    }

    /// Makes a point panic: always, or with `name:n` the n-th time.
    pub fn arm(&self, order: &str) -> HostResult<()> {
        Ok(fs::write(self.orders.path().join("order"), order)?)
    }

    /// No more faults.
    pub fn disarm(&self) -> HostResult<()> {
        self.arm("")
    }

    /// Moves the clock and runs a cycle.
    pub fn cycle_after(&mut self, seconds: i64) -> HostResult<()> {
        self.host.advance(seconds)?;
        self.host.cycle().map(drop)
    }

    /// Lines about panics that were logged until now.
    pub fn reports(&self) -> Vec<String> {
        self.host.log().lines().filter(|l| l.contains("internal error")).map(str::to_owned).collect()
    }

    /// Raw usage of an association.
    pub fn usage(&mut self, association: u32) -> HostResult<f64> {
        Ok(self.host.dump_association(association)?.usage_raw.to_f64())
    }

    /// Priorities of all waiting jobs, as stored.
    pub fn priorities(&mut self) -> HostResult<Vec<u32>> {
        (1..=WAITING).map(|id| Ok(self.host.dump_job(id)?.priority)).collect()
    }
}

/// Settings without decay, so that usage is a plain sum.
pub fn conf() -> Conf {
    Conf::new()
        .cluster_cpus(100_u32)
        .nodes(10_u32)
        .max_age(86_400_u32)
        .weight_age(100_000_u32)
        .weight_fairshare(1_000_000_u32)
        .decay_half_life(0_u32)
        .enforce(3_u16)
}

fn fill(host: &mut Host) -> HostResult<()> {
    host.qos(&Qos::new(1_u32).name("normal").priority(10_u32))?;
    let user = |id: u32, name: &str, shares: u32| {
        Association::new(id).parent(2_u32).account("physics").user(name).uid(1000 + id).shares(shares)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        Association::new(2_u32).parent(1_u32).account("physics").shares(30_u32),
        user(3, "alice", 1),
        user(4, "bob", 3),
    ])?;
    host.partition(&Partition::new("batch").factor(50_u16).tier(1_u16).tres([(1, 100), (4, 10)]))?;
    let jobs: Vec<Job> =
        (1..=WAITING).map(|id| waiting(id, 3 + id % 2)).chain([running(11, 3), running(12, 4)]).collect();
    host.jobs(&jobs)
}

/// A job that waits for an hour.
pub fn waiting(id: u32, association: u32) -> Job {
    Job::new(id)
        .association(association)
        .user_id(1000 + association)
        .qos(1_u32)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .submit_time(NOW - 3600)
        .begin_time(NOW - 3600)
        .accrue_time(NOW - 3600)
}

/// A job that has just started.
pub fn running(id: u32, association: u32) -> Job {
    waiting(id, association)
        .state(state::RUNNING)
        .start_time(NOW)
        .end_time_expected(NOW + 360_000)
        .time_limit(6000_u32)
        .total_cpus(CPUS)
        .tres_allocated([(1, u64::from(CPUS)), (4, 1)])
}

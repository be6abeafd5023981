//! One cluster for both plugins: two users, each with a running job.

use std::fs;
use std::path::Path;

use slurm_inproc::{state, Association, Conf, Host, HostResult, Job, Options, Partition, Plugin, Qos};

/// The time at which the clock stands at first: 2033-05-18 03:33:20 UTC.
pub const NOW: i64 = 2_000_000_000;
/// Processors of each running job.
pub const CPUS: f64 = 4.0;

/// `AccountingStorageEnforce`: without limits, slurmctld does not say when jobs end.
pub const ASSOCIATIONS: u16 = 1;
/// `PriorityUsageResetPeriod`
pub const DAILY: u16 = slurm_inproc::constants::PRIORITY_RESET_DAILY;

/// Both plugins, stock first.
pub fn plugins() -> HostResult<[Plugin; 2]> {
    Ok([Plugin::stock(), Plugin::multifactor2()?])
}

/// A filled host, the plugin not loaded.
pub fn host(options: &Options) -> HostResult<Host> {
    let mut host = Host::start(options)?;
    let conf = Conf::new()
        .cluster_cpus(100_u32)
        .nodes(10_u32)
        .flags(slurm_inproc::constants::PRIORITY_FLAGS_FAIR_TREE);
    host.configure(&conf.weight_fairshare(1000_u32).decay_half_life(0_u32))?;
    host.qos(&Qos::new(1_u32).name("normal"))?;
    let user = |id: u32, name: &str| {
        Association::new(id).parent(2_u32).account("physics").user(name).uid(1000 + id).shares(1_u32)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        Association::new(2_u32).parent(1_u32).account("physics").shares(1_u32),
        user(3, "alice"),
        user(4, "bob"),
    ])?;
    host.partition(&Partition::new("batch").tres([(1, 100), (4, 10)]))?;
    Ok(host)
}

/// A job that runs from `start` on.
pub fn running(id: u32, association: u32, start: i64) -> Job {
    Job::new(id)
        .association(association)
        .user_id(1000 + association)
        .qos(1_u32)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .state(state::RUNNING)
        .start_time(start)
        .end_time_expected(start + 36_000_000)
        .time_limit(600_000_u32)
        .total_cpus(4_u32)
        .tres_allocated([(1, 4), (4, 1)])
}

/// Runs a cycle.
pub fn cycle_at(host: &mut Host, time: i64) -> HostResult<()> {
    host.set_clock(time)?;
    host.cycle().map(drop)
}

/// A job ends at that time, and slurmctld says so.
pub fn end_job(host: &mut Host, job: u32, time: i64) -> HostResult<()> {
    host.set_clock(time)?;
    host.jobs(&[Job::new(job).state(state::COMPLETE).end_time(time)])?;
    host.job_end(job)
}

/// Raw usage of an association.
pub fn usage(host: &mut Host, association: u32) -> HostResult<f64> {
    Ok(host.dump_association(association)?.usage_raw.to_f64())
}

/// Writes the state file.
pub fn write_times(host: &Host, last_ran: i64, last_reset: i64) -> HostResult<()> {
    let file = host.directory().join("state/priority_last_decay_ran");
    Ok(fs::write(file, [last_ran.to_be_bytes(), last_reset.to_be_bytes()].concat())?)
}

/// Writes the header of slurmctld's file of usage, as if it had saved at `time`.
pub fn write_usage_saved(state: &Path, time: i64) -> HostResult<()> {
    let mut bytes = vec![38, 0];
    bytes.extend(time.to_be_bytes());
    Ok(fs::write(state.join("assoc_usage"), bytes)?)
}

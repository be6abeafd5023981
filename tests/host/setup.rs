//! Hosts with either plugin, and a small cluster for what is compared between them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use slurm_inproc::constants::QOS_FLAG_NO_DECAY;
use slurm_inproc::{Association, Conf, Host, HostResult, Job, Options, Partition, Plugin, Qos};

/// The time at which the clock stands first.
pub const NOW: i64 = 2_000_000_000;
/// `PriorityFlags=FAIR_TREE`, Slurm's default.
pub const FAIR_TREE: u16 = slurm_inproc::constants::PRIORITY_FLAGS_FAIR_TREE;
/// `Fairshare=parent`.
pub const USE_PARENT: u32 = slurm_inproc::constants::SLURMDB_FS_USE_PARENT;

/// How to start a host with our plugin.
pub fn options() -> HostResult<Options> {
    Ok(Options::new(Plugin::multifactor2()?))
}

/// A host with our plugin, not yet loaded, and nothing in it.
pub fn ours() -> HostResult<Host> {
    Host::start(&options()?)
}

/// What a scenario gives in a host with the stock plugin and in one with ours.
#[derive(Debug)]
pub struct Both<T> {
    pub stock: T,
    pub ours: T,
    pub stock_log: String,
    pub our_log: String,
}

/// Runs a scenario twice, from the same start.
pub fn in_both<T>(scenario: impl Fn(&mut Host) -> HostResult<T>) -> HostResult<Both<T>> {
    in_both_with(Options::new, scenario)
}

/// The same with other options.
pub fn in_both_with<T>(
    options: impl Fn(Plugin) -> Options,
    scenario: impl Fn(&mut Host) -> HostResult<T>,
) -> HostResult<Both<T>> {
    let run = |plugin| -> HostResult<(T, String)> {
        let mut host = Host::start(&options(plugin))?;
        let result = scenario(&mut host)?;
        Ok((result, host.quit()?))
    };
    let (stock, stock_log) = run(Plugin::stock())?;
    let (ours, our_log) = run(Plugin::multifactor2()?)?;
    Ok(Both { stock, ours, stock_log, our_log })
}

/// Lines of our plugin in a log that are errors.
pub fn our_errors(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("error: priority/multifactor2: ")).collect()
}

/// Two accounts with users, QOSes of every kind, partitions with and without a QOS of their own.
///
/// Associations: 1 root, 2 and 3 accounts, 4 and 5 users of 2, 6 a user of 3.
/// QOS: 1 normal, 2 at half price, 3 without decay, 4 free of charge, 5 at triple price.
pub fn fill(host: &mut Host) -> HostResult<()> {
    host.configure(&Conf::new().flags(FAIR_TREE).cluster_cpus(200_u32).nodes(20_u32).max_age(86_400_u32))?;
    for (id, name, priority, flags, factor) in [
        (1_u32, "normal", 10_u32, 0_u32, 1.0),
        (2, "half", 40, 0, 0.5),
        (3, "kept", 0, QOS_FLAG_NO_DECAY, 1.0),
        (4, "free", 25, 0, 0.0),
        (5, "triple", 7, QOS_FLAG_NO_DECAY, 3.0),
    ] {
        host.qos(&Qos::new(id).name(name).priority(priority).flags(flags).usage_factor(factor))?;
    }
    let account = |id: u32, name: &str| Association::new(id).parent(1_u32).account(name);
    let user = |id: u32, parent: u32, account: &str, name: &str| {
        Association::new(id).parent(parent).account(account).user(name).uid(1000 + id)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        account(2, "physics").shares(30_u32).priority(5_u32),
        account(3, "chemistry").shares(10_u32),
        user(4, 2, "physics", "alice").shares(1_u32).priority(20_u32),
        user(5, 2, "physics", "bob").shares(3_u32).priority(8_u32),
        user(6, 3, "chemistry", "carol"),
    ])?;
    for partition in [
        Partition::new("batch").factor(50_u16).tier(1_u16).tres([(1, 150), (2, 600_000), (4, 15)]),
        Partition::new("fast").factor(200_u16).tier(3_u16).tres([(1, 50), (2, 400_000), (4, 5)]).qos(3_u32),
        Partition::new("long")
            .factor(0_u16)
            .tier(2_u16)
            .tres([(1, 20), (2, 50_000), (4, 2)])
            .max_time(600_u32)
            .qos(1_u32),
        Partition::new("billed")
            .factor(120_u16)
            .tier(2_u16)
            .tres([(1, 100), (2, 300_000), (4, 10)])
            .qos(5_u32)
            .billing_weights("CPU=1.5,Mem=0.25G"),
    ] {
        host.partition(&partition)?;
    }
    Ok(())
}

/// A job of alice in `batch` that waits since six hours and could start.
pub fn waiting(id: u32) -> Job {
    Job::new(id)
        .association(4_u32)
        .qos(1_u32)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .submit_time(NOW - 21_600)
        .begin_time(NOW - 21_600)
        .accrue_time(NOW - 21_600)
}

/// Runs a cycle for each lock that it takes, in a host of its own, stopped before that lock. `visit` is called then, and with `true` when the
/// cycle is over. Returns how many locks there are.
pub fn at_every_lock(
    mut host: impl FnMut() -> HostResult<Host>,
    mut visit: impl FnMut(&mut Host, bool) -> HostResult<()>,
) -> HostResult<u32> {
    for lock in 1.. {
        let mut host = host()?;
        let (cycle, reached) = host.start_cycle_until(lock)?;
        if reached {
            visit(&mut host, false)?;
            host.go_on()?;
        }
        host.finish_cycle(cycle)?;
        if !reached {
            return Ok(lock - 1);
        }
        visit(&mut host, true)?;
        host.quit()?;
    }
    unreachable!("a cycle without an end")
}

/// What `look` finds within a minute: other tests may leave this one little of the machine.
pub fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begin.elapsed() > Duration::from_secs(60) {
            return found;
        }
        sleep(Duration::from_millis(10));
    }
}

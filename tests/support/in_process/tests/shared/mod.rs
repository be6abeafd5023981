//! A small cluster that most tests start from.

use slurm_inproc::{Association, Conf, Host, HostResult, Job, Options, Partition, Plugin, Qos};

/// The time at which the clock stands.
pub const NOW: i64 = 2_000_000_000;
/// Fair Tree, Slurm's default.
pub const FAIR_TREE: u16 = slurm_inproc::constants::PRIORITY_FLAGS_FAIR_TREE;

/// A host with the stock plugin (not yet loaded), two accounts with three users, two partitions and two QOSes.
pub fn small_cluster() -> HostResult<Host> {
    let mut host = Host::start(&Options::new(Plugin::stock()))?;
    fill(&mut host)?;
    Ok(host)
}

/// The tree and the rest of [`small_cluster`].
pub fn fill(host: &mut Host) -> HostResult<()> {
    host.configure(&Conf::new().flags(FAIR_TREE).cluster_cpus(100_u32).nodes(10_u32).max_age(86_400_u32))?;
    host.qos(&Qos::new(1_u32).name("normal").priority(10_u32))?;
    host.qos(&Qos::new(2_u32).name("urgent").priority(40_u32))?;
    let account =
        |id: u32, name: &str, shares: u32| Association::new(id).parent(1_u32).account(name).shares(shares);
    let user = |id: u32, parent: u32, account: &str, name: &str, shares: u32| {
        Association::new(id).parent(parent).account(account).user(name).uid(1000 + id).shares(shares)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        account(2, "physics", 30),
        account(3, "chemistry", 10),
        user(4, 2, "physics", "alice", 1),
        user(5, 2, "physics", "bob", 3),
        user(6, 3, "chemistry", "carol", 1),
    ])?;
    host.partition(&Partition::new("batch").factor(50_u16).tier(1_u16).tres([(1, 100), (4, 10)]))?;
    host.partition(&Partition::new("fast").factor(200_u16).tier(2_u16).tres([(1, 50), (4, 5)]))
}

/// A pending job of alice that has accrued age for six hours.
pub fn pending(id: u32) -> Job {
    Job::new(id)
        .association(4_u32)
        .user_id(1004_u32)
        .qos(1_u32)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .submit_time(NOW - 21_600)
        .begin_time(NOW - 21_600)
        .accrue_time(NOW - 21_600)
}

//! Points of jobs: in `sprio`'s SITE and in their priorities, in all that can happen to them between two cycles and within one.

mod against_model;
mod between;
mod bypass;
mod entries;
mod golden;
mod groups;
mod rows;
mod site;

use std::fs;

use slurm_inproc::{
    Association, AssociationUsage, Conf, FactorsFilter, Host, HostResult, Job, Options, Partition, Qos,
    QosUsage,
};

use crate::setup::{options, FAIR_TREE, NOW};

/// Associations of users: two of john, and one of each of the others.
const JOHN: u32 = 3;
const PAUL: u32 = 4;
const JOHN_IN_CHEMISTRY: u32 = 6;
const ANN: u32 = 7;

/// An account in physics, and its user.
const OPTICS: u32 = 8;
const EVE: u32 = 9;

/// QOS.
const NORMAL: u32 = 1;
const HIGH: u32 = 2;

/// A number of no group of the system.
const NO_GROUP: u32 = 987_654;

/// Slurm's sprio and records have this added to site factors.
const OFFSET: i64 = slurm_inproc::constants::NICE_OFFSET as i64;

/// The largest site factor.
const MOST: i64 = (1 << 31) - 1;

/// Users by their associations.
fn uid(association: u32) -> u32 {
    if association == JOHN_IN_CHEMISTRY {
        1000 + JOHN
    } else {
        1000 + association
    }
}

/// Accounts and users, QOS and partitions; priorities have no other factors than points.
fn fill(host: &mut Host) -> HostResult<()> {
    host.configure(&Conf::new().flags(FAIR_TREE).decay_half_life(0_u32).cluster_cpus(128_u32).nodes(4_u32))?;
    host.add_tres(1001, "gres", "gpu")?;
    host.tres_totals(&[(1, 128), (2, 1000), (4, 4)])?;
    host.qos(&Qos::new(NORMAL).name("normal"))?;
    host.qos(&Qos::new(HIGH).name("high"))?;
    let account = |id: u32, parent: u32, name: &str| Association::new(id).parent(parent).account(name);
    let user = |id: u32, parent: u32, account: &str, name: &str| {
        Association::new(id).parent(parent).account(account).user(name).uid(uid(id))
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        account(2, 1, "physics"),
        user(JOHN, 2, "physics", "john"),
        user(PAUL, 2, "physics", "paul"),
        account(5, 1, "chemistry"),
        user(JOHN_IN_CHEMISTRY, 5, "chemistry", "john"),
        user(ANN, 5, "chemistry", "ann"),
        account(OPTICS, 2, "optics"),
        user(EVE, OPTICS, "optics", "eve"),
    ])?;
    host.partition(&Partition::new("batch"))?;
    host.partition(&Partition::new("fast").max_time(600_u32))
}

/// A host with the cluster, these settings and these jobs, after its first cycle.
fn loaded(settings: &str, jobs: &[Job]) -> HostResult<Host> {
    loaded_with(settings, jobs, &Conf::new(), |_| ())
}

/// The same in other surroundings.
fn loaded_with(
    settings: &str,
    jobs: &[Job],
    conf: &Conf,
    change: impl FnOnce(&mut Options),
) -> HostResult<Host> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    change(&mut options);
    let mut host = Host::start(&options)?;
    fill(&mut host)?;
    host.configure(conf)?;
    host.jobs(jobs)?;
    host.init()?;
    Ok(host)
}

/// A job that waits, and gains age since a minute.
fn job(id: u32, association: u32) -> Job {
    Job::new(id)
        .association(association)
        .user_id(uid(association))
        .group_id(NO_GROUP)
        .qos(NORMAL)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .submit_time(NOW - 60)
        .begin_time(NOW - 60)
        .accrue_time(NOW - 60)
        .time_limit(60_u32)
        .tres_requested([(1, 2), (2, 100), (4, 1)])
}

/// Other settings, from the next cycle on.
fn change(host: &mut Host, settings: &str) -> HostResult<()> {
    fs::write(host.directory().join("multifactor2.conf"), settings)?;
    host.reconfigure(true)?;
    host.cycle().map(drop)
}

/// All entries of a job in sprio: the partition, and what SITE shows.
fn entries(host: &mut Host, job: u32) -> HostResult<Vec<(String, i64)>> {
    let shown = host.factors(&FactorsFilter::new().uid(0_u32).jobs([job]))?;
    Ok(shown.into_iter().map(|entry| (entry.partition, i64::from(entry.factors.site) - OFFSET)).collect())
}

/// What sprio's SITE shows of a job with one entry.
#[track_caller]
fn site(host: &mut Host, job: u32) -> HostResult<i64> {
    let shown = entries(host, job)?;
    assert_eq!(shown.len(), 1, "job {job}: {shown:?}");
    Ok(shown[0].1)
}

/// SITE of a job, and a priority that it alone makes: at least 1.
#[track_caller]
fn assert_points(host: &mut Host, job: u32, expected: i64, what: &str) -> HostResult<()> {
    assert_eq!(site(host, job)?, expected, "{what}: SITE of job {job}");
    let priority = i64::from(host.dump_job(job)?.priority);
    assert_eq!(priority, expected.max(1), "{what}: priority of job {job}");
    Ok(())
}

/// The same of several, at the cycle before and when they are set again.
#[track_caller]
fn assert_all(host: &mut Host, expected: &[(u32, i64)], what: &str) -> HostResult<()> {
    for (job, expected) in expected {
        assert_points(host, *job, *expected, what)?;
        let priority = host.set_priority(*job)?;
        assert_eq!(i64::from(priority), (*expected).max(1), "{what}: job {job} set again");
        assert_eq!(site(host, *job)?, *expected, "{what}: SITE of job {job} set again");
    }
    Ok(())
}

/// The priorities of jobs.
fn priorities<const N: usize>(host: &mut Host, jobs: [u32; N]) -> HostResult<[u32; N]> {
    let mut priorities = [0; N];
    for (priority, job) in priorities.iter_mut().zip(jobs) {
        *priority = host.dump_job(job)?.priority;
    }
    Ok(priorities)
}

/// Raw usage of associations alone, and of QOS.
fn use_up(host: &mut Host, associations: &[(u32, f64)], qos: &[(u32, f64)]) -> HostResult<()> {
    let only = |(id, raw): &(u32, f64)| AssociationUsage::new(*id).raw(*raw).mode("only");
    host.usage(&associations.iter().map(only).collect::<Vec<_>>())?;
    for (id, raw) in qos {
        host.qos_usage(&QosUsage::new(*id).raw(*raw))?;
    }
    Ok(())
}

/// Lines of our plugin in a log that have some text.
fn said(host: &Host, text: &str) -> Vec<String> {
    host.log().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

//! Jobs, associations, QOS and partitions go between the phases of a cycle, at every point at which the cycle holds no lock.

use slurm_inproc::{state, Association, Conf, Host, HostResult, Job, Options, Partition, Plugin, Qos};

use crate::setup::{host, plugins, running, usage, CPUS, NOW};

fn waiting(id: u32, association: u32) -> Job {
    Job::new(id)
        .association(association)
        .user_id(1000 + association)
        .qos(1_u32)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .begin_time(NOW - 10)
}

/// What is there at first: what will go has `brief` or `carol` in its name, or is a job with an even id.
fn filled(plugin: &Plugin) -> HostResult<Host> {
    let mut host = host(&Options::new(plugin.clone()))?;
    host.configure(&Conf::new().weight_qos(100_u32).weight_partition(100_u32))?;
    host.qos(&Qos::new(2_u32).name("brief").priority(7_u32))?;
    let carol = Association::new(5_u32).parent(2_u32).account("physics").user("carol").uid(1005_u32);
    host.associations(&[carol.shares(3_u32)])?;
    host.partition(&Partition::new("brief").tres([(1, 10), (4, 1)]))?;
    host.jobs(&[
        waiting(1, 3),
        waiting(2, 3),
        waiting(3, 4),
        waiting(4, 5),
        waiting(5, 4).qos(2_u32),
        waiting(6, 4).partitions(["brief".to_owned()]),
        waiting(7, 3).partitions(["batch".to_owned(), "brief".to_owned()]),
        running(11, 3, NOW),
        running(12, 4, NOW),
        running(13, 4, NOW),
        running(14, 5, NOW),
        running(15, 4, NOW).qos(2_u32),
    ])?;
    Ok(host)
}

fn disturb(host: &mut Host) -> HostResult<()> {
    // Purged while they waited, and after they have ended.
    host.delete_job(2)?;
    host.jobs(&[Job::new(12_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 300)])?;
    host.job_end(12)?;
    host.delete_job(12)?;
    // A user with a job that waits and one that runs.
    host.associations(&[Association::new(5_u32).delete(true)])?;
    // A QOS and a partition: slurmctld takes them from their jobs first.
    for id in [5_u32, 15] {
        host.jobs(&[Job::new(id).qos(1_u32)])?;
    }
    host.qos(&Qos::new(2_u32).delete(true))?;
    host.delete_job(6)?;
    host.jobs(&[Job::new(7_u32).partitions(["batch".to_owned()])])?;
    host.partition(&Partition::new("brief").delete(true))?;
    // And a new job at an address that has become free.
    host.jobs(&[waiting(21, 4)])?;
    host.set_priority(21).map(drop)
}

/// Priorities of all waiting jobs.
fn priorities(host: &mut Host) -> HostResult<Vec<(u32, u32)>> {
    let jobs = host.dump_jobs()?;
    Ok(jobs.iter().filter(|job| job.id < 10 || job.id > 20).map(|job| (job.id, job.priority)).collect())
}

/// Disturbs a cycle before its n-th lock; `None` if it has fewer.
fn disturbed(plugin: &Plugin, lock: u32) -> HostResult<Option<Vec<(u32, u32)>>> {
    let mut host = filled(plugin)?;
    host.init()?;
    host.advance(300)?;
    let (before, reached) = host.start_cycle_until(lock)?;
    if !reached {
        host.quit()?;
        return Ok(None);
    }
    disturb(&mut host)?;
    host.go_on()?;
    host.finish_cycle(before)?;
    for cycles in [1.0, 2.0] {
        assert_eq!(usage(&mut host, 3)?, cycles * 300.0 * CPUS, "alice, lock {lock}");
        // Job 12 to its end, once, whether the cycle had charged it or not.
        assert_eq!(usage(&mut host, 4)?, (1.0 + 2.0 * cycles) * 300.0 * CPUS, "bob, lock {lock}");
        if cycles < 2.0 {
            host.advance(300)?;
            host.cycle()?;
        }
    }
    let result = priorities(&mut host)?;
    let log = host.quit()?;
    assert!(!log.contains("error: priority/"), "lock {lock}: {log}");
    Ok(Some(result))
}

#[test]
fn whatever_goes_between_the_phases_of_a_cycle_costs_nothing_and_the_next_is_as_a_fresh_one() -> HostResult<()>
{
    let [_, ours] = plugins()?;
    // What a plugin computes that never saw the rest.
    let mut host = filled(&ours)?;
    disturb_before_start(&mut host)?;
    host.init()?;
    host.advance(600)?;
    host.cycle()?;
    let fresh = priorities(&mut host)?;
    host.quit()?;
    let mut locks = 0;
    while let Some(after) = disturbed(&ours, locks + 1)? {
        locks += 1;
        assert_eq!(after, fresh, "lock {locks}");
    }
    println!("disturbed at {locks} points of a cycle");
    assert!(locks >= 5, "a cycle has phases between which it holds nothing: {locks}");
    Ok(())
}

/// The same without a plugin that could be told. Two users remain who have used the same share as at the end of the others.
fn disturb_before_start(host: &mut Host) -> HostResult<()> {
    for id in [2, 6, 12] {
        host.delete_job(id)?;
    }
    host.associations(&[Association::new(5_u32).delete(true)])?;
    for id in [5_u32, 15] {
        host.jobs(&[Job::new(id).qos(1_u32)])?;
    }
    host.qos(&Qos::new(2_u32).delete(true))?;
    host.jobs(&[Job::new(7_u32).partitions(["batch".to_owned()])])?;
    host.partition(&Partition::new("brief").delete(true))?;
    host.jobs(&[waiting(21, 4)])?;
    // Of job 12 until its end, and of carol's job while there was a carol.
    let before = slurm_inproc::AssociationUsage::new(4_u32).raw(300.0 * CPUS);
    host.usage(&[before])
}

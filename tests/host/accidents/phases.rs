//! Jobs, associations, QOS and partitions go between the phases of a cycle, at every point at which the cycle holds no lock.

use slurm_inproc::{state, Association, Conf, Host, HostResult, Job, Partition, Qos};

use crate::driver::{Accident, Stops};
use crate::setup::{cycle_at, running, usage, CPUS, NOW};

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
fn filled() -> Accident<'static> {
    let jobs = vec![
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
    ];
    let conf = Conf::new().weight_qos(100_u32).weight_partition(100_u32);
    Accident { conf, cluster: more, jobs, ..Accident::default() }
}

fn more(host: &mut Host) -> HostResult<()> {
    host.qos(&Qos::new(2_u32).name("brief").priority(7_u32))?;
    let carol = Association::new(5_u32).parent(2_u32).account("physics").user("carol").uid(1005_u32);
    host.associations(&[carol.shares(3_u32)])?;
    host.partition(&Partition::new("brief").tres([(1, 10), (4, 1)]))
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

#[test]
fn whatever_goes_between_the_phases_of_a_cycle_costs_nothing_and_the_next_is_as_a_fresh_one() -> HostResult<()>
{
    let accident = filled();
    // What a plugin computes that never saw the rest.
    let mut host = accident.lives()?.prepare(NOW, &accident.jobs)?;
    disturb_before_start(&mut host)?;
    host.init()?;
    cycle_at(&mut host, NOW + 600)?;
    let fresh = priorities(&mut host)?;
    host.quit()?;
    accident.at_every(Stops::Free, &["disturbed"], |mut first, at| {
        disturb(&mut first.host)?;
        first.finish()?;
        let mut host = first.host;
        for cycles in [1.0, 2.0] {
            assert_eq!(usage(&mut host, 3)?, cycles * 300.0 * CPUS, "alice, {at}");
            // Job 12 to its end, once, whether the cycle had charged it or not.
            assert_eq!(usage(&mut host, 4)?, (1.0 + 2.0 * cycles) * 300.0 * CPUS, "bob, {at}");
            if cycles < 2.0 {
                cycle_at(&mut host, NOW + 600)?;
            }
        }
        assert_eq!(priorities(&mut host)?, fresh, "{at}");
        let log = host.quit()?;
        assert!(!log.contains("error: priority/"), "{at}: {log}");
        Ok(())
    })
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

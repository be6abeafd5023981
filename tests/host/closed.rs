//! `ActiveJobs=startable` with partitions that are down, nodes under maintenance and reservations: hindered jobs compete among themselves, by
//! partition, as if it were up, and nobody else notices them.

use std::collections::BTreeMap;

use slurm_inproc::{state, Host, HostResult, Job, Partition, Qos};
use slurm_inproc::{Association, AssociationUsage, Conf, Extended, FactorsFilter};

use crate::setup::{options, FAIR_TREE, NOW};
use crate::tree::{assert_near, WEIGHT};

pub const HEAVY: u32 = 2;
pub const LIGHT: u32 = 3;
const OTHER: u32 = 4;

/// `State=` of a partition.
const UP: u16 = 3;
const DOWN: u16 = 1;
const INACTIVE: u16 = 0;

/// `Reason=` of a job, the same number in every release.
const PART_DOWN: u32 = 6;
const BEGIN_TIME: u32 = 9;
const RESERVATION: u32 = 14;
const REQ_NODE_NOT_AVAIL: u32 = 15;
/// slurmctld has not tried the job, or waits for nodes.
pub const WITHOUT: u32 = 0;
const RESOURCES: u32 = 3;

/// Three users with equal shares; usage 90, 10 and 1.
pub fn host(settings: &str) -> HostResult<Host> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), format!("{settings}\n"))];
    let mut host = Host::start(&options)?;
    host.configure(&Conf::new().flags(FAIR_TREE).decay_half_life(0_u32).weight_fairshare(WEIGHT))?;
    host.qos(&Qos::new(1_u32).name("normal"))?;
    for (tier, name) in (1_u16..).zip(["up", "down", "third"]) {
        host.partition(&Partition::new(name).tier(tier))?;
    }
    let user = |id: u32, name: &str| {
        Association::new(id).parent(1_u32).account("root").user(name).uid(1000 + id).shares(1_u32)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        user(HEAVY, "heavy"),
        user(LIGHT, "light"),
        user(OTHER, "other"),
    ])?;
    let usage = |id: u32, raw: f64| AssociationUsage::new(id).raw(Extended::from(raw)).mode("only");
    host.usage(&[usage(1, 101.0), usage(HEAVY, 90.0), usage(LIGHT, 10.0), usage(OTHER, 1.0)])?;
    host.init()?;
    Ok(host)
}

fn set_state(host: &mut Host, partition: &str, state: u16) -> HostResult<()> {
    host.partition(&Partition::new(partition).state_up(state))
}

pub fn job(id: u32, association: u32, partitions: &[&str], reason: u32) -> Job {
    Job::new(id)
        .association(association)
        .user_id(1000 + association)
        .qos(1_u32)
        .partitions(partitions.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        .state_reason(reason)
        .priority(1_u32)
        .submit_time(NOW - 60)
        .begin_time(NOW - 60)
        .accrue_time(NOW - 60)
}

/// FAIRSHARE of sprio, by job and partition.
fn shown(host: &mut Host) -> HostResult<BTreeMap<(u32, String), f64>> {
    let rows = host.factors(&FactorsFilter::new().uid(0_u32))?;
    Ok(rows
        .into_iter()
        .map(|row| ((row.job_id, row.partition), row.factors.fairshare / f64::from(WEIGHT)))
        .collect())
}

/// Jobs have these factors, in sprio and in their records.
#[track_caller]
fn assert_factors(host: &mut Host, expected: &[(u32, &str, f64)]) -> HostResult<()> {
    let shown = shown(host)?;
    for (id, partition, factor) in expected {
        let of_job = shown.get(&(*id, (*partition).to_owned()));
        let of_job = of_job.unwrap_or_else(|| panic!("no job {id} in {partition}: {shown:?}"));
        assert_near(*of_job, *factor, &format!("job {id} in {partition}: {shown:?}"));
    }
    Ok(())
}

#[test]
fn jobs_in_a_partition_that_is_down_compete_as_if_it_were_up() -> HostResult<()> {
    for (state, reason) in [(DOWN, PART_DOWN), (INACTIVE, PART_DOWN + 1), (DOWN, WITHOUT), (DOWN, RESOURCES)]
    {
        let jobs = [job(101, HEAVY, &["down"], reason), job(102, LIGHT, &["down"], reason)];
        let mut eligible = host("ActiveJobs=eligible")?;
        eligible.jobs(&jobs)?;
        eligible.cycle()?;
        let expected = shown(&mut eligible)?;
        assert_near(expected[&(101, "down".to_owned())], 10.0 / 90.0, "by eligible");
        eligible.quit()?;

        let mut host = host("ActiveJobs=startable")?;
        set_state(&mut host, "down", state)?;
        host.jobs(&jobs)?;
        host.cycle()?;
        assert_eq!(shown(&mut host)?, expected, "{state} {reason}");
        let [heavy, light] = [101, 102].map(|id| host.dump_job(id).map(|job| job.priority));
        assert_eq!((heavy?, light?), (WEIGHT / 9, WEIGHT), "{state} {reason}");
        // It comes up: nothing changes until the next cycle, and nothing by it.
        set_state(&mut host, "down", UP)?;
        host.cycle()?;
        assert_eq!(shown(&mut host)?, expected);
        host.quit()?;
    }
    Ok(())
}

/// FAIRSHARE of the jobs in a cluster where every partition is up and all of them count.
fn as_eligible(jobs: &[Job], settings: &str) -> HostResult<BTreeMap<(u32, String), f64>> {
    let mut host = host(&format!("ActiveJobs=eligible\n{settings}"))?;
    let jobs: Vec<Job> = jobs.iter().map(|job| job.clone().state_reason(WITHOUT)).collect();
    host.jobs(&jobs)?;
    host.cycle()?;
    let expected = shown(&mut host)?;
    host.quit()?;
    Ok(expected)
}

/// What light has at most, while heavy and other wait where partitions are up: other has used 1, heavy 90, light 10.
fn best_of_light() -> f64 {
    let [heavy, light, other] = [1.0 / 90.0, 1.0 / 10.0, 1.0];
    light / (light + heavy + other) / (other / (heavy + other))
}

#[test]
fn who_waits_where_it_is_up_does_not_notice_them() -> HostResult<()> {
    let open = [job(201, HEAVY, &["up"], RESOURCES), job(202, OTHER, &["up"], RESOURCES)];
    let closed = [
        [job(101, HEAVY, &["down"], PART_DOWN), job(102, LIGHT, &["down"], PART_DOWN)],
        [job(101, HEAVY, &["third"], REQ_NODE_NOT_AVAIL), job(102, LIGHT, &["third"], REQ_NODE_NOT_AVAIL)],
        [job(101, HEAVY, &["third"], RESERVATION), job(102, LIGHT, &["third"], RESERVATION)],
    ];
    for settings in ["", "Dilution=user", "Dilution=tree", "Distribution=standing", "Distribution=strict"] {
        let alone = as_eligible(&open, settings)?;
        for closed in &closed {
            let mut host = host(&format!("ActiveJobs=startable\n{settings}"))?;
            set_state(&mut host, "down", DOWN)?;
            host.jobs(&open)?;
            host.cycle()?;
            assert_eq!(shown(&mut host)?, alone, "{settings}");
            let before = host.dump_associations()?;
            host.jobs(closed)?;
            host.cycle()?;
            let with = shown(&mut host)?;
            for (job, factor) in &alone {
                assert_eq!(with[job].to_bits(), factor.to_bits(), "{settings} {job:?}");
            }
            for (before, after) in before.iter().zip(host.dump_associations()?) {
                assert_eq!(before.fs_factor.to_bits(), after.fs_factor.to_bits(), "sshare, {settings}");
            }
            // Among themselves they are as if they were alone, and the best of them is where it would be if it could start.
            let among = as_eligible(closed, settings)?;
            let ratio = |of: &BTreeMap<(u32, String), f64>| {
                let factor = |id| of.iter().find(|((known, _), _)| *known == id).map(|(_, factor)| *factor);
                factor(101).unwrap() / factor(102).unwrap()
            };
            assert_near(ratio(&with), ratio(&among), &format!("{settings}: {with:?}, {among:?}"));
            if settings.is_empty() {
                let light = with.iter().find(|((id, _), _)| *id == 102).map(|(_, factor)| *factor);
                assert_near(light.unwrap(), best_of_light(), "light");
            }
            host.quit()?;
        }
    }
    Ok(())
}

#[test]
fn a_job_in_several_partitions_can_start_in_the_one_that_is_up() -> HostResult<()> {
    let mut host = host("ActiveJobs=startable")?;
    set_state(&mut host, "down", DOWN)?;
    host.jobs(&[
        job(101, HEAVY, &["down"], PART_DOWN),
        // slurmctld leaves the reason of the partition that is down.
        job(102, LIGHT, &["down", "up"], PART_DOWN),
        job(103, HEAVY, &["up"], RESOURCES),
    ])?;
    host.cycle()?;
    let expected = [(101, "down", 1.0 / 9.0), (102, "down", 1.0), (102, "up", 1.0), (103, "up", 1.0 / 9.0)];
    assert_factors(&mut host, &expected)?;
    let job = host.dump_job(102)?;
    assert_eq!((job.priority, job.priority_array), (WEIGHT, vec![WEIGHT, WEIGHT]));
    // Where it competes it keeps others back in both.
    host.delete_job(102)?;
    host.cycle()?;
    assert_factors(&mut host, &[(101, "down", 1.0), (103, "up", 1.0)])?;
    host.quit()?;
    Ok(())
}

#[test]
fn a_change_of_a_hindered_job_gives_it_no_better_place() -> HostResult<()> {
    let mut host = host("ActiveJobs=startable")?;
    set_state(&mut host, "down", DOWN)?;
    host.jobs(&[
        job(101, HEAVY, &["third"], REQ_NODE_NOT_AVAIL),
        job(102, LIGHT, &["third"], REQ_NODE_NOT_AVAIL),
        job(103, HEAVY, &["down"], PART_DOWN),
        job(104, LIGHT, &["down"], PART_DOWN),
        job(107, OTHER, &["up"], RESOURCES),
    ])?;
    host.cycle()?;
    // Beside other, who has used 1, light would have a tenth of its tickets.
    let of_heavy = 0.1 / 1.1 / 9.0;
    assert_factors(&mut host, &[(101, "third", of_heavy), (103, "down", of_heavy)])?;
    let before = host.dump_job(101)?.priority;
    // slurmctld forgets the reason before it asks for the priority of a job that was changed.
    for id in [101, 103] {
        host.jobs(&[Job::new(id).state_reason(WITHOUT)])?;
        assert_eq!(host.set_priority(id)?, before, "job {id}");
        assert_eq!(host.dump_job(id)?.priority, before);
    }
    // A new one where it is down joins those there, and nobody else.
    host.jobs(&[job(105, HEAVY, &["down"], WITHOUT), job(106, OTHER, &["up"], WITHOUT)])?;
    assert_eq!(host.set_priority(105)?, before);
    assert_eq!(host.set_priority(106)?, WEIGHT);
    // One that goes where it can start is a new one there.
    host.jobs(&[Job::new(103_u32).partitions(["up".to_owned()]).state_reason(WITHOUT)])?;
    let moved = host.set_priority(103)?;
    assert!(moved < WEIGHT / 50, "behind other, who has used 1: {moved}");
    host.quit()?;
    Ok(())
}

#[test]
fn who_cannot_start_gains_nothing_by_having_no_rival_there() -> HostResult<()> {
    for settings in ["", "Dilution=user", "Dilution=tree"] {
        let alone = |hindered: &Job| -> HostResult<u32> {
            let mut host = host(&format!("ActiveJobs=startable\n{settings}"))?;
            set_state(&mut host, "down", DOWN)?;
            host.jobs(&[job(201, LIGHT, &["up"], RESOURCES), hindered.clone()])?;
            host.cycle()?;
            let priority = host.dump_job(101)?.priority;
            host.quit()?;
            Ok(priority)
        };
        // At a limit a job has what it would have if it could start.
        let expected = alone(&job(101, HEAVY, &["up"], BEGIN_TIME))?;
        assert_eq!(expected, WEIGHT / 10, "{settings}");
        for hindered in [
            job(101, HEAVY, &["up"], REQ_NODE_NOT_AVAIL),
            job(101, HEAVY, &["up"], RESERVATION),
            job(101, HEAVY, &["down"], PART_DOWN),
        ] {
            assert_eq!(alone(&hindered)?, expected, "{settings} {hindered:?}");
        }
    }
    Ok(())
}

#[test]
fn jobs_of_a_reservation_that_has_not_begun_compete_too() -> HostResult<()> {
    let mut host = host("ActiveJobs=startable")?;
    // They are not eligible until then.
    let reserved = |id, user| job(id, user, &["up"], RESERVATION).begin_time(0);
    host.jobs(&[reserved(101, HEAVY), reserved(102, LIGHT)])?;
    host.cycle()?;
    let [heavy, light] = [101, 102].map(|id| host.dump_job(id).map(|job| job.priority));
    assert_eq!((heavy?, light?), (WEIGHT / 9, WEIGHT));
    // Those that wait for something else do not.
    host.jobs(&[job(103, OTHER, &["up"], BEGIN_TIME).begin_time(0)])?;
    host.cycle()?;
    assert_eq!(host.dump_job(102)?.priority, WEIGHT);
    host.quit()?;
    Ok(())
}

#[test]
fn tickets_of_single_jobs_are_as_if_it_were_up() -> HostResult<()> {
    for settings in [
        "Dilution=user",
        "Dilution=tree",
        "Dilution=user\nOverride=Partition Name=down Tickets=5000\nOverride=User Name=heavy Tickets=2000",
        "Dilution=user\nDilutionUnit=cpu\nDilutionQuantum=4",
        "TicketsFunctional=5000\nFunctional=User Name=* Shares=1\nDilution=user",
    ] {
        let mut jobs = Vec::new();
        for n in 0..4 {
            jobs.push(job(101 + n, HEAVY, &["down"], PART_DOWN).tres_requested([(1, 4_u64)]));
            jobs.push(job(201 + n, LIGHT, &["down"], PART_DOWN).tres_requested([(1, 4_u64)]));
        }
        // It runs since before.
        jobs.push(
            job(300, LIGHT, &["up"], WITHOUT)
                .state(state::RUNNING)
                .start_time(NOW)
                .end_time_expected(NOW + 3600)
                .time_limit(60_u32)
                .total_cpus(4_u32)
                .tres_allocated([(1, 4_u64), (4, 1)]),
        );
        let expected = as_eligible(&jobs, settings)?;
        let mut host = host(&format!("ActiveJobs=startable\n{settings}"))?;
        set_state(&mut host, "down", DOWN)?;
        host.jobs(&jobs)?;
        for round in 0..2 {
            host.cycle()?;
            assert_eq!(shown(&mut host)?, expected, "{settings}, round {round}");
        }
        host.quit()?;
    }
    Ok(())
}

/// A job in several partitions has the override tickets of the one that is down before its door, although that is not its first.
#[test]
fn tickets_of_a_partition_that_is_down_are_those_of_its_jobs_in_several() -> HostResult<()> {
    let mut host = host("ActiveJobs=startable\nDilution=user\nOverride=Partition Name=down Tickets=10000")?;
    set_state(&mut host, "down", DOWN)?;
    host.jobs(&[job(101, HEAVY, &["up", "down"], PART_DOWN), job(102, HEAVY, &["down"], PART_DOWN)])?;
    host.cycle()?;
    let shown = shown(&mut host)?;
    let before_door = |id: u32| shown[&(id, "down".to_owned())];
    // The second has half of what the first has, of its user's tickets and of these.
    assert_near(before_door(102), before_door(101) / 2.0, &format!("{shown:?}"));
    host.quit()?;
    Ok(())
}

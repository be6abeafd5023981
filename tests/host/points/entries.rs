//! Jobs in several partitions: each entry has its own points, in sprio and where the scheduler looks. Under several QOS see
//! `tests/layouts/points.rs`.

use slurm_inproc::{HostResult, Nice};

use super::{change, entries, job, loaded, priorities, HIGH, JOHN, PAUL};

const SETTINGS: &str = "\
Component=CRED User=1 Class=1
Component=CRED Partition=fast Weight=2 User=10 Class=100
Component=RES Partition=fast Proc=1000
Credential=User Name=john Priority=3
Credential=Partition Name=batch Priority=20
Credential=Partition Name=fast Priority=40
";

/// john: 3 + 20 in batch; 2 * (30 + 4000) + 2000 in fast.
const JOHNS: [(&str, i64); 2] = [("batch", 23), ("fast", 10_060)];

fn named(shown: &[(&str, i64)]) -> Vec<(String, i64)> {
    shown.iter().map(|(name, site)| ((*name).to_owned(), *site)).collect()
}

fn in_both(id: u32, user: u32) -> slurm_inproc::Job {
    job(id, user).partitions(["batch".to_owned(), "fast".to_owned()])
}

#[test]
fn each_partition_has_its_own_points() -> HostResult<()> {
    let jobs = [
        in_both(1, JOHN),
        in_both(2, PAUL).site_factor(Nice(-100)),
        job(3, JOHN).partitions(["fast".to_owned()]),
        job(4, JOHN),
    ];
    let mut host = loaded(SETTINGS, &jobs)?;
    for again in ["at the cycle", "set again"] {
        assert_eq!(entries(&mut host, 1)?, named(&JOHNS), "{again}");
        // By tier, as the scheduler sorts them; both have the same here.
        assert_eq!(host.dump_job(1)?.priority_array, [23, 10_060], "{again}");
        assert_eq!(host.dump_job(1)?.priority, 23, "{again}");
        assert_eq!(entries(&mut host, 2)?, named(&[("batch", -80), ("fast", 9900)]), "{again}");
        assert_eq!(host.dump_job(2)?.priority_array, [1, 9900], "{again}");
        assert_eq!(priorities(&mut host, [3, 4])?, [10_060, 23], "{again}");
        for job in 1..=4 {
            host.set_priority(job)?;
        }
    }
    host.advance(60)?;
    host.cycle()?;
    assert_eq!(entries(&mut host, 1)?, named(&JOHNS), "a cycle later");
    change(&mut host, "")?;
    assert_eq!(entries(&mut host, 1)?, named(&[("batch", 0), ("fast", 0)]), "without points");
    assert_eq!(host.dump_job(1)?.priority_array, [1, 1], "without points");
    host.quit().map(drop)
}

/// A job without a time limit has that of the partition which the entry is for.
#[test]
fn the_time_limit_of_an_entry_is_that_of_its_partition() -> HostResult<()> {
    let unset = 0xffff_fffe_u32;
    let jobs = [in_both(1, JOHN).time_limit(unset), in_both(2, JOHN)];
    let mut host = loaded("Component=RES WallTime=1\nPointsCap=100000000\n", &jobs)?;
    let (year, ten_hours) = (365 * 86_400, 36_000);
    for again in ["at the cycle", "set again"] {
        assert_eq!(entries(&mut host, 1)?, named(&[("batch", year), ("fast", ten_hours)]), "{again}");
        assert_eq!(host.dump_job(1)?.priority_array, [31_536_000, 36_000], "{again}");
        assert_eq!(entries(&mut host, 2)?, named(&[("batch", 3600), ("fast", 3600)]), "{again}");
        host.set_priority(1)?;
    }
    host.quit().map(drop)
}

/// A partition's QOS is not the job's.
#[test]
fn promises_of_a_partition_hold_in_its_entry() -> HostResult<()> {
    let settings =
        "Service=Partition Name=fast QueueTimeWeight=10\nService=QOS Name=high QueueTimeWeight=1000\n";
    let mut host = loaded(settings, &[in_both(1, JOHN), in_both(2, JOHN).qos(HIGH)])?;
    assert_eq!(entries(&mut host, 1)?, named(&[("batch", 0), ("fast", 10)]));
    assert_eq!(entries(&mut host, 2)?, named(&[("batch", 1000), ("fast", 1000)]));
    host.quit().map(drop)
}

/// What sprio shows is what the priorities came from: those of a job that was set are of that moment.
#[test]
fn entries_of_a_job_that_was_set_are_of_that_moment() -> HostResult<()> {
    let mut host = loaded("Component=SERV QueueTime=100\n", &[in_both(1, JOHN), in_both(2, JOHN)])?;
    host.advance(600)?;
    host.set_priority(1)?;
    for (id, points) in [(1, 1100_u32), (2, 100)] {
        assert_eq!(host.dump_job(id)?.priority_array, [points; 2], "job {id}");
        assert_eq!(
            entries(&mut host, id)?,
            named(&[("batch", points.into()), ("fast", points.into())]),
            "job {id}"
        );
    }
    host.quit().map(drop)
}

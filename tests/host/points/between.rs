//! What happens to points between two cycles, and while one runs.

use std::fs;

use slurm_inproc::{Association, Conf, Host, HostResult, Job, Nice, Partition, Qos};

use super::{
    assert_all, assert_points, change, entries, job, loaded, loaded_with, said, site, use_up, ANN, HIGH,
    JOHN, OPTICS, PAUL,
};
use crate::setup::{self, FAIR_TREE};

const SETTINGS: &str = "\
Component=CRED User=1 Account=1 QOS=1 Class=1
Credential=User Name=john Priority=1000
Credential=User Name=nora Priority=5000
Credential=User Name=* Priority=2
Credential=Account Name=physics Priority=10
Credential=Account Name=optics Priority=20
Credential=QOS Name=high Priority=100
Credential=Partition Name=fast Priority=500
";

#[test]
fn a_job_has_its_points_at_its_submission() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &[])?;
    for (id, new, expected) in [
        (1, job(1, JOHN), 1010),
        (2, job(2, PAUL).qos(HIGH), 112),
        (3, job(3, ANN).partitions(["fast".to_owned()]), 502),
    ] {
        host.jobs(&[new])?;
        assert_eq!(host.set_priority(id)?, expected, "job {id}");
        assert_eq!(site(&mut host, id)?, i64::from(expected), "job {id}");
    }
    host.cycle()?;
    assert_all(&mut host, &[(1, 1010), (2, 112), (3, 502)], "after a cycle")?;
    host.quit().map(drop)
}

/// Before the first cycle nothing is known of associations but what the job's own says.
#[test]
fn before_the_first_cycle_a_job_has_its_points() -> HostResult<()> {
    let mut options = crate::setup::options()?;
    options.files = vec![("multifactor2.conf".to_owned(), SETTINGS.to_owned())];
    let mut host = Host::start(&options)?;
    super::fill(&mut host)?;
    host.init_without_thread()?;
    host.jobs(&[job(1, JOHN), job(2, PAUL)])?;
    assert_eq!([host.set_priority(1)?, host.set_priority(2)?], [1010, 12]);
    host.quit().map(drop)
}

#[test]
fn a_user_who_is_newer_than_the_last_cycle_has_points() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &[job(1, JOHN)])?;
    let new = |id: u32, parent: u32, account: &str, name: &str| {
        Association::new(id).parent(parent).account(account).user(name).uid(1000 + id)
    };
    host.associations(&[new(20, OPTICS, "optics", "nora"), new(21, OPTICS, "optics", "john")])?;
    let both = || ["batch".to_owned(), "fast".to_owned()];
    host.jobs(&[job(2, 20), job(3, 20).partitions(both()), job(4, 21)])?;
    let expected = [(2, 5020), (3, 5020), (4, 1020)];
    for (id, points) in expected {
        assert_eq!(host.set_priority(id)?, points, "job {id}");
    }
    let shown = [("batch".to_owned(), 5020), ("fast".to_owned(), 5520)];
    assert_eq!(host.dump_job(3)?.priority_array, [5020, 5520]);
    assert_eq!(entries(&mut host, 3)?, shown);
    assert_eq!([site(&mut host, 2)?, site(&mut host, 4)?, site(&mut host, 1)?], [5020, 1020, 1010]);
    host.cycle()?;
    assert_all(&mut host, &[(1, 1010), (2, 5020), (4, 1020)], "after a cycle")?;
    assert_eq!(entries(&mut host, 3)?, shown);
    // The association goes; slurmctld clears the pointers to it.
    host.associations(&[Association::new(20_u32).delete(true)])?;
    assert_eq!(host.set_priority(2)?, 2);
    host.cycle()?;
    assert_all(&mut host, &[(2, 2)], "without association")?;
    host.quit().map(drop)
}

#[test]
fn a_changed_job_has_other_points_at_once() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &[job(1, JOHN)])?;
    let mut now = |change: Job, expected: i64| -> HostResult<()> {
        host.jobs(&[change])?;
        assert_eq!(i64::from(host.set_priority(1)?), expected.max(1));
        assert_eq!(site(&mut host, 1)?, expected);
        host.cycle()?;
        assert_all(&mut host, &[(1, expected)], "after a cycle")
    };
    now(Job::new(1_u32).qos(HIGH), 1110)?;
    now(Job::new(1_u32).partitions(["fast".to_owned()]), 1610)?;
    now(Job::new(1_u32).association(ANN).user_id(1000 + ANN), 602)?;
    now(Job::new(1_u32).site_factor(Nice(-1000)), -398)?;
    host.quit().map(drop)
}

#[test]
fn a_reconfigure_gives_takes_and_changes_points() -> HostResult<()> {
    let mut host = loaded("", &[job(1, JOHN).site_factor(Nice(3)), job(2, PAUL)])?;
    use_up(&mut host, &[(1, 100.0), (2, 100.0), (3, 80.0), (4, 20.0)], &[])?;
    for (settings, expected) in [
        ("", [3, 0]),
        (SETTINGS, [1013, 12]),
        ("Component=CRED User=1\nCredential=User Name=paul Priority=7\n", [3, 7]),
        ("Component=RES Proc=10\n", [23, 20]),
        ("Component=FS FSUser=1\nTarget=User Name=john,paul Percent=50\n", [-27, 30]),
        ("", [3, 0]),
        ("Component=SERV QueueTime=60\n", [63, 60]),
        (SETTINGS, [1013, 12]),
    ] {
        change(&mut host, settings)?;
        assert_all(&mut host, &[(1, expected[0]), (2, expected[1])], settings)?;
    }
    // A file with an error: what was in force stays.
    change(&mut host, "Component=CRED User=oops\n")?;
    assert_all(&mut host, &[(1, 1013), (2, 12)], "an error")?;
    assert!(!said(&host, "oops").is_empty());
    host.quit().map(drop)
}

/// Runs a cycle for each lock that it takes, stopped before that.
fn at_every_lock(
    settings: &str,
    jobs: &[Job],
    mut meanwhile: impl FnMut(&mut Host) -> HostResult<()>,
) -> HostResult<u32> {
    let start = || loaded_with(settings, jobs, &Conf::new().flags(FAIR_TREE), |_| ());
    setup::at_every_lock(start, |host, _| meanwhile(host))
}

#[test]
fn while_a_cycle_runs_jobs_are_shown_and_set_with_their_points() -> HostResult<()> {
    let in_both = job(3, JOHN).partitions(["batch".to_owned(), "fast".to_owned()]);
    let locks = at_every_lock(SETTINGS, &[job(1, JOHN), job(2, PAUL), in_both], |host| {
        assert_eq!([site(host, 1)?, site(host, 2)?], [1010, 12]);
        assert_eq!(entries(host, 3)?.iter().map(|(_, site)| *site).collect::<Vec<_>>(), [1010, 1510]);
        assert_eq!([host.set_priority(1)?, host.set_priority(2)?, host.set_priority(3)?], [1010, 12, 1010]);
        assert_eq!([site(host, 1)?, site(host, 2)?], [1010, 12]);
        Ok(())
    })?;
    assert!(locks >= 5, "{locks} locks");
    Ok(())
}

#[test]
fn partitions_that_come_and_go_leave_the_others_their_points() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &[job(1, JOHN), job(2, PAUL).partitions(["fast".to_owned()])])?;
    for round in 0..3 {
        let name = format!("p{round}");
        host.partition(&Partition::new(name.clone()))?;
        host.jobs(&[job(3, JOHN).partitions([name.clone()])])?;
        host.cycle()?;
        assert_all(&mut host, &[(1, 1010), (2, 512), (3, 1010)], &name)?;
        host.delete_job(3)?;
        host.partition(&Partition::new(name).delete(true))?;
        host.renew_partitions()?;
    }
    host.cycle()?;
    assert_all(&mut host, &[(1, 1010), (2, 512)], "gone")?;
    host.quit().map(drop)
}

/// There are no associations and no cycles: jobs have their points from the start and at every change.
#[test]
fn without_a_database_points_are_those_of_the_submission() -> HostResult<()> {
    let mut options = crate::setup::options()?;
    let settings =
        "Component=SERV QueueTime=10\nComponent=CRED Class=1\nCredential=Partition Name=fast Priority=500\n";
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    options.slurmdbd = false;
    let mut host = Host::start(&options)?;
    host.configure(&Conf::new().flags(FAIR_TREE))?;
    for name in ["batch", "fast"] {
        host.partition(&Partition::new(name))?;
    }
    let of_nobody = |id, partitions: &[&str]| {
        let names: Vec<String> = partitions.iter().map(|name| (*name).to_owned()).collect();
        job(id, JOHN).association(0_u32).qos(0_u32).partitions(names)
    };
    host.jobs(&[of_nobody(1, &["fast"]), of_nobody(2, &["batch", "fast"])])?;
    host.init_without_thread()?;
    assert_eq!(site(&mut host, 1)?, 510);
    let sites = |host: &mut Host| -> HostResult<Vec<i64>> {
        Ok(entries(host, 2)?.into_iter().map(|(_, site)| site).collect())
    };
    assert_eq!(host.dump_job(2)?.priority_array, [10, 510]);
    assert_eq!(sites(&mut host)?, [10, 510]);
    host.advance(600)?;
    assert_eq!([host.set_priority(1)?, host.set_priority(2)?], [610, 110]);
    assert_eq!(site(&mut host, 1)?, 610);
    assert_eq!(sites(&mut host)?, [110, 610]);
    host.quit().map(drop)
}

#[test]
fn jobs_that_come_and_go_while_a_cycle_runs_leave_the_others_their_points() -> HostResult<()> {
    let mut jobs = vec![job(1, JOHN), job(2, PAUL), job(3, ANN), job(4, JOHN), job(5, PAUL)];
    // One that the cycle only clears stands between them.
    jobs.push(job(6, JOHN).qos(HIGH).direct_set_priority(true).priority(77_u32));
    jobs.push(job(7, ANN));
    let mut first = true;
    let locks = at_every_lock(SETTINGS, &jobs, |host| {
        // Once while the cycle runs, and once after it.
        if std::mem::take(&mut first) {
            host.qos(&Qos::new(HIGH).usage_threshold(0.5))?;
            host.delete_job(3)?;
            host.jobs(&[job(8, JOHN), Job::new(5_u32).direct_set_priority(true).priority(55_u32)])?;
            return Ok(());
        }
        first = true;
        for (id, expected) in [(1, 1010), (2, 12), (4, 1010), (7, 2)] {
            assert_points(host, id, expected, "after a cycle with changes")?;
        }
        assert_eq!([host.dump_job(5)?.priority, host.dump_job(6)?.priority], [55, 77]);
        host.cycle()?;
        assert_all(host, &[(1, 1010), (2, 12), (4, 1010), (7, 2), (8, 1010)], "after another")
    })?;
    assert!(locks >= 5, "{locks} locks");
    Ok(())
}

/// A job whose points become fewer keeps its priority, and shows the points that it would have.
#[test]
fn with_incr_only_fewer_points_do_not_count() -> HostResult<()> {
    let flags = FAIR_TREE | slurm_inproc::constants::PRIORITY_FLAGS_INCR_ONLY;
    let in_both = job(2, JOHN).partitions(["batch".to_owned(), "fast".to_owned()]);
    let conf = Conf::new().flags(flags);
    let mut host = loaded_with(SETTINGS, &[job(1, JOHN), in_both], &conf, |_| ())?;
    change(&mut host, &SETTINGS.replace("=1000\n", "=900\n").replace("=500\n", "=700\n"))?;
    assert_eq!([host.dump_job(1)?.priority, host.dump_job(2)?.priority], [1010, 1010]);
    assert_eq!(site(&mut host, 1)?, 910);
    // 900 for the user, 10 for the account, 700 for fast.
    assert_eq!(host.dump_job(2)?.priority_array, [1010, 1610]);
    host.quit().map(drop)
}

/// A restart changes no distance: the step that each is in is in the file.
#[test]
fn steps_of_distances_are_kept() -> HostResult<()> {
    let settings = "FSStep=5\nComponent=FS FSUser=1\nTarget=User Name=john Percent=50\n";
    let mut host = loaded(settings, &[job(1, JOHN)])?;
    use_up(&mut host, &[(1, 100.0), (2, 100.0), (JOHN, 42.0), (PAUL, 58.0)], &[])?;
    for _ in 0..2 {
        host.advance(300)?;
        host.cycle()?;
    }
    host.fini()?;
    let text = fs::read_to_string(host.directory().join("state/multifactor2_usage"))?;
    assert!(text.lines().any(|line| line.starts_with("step User john ")), "{text}");
    host.quit().map(drop)
}

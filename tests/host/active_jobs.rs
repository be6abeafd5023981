//! Which jobs give their user tickets, by `ActiveJobs`, wherever that is set.

use slurm_inproc::{state, Conf, Host, HostResult, Job, Options};

use crate::setup::{options, NOW};
use crate::tree::{account, id, job_factor, root, user, Tree};

/// Two users with equal shares; the rival has used less, so that the other's factor is below 1 while the rival is active.
const USER: usize = 2;
const RIVAL: usize = 3;

fn tree() -> Tree {
    Tree(vec![root(1000.0), account(0, 1, 1000.0), user(1, 1, 900.0, true), user(1, 1, 100.0, false)])
}

fn host(options: &Options, conf: &Conf) -> HostResult<Host> {
    let mut host = Host::start(options)?;
    tree().load(&mut host)?;
    host.configure(conf)?;
    host.init()?;
    Ok(host)
}

/// Whether one more job makes the rival active in the next cycle.
fn counts(host: &mut Host, job: &Job) -> HostResult<bool> {
    host.jobs(std::slice::from_ref(job))?;
    host.cycle()?;
    let factor = job_factor(host, id(USER))?;
    host.delete_job(id(RIVAL))?;
    host.cycle()?;
    assert!(job_factor(host, id(USER))? >= 1.0, "alone, a user has 1");
    Ok(factor < 1.0)
}

/// Kinds of jobs of the rival; whether they count by default, and with `ActiveJobs=pending`.
fn kinds() -> Vec<(&'static str, Job, bool, bool)> {
    let job = || tree().job(RIVAL);
    vec![
        ("one that could start", job(), true, true),
        ("one that can start from now on", job().begin_time(NOW), true, true),
        ("one that can start in a second", job().begin_time(NOW + 1), false, true),
        ("one with an unmet dependency: no begin time", job().begin_time(0), false, true),
        ("a held one", job().priority(0_u32), false, true),
        (
            "one that was requeued and still completes",
            job().state(state::PENDING | state::COMPLETING),
            false,
            true,
        ),
        ("one without details", job().details(false), false, true),
        ("one with a directly set priority", job().priority(9_u32).direct_set_priority(true), true, true),
        ("a running one", job().state(state::RUNNING).start_time(NOW), false, false),
        ("a suspended one", job().state(state::SUSPENDED).start_time(NOW), false, false),
        ("a completed one", job().state(state::COMPLETE).start_time(NOW - 9).end_time(NOW - 1), false, false),
        (
            "one that starts its nodes",
            job().state(state::RUNNING | state::CONFIGURING | state::POWER_UP_NODE).start_time(NOW),
            false,
            false,
        ),
    ]
}

#[test]
fn by_default_jobs_that_could_start_count() -> HostResult<()> {
    let mut host = host(&options()?, &Conf::new())?;
    for (kind, job, eligible, _) in kinds() {
        assert_eq!(counts(&mut host, &job)?, eligible, "{kind}");
    }
    host.quit().map(drop)
}

#[test]
fn with_active_jobs_pending_every_pending_job_counts() -> HostResult<()> {
    let mut host = host(&options()?, &Conf::new().parameters("ActiveJobs=pending"))?;
    for (kind, job, _, pending) in kinds() {
        assert_eq!(counts(&mut host, &job)?, pending, "{kind}");
    }
    host.quit().map(drop)
}

#[test]
fn a_job_begins_to_count_when_its_time_comes() -> HostResult<()> {
    let mut host = host(&options()?, &Conf::new())?;
    host.jobs(&[tree().job(RIVAL).begin_time(NOW + 600)])?;
    for (later, expected) in [(599, false), (1, true)] {
        host.advance(later)?;
        host.cycle()?;
        assert_eq!(job_factor(&mut host, id(USER))? < 1.0, expected);
    }
    host.quit().map(drop)
}

#[test]
fn the_setting_is_read_from_parameters_and_file_and_the_file_wins() -> HostResult<()> {
    for (parameters, file, pending) in [
        ("", None, false),
        ("ActiveJobs=pending", None, true),
        ("activejobs=Pending", None, true),
        ("", Some("ActiveJobs=pending\n"), true),
        ("ActiveJobs=pending", Some("# nothing set\n"), true),
        ("ActiveJobs=pending", Some("ActiveJobs=eligible\n"), false),
        ("ActiveJobs=eligible", Some("ActiveJobs=pending\n"), true),
    ] {
        let mut options = options()?;
        options.files =
            file.iter().map(|text| ("multifactor2.conf".to_owned(), (*text).to_owned())).collect();
        let mut host = host(&options, &Conf::new().parameters(parameters))?;
        let held = tree().job(RIVAL).priority(0_u32);
        assert_eq!(counts(&mut host, &held)?, pending, "PriorityParameters={parameters}, file {file:?}");
        host.quit()?;
    }
    Ok(())
}

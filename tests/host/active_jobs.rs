//! `ActiveJobs`, wherever it is set. Which jobs give their user tickets is in tests/layouts.

use slurm_inproc::{Conf, Host, HostResult, Job, Options};

use crate::setup::options;
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

//! Wrong settings refuse a start only where there never were good ones: those of before go on.

use std::fs;

use slurm_inproc::{Conf, Error, Host, HostResult};

use crate::setup::{our_errors, ours};
use crate::tree::{account, id, job_factor, root, user, Tree};

const USER: usize = 2;
pub const BAD: &str = "# ours\nActiveJobs=eligable\n";

/// One user with a job that could start, and a rival, who has used less, with a held one.
pub fn tree_with_a_held_job(host: &mut Host) -> HostResult<()> {
    let tree =
        Tree(vec![root(1000.0), account(0, 1, 1000.0), user(1, 1, 900.0, true), user(1, 1, 100.0, false)]);
    tree.load(host)?;
    host.jobs(&[tree.job(3).priority(0_u32)])
}

pub fn write_file(host: &Host, text: &str) -> HostResult<()> {
    Ok(fs::write(host.directory().join("multifactor2.conf"), text)?)
}

/// Whether held jobs count, which is what `ActiveJobs=pending` makes them do.
pub fn held_jobs_count(host: &mut Host) -> HostResult<bool> {
    host.cycle()?;
    Ok(job_factor(host, id(USER))? < 1.0)
}

#[track_caller]
pub fn assert_refused(result: HostResult<slurm_inproc::Cycle>) {
    match result {
        Err(Error::Refused { request, .. }) => assert_eq!(request, "init"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_start_with_a_bad_file_is_refused_with_file_line_value_and_what_is_allowed() -> HostResult<()> {
    let mut host = ours()?;
    tree_with_a_held_job(&mut host)?;
    write_file(&host, BAD)?;
    assert_refused(host.init());
    let (log, file) = (host.log(), host.directory().join("multifactor2.conf"));
    let line = format!(
        "{} line 2: ActiveJobs=eligable: must be one of eligible, pending, startable",
        file.display()
    );
    assert!(log.contains(&line), "{log}");
    assert!(!host.threads()?.contains(&"decay".to_owned()));
    // The administrator corrects it and starts again.
    write_file(&host, "ActiveJobs=pending\n")?;
    host.init()?;
    assert!(held_jobs_count(&mut host)?);
    host.quit().map(drop)
}

#[test]
fn a_start_with_bad_parameters_is_refused_and_the_log_names_them() -> HostResult<()> {
    for (parameters, message) in [
        ("ActiveJobs=all", "PriorityParameters: ActiveJobs=all: must be one of eligible, pending, startable"),
        (
            "ActiveJob=pending",
            "PriorityParameters: ActiveJob=pending: unknown key; known keys are ActiveJobs, Distribution, FairShareScale, ParentUsers, ",
        ),
    ] {
        let mut host = ours()?;
        tree_with_a_held_job(&mut host)?;
        host.configure(&Conf::new().parameters(parameters))?;
        assert_refused(host.init());
        let log = host.log();
        assert!(log.contains(message), "{log}");
    }
    Ok(())
}

#[test]
fn a_reconfigure_with_a_bad_file_keeps_the_last_good_settings_and_says_so() -> HostResult<()> {
    let mut host = ours()?;
    tree_with_a_held_job(&mut host)?;
    write_file(&host, "ActiveJobs=pending\n")?;
    host.init()?;
    assert!(held_jobs_count(&mut host)?);
    write_file(&host, BAD)?;
    host.reconfigure(true)?;
    assert!(held_jobs_count(&mut host)?, "the last good value holds");
    let log = host.log();
    let [error] = our_errors(&log)[..] else { panic!("{log}") };
    for part in ["line 2: ActiveJobs=eligable", "The last good settings stay in force (ActiveJobs=pending)"] {
        assert!(error.contains(part), "{log}");
    }
    // Other settings are taken over all the same, and the corrected file at the next reconfigure.
    write_file(&host, "ActiveJobs=eligible\n")?;
    host.reconfigure(true)?;
    assert!(!held_jobs_count(&mut host)?);
    host.quit().map(drop)
}

#[test]
fn init_after_fini_with_a_bad_file_keeps_the_last_good_settings() -> HostResult<()> {
    let mut host = ours()?;
    tree_with_a_held_job(&mut host)?;
    write_file(&host, "ActiveJobs=pending\n")?;
    host.init()?;
    write_file(&host, BAD)?;
    for _ in 0..3 {
        host.fini()?;
        host.init()?;
        assert!(held_jobs_count(&mut host)?);
    }
    let log = host.quit()?;
    assert_eq!(
        our_errors(&log).iter().filter(|line| line.contains("ActiveJobs=eligable")).count(),
        3,
        "{log}"
    );
    Ok(())
}

#[test]
fn a_reconfigure_without_the_file_goes_back_to_the_default() -> HostResult<()> {
    let mut host = ours()?;
    tree_with_a_held_job(&mut host)?;
    write_file(&host, "ActiveJobs=pending\n")?;
    host.init()?;
    assert!(held_jobs_count(&mut host)?);
    fs::remove_file(host.directory().join("multifactor2.conf"))?;
    host.reconfigure(true)?;
    assert!(!held_jobs_count(&mut host)?);
    host.quit().map(drop)
}

/// Lines about settings in what was logged since `from`.
fn said(log: &str, from: usize) -> Vec<&str> {
    let about =
        |line: &str| line.find("priority/multifactor2: ").map(|at| at + "priority/multifactor2: ".len());
    let ours = log[from..].lines().filter_map(|line| Some(&line[about(line)?..]));
    ours.filter(|line| line.contains("settings") || line.contains("multifactor2.conf")).collect()
}

#[test]
fn start_and_reconfigure_say_which_settings_hold_and_what_has_changed() -> HostResult<()> {
    let mut host = ours()?;
    tree_with_a_held_job(&mut host)?;
    write_file(&host, "ActiveJobs=pending\nOverride=Job Name=7 Tickets=1\n")?;
    host.init()?;
    let file = host.directory().join("multifactor2.conf");
    let file = file.display().to_string();
    let held = "ActiveJobs=pending; Override=Job Name=7 Tickets=1";
    assert_eq!(
        said(&host.log(), 0),
        [format!("settings that differ from their defaults: {held}. {file} has settings")]
    );

    let (nothing, strict) = (
        vec![
            format!("settings that differ from their defaults: {held}. {file} has settings"),
            "settings: nothing has changed".to_owned(),
        ],
        vec![
            format!(
                "settings that differ from their defaults: Distribution=strict; Override=Job Name=7 Tickets=1. {file} has \
                 settings"
            ),
            "settings have changed. now: Distribution=strict. no longer: ActiveJobs=pending".to_owned(),
        ],
    );
    let gone = |what: &str| {
        vec![
            format!("settings: all have their default values. {file} {what}"),
            "settings have changed. no longer: Distribution=strict; Override=Job Name=7 Tickets=1".to_owned(),
            format!(
                "{file} {what}, so settings that were in it are no longer in force. If this was not intended, \
                 restore it and run 'scontrol reconfigure'"
            ),
        ]
    };
    let other = "Override=Job Name=7 Tickets=1\nDistribution=strict\n";
    for (text, expected) in [
        (Some("ActiveJobs=pending\n# the same\nOverride=Job Name=7 Tickets=1\n"), nothing),
        (Some(other), strict.clone()),
        (Some("# nothing\n"), gone("has no settings")),
        (
            Some(other),
            vec![
                strict[0].clone(),
                "settings have changed. now: Distribution=strict; Override=Job Name=7 Tickets=1".to_owned(),
            ],
        ),
        (None, gone("does not exist")),
    ] {
        let from = host.log().len();
        match text {
            Some(text) => write_file(&host, text)?,
            None => fs::remove_file(&file)?,
        }
        host.reconfigure(true)?;
        assert_eq!(said(&host.log(), from), expected, "{text:?}");
    }
    let from = host.log().len();
    host.reconfigure(true)?;
    let expected = [
        format!("settings: all have their default values. {file} does not exist"),
        "settings: nothing has changed".to_owned(),
    ];
    assert_eq!(said(&host.log(), from), expected);
    host.quit().map(drop)
}

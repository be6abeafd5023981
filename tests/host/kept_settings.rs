//! The last good settings, which a process keeps for the next one.

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::Path;

use slurm_inproc::{Conf, Host, HostResult, Options};

use crate::settings::{assert_refused, held_jobs_count, tree_with_a_held_job, write_file, BAD};
use crate::setup::{options, our_errors, ours};

/// Makes a file of kept settings that is none.
type Make<'a> = &'a dyn Fn(&Path) -> std::io::Result<()>;

/// Where slurmctld keeps its state, for several processes one after the other.
struct State(tempfile::TempDir);

impl State {
    fn new() -> HostResult<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("multifactor2_settings")
    }

    /// A slurmctld, not yet started, with this text in multifactor2.conf, if any.
    fn process(&self, settings: Option<&str>) -> HostResult<Host> {
        let mut host = ours()?;
        self.configure(&mut host)?;
        tree_with_a_held_job(&mut host)?;
        settings.map_or(Ok(()), |text| write_file(&host, text))?;
        Ok(host)
    }

    fn configure(&self, host: &mut Host) -> HostResult<()> {
        host.configure(&Conf::new().state_save_location(self.0.path().display().to_string()))
    }
}

#[test]
fn a_process_with_a_bad_file_starts_with_the_settings_of_the_one_before() -> HostResult<()> {
    let state = State::new()?;
    let mut host = state.process(Some("ActiveJobs=pending\n"))?;
    host.init()?;
    let conf = host.directory().join("multifactor2.conf");
    host.quit()?;
    assert_eq!(fs::metadata(state.file())?.permissions().mode() & 0o7777, 0o600);
    let text = fs::read_to_string(state.file())?;
    assert!(text.contains(&format!("\nActiveJobs=pending # {} line 1\n", conf.display())), "{text}");

    // Twice: a start with a bad file changes nothing that is kept.
    for _ in 0..2 {
        let mut host = state.process(Some(BAD))?;
        host.init()?;
        assert!(held_jobs_count(&mut host)?);
        let log = host.log();
        let [error] = our_errors(&log)[..] else { panic!("one error: {log}") };
        for part in [
            "multifactor2.conf line 2: ActiveJobs=eligable: must be one of eligible, pending, startable",
            "The last good settings stay in force (ActiveJobs=pending)",
        ] {
            assert!(error.contains(part), "{error}");
        }
        host.quit()?;
        assert_eq!(fs::read_to_string(state.file())?, text);
    }

    // Several mistakes are a line each, and one sentence says what is in force.
    let mut host = state.process(Some("ActiveJobs=1\nActiveJobs=2\nZebra\n"))?;
    host.init()?;
    assert!(held_jobs_count(&mut host)?);
    let log = host.quit()?;
    assert_eq!((our_errors(&log).len(), log.matches("stay in force").count()), (3, 1), "{log}");
    Ok(())
}

#[test]
fn bad_parameters_start_with_the_kept_settings_and_good_ones_are_kept_with_their_origin() -> HostResult<()> {
    let state = State::new()?;
    let mut host = state.process(None)?;
    host.configure(&Conf::new().parameters("ActiveJobs=pending"))?;
    host.init()?;
    host.quit()?;
    let text = fs::read_to_string(state.file())?;
    assert!(text.contains("\nActiveJobs=pending # PriorityParameters\n"), "{text}");
    let mut host = state.process(None)?;
    host.configure(&Conf::new().parameters("ActiveJobs=all"))?;
    host.init()?;
    assert!(held_jobs_count(&mut host)?);
    host.quit().map(drop)
}

#[test]
fn no_settings_at_all_are_good_ones() -> HostResult<()> {
    let state = State::new()?;
    let mut host = state.process(None)?;
    host.init()?;
    host.quit()?;
    let mut host = state.process(Some(BAD))?;
    host.init()?;
    assert!(!held_jobs_count(&mut host)?);
    let log = host.quit()?;
    assert!(log.contains("stay in force (all defaults)"), "{log}");
    Ok(())
}

#[test]
fn a_backup_that_takes_over_goes_by_what_the_primary_kept_last() -> HostResult<()> {
    let state = State::new()?;
    let mut backup = state.process(Some("ActiveJobs=eligible\n"))?;
    backup.init()?;
    backup.fini()?;
    let mut primary = state.process(Some("ActiveJobs=pending\n"))?;
    primary.init()?;
    primary.quit()?;
    write_file(&backup, BAD)?;
    backup.init()?;
    assert!(held_jobs_count(&mut backup)?);
    backup.quit().map(drop)
}

#[test]
fn kept_settings_are_written_only_when_they_change() -> HostResult<()> {
    let state = State::new()?;
    let mut host = state.process(Some("ActiveJobs=pending\n"))?;
    host.init()?;
    // A regular end waits for the thread that writes.
    host.fini()?;
    host.init()?;
    let written = fs::metadata(state.file())?.ino();
    host.reconfigure(true)?;
    host.fini()?;
    host.init()?;
    write_file(&host, BAD)?;
    host.reconfigure(true)?;
    assert_eq!(fs::metadata(state.file())?.ino(), written);
    write_file(&host, "ActiveJobs=eligible\n")?;
    host.reconfigure(true)?;
    host.fini()?;
    assert!(fs::read_to_string(state.file())?.contains("\nActiveJobs=eligible "));
    host.quit().map(drop)
}

/// `scontrol setdebugflags` comes with slurmctld's locks held: no file is looked at, and no setting changes.
#[test]
fn settings_change_at_a_reconfigure_alone() -> HostResult<()> {
    let state = State::new()?;
    let mut host = state.process(Some("ActiveJobs=pending\n"))?;
    host.init()?;
    host.fini()?;
    host.init()?;
    let kept = fs::read_to_string(state.file())?;
    for text in ["ActiveJobs=eligible\n", BAD] {
        write_file(&host, text)?;
        host.reconfigure(false)?;
        assert!(held_jobs_count(&mut host)?, "{text}");
    }
    assert_eq!(our_errors(&host.log()).len(), 0, "nothing was read");
    write_file(&host, "ActiveJobs=eligible\n")?;
    host.reconfigure(true)?;
    assert!(!held_jobs_count(&mut host)?);
    host.fini()?;
    assert_ne!(fs::read_to_string(state.file())?, kept);
    host.quit().map(drop)
}

#[test]
fn without_a_place_for_state_nothing_is_kept() -> HostResult<()> {
    let mut host = ours()?;
    tree_with_a_held_job(&mut host)?;
    host.configure(&Conf::new().state_save_location("/dev/null"))?;
    write_file(&host, BAD)?;
    assert_refused(host.init());
    write_file(&host, "ActiveJobs=pending\n")?;
    host.init()?;
    // This process has had good ones, though.
    write_file(&host, BAD)?;
    host.fini()?;
    host.init()?;
    assert!(held_jobs_count(&mut host)?);
    let log = host.quit()?;
    assert!(!log.contains("multifactor2_settings"), "{log}");
    Ok(())
}

#[test]
fn a_process_like_sshare_neither_reads_nor_writes_what_is_kept() -> HostResult<()> {
    let state = State::new()?;
    fs::write(state.file(), "damaged")?;
    let mut host = Host::start(&Options { slurmctld: false, ..options()? })?;
    state.configure(&mut host)?;
    write_file(&host, BAD)?;
    host.init_without_thread()?;
    assert!(our_errors(&host.quit()?).is_empty());
    assert_eq!(fs::read(state.file())?, b"damaged");
    Ok(())
}

#[test]
fn a_damaged_kept_file_is_one_error_and_counts_as_none() -> HostResult<()> {
    const WHOLE: &str = "# multifactor2_settings 1: x\nActiveJobs=pending\n# end\n";
    let newer = WHOLE.replace("settings 1", "settings 2");
    let cases: [(&str, Make); 5] = [
        ("its end is missing", &|file| fs::write(file, &WHOLE[..40])),
        ("it is not text", &|file| fs::write(file, [0xfe; 5000])),
        ("it is not a regular file", &|file| fs::create_dir(file)),
        ("it is not a regular file", &|file| symlink("/etc/passwd", file)),
        ("a newer slurm-multifactor2 wrote it", &|file| fs::write(file, &newer)),
    ];
    for (why, make) in cases {
        let state = State::new()?;
        make(&state.file())?;
        let mut host = state.process(Some(BAD))?;
        assert_refused(host.init());
        // This release calls init twice before it gives up.
        let log = host.log();
        let errors = our_errors(&log);
        assert!(errors.len() == 4 && errors[..2] == errors[2..], "{log}");
        assert!(errors[0].contains(&format!("multifactor2_settings: {why}")), "{why}: {log}");
        assert!(errors[1].contains("ActiveJobs=eligable"), "{log}");
        // With a good file slurmctld starts, says it once, and replaces the damaged one if it can.
        write_file(&host, "ActiveJobs=pending\n")?;
        host.init()?;
        assert!(held_jobs_count(&mut host)?);
        let log = host.quit()?;
        let [_, _, _, _, error] = our_errors(&log)[..] else { panic!("{why}: {log}") };
        assert!(error.contains("multifactor2_settings: "), "{error}");
        if !state.file().is_dir() {
            let mut next = state.process(Some(BAD))?;
            next.init()?;
            assert!(held_jobs_count(&mut next)?);
            next.quit()?;
        }
    }
    Ok(())
}

/// From Slurm 23.11 on a reconfigure is a new process.
#[test]
fn a_new_process_says_what_has_changed_since_the_one_before() -> HostResult<()> {
    let state = State::new()?;
    let lines = |log: &str, what: &str| log.lines().filter(|line| line.contains(what)).count();
    let mut host = state.process(Some("ActiveJobs=pending\n"))?;
    host.init()?;
    let log = host.quit()?;
    assert_eq!((lines(&log, "settings have changed"), lines(&log, "nothing has changed")), (0, 0), "{log}");
    for (text, expected) in [
        (Some("ActiveJobs=pending\n"), "settings: nothing has changed"),
        (Some("Distribution=strict\n"), "settings have changed. now: Distribution=strict. no longer: ActiveJobs=pending"),
        (None, "multifactor2.conf does not exist, so settings that were in it are no longer in force. If this was \
                not intended, restore it"),
        (None, "settings: nothing has changed"),
    ] {
        let mut host = state.process(text)?;
        host.init()?;
        let log = host.quit()?;
        assert_eq!(lines(&log, expected), 1, "{expected}: {log}");
    }
    Ok(())
}

//! The host notices a plugin that breaks the lock rules.

mod shared;

use shared::{fill, pending, small_cluster};
use slurm_inproc::{build_plugin, Conf, Error, Host, HostResult, Options, Plugin};
use std::path::Path;

/// A call that makes the plugin break its rule.
type Call = fn(&mut Host) -> HostResult<()>;

/// Load the unruly plugin, have it break a rule, and return what the host says about it.
fn violation(rule: &str, provoke: Call) -> HostResult<String> {
    let directory = tempfile::tempdir()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/unruly.c");
    let library = directory.path().join("unruly.so");
    build_plugin(&source, &library)?;
    let mut host = Host::start(&Options::new(Plugin::of("priority/unruly", &library)))?;
    fill(&mut host)?;
    host.jobs(&[pending(1)])?;
    host.init_without_thread()?;
    provoke(&mut host)?;
    host.configure(&Conf::new().parameters(rule))?;
    match provoke(&mut host) {
        Err(Error::Died { log, .. }) => {
            Ok(log.lines().find(|l| l.starts_with("LOCK VIOLATION")).unwrap_or("none").to_owned())
        }
        Err(other) => Err(other),
        Ok(()) => Ok("the host did not notice".to_owned()),
    }
}

fn set(host: &mut Host) -> HostResult<()> {
    host.set_priority(1).map(drop)
}

fn reconfigure(host: &mut Host) -> HostResult<()> {
    host.reconfigure(false)
}

fn set_usage(host: &mut Host) -> HostResult<()> {
    host.set_association_usage(4)
}

#[test]
fn each_broken_rule_is_named() -> HostResult<()> {
    let cases: [(&str, Call, &str); 11] = [
        ("wrong_order", reconfigure, "lock_slurmctld after assoc_mgr_lock"),
        ("state_files_first", reconfigure, "lock_slurmctld after lock_state_files"),
        ("unlock_without_lock", reconfigure, "unlock_slurmctld without lock_slurmctld"),
        ("returned_with_lock", reconfigure, "reconfig returned with locks held"),
        ("no_partition_lock", reconfigure, "find_part_record needs slurmctld's part lock"),
        ("lock_twice", set, "lock_slurmctld twice"),
        ("unlock_other_levels", set, "unlock_slurmctld with other levels than lock_slurmctld"),
        ("assoc_twice", set, "assoc_mgr_lock twice"),
        ("assoc_unlock_without_lock", set, "assoc_mgr_unlock without assoc_mgr_lock"),
        ("assoc_kept", set, "unlock_slurmctld before assoc_mgr_unlock"),
        ("lock_in_set_assoc_usage", set_usage, "assoc_mgr_lock twice"),
    ];
    for (rule, provoke, expected) in cases {
        let found = violation(rule, provoke)?;
        assert!(found.contains(expected), "{rule}: {found}");
    }
    Ok(())
}

#[test]
fn holding_times_are_kept_for_the_decay_thread_and_others() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_age(1000_u32))?;
    host.bulk_jobs(1, 1000, 1, true)?;
    host.init()?;
    host.locks(true)?;
    host.advance(60)?;
    host.cycle()?;
    let locks = host.locks(false)?;
    let job = locks
        .iter()
        .find(|l| l.decay_thread && l.name == "job" && l.write)
        .expect("a cycle takes the job write lock");
    assert!(job.count >= 1 && job.total >= job.longest && !job.longest.is_zero());
    // Without checks the same calls work, and no association lock is seen.
    host.check_locks(false)?;
    host.locks(true)?;
    host.advance(60)?;
    host.cycle()?;
    let locks = host.locks(false)?;
    assert!(locks.iter().all(|l| !l.name.starts_with("assoc_mgr")), "{locks:?}");
    host.check_locks(true)?;
    host.cycle()?;
    host.quit().map(drop)
}

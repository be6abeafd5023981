//! Panics and kills while a snapshot is taken: they cost that snapshot.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use multifactor2_snapshot::format::read;
use slurm_inproc::HostResult;

use crate::setup::{conf, Rig, NOW};

fn rig(directory: &Path) -> HostResult<(Rig, PathBuf)> {
    let path = directory.join("snapshot");
    let settings = format!("Snapshot={}\n", path.display());
    let rig =
        Rig::start_with(&conf(), |options| options.files = vec![("multifactor2.conf".to_owned(), settings)])?;
    Ok((rig, path))
}

/// Waits for the snapshot of a cycle.
///
/// The thread that wrote it needs another moment to end.
#[track_caller]
fn expect(path: &Path, time: i64) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        if let Ok(file) = fs::read(path) {
            if read(file.as_slice()).expect("never half a file").about.time == time {
                sleep(Duration::from_millis(100));
                return;
            }
        }
        sleep(Duration::from_millis(10));
    }
    panic!("no snapshot of {time}");
}

#[test]
fn a_panic_costs_the_snapshot_and_nothing_else() -> HostResult<()> {
    let expected = {
        let mut rig = Rig::start(&conf())?;
        rig.host.init()?;
        rig.cycle_after(300)?;
        rig.priorities()?
    };
    for step in ["snapshot", "snapshot.write", "snapshot.rename"] {
        let directory = tempfile::tempdir()?;
        let (mut rig, path) = rig(directory.path())?;
        rig.host.init()?;
        expect(&path, NOW);
        rig.arm(step)?;
        rig.cycle_after(300)?;
        assert_eq!(rig.priorities()?, expected, "{step}");
        let begin = Instant::now();
        while rig.reports().is_empty() && begin.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(10));
        }
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        rig.disarm()?;
        // A thread that has just failed says so before the next begins.
        sleep(Duration::from_millis(100));
        expect(&path, NOW);
        rig.cycle_after(300)?;
        expect(&path, NOW + 600);
        assert_eq!(fs::read_dir(directory.path())?.count(), 1, "{step}: nothing is left behind");
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn after_a_kill_the_next_life_takes_away_what_was_begun() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    {
        let (mut rig, path) = rig(directory.path())?;
        rig.host.init()?;
        expect(&path, NOW);
        rig.arm("snapshot.rename!")?;
        // The host is gone in the middle of this, or a moment later.
        let _ = rig.cycle_after(300);
        let begin = Instant::now();
        while rig.host.dump_jobs().is_ok() && begin.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(10));
        }
        expect(&path, NOW);
        assert_eq!(fs::read_dir(directory.path())?.count(), 2, "the file before, and one that was begun");
    }
    let (mut rig, path) = rig(directory.path())?;
    rig.host.set_clock(NOW + 900)?;
    rig.host.init()?;
    expect(&path, NOW + 900);
    assert_eq!(fs::read_dir(directory.path())?.count(), 1);
    rig.host.quit().map(drop)
}

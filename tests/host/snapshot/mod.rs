//! The file of `Snapshot=`: what is in it, who can read it, and what is refused.

mod content;
mod file;
mod public;
mod size;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use multifactor2_snapshot::format::read;
use multifactor2_snapshot::Snapshot;
use slurm_inproc::{Conf, Host, HostResult, Job, Options};
use tempfile::TempDir;

use crate::setup::{eventually, fill, options, waiting};

/// A host with a snapshot, and where that is.
struct Rig {
    host: Host,
    directory: TempDir,
}

impl Rig {
    /// A host with the cluster of [`fill`], these jobs and these settings besides that of the snapshot, after its first cycle.
    fn start(settings: &str, conf: &Conf, jobs: &[Job]) -> HostResult<Self> {
        Self::start_with(settings, conf, jobs, |_| ())
    }

    fn start_with(
        settings: &str,
        conf: &Conf,
        jobs: &[Job],
        change: impl FnOnce(&mut Options),
    ) -> HostResult<Self> {
        let directory = tempfile::tempdir()?;
        let mut options = options()?;
        let path = directory.path().join("snapshot");
        options.files =
            vec![("multifactor2.conf".to_owned(), format!("Snapshot={}\n{settings}", path.display()))];
        change(&mut options);
        let mut host = Host::start(&options)?;
        fill(&mut host)?;
        host.configure(conf)?;
        host.jobs(jobs)?;
        host.init()?;
        Ok(Self { host, directory })
    }

    /// Other settings, the one of the snapshot among them.
    fn change(&mut self, settings: &str) -> HostResult<()> {
        fs::write(self.host.directory().join("multifactor2.conf"), settings)?;
        self.host.reconfigure(true)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("snapshot")
    }

    /// A cycle after so many seconds.
    fn cycle_after(&mut self, seconds: i64) -> HostResult<()> {
        self.host.advance(seconds)?;
        self.host.cycle().map(drop)
    }

    /// The snapshot of the cycle at a time, once it is there and the thread that wrote it has ended.
    #[track_caller]
    fn snapshot(&self, time: i64) -> Snapshot {
        let found = eventually(|| taken(&self.path()).filter(|snapshot| snapshot.about.time == time));
        self.idle();
        found.unwrap_or_else(|| {
            let last = taken(&self.path()).map(|snapshot| snapshot.about.time);
            panic!("no snapshot of {time}, but of {last:?}: {}", self.host.log())
        })
    }

    /// Waits until nothing is written any more, where a thread has its name already. A cycle that comes before writes nothing.
    fn idle(&self) {
        let is_idle = || (!self.host.threads().ok()?.contains(&"snapshot".to_owned())).then_some(());
        eventually(is_idle).expect("the thread ends");
    }

    /// The same where a thread may be new, and needs a moment to have its name.
    fn settle(&self) {
        sleep(Duration::from_millis(200));
        self.idle();
    }

    /// Waits for a line of the log.
    #[track_caller]
    fn expect(&self, text: &str) {
        assert!(
            eventually(|| self.host.log().contains(text).then_some(())).is_some(),
            "{text}: {}",
            self.host.log()
        );
    }

    /// What is in the directory.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.directory.path()).expect("a directory");
        let mut names: Vec<String> =
            files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn taken(path: &Path) -> Option<Snapshot> {
    Some(read(fs::read(path).ok()?.as_slice()).expect("never half a file"))
}

/// Lines of the log that speak of snapshots.
fn said(log: &str) -> Vec<&str> {
    // The lines with the settings in force name it as well.
    let is_of_settings =
        |line: &str| ["settings that differ", "settings have"].iter().any(|of| line.contains(of));
    log.lines().filter(|line| line.contains("Snapshot") && !is_of_settings(line)).collect()
}

/// Jobs of all users, in one partition.
fn few() -> Vec<Job> {
    (1..=6).map(|id| waiting(id).association(4 + id % 3).user_id(1004 + id % 3)).collect()
}

//! Writes what priorities are made of into a file for others to read (`Snapshot=`; [`multifactor2_snapshot`] has the format).
//!
//! The decay thread reads the records after a cycle, in short holds of the locks ([`gather`]). A separate thread does the rest without any
//! lock: a file server that does not answer would otherwise delay the next cycle, and slurmctld when it stops. That thread sums up from the
//! drafts of the cycle what the priorities came from, and writes the file ([`records`], [`file`]).

mod file;
mod gather;
pub mod parameters;
mod public;
mod records;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use multifactor2_core::settings::{Settings, SnapshotMode};
use tracing::{error, info, warn};

use super::config::Config;
use super::sync::{Condvar, Mutex};
use super::Plugin;
use crate::faults;
use crate::host::groups::number_of;
use crate::host::known_jobs::KnownJobs;
use crate::host::locks::{spawn, Unlocked};
use crate::host::panics::guard;

use file::{replace, take_away, Readers, Trouble};
use gather::Gathered;

/// So long a stop waits for a file that is being written. It takes that long only where the file system does not answer.
const PATIENCE: Duration = Duration::from_millis(200);

/// What is known of snapshots between cycles.
#[derive(Debug, Default)]
pub struct Snapshots {
    state: Mutex<State>,
    idle: Condvar,
    /// How often the plugin was stopped: a thread that has begun before ends.
    stops: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    /// A thread writes.
    busy: bool,
    /// What it writes at the moment.
    at: Option<SnapshotFile>,
    /// The cycle of the last snapshot that was begun.
    last: Option<i64>,
    /// What was wrong last with each kind of file, as it was logged.
    trouble: [Option<String>; 2],
}

/// A file that is written, called as the setting that names it.
#[derive(Clone, Copy, Debug)]
enum SnapshotFile {
    Snapshot,
    Public,
}

impl SnapshotFile {
    fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "Snapshot",
            Self::Public => "SnapshotPublic",
        }
    }

    fn path(self, settings: &Settings) -> Option<&str> {
        match self {
            Self::Snapshot => settings.snapshot_file(),
            Self::Public => settings.public_file(),
        }
    }
}

impl fmt::Display for SnapshotFile {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is wrong with a snapshot, and how that is logged.
enum Complaint {
    Error(String),
    Warning(String),
}

impl Snapshots {
    /// Whether a snapshot is to be taken after the cycle of `now`.
    fn is_due(&self, settings: &Settings, now: i64) -> bool {
        let state = self.state.lock();
        // Cycles are some seconds early at times.
        let is_over = |last: i64| now < last || 10 * (now - last) >= 9 * settings.snapshot_period;
        state.last.is_none_or(is_over)
    }

    /// Takes note that one is begun.
    ///
    /// # Errors
    /// The last one is still being written: which file, if it has come to one.
    fn begin(&self, now: i64) -> Result<(), Option<SnapshotFile>> {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.busy, true) {
            return Err(state.at);
        }
        (state.last, state.at) = (Some(now), None);
        Ok(())
    }

    /// Logs what is wrong, unless it is what was logged last; or that it works again.
    fn note(&self, kind: SnapshotFile, complaint: Option<Complaint>, settings: &Settings) {
        let text = complaint.as_ref().map(|(Complaint::Error(text) | Complaint::Warning(text))| text.clone());
        let before = std::mem::replace(&mut self.state.lock().trouble[kind as usize], text.clone());
        match complaint {
            None if before.is_some() => {
                info!("{kind}={} is written again", kind.path(settings).unwrap_or_default());
            }
            Some(Complaint::Error(text)) if before.as_ref() != Some(&text) => error!("{text}"),
            Some(Complaint::Warning(text)) if before.as_ref() != Some(&text) => warn!("{text}"),
            _ => (),
        }
    }

    /// The thread has ended.
    fn end(&self) {
        self.state.lock().busy = false;
        self.idle.notify_all();
    }

    /// Makes a thread that writes give up. It is waited for a moment, and not if it waits for a file system that does not answer.
    pub fn stop(&self) {
        self.stops.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        let deadline = Instant::now() + PATIENCE;
        while state.busy && !self.idle.wait_until(&mut state, deadline).timed_out() {}
        state.last = None;
        state.trouble = Default::default();
    }
}

impl Plugin {
    /// Takes a snapshot, where the settings ask for one and it is due.
    pub(super) fn take_snapshot(
        &'static self,
        unlocked: &mut Unlocked,
        config: &Config,
        known_jobs: &mut KnownJobs,
        now: i64,
    ) {
        let settings = &config.settings;
        if settings.snapshot_file().or(settings.public_file()).is_none()
            || !self.snapshots.is_due(settings, now)
            || self.thread.is_stopping()
        {
            return;
        }
        let host = unlocked.host();
        if let Err(kind) = self.snapshots.begin(now) {
            if let Some((kind, path)) = kind.and_then(|kind| Some((kind, kind.path(settings)?))) {
                let text =
                    format!("{kind}: the previous write of {path} has not finished: check the file system");
                self.snapshots.note(kind, Some(Complaint::Error(text)), settings);
            }
            return;
        }
        let ended = Ended(&self.snapshots);
        faults::point("snapshot");
        let hidden = parameters::hidden(host).filter(|_| settings.snapshot_mode == SnapshotMode::All);
        let gathered = if settings.snapshot_file().is_some() && hidden.is_none() {
            self.gather_snapshot(unlocked, config, known_jobs, now)
        } else {
            self.read_cluster(unlocked, config, now, false)
        };
        let Some(gathered) = gathered else { return };
        let (settings, begun) = (settings.clone(), self.snapshots.stops.load(Ordering::Relaxed));
        let job = move |mut unlocked: Unlocked| {
            let ended = ended;
            let stops = || ended.0.stops.load(Ordering::Relaxed) != begun;
            let mut attempt =
                |kind: SnapshotFile, write: &mut dyn FnMut(&mut Unlocked) -> Option<Complaint>| {
                    ended.0.state.lock().at = Some(kind);
                    let complaint = guard(
                        || write(&mut unlocked),
                        || Some(Complaint::Error(format!("{kind}: the plugin failed: see the line above"))),
                    );
                    if !stops() {
                        ended.0.note(kind, complaint, &settings);
                    }
                };
            // The small one first: it does not wait for the other.
            if let Some(path) = settings.public_file() {
                attempt(SnapshotFile::Public, &mut |_| {
                    let readers = Readers { setting: SnapshotFile::Public.name(), mode: 0o644, group: None };
                    complaint(replace(Path::new(path), readers, &stops, |out| {
                        public::write(&gathered, &settings, out)
                    }))
                });
            }
            if let Some(path) = settings.snapshot_file() {
                attempt(SnapshotFile::Snapshot, &mut |unlocked| match &hidden {
                    None => write(unlocked, &gathered, &settings, path, &stops),
                    Some(hidden) => Some(Complaint::Error(contradiction(hidden, Path::new(path)))),
                });
            }
        };
        if let Err(problem) = spawn(host, "snapshot", job) {
            error!("Snapshot: cannot start a thread: {problem}. Raise the task limit of slurmctld's service");
        }
    }
}

/// `PrivateData` hides what everybody could read in the file. One that was written before is taken away.
fn contradiction(hidden: &str, path: &Path) -> String {
    let left = match take_away(SnapshotFile::Snapshot.name(), path) {
        Err(Trouble::Problem(text)) => format!(". The earlier file remains: {text}"),
        _ => String::new(),
    };
    format!(
        "Snapshot: PrivateData={hidden} and SnapshotMode=0644 contradict each other: nothing is written. Set SnapshotMode=0600, or 0640 with \
         SnapshotGroup{left}"
    )
}

/// What is to be logged of an end.
fn complaint(end: Result<(), Trouble>) -> Option<Complaint> {
    match end {
        Ok(()) | Err(Trouble::Stopped) => None,
        Err(Trouble::Problem(text)) => Some(Complaint::Error(text)),
    }
}

/// Notes the end, whatever it is.
struct Ended(&'static Snapshots);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// On its own thread: writes a snapshot, and says what was wrong.
fn write(
    unlocked: &mut Unlocked,
    gathered: &Gathered,
    settings: &Settings,
    path: &str,
    stops: &impl Fn() -> bool,
) -> Option<Complaint> {
    let mode = match settings.snapshot_mode {
        SnapshotMode::Owner => 0o600,
        SnapshotMode::Group => 0o640,
        SnapshotMode::All => 0o644,
    };
    let group = match settings.snapshot_readers().map(|name| (name, number_of(unlocked, name))) {
        None => None,
        Some((_, Ok(Some(group)))) => Some(group),
        Some((name, Ok(None))) => {
            return Some(Complaint::Warning(format!(
                "Snapshot: no Unix group has the name SnapshotGroup={name}: nothing is written. Correct the name, \
                 or create the group"
            )))
        }
        Some((name, Err(problem))) => {
            return Some(Complaint::Warning(format!(
                "Snapshot: cannot look up the Unix group SnapshotGroup={name}: {problem}. Nothing is written: \
                 check the name service of this host"
            )))
        }
    };
    faults::point("snapshot.write");
    let readers = Readers { setting: SnapshotFile::Snapshot.name(), mode, group };
    complaint(replace(Path::new(path), readers, stops, |out| records::write(gathered, out)))
}

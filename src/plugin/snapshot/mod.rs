//! What priorities are made of, in a file for others to read (`Snapshot=`; the form is [`multifactor2_snapshot`]).
//!
//! The decay thread reads it after a cycle, in small holds of the locks ([`gather`]). All else is done by a thread of its own, without any lock:
//! a file server that does not answer would else delay the next cycle, and slurmctld when it stops. That thread adds up what the priorities
//! came from, from the drafts of the cycle, and writes the file ([`records`], [`file`]).

mod file;
mod gather;
pub mod parameters;
mod records;

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

use file::{replace, Readers, Trouble};
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
    /// The cycle of the last snapshot that was begun.
    last: Option<i64>,
    /// What was wrong last, as it was logged.
    trouble: Option<String>,
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

    /// Takes note that one is begun; false where the last one is still being written.
    fn begin(&self, now: i64) -> bool {
        let mut state = self.state.lock();
        let was_busy = std::mem::replace(&mut state.busy, true);
        if !was_busy {
            state.last = Some(now);
        }
        !was_busy
    }

    /// Logs what is wrong, unless it is what was logged last; or that it works again.
    fn note(&self, complaint: Option<Complaint>, path: &str) {
        let text = complaint.as_ref().map(|(Complaint::Error(text) | Complaint::Warning(text))| text.clone());
        let before = std::mem::replace(&mut self.state.lock().trouble, text.clone());
        match complaint {
            None if before.is_some() => info!("Snapshot={path} is written again"),
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
        state.trouble = None;
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
        let Some(path) = config.settings.snapshot_file().map(str::to_owned) else { return };
        if !self.snapshots.is_due(&config.settings, now) || self.thread.is_stopping() {
            return;
        }
        let host = unlocked.host();
        if let Some(hidden) =
            parameters::hidden(host).filter(|_| config.settings.snapshot_mode == SnapshotMode::All)
        {
            let text = format!(
                "Snapshot: PrivateData={hidden} and SnapshotMode=0644 contradict each other: nothing is written. Set SnapshotMode=0600, or 0640 with \
                 SnapshotGroup"
            );
            return self.snapshots.note(Some(Complaint::Error(text)), &path);
        }
        if !self.snapshots.begin(now) {
            let text = format!(
                "Snapshot: {path} is still being written since the last time: look after the file system"
            );
            return self.snapshots.note(Some(Complaint::Error(text)), &path);
        }
        let ended = Ended(&self.snapshots);
        faults::point("snapshot");
        let Some(gathered) = self.gather_snapshot(unlocked, config, known_jobs, now) else { return };
        let (settings, begun) = (config.settings.clone(), self.snapshots.stops.load(Ordering::Relaxed));
        let job = move |mut unlocked: Unlocked| {
            let ended = ended;
            let stops = || ended.0.stops.load(Ordering::Relaxed) != begun;
            let complaint = guard(
                || write(&mut unlocked, &gathered, &settings, &path, &stops),
                || Some(Complaint::Error("Snapshot: the plugin failed: see the line before".to_owned())),
            );
            if !stops() {
                ended.0.note(complaint, &path);
            }
        };
        if let Err(problem) = spawn(host, "snapshot", job) {
            error!(
                "Snapshot: cannot start a thread: {problem}. Raise the limit on tasks of slurmctld's service"
            );
        }
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
                "Snapshot: there is no Unix group of the name SnapshotGroup={name}: nothing is written. Correct the name, or create it"
            )))
        }
        Some((name, Err(problem))) => {
            return Some(Complaint::Warning(format!(
                "Snapshot: cannot look up the Unix group SnapshotGroup={name}: {problem}. Nothing is written: look after the name service of this host"
            )))
        }
    };
    faults::point("snapshot.write");
    match replace(Path::new(path), Readers { mode, group }, stops, |out| records::write(gathered, out)) {
        Ok(()) | Err(Trouble::Stopped) => None,
        Err(Trouble::Problem(text)) => Some(Complaint::Error(text)),
    }
}

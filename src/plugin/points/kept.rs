//! Keeps what points need from one slurmctld to the next, and what they note of jobs that end between two cycles: see
//! [`multifactor2_accounting::kept_points`].
//!
//! The file is written after each cycle if lines count how often jobs are overtaken or how well time limits fit, and at a regular end,
//! outside slurmctld's locks. If slurmctld is killed, what it has counted since is counted again, as far as the jobs that started are still
//! known.

use multifactor2_accounting::accuracy::Accuracies;
use multifactor2_accounting::bypass::Started;
use multifactor2_accounting::kept_points::KeptPoints;
use multifactor2_core::decay::decay_factor;
use multifactor2_core::policy::points::Needs;
use tracing::error;

use super::queue::priority_there;
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::constants::INFINITE;
use crate::host::locks::{AssocLock, Levels};
use crate::host::log::Once;
use crate::host::records::Job;
use crate::host::{clock, Host};
use crate::plugin::config::Config;
use crate::plugin::small_file;
use crate::plugin::Plugin;

/// The name of the file, in the directory of the state file.
const NAME: &str = "multifactor2_points";

/// The file cannot be written, until it can again.
static FAILING: Once = Once::new();

/// What is noted of jobs that have ended, and what another process has kept.
#[derive(Debug, Default)]
pub struct NotedForPoints {
    /// Jobs that have started and ended since the last cycle, each with its partition.
    pub started: Vec<(Started, String)>,
    /// How well time limits fit, and what the process before has counted.
    pub kept: KeptPoints,
}

impl NotedForPoints {
    /// A job has ended: notes what points need.
    pub fn note<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, Write>,
        (needs, factor): (Needs, f64),
    ) {
        let Some(run) = job.ended_run().filter(|run| run.start > 0) else { return };
        let job = job.read_only();
        if needs.bypass {
            if let Some(partition) = job.partition() {
                let (name, priority) =
                    (partition.text(|part| part.name), priority_there(lock, job, partition));
                let started =
                    Started { id: job.get(|job| job.job_id), start: run.start, partition: 0, priority };
                self.started.push((started, name.into_owned()));
            }
        }
        let minutes = job.limit_in_minutes();
        if needs.accuracy && minutes < INFINITE - 1 {
            if let Some(association) = job.association(lock) {
                #[allow(clippy::cast_precision_loss)] // seconds
                let ran = run.seconds() as f64;
                let user = association.text(|assoc| assoc.user);
                let accuracies: &mut Accuracies = &mut self.kept.accuracies;
                accuracies.note(&user, (ran, 60.0 * f64::from(minutes)), run.end, factor);
            }
        }
    }
}

/// Whether points keep anything.
fn keeps(config: &Config) -> bool {
    config.points.is_some_and(|needs| needs.bypass || needs.accuracy)
}

impl Plugin {
    /// What the slurmctld before has left.
    pub(in crate::plugin) fn read_points(&self, config: &Config) {
        let Some(file) = small_file::path(config, NAME).filter(|_| keeps(config)) else { return };
        match small_file::read(&file, KeptPoints::parse) {
            Ok(None) => (),
            Ok(Some(kept)) => self.noted.lock().points.kept = kept,
            Err(problem) => error!(
                "cannot use {}: {problem}. How often jobs were overtaken, and how well users' time limits fit, is \
                 counted from zero. Find out what damages files there: a full or failing disk, or another program",
                file.display()
            ),
        }
    }

    /// Forgets how well the time limits of users fit of whom hardly anything is left.
    pub(in crate::plugin) fn forget_accuracies(&self, host: &'static Host) {
        let factor = decay_factor(host.conf().get(|conf| conf.priority_decay_hl));
        self.noted.lock().points.kept.accuracies.forget(clock::now(), factor);
    }

    /// Saves what points keep. Called after a cycle and at a regular end, without locks.
    pub(in crate::plugin) fn save_points(&self, config: &Config) {
        faults::point("points.save");
        let Some(file) = small_file::path(config, NAME).filter(|_| keeps(config)) else { return };
        let known = self.origins.lock().points.clone();
        let kept = {
            let kept = &mut self.noted.lock().points.kept;
            if let Some(overtaken) = known.as_ref().and_then(|points| points.counted()) {
                kept.overtaken = overtaken.clone();
            }
            kept.clone()
        };
        if let Err(Some(problem)) = small_file::write(&file, &kept.text(), &FAILING) {
            error!(
                "cannot save {}: {problem}. After a restart, how often jobs were overtaken, and how well users' \
                 time limits fit, is counted from zero; free space or correct the permissions of \
                 StateSaveLocation",
                file.display()
            );
        }
    }

    /// A job has ended, and is charged: notes what points need. The caller holds the locks of the charge.
    pub(in crate::plugin) fn note_end_for_points<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        config: &Config,
        lock: &AssocLock<'_, V>,
        job: Job<'_, Write>,
    ) {
        if let Some(needs) = config.points.filter(|_| keeps(config)) {
            let factor = decay_factor(lock.host().conf().get(|conf| conf.priority_decay_hl));
            self.noted.lock().points.note(lock, job, (needs, factor));
        }
    }
}

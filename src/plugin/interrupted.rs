//! Keeps from one slurmctld to the next which jobs' last run was cut off: see [`multifactor2_accounting::interrupted`].
//!
//! The file is written after a cycle and at a regular end, outside slurmctld's locks, if `Charge=Requeued` is in force and something has
//! changed. If slurmctld is killed before that, the cause is lost and the run is charged in full. If slurmctld has also forgotten the run,
//! its number differs from that in the note.

use multifactor2_accounting::interrupted::Interrupted;
use multifactor2_core::rules::charge_rules::ChargeFactors;
use tracing::error;

use super::charging::Noted;
use super::config::Config;
use super::small_file;
use super::Plugin;
use crate::faults;
use crate::host::locks::Unlocked;
use crate::host::log::Once;
use crate::host::panics::attempt;

/// The name of the file, in the directory of the state file.
const NAME: &str = "multifactor2_interrupted";

/// The file cannot be written, until it can again.
static FAILING: Once = Once::new();

impl Plugin {
    /// What the slurmctld before has left.
    pub(super) fn read_interrupted(&self, config: &Config) {
        let Some(file) = small_file::path(config, NAME) else { return };
        match small_file::read(&file, Interrupted::parse) {
            Ok(None) => (),
            Ok(Some(found)) => self.noted.lock().interrupted = found,
            Err(problem) => error!(
                "cannot use {}: {problem}. Runs that follow a preemption or a node failure are charged in full, as \
                 if the owners had requeued the jobs. Find out what damages files there: a full or failing disk, \
                 or another program",
                file.display()
            ),
        }
    }

    /// Saves what is noted of jobs. Called after a cycle, without locks.
    pub(super) fn save_notes(&self, unlocked: &mut Unlocked, config: &Config) {
        attempt(|| self.save_interrupted(unlocked, config));
        attempt(|| self.forget_accuracies(unlocked.host()));
        attempt(|| self.save_points(config));
    }

    /// Forgets jobs that are gone, and saves the rest where `Charge=Requeued` is in force. Called after a cycle, without locks.
    fn save_interrupted(&self, unlocked: &mut Unlocked, config: &Config) {
        faults::point("interrupted.save");
        if !self.noted.lock().interrupted.is_empty() {
            let jobs = unlocked.jobs_read();
            self.noted.lock().interrupted.forget(|job| jobs.job(job).is_none());
        }
        self.write_interrupted(config);
    }

    /// The end of the plugin's life: all is saved, and forgotten.
    pub(super) fn stop_noting(&self, config: Option<&Config>) {
        if let Some(config) = config {
            attempt(|| self.write_interrupted(config));
        }
        *self.noted.lock() = Noted::default();
    }

    fn write_interrupted(&self, config: &Config) {
        if config.charging.current.requeued == ChargeFactors::NONE {
            return;
        }
        let Some(file) = small_file::path(config, NAME) else { return };
        let Some(text) = self.noted.lock().interrupted.changes() else { return };
        if let Err(problem) = small_file::write(&file, &text, &FAILING) {
            self.noted.lock().interrupted.was_not_saved();
            if let Some(problem) = problem {
                error!(
                    "cannot save {}: {problem}. After a restart, runs that follow a preemption or a node failure \
                     are charged in full; free space or correct the permissions of StateSaveLocation",
                    file.display()
                );
            }
        }
    }
}

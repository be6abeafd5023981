//! When the last cycles ran: what is saved of it, and where a restarted slurmctld goes on.
//!
//! slurmctld saves usage every five minutes and when it ends; what was charged after that is lost when it is
//! killed. If running jobs were charged again from the last cycle on, as stock does, the time in between would be lost.
//! So the state file keeps the times of all cycles since slurmctld's last saving, and after a kill we go on from the
//! last one that is in what it saved. That needs no trust in clocks of file servers: slurmctld writes the time into its
//! file while it holds the lock under which usage is charged.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tracing::{error, info, warn};

use super::config::Config;
use super::state_file::{self, Saved, Times};
use super::{Plugin, Refused};
use crate::faults;
use crate::host::{clock, Host};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The times of the last cycles, newest first, back to the last one that slurmctld's saved usage includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(Vec<Times>);

impl History {
    /// Cycles that are kept at most: a day and a half of the default period.
    const MOST: usize = 512;

    /// What the state file held, newest first.
    pub fn new(mut entries: Vec<Times>) -> Self {
        entries.truncate(Self::MOST);
        Self(entries)
    }

    /// The entries, newest first.
    pub fn entries(&self) -> &[Times] {
        &self.0
    }

    /// Adds a cycle and forgets those that are not needed any more. `saved` is when slurmctld saved usage last.
    fn push(&mut self, times: Times, saved: Option<i64>) {
        self.0.insert(0, times);
        let included = |saved| self.0.iter().position(|times| times.last_ran <= saved);
        let needed = saved.map_or(1, |saved| included(saved).map_or(Self::MOST, |at| at + 1));
        self.0.truncate(needed.min(Self::MOST));
    }

    /// Where to go on after usage that slurmctld saved at `saved` has been loaded at `now`: the newest cycle that may be
    /// in that usage, so that nothing is charged twice. The newest of all where that is not known or clocks
    /// were set back.
    pub fn resume(&self, saved: Option<i64>, now: i64) -> Option<Times> {
        let newest = *self.0.first()?;
        let Some(saved) = saved.filter(|_| newest.last_ran <= now) else { return Some(newest) };
        let ascending = self.0.windows(2).take_while(|pair| pair[1].last_ran <= pair[0].last_ran).count();
        let usable = &self.0[..=ascending];
        usable.iter().find(|times| times.last_ran <= saved).or(usable.last()).copied()
    }
}

/// When slurmctld saved the usage of associations: its file `assoc_usage` begins with a 16-bit version and this time.
fn usage_saved(state_file: &Path) -> Option<i64> {
    let open = |name| File::open(state_file.with_file_name(name));
    // As slurmctld, which takes the older file where the newer one is missing.
    let mut file = open("assoc_usage").or_else(|_| open("assoc_usage.old")).ok()?;
    let mut header = [0; 10];
    file.read_exact(&mut header).ok()?;
    Some(i64::from_be_bytes(header[2..].try_into().ok()?))
}

/// Times that were lost: what slurmctld saved is charged up to then, or nearly. From "never" on running jobs would be
/// charged again for all that they ran.
fn since_saved(times: Times, file: &Path, now: i64) -> Times {
    match times.last_ran {
        0 => Times { last_ran: usage_saved(file).map_or(now, |saved| saved.min(now)), ..times },
        _ => times,
    }
}

impl Plugin {
    /// Reads the state file: when the last cycle ran that counts, and when usage was reset.
    pub(super) fn read_times(&self, host: &'static Host) -> Result<(), Refused> {
        *self.history.lock() = History::default();
        let now = clock::now();
        let Some(file) = state_file::path(&host.conf_text(|conf| conf.state_save_location)) else {
            return Ok(());
        };
        let saved = host.with_state_files_locked(|| state_file::read(&file));
        let entries = match saved {
            Ok(Saved::Complete(entries)) => entries,
            Ok(Saved::None) => {
                info!("no {} to recover: usage decays from now on", file.display());
                Vec::new()
            }
            Ok(Saved::Damaged(times, damage)) => {
                error!("{damage}");
                if !host.ignores_state_errors() {
                    return Err(Refused);
                }
                vec![since_saved(times, &file, now)]
            }
            Err(problem) => {
                error!(
                    "cannot read {}: {problem}. Mend its permissions, or start slurmctld with -i",
                    file.display()
                );
                if !host.ignores_state_errors() {
                    return Err(Refused);
                }
                vec![since_saved(Times::default(), &file, now)]
            }
        };
        let history = History::new(entries);
        let mut times = history.resume(usage_saved(&file), now).unwrap_or_default();
        if let Some(newest) = history.entries().first().filter(|newest| newest.last_ran > times.last_ran) {
            info!(
                "slurmctld ended without saving usage: running jobs are charged from {} s before the last cycle on",
                newest.last_ran - times.last_ran
            );
        }
        if times.last_ran > now {
            warn!(
                "{} says that the last cycle ran {} s from now: the clock was set back, or the file is another cluster's. \
                 Usage is charged from the first cycle on",
                file.display(),
                times.last_ran - now
            );
        }
        if times.last_reset == 0 || times.last_reset > now.saturating_add(DAY) {
            times.last_reset = now;
        }
        self.set_times(times);
        Ok(())
    }

    /// Writes the state file for a cycle that runs at `times.last_ran`.
    pub(super) fn save(&self, host: &'static Host, config: &Config, times: Times) {
        faults::point("save");
        let Some(file) = &config.state_file else {
            error!("the time of the last decay cannot be saved: StateSaveLocation is /dev/null");
            return;
        };
        let mut history = self.history.lock();
        if history.entries().is_empty() {
            // Where this process went on; until slurmctld saves usage that may be needed again.
            history.push(self.times(), None);
        }
        history.push(times, usage_saved(file));
        if let Err(problem) = host.with_state_files_locked(|| state_file::write(file, history.entries())) {
            error!(
                "cannot save {}: {problem}. Usage is not lost while slurmctld runs; make room or mend the permissions \
                 of StateSaveLocation before it restarts",
                file.display()
            );
        }
    }

    /// Writes the state file once more where a fault has ended the last cycle before it had charged all jobs.
    pub(super) fn save_at_end(&self) {
        let (Some(host), Some(config)) = (Host::get(), self.config()) else { return };
        let times = self.times();
        if self.history.lock().entries().first().is_some_and(|saved| *saved != times) {
            self.save(host, &config, times);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn history(entries: &[i64]) -> History {
        History(entries.iter().map(|&last_ran| Times { last_ran, last_reset: 1 }).collect())
    }

    #[track_caller]
    fn assert_resumes(entries: &[i64], saved: Option<i64>, now: i64, expected: i64) {
        assert_eq!(history(entries).resume(saved, now).map(|times| times.last_ran), Some(expected));
    }

    #[test]
    fn goes_on_from_the_newest_cycle_that_the_saved_usage_includes() {
        assert_resumes(&[400, 300, 200, 100], Some(450), 500, 400);
        assert_resumes(&[400, 300, 200, 100], Some(300), 500, 300);
        assert_resumes(&[400, 300, 200, 100], Some(299), 500, 200);
        assert_resumes(&[400, 300, 200, 100], Some(50), 500, 100);
        assert_eq!(history(&[]).resume(Some(1), 2), None);
    }

    #[test]
    fn goes_on_from_the_newest_cycle_where_nothing_better_is_known() {
        assert_resumes(&[400, 300], None, 500, 400);
        assert_resumes(&[400, 300], Some(300), 350, 400);
    }

    #[test]
    fn cycles_before_a_clock_was_set_back_do_not_count() {
        // 4000 and 3900 ran before the clock went back to 300.
        assert_resumes(&[400, 300, 4000, 3900], Some(350), 500, 300);
        assert_resumes(&[400, 300, 4000, 3900], Some(10), 500, 300);
        assert_resumes(&[400, 300, 4000, 3900], Some(3950), 5000, 400);
    }

    #[test]
    fn only_what_is_needed_is_kept() {
        let mut kept = history(&[]);
        for last_ran in [100, 200, 300] {
            kept.push(Times { last_ran, last_reset: 1 }, Some(150));
        }
        assert_eq!(kept, history(&[300, 200, 100]));
        kept.push(Times { last_ran: 400, last_reset: 1 }, Some(250));
        assert_eq!(kept, history(&[400, 300, 200]));
        kept.push(Times { last_ran: 500, last_reset: 1 }, None);
        assert_eq!(kept, history(&[500]));
        for last_ran in 501..2000 {
            kept.push(Times { last_ran, last_reset: 1 }, Some(0));
        }
        assert_eq!(kept.entries().len(), History::MOST);
    }

    #[test]
    fn the_time_is_read_from_the_header_of_slurmctlds_file() {
        let directory = tempfile::tempdir().unwrap();
        let state_file = directory.path().join("priority_last_decay_ran");
        assert_eq!(usage_saved(&state_file), None);
        std::fs::write(directory.path().join("assoc_usage.old"), [38, 0, 0, 0, 0, 0, 0, 0, 1, 2, 9]).unwrap();
        assert_eq!(usage_saved(&state_file), Some(258));
        std::fs::write(directory.path().join("assoc_usage"), [38, 0, 0, 0]).unwrap();
        assert_eq!(usage_saved(&state_file), None);
    }
    proptest! {
        /// Whatever the file holds: a restart goes on from a cycle that is in it, and never from before one that may be in
        /// the usage that slurmctld saved.
        #[test]
        fn no_bytes_lead_to_a_time_that_charges_twice(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            small in proptest::collection::vec((0..5000_i64, 0..5000_i64), 0..20),
            saved in proptest::option::of(prop_oneof![any::<i64>(), 0..5000_i64]),
            now in prop_oneof![any::<i64>(), 0..5000_i64],
        ) {
            let times: Vec<u8> = small
                .iter()
                .flat_map(|(ran, reset)| [ran.to_be_bytes(), reset.to_be_bytes()].concat())
                .collect();
            for bytes in [bytes, times] {
                match state_file::parse(Path::new("file"), &bytes) {
                    Saved::None => prop_assert!(bytes.is_empty()),
                    Saved::Damaged(times, _) => prop_assert!(times.last_ran >= 0 && times.last_reset >= 0),
                    Saved::Complete(entries) => {
                        let newest = entries[0];
                        let history = History::new(entries);
                        let found = history.resume(saved, now).expect("there is an entry");
                        prop_assert!(history.entries().contains(&found) && found.last_ran <= newest.last_ran);
                        if saved.is_some_and(|saved| newest.last_ran <= saved) {
                            prop_assert_eq!(found, newest);
                        }
                    }
                }
            }
        }
    }
}

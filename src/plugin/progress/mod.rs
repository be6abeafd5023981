//! Knows when cycles ran and up to when usage is charged, over the life of the plugin and from one slurmctld to the next. Only this module
//! ensures that all time is charged exactly once.
//!
//! [`journal`] says why that holds whenever a process ends, and [`history`] which cycles a save includes. [`state_file`] has the bytes,
//! [`saved_usage`] looks at slurmctld's own file of usage, and [`recount`] knows whose time a reconfigure has counted again.

pub mod history;
pub mod journal;
pub mod own_usage;
mod picture;
mod recount;
pub mod saved_usage;
pub mod saving;
pub mod state_file;

use std::path::Path;

use tracing::{error, info, warn};

use history::Times;
use journal::Journal;
use own_usage::Loaded;
use recount::Recount;
use saved_usage::SavedUsage;
use state_file::{Rest, Saved};

use super::config::Config;
use super::sync::{Rank, Ranked};
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, JobLock, Levels};
use crate::host::{clock, Host};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Where to go on from a file of stock's or of an early version of ours, which names no saved usage: the newest of its cycles
/// that is not later than the save, by the clock.
pub fn by_the_clock(newest: Times, before: &[Times], saved: Option<SavedUsage>, now: i64) -> Times {
    let Some(saved) = saved.filter(|_| newest.last_ran <= now) else { return newest };
    let mut times = std::iter::once(&newest).chain(before);
    *times.find(|times| times.last_ran <= saved.at).or(before.last()).unwrap_or(&newest)
}

/// When slurmctld saved usage last: up to then, or nearly, it is charged. From "never" on running jobs would be charged again
/// for all that they ran.
fn since_saved(saved: Option<SavedUsage>, now: i64) -> Option<i64> {
    saved.map(|saved| saved.at).filter(|at| *at > 0).map(|at| at.min(now))
}

/// From when on running jobs are charged, in words, where slurmctld ended after a cycle that its saved usage does not include; `resume` is the last
/// one that it does.
fn charged_from(newest: Times, resume: Times) -> Option<String> {
    (newest.last_ran > resume.last_ran).then(|| match resume.last_ran {
        // A new cluster.
        0 => "their start".to_owned(),
        last => format!("{} s before the last calculation", newest.last_ran - last),
    })
}

/// Moves a file that cannot be used out of the way, and says so.
fn put_aside(file: &Path, problem: &dyn std::fmt::Display) {
    let aside = state_file::put_aside_in_words(file);
    error!(
        "{problem}; {aside}. Usage decays, and running jobs are charged, from the time when slurmctld last saved \
         usage: less than one PriorityCalcPeriod is lost. Find out what damages files there: a full or failing \
         disk, or another program"
    );
}

/// When the last cycle ran, and up to when usage is charged.
#[derive(Debug)]
pub struct Progress {
    times: Ranked<Times>,
    journal: Ranked<Journal>,
    recount: Ranked<Recount>,
}

impl Default for Progress {
    /// Nothing has run yet.
    fn default() -> Self {
        Self {
            times: Ranked::new(Rank::Times, Times { last_ran: 0, last_reset: 0 }),
            journal: Ranked::new(Rank::Journal, Journal::default()),
            recount: Ranked::new(Rank::Recount, Recount::new()),
        }
    }
}

impl Progress {
    /// When the last cycle ran, up to which usage is charged, and when usage was reset.
    pub fn times(&self) -> Times {
        *self.times.lock()
    }

    /// Usage has been reset, in the cycle that has just been committed.
    pub fn note_reset(&self, times: Times) {
        *self.times.lock() = times;
    }

    /// Reads the state file: when the last cycle ran that the loaded usage includes, and when usage was reset. Nothing is written:
    /// [`Progress::catch_up`] does that.
    pub fn read(&self, host: &'static Host) -> Loaded {
        let mut journal = self.journal.lock();
        *journal = Journal::default();
        let now = clock::now();
        let Some(file) = state_file::path(&host.conf_text(|conf| conf.state_save_location)) else {
            return Loaded { times: self.times(), ..Loaded::default() };
        };
        let mut includes_newest = false;
        *journal = Journal::open(&file);
        let look = journal.watch.look();
        let saved = look.as_ref().map_or(None, |saved| *saved);
        // Together with what the file says of usage that slurmctld saves from now on.
        let (mut times, in_file) = match host.with_state_files_locked(|| state_file::read(&file)) {
            Ok(Saved::Complete(newest, Rest::History(history))) => {
                includes_newest = look.as_ref().is_ok_and(|saved| history.includes_newest(*saved));
                let times = look.map_or(history.newest, |saved| history.included(saved));
                // At a regular end the first times were set back to those.
                if let Some(from) = charged_from(newest, times) {
                    info!("slurmctld ended without saving usage: running jobs are charged from {from} on");
                }
                (times, Some(history.newest))
            }
            Ok(Saved::Complete(newest, Rest::Before(before))) => {
                (by_the_clock(newest, &before, saved, now), Some(newest))
            }
            Ok(Saved::None) => {
                info!(
                    "no {} to recover: usage decays from the time when it was last saved, or from now on",
                    file.display()
                );
                (Times { last_ran: since_saved(saved, now).unwrap_or(0), last_reset: 0 }, None)
            }
            Ok(Saved::Damaged(times, damage)) => {
                put_aside(&file, &damage);
                let last_ran =
                    if times.last_ran == 0 { since_saved(saved, now).unwrap_or(now) } else { times.last_ran };
                (Times { last_ran, ..times }, None)
            }
            Err(problem) => {
                put_aside(&file, &format_args!("cannot read {}: {problem}", file.display()));
                (Times { last_ran: since_saved(saved, now).unwrap_or(now), last_reset: 0 }, None)
            }
        };
        let known = in_file == Some(times);
        if times.last_ran > now {
            warn!(
                "{} says that the last calculation ran {} s in the future: the clock was set back, or the file \
                 belongs to another cluster. Usage is charged from the first calculation on",
                file.display(),
                times.last_ran - now
            );
        }
        let knows_reset = times.last_reset != 0 && times.last_reset <= now.saturating_add(DAY);
        if !knows_reset {
            times.last_reset = now;
        }
        journal.start(times, saved, known);
        *self.times.lock() = times;
        Loaded { times, includes_newest, knows_reset }
    }

    /// Makes the state file say what usage in memory is, where it says something else: after a start, and after a cycle that was announced
    /// and not charged. No lock is held: this waits for the file system.
    pub fn catch_up(&self) {
        self.journal.lock().catch_up();
    }

    /// Prepares the state file for a cycle that runs at `times.last_ran`. No lock is held: this waits for the file system.
    pub fn prepare(&self, host: &'static Host, config: &Config, times: Times) {
        faults::point("save");
        let Some(file) = &config.state_file else {
            error!("the time of the last decay cannot be saved: StateSaveLocation is /dev/null");
            return;
        };
        let mut journal = self.journal.lock();
        journal.follow(file);
        host.with_state_files_locked(|| {
            journal.prepare(times);
            state_file::keep_old(file);
        });
    }

    /// Puts what was prepared in the place of the state file, which names the cycle at `times.last_ran` and the usage that slurmctld has saved
    /// then. No lock is held: this waits for the file system. It is followed by [`Progress::charge`] or [`Progress::catch_up`].
    pub fn announce(&self, config: &Config, times: Times) {
        faults::point("commit");
        let Some(file) = &config.state_file else { return };
        let mut journal = self.journal.lock();
        journal.follow(file);
        journal.announce(times);
    }

    /// Whether the state file names the usage that slurmctld has saved: it has not saved since [`Progress::announce`]. The association manager's
    /// locks are held, so that it cannot now; nothing is waited for.
    pub fn is_announced<V: Levels<Assoc = Write>>(&self, _no_save: &AssocLock<'_, V>) -> bool {
        self.journal.lock().is_announced()
    }

    /// The cycle that was announced is charged from here on. The locks are held under which usage is charged: a save of usage includes all of
    /// the cycle, or nothing. A reset is noted once it is done. Nothing is waited for.
    pub fn charge(&self, jobs: &JobLock<'_, Write>, times: Times) {
        self.journal.lock().charge();
        let before = self.times();
        *self.times.lock() = Times { last_ran: times.last_ran, ..before };
        self.recount.lock().note_cycle(jobs.host().partitions_address(jobs), before.last_ran);
    }

    /// Up to when running jobs have used run seconds that are still to be taken out of those that limits count, after
    /// slurmctld has counted all that the jobs requested: at a start, or `recounted` at a reconfigure.
    pub fn used_until<A: Open>(&self, jobs: &JobLock<'_, A>, recounted: bool) -> i64 {
        let (last_ran, partitions) = (self.times().last_ran, jobs.host().partitions_address(jobs));
        let mut recount = self.recount.lock();
        if recounted {
            recount.settle(partitions, last_ran)
        } else {
            recount.begin(partitions);
            last_ran
        }
    }

    /// At a regular end usage in memory is given up, and with it what was charged since slurmctld saved it (which it does before).
    /// The next start knows that by the file; stock does not, and gets told by the first two times.
    pub fn save_at_end(&self) {
        let mut journal = self.journal.lock();
        let history = journal.history;
        let mut resume = history.newest;
        if history.newest != history.base {
            match journal.watch.look() {
                Ok(saved) => resume = history.included(saved),
                Err(_) if !journal.is_behind() => return,
                Err(_) => (),
            }
        }
        if journal.is_behind() || resume != history.newest {
            journal.replace(resume);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::history::History;
    use super::*;

    pub fn at(last_ran: i64) -> Times {
        Times { last_ran, last_reset: 1 }
    }

    pub fn save(number: u64) -> SavedUsage {
        // All in one second: nothing is told by the clock.
        SavedUsage { at: 7, size: 10, hash: number }
    }

    #[test]
    fn without_a_name_of_the_saved_usage_the_clock_decides() {
        let resume = |saved: i64, now| {
            let saved = Some(SavedUsage { at: saved, size: 10, hash: 1 });
            by_the_clock(at(400), &[at(300), at(200)], saved, now).last_ran
        };
        assert_eq!(
            [450, 400, 399, 300, 299, 50].map(|saved| resume(saved, 500)),
            [400, 400, 300, 300, 200, 200]
        );
        assert_eq!(resume(250, 350), 400, "the clock was set back");
        assert_eq!(by_the_clock(at(400), &[at(300)], None, 500), at(400));
        assert_eq!(by_the_clock(at(400), &[], Some(save(1)), 500), at(400));
    }

    #[test]
    fn a_time_in_the_head_of_a_save_is_used_if_it_is_one() {
        let since = |at| since_saved(Some(SavedUsage { at, size: 10, hash: 1 }), 500);
        assert_eq!(
            [i64::MIN, -1, 0, 1, 499, 501].map(since),
            [None, None, None, Some(1), Some(499), Some(500)]
        );
        assert_eq!(since_saved(None, 500), None);
    }

    #[test]
    fn a_cluster_that_never_saved_usage_is_told_of_no_seconds() {
        let from = |newest, resume| charged_from(at(newest), Times { last_ran: resume, last_reset: 0 });
        assert_eq!(from(1_795_426_326, 0).unwrap(), "their start");
        assert_eq!(from(1_795_426_326, 1_795_426_026).unwrap(), "300 s before the last calculation");
        assert_eq!(from(300, 300), None);
    }

    #[test]
    fn a_regular_end_tells_stock_where_to_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("priority_last_decay_ran");
        let write = |history: &History, resume| {
            state_file::prepare(&file, &state_file::bytes(resume, history)).unwrap();
            state_file::commit(&file).unwrap();
        };
        let history = History::loaded(at(100), Some(save(1))).after(at(200), Some(save(1)));
        write(&history, history.included(Some(save(1))));
        let Saved::Complete(first, Rest::History(found)) = state_file::read(&file).unwrap() else {
            panic!("no file of ours")
        };
        assert_eq!((first, found), (at(100), history));
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Whatever the file holds: a restart goes on from a time that is in it.
        #[test]
        fn no_bytes_lead_to_another_time(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            small in prop::collection::vec((0..5000_i64, 0..5000_i64), 0..20),
            saved in prop::option::of(prop_oneof![any::<i64>(), 0..5000_i64]),
            now in prop_oneof![any::<i64>(), 0..5000_i64],
        ) {
            let times: Vec<u8> =
                small.iter().flat_map(|(ran, reset)| [ran.to_be_bytes(), reset.to_be_bytes()].concat()).collect();
            let saved = saved.map(|at| SavedUsage { at, size: 10, hash: 1 });
            for bytes in [bytes, times] {
                match state_file::parse(Path::new("file"), &bytes) {
                    Saved::None => prop_assert!(bytes.is_empty()),
                    Saved::Damaged(times, _) => prop_assert!(times.last_ran >= 0 && times.last_reset >= 0),
                    Saved::Complete(newest, Rest::Before(before)) => {
                        let found = by_the_clock(newest, &before, saved, now);
                        prop_assert!(found == newest || before.contains(&found));
                        if saved.is_some_and(|saved| newest.last_ran <= saved.at) {
                            prop_assert_eq!(found, newest);
                        }
                    }
                    Saved::Complete(_, Rest::History(history)) => {
                        prop_assert!([history.newest, history.base].contains(&history.included(saved)));
                    }
                }
            }
        }
    }
}

//! Up to when usage is charged: what is saved of it, and where a restarted slurmctld goes on, so that all time is charged
//! exactly once.
//!
//! slurmctld saves usage every five minutes and when it ends; what was charged after that is lost with the process. So we go on
//! from the last cycle that is in what it loads, not, as stock does, from the last that there was. Which one that is does not
//! depend on clocks. A cycle resets, decays and charges under one hold of the association manager's locks for writing, and
//! slurmctld saves under the same locks for reading, so a saved usage includes all of a cycle or nothing of it. Under that
//! hold the state file is replaced, too; it then names the saved usage that lies there at this moment. If the same is there when
//! we start, it is older than the cycle; any other is newer, and includes it.

use std::io;
use std::path::{Path, PathBuf};

use tracing::error;

use super::history::{History, Times};
use super::saved_usage::{SavedUsage, Watch};
use super::state_file;

/// The state file of this process.
#[derive(Debug, Default)]
pub struct Journal {
    file: PathBuf,
    /// The usage that slurmctld has saved.
    pub watch: Watch,
    /// What usage in memory is.
    pub history: History,
    /// The cycle that is about to be charged, and whether it is written beside the file.
    next: Option<(History, bool)>,
}

impl Journal {
    /// The file at a place; nothing is read yet.
    pub fn open(file: &Path) -> Self {
        Self { file: file.to_owned(), watch: Watch::beside(file), ..Self::default() }
    }

    /// Usage has been loaded, and includes `times`. `known`: the file says so, too, whatever slurmctld saves before the first
    /// cycle.
    pub fn start(&mut self, times: Times, saved: Option<SavedUsage>, known: bool) {
        self.history = History::loaded(times, saved);
        if !known {
            self.replace(times);
        }
    }

    /// Replaces the file, with what stock is to go on from.
    pub fn replace(&self, resume: Times) {
        self.report(state_file::replace(&self.file, &state_file::bytes(resume, &self.history)));
    }

    /// A reconfigure may have changed the place.
    pub fn follow(&mut self, file: &Path) {
        if self.file != file {
            *self = Self { history: self.history, ..Self::open(file) };
        }
    }

    /// Writes beside the file what is to be in it after one more cycle. A save that cannot be looked at counts as the one before.
    pub fn prepare(&mut self, times: Times) {
        let next = self.history.after(times, self.watch.look().unwrap_or(self.history.saved));
        let written = state_file::prepare(&self.file, &state_file::bytes(next.newest, &next));
        self.next = Some((next, written.is_ok()));
        self.report(written);
    }

    /// The cycle is charged from here on.
    pub fn commit(&mut self, times: Times) {
        let prepared = self.next.is_some_and(|(next, _)| next.newest == times);
        if !prepared || matches!(self.watch.is_unchanged(), Ok(false)) {
            // slurmctld has saved in the moment since. That is rare enough to write once more here, as slurmctld itself writes
            // and syncs its files under these locks.
            self.prepare(times);
        }
        if let Some((next, written)) = self.next.take() {
            self.history = next;
            if written {
                self.report(state_file::commit(&self.file));
            }
        }
    }

    fn report(&self, result: io::Result<()>) {
        if let Err(problem) = result {
            error!(
                "cannot save {}: {problem}. Usage is not lost while slurmctld runs; make room or mend the permissions \
                 of StateSaveLocation before it restarts",
                self.file.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::since_saved;
    use super::super::state_file::{Rest, Saved};
    use super::super::tests::{at, save};
    use super::*;

    #[test]
    fn a_save_that_was_there_when_a_cycle_was_charged_does_not_include_it_and_any_other_does() {
        let start = History::loaded(at(100), Some(save(1)));
        assert_eq!([start.included(Some(save(1))), start.included(Some(save(2)))], [at(100); 2]);
        let one = start.after(at(200), Some(save(1)));
        assert_eq!(
            [Some(save(1)), Some(save(2)), None].map(|saved| one.included(saved)),
            [at(100), at(200), at(200)]
        );
        // Two cycles without a save between them: the one save includes neither.
        let two = one.after(at(300), Some(save(1)));
        assert_eq!([two.included(Some(save(1))), two.included(Some(save(2)))], [at(100), at(300)]);
        // Saved between two cycles.
        let three = two.after(at(400), Some(save(2)));
        assert_eq!([three.included(Some(save(2))), three.included(Some(save(3)))], [at(300), at(400)]);
        // A new cluster, killed before the first save: nothing is loaded.
        let new = History::loaded(Times::default(), None).after(at(100), None).after(at(200), None);
        assert_eq!([new.included(None), new.included(Some(save(1)))], [Times::default(), at(200)]);
    }

    #[test]
    fn a_place_that_a_reconfigure_changes_gets_the_next_cycle_and_what_was_known_before() {
        let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = after.path().join("priority_last_decay_ran");
        let mut journal = Journal::open(&before.path().join("priority_last_decay_ran"));
        journal.start(at(100), None, false);
        journal.follow(&file);
        journal.prepare(at(200));
        journal.commit(at(200));
        let Saved::Complete(first, Rest::History(found)) = state_file::read(&file).unwrap() else {
            panic!("no file of ours")
        };
        assert_eq!((first, found), (at(200), History { newest: at(200), base: at(100), saved: None }));
    }

    /// What may happen, in any order and many times within a second.
    #[derive(Clone, Debug)]
    enum Event {
        /// Time passes.
        Run(u8),
        /// A cycle, with saves at its moments: before it looks at the saved usage, before it takes the locks, and after it has
        /// let go of them; and whether it is killed at one of the four moments: before, when it is prepared, when the file is
        /// replaced but usage is not charged, or after.
        Cycle {
            saves: [bool; 3],
            killed: Option<u8>,
        },
        /// A job starts, with so many processors.
        Start(u8),
        /// The oldest job ends.
        End,
        Save,
        Kill,
        /// A regular end, as slurmctld does it: save, then `fini`, and perhaps a cycle in between.
        Stop {
            cycle: bool,
        },
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0..4_u8).prop_map(Event::Run),
            6 => (any::<[bool; 3]>(), prop_oneof![6 => Just(None), 1 => (0..4_u8).prop_map(Some)])
                .prop_map(|(saves, killed)| Event::Cycle { saves, killed }),
            1 => (1..9_u8).prop_map(Event::Start),
            1 => Just(Event::End),
            1 => Just(Event::Save),
            1 => Just(Event::Kill),
            1 => any::<bool>().prop_map(|cycle| Event::Stop { cycle }),
        ]
    }

    /// slurmctld and the plugin, with files in a directory.
    struct Model {
        now: i64,
        /// Jobs that run: when they started, and their processors.
        jobs: Vec<(i64, i64)>,
        /// What has been charged in memory.
        usage: i64,
        /// The same of what was saved, and when each job that has ended was charged for the last time: after which save.
        saved: i64,
        /// Processor seconds of jobs whose end was charged after the save: lost by a kill, as in stock.
        ended_since_save: i64,
        /// What all jobs have used that is not lost in that way.
        due: i64,
        journal: Journal,
        times: Times,
        directory: tempfile::TempDir,
        saves: u64,
    }

    impl Model {
        fn new() -> Self {
            // Where writing costs nothing.
            let memory = Path::new("/dev/shm");
            let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
            let directory = tempfile::tempdir_in(place).unwrap();
            let mut model = Self {
                now: 1000,
                jobs: vec![(1000, 1)],
                usage: 0,
                saved: 0,
                ended_since_save: 0,
                due: 0,
                journal: Journal::default(),
                times: Times::default(),
                directory,
                saves: 0,
            };
            model.start();
            model
        }

        fn file(&self) -> PathBuf {
            self.directory.path().join("priority_last_decay_ran")
        }

        /// As slurmctld: written, then renamed.
        fn save(&mut self) {
            self.saves += 1;
            let (new, file) =
                (self.file().with_file_name("assoc_usage.new"), self.file().with_file_name("assoc_usage"));
            let mut bytes = vec![38, 0];
            bytes.extend(self.now.to_be_bytes());
            bytes.extend(format!("{}", self.usage).bytes());
            std::fs::write(&new, bytes).unwrap();
            std::fs::rename(&new, file).unwrap();
            (self.saved, self.ended_since_save) = (self.usage, 0);
        }

        pub fn start(&mut self) {
            self.due -= std::mem::take(&mut self.ended_since_save);
            self.usage = self.saved;
            self.journal = Journal::open(&self.file());
            let saved = self.journal.watch.look().unwrap();
            let in_file;
            (self.times, in_file) = match state_file::read(&self.file()).unwrap() {
                Saved::Complete(_, Rest::History(history)) => (history.included(saved), Some(history.newest)),
                Saved::None => {
                    (Times { last_ran: since_saved(saved, self.now).unwrap_or(0), last_reset: 0 }, None)
                }
                other => panic!("{other:?}"),
            };
            self.journal.start(self.times, saved, in_file == Some(self.times));
        }

        /// The time of a job that is charged from the last cycle on.
        fn charge(&self, (start, processors): (i64, i64)) -> i64 {
            (self.now - start.max(self.times.last_ran)).max(0) * processors
        }

        /// False: the process was killed in it.
        fn cycle(&mut self, saves: [bool; 3], killed: Option<u8>) -> bool {
            let times = Times { last_ran: self.now, last_reset: 1 };
            if saves[0] {
                self.save();
            }
            if killed == Some(0) {
                return false;
            }
            self.journal.prepare(times);
            if saves[1] {
                self.save();
            }
            if killed == Some(1) {
                return false;
            }
            self.journal.commit(times);
            if killed == Some(2) {
                return false;
            }
            self.usage += self.jobs.iter().map(|job| self.charge(*job)).sum::<i64>();
            self.times = times;
            if saves[2] {
                self.save();
            }
            killed != Some(3)
        }

        fn happen(&mut self, event: &Event) {
            match event {
                Event::Run(seconds) => {
                    self.now += i64::from(*seconds);
                    self.due += self.jobs.iter().map(|job| i64::from(*seconds) * job.1).sum::<i64>();
                }
                Event::Cycle { saves, killed } => {
                    if !self.cycle(*saves, *killed) {
                        self.start();
                    }
                }
                Event::Start(processors) => self.jobs.push((self.now, i64::from(*processors))),
                Event::End => {
                    if !self.jobs.is_empty() {
                        let job = self.jobs.remove(0);
                        self.usage += self.charge(job);
                        // All of it that is not in the save yet.
                        let History { saved, base, .. } = self.journal.history;
                        let included =
                            if self.journal.watch.look().unwrap() == saved { base } else { self.times };
                        self.ended_since_save += (self.now - job.0.max(included.last_ran)) * job.1;
                    }
                }
                Event::Save => self.save(),
                Event::Kill => self.start(),
                Event::Stop { cycle } => {
                    self.save();
                    if *cycle {
                        self.cycle([false; 3], None);
                    }
                    self.start();
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..multifactor2_fixtures::seeded() })]

        /// Whatever happens when: all time of all jobs is charged, once.
        #[test]
        fn all_time_is_charged_exactly_once(events in prop::collection::vec(event(), 1..60)) {
            let mut model = Model::new();
            for event in &events {
                model.happen(event);
            }
            // A last cycle charges what is left.
            model.cycle([false; 3], None);
            prop_assert_eq!(model.usage, model.due);
        }
    }
}

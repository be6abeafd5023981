//! Ensures that all time is charged exactly once: it saves up to when usage is charged, and finds where a restarted slurmctld continues.
//!
//! slurmctld saves usage every five minutes and when it ends. What was charged after that is lost with the process. So we continue from the
//! last cycle that is in what slurmctld loads; stock continues from the last cycle that ran. Which one that is does not depend on clocks. A
//! cycle resets, decays and charges under one hold of the association manager's locks for writing, and slurmctld saves under the same locks
//! for reading. So a saved usage includes all of a cycle or nothing of it.
//!
//! Before a cycle is charged, and before any lock is taken, the state file announces it: it names the cycle and the saved usage that exists
//! then ([`Journal::announce`]). Under the locks the only question left is whether slurmctld has saved in between ([`Journal::charge`]),
//! which the kernel answers from memory. If it has, the locks are released and the cycle is announced again. So whatever is charged, the
//! file names the saved usage that exists at that moment. If the next start finds the same saved usage, it is older than the cycle. Any
//! other is newer and includes the cycle.
//!
//! One case looks the same: slurmctld saves between the announcement and the charge, and is killed before the cycle is announced again.
//! Then the cycle counts as charged, and its period is lost. Nothing is charged twice.

use std::io;
use std::path::{Path, PathBuf};

use tracing::{error, info, warn};

use super::history::{History, Times};
use super::saved_usage::{SavedUsage, Watch};
use super::saving::{News, Saving};
use super::state_file;

/// Where a cycle that is about to be charged is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalPlace {
    /// Nowhere: it could not be.
    Nowhere,
    /// Beside the file.
    Beside,
    /// In the file.
    InFile,
}

/// The state file of this process.
#[derive(Debug, Default)]
pub struct Journal {
    file: PathBuf,
    /// The usage that slurmctld has saved.
    pub watch: Watch,
    /// What usage in memory is.
    pub history: History,
    /// The cycle that is about to be charged, and where it is written.
    next: Option<(History, JournalPlace)>,
    /// The file may say something else than the history.
    is_behind: bool,
    saving: Saving,
    /// It has been said that the kernel does not tell of saves.
    has_warned: bool,
}

impl Journal {
    /// The file at a place; nothing is read yet.
    pub fn open(file: &Path) -> Self {
        Self { file: file.to_owned(), watch: Watch::beside(file), ..Self::default() }
    }

    /// Usage has been loaded, and includes `times`. `known`: the file says so, too, whatever slurmctld saves before the first
    /// cycle; else [`Journal::catch_up`] writes it.
    pub fn start(&mut self, times: Times, saved: Option<SavedUsage>, known: bool) {
        self.history = History::loaded(times, saved);
        self.is_behind = !known;
    }

    /// Replaces the file, with what stock is to go on from.
    pub fn replace(&mut self, resume: Times) {
        let written = state_file::replace(&self.file, &state_file::bytes(resume, &self.history));
        self.is_behind = written.is_err();
        self.next = None;
        self.report(written);
    }

    /// Makes the file say what usage in memory is, where it does not: after a start, and after a cycle that was announced and not charged.
    pub fn catch_up(&mut self) {
        if self.is_behind {
            self.replace(self.history.newest);
        }
    }

    /// The file may say something else than the history: it could not be written, or announces a cycle that was not charged.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// A reconfigure may have changed the place.
    pub fn follow(&mut self, file: &Path) {
        if self.file != file {
            *self = Self { history: self.history, ..Self::open(file) };
        }
    }

    /// Writes into a second file what the file is to hold after one more cycle. A save that cannot be looked at counts as the one before.
    pub fn prepare(&mut self, times: Times) {
        if let Err(problem) = self.watch.listen() {
            if !std::mem::replace(&mut self.has_warned, true) {
                warn!(
                    "the kernel cannot report changes in {}: {problem}. If slurmctld saves usage during a \
                     calculation and is then killed, the calculation is not charged: raise \
                     fs.inotify.max_user_instances and fs.inotify.max_user_watches",
                    self.file.parent().unwrap_or(&self.file).display()
                );
            }
        }
        let next = self.history.after(times, self.watch.look().unwrap_or(self.history.saved));
        self.write(next);
    }

    fn write(&mut self, next: History) {
        let written = state_file::prepare(&self.file, &state_file::bytes(next.newest, &next));
        self.next = Some((next, if written.is_ok() { JournalPlace::Beside } else { JournalPlace::Nowhere }));
        if written.is_err() {
            self.report(written);
        }
    }

    /// Makes the file name the cycle at `times`, and the saved usage that lies there. Waits for the file system: no lock is held.
    pub fn announce(&mut self, times: Times) {
        let saved = self.watch.look().unwrap_or(self.history.saved);
        let next = self.history.after(times, saved);
        if self.next != Some((next, JournalPlace::Beside)) {
            // slurmctld has saved since that was prepared, or since it was announced.
            self.write(next);
        }
        if self.next == Some((next, JournalPlace::Beside)) {
            let renamed = state_file::commit(&self.file);
            self.is_behind |= renamed.is_ok();
            self.next =
                Some((next, if renamed.is_ok() { JournalPlace::InFile } else { JournalPlace::Nowhere }));
            self.report(renamed);
        }
    }

    /// Whether slurmctld has not saved since the cycle was announced, as far as the kernel tells. The locks are held under which it saves, and
    /// nothing is waited for.
    pub fn is_announced(&mut self) -> bool {
        self.watch.is_unchanged()
    }

    /// The cycle that was announced is charged from here on. Nothing is waited for.
    pub fn charge(&mut self) {
        if let Some((next, place)) = self.next.take() {
            self.history = next;
            self.is_behind = place != JournalPlace::InFile;
        }
    }

    fn report(&mut self, result: io::Result<()>) {
        match (self.saving.note(result.is_ok()), result) {
            (Some(News::Fails), Err(problem)) => error!(
                "cannot save {}: {problem}. Usage is not lost while slurmctld runs; free space or correct the \
                 permissions of StateSaveLocation before slurmctld restarts",
                self.file.display()
            ),
            (Some(News::Works), _) => info!("{} is saved again", self.file.display()),
            _ => (),
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
        journal.announce(at(200));
        journal.charge();
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
        Cycle(Cycle),
        /// A job starts, with so many processors.
        Start(u8),
        /// The oldest job ends.
        End,
        Save,
        Kill,
        /// Killed, and again before the file says what the start found out, perhaps after a save.
        KillTwice {
            save: bool,
        },
        /// A regular end, as slurmctld does it: save, then `fini`, and perhaps a cycle in between.
        Stop {
            cycle: bool,
        },
    }

    /// A cycle.
    #[derive(Clone, Debug, Default)]
    struct Cycle {
        /// Saves: before it is prepared, when it is prepared, when it is announced, when it is announced anew, and after it is charged.
        saves: [bool; 5],
        /// Where it is killed: before it is prepared, when it is, when it is announced, after the save that comes then, when it is announced
        /// anew, after the save that comes then, when it is charged.
        killed: Option<u8>,
        /// A panic after it is announced: nothing is charged.
        fails: bool,
        /// The kernel does not tell of saves.
        blind: bool,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0..4_u8).prop_map(Event::Run),
            8 => (any::<[bool; 5]>(), prop_oneof![4 => Just(None), 1 => (0..7_u8).prop_map(Some)], 0..8_u8, 0..8_u8)
                .prop_map(|(saves, killed, fails, blind)| {
                    Event::Cycle(Cycle { saves, killed, fails: fails == 0, blind: blind == 0 })
                }),
            1 => (1..9_u8).prop_map(Event::Start),
            1 => Just(Event::End),
            1 => Just(Event::Save),
            1 => Just(Event::Kill),
            1 => any::<bool>().prop_map(|save| Event::KillTwice { save }),
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
        /// Processor seconds of a cycle that was not charged when slurmctld saved, although the file counts that save as newer than the
        /// cycle: lost by a kill.
        unsure: i64,
        /// What all jobs have used that is not lost in one of these ways.
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
                unsure: 0,
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
            (self.saved, self.ended_since_save, self.unsure) = (self.usage, 0, 0);
        }

        fn start(&mut self) {
            self.load();
            self.journal.catch_up();
        }

        /// The file says what it said yet.
        fn load(&mut self) {
            self.due -= std::mem::take(&mut self.ended_since_save) + std::mem::take(&mut self.unsure);
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

        /// What all jobs have used since a time.
        fn used_since(&self, since: i64, until: i64) -> i64 {
            self.jobs.iter().map(|(start, processors)| (until - since.max(*start)).max(0) * processors).sum()
        }

        /// A save that the file takes for one of after the cycle that it announces.
        fn save_too_early(&mut self, named: Option<SavedUsage>, newest: i64) {
            self.save();
            if self.lies_there() != named {
                self.unsure = self.used_since(self.times.last_ran, newest);
            }
        }

        fn lies_there(&self) -> Option<SavedUsage> {
            Watch::beside(&self.file()).look().unwrap()
        }

        /// False: the process was killed in it.
        fn cycle(&mut self, Cycle { saves, killed, fails, blind }: Cycle) -> bool {
            let times = Times { last_ran: self.now, last_reset: 1 };
            if saves[0] {
                self.save();
            }
            if killed == Some(0) {
                return false;
            }
            if blind {
                self.journal.watch = Watch::beside(&self.file());
            } else {
                self.journal.prepare(times);
            }
            if saves[1] {
                self.save();
            }
            if killed == Some(1) {
                return false;
            }
            let mut is_early = false;
            for (save, kills, is_last) in
                [(saves[2], [2, 3], false), (saves[3], [4, 5], false), (false, [7; 2], true)]
            {
                self.journal.announce(times);
                if std::mem::take(&mut is_early) {
                    self.unsure = 0;
                }
                if killed == Some(kills[0]) {
                    return false;
                }
                if save {
                    is_early = true;
                    self.save_too_early(self.lies_there(), self.now);
                }
                if killed == Some(kills[1]) {
                    return false;
                }
                if self.journal.is_announced() || is_last {
                    assert!(blind || !save && !is_last || saves[2] && saves[3]);
                    break;
                }
                assert!(save && !blind);
            }
            assert!(blind || !is_early);
            if fails {
                if is_early {
                    self.unsure = 0;
                }
                self.journal.catch_up();
                return true;
            }
            self.journal.charge();
            if killed == Some(6) {
                return false;
            }
            self.usage += self.jobs.iter().map(|job| self.charge(*job)).sum::<i64>();
            self.times = times;
            self.journal.catch_up();
            if saves[4] {
                self.save();
            }
            true
        }

        fn happen(&mut self, event: &Event) {
            match event {
                Event::Run(seconds) => {
                    self.now += i64::from(*seconds);
                    self.due += self.jobs.iter().map(|job| i64::from(*seconds) * job.1).sum::<i64>();
                }
                Event::Cycle(cycle) => {
                    if !self.cycle(cycle.clone()) {
                        self.start();
                    }
                }
                Event::KillTwice { save } => {
                    self.load();
                    let History { newest, saved, .. } = match state_file::read(&self.file()).unwrap() {
                        Saved::Complete(_, Rest::History(history)) => history,
                        _ => self.journal.history,
                    };
                    if *save {
                        self.save_too_early(saved, newest.last_ran);
                    }
                    self.start();
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
                        self.cycle(Cycle::default());
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
            model.cycle(Cycle::default());
            prop_assert_eq!(model.usage, model.due);
        }
    }
}

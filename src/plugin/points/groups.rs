//! Looks up the Unix groups that lines of points name, on a separate thread, so that nobody waits with a lock.
//!
//! The decay thread waits for the answers, but not once it must stop. A directory service that does not answer may take half a minute for
//! each name, and slurmctld waits for the decay thread. The look-up thread is then left behind, in code that stays mapped, and ends with
//! its current answer.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::warn;

use super::Groups;
use crate::host::groups::number_of;
use crate::host::locks::{spawn, Unlocked};
use crate::plugin::thread::DecayThread;

/// A name, and its number; `None` after the last.
type GroupAnswer = Option<(String, io::Result<Option<u32>>)>;

/// What has been answered and not been taken. Who asks ends when nobody else has it any more.
type Answers = Arc<Mutex<VecDeque<GroupAnswer>>>;

/// Ids of the named Unix groups, and the thread that asks for them.
#[derive(Debug, Default)]
pub struct GroupFinder {
    /// Those that are known. Another one only where something is new.
    known: Arc<Groups>,
    /// Those that the system could not tell, as has been said.
    failed: HashSet<String>,
}

impl GroupFinder {
    /// Looks for those of some groups that are not known yet. Where the `thread`, which is this one, is to stop the next one looks for the rest.
    pub fn find<'n>(
        &mut self,
        unlocked: &mut Unlocked,
        names: impl Iterator<Item = &'n str>,
        thread: &'static DecayThread,
    ) -> &Arc<Groups> {
        let unknown: Vec<String> =
            names.filter(|name| !self.known.contains_key(*name)).map(str::to_owned).collect();
        let Some(first) = unknown.first().cloned() else { return &self.known };
        let answers = Answers::default();
        let told = Arc::clone(&answers);
        let asked = spawn(unlocked.host(), "groups", move |mut unlocked| {
            let mut unknown = unknown.into_iter();
            let mut is_over = false;
            // Nobody waits any more where nobody else has the answers.
            while !is_over && Arc::strong_count(&told) > 1 {
                let answer = unknown.next().map(|name| {
                    let number = number_of(&mut unlocked, &name);
                    (name, number)
                });
                is_over = answer.is_none();
                told.lock().push_back(answer);
                thread.wake();
            }
        });
        match asked {
            Ok(_) => self.take(&answers, thread),
            Err(problem) => self.note((first, Err(problem)), &mut Vec::new()),
        }
        &self.known
    }

    /// Takes answers until there are no more, or the thread is to stop.
    fn take(&mut self, answers: &Answers, thread: &DecayThread) {
        let mut found = Vec::new();
        while let Some(Some(answer)) = thread.wait_for(|| answers.lock().pop_front()) {
            self.note(answer, &mut found);
        }
        if !found.is_empty() {
            self.failed.retain(|name| !found.iter().any(|(known, _)| known == name));
            let known = self.known.iter().map(|(name, number)| (name.clone(), *number));
            self.known = Arc::new(known.chain(found).collect());
        }
    }

    fn note(&mut self, (name, number): (String, io::Result<Option<u32>>), found: &mut Vec<(String, u32)>) {
        match number {
            Ok(Some(number)) => found.push((name, number)),
            // That it is unknown is said with all names that are.
            Ok(None) => (),
            Err(problem) => {
                if self.failed.insert(name.clone()) {
                    warn!(
                        "cannot look up the Unix group {name}: {problem}. Its lines have no effect until a \
                         calculation finds it: check the name service of this host"
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_thread_that_is_to_stop_waits_for_no_answer() {
        let thread: &DecayThread = Box::leak(Box::new(DecayThread::new()));
        let mut finder = GroupFinder::default();
        let answers = Answers::default();
        let answer = |name: &str, number| {
            answers.lock().push_back(Some((name.to_owned(), Ok(Some(number)))));
            thread.wake();
        };
        answer("a", 1);
        answer("b", 2);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            // The third is never answered.
            let taken = scope.spawn(|| {
                thread.start(|| Ok(std::thread::spawn(|| ()))).unwrap();
                finder.take(&answers, thread);
            });
            while !answers.lock().is_empty() {
                std::thread::yield_now();
            }
            thread.stop();
            taken.join().unwrap();
        });
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(finder.known.len(), 2);
    }

    #[test]
    fn answers_are_taken_until_the_last() {
        let thread = DecayThread::new();
        let mut finder = GroupFinder::default();
        let answers = Answers::default();
        answers.lock().extend([
            Some(("a".to_owned(), Ok(Some(1)))),
            Some(("b".to_owned(), Ok(None))),
            Some(("c".to_owned(), Err(io::Error::from_raw_os_error(5)))),
            None,
        ]);
        finder.take(&answers, &thread);
        assert_eq!((finder.known.len(), finder.failed.len()), (1, 1));
    }
}

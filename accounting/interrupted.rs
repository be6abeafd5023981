//! Notes runs of jobs that were cut off by something their owners cannot ask for, and which run comes next.
//!
//! slurmctld checks who asks for a requeue and forgets it: a job that its owner requeues looks like one that an administrator requeues. So
//! only causes that nobody can ask for exempt a run from the minimum, and make it one for `Charge=Requeued`. The cause is known when a run
//! ends, but needed when the next one is charged, perhaps by another process. Hence a file keeps a note for each such job. A run without a
//! note is charged in full.

use std::fmt::Write as _;

use multifactor2_core::rules::lines_of_file::{between, not_ours, LAST};
use multifactor2_core::seldom;
use rustc_hash::FxHashMap;

/// How a run of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As its owner may have wished: done, failed, cancelled, by a limit, requeued by whomever.
    Own,
    /// Preempted, by a node that failed, or because it could not be launched.
    Interrupted,
}

const FIRST: &str = "multifactor2_interrupted ";
const VERSION: u32 = 1;

/// Jobs whose last run was interrupted. There are at most as many as slurmctld has jobs: see [`Self::forget`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// By job id the run that follows, counted from 0.
    next: FxHashMap<u32, u32>,
    changed: bool,
}

impl Interrupted {
    /// A run of a job has ended. Runs are counted from 0.
    pub fn note(&mut self, job: u32, run: u32, ending: Ending) {
        let before = match ending {
            Ending::Own => self.next.remove(&job),
            Ending::Interrupted => self.next.insert(job, run.saturating_add(1)),
        };
        self.changed |= before.is_some() || ending == Ending::Interrupted;
    }

    /// Whether the run before this one was interrupted. That which is not known was not.
    pub fn is_next(&self, job: u32, run: u32) -> bool {
        self.next.get(&job) == Some(&run)
    }

    /// Whether no job is known.
    pub fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// Forgets jobs that are gone.
    pub fn forget(&mut self, mut is_gone: impl FnMut(u32) -> bool) {
        let before = self.next.len();
        self.next.retain(|job, _| !is_gone(*job));
        self.changed |= self.next.len() != before;
    }

    /// What the file is to hold, where that has changed since it was asked for last.
    pub fn changes(&mut self) -> Option<String> {
        std::mem::take(&mut self.changed).then(|| self.text())
    }

    /// What was taken last could not be written.
    pub fn was_not_saved(&mut self) {
        self.changed = true;
    }

    fn text(&self) -> String {
        let mut jobs: Vec<_> = self.next.iter().collect();
        seldom::sort_by(&mut jobs, Ord::cmp);
        let mut text = format!("{FIRST}{VERSION}\n");
        for (job, run) in jobs {
            let _ = writeln!(text, "job {job} {run}");
        }
        text + LAST + "\n"
    }

    /// What a file holds.
    ///
    /// # Errors
    /// Why it cannot be used, as a phrase.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = between(text, FIRST, VERSION..=VERSION)?;
        let job = |line: &str| {
            let (job, run) = line.strip_prefix("job ")?.split_once(' ')?;
            Some((job.parse().ok()?, run.parse().ok()?))
        };
        let next = lines
            .map(|(line, number)| job(line).ok_or_else(|| not_ours(number)))
            .collect::<Result<_, _>>()?;
        Ok(Self { next, changed: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_run_after_an_interrupted_one_is_known_and_no_other() {
        let mut known = Interrupted::default();
        assert!(!known.is_next(7, 0) && !known.is_next(7, 1), "what is not known was not interrupted");
        known.note(7, 0, Ending::Interrupted);
        assert_eq!([0, 1, 2].map(|run| known.is_next(7, run)), [false, true, false]);
        assert!(!known.is_next(8, 1));
        known.note(7, 1, Ending::Own);
        assert_eq!([0, 1, 2].map(|run| known.is_next(7, run)), [false; 3]);
        known.note(7, 2, Ending::Interrupted);
        assert_eq!([1, 2, 3].map(|run| known.is_next(7, run)), [false, false, true]);
    }

    #[test]
    fn jobs_that_are_gone_are_forgotten() {
        let mut known = Interrupted::default();
        for job in 0..100_000 {
            known.note(job, 0, Ending::Interrupted);
        }
        known.changes();
        known.forget(|job| job != 5);
        assert!(known.is_next(5, 1) && known.next.len() == 1);
        assert_eq!(known.changes().as_deref(), Some("multifactor2_interrupted 1\njob 5 1\nend\n"));
    }

    #[test]
    fn only_changes_are_written() {
        let mut known = Interrupted::default();
        assert_eq!(known.changes(), None);
        known.note(1, 0, Ending::Own);
        known.forget(|_| true);
        assert_eq!(known.changes(), None, "nothing was known and nothing is");
        known.note(1, 0, Ending::Interrupted);
        assert!(known.changes().is_some() && known.changes().is_none());
        known.was_not_saved();
        assert!(known.changes().is_some());
        known.note(1, 1, Ending::Own);
        assert_eq!(known.changes().as_deref(), Some("multifactor2_interrupted 1\nend\n"));
    }

    #[test]
    fn damage_is_told() {
        let problem = |text: &str| Interrupted::parse(text).unwrap_err();
        assert_eq!(problem(""), "its first line is not from slurm-multifactor2");
        assert_eq!(problem("multifactor2_interrupted 1\n"), "its end is missing");
        assert_eq!(problem("multifactor2_interrupted 1\njob 1 1\nen"), "its end is missing");
        assert_eq!(problem("multifactor2_interrupted 1\njob 1 1\njob 1\nend\n"), "line 3 is not valid");
        assert_eq!(problem("multifactor2_interrupted 1\nend\nend\n"), "line 2 is not valid");
        assert!(problem("multifactor2_interrupted 2\nwhatever").contains("a newer slurm-multifactor2"));
    }

    proptest! {
        #[test]
        fn it_reads_back_as_it_was(notes in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 0..100)) {
            let mut known = Interrupted::default();
            for (job, run, own) in notes {
                known.note(job, run, if own { Ending::Own } else { Ending::Interrupted });
            }
            known.changed = false;
            prop_assert_eq!(Interrupted::parse(&known.text()).unwrap(), known);
        }

        #[test]
        fn no_text_makes_it_panic(text in "(multifactor2_interrupted [0-9]{0,3})?(\n|job [0-9]* [0-9]*|end|.{0,9}){0,9}") {
            let _ = Interrupted::parse(&text);
        }
    }
}

//! The end of drafts: with the factors of their associations they become priorities. No lock is held.

use multifactor2_core::books::BookAt;
use multifactor2_core::factors::{Evaluation, Priority};

use super::{Draft, Drafts, OfPartition, Task};
use crate::plugin::evaluator::warn_of_overflow;
use crate::plugin::known_once::KnownOnce;
use crate::plugin::points::Given;
use crate::plugin::standing::Standing;

/// How many priorities a cycle has computed, and what is to become of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// All of them.
    pub computed: usize,
    /// Those that are the same as before, with nothing else to be written.
    pub same: usize,
    /// Those whose points left a sum below 1, so that they are at the lowest priority with all others of them.
    pub sunk: usize,
}

impl Finished {
    /// What is left of a job is done under the locks; all of it where its association is none that the last distribution knew.
    #[cold]
    fn leave(&mut self, draft: &mut Draft) {
        if draft.task != Task::Clear {
            self.computed += 1;
            draft.task = Task::Evaluate;
        }
    }

    /// Gives a job the priority that `evaluation` makes, with its points in it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a tenth of the instructions of a cycle
    fn add(&mut self, draft: &mut Draft, evaluation: &Evaluation, points: Option<i32>) {
        self.computed += 1;
        let sum = evaluation.sum();
        self.sunk += usize::from(sum < 1.0 && points.is_some_and(|points| points < 0));
        let value = warn_of_overflow(draft.id, Priority::from_sum(sum));
        // Half of all may change: no branch could be foreseen.
        let is_same = value == draft.priority && draft.task == Task::Number;
        draft.task = if is_same { Task::Nothing } else { draft.task };
        self.same += usize::from(is_same);
        draft.priority = value;
    }
}

impl Drafts {
    /// Puts the factors of associations in. Needs no lock of the host.
    pub fn finish(&mut self, standing: &Standing) -> Finished {
        let mut finished = Finished::default();
        let mut jobs = std::mem::take(&mut self.jobs);
        if !self.tickets.is_empty() || self.points.is_ordered() {
            jobs.sort_unstable_by_key(|draft| draft.id);
        }
        self.by_id = jobs.is_sorted_by_key(|draft| draft.id);
        let known = KnownOnce::new(self, standing);
        let has_books = !self.config.books.is_empty() || !self.waiting.closed.is_empty();
        let is_plain = self.tickets.is_empty() && !has_books;
        match &self.points {
            Given::Nothing if is_plain => {
                self.finish_with(&mut jobs, &mut finished, |_, draft, _| {
                    (known.plain(draft.association), None)
                });
            }
            Given::ByAssociation(points) if is_plain => {
                self.finish_with(&mut jobs, &mut finished, |_, draft, _| {
                    (known.plain(draft.association), points.get(draft.association.index()).copied())
                });
            }
            points => self.finish_with(&mut jobs, &mut finished, |at, draft, book| {
                let tickets = self.tickets.of(at, draft.id, book);
                (known.of(draft.association, (book, tickets)), points.of(at, draft.association))
            }),
        }
        self.jobs = jobs;
        finished
    }

    /// With what `ask` says of a job in its book: what it has of its association, and its points. One loop for each way to ask, so that
    /// nothing is looked up for single jobs where they make no difference.
    fn finish_with(
        &self,
        jobs: &mut [Draft],
        finished: &mut Finished,
        ask: impl Fn(usize, &Draft, BookAt) -> (Option<(f64, f64)>, Option<i32>),
    ) {
        for (at, draft) in jobs.iter_mut().enumerate() {
            let OfPartition { factor, book } = self.partitions.get(draft.partition);
            let (of_association, points) = ask(at, draft, book);
            let Some(of_association) = of_association.filter(|_| draft.is_complete()) else {
                finished.leave(draft);
                continue;
            };
            finished.add(draft, &self.evaluation_from(draft, factor, of_association, points), points);
        }
    }
}

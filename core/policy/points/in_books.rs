//! Targets in books: `Target=... Book=` compares usage in the partitions of a book with all usage there. Such a target counts only for jobs
//! in these partitions, in addition to the targets of all usage.

use super::associations::{Associations, Lines};
use super::credentials::Priorities;
use super::fair_share::Targets;
use super::named::NamedLines;
use super::steps::Steps;
use super::tables::Own;
use super::{Points, PointsJob, TargetUsage};
use crate::policy::pools::Names;
use crate::rules::targets::KeptSteps;
use crate::settings::Settings;
use crate::tree::{Node, ShareTree};

/// The targets of one book.
#[derive(Clone, Debug)]
pub(super) struct BookTargets {
    /// In small letters.
    pub name: String,
    targets: Targets,
    pub associations: Associations,
    steps: Steps,
    /// What was weighed last.
    pub usage: TargetUsage,
}

impl BookTargets {
    /// Those of all books that lines name, in the order of the books.
    pub(super) fn all(settings: &Settings, named: &NamedLines) -> Vec<Self> {
        let name_of = |line: &crate::settings::Book| line.name.to_ascii_lowercase();
        let has_targets = |name: &String| {
            let of_line = |of: &String| of.eq_ignore_ascii_case(name);
            settings.targets.iter().any(|line| line.book.as_ref().is_some_and(of_line))
        };
        let books = settings.books.iter().map(name_of).filter(has_targets);
        books
            .map(|name| {
                let targets = Targets::of(settings, Some(&name));
                let lines = Lines { named, priorities: &Priorities::default(), targets: &targets };
                let associations = Associations::new(lines);
                let (steps, usage) = (Steps::of(settings.fs_step), TargetUsage::default());
                Self { name, targets, associations, steps, usage }
            })
            .collect()
    }

    /// Takes a tree and what its associations are called.
    pub(super) fn learn<'n>(
        &mut self,
        tree: &ShareTree,
        called: impl Fn(Node) -> Names<'n>,
        named: &NamedLines,
    ) {
        let priorities = Priorities::default();
        self.associations.learn(
            tree,
            called,
            Lines { named, priorities: &priorities, targets: &self.targets },
        );
    }

    fn weigh(&mut self, tree: &ShareTree, usage: &TargetUsage) {
        self.usage.clone_from(usage);
        self.steps.begin();
        self.associations.weigh(tree, [usage, usage], (&self.targets, &mut self.steps));
    }

    /// What lines say in this book.
    pub(super) fn targets(&self) -> &Targets {
        &self.targets
    }

    /// What the association of a job has in this book.
    pub(super) fn own(&self, job: &PointsJob<'_>) -> Own {
        let known = job.node.and_then(|node| self.associations.own(node)).copied();
        known.unwrap_or_else(|| self.associations.of_names(job.newcomer))
    }

    /// The steps of distances, by kind followed by the book.
    pub(super) fn kept_steps(&self) -> impl Iterator<Item = ((String, String), i64)> + '_ {
        let levels = self.steps.levels();
        levels.into_iter().map(|((kind, name), step)| ((format!("{kind}@{}", self.name), name), step))
    }

    /// Goes on with such steps; those of other books are left out.
    pub(super) fn restore_steps(&mut self, steps: &KeptSteps) {
        let own = steps.iter().filter_map(|((kind, name), step)| {
            let (kind, book) = kind.split_once('@')?;
            (book == self.name).then(|| ((kind.to_owned(), name.clone()), *step))
        });
        self.steps.restore(&own.collect());
    }
}

impl Points {
    /// The books whose usage targets are compared with, in the order in which [`Self::weigh_books`] takes it.
    pub fn target_books(&self) -> impl Iterator<Item = &str> {
        self.books.iter().map(|book| book.name.as_str())
    }

    /// Compares what was used in each of [`Self::target_books`] with its targets: usage is that of each association with all below it. Call
    /// it in every cycle after [`Self::weigh`].
    pub fn weigh_books(&mut self, tree: &ShareTree, usage: &[TargetUsage]) {
        for (book, usage) in self.books.iter_mut().zip(usage) {
            book.weigh(tree, usage);
        }
    }
}

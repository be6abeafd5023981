//! Computes priorities from a snapshot with the engine that the plugin runs.
//!
//! [`Model::of`] is the one way in. A question "what if" edits a copy of the snapshot (shares, usage, parameters, settings, jobs) and asks
//! again: nothing else decides. What Slurm shows is kept with what is computed here. [`Model::differences`] says where the two differ and
//! which to trust.

pub mod billing;
mod closed;
pub mod config;
mod difference;
mod entries;
mod facts;
pub mod grants;
pub mod jobs;
pub mod order;
mod points;
pub mod reasons;
pub mod shares;
pub mod tree;
pub mod windows;

use std::collections::HashMap;

use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::policy::points::Listed;
use multifactor2_core::policy::pools::Names;
use multifactor2_core::rules::charge_rules::ChargeRules;
use multifactor2_core::settings::value::Date;
use multifactor2_core::Node;
use multifactor2_snapshot::records::{Job, Partition};
use multifactor2_snapshot::Snapshot;
use slurm_text::dates::{self, TimeZone};

pub use crate::algorithm::Algorithm;
use closed::Closed;
pub use config::Config;
pub use difference::{Believe, Difference};
pub use jobs::{lacks_size, Addends, EntryRank, JobRank};
pub use order::{Slot, Step};
pub use shares::{Competitors, InBook, Shares, ShownStanding};
pub use tree::{Tree, WholeTree};
pub use windows::TreeWindows;

/// How a snapshot is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The time, in seconds since 1970; `None` for that of the snapshot. Usage decays and ages grow until then.
    pub at: Option<i64>,
    /// The queue goes by priorities that are computed here, not by those that Slurm has. Who competes is worked out anew.
    pub recompute: bool,
}

/// A cluster with its tree, shares and jobs, computed from a snapshot.
#[derive(Debug)]
pub struct Model<'s> {
    /// What it is made from.
    pub snapshot: &'s Snapshot,
    /// The time that it is of.
    pub at: i64,
    /// The queue goes by what is computed here.
    pub recomputed: bool,
    /// Parameters and settings.
    pub config: Config,
    /// The associations.
    pub tree: Tree,
    /// Their fair-share, and who competes for it.
    pub shares: Shares,
    /// The same of each association in the default book, in the order of the snapshot.
    pub standings: Vec<ShownStanding>,
    /// The same in each of the other books.
    in_books: Vec<(BookAt, Vec<ShownStanding>)>,
    /// The jobs, in the order of the snapshot.
    pub jobs: Vec<JobRank>,
    /// What could not be known, one sentence each.
    pub notes: Vec<String>,
    closed: Closed,
    points: Option<points::Book>,
    jobs_by_id: HashMap<u32, usize>,
}

impl<'s> Model<'s> {
    /// Computes everything.
    pub fn of(snapshot: &'s Snapshot, options: Options) -> Self {
        let at = options.at.unwrap_or(snapshot.about.time);
        let recomputed = options.recompute || at != snapshot.about.time;
        let mut config = Config::of(snapshot);
        let mut notes = std::mem::take(&mut config.notes);
        let tree = Tree::of(snapshot, &config, at);
        if let Some(note) = tree.note(snapshot) {
            notes.push(note);
        }
        if tree.windows.as_ref().is_some_and(TreeWindows::are_lost) {
            config.settings = None;
            notes.push(
                "Shares use windows (TreeUsage=window), and the snapshot lacks the usage of each at this time: FAIRSHARE and SITE \
                 are those that Slurm shows."
                    .to_owned(),
            );
        }
        let (anew, open) = (options.recompute, Closed::default());
        let looks =
            facts::Looks { snapshot, config: &config, tree: &tree, at, anew, closed: &open, points: None };
        let points = points::Book::of(&looks, &mut notes);
        let looks = facts::Looks { points: points.as_ref(), ..looks };
        let competes = looks.who_competes();
        let closed = Closed::of(snapshot, &config, &competes);
        let looks = facts::Looks { closed: &closed, ..looks };
        let competitors = Competitors::of(&looks, &competes);
        let shares = Shares::compute(&config, tree.whole(snapshot), competitors);
        let mut in_books = shares.books().map(|book| (book, shares.standings(snapshot, &tree, book)));
        let standings = in_books.next().map(|(_, standings)| standings).unwrap_or_default();
        let in_books = in_books.collect();
        let evaluated = jobs::Evaluated { looks, shares: &shares };
        let jobs = evaluated.all(&competes, recomputed, &mut notes);
        let jobs_by_id = snapshot.jobs.iter().enumerate().map(|(at, job)| (job.id, at)).collect();
        Self {
            snapshot,
            at,
            recomputed,
            config,
            tree,
            shares,
            standings,
            in_books,
            jobs,
            notes,
            closed,
            points,
            jobs_by_id,
        }
    }

    /// The book of a partition.
    pub fn book_of(&self, partition: &str) -> BookAt {
        self.config.books.of_partition(partition)
    }

    /// The book in which a job is in a partition: that of the partition, or where it is hindered there that of its closed doors.
    pub fn book_in(&self, job: usize, partition: &str) -> BookAt {
        if !self.jobs[job].competes {
            return self.book_of(partition);
        }
        self.closed.book(&self.config, &self.snapshot.jobs[job], partition)
    }

    /// The partition that a job is hindered in, of those of this book; `None` if it is not.
    pub fn closed_partition(&self, book: BookAt) -> Option<&str> {
        self.closed.partitions.iter().find(|(closed, _)| *closed == book).map(|(_, name)| name)
    }

    /// The books of all partitions of a job.
    pub fn books_of(&self, job: usize) -> BookSet {
        let record = &self.snapshot.jobs[job];
        let partitions = std::iter::once(&record.partition).chain(&record.partitions);
        let books = partitions.map(|name| BookSet::one(self.book_in(job, name)));
        books.fold(BookSet::from_numbers([]), BookSet::and)
    }

    /// What users and accounts are called, by node of [`Self::tree`].
    pub fn names(&self) -> impl Fn(Node) -> Names<'s> + '_ {
        self.tree.names(self.snapshot)
    }

    /// How far usage is from the targets in force; `None` if the settings ask for no points, or what they need is unknown.
    pub fn targets(&self) -> Option<Vec<Listed>> {
        self.points.as_ref().map(|points| points.targets(self.snapshot, &self.tree))
    }

    /// The same of what was used in a single window, 0 for the current one: amounts and totals are right, what comes of them is not.
    pub fn targets_in_window(&self, age: usize) -> Vec<Listed> {
        let points = self.points.as_ref();
        points.map(|points| points.targets_in_window(self.snapshot, &self.tree, age)).unwrap_or_default()
    }

    /// The date of the time that is looked at, by the clock of this host.
    pub fn date(&self) -> Date {
        dates::date(self.at, &TimeZone::system())
    }

    /// The tree, where nothing of it is hidden: only of this one shares are computed.
    pub fn whole_tree(&self) -> Option<WholeTree<'_>> {
        self.tree.whole(self.snapshot)
    }

    /// The fair-share factor of a job in a book, where it is computed here.
    pub fn factor_in(&self, job: usize, book: BookAt) -> Option<f64> {
        let rank = &self.jobs[job];
        // Known only where that of the job is.
        rank.factor?;
        let node = rank.association.and_then(|association| self.tree.node(association));
        self.shares.in_book(book).factor_of_job(job, node)
    }

    /// What a book is called; `None` if there are no books.
    pub fn book_name(&self, book: BookAt) -> Option<&str> {
        let of_lines = self.closed.partitions.of(book);
        (!self.config.books.is_empty()).then(|| self.config.books.name(of_lines))
    }

    /// Where each association stands in a book, in the order of the snapshot.
    pub fn standings_in(&self, book: BookAt) -> &[ShownStanding] {
        let found = self.in_books.iter().find(|(known, _)| *known == book);
        found.map_or(&self.standings, |(_, standings)| standings)
    }

    /// The place of a job, by its id.
    pub fn job(&self, id: u32) -> Option<usize> {
        self.jobs_by_id.get(&id).copied()
    }

    /// The place of a job as users write it: `123`, `123_4` for a task of an array, `123+1` for a component of a heterogeneous job.
    /// `None` if no waiting job is called so.
    pub fn job_called(&self, name: &str) -> Option<usize> {
        let jobs = &self.snapshot.jobs;
        if let Some((leader, offset)) = name.split_once('+') {
            let id = leader.parse::<u32>().ok()?.checked_add(offset.parse().ok()?)?;
            return self.job(id);
        }
        let Some((array, task)) = name.split_once('_') else {
            let id = name.parse().ok()?;
            // An array is known by the record of the tasks that have not been split off.
            return self.job(id).or_else(|| jobs.iter().position(|job| job.array_job == id));
        };
        if !task.bytes().all(|byte| byte.is_ascii_digit()) {
            // Tasks that wait together, as squeue shows them.
            let array: u32 = array.parse().ok()?;
            return jobs.iter().position(|job| job.array_job == array && is_named(&job.array_tasks, task));
        }
        let (array, task): (u32, u32) = (array.parse().ok()?, task.parse().ok()?);
        let of_array = || jobs.iter().enumerate().filter(|(_, job)| job.array_job == array);
        let single = of_array().find(|(_, job)| job.array_tasks.parse() == Ok(task));
        single.or_else(|| of_array().find(|(_, job)| holds_task(&job.array_tasks, task))).map(|(at, _)| at)
    }

    /// `UsageFactor` of a QOS, as it counts: Slurm passes over a negative one. `None` if the QOS is not known.
    pub fn usage_factor(&self, qos: &str) -> Option<f64> {
        let found = self.snapshot.qos.iter().find(|known| known.name == qos)?;
        Some(if found.usage_factor >= 0.0 { found.usage_factor } else { 1.0 })
    }

    /// Whether some `Charge` lines count at some hours only.
    pub fn charges_by_the_clock(&self) -> bool {
        let settings = self.config.settings.as_ref();
        settings.is_some_and(|settings| settings.charges.iter().any(|line| line.week_hours().is_some()))
    }

    /// What usage of an association, by its place, is multiplied with by `Charge` lines in the first run of a job, but for those that count at some
    /// hours only.
    pub fn charge_factor(&self, association: usize, job: &Job) -> f64 {
        let Some(settings) = &self.config.settings else { return 1.0 };
        let rules = ChargeRules::of(settings);
        if rules.are_none() {
            return 1.0;
        }
        let account = |place: usize| self.snapshot.associations[place].account.as_str();
        // From the root down, without the root; a user has the account that it is in.
        let path = self.tree.path(association);
        let above = path.iter().skip(1).filter(|place| self.snapshot.associations[**place].user.is_empty());
        let of_job = [
            rules.partitions.of(&job.partition),
            rules.qos.of(&job.qos),
            rules.reservations.of(&job.reservation),
            rules.wckeys.of(job.wckey.trim_start_matches('*')),
            rules.accounts.of(account(association)),
        ];
        let factors = of_job.into_iter().chain(above.map(|place| rules.parents.of(account(*place))));
        factors.map(|factors| factors.usage).product()
    }

    /// Minutes that a job may run; `None` without a limit.
    pub fn minutes(job: &Job, partition: Option<&Partition>) -> Option<u32> {
        facts::Looks::minutes(job, partition)
    }

    /// The tasks and jobs that Slurm has of a job of the snapshot: more than one for an array.
    pub fn tasks(&self, job: usize) -> u64 {
        count_tasks(&self.snapshot.jobs[job].array_tasks)
    }
}

/// Ranges of tasks such as `[1-4,7,10-20:5%2]`.
fn ranges(tasks: &str) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
    let inner = tasks.trim_matches(['[', ']']);
    let inner = inner.split('%').next().unwrap_or_default();
    inner.split(',').filter_map(|part| {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((
            first.trim().parse().ok()?,
            last.trim().parse().ok()?,
            step.parse().ok().filter(|step| *step > 0)?,
        ))
    })
}

/// Whether a list of tasks such as `[1-4,7%2]` is what is named: it has the task, or is the list.
pub(crate) fn is_named(list: &str, tasks: &str) -> bool {
    let bare = |text: &str| text.trim_matches(['[', ']']).to_owned();
    tasks.parse().map_or_else(|_| bare(list) == bare(tasks), |task| holds_task(list, task))
}

/// Whether a list of tasks has one.
fn holds_task(tasks: &str, task: u32) -> bool {
    ranges(tasks).any(|(first, last, step)| (first..=last).contains(&task) && (task - first) % step == 0)
}

fn count_tasks(tasks: &str) -> u64 {
    let count = |(first, last, step): (u32, u32, u32)| u64::from(last.saturating_sub(first) / step) + 1;
    ranges(tasks).map(count).sum::<u64>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_counted_and_found_as_squeue_writes_them() {
        for (tasks, count) in [
            ("", 1),
            ("7", 1),
            ("[5-9%2]", 5),
            ("[1-4,7,10-20:5]", 8),
            ("[1,3-", 1),
            ("[0-...]", 1),
            ("[1-4:0]", 1),
        ] {
            assert_eq!(count_tasks(tasks), count, "{tasks}");
        }
        assert!(holds_task("[1-4,7,10-20:5%1]", 15) && !holds_task("[1-4,7,10-20:5%1]", 16));
    }
}

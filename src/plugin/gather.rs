//! The first phase of a cycle: every job is read once, under read locks.

use std::sync::Arc;

use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::factors::Evaluation;
use multifactor2_core::facts::{self, TresTotal};
use multifactor2_core::rules::minimum::Run;
use tracing::trace;

use super::books::{Finder, JobBooks};
use super::charging::{has_ended_untold, is_chargeable, untold_run};
use super::config::Config;
use super::drafts::Drafts;
use super::evaluator::Evaluator;
use super::origins::Earlier;
use super::points::PointsQueue;
use super::queue::Queues;
use super::standing::Standing;
use super::waiting::{waits, AssocPlace, Waits};
use super::Plugin;
use crate::faults;
use crate::host::access::Open;
use crate::host::jobs::{JobChunks, Seen};
use crate::host::known_jobs::KnownJobs;
use crate::host::locks::{AssocLock, Explained, Factors, Levels, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::{views, Host};

/// Jobs that have ended, which a cycle looks for.
#[derive(Clone, Copy, Debug)]
pub struct WantedEnds {
    /// See [`super::progress::own_usage::OwnUsage::looks_for_ends`].
    pub after: Option<i64>,
    /// Since when those have ended that may be charged a minimum; `None` where there is none.
    since: Option<i64>,
}

impl WantedEnds {
    /// How a job ran that may be charged a minimum.
    pub fn run<A: Open>(&self, job: Job<'_, A>) -> Option<Run> {
        let is_late = self.since.is_some_and(|since| job.get(|job| job.end_time) >= since);
        is_late.then(|| untold_run(job)).flatten()
    }

    /// Whether a job is one of them.
    pub fn wants<A: Open>(&self, job: Job<'_, A>) -> bool {
        self.after.is_some_and(|after| has_ended_untold(job, after)) || self.run(job).is_some()
    }
}

/// What jobs are read with under one hold of the locks.
struct Hold<'h, 'l, V: Levels> {
    evaluator: &'h Evaluator<'h>,
    earlier: &'h Earlier,
    standing: &'h Standing,
    lock: &'h AssocLock<'l, V>,
}

/// What a cycle reads of the jobs.
pub struct Gathered {
    /// Their priorities in the making.
    pub drafts: Drafts,
    /// Jobs that keep what they have, and what that came from.
    kept: Vec<(u32, Evaluation)>,
    /// Jobs to charge, and those that have ended as far as a cycle looks for them.
    pub charged: Vec<Seen>,
    ends: WantedEnds,
    /// What pools need of the jobs, where they give tickets to single ones.
    pub queues: Option<Queues>,
    books: Finder,
    /// What points go by, where the settings ask for some.
    pub points: Option<PointsQueue>,
    /// A buffer for TRES.
    tres: Vec<f64>,
    /// Plain jobs are read in a shorter way: nothing but their priorities is wanted.
    shortens: bool,
    /// Pools or points ask for them, too.
    shortens_for_more: bool,
    /// The association of the last one by address and id, and its place.
    last: Option<((usize, u32), AssocPlace)>,
}

impl Gathered {
    /// To be called whenever the locks were let go of.
    fn begin_hold(&mut self) {
        self.drafts.begin_hold();
        self.books.begin_hold();
        self.last = None;
        if let Some(points) = &mut self.points {
            points.begin_hold();
        }
    }

    /// The place of a job's association, which mostly is that of the job before.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a part of the loop
    fn place_of<V: Levels<Assoc: Open>>(
        &mut self,
        standing: &Standing,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
    ) -> AssocPlace {
        let named = job.named_association();
        let place = match self.last {
            Some((last, place)) if last == named => place,
            _ => standing.place(self.drafts.waiting_mut(), lock, job),
        };
        self.last = Some((named, place));
        place
    }

    /// Reads a plain job whose facts are these.
    #[inline]
    fn read_plain<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        evaluator: &Evaluator<'_>,
        standing: &Standing,
        lock: &AssocLock<'_, V>,
        (job, facts): (Job<'_>, &facts::Job),
    ) {
        attempt(|| {
            faults::point("draft");
            let place = self.place_of(standing, lock, job);
            let waiting = self.drafts.waiting_mut();
            if !waiting.is_noted(place, BookSet::DEFAULT)
                && waits(evaluator.config, job, evaluator.core.now, false).is_some()
            {
                waiting.note(place, BookSet::DEFAULT);
            }
            let of = (place, BookAt::DEFAULT, Waits::No);
            self.drafts.add_facts(evaluator, lock, (job, facts, false), of, &mut self.tres);
        });
    }

    /// Reads a plain job that pools or points ask for, too.
    #[inline(never)]
    fn read_plain_for_more<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        evaluator: &Evaluator<'_>,
        standing: &Standing,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
    ) {
        if let Some(points) = &mut self.points {
            attempt(|| points.note_order(lock, job));
        }
        attempt(|| {
            faults::point("draft");
            let place = self.place_of(standing, lock, job);
            let waiting = self.drafts.waiting_mut();
            let asks = self.queues.is_some() || !waiting.is_noted(place, BookSet::DEFAULT);
            let waits =
                if asks { waits(evaluator.config, job, evaluator.core.now, false) } else { Waits::No };
            if waits.is_some() {
                waiting.note(place, BookSet::DEFAULT);
            }
            let of = (place, BookAt::DEFAULT, waits);
            let drafted = self.drafts.add(evaluator, lock, job, of, &mut self.tres);
            if let Some(queues) = &mut self.queues {
                queues.note_plain(lock, job, place, drafted, waits.is_some());
            }
            if let Some(points) = &mut self.points {
                points.note(lock, job, place, drafted, None);
            }
        });
    }

    /// Reads a job.
    fn read<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        evaluator: &Evaluator<'_>,
        earlier: &Earlier,
        standing: &Standing,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
    ) {
        if is_chargeable(job) || self.ends.wants(job) {
            self.charged.push(Seen::of(job));
        }
        let lines = &evaluator.config.books;
        if let Some(queues) = self.queues.as_mut().filter(|_| job.state().holds_resources()) {
            attempt(|| {
                let place = standing.place(self.drafts.waiting_mut(), lock, job);
                let waiting = self.drafts.waiting_mut();
                let own = self.books.books_of(lines, &mut waiting.closed, job, Waits::No).own;
                queues.note_running(lock, job, (place, own));
            });
        }
        if let Some(points) = &mut self.points {
            attempt(|| points.note_order(lock, job));
            let waiting = self.drafts.waiting_mut();
            attempt(|| points.note_running(lock, job, || standing.place(waiting, lock, job)));
        }
        if !job.state().is_pending() && !evaluator.config.flags.calculate_running() {
            return;
        }
        attempt(|| {
            faults::point("draft");
            let waiting = self.drafts.waiting_mut();
            let association = standing.place(waiting, lock, job);
            let may_stop = self.points.as_ref().is_some_and(|points| points.may_stop(lock, job));
            let waits = || waits(evaluator.config, job, evaluator.core.now, may_stop);
            // Only there it decides over the books.
            let known = evaluator.config.counts_startable_only().then(waits);
            let JobBooks { own, all: books, .. } =
                self.books.books_of(lines, &mut waiting.closed, job, known.unwrap_or_default());
            let waits = known.unwrap_or_else(|| {
                // Mostly another job of the same user has been noted already.
                let asks = self.queues.is_some() || may_stop || !waiting.is_noted(association, books);
                if asks {
                    waits()
                } else {
                    Waits::No
                }
            });
            if waits.is_some() && !may_stop {
                waiting.note(association, books);
            }
            let drafted = self.drafts.add(evaluator, lock, job, (association, own, waits), &mut self.tres);
            if let Some(queues) = &mut self.queues {
                let closed = &self.drafts.waiting().closed;
                queues.note(lock, job, (association, books, closed), drafted, waits.is_some());
            }
            if let Some(points) = &mut self.points {
                let waits_in = if waits.is_some() { books } else { BookSet::from_numbers([]) };
                let undecided = may_stop.then_some(waits_in);
                points.note(lock, job, association, drafted, undecided);
            }
            // The priority of a job whose nodes boot stays, and so does what sprio shows of it.
            if job.state().is_powering_up() {
                let id = job.get(|job| job.job_id);
                self.kept.extend(earlier.evaluation_of(id, standing).map(|evaluation| (id, evaluation)));
            }
        });
    }
}

impl Plugin {
    /// Reads every job once: which associations have waiting jobs, what the priorities need besides fair-share, and who
    /// runs.
    pub(super) fn gather(
        &self,
        unlocked: &mut Unlocked,
        config: &Arc<Config>,
        known_jobs: &mut KnownJobs,
        now: i64,
    ) -> Gathered {
        faults::point("gather");
        let evaluator = Evaluator::new(unlocked.host(), config, now);
        let totals = if config.points.is_some() {
            self.totals(&unlocked.associations::<Explained>()).unwrap_or_default()
        } else {
            Vec::new()
        };
        let (earlier, memory) = self.origins.lock().begin_cycle(config.flags.calculate_running());
        let before = memory.as_ref().or_else(|| earlier.drafts());
        let mut numbers = Vec::with_capacity(before.map_or(0, Drafts::count));
        numbers.extend(before.into_iter().flat_map(Drafts::numbers));
        self.origins.lock().numbers.begin(numbers);
        let known = if known_jobs.pays() {
            let gathered = self.begin_gathering(
                unlocked.host(),
                &evaluator,
                config,
                memory,
                &totals,
                known_jobs.count(),
            );
            self.gather_known(unlocked, &evaluator, &earlier, gathered, known_jobs)
        } else {
            None
        };
        let gathered = known.unwrap_or_else(|| {
            trace!("not all jobs are found by their ids: they are read by the list");
            let gathered =
                self.begin_gathering(unlocked.host(), &evaluator, config, None, &totals, known_jobs.count());
            self.gather_list(unlocked, &evaluator, &earlier, gathered, known_jobs)
        });
        let mut origins = self.origins.lock();
        for (id, evaluation) in &gathered.kept {
            if origins.set.get(*id).is_none() {
                origins.set.note(*id, *evaluation, |_| true);
            }
        }
        gathered
    }

    /// For about so many jobs, with the memory of the drafts before.
    fn begin_gathering(
        &self,
        host: &Host,
        evaluator: &Evaluator<'_>,
        config: &Arc<Config>,
        before: Option<Drafts>,
        totals: &[TresTotal],
        jobs: usize,
    ) -> Gathered {
        let origins = self.origins.lock();
        let waiting = origins.standing.collect();
        let queues = origins.standing.begin_queues(host, config, jobs, evaluator.core.now);
        let points = origins.points.clone();
        drop(origins);
        let points =
            PointsQueue::begin(points.as_deref(), config, totals, (jobs, evaluator.core.now), || {
                (self.own_usage.steps(), self.noted.lock().points.kept.overtaken.clone())
            });
        let points =
            points.map(|points| points.with_accuracies(|| self.noted.lock().points.kept.accuracies.clone()));
        let points = points.map(|points| points.with_grants(|| self.grants.in_force()));
        let drafts = Drafts::new(Arc::clone(config), waiting, before, jobs);
        Gathered {
            shortens: config.only_priorities && !evaluator.explain,
            shortens_for_more: config.has_plain_jobs && !config.only_priorities && !evaluator.explain,
            last: None,
            drafts,
            kept: Vec::new(),
            charged: Vec::new(),
            ends: self.wanted_ends(host, config, evaluator.core.now),
            queues,
            books: Finder::default(),
            points,
            tres: evaluator.core.scratch(),
        }
    }

    /// Which ended jobs a cycle at `now` looks for, because slurmctld reports no ends.
    pub(super) fn wanted_ends(&self, host: &Host, config: &Config, now: i64) -> WantedEnds {
        let last_ran = self.progress.times().last_ran;
        let minimum = !host.enforces_limits() && config.charging.within(last_ran, now).have_minimum();
        let sums = self.own_sums();
        let own = sums.iter().filter_map(|sums| sums.since()).min().unwrap_or(now);
        WantedEnds {
            after: sums.iter().filter_map(|sums| sums.looks_for_ends(host)).min(),
            // The clock may have been set back.
            since: minimum.then(|| last_ran.min(own).min(now)),
        }
    }

    /// Reads a job that is as the layout says.
    #[inline]
    fn read_job<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        gathered: &mut Gathered,
        hold: &Hold<'_, '_, V>,
        job: Job<'_>,
    ) {
        let Hold { evaluator, earlier, standing, lock } = *hold;
        if gathered.shortens && job.is_plain() && self.inspector.knows_plain(job) && !self.is_passive() {
            if let Some(facts) = views::job(job) {
                gathered.read_plain(evaluator, standing, lock, (job, &facts));
                return;
            }
        }
        if gathered.shortens_for_more
            && job.is_plain()
            && self.inspector.knows_plain(job)
            && !self.is_passive()
        {
            gathered.read_plain_for_more(evaluator, standing, lock, job);
        } else if self.admits(lock, job, true) {
            gathered.read(evaluator, earlier, standing, lock, job);
        }
    }

    /// By their ids; `None` where there are other jobs.
    fn gather_known(
        &self,
        unlocked: &mut Unlocked,
        evaluator: &Evaluator<'_>,
        earlier: &Earlier,
        mut gathered: Gathered,
        known_jobs: &mut KnownJobs,
    ) -> Option<Gathered> {
        let touched = &evaluator.config.touched;
        let many = known_jobs.count() > JobChunks::MANY;
        let size = if many { JobChunks::SIZE } else { JobChunks::MANY };
        let mut begin = 0;
        loop {
            let jobs = unlocked.jobs_read();
            let lock = jobs.associations::<Factors>();
            let origins = self.origins.lock();
            gathered.begin_hold();
            let hold = Hold { evaluator, earlier, standing: &origins.standing, lock: &lock };
            let mut read = |job| self.read_job(&mut gathered, &hold, job);
            let end = known_jobs.count().min(begin + size);
            known_jobs.walk(begin..end, &jobs, touched, &mut read);
            if end == known_jobs.count() {
                let complete = known_jobs.complete(begin > 0, &jobs, touched, read);
                return complete.then_some(gathered);
            }
            begin = end;
        }
    }

    /// By the list.
    fn gather_list(
        &self,
        unlocked: &mut Unlocked,
        evaluator: &Evaluator<'_>,
        earlier: &Earlier,
        mut gathered: Gathered,
        known_jobs: &mut KnownJobs,
    ) -> Gathered {
        known_jobs.clear();
        let mut chunks = None;
        loop {
            let jobs = unlocked.jobs_read();
            let chunks = chunks.get_or_insert_with(|| JobChunks::new(&jobs));
            let chunk = chunks.next(&jobs);
            if chunk.is_empty() {
                return gathered;
            }
            let lock = jobs.associations::<Factors>();
            let origins = self.origins.lock();
            gathered.begin_hold();
            known_jobs.remember(&chunk);
            let hold = Hold { evaluator, earlier, standing: &origins.standing, lock: &lock };
            evaluator.config.touched.walk(&chunk, |_, job| self.read_job(&mut gathered, &hold, job));
        }
    }
}

//! One decay cycle: decays and charges usage, distributes tickets, and gives every pending job its priority. [`Phase`] has its parts in
//! order, with the locks of each.
//!
//! The factors that `sprio` shows are not written here, but computed on request (see [`super::sprio`]).
//!
//! Between phases only addresses are kept: those of associations, which are only compared, and those of jobs, which are only prefetched
//! before a look-up by id.
//!
//! A panic costs the step or the job in which it happens: the other jobs are charged and get their priorities. The time up to which usage
//! is charged is noted before the charge, so that no later cycle repeats it.

use std::sync::Arc;

use tracing::{debug, warn};

use multifactor2_accounting::charge::Period;
use multifactor2_core::calendar::ResetPeriod;
use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::facts::TresTotal;
use multifactor2_core::rules::minimum::Repeated;

use super::charging::{has_ended_untold, is_chargeable, Charger};
use super::config::Config;
use super::drafts::Drafts;
use super::evaluator::{NO_DETAILS, OVERFLOW};
use super::gather::Gathered;
use super::grants::Granting;
use super::phases::{Phase, Phases};
use super::points::{GroupFinder, Groups, PointsQueue};
use super::posting::UNDERFLOW;
use super::progress::history::Times;
use super::progress::own_usage::{since, Counting};
use super::queue::{Queues, BAD_COMMENT};
use super::standing::Standing;
use super::waiting::Waiting;
use super::{explain, usage, Plugin};
use crate::faults;
use crate::host::access::{Open, Read};
use crate::host::checks::can_look;
use crate::host::clock::LocalCalendar;
use crate::host::jobs::{walk_seen, Direction, Seen};
use crate::host::known_jobs::KnownJobs;
use crate::host::locks::{AssocLock, Factors, Levels, Shares, Shown, Unlocked, Usage};
use crate::host::panics::attempt;
use crate::host::{log, views, Host};

/// What the decay thread remembers between cycles.
#[derive(Debug)]
pub struct Schedule {
    period: ResetPeriod,
    /// When usage is reset next, once that has been worked out.
    next_reset: Option<i64>,
    /// The jobs of the last cycle.
    known_jobs: KnownJobs,
    /// The Unix groups that lines of points name, as far as they are known.
    groups: GroupFinder,
    /// Jobs have been at the lowest priority because of their points since this was said.
    has_warned_of_sunk: bool,
    /// Ended jobs that are charged a minimum.
    repeated: Repeated,
}

impl Schedule {
    /// The schedule of the current configuration.
    pub fn read(host: &'static Host) -> Self {
        let period = host.conf().reset_period();
        Self {
            period,
            next_reset: None,
            known_jobs: KnownJobs::default(),
            groups: GroupFinder::default(),
            has_warned_of_sunk: false,
            repeated: Repeated::default(),
        }
    }

    /// That of a new configuration.
    pub fn reconfigure(&mut self, host: &'static Host) {
        *self = Self { repeated: std::mem::take(&mut self.repeated), ..Self::read(host) };
    }

    /// The reset that is to be done now, if any.
    fn due_reset(&mut self, last: i64, now: i64) -> Option<i64> {
        if self.period == ResetPeriod::Now {
            return Some(now);
        }
        if self.next_reset.is_none() {
            self.next_reset = self.period.next_or_missed(last, now, &LocalCalendar);
        }
        self.next_reset.filter(|at| now >= *at)
    }

    /// A reset has been done.
    fn note_reset(&mut self, at: i64, now: i64) {
        if self.period == ResetPeriod::Now {
            self.period = ResetPeriod::None;
        }
        self.next_reset = self.period.next_or_missed(at, now, &LocalCalendar);
    }
}

impl Plugin {
    /// Runs one cycle at `now`, on the decay thread.
    pub(super) fn run_cycle(&'static self, unlocked: &mut Unlocked, schedule: &mut Schedule, now: i64) {
        let host = unlocked.host();
        let Some(config) = self.config() else { return };
        if self.is_passive() {
            self.health.remind(now);
            return;
        }
        let mut phases = Phases::begin();
        self.health.begin_look();
        if !self.records_are_sound(unlocked) {
            self.leave_out(now);
            return;
        }
        OVERFLOW.renew();
        NO_DETAILS.renew();
        UNDERFLOW.renew();
        BAD_COMMENT.renew();
        let before = self.progress.times();
        let reset = if config.fair_share { schedule.due_reset(before.last_reset, now) } else { None };
        let times = Times { last_ran: now, last_reset: reset.unwrap_or(before.last_reset) };
        phases.enter(Phase::Prepare);
        self.prepare(unlocked, &config, &mut schedule.groups, times);
        if self.has_site_factor() && before.last_ran != 0 && now > before.last_ran {
            phases.enter(Phase::SiteFactors);
            attempt(|| {
                faults::point("site_factors");
                host.update_site_factors(&unlocked.jobs_write());
            });
        }
        phases.enter(Phase::Gather);
        let Gathered { mut drafts, charged, mut queues, mut points, .. } =
            self.gather(unlocked, &config, &mut schedule.known_jobs, now);
        if self.health.has_failed() {
            self.leave_out(now);
            return;
        }
        if self.account(
            unlocked,
            &mut phases,
            &config,
            &charged,
            &mut schedule.repeated,
            (times, reset.is_some()),
        ) {
            // Otherwise the next cycle does it.
            reset.inspect(|at| schedule.note_reset(*at, now));
        }
        if self.health.has_failed() {
            self.leave_out(now);
            return;
        }
        phases.enter(Phase::Save);
        self.save_all(unlocked, &config, now);
        phases.enter(Phase::Distribute);
        if let Some(points) = &mut points {
            let groups = schedule.groups.find(unlocked, points.group_names(), &self.thread);
            points.read_own_usage(&self.own_usage);
            points.read_grants(self.grants.in_force());
            if points.is_undecided() {
                self.stop_beyond_caps(unlocked, &config, (&mut drafts, &mut queues), points, groups);
            }
            self.distribute::<Factors>(unlocked, &config, &mut drafts, queues, |lock, standing, waiting| {
                points.learn(lock, standing, waiting, groups);
            });
            phases.enter(Phase::Value);
            // If it fails, all jobs keep their priorities. Those are closer to the right ones than priorities without points.
            self.value(&mut drafts, points);
        } else if config.fair_share {
            self.distribute::<Shares>(unlocked, &config, &mut drafts, queues, |_, _, _| ());
        }
        phases.enter(Phase::Publish);
        if config.fair_share {
            attempt(|| self.publish(unlocked));
            attempt(|| self.explain_associations(unlocked));
        }
        phases.enter(Phase::Finish);
        faults::point("finish");
        // What the last cycle knew is let go of behind the lock.
        let mut origins = self.origins.lock();
        let earlier = (origins.points.clone(), origins.numbers.end());
        let finished = origins.finish(drafts, points);
        drop(origins);
        drop(earlier);
        self.health.note_sound();
        self.inspector.note_sound();
        if finished.sunk > 0 && !std::mem::replace(&mut schedule.has_warned_of_sunk, true) {
            warn!(
                "{} jobs have priority 1, because their negative points exceed the rest of their priority: their \
                 order is lost. Raise the PriorityWeight parameters, or give all jobs an offset with \
                 Credential=User Name=* (see multifactor2.conf in priority_multifactor2(8))",
                finished.sunk
            );
        }
        schedule.has_warned_of_sunk &= finished.sunk > 0;
        phases.enter(Phase::Write);
        let tally = self.write_priorities(unlocked, &config, finished, now);
        explain::tally(&tally);
        phases.enter(Phase::Look);
        if config.fair_share {
            attempt(|| self.advise(unlocked));
        }
        attempt(|| self.warn_of_unknown(unlocked));
        phases.enter(Phase::Snapshot);
        attempt(|| self.take_snapshot(unlocked, &config, &mut schedule.known_jobs, now));
    }

    /// Prepares the state file, and asks for the Unix groups that grants name: before anything is charged, so that no second is missed.
    fn prepare(
        &'static self,
        unlocked: &mut Unlocked,
        config: &Config,
        groups: &mut GroupFinder,
        times: Times,
    ) {
        attempt(|| self.progress.prepare(unlocked.host(), config, times));
        let names = self.grants.group_names();
        if !names.is_empty() {
            let groups = groups.find(unlocked, names.iter().map(String::as_str), &self.thread);
            self.grants.learn_groups(groups);
        }
    }

    /// Saves what a cycle has counted, once it is known how grants stand.
    fn save_all(&self, unlocked: &mut Unlocked, config: &Config, now: i64) {
        let file = config.state_file.as_deref();
        for sums in self.own_sums() {
            attempt(|| sums.save(file));
        }
        if !config.grants.is_empty() {
            attempt(|| self.grants.correct(file));
            attempt(|| self.grants.weigh(now));
            attempt(|| self.grants.save(file));
        }
        attempt(|| self.save_notes(unlocked, config));
    }

    /// Decides which jobs caps keep from starting: they hold no tickets. By a copy of the standing, as that answers submissions.
    fn stop_beyond_caps(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        (drafts, queues): (&mut Drafts, &mut Option<Queues>),
        points: &mut PointsQueue,
        groups: &Arc<Groups>,
    ) {
        faults::point("stop");
        let lock = unlocked.associations::<Factors>();
        let mut standing = self.origins.lock().standing.clone();
        standing.distribute(&lock, drafts.waiting(), config, None);
        points.learn(&lock, &standing, drafts.waiting(), groups);
        drop(lock);
        let decided = points.decide();
        drafts.decide(&decided);
        if let Some(queues) = queues {
            queues.stop(&decided.stopped);
        }
    }

    /// Hands the tickets down, if fair-share is computed. `beside` is called under the same hold of the lock, so that it sees the same
    /// associations.
    fn distribute<V: Levels<Assoc = Read>>(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        drafts: &mut Drafts,
        queues: Option<Queues>,
        beside: impl FnOnce(&AssocLock<'_, V>, &Standing, &Waiting),
    ) {
        let measures = self.measures(config);
        let lock = unlocked.associations::<V>();
        let mut origins = self.origins.lock();
        let standing = &mut origins.standing;
        standing.measure_by(measures);
        let queues = if config.fair_share {
            faults::point("distribute");
            let queues = standing.distribute(&lock, drafts.waiting(), config, queues);
            standing.read_members(&lock);
            queues
        } else {
            None
        };
        beside(&lock, standing, drafts.waiting());
        drop(lock);
        let Some(mut queues) = queues else { return };
        explain::changes(queues.changes());
        let nodes = standing.nodes(drafts.waiting());
        queues.find(|place| nodes.get(place.index()).copied().flatten());
        let ground = standing.ground();
        // Submissions need not wait: the pools of the last cycle answer, where they have the same associations and lines.
        let kept = queues.is_taught.then_some(origins);
        faults::point("hand_out");
        let (pools, tickets) = queues.hand_out(&ground.books);
        kept.unwrap_or_else(|| self.origins.lock()).standing.take_pools(pools, &ground);
        drafts.grant(tickets);
    }

    /// Gives every job its points, and keeps the steps of distances from targets for the next save. No lock is held.
    fn value(&self, drafts: &mut Drafts, points: &mut PointsQueue) {
        faults::point("value");
        self.grants.note_tree(points.parents());
        let started = std::mem::take(&mut self.noted.lock().points.started);
        drafts.take_points(points.value(started));
        if let Some(steps) = points.kept_steps() {
            self.own_usage.take_steps(steps);
        }
    }

    fn explain_associations(&self, unlocked: &mut Unlocked) {
        if log::explains() {
            let lock = unlocked.associations::<Shares>();
            explain::associations(&self.origins.lock().standing, &lock);
        }
    }

    /// Writes what `sshare` shows.
    fn publish(&self, unlocked: &mut Unlocked) {
        let factors = self.origins.lock().standing.factors();
        let lock = unlocked.associations::<Shown>();
        self.origins.lock().standing.publish(&lock, &factors);
    }

    /// Announces the cycle and charges it, once more where slurmctld has saved usage in between: the state file names the saved usage that lies
    /// there when the cycle is charged. True if usage was reset that was to be.
    fn account(
        &self,
        unlocked: &mut Unlocked,
        phases: &mut Phases,
        config: &Config,
        seen: &[Seen],
        repeated: &mut Repeated,
        (times, reset): (Times, bool),
    ) -> bool {
        /// slurmctld saves every five minutes.
        const TRIES: u32 = 3;
        let mut charged = None;
        for left in (0..TRIES).rev() {
            phases.enter(Phase::Announce);
            // A save that is under way is over then, so that what is announced does not change before it is charged.
            drop(unlocked.associations::<Usage>());
            if attempt(|| self.progress.announce(config, times)).is_none() {
                break;
            }
            phases.enter(Phase::Charge);
            let charge = || {
                faults::point("announced");
                self.charge(unlocked, config, seen, repeated, (times, reset), left == 0)
            };
            charged = attempt(charge).unwrap_or(Some(false));
            if charged.is_some() {
                break;
            }
        }
        // The next cycle does what this one leaves.
        attempt(|| self.progress.catch_up());
        charged.unwrap_or(false)
    }

    /// Resets and decays usage and charges running jobs up to `now`. Those that started since they were gathered come with the
    /// next cycle, from their start.
    ///
    /// All of it is one step for everybody else, and most of all for slurmctld when it saves usage (see [`super::progress`]), which
    /// takes the locks of associations and QOS together: so they are held together here. A job that ends is charged before
    /// this step, from the last cycle on, or after it, from this one on.
    ///
    /// True if it was reset that was to be; `None` where nothing was charged because slurmctld has saved since the cycle was announced, unless this is the
    /// `last_try`.
    fn charge(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        seen: &[Seen],
        repeated: &mut Repeated,
        (times, reset): (Times, bool),
        last_try: bool,
    ) -> Option<bool> {
        /// As many jobs as the caches hold charges of.
        const CHUNK: usize = 4096;
        let host = unlocked.host();
        let (before, now) = (self.progress.times(), times.last_ran);
        let factor = decay_factor(host.conf().get(|conf| conf.priority_decay_hl));
        let touched = views::charged_jobs(host, self.own_sums().iter().any(|sums| sums.is_kept()));
        let wanted = self.wanted_ends(host, config, now);
        let jobs = unlocked.jobs_write();
        let lock = jobs.associations::<Usage>();
        let totals = if self.own_usage.counts_tres() { self.totals(&lock) } else { Some(Vec::new()) };
        let Some(totals) = totals else { return Some(false) };
        if !self.progress.is_announced(&lock) && !last_try {
            return None;
        }
        self.progress.charge(&jobs, times);
        let noted = self.noted.lock();
        let own = self.own_sums().map(|sums| {
            let round = attempt(|| sums.begin(&lock, now, factor, &totals)).flatten();
            round.map_or(Counting::Nobody, Counting::Cycle)
        });
        let rules = config.charging_since(since(&own), (before.last_ran, now));
        let rules = rules.within(before.last_ran, now);
        let grants = attempt(|| self.grants.begin(&lock, now)).flatten();
        let mut charger = Charger::new(factor, own, rules, noted)
            .with_grants(grants.map_or(Granting::Nobody, Granting::Cycle));
        let was_reset = reset && attempt(|| reset_usage(&lock)).is_some();
        if was_reset {
            self.progress.note_reset(times);
        }
        attempt(|| decay_usage(&lock, config, factor, before.last_ran, now));
        let period = Period { start: before.last_ran, end: now, job_ended: false };
        repeated.begin(before.last_ran, now);
        for chunk in seen.chunks(CHUNK) {
            let mut batch = charger.begin(&lock);
            walk_seen(
                &touched,
                &jobs,
                &lock,
                // Sums of usage depend on the order in which they are added up: it is that of stock.
                (chunk, Direction::Forwards),
                |job, _| is_chargeable(job) || wanted.wants(job),
                |job, _| {
                    if is_chargeable(job) {
                        attempt(|| batch.charge(job, period));
                        return;
                    }
                    let run = wanted.run(job);
                    let id = job.get(|job| job.job_id);
                    if !repeated.has(id, job.get(|job| job.end_time)) {
                        let tail = wanted.after.filter(|after| has_ended_untold(job, *after));
                        attempt(|| batch.count_end(job, run, tail.is_some(), period));
                    }
                    if let Some(run) = run.filter(|run| repeated.meets(id, run.end, before.last_ran, now)) {
                        attempt(|| batch.charge_minimum(job, run, period));
                    }
                },
            );
            batch.post();
        }
        let (own, granting) = charger.end_cycle();
        if let Granting::Cycle(round) = granting {
            attempt(|| round.finish(&jobs));
        }
        let last_reset = if was_reset { times.last_reset } else { before.last_reset };
        for own in own {
            if let Counting::Cycle(round) = own {
                attempt(|| round.finish(&jobs, &lock, factor, last_reset));
            }
        }
        Some(was_reset)
    }

    /// What the cluster has of each TRES; `None` where it cannot be read.
    pub(super) fn totals<V: Levels<Tres: Open>>(&self, lock: &AssocLock<'_, V>) -> Option<Vec<TresTotal>> {
        lock.tres_totals().map_err(|failure| self.check(Err(failure))).ok()
    }

    /// Checks all associations and QOS, and jobs of every kind that there is; on a mismatch nothing is written any more.
    pub(super) fn records_are_sound(&self, unlocked: &mut Unlocked) -> bool {
        faults::point("check");
        if self.inspector.has_surveyed() {
            return true;
        }
        let jobs = unlocked.jobs_read();
        let lock = jobs.associations::<Factors>();
        let mut sound = self.check(self.inspector.check_lists(&lock));
        if sound {
            for job in jobs.all_jobs() {
                sound &= self.admits(&lock, job, true);
                if self.health.is_sure() {
                    break;
                }
            }
        }
        if sound {
            self.inspector.note_survey();
        }
        sound
    }

    /// The cycle met a record that is not as the layout says: it writes nothing, and the next one looks at all of them again.
    fn leave_out(&self, now: i64) {
        self.inspector.look_again();
        match can_look() {
            Ok(()) => self.health.leave_out(now, self.inspector.has_refuted_jobs()),
            // Nothing was seen, so nothing is wrong.
            Err(blind) => self.health.leave_out_blindly(now, &blind),
        }
    }
}

/// `PriorityUsageResetPeriod`
fn reset_usage(lock: &AssocLock<'_, Usage>) {
    faults::point("reset");
    debug!("usage is reset");
    usage::reset(lock);
}

/// Half-life decay of all usage since `begin`.
fn decay_usage(lock: &AssocLock<'_, Usage>, config: &Config, factor: f64, begin: i64, now: i64) {
    faults::point("decay");
    if begin == 0 || now <= begin {
        return;
    }
    #[allow(clippy::cast_precision_loss)] // seconds between two cycles
    let seconds = (now - begin) as f64;
    let over = decay_over(factor, seconds);
    explain::decay(seconds, factor, over);
    #[allow(clippy::float_cmp)] // exactly 1 means that there is no decay
    if config.fair_share && over != 1.0 {
        usage::decay(lock, over);
    }
}

//! One decay cycle: decay and charge usage, distribute tickets, give every pending job its priority.
//!
//! | phase | locks |
//! |---|---|
//! | prepare the state file | none |
//! | site factors | jobs for writing |
//! | gather: read every job once, see [`super::draft`] | jobs, associations and QOS for reading |
//! | account: reset, decay, charge running jobs | jobs, associations and QOS for writing |
//! | distribute: read usage, compute | associations for reading |
//! | write what sshare shows | associations for writing |
//! | finish the priorities | none |
//! | write them | jobs for writing; associations and QOS for reading |
//!
//! The factors that `sprio` shows are not written here: they are computed when somebody asks (see [`super::sprio`]).
//!
//! Nothing of a record is kept between phases but addresses of associations, which are only compared, and those of jobs, which
//! are only fetched ahead of a look by id.
//!
//! A panic costs the step that it happens in, or the job: the others are charged and get their priorities. Up to when usage is
//! charged is noted before it is done, so that no later cycle does it again.

use std::sync::Arc;

use tracing::{debug, trace};

use super::charging::{is_chargeable, Charger, UNDERFLOW};
use super::config::Config;
use super::draft::Drafts;
use super::fresh::Fresh;
use super::job::{Pass, NO_DETAILS, OVERFLOW};
use super::reset::Period as ResetPeriod;
use super::standing::{Standing, Waiting};
use super::state_file::Times;
use super::{charging, explain, usage, Plugin};
use crate::faults;
use crate::host::ahead::Seen;
use crate::host::lists::JobChunks;
use crate::host::locks::{AssocLevels, AssocLock, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::roster::Roster;
use crate::host::Host;
use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::factors::Factors;
use multifactor2_core::rules::charge::Period;

/// What the decay thread remembers between cycles.
#[derive(Debug)]
pub struct Schedule {
    period: ResetPeriod,
    /// When usage is reset next, once that has been worked out.
    next_reset: Option<i64>,
    /// The jobs of the last cycle.
    roster: Roster,
}

impl Schedule {
    /// The schedule of the current configuration.
    pub fn read(host: &'static Host) -> Self {
        let period = ResetPeriod::of(host.conf().get(|conf| conf.priority_reset_period));
        Self { period, next_reset: None, roster: Roster::default() }
    }

    /// The reset that is to be done now, if any.
    fn due_reset(&mut self, last: i64, now: i64) -> Option<i64> {
        if self.period == ResetPeriod::Now {
            return Some(now);
        }
        if self.next_reset.is_none() {
            self.next_reset = self.period.next(last, now);
        }
        self.next_reset.filter(|at| now >= *at)
    }

    /// A reset has been done.
    fn note_reset(&mut self, at: i64, now: i64) {
        if self.period == ResetPeriod::Now {
            self.period = ResetPeriod::None;
        }
        self.next_reset = self.period.next(at, now);
    }
}

/// What priorities came from before this cycle: those of jobs whose nodes boot stay, and so does what `sprio` shows of them.
struct Earlier {
    /// Kept with `CALCULATE_RUNNING` only: otherwise such jobs are not shown.
    drafts: Option<Drafts>,
    fresh: Fresh,
}

impl Earlier {
    fn factors_of(&self, id: u32, standing: &Standing) -> Option<Factors> {
        self.fresh.get(id).copied().or_else(|| self.drafts.as_ref()?.factors_of(id, standing))
    }
}

/// What a cycle reads of the jobs.
struct Gathered {
    drafts: Drafts,
    /// Jobs that keep what they have, and what that came from.
    kept: Vec<(u32, Factors)>,
    /// Jobs to charge.
    running: Vec<Seen>,
    /// A buffer for TRES.
    tres: Vec<f64>,
}

impl Gathered {
    /// Reads a job.
    fn read(&mut self, pass: &Pass<'_>, earlier: &Earlier, standing: &Standing, job: Job<'_>) {
        if is_chargeable(job) {
            self.running.push(Seen::of(job));
        }
        if !job.state().is_pending() && !pass.config.flags.calculate_running() {
            return;
        }
        attempt(|| {
            faults::point("draft");
            let waiting = self.drafts.waiting_mut();
            let association = standing.place(waiting, job);
            // Mostly another job of the same user has been noted already.
            if !waiting.is_noted(association) && waits(pass.config, job, pass.now) {
                waiting.note(association);
            }
            pass.draft(&mut self.drafts, job, association, &mut self.tres);
            if job.state().is_powering_up() {
                let id = job.get(|job| job.job_id);
                self.kept.extend(earlier.factors_of(id, standing).map(|factors| (id, factors)));
            }
        });
    }
}

impl Plugin {
    /// Runs one cycle at `now`, on the decay thread.
    pub(super) fn run_cycle(&self, unlocked: &mut Unlocked, schedule: &mut Schedule, now: i64) {
        let host = unlocked.host();
        let Some(config) = self.config() else { return };
        if self.is_passive() || !self.records_are_sound(unlocked) {
            return;
        }
        OVERFLOW.renew();
        NO_DETAILS.renew();
        UNDERFLOW.renew();
        let before = self.times();
        let reset = if config.fair_share { schedule.due_reset(before.last_reset, now) } else { None };
        let times = Times { last_ran: now, last_reset: reset.unwrap_or(before.last_reset) };
        attempt(|| self.prepare_times(host, &config, times));
        if self.has_site_factor() && before.last_ran != 0 && now > before.last_ran {
            attempt(|| {
                faults::point("site_factors");
                let _jobs = unlocked.jobs_write();
                host.update_site_factors();
            });
        }
        let Gathered { mut drafts, running, .. } = self.gather(unlocked, &config, &mut schedule.roster, now);
        if self.is_passive() {
            return;
        }
        if self.account(unlocked, &config, &running, times, reset.is_some()) {
            // Otherwise the next cycle does it.
            reset.inspect(|at| schedule.note_reset(*at, now));
        }
        if config.fair_share {
            self.distribute(unlocked, &config, drafts.waiting());
            attempt(|| self.publish(unlocked));
            attempt(|| explain::associations(&self.standing, unlocked));
            attempt(|| self.advise(unlocked));
        }
        faults::point("finish");
        let finished = drafts.finish(&self.standing.lock());
        *self.drafts.lock() = Some(drafts);
        let tally = self.write_priorities(unlocked, &config, finished, now);
        explain::tally(&tally);
    }

    /// Hands the tickets down.
    fn distribute(&self, unlocked: &mut Unlocked, config: &Config, waiting: &Waiting) {
        let lock = unlocked.associations(AssocLevels::READ);
        let mut standing = self.standing.lock();
        faults::point("distribute");
        standing.distribute(&lock, waiting, config.assoc_factor());
        standing.read_members(&lock);
    }

    /// Writes what `sshare` shows.
    fn publish(&self, unlocked: &mut Unlocked) {
        let lock = unlocked.associations(AssocLevels::WRITE_ASSOC);
        self.standing.lock().publish(&lock);
    }

    /// Reads every job once: which associations have waiting jobs, what the priorities need besides fair-share, and who
    /// runs.
    fn gather(
        &self,
        unlocked: &mut Unlocked,
        config: &Arc<Config>,
        roster: &mut Roster,
        now: i64,
    ) -> Gathered {
        faults::point("gather");
        let pass = Pass::new(unlocked.host(), config, now);
        let mut before = self.drafts.lock().take();
        let drafts = if config.flags.calculate_running() { before.take() } else { None };
        let earlier = Earlier { drafts, fresh: std::mem::take(&mut self.fresh.lock()) };
        let known = if roster.pays() {
            let gathered = self.begin_gathering(&pass, config, before, roster.count());
            self.gather_known(unlocked, &pass, &earlier, gathered, roster)
        } else {
            None
        };
        let gathered = known.unwrap_or_else(|| {
            trace!("not all jobs are found by their ids: they are read by the list");
            let gathered = self.begin_gathering(&pass, config, None, roster.count());
            self.gather_list(unlocked, &pass, &earlier, gathered, roster)
        });
        let mut fresh = self.fresh.lock();
        for (id, factors) in &gathered.kept {
            if fresh.get(*id).is_none() {
                fresh.note(*id, *factors, |_| true);
            }
        }
        gathered
    }

    /// For about so many jobs, with the memory of the drafts before.
    fn begin_gathering(
        &self,
        pass: &Pass<'_>,
        config: &Arc<Config>,
        before: Option<Drafts>,
        jobs: usize,
    ) -> Gathered {
        let waiting = self.standing.lock().collect();
        let drafts = Drafts::new(Arc::clone(config), waiting, before, jobs);
        Gathered { drafts, kept: Vec::new(), running: Vec::new(), tres: pass.scratch() }
    }

    /// By their ids; `None` where there are other jobs.
    fn gather_known(
        &self,
        unlocked: &mut Unlocked,
        pass: &Pass<'_>,
        earlier: &Earlier,
        mut gathered: Gathered,
        roster: &mut Roster,
    ) -> Option<Gathered> {
        let touched = &pass.config.touched;
        let many = roster.count() > JobChunks::MANY;
        let size = if many { JobChunks::SIZE } else { JobChunks::MANY };
        let mut begin = 0;
        loop {
            let jobs = unlocked.jobs_read();
            let lock = jobs.associations(AssocLevels::READ);
            let standing = self.standing.lock();
            gathered.drafts.begin_hold();
            let mut read = |job| {
                if self.admits(&lock, job, true) {
                    gathered.read(pass, earlier, &standing, job);
                }
            };
            let end = roster.count().min(begin + size);
            roster.walk(begin..end, &jobs, touched, &mut read);
            if end == roster.count() {
                let complete = roster.complete(begin > 0, &jobs, touched, read);
                return complete.then_some(gathered);
            }
            begin = end;
        }
    }

    /// By the list.
    fn gather_list(
        &self,
        unlocked: &mut Unlocked,
        pass: &Pass<'_>,
        earlier: &Earlier,
        mut gathered: Gathered,
        roster: &mut Roster,
    ) -> Gathered {
        roster.clear();
        let mut chunks = None;
        loop {
            let jobs = unlocked.jobs_read();
            let chunks = chunks.get_or_insert_with(|| JobChunks::new(&jobs));
            let chunk = chunks.next(&jobs);
            if chunk.is_empty() {
                return gathered;
            }
            let lock = jobs.associations(AssocLevels::READ);
            let standing = self.standing.lock();
            gathered.drafts.begin_hold();
            roster.remember(&chunk);
            pass.config.touched.walk(&chunk, |_, job| {
                if self.admits(&lock, job, true) {
                    gathered.read(pass, earlier, &standing, job);
                }
            });
        }
    }

    /// Resets and decays usage and charges running jobs up to `now`. Those that started since they were gathered come with the
    /// next cycle, from their start.
    ///
    /// All of it is one step for everybody else, and most of all for slurmctld when it saves usage (see [`super::journal`]), which
    /// takes the locks of associations and QOS together: so they are held together here. A job that ends is charged before
    /// this step, from the last cycle on, or after it, from this one on.
    ///
    /// True if it was reset that was to be.
    fn account(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        running: &[Seen],
        times: Times,
        reset: bool,
    ) -> bool {
        /// As many jobs as the caches hold charges of.
        const CHUNK: usize = 4096;
        let host = unlocked.host();
        let (before, now) = (self.times(), times.last_ran);
        let factor = decay_factor(host.conf().get(|conf| conf.priority_decay_hl));
        let touched = charging::touched(host);
        let mut charger = Charger::new(factor);
        let jobs = unlocked.jobs_write();
        let lock = jobs.associations(AssocLevels::WRITE_USAGE);
        if attempt(|| self.commit_times(config, times)).is_none() {
            // The next cycle does what this one leaves.
            return false;
        }
        self.set_times(Times { last_ran: now, ..before });
        self.recount.lock().note_cycle(host.partitions_address(), before.last_ran);
        let was_reset = reset && attempt(|| reset_usage(&lock)).is_some();
        if was_reset {
            self.set_times(times);
        }
        attempt(|| decay_usage(&lock, config, factor, before.last_ran, now));
        let period = Period { start: before.last_ran, end: now, job_ended: false };
        for chunk in running.chunks(CHUNK) {
            let mut batch = charger.begin(&lock);
            touched.walk_seen(
                &jobs,
                chunk,
                |job, _| is_chargeable(job),
                |job, _| {
                    attempt(|| batch.charge(job, period));
                },
            );
            batch.post();
        }
        was_reset
    }

    /// Checks all associations and QOS, and jobs of every kind that there is; on a mismatch nothing is written any more.
    pub(super) fn records_are_sound(&self, unlocked: &mut Unlocked) -> bool {
        faults::point("check");
        if self.inspector.has_surveyed() {
            return true;
        }
        let jobs = unlocked.jobs_read();
        let lock = jobs.associations(AssocLevels::READ);
        let sound = self.check(self.inspector.check_lists(&lock))
            && jobs.all_jobs().into_iter().all(|job| self.admits(&lock, job, true));
        if sound {
            self.inspector.note_survey();
        }
        sound
    }
}

/// `PriorityUsageResetPeriod`
fn reset_usage(lock: &AssocLock<'_>) {
    faults::point("reset");
    debug!("usage is reset");
    usage::reset(lock);
}

/// Half-life decay of all usage since `begin`.
fn decay_usage(lock: &AssocLock<'_>, config: &Config, factor: f64, begin: i64, now: i64) {
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

/// Whether a job counts as waiting: pending and, unless `ActiveJobs=pending`, eligible, not held, not completing and
/// not running on another cluster of the federation.
fn waits(config: &Config, job: Job<'_>, now: i64) -> bool {
    let state = job.state();
    if !state.is_pending() || config.counts_all_pending() {
        return state.is_pending();
    }
    let begin = job.details().map_or(0, |details| details.get(|d| d.begin_time));
    !state.is_completing()
        && !state.is_revoked()
        && job.get(|job| job.priority) != 0
        && begin != 0
        && begin <= now
}

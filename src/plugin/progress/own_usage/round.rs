//! One cycle of our own sums of usage, under the hold of locks in which slurmctld's usage is charged, and the end of a job between two
//! cycles.
//!
//! Nothing changes before [`Round::finish`]: a cycle that fails before it has counted nothing, and the next one counts from the same time
//! on.

use multifactor2_accounting::charge::{Amounts, Elapsed, JobTimes, Period, END_CHARGED};
use multifactor2_accounting::ended::Ended;
use multifactor2_accounting::raw_usage::Seen;
use multifactor2_accounting::sums::{columns, Beginning, Cycle, Names, SeenQos, Sums};
use multifactor2_accounting::tally::{counted, Charge, Tally, TallyPlace};
use multifactor2_core::decay::{decay_over, RunDecay};
use multifactor2_core::facts::{amount, TresTotal};
use rustc_hash::FxHashMap;

use super::columns::Columns;
use super::counted::{Charged, Metric};
use super::{OwnUsage, Purpose, State};
use crate::faults;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, JobLock, Usage};
use crate::host::records::{Association, AssociationUsage, Job};
use crate::host::views;
use crate::plugin::sync::RankedGuard;

/// Who is counting: nobody, a cycle, or the end of a job.
#[derive(Debug, Default)]
pub enum Counting<'o> {
    /// No sums of our own are kept.
    #[default]
    Nobody,
    /// A cycle.
    Cycle(Box<Round<'o>>),
    /// The end of a job.
    End(&'o OwnUsage),
}

/// Up to when the one of some sums that is behind is counted; `None` where none are kept.
pub fn since(all: &[Counting<'_>]) -> Option<i64> {
    all.iter().filter_map(Counting::since).min()
}

impl Counting<'_> {
    /// Up to when everything is counted; `None` where nothing is.
    pub fn since(&self) -> Option<i64> {
        match self {
            Self::Nobody => None,
            Self::Cycle(round) => Some(round.since),
            Self::End(own) => own.ends.lock().since,
        }
    }

    /// How long a job ran since it was counted last, where slurmctld's usage charges it for `elapsed`.
    pub fn elapsed(&self, period: Period, times: &JobTimes, elapsed: Elapsed) -> Option<Elapsed> {
        let since = self.since()?;
        if since == period.start {
            return Some(elapsed);
        }
        Elapsed::within(Period { start: since, ..period }, times)
    }

    /// Counts a job.
    pub fn count(
        &mut self,
        lock: &AssocLock<'_, Usage>,
        job: Job<'_>,
        elapsed: &Elapsed,
        amounts: &Amounts,
        charged: Charged<'_>,
    ) {
        match self {
            Self::Nobody => (),
            Self::Cycle(round) => {
                let charge = round.metric.charge(job, elapsed, amounts);
                round.count(job, &charge, amounts, charged);
            }
            Self::End(own) => {
                let mut ends = own.ends.lock();
                if ends.since.is_none() {
                    return;
                }
                let find = |name: &str| {
                    (0..lock.host().tres_count()).find(|at| lock.tres_name(*at).eq_ignore_ascii_case(name))
                };
                let metric = Metric::of(&ends.recipe.metric, || find(&ends.recipe.metric));
                let mut all = vec![0.0; columns::count(&ends.recipe)];
                Columns::of(&ends.recipe, &ends.books, find).each(job, amounts, charged, |from, used| {
                    all[from..].iter_mut().zip(used).for_each(|(all, used)| *all = counted(*used));
                });
                let Charged { started, raw, .. } = charged;
                let ended = Ended {
                    job: job.get(|job| job.job_id),
                    started,
                    charge: metric.charge(job, elapsed, amounts),
                    columns: all,
                    raw: Some(raw),
                    association: charged.association.map(|association| association.get(|assoc| assoc.id)),
                    qos: charged.qos.map(|qos| qos.map(|qos| qos.get(|qos| qos.id))),
                    group: Charged::group(job),
                    partition: job.partition().map(|part| part.text(|part| part.name).into_owned()),
                };
                ends.note(match own.purpose {
                    Purpose::Settings => ended,
                    Purpose::Tree => Ended { qos: [None; 2], group: None, partition: None, ..ended },
                });
            }
        }
    }
}

/// One cycle. Holds our own lock on the sums.
#[derive(Debug)]
pub struct Round<'o> {
    own: &'o OwnUsage,
    state: RankedGuard<'o, State>,
    metric: Metric,
    /// Usage of the metric is kept by QOS, group and partition; else by association alone.
    counts_metric: bool,
    columns: Columns,
    since: i64,
    now: i64,
    /// As they are before this cycle decays and charges.
    associations: Vec<Seen>,
    qos: Vec<SeenQos>,
    tally: Tally,
    places: Places,
}

/// Places by address, found once per cycle.
#[derive(Debug, Default)]
struct Places {
    associations: FxHashMap<usize, TallyPlace>,
    qos: FxHashMap<usize, (TallyPlace, bool)>,
    partitions: FxHashMap<usize, TallyPlace>,
    groups: FxHashMap<u32, TallyPlace>,
}

impl OwnUsage {
    /// Begins a cycle that runs `now`, before it decays or charges anything. `totals` is what the cluster has.
    pub fn begin<'o>(
        &'o self,
        lock: &AssocLock<'_, Usage>,
        now: i64,
        decay_factor: f64,
        totals: &[TresTotal],
    ) -> Option<Box<Round<'o>>> {
        let mut state = self.state.lock();
        let State { sums: Some(sums), is_open, lacking, .. } = &mut *state else { return None };
        if std::mem::replace(is_open, true) {
            // The cycle before has failed: what it has decayed is not to be taken for reset.
            sums.forget_raw_usage();
        }
        faults::point("own_usage.begin");
        let at = |name: &str| totals.iter().position(|total| total.is_called(name));
        let metric = Metric::of(&sums.recipe().metric, || at(&sums.recipe().metric));
        let columns = Columns::of(sums.recipe(), &self.ends.lock().books, at);
        // While slurmctld reads its TRES from the database anew there are none for a moment.
        if totals.iter().any(|total| total.count > 0) {
            *lacking = sums.recipe().tres.iter().filter(|name| at(name).is_none()).cloned().collect();
        }
        let associations = read_associations(lock, |id, association| {
            sums.meet(id, association.address(), || names(association));
        });
        let qos = read_qos(lock);
        sums.survey_qos(&qos);
        let mut tally = Tally::default();
        tally.begin(sums.windows_at(now), sums.width());
        let since = sums.since();
        if since > 0 && now > since {
            #[allow(clippy::cast_precision_loss)] // exact up to 2^53 of a TRES
            let total = |at: usize| amount(totals[at].count) as f64;
            #[allow(clippy::cast_precision_loss)] // seconds
            let run = (now - since) as f64;
            let run_decayed = RunDecay::new(decay_factor).of(run);
            if let Metric::Tres(Some(at)) = metric {
                let rate = total(at);
                let capacity = Charge { start: since, run, rate, decayed: run_decayed * rate }.finite();
                tally.add(TallyPlace::CAPACITY, &capacity, true);
            }
            let of = |metric: &Metric| match metric {
                Metric::Tres(Some(at)) => total(*at) * run_decayed,
                _ => 0.0,
            };
            let capacities: Vec<f64> = columns.tres().iter().map(of).collect();
            tally.add_columns(TallyPlace::CAPACITY, 0, &capacities);
        }
        let counts_metric = self.purpose == Purpose::Settings && sums.recipe().counts_metric();
        let places = Places::default();
        Some(Box::new(Round {
            own: self,
            state,
            metric,
            counts_metric,
            columns,
            since,
            now,
            associations,
            qos,
            tally,
            places,
        }))
    }
}

impl Round<'_> {
    fn count(&mut self, job: Job<'_>, charge: &Charge, amounts: &Amounts, charged: Charged<'_>) {
        if charge.is_empty() {
            return;
        }
        let Some(sums) = &mut self.state.sums else { return };
        let (tally, places) = (&mut self.tally, &mut self.places);
        tally.add(TallyPlace::ALL, charge, true);
        if let Some(association) = charged.association {
            let place = *places.associations.entry(association.address()).or_insert_with(|| {
                let id = association.get(|assoc| assoc.id);
                let place = sums.association(id);
                sums.meet(id, association.address(), || names(association.read_only()));
                place
            });
            tally.add(place, charge, true);
            self.columns.each(job, amounts, charged, |from, used| tally.add_columns(place, from, used));
        }
        if !self.counts_metric {
            return;
        }
        for qos in charged.qos.into_iter().flatten() {
            let (place, decays) = *places.qos.entry(qos.address()).or_insert_with(|| {
                let (place, _) = sums.qos(qos.get(|qos| qos.id));
                (place, !qos.is_undecayed())
            });
            tally.add(place, charge, decays);
        }
        if let Some(gid) = Charged::group(job) {
            let place = *places.groups.entry(gid).or_insert_with(|| sums.group(gid));
            tally.add(place, charge, true);
        }
        if let Some(partition) = job.partition() {
            let place = *places
                .partitions
                .entry(partition.address())
                .or_insert_with(|| sums.partition(&partition.text(|part| part.name)));
            tally.add(place, charge, true);
        }
    }

    /// Takes all into the sums: what `sacctmgr` has reset, what has ended since the last cycle, a reset of all, decay, and what was
    /// counted. `last_reset` is when slurmctld's usage was reset, in this cycle or before. Everything is counted until this cycle then.
    pub fn finish<A: Open>(
        mut self,
        jobs: &JobLock<'_, A>,
        lock: &AssocLock<'_, Usage>,
        decay_factor: f64,
        last_reset: i64,
    ) {
        faults::point("own_usage.finish");
        let State { sums: Some(sums), is_open, begins, .. } = &mut *self.state else { return };
        let mut ends = self.own.ends.lock();
        let mut all = ends.take(|ended| runs_again(jobs, ended));
        sums.reset_as_slurmctld(&self.associations, &self.qos, &mut all);
        #[allow(clippy::cast_precision_loss)] // seconds between two cycles
        let decay = if self.since > 0 && self.now > self.since {
            decay_over(decay_factor, (self.now - self.since) as f64)
        } else {
            1.0
        };
        let cycle = Cycle { now: self.now, decay, last_reset, tally: &self.tally };
        let beginning = begins.then(|| Beginning::of(&self.associations, &all));
        let was_reset = sums.settle(cycle, &mut all);
        if let Some(beginning) = beginning.filter(|_| !was_reset) {
            sums.begin_with(&beginning);
        }
        ends.jobs = all;
        ends.since = Some(self.now);
        ends.latest = ends.latest.max(self.now);
        ends.is_unsaved = true;
        drop(ends);
        sums.forget_raw_usage();
        remember(sums, lock);
        (*is_open, *begins) = (false, false);
    }
}

/// Takes note of whom there is, and of what slurmctld's usage is now.
fn remember(sums: &mut Sums, lock: &AssocLock<'_, Usage>) {
    let now = read_associations(lock, |_, _| ());
    // slurmctld may have none while it cannot reach its database.
    if lock.root().is_some() && !now.is_empty() {
        let handed_up = lock.host().layout.assoc.leaf_usage.is_some();
        sums.survey(&now, handed_up);
    }
    sums.remember(&now, &read_qos(lock));
}

/// Whether a job that had ended before a restart is one that slurmctld has started as running.
fn runs_again<A: Open>(jobs: &JobLock<'_, A>, ended: &Ended) -> bool {
    jobs.job(ended.job).is_some_and(|job| {
        job.get(|job| job.start_time) == ended.started && job.get(|job| job.end_time_exp) != END_CHARGED
    })
}

fn names<A: Open>(association: Association<'_, A>) -> Names {
    Names {
        account: association.text(|assoc| assoc.acct).into_owned(),
        user: association.text(|assoc| assoc.user).into_owned(),
        partition: association.text(|assoc| assoc.partition).into_owned(),
    }
}

fn read_associations(lock: &AssocLock<'_, Usage>, mut visit: impl FnMut(u32, Association<'_>)) -> Vec<Seen> {
    let mut all = Vec::new();
    let Some(list) = lock.all() else { return all };
    all.reserve(list.len());
    views::shares_and_usage(lock.host()).walk_list(list, |association| {
        let association = association.read_only();
        let id = association.get(|assoc| assoc.id);
        let usage = association.usage();
        visit(id, association);
        all.push(Seen {
            id,
            parent: usage.and_then(AssociationUsage::parent).map(|parent| parent.get(|assoc| assoc.id)),
            raw: usage.map_or(0.0, |usage| usage.get_ld(|usage| usage.usage_raw)),
        });
    });
    all
}

fn read_qos(lock: &AssocLock<'_, Usage>) -> Vec<SeenQos> {
    let mut all = Vec::new();
    let Some(list) = lock.qos() else { return all };
    list.for_each_ro(|qos| {
        all.push(SeenQos {
            id: qos.get(|qos| qos.id),
            name: qos.text(|qos| qos.name).into_owned(),
            decays: !qos.is_undecayed(),
            raw: qos.usage().map_or(0.0, |usage| usage.get_ld(|usage| usage.usage_raw)),
        });
    });
    all
}

//! Reads the records for a snapshot after a cycle: names as numbers, and of a job only what cannot be derived. Everything that can be done
//! without the locks is left to [`super::records`].

use std::collections::HashMap;
use std::sync::Arc;

use multifactor2_accounting::sums::WindowAmounts;
use multifactor2_core::factors::{unshift, Evaluation, Priority};
use multifactor2_core::facts::{self, Course, TresTotal};
use multifactor2_core::policy::points::Parts;
use multifactor2_core::policy::pools::JobTickets;
use multifactor2_snapshot::records::{Entry, Partition, Qos};
use rustc_hash::FxHashMap;

use super::parameters::Told;
use crate::host::access::Open;
use crate::host::constants::{
    INFINITE, NO_VAL, PARTITION_SCHED, PARTITION_SUBMIT, QOS_FLAG_ENFORCE_USAGE_THRES, QOS_FLAG_NO_DECAY,
    TRES_ARRAY_BILLING,
};
use crate::host::known_jobs::KnownJobs;
use crate::host::locks::{AssocLock, Explained, Levels, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::{self, AssociationUsage, Job, QosUsage};
use crate::host::{clock, partitions, views, Host};
use crate::plugin::config::Config;
use crate::plugin::drafts::Drafts;
use crate::plugin::evaluator::{Evaluator, Variants};
use crate::plugin::grants::GrantShown;
use crate::plugin::names::Names;
use crate::plugin::origins::Origins;
use crate::plugin::points::{PointsEntries, PointsState};
use crate::plugin::queue::{tickets_of_comment, Reader};
use crate::plugin::standing::Standing;
use crate::plugin::waiting::waits;
use crate::plugin::Plugin;

/// Jobs that are read under one hold of the locks: a fraction of what a cycle reads.
const CHUNK: usize = 10_000;

/// Amounts in windows that are told of together, some tens of MB of the file.
const MOST_AMOUNTS: usize = 2_000_000;

/// No name, no group.
pub const NONE: u32 = u32::MAX;

/// An association, as its record says.
#[derive(Debug)]
pub struct Association {
    pub parent: u32,
    pub account: u32,
    pub user: u32,
    pub partition: u32,
    pub shares: u32,
    pub priority: u32,
    pub priority_norm: f64,
}

/// A job that waits. Names are numbers.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // as in the file
pub struct Waiting {
    pub id: u32,
    pub association: u32,
    /// Where no association says it.
    pub account: u32,
    pub partition: u32,
    pub qos: u32,
    pub wckey: u32,
    pub reservation: u32,
    pub reason: u32,
    pub group: Option<u32>,
    pub array: Option<(u32, Option<u32>)>,
    pub het_job: u32,
    pub priority: u32,
    pub direct: bool,
    pub competes: bool,
    pub is_stopped: bool,
    pub start: i64,
    pub times: Option<Times>,
    pub limit: u32,
    pub nodes: u32,
    pub cpus: u32,
    pub size_cpus: u32,
    pub tmp_disk: u32,
    pub nice: u32,
    pub site: u32,
    pub own_tickets: u32,
    pub course: Course,
}

/// What the details of a job say.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub submit: i64,
    pub begin: i64,
    pub accrue: i64,
}

/// What few jobs have.
#[derive(Debug, Default)]
pub struct More {
    pub partitions: Vec<u32>,
    /// What its priority came from, where that is newer than the cycle.
    pub set: Option<Evaluation>,
    /// The tickets of pools that it has got since.
    pub tickets: Option<JobTickets>,
    pub points: Option<Parts>,
}

/// Jobs that run and are alike: association, partition, QOS, wckey and own tickets.
pub type Alike = (u32, u32, u32, u32, u32);

/// What such jobs have together.
#[derive(Debug, Default)]
pub struct Together {
    pub count: u32,
    pub size: f64,
    pub tres: Vec<u64>,
}

/// All of it.
#[derive(Debug)]
pub struct Gathered {
    pub host: &'static Host,
    pub told: Arc<Told>,
    /// When the cycle ran, and when this was read.
    pub times: [i64; 2],
    /// `PrivateData`
    pub private_data: u16,
    pub tres_weights: Option<Vec<f64>>,
    pub totals: Vec<TresTotal>,
    pub has_partitions: bool,
    pub partitions: Vec<Partition>,
    pub qos: Vec<Qos>,
    pub associations: FxHashMap<u32, Association>,
    pub jobs: Vec<Waiting>,
    /// What jobs ask for of each TRES, one after the other.
    pub tres: Vec<u64>,
    pub more: FxHashMap<u32, More>,
    pub entries: Vec<Entry>,
    pub running: HashMap<Alike, Together>,
    pub names: Names,
    pub reasons: FxHashMap<u32, String>,
    pub drafts: Option<Arc<Drafts>>,
    pub standing: Standing,
    pub points: Option<Arc<PointsState>>,
    pub grants: Vec<GrantShown>,
    /// What was used in each window, if targets use windows.
    pub windows: Option<WindowAmounts>,
    /// The same of the share tree's windows.
    pub tree_windows: Option<WindowAmounts>,
    by_address: FxHashMap<usize, u32>,
}

impl Plugin {
    /// Reads all of it; `None` where the thread is to end.
    pub(super) fn gather_snapshot(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        known_jobs: &mut KnownJobs,
        now: i64,
    ) -> Option<Gathered> {
        let host = unlocked.host();
        let mut gathered = self.read_cluster(unlocked, config, now, true)?;
        let touched = views::jobs_of_snapshot(host);
        let evaluator = Evaluator::new(host, config, now);
        let reader = Reader::of_sizes(&config.settings, now);
        let mut next = 0;
        for begin in (0..known_jobs.count()).step_by(CHUNK) {
            if self.thread.is_stopping() {
                return None;
            }
            let jobs = unlocked.jobs_read();
            let lock = jobs.associations::<Explained>();
            let origins = self.origins.lock();
            gathered.by_address.clear();
            let end = known_jobs.count().min(begin + CHUNK);
            known_jobs.walk(begin..end, &jobs, &touched, |job| {
                if !self.inspector.has_seen(job) {
                    return;
                }
                attempt(|| {
                    if job.state().is_pending() {
                        let reading = Reading { evaluator: &evaluator, origins: &origins, lock: &lock };
                        gathered.read_waiting(&reading, job, &mut next);
                    } else if job.state().holds_resources() {
                        gathered.read_running(&lock, &reader, &config.settings, job);
                    }
                });
            });
        }
        for job in &gathered.jobs {
            gathered.reasons.entry(job.reason).or_insert_with(|| host.reason(job.reason));
        }
        Some(gathered)
    }

    /// Reads everything but jobs; without associations what the file for everybody is made of.
    pub(super) fn read_cluster(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        now: i64,
        with_associations: bool,
    ) -> Option<Gathered> {
        let host = unlocked.host();
        let told = config.told.clone()?;
        let (drafts, standing, points) = {
            let origins = self.origins.lock();
            (origins.drafts.clone(), origins.standing.clone(), origins.points.clone())
        };
        // Before slurmctld waits for it.
        let [windows, tree_windows] =
            self.own_sums()
                .map(|sums| if with_associations { sums.window_amounts(MOST_AMOUNTS) } else { None });
        let jobs = unlocked.jobs_read();
        let lock = jobs.associations::<Explained>();
        let totals = self.totals(&lock)?;
        let mut names = Names::default();
        let mut associations = FxHashMap::default();
        if let Some(list) = lock.all().filter(|_| with_associations) {
            views::shares_and_usage(host).walk_list(list, |record| {
                let mut name = |pick: fn(&'static crate::host::layout::AssocLayout) -> _| {
                    names.number(&record.text(pick))
                };
                let parent = record.usage().and_then(AssociationUsage::parent);
                let association = Association {
                    parent: parent.map_or(0, |parent| parent.get(|assoc| assoc.id)),
                    account: name(|assoc| assoc.acct),
                    user: name(|assoc| assoc.user),
                    partition: name(|assoc| assoc.partition),
                    shares: record.get(|assoc| assoc.shares_raw),
                    priority: Some(record.get(|assoc| assoc.priority))
                        .filter(|set| *set != INFINITE)
                        .unwrap_or_default(),
                    priority_norm: record.usage().map_or(0.0, |usage| usage.get(|usage| usage.priority_norm)),
                };
                associations.insert(record.get(|assoc| assoc.id), association);
            });
        }
        let mut qos = Vec::new();
        if let Some(list) = lock.qos() {
            list.for_each_ro(|record| qos.push(qos_of(record)));
        }
        let mut partitions = Vec::new();
        let list = jobs.all_partitions();
        let has_partitions = list.is_some();
        if let Some(list) = list {
            list.for_each_ro(|record| partitions.push(partition_of(record)));
        }
        Some(Gathered {
            host,
            told,
            times: [now, clock::now()],
            private_data: host.conf().get(|conf| conf.private_data),
            tres_weights: config.factors.tres_weights.clone(),
            totals,
            has_partitions,
            partitions,
            qos,
            associations,
            jobs: Vec::with_capacity(drafts.as_ref().map_or(0, |drafts| drafts.count())),
            tres: Vec::new(),
            more: FxHashMap::default(),
            entries: Vec::new(),
            running: HashMap::new(),
            names,
            reasons: FxHashMap::default(),
            drafts,
            standing,
            points,
            grants: if with_associations { self.grants.shown(now) } else { Vec::new() },
            windows,
            tree_windows,
            by_address: FxHashMap::default(),
        })
    }
}

fn qos_of<A: Open>(record: records::Qos<'_, A>) -> Qos {
    let facts = views::qos(record);
    let flags = record.get(|qos| qos.flags);
    let named = [(QOS_FLAG_ENFORCE_USAGE_THRES, "EnforceUsageThreshold"), (QOS_FLAG_NO_DECAY, "NoDecay")];
    let usage = |usage: QosUsage<'_, A>| usage.get_ld(|usage| usage.usage_raw);
    Qos {
        id: record.get(|qos| qos.id),
        name: record.text(|qos| qos.name).into_owned(),
        priority: facts.priority,
        priority_norm: facts.norm_priority,
        usage_factor: record.get(|qos| qos.usage_factor),
        usage_threshold: facts.has_threshold().then_some(facts.usage_threshold),
        usage: record.usage().map(usage),
        flags: named.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| (*name).to_owned()).collect(),
        // slurmctld has these as bits of QOS ids, which no self-check pins.
        preempt: Vec::new(),
    }
}

fn partition_of(record: records::Partition<'_>) -> Partition {
    let facts = views::partition(record);
    let max_time = record.get(|part| part.max_time);
    let state = record.get(|part| part.state_up) & (PARTITION_SUBMIT | PARTITION_SCHED);
    let verified = record.host().verified;
    Partition {
        name: record.text(|part| part.name).into_owned(),
        tier: u32::from(record.get(|part| part.priority_tier)),
        job_factor: facts.priority_job_factor,
        job_factor_norm: facts.norm_priority,
        max_time: (max_time != INFINITE).then_some(max_time),
        state: match (state & PARTITION_SUBMIT != 0, state & PARTITION_SCHED != 0) {
            (true, true) => "UP",
            (true, false) => "DOWN",
            (false, true) => "DRAIN",
            (false, false) => "INACTIVE",
        }
        .to_owned(),
        tres: record.tres().unwrap_or_default().iter().copied().map(facts::amount).collect(),
        billing_weights: if verified {
            record.text(|part| part.billing_weights_str).into_owned()
        } else {
            String::new()
        },
        qos: record.text(|part| part.qos_char).into_owned(),
        // Commands alone ask for these.
        is_default: false,
        default_time: None,
        nodes: String::new(),
    }
}

/// What jobs are read with under one hold of the locks.
struct Reading<'r, 'l> {
    evaluator: &'r Evaluator<'r>,
    origins: &'r Origins,
    lock: &'r AssocLock<'l, Explained>,
}

impl Gathered {
    fn partition(&mut self, partition: records::Partition<'_>) -> u32 {
        let (names, known) = (&mut self.names, &mut self.by_address);
        *known.entry(partition.address()).or_insert_with(|| names.number(&partition.text(|part| part.name)))
    }

    fn qos<V: Levels<Qos: Open>>(&mut self, lock: &AssocLock<'_, V>, job: Job<'_>) -> u32 {
        let Some(qos) = job.qos(lock) else { return NONE };
        let (names, known) = (&mut self.names, &mut self.by_address);
        *known.entry(qos.address()).or_insert_with(|| names.number(&qos.text(|qos| qos.name)))
    }

    /// A name that most jobs do not have.
    fn rare(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            NONE
        } else {
            self.names.number(name)
        }
    }

    fn wckey(&mut self, job: Job<'_>) -> u32 {
        let wckey = if job.host().verified { job.wckey() } else { "".into() };
        self.rare(&wckey)
    }

    fn read_waiting(&mut self, reading: &Reading<'_, '_>, job: Job<'_>, next: &mut usize) {
        let Reading { evaluator, origins, lock } = *reading;
        let config = evaluator.config;
        let (id, (address, association)) = (job.get(|job| job.job_id), job.named_association());
        let association = if address == 0 { 0 } else { association };
        let account = if self.associations.contains_key(&association) {
            NONE
        } else {
            self.rare(&job.text(|job| job.account))
        };
        let (size, request, details) = (views::size(job), views::request(job, true), job.details());
        let points = origins.points_of(lock, job, evaluator.core.now);
        let may_stop = points.as_ref().is_some_and(|points| points.may_stop(lock, job));
        let is_stopped = may_stop && points.as_ref().is_some_and(|points| points.is_stopped(lock, job));
        let partition = job.partition().map_or(NONE, |partition| self.partition(partition));
        let waiting = Waiting {
            id,
            association,
            account,
            partition,
            qos: self.qos(lock, job),
            wckey: self.wckey(job),
            reservation: self.rare(&job.reservations_asked_for()),
            reason: job.get(|job| job.state_reason),
            group: request.as_ref().and_then(|request| request.group),
            array: job.array(),
            het_job: job.het_leader().unwrap_or_default(),
            priority: job.get(|job| job.priority),
            direct: job.get(|job| job.direct_set_prio) != 0,
            competes: !is_stopped && waits(config, job, evaluator.core.now, may_stop).is_some(),
            is_stopped,
            start: job.get(|job| job.start_time),
            times: details.map(|details| Times {
                submit: details.get(|d| d.submit_time),
                begin: details.get(|d| d.begin_time),
                accrue: details.get(|d| d.accrue_time),
            }),
            limit: job.get(|job| job.time_limit),
            nodes: size.map_or(0, |size| size.min_nodes),
            cpus: size.map_or(0, |size| size.min_cpus),
            size_cpus: size.map_or(0, |size| size.cpus()),
            tmp_disk: request.as_ref().map_or(0, |request| request.tmp_disk),
            nice: views::job(job).map_or(0, |facts| facts.nice),
            site: job.get(|job| job.site_factor),
            own_tickets: tickets_of_comment(&config.settings, job),
            course: request.map(|request| request.course).unwrap_or_default(),
        };
        let count = self.totals.len();
        let asked = job.tres_requested().unwrap_or_default().iter().copied().map(facts::amount);
        self.tres.extend(asked.chain(std::iter::repeat(0)).take(count));
        self.jobs.push(waiting);
        let set = origins.set.get(id).copied();
        let more = More {
            partitions: Vec::new(),
            set,
            tickets: set
                .and_then(|_| origins.tickets_of(job).get_or_first(origins.standing.books_of(job).own)),
            points: points.as_ref().map(PointsEntries::explain),
        };
        if job.has_variants() {
            self.read_variants(reading, job, more, next);
        } else if more.set.is_some() || more.points.is_some() {
            self.more.insert(id, more);
        }
    }

    /// What the job has in each of its partitions and QOS.
    fn read_variants(&mut self, reading: &Reading<'_, '_>, job: Job<'_>, mut more: More, next: &mut usize) {
        let Reading { evaluator, origins, lock } = *reading;
        let id = job.get(|job| job.job_id);
        if let Some(list) = job.partitions() {
            list.for_each_ro(|partition| more.partitions.push(self.partition(partition)));
        }
        self.more.insert(id, more);
        let is_direct = job.get(|job| job.direct_set_prio) != 0;
        let Some(evaluation) = origins.evaluation_of(next, id).filter(|_| !is_direct) else { return };
        let own = unshift(job.get(|job| job.site_factor));
        let qos_of_job = self.qos(lock, job);
        let points = origins.points_of(lock, job, evaluator.core.now);
        let holdings = origins.holdings_of(job);
        // Nothing is written here.
        let variants = Variants { of_job: &evaluation, holdings, points: points.as_ref(), is_stopped: false };
        let first = self.entries.len();
        evaluator.for_each_variant(job, lock, &variants, |partition, qos, variant| {
            let qos = qos.map(|qos| qos.text(|qos| qos.name).into_owned());
            self.entries.push(Entry {
                job: id,
                partition: partition
                    .map(|partition| partition.text(|part| part.name).into_owned())
                    .unwrap_or_default(),
                qos: qos.unwrap_or_else(|| self.names.name(qos_of_job).to_owned()),
                priority: Priority::from_sum(variant.sum_of_variant()).value,
                fair_share: variant.fair_share,
                partition_addend: variant.partition,
                qos_addend: variant.qos,
                tres_addend: variant.tres,
                points: unshift(variant.site) - own,
            });
        });
        // With INCR_ONLY it may be an older one.
        let count = self.entries.len() - first;
        for (entry, slot) in
            self.entries[first..].iter_mut().zip(partitions::written(job, count).unwrap_or_default())
        {
            entry.priority = slot.get();
        }
    }

    fn read_running<V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        reader: &Reader,
        settings: &multifactor2_core::settings::Settings,
        job: Job<'_>,
    ) {
        let (address, association) = job.named_association();
        let association = if address == 0 { 0 } else { association };
        let partition = job.partition().map_or(NONE, |partition| self.partition(partition));
        let own_tickets = tickets_of_comment(settings, job);
        let alike = (association, partition, self.qos(lock, job), self.wckey(job), own_tickets);
        let together = self.running.entry(alike).or_default();
        together.count += 1;
        together.size += reader.size(job);
        let tres = job.tres_allocated().unwrap_or_default();
        together.tres.resize(tres.len().max(together.tres.len()), 0);
        for (sum, amount) in together.tres.iter_mut().zip(tres) {
            *sum = sum.saturating_add(facts::amount(*amount));
        }
    }
}

impl Together {
    /// What they are billed.
    #[allow(clippy::cast_precision_loss)] // amounts
    pub fn billing(&self) -> f64 {
        self.tres.get(TRES_ARRAY_BILLING).map_or(0.0, |billing| *billing as f64)
    }
}

impl Waiting {
    /// Its own time limit in minutes.
    pub fn own_limit(&self) -> Option<u32> {
        (self.limit != NO_VAL).then_some(self.limit)
    }
}

//! The priorities of jobs: every addend as computed here, and as Slurm shows it.

use multifactor2_core::evaluator::Evaluator;
use multifactor2_core::factors::{
    increase_only, unshift, weighted_fair_share, with_points, ClusterSize, Evaluation, Priority,
};
use multifactor2_core::facts::{AssociationFactors, Facts};
use multifactor2_core::policy::points::{Beyond, Parts};
use multifactor2_core::policy::pools::{JobNames, JobTickets, Pools};
use multifactor2_core::Node;
use multifactor2_snapshot::records::{Entry, Job};
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use super::entries::{several_qos, Entries, EntryPlace};
use super::facts::{ByName, Looks};
use super::Shares;

/// What a priority is the sum of, weighted, by the names of sprio's columns. A nice value is taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Addends {
    /// AGE
    pub age: f64,
    /// ASSOC
    pub assoc: f64,
    /// FAIRSHARE
    pub fair_share: f64,
    /// JOBSIZE
    pub job_size: f64,
    /// PARTITION
    pub partition: f64,
    /// QOS
    pub qos: f64,
    /// TRES
    pub tres: f64,
    /// SITE: the job's own site factor and its points.
    pub site: f64,
    /// NICE, as it is taken away.
    pub nice: f64,
}

impl Addends {
    /// The names of sprio's columns, in the order of addition.
    pub const NAMES: [&'static str; 9] =
        ["AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS", "TRES", "SITE", "NICE"];

    /// All of them in that order; nice with its sign, so that the sum is the priority.
    pub fn signed(&self) -> [f64; 9] {
        let Self { age, assoc, fair_share, job_size, partition, qos, tres, site, nice } = *self;
        [age, assoc, fair_share, job_size, partition, qos, tres, site, -nice]
    }

    /// The sum of all of them, before it is rounded down.
    pub fn sum(&self) -> f64 {
        self.signed().iter().sum()
    }

    fn of(evaluation: &Evaluation) -> Self {
        let Evaluation { age, assoc, fair_share, job_size, partition, qos, tres, site, nice } = *evaluation;
        Self {
            age,
            assoc,
            fair_share,
            job_size,
            partition,
            qos,
            tres,
            site: unshift(site),
            nice: unshift(nice),
        }
    }
}

/// A job in one of several partitions or QOS.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryRank {
    /// The partition.
    pub partition: String,
    /// The QOS.
    pub qos: String,
    /// The priority there that the queue goes by.
    pub priority: u32,
    /// As it is computed here, and the priority that follows.
    pub computed: Option<(Addends, u32)>,
    /// As Slurm shows it.
    pub shown: Option<Addends>,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRank {
    /// The place of its association in the snapshot.
    pub association: Option<usize>,
    /// It takes part in the competition for tickets.
    pub competes: bool,
    /// It may be started: not held, and its time has come.
    pub is_eligible: bool,
    /// A cap keeps it from starting: it has no place in the queue.
    pub is_stopped: bool,
    /// The caps that it goes beyond, where its points are computed here.
    pub caps: Vec<Beyond>,
    /// The grants that it is beyond, by their places in the snapshot.
    pub grants: Vec<usize>,
    /// The priority that the queue goes by; 0 for a job that is held.
    pub priority: u32,
    /// As it is computed here, and the priority that follows; `None` if the priority was set directly, or the job is held.
    pub computed: Option<(Addends, u32)>,
    /// As Slurm shows it; `None` where sprio does not have the job.
    pub shown: Option<Addends>,
    /// Its fair-share factor, where it is computed here.
    pub factor: Option<f64>,
    /// Its tickets, where pools give them to single jobs.
    pub tickets: Option<JobTickets>,
    /// Its points by component, where the settings ask for some.
    pub points: Option<Parts>,
    /// In each of its partitions and QOS, where it has several.
    pub entries: Vec<EntryRank>,
}

impl JobRank {
    /// The addends of its priority, in one of its entries if it has several: as computed if the queue uses that, else as Slurm shows them.
    pub fn addends(&self, entry: Option<usize>, recomputed: bool) -> Option<Addends> {
        let (computed, shown) = match entry.map(|entry| &self.entries[entry]) {
            None => (self.computed, self.shown),
            Some(entry) => (entry.computed, entry.shown),
        };
        let computed = computed.map(|(addends, _)| addends);
        if recomputed {
            computed.or(shown)
        } else {
            shown.or(computed)
        }
    }
}

/// What jobs are evaluated with.
pub(super) struct Evaluated<'m> {
    pub looks: Looks<'m>,
    pub shares: &'m Shares,
}

/// Whether the size of the cluster, which JOBSIZE needs, is unknown.
pub fn lacks_size(snapshot: &Snapshot) -> bool {
    let about = &snapshot.about;
    about.source != "plugin" && (about.cpus == 0 || about.nodes == 0)
}

/// What is not known for any job.
#[derive(Clone, Copy, Default)]
struct Unknown {
    fair_share: bool,
    job_size: bool,
    tres: bool,
}

impl Evaluated<'_> {
    /// All jobs, in the order of the snapshot.
    pub fn all(&self, competes: &[bool], recomputed: bool, notes: &mut Vec<String>) -> Vec<JobRank> {
        let Looks { snapshot, config, at, .. } = self.looks;
        let about = &snapshot.about;
        let evaluator = Evaluator {
            config: &config.factors,
            cluster: ClusterSize { cpus: about.cpus, nodes: about.nodes },
            now: at,
        };
        let (entries, by_name) = (Entries::of(snapshot), ByName::of(snapshot));
        let weights = &config.factors.weights;
        let unknown = Unknown {
            fair_share: weights.fair_share != 0 && !self.shares.is_computed(),
            job_size: weights.job_size != 0 && lacks_size(snapshot),
            tres: config.factors.tres_weights.is_some()
                && !snapshot.jobs.is_empty()
                && (snapshot.jobs.iter().all(|job| job.tres.is_empty()) || self.lacks_tres_of_partitions()),
        };
        if unknown.job_size {
            notes.push("The size of the cluster is not known, so JOBSIZE is what Slurm shows.".to_owned());
        }
        if unknown.tres {
            notes
                .push("What jobs ask for, or partitions have, of each TRES is not known, so TRES is what Slurm shows.".to_owned());
        }
        let mut buffer = evaluator.scratch();
        let mut ranks = Vec::with_capacity(snapshot.jobs.len());
        for (place, (job, competes)) in snapshot.jobs.iter().zip(competes).enumerate() {
            let places = entries.of_job(job);
            let one = One { all: self, evaluator, by_name: &by_name, unknown, job, place };
            ranks.push(one.rank(&places, *competes, recomputed, &mut buffer));
        }
        ranks
    }

    /// Jobs ask for a TRES with a weight of which no partition has any: scontrol of 20.11 does not print what partitions have.
    fn lacks_tres_of_partitions(&self) -> bool {
        let Looks { snapshot, config, .. } = self.looks;
        let weights = config.factors.tres_weights.as_deref().unwrap_or_default();
        let any = |counts: &[u64], at: usize| counts.get(at).is_some_and(|count| *count > 0);
        !config.factors.no_normal_tres
            && weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0).any(|(at, _)| {
                snapshot.jobs.iter().any(|job| any(&job.tres, at))
                    && !snapshot.partitions.iter().any(|partition| any(&partition.tres, at))
            })
    }
}

/// One job.
struct One<'o> {
    all: &'o Evaluated<'o>,
    evaluator: Evaluator<'o>,
    by_name: &'o ByName<'o>,
    unknown: Unknown,
    job: &'o Job,
    place: usize,
}

impl One<'_> {
    fn rank(&self, places: &[EntryPlace<'_>], competes: bool, recomputed: bool, tres: &mut [f64]) -> JobRank {
        let Looks { tree, config, .. } = self.all.looks;
        let job = self.job;
        let association = tree.by_id(job.association);
        let shown = job.is_computed.then(|| shown(job));
        let mut rank = JobRank {
            association,
            competes,
            is_eligible: self.all.looks.is_eligible(job),
            is_stopped: self.all.looks.is_stopped(job),
            priority: job.priority,
            shown,
            ..JobRank::default()
        };
        let node = association.and_then(|association| tree.node(association));
        let of_entries =
            |of: &dyn Fn(&EntryPlace<'_>) -> EntryRank| places.iter().map(of).collect::<Vec<_>>();
        if job.priority == 0 || job.direct {
            rank.entries = of_entries(&|place| self.as_shown(place));
            return rank;
        }
        if !self.unknown.fair_share {
            let in_book = self.all.shares.in_book(self.all.looks.book_of(job));
            rank.factor = in_book.factor_of_job(self.place, node);
            rank.tickets = in_book.tickets_of_job(self.place);
        }
        let (evaluation, points) = self.evaluate(node, rank.factor, tres);
        rank.points = points;
        if let (Some(book), true) = (self.all.looks.points, points.is_some_and(|points| points.is_capped)) {
            rank.caps = book.beyond(&self.all.looks, (job, node));
        }
        if let Some(book) = self.all.looks.points {
            rank.grants = book.beyond_grants(&self.all.looks, job);
        }
        let old = |shown: u32, new: u32| if config.increase_only { increase_only(shown, new) } else { new };
        let is_known = !self.unknown.fair_share || shown.is_some();
        if is_known {
            let priority = old(job.priority, Priority::from_sum(evaluation.sum()).value);
            rank.computed = Some((Addends::of(&evaluation), priority));
            if recomputed {
                rank.priority = priority;
            }
        }
        let several = several_qos(places);
        let mut entry = |place: &EntryPlace<'_>| {
            let mut entry = self.as_shown(place);
            if is_known {
                let variant = self.variant(&evaluation, (place, several), node, tres);
                let priority = Priority::from_sum(variant.sum_of_variant()).value;
                let before = place.shown.map_or(job.priority, |shown| shown.priority);
                let priority = old(before, priority);
                entry.computed = Some((Addends::of(&variant), priority));
                if recomputed || place.shown.is_none() {
                    entry.priority = priority;
                }
            }
            entry
        };
        rank.entries = places.iter().map(&mut entry).collect();
        rank
    }

    fn as_shown(&self, place: &EntryPlace<'_>) -> EntryRank {
        let entry = place.shown.filter(|_| self.job.is_computed);
        EntryRank {
            partition: place.partition.to_owned(),
            qos: place.qos.to_owned(),
            priority: place.shown.map_or(self.job.priority, |entry| entry.priority),
            computed: None,
            shown: entry.map(|entry| shown_entry(self.job, entry)),
        }
    }

    /// In the partition and QOS that it is in or was tried in last.
    fn evaluate(
        &self,
        node: Option<Node>,
        factor: Option<f64>,
        tres: &mut [f64],
    ) -> (Evaluation, Option<Parts>) {
        let (job, looks) = (self.job, self.all.looks);
        let (partition, qos) = (self.by_name.partition(&job.partition), self.by_name.qos(&job.qos));
        let facts = Facts {
            job: Looks::job(job),
            size: Some(Looks::size(job, partition)),
            partition: partition.map(Looks::partition),
            qos: qos.map(Looks::qos),
            tres: Looks::tres(job, partition),
        };
        let association = looks.tree.by_id(job.association).map(|at| &looks.snapshot.associations[at]);
        let assoc = association.map_or(0.0, |association| {
            configured(association.priority, association.priority_norm, looks.config.no_normal_assoc)
        });
        let standing = AssociationFactors { assoc, fair_share: factor.unwrap_or_default() };
        let mut evaluation = self.evaluator.evaluate(&facts, standing, tres);
        // What is not known is as Slurm shows it.
        if self.unknown.fair_share {
            evaluation.fair_share = job.fair_share;
        }
        if self.unknown.job_size {
            evaluation.job_size = job.job_size;
        }
        if self.unknown.tres {
            evaluation.tres = job.tres_addend;
        }
        if partition.is_none() {
            evaluation.partition = job.partition_addend;
        }
        if qos.is_none() && !job.qos.is_empty() {
            evaluation.qos = job.qos_addend;
        }
        if association.is_none() {
            evaluation.assoc = job.assoc;
        }
        let explained =
            looks.points.map(|book| book.explain(&looks, (job, node), (&job.partition, partition), &job.qos));
        if let Some(points) = explained {
            evaluation.site = with_points(evaluation.site, points.total);
        } else if let Some(total) = job.points.last() {
            // Nothing to compute them by: those that Slurm shows.
            evaluation.site = with_points(evaluation.site, as_points(*total));
        }
        (evaluation, explained)
    }

    fn variant(
        &self,
        of_job: &Evaluation,
        (place, several): (&EntryPlace<'_>, bool),
        node: Option<Node>,
        tres: &mut [f64],
    ) -> Evaluation {
        let (job, looks) = (self.job, self.all.looks);
        let partition = self.by_name.partition(place.partition);
        let of_partition = partition.map(Looks::partition);
        let mut variant =
            self.evaluator.in_partition(of_job, of_partition.as_ref(), Looks::tres(job, partition), tres);
        if let Some(shown) = place.shown.filter(|_| partition.is_none()) {
            variant.partition = shown.partition_addend;
        }
        if self.unknown.tres {
            variant.tres = place.shown.map_or(of_job.tres, |shown| shown.tres_addend);
        }
        if several {
            variant.qos = match (self.by_name.qos(place.qos), place.shown) {
                (Some(qos), _) => self.evaluator.weighted_qos_of_several(&Looks::qos(qos), of_job.qos),
                (None, Some(shown)) => shown.qos_addend,
                (None, None) => of_job.qos,
            };
        }
        if self.unknown.fair_share {
            variant.fair_share = place.shown.map_or(of_job.fair_share, |shown| shown.fair_share);
        } else if let Some(factor) = self.factor_in(place, node) {
            variant.fair_share = weighted_fair_share(factor, self.evaluator.config.weights.fair_share);
        }
        let points = looks
            .points
            .map(|book| book.explain(&looks, (job, node), (place.partition, partition), place.qos).total);
        let shown = || place.shown.map(|shown| as_points(shown.points));
        if let Some(points) = points.or_else(shown) {
            variant.site = with_points(Looks::job(job).site, points);
        }
        variant
    }
}

impl One<'_> {
    /// The fair-share factor in a partition and QOS; `None` if it is that of the job.
    fn factor_in(&self, place: &EntryPlace<'_>, node: Option<Node>) -> Option<f64> {
        let looks = self.all.looks;
        let book = looks.book_in(self.job, place.partition);
        let in_book = self.all.shares.in_book(book);
        let own = in_book.pools().map(Pools::own_tickets).unwrap_or_default();
        if own.by_entry() {
            let (pools, tickets) = in_book.pools().zip(in_book.tickets_of_job(self.place))?;
            let names = JobNames { partition: place.partition, qos: place.qos, ..JobNames::default() };
            return Some(pools.factor_now(pools.in_entry(tickets, names)));
        }
        (book != looks.book_of(self.job)).then(|| in_book.factor_of_job(self.place, node))?
    }
}

fn configured(priority: u32, normalised: f64, plain: bool) -> f64 {
    if plain {
        f64::from(priority)
    } else {
        normalised
    }
}

#[allow(clippy::cast_possible_truncation)] // saturates
fn as_points(points: f64) -> i32 {
    points as i32
}

#[allow(clippy::cast_precision_loss)] // they fit 32 bits
fn shown(job: &Job) -> Addends {
    Addends {
        age: job.age,
        assoc: job.assoc,
        fair_share: job.fair_share,
        job_size: job.job_size,
        partition: job.partition_addend,
        qos: job.qos_addend,
        tres: job.tres_addend,
        site: job.site as f64 + job.points.last().copied().unwrap_or_default(),
        nice: job.nice as f64,
    }
}

fn shown_entry(job: &Job, entry: &Entry) -> Addends {
    let of_job = shown(job);
    let points = job.points.last().copied().unwrap_or_default();
    Addends {
        fair_share: entry.fair_share,
        partition: entry.partition_addend,
        qos: entry.qos_addend,
        tres: entry.tres_addend,
        site: of_job.site - points + entry.points,
        ..of_job
    }
}

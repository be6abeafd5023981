//! The jobs of a cycle in the form that points take: read with their drafts, valued when targets are weighed.

mod deciding;
mod order;

use std::collections::BTreeMap;
use std::sync::Arc;

use multifactor2_accounting::accuracy::Accuracies;
use multifactor2_accounting::bypass::{Eligible, Overtaken, Started};
use multifactor2_accounting::sums::{Model, Readings};
use multifactor2_core::books::BookSet;
use multifactor2_core::facts::TresTotal;
use multifactor2_core::policy::points::{
    JobFacts as Facts, PartitionAt, PointsJob, QosAt, Reader, TargetUsage,
};
use multifactor2_core::rules::grants::{Effects, Granted, Scopes};
use multifactor2_core::rules::targets::KeptSteps;
use multifactor2_core::Node;
use rustc_hash::{FxHashMap, FxHashSet};

pub use deciding::Decided;
use deciding::Undecided;
pub(super) use order::priority_there;

use super::{Groups, PointsOfSets, PointsState};
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::panics::attempt;
use crate::host::records::{Job, Partition};
use crate::host::views;
use crate::plugin::config::Config;
use crate::plugin::grants::{KnownGrants, OtherPlaces};
use crate::plugin::progress::own_usage::OwnUsage;
use crate::plugin::queue::Drafted;
use crate::plugin::standing::Standing;
use crate::plugin::waiting::{AssocPlace, Waiting};

/// A job as it was read.
#[derive(Debug, Clone, Copy)]
struct Queued {
    id: u32,
    /// Its place among the facts; [`NONE`] where nothing of the job itself is asked for.
    facts: u32,
    place: AssocPlace,
    /// Which partition, as [`PointsState`] numbers them; [`NONE`] for none.
    partition: u32,
    /// The id of its QOS; [`NONE`] for none.
    qos: u32,
    /// It has points.
    counts: bool,
    /// Its grants, but for those of QOS: which of the sets.
    grants: u32,
}

/// No partition or QOS.
const NONE: u32 = u32::MAX;

/// Where partitions, by the numbers of [`PointsState`], and QOS, by their ids, are for the engine.
struct Places {
    partitions: Vec<PartitionAt>,
    qos: FxHashMap<u32, QosAt>,
    /// What the grants of nodes do, by their sets, where nothing else matters.
    of_sets: Option<Vec<Granted>>,
}

/// What points need of all jobs of a cycle.
#[derive(Debug)]
pub struct PointsQueue {
    state: PointsState,
    now: i64,
    /// One for every draft.
    jobs: Vec<Queued>,
    /// What was read of them. It is large, and stays where it is when they are sorted.
    facts: Vec<Facts>,
    /// Of jobs of which nothing is asked.
    unknown: Facts,
    /// Numbers of partitions by the address of the record, while the locks are held.
    by_address: FxHashMap<usize, u32>,
    /// That of the last one.
    last: Option<(usize, u32)>,
    /// Those that may be overtaken, and those that may have overtaken others.
    eligible: Vec<Eligible>,
    started: Vec<Started>,
    /// Usage that we count ourselves: with half-life decay, and in windows.
    own: [Readings; 2],
    /// What was used in each of the books that have targets.
    own_of_books: Vec<Readings>,
    /// The usage that targets are compared with, likewise.
    usage: [TargetUsage; 2],
    /// The same in books.
    usage_of_books: Vec<TargetUsage>,
    /// The association at each place.
    nodes: Vec<Option<Node>>,
    /// Those that a cap may keep from starting.
    undecided: Vec<Undecided>,
    /// Jobs that run, where points of all jobs are compared and they have no draft.
    others: Vec<Queued>,
    others_granted: OtherPlaces,
    scopes: Arc<Scopes>,
    /// Jobs need not be read: all of an association have the same points.
    by_association: bool,
}

/// The points of the jobs of a cycle.
#[derive(Debug, Default)]
pub enum Given {
    /// There are none.
    #[default]
    Nothing,
    /// Of every draft, in the order of their ids.
    Each(Vec<i32>),
    /// By the places of associations.
    ByAssociation(Vec<i32>),
}

impl Given {
    /// It matters in which order the drafts are.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Self::Each(_))
    }

    /// Those of the draft number `at`, of an association.
    pub fn of(&self, at: usize, place: AssocPlace) -> Option<i32> {
        match self {
            Self::Nothing => None,
            Self::Each(all) => all.get(at).copied(),
            Self::ByAssociation(all) => all.get(place.index()).copied(),
        }
    }
}

impl PointsQueue {
    /// Begins to collect about `jobs` jobs at `now`, after what the last cycle knew. `kept` has the steps of distances of an earlier
    /// process, `totals` what the cluster has. `None` if the settings ask for no points.
    pub fn begin(
        before: Option<&PointsState>,
        config: &Config,
        totals: &[TresTotal],
        (jobs, now): (usize, i64),
        kept: impl FnOnce() -> (KeptSteps, Overtaken),
    ) -> Option<Self> {
        config.points?;
        let mut state = match before.filter(|before| before.is_of(&config.settings)) {
            Some(before) => before.clone(),
            None => PointsState::new(&config.settings)?.after(before),
        };
        state.know_kept(kept);
        // While slurmctld reads its TRES from the database anew there are none for a moment.
        if totals.iter().any(|total| total.count > 0) {
            state.reader = Reader::new(totals, &config.settings);
        }
        state.reader.counts_running = config.flags.calculate_running();
        let jobs = if config.points_by_association { 0 } else { jobs };
        let facts = if state.reads_facts() { jobs } else { 0 };
        Some(Self {
            by_association: config.points_by_association,
            others_granted: OtherPlaces::default(),
            scopes: Arc::default(),
            state,
            now,
            jobs: Vec::with_capacity(jobs),
            facts: Vec::with_capacity(facts),
            unknown: Facts::unknown(),
            by_address: FxHashMap::default(),
            last: None,
            eligible: Vec::new(),
            started: Vec::new(),
            own: Default::default(),
            own_of_books: Vec::new(),
            usage: Default::default(),
            usage_of_books: Vec::new(),
            nodes: Vec::new(),
            undecided: Vec::new(),
            others: Vec::new(),
        })
    }

    /// With how well time limits of users fit, where lines count that.
    pub fn with_accuracies(mut self, read: impl FnOnce() -> Accuracies) -> Self {
        if self.state.needs.accuracy {
            self.state.accuracies = Arc::new(read());
        }
        self
    }

    /// With the scopes of grants, if there are any.
    pub fn with_grants(mut self, read: impl FnOnce() -> (Arc<Scopes>, Arc<Effects>)) -> Self {
        if self.state.needs.grants {
            (self.scopes, self.state.effects) = read();
            self.others_granted = OtherPlaces::of(&self.scopes);
        }
        self
    }

    /// To be called whenever the locks were let go of.
    pub fn begin_hold(&mut self) {
        self.by_address.clear();
        self.last = None;
    }

    fn number(&mut self, partition: Partition<'_>) -> u32 {
        let address = partition.address();
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == address) {
            return number;
        }
        let (known, partitions) = (&mut self.by_address, &mut self.state.partitions);
        let number = || partitions.number(&partition.text(|part| part.name));
        let number = *known.entry(address).or_insert_with(number);
        self.last = Some((address, number));
        number
    }

    /// Whether a cap may keep a job from starting.
    pub fn may_stop<V: Levels<Qos: Open>>(&self, lock: &AssocLock<'_, V>, job: Job<'_>) -> bool {
        self.state.may_stop(lock, job)
    }

    /// A job has been read, with what became of its draft; `undecided` is one that a cap may keep from starting, with the books in which it waits.
    pub fn note<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        place: AssocPlace,
        drafted: Drafted,
        undecided: Option<BookSet>,
    ) {
        if self.by_association {
            return;
        }
        let none = || Queued {
            id: job.get(|job| job.job_id),
            facts: NONE,
            place,
            partition: NONE,
            qos: NONE,
            counts: false,
            grants: 0,
        };
        let queued = match drafted {
            Drafted::Nothing => return,
            Drafted::ToClear => None,
            // One for every draft, whatever happens.
            Drafted::Priority { .. } => attempt(|| self.read(lock, job, place)).flatten(),
        };
        if let (Some(waits), Some(queued)) = (undecided, &queued) {
            let limit = self.facts_of(queued).job().limit;
            let undecided = self.undecided(lock, job, (limit, waits));
            self.undecided.push(undecided);
        }
        self.jobs.push(queued.unwrap_or_else(none));
    }

    fn read<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        place: AssocPlace,
    ) -> Option<Queued> {
        let (needs, id) = (self.state.needs, job.get(|job| job.job_id));
        let facts = if self.state.reads_facts() {
            let asked = views::request(job, needs.course)?;
            self.facts.push(self.state.reader.facts(needs, id, &asked, self.now));
            u32::try_from(self.facts.len() - 1).unwrap_or(NONE)
        } else {
            NONE
        };
        let partition = job.partition().map_or(NONE, |partition| self.number(partition));
        let qos = if self.state.needs.qos || self.scopes.have_qos() { job.qos(lock) } else { None };
        let qos = qos.map_or(NONE, |qos| qos.get(|qos| qos.id));
        let grants = self.others_granted.number(job);
        Some(Queued { id, facts, place, partition, qos, counts: true, grants })
    }

    /// Reads a job that runs, where the points of all jobs are compared.
    pub fn note_running<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        place: impl FnOnce() -> AssocPlace,
    ) {
        let is_drafted = self.state.reader.counts_running;
        if self.state.needs.all_jobs() && !is_drafted && job.state().holds_resources() {
            let queued = self.read(lock, job, place());
            self.others.extend(queued);
        }
    }

    /// The Unix groups that lines name.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.state.core.group_names()
    }

    /// Reads the usage that we count ourselves, as this cycle has left it.
    pub fn read_own_usage(&mut self, own: &OwnUsage) {
        let PointsState { needs, settings, .. } = &self.state;
        let windows = Model::Windows { decay: settings.target_decay };
        let read = |wanted: bool, model| if wanted { own.readings(model) } else { None }.unwrap_or_default();
        self.own = [read(needs.targets, Model::HalfLife), read(needs.windows, windows)];
        let books = self.state.core.target_books();
        self.own_of_books = books.map(|book| own.readings_of_book(book, &settings.target_metric)).collect();
    }

    /// Takes how grants stand, as this cycle has left them.
    pub fn read_grants(&mut self, (scopes, effects): (Arc<Scopes>, Arc<Effects>)) {
        self.state.effects = effects;
        self.scopes = scopes;
    }

    /// Learns what associations, QOS and groups there are, where something is new, and what slurmctld knows of their usage.
    pub fn learn<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        standing: &Standing,
        waiting: &Waiting,
        groups: &Arc<Groups>,
    ) {
        self.nodes = standing.nodes(waiting);
        let (tree, usage) = standing.usage();
        let (mut qos, mut of_qos) = (Vec::new(), FxHashMap::default());
        if let Some(list) = lock.qos() {
            list.for_each_ro(|record| {
                let id = record.get(|qos| qos.id);
                qos.push((id, record.text(|qos| qos.name).into_owned()));
                of_qos.insert(id, record.usage().map_or(0.0, |usage| usage.get_ld(|u| u.usage_raw)));
            });
        }
        if self.state.needs.targets {
            self.usage = self.own.each_ref().map(|own| target_usage(own, standing));
        }
        self.usage_of_books = self.own_of_books.iter().map(|own| target_usage(own, standing)).collect();
        if self.state.settings.target_metric.eq_ignore_ascii_case("billing") {
            // What slurmctld counts itself.
            let [halflife, _] = &mut self.usage;
            (halflife.nodes, halflife.qos) = (usage.to_vec(), of_qos);
        }
        if self.state.needs.accuracy {
            let names = standing.names(lock);
            let percent = |node| self.state.accuracies.percent(names.of(node).user);
            self.state.accuracy_of = tree.nodes().map(percent).collect();
        }
        let state = &mut self.state;
        if state.needs.grants && !(state.grants.is_of(&self.scopes) && Arc::ptr_eq(&state.tree, tree)) {
            let names = standing.names(lock);
            state.grants =
                Arc::new(KnownGrants::of(&self.scopes, tree, standing.ids().map(|(_, node)| node), |node| {
                    names.of(node)
                }));
        }
        if Arc::ptr_eq(&state.tree, tree) && state.qos == qos && Arc::ptr_eq(&state.groups, groups) {
            return;
        }
        let names = standing.names(lock);
        let borrowed: Vec<(u32, &str)> = qos.iter().map(|(id, name)| (*id, name.as_str())).collect();
        state.core.learn(tree, |node| names.of(node), &borrowed, groups);
        (state.tree, state.qos, state.groups) = (Arc::clone(tree), qos, Arc::clone(groups));
    }

    /// The account above each one, where grants need it.
    pub fn parents(&self) -> &Arc<BTreeMap<String, String>> {
        &self.state.grants.parents
    }

    /// Weighs the targets, and gives the points of every job that has a draft. `ended` are those that have started and
    /// ended since the last cycle. No lock is needed.
    pub fn value(&mut self, ended: Vec<(Started, String)>) -> Given {
        if self.by_association {
            return Given::ByAssociation(self.by_association());
        }
        let state = &mut self.state;
        if state.needs.bypass {
            for (started, partition) in ended {
                self.started.push(Started { partition: state.partitions.number(&partition), ..started });
            }
            state.overtaken.note(&self.eligible, &self.started, self.now);
        }
        if state.needs.targets {
            state.core.weigh(&state.tree, &self.usage[0], &self.usage[1]);
            state.core.weigh_books(&state.tree, &self.usage_of_books);
        }
        self.jobs.sort_unstable_by_key(|job| job.id);
        let core = &self.state.core;
        let partitions = self.state.partitions.all().iter().map(|name| core.partition(name)).collect();
        // Mostly the next job has the same.
        let mut last = None;
        let qos = self.jobs.iter().chain(&self.others).map(|job| job.qos);
        let qos: FxHashSet<u32> = qos.filter(|qos| last.replace(*qos) != Some(*qos)).collect();
        let places = Places {
            partitions,
            qos: qos.into_iter().map(|id| (id, core.qos(id))).collect(),
            of_sets: self.state.granted_by_set(),
        };
        if self.state.needs.all_jobs() {
            let all = self.jobs.iter().chain(&self.others).filter(|job| job.counts);
            let all: Vec<PointsJob<'_>> = all.map(|job| self.job(job, &places)).collect();
            self.state.core.measure(all.into_iter());
        }
        let points =
            self.jobs.iter().map(
                |job| {
                    if job.counts {
                        self.state.core.value(&self.job(job, &places))
                    } else {
                        0
                    }
                },
            );
        Given::Each(points.collect())
    }

    /// The points of the jobs of each association.
    fn by_association(&mut self) -> Vec<i32> {
        let before = self.state.of_sets.take();
        let state = &self.state;
        let PointsState { grants, effects, .. } = state;
        let is_same =
            |of: &Arc<PointsOfSets>| Arc::ptr_eq(&of.grants, grants) && Arc::ptr_eq(&of.effects, effects);
        let of_sets = before.filter(is_same).unwrap_or_else(|| {
            let value = |granted| state.core.value(&PointsJob { granted, ..self.unknown.job() });
            Arc::new(PointsOfSets {
                points: state.granted_by_set().into_iter().flatten().map(value).collect(),
                others: value(Granted::default()),
                grants: Arc::clone(grants),
                effects: Arc::clone(effects),
            })
        });
        let of_node = |node| of_sets.points.get(of_sets.grants.set_of(node) as usize).copied();
        let points = self.nodes.iter().map(|node| node.and_then(of_node).unwrap_or(of_sets.others));
        let points = points.collect();
        self.state.of_sets = Some(of_sets);
        points
    }

    /// What was read of a job.
    fn facts_of(&self, queued: &Queued) -> &Facts {
        self.facts.get(queued.facts as usize).unwrap_or(&self.unknown)
    }

    /// What grants do to a job of an association in a partition, under a QOS.
    fn granted_in(&self, node: Option<Node>, queued: &Queued, qos: u32, partition: &str) -> Granted {
        let of_node = node.map_or(&[][..], |node| self.state.grants.of_node(node));
        self.state.granted(of_node.iter().chain(self.others_granted.set(queued.grants)), qos, partition)
    }

    /// The same in the partition that it has.
    fn granted(&self, node: Option<Node>, queued: &Queued, places: &Places) -> Granted {
        if !self.state.needs.grants {
            return Granted::default();
        }
        if let (Some(of_sets), Some(node)) = (&places.of_sets, node) {
            return of_sets.get(self.state.grants.set_of(node) as usize).copied().unwrap_or_default();
        }
        let names = self.state.partitions.all();
        let partition = names.get(queued.partition as usize).map_or("", String::as_str);
        self.granted_in(node, queued, queued.qos, partition)
    }

    /// A job as the engine takes it.
    fn job(&self, queued: &Queued, places: &Places) -> PointsJob<'static> {
        let node = self.nodes.get(queued.place.index()).copied().flatten();
        let facts = self.facts_of(queued);
        PointsJob {
            node,
            granted: self.granted(node, queued, places),
            partition: places.partitions.get(queued.partition as usize).copied().unwrap_or_default(),
            qos: places.qos.get(&queued.qos).copied().unwrap_or_default(),
            bypass: self.state.bypass(queued.id),
            accuracy: self.state.accuracy(node, None),
            group: self.state.core.group(facts.group),
            ..facts.job()
        }
    }

    /// The steps that distances from targets are in, where they count in steps.
    pub fn kept_steps(&self) -> Option<KeptSteps> {
        self.state.kept_steps()
    }

    /// The cycle is over.
    pub fn finish(mut self) -> PointsState {
        self.state.usage = Arc::new(self.usage);
        self.state.usage_of_books = Arc::new(self.usage_of_books);
        self.state
    }
}

/// Usage that we count ourselves, by the associations that there are.
fn target_usage(own: &Readings, standing: &Standing) -> TargetUsage {
    let Readings { associations, of_tree, qos, groups, partitions, all, capacity } = own;
    let mut nodes = vec![0.0; standing.usage().0.len()];
    for (id, node) in standing.ids() {
        nodes[node.index()] = associations.get(&id).copied().unwrap_or_default();
    }
    // With what associations have used that are gone.
    if let Some(root) = nodes.first_mut() {
        *root = *of_tree;
    }
    TargetUsage {
        nodes,
        qos: qos.clone(),
        groups: groups.clone(),
        partitions: partitions.clone(),
        all: *all,
        capacity: *capacity,
    }
}

//! Points of jobs (see [`multifactor2_core::policy::points`]): what the last cycle knew, and the facts of single jobs.
//!
//! A cycle reads the facts of every job with its draft ([`queue`]), weighs targets when usage is charged, and keeps the points with the
//! drafts. A submission uses what the last cycle knew. Points are a term next to the job's own site factor; no record holds them.

mod entries;
mod groups;
mod kept;
mod queue;
pub mod stopping;

use std::collections::HashMap;
use std::sync::Arc;

use super::grants::KnownGrants;
use super::names::Names;
use super::standing::Standing;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::Job;
use crate::host::views;
use multifactor2_accounting::accuracy::Accuracies;
use multifactor2_accounting::bypass::Overtaken;
use multifactor2_core::policy::points::{Needs, Points, PointsJob, Ranges, Reader, TargetUsage};
use multifactor2_core::policy::pools::{self, Named};
use multifactor2_core::rules::grants::{Effects, Granted};
use multifactor2_core::rules::targets::KeptSteps;
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, ShareTree};

use entries::OwnGrants;
pub use entries::PointsEntries;
pub use groups::GroupFinder;
pub use kept::NotedForPoints;
pub use queue::{Decided, Given, PointsQueue};

/// Ids of Unix groups by name, as far as they are known.
pub type Groups = HashMap<String, u32>;

/// What gives points, with priorities, targets and usage as of the last cycle.
#[derive(Clone, Debug)]
pub struct PointsState {
    core: Points,
    /// It has what an earlier process has kept.
    knows_kept: bool,
    /// The settings that it was made from.
    settings: Arc<Settings>,
    needs: Needs,
    /// The associations that it has learnt.
    tree: Arc<ShareTree>,
    /// The QOS that it has learnt.
    qos: Vec<(u32, String)>,
    groups: Arc<Groups>,
    reader: Reader,
    partitions: Names,
    overtaken: Overtaken,
    accuracies: Arc<Accuracies>,
    /// The same by association.
    accuracy_of: Vec<f64>,
    /// The usage that targets are compared with: with half-life decay, and in windows.
    usage: Arc<[TargetUsage; 2]>,
    /// The same in the books that have targets.
    usage_of_books: Arc<Vec<TargetUsage>>,
    /// Who is in which grants, and how they stand.
    grants: Arc<KnownGrants>,
    effects: Arc<Effects>,
    /// What grants alone give.
    of_sets: Option<Arc<PointsOfSets>>,
}

/// The points of jobs that have some from grants alone, by the sets of grants that they are in.
#[derive(Debug)]
struct PointsOfSets {
    grants: Arc<KnownGrants>,
    effects: Arc<Effects>,
    points: Vec<i32>,
    /// Of those who are in no grant that is known.
    others: i32,
}

/// The associations and Unix groups that names in lines were looked up by. Where they are the same, so is what was found.
#[derive(Debug)]
pub struct LookedUp {
    tree: Arc<ShareTree>,
    groups: Arc<Groups>,
}

impl LookedUp {
    /// Whether names are looked up by the same.
    pub fn is_of(&self, points: &PointsState) -> bool {
        Arc::ptr_eq(&self.tree, &points.tree) && Arc::ptr_eq(&self.groups, &points.groups)
    }
}

impl PointsState {
    /// Nothing is known yet but what the settings say; `None` where they ask for no points.
    pub fn new(settings: &Arc<Settings>) -> Option<Self> {
        let core = Points::configured(settings)?;
        Some(Self {
            needs: core.needs(),
            core,
            knows_kept: false,
            settings: Arc::clone(settings),
            tree: Arc::default(),
            qos: Vec::new(),
            groups: Arc::default(),
            reader: Reader::default(),
            partitions: Names::default(),
            overtaken: Overtaken::default(),
            accuracies: Arc::default(),
            accuracy_of: Vec::new(),
            usage: Arc::default(),
            usage_of_books: Arc::default(),
            grants: Arc::default(),
            effects: Arc::default(),
            of_sets: None,
        })
    }

    /// Goes on with what does not depend on settings: how many jobs have overtaken others.
    pub fn after(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.overtaken = before.overtaken.clone();
            if let Some(steps) = before.core.kept_steps() {
                self.core.restore_steps(&steps);
            }
            self.core.restore_ranges(*before.core.ranges());
            self.accuracies = Arc::clone(&before.accuracies);
            self.knows_kept = before.knows_kept;
        }
        self
    }

    /// The steps that distances from targets are in, where they count in steps.
    pub fn kept_steps(&self) -> Option<KeptSteps> {
        self.core.kept_steps()
    }

    /// Goes on with the steps of distances, and with how often jobs were overtaken, that an earlier process has saved, where it has not yet.
    fn know_kept(&mut self, kept: impl FnOnce() -> (KeptSteps, Overtaken)) {
        if !std::mem::replace(&mut self.knows_kept, true) {
            let (steps, overtaken) = kept();
            self.core.restore_steps(&steps);
            self.overtaken = overtaken;
        }
    }

    /// How often jobs were overtaken, where lines count that.
    pub fn counted(&self) -> Option<&Overtaken> {
        self.needs.bypass.then_some(&self.overtaken)
    }

    /// How well the time limits of the user of an association fit, in percent; 0 where no line counts that.
    fn accuracy(&self, node: Option<Node>, newcomer: Option<&(String, String)>) -> f64 {
        if !self.needs.accuracy {
            return 0.0;
        }
        let of_node = node.and_then(|node| self.accuracy_of.get(node.index()).copied());
        of_node.or_else(|| newcomer.map(|(user, _)| self.accuracies.percent(user))).unwrap_or_default()
    }

    /// Each user with how well the time limits fit, in percent, where lines count that.
    pub fn accuracies(&self) -> impl Iterator<Item = (&str, f64)> {
        let counts = self.needs.accuracy;
        self.accuracies.users().filter(move |_| counts).map(|(user, _)| (user, self.accuracies.percent(user)))
    }

    /// Whether it was made from these settings.
    pub fn is_of(&self, settings: &Arc<Settings>) -> bool {
        Arc::ptr_eq(&self.settings, settings) || self.settings == *settings
    }

    /// Something of jobs themselves is to be read in a cycle.
    fn reads_facts(&self) -> bool {
        self.needs.facts() || self.reader.counts_running
    }

    /// The names in all lines.
    pub fn named(&self) -> impl Iterator<Item = Named<'_>> {
        self.core.named()
    }

    /// The associations and Unix groups by which the names in lines are looked up.
    pub fn looked_up(&self) -> LookedUp {
        LookedUp { tree: Arc::clone(&self.tree), groups: Arc::clone(&self.groups) }
    }

    /// Whether targets count a TRES that the cluster does not have.
    pub fn lacks_metric(&self) -> bool {
        self.needs.targets && !self.reader.has_metric()
    }

    /// What all jobs of the last cycle had, where they are compared.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.needs.all_jobs().then(|| self.core.ranges())
    }

    /// How often other jobs have overtaken one, where lines count that.
    pub fn bypass(&self, id: u32) -> u32 {
        if self.needs.bypass {
            self.overtaken.count(id)
        } else {
            0
        }
    }

    /// What the targets of the last cycle went by, as far as there are targets for it: with half-life decay, in windows, and in each book that has
    /// some; and the associations that it is of.
    pub fn target_usage(&self) -> (Vec<(String, &TargetUsage)>, &Arc<ShareTree>) {
        let [halflife, windows] = &*self.usage;
        let Needs { targets, windows: has_windows, .. } = self.needs;
        let of_all = [("halflife", halflife, targets), ("window", windows, targets && has_windows)];
        let of_all = of_all
            .into_iter()
            .filter(|(.., counts)| *counts)
            .map(|(model, usage, _)| (model.to_owned(), usage));
        let books =
            self.core.target_books().map(|book| format!("book {book}")).zip(self.usage_of_books.iter());
        (of_all.chain(books).collect(), &self.tree)
    }

    /// The Unix groups that lines name, as far as they are known, with their numbers.
    pub fn groups(&self) -> impl Iterator<Item = (&str, u32)> {
        self.core.group_names().filter_map(|name| Some((name, *self.groups.get(name)?)))
    }

    /// User and account of a job whose association is newer than the last cycle, so that it has no [`Self::node`].
    pub fn newcomer<A: Open, V: Levels<Assoc: Open>>(
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
    ) -> Option<(String, String)> {
        let association = job.association(lock)?;
        let user = association.text(|assoc| assoc.user).into_owned();
        Some((user, association.text(|assoc| assoc.acct).into_owned()))
    }

    /// The association of a job, where the last cycle knew it.
    pub fn node<A: Open>(&self, standing: &Standing, job: Job<'_, A>) -> Option<Node> {
        let (address, id) = job.named_association();
        if address == 0 {
            return None;
        }
        standing.node_in(&self.tree, id)
    }

    /// What grants do to a job in a partition: those at some places, and those of a QOS.
    fn granted<'p>(
        &'p self,
        places: impl IntoIterator<Item = &'p u32>,
        qos: u32,
        partition: &str,
    ) -> Granted {
        if self.effects.is_empty() {
            return Granted::default();
        }
        let name = || self.qos.iter().find(|(id, _)| *id == qos).map(|(_, name)| name.as_str());
        let of_qos = if self.grants.scopes.have_qos() { name() } else { None };
        let of_qos = of_qos.map_or(&[][..], |name| self.grants.scopes.of_qos(name));
        self.effects.granted(places.into_iter().chain(of_qos).copied(), partition)
    }

    /// What grants do to jobs by the sets of their nodes; `None` where something else of a job matters, too.
    fn granted_by_set(&self) -> Option<Vec<Granted>> {
        let scopes = &self.grants.scopes;
        let is_enough =
            self.needs.grants && !scopes.have_qos() && !scopes.have_others() && !self.effects.have_filters();
        let sets = || self.grants.sets().map(|set| self.effects.granted(set.iter().copied(), "")).collect();
        is_enough.then(sets)
    }

    /// The grants of a job but for those of QOS. Points without grants need none of this code.
    #[inline(never)]
    #[allow(clippy::unnecessary_box_returns)] // it is moved with the points
    fn own_grants<'s, A: Open, V: Levels<Qos: Open>>(
        &'s self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        (node, newcomer): (Option<Node>, Option<&(String, String)>),
        partition: &str,
    ) -> Box<OwnGrants<'s>> {
        let places = self.grants.of_job(job, node, newcomer);
        let qos = job.qos(lock).map(|qos| qos.get(|qos| qos.id)).unwrap_or_default();
        let partition = if self.effects.have_filters() { partition.to_owned() } else { String::new() };
        Box::new(OwnGrants { places, partition, qos })
    }

    /// The points of a job of an association as of `now`, in the partition and QOS that it has, and in others. `None` where slurmctld has dropped its
    /// details. No list of the job's may be walked at the moment.
    pub fn entries<'s, A: Open, V: Levels<Qos: Open>>(
        &'s self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        (node, newcomer): (Option<Node>, Option<&'s (String, String)>),
        now: i64,
    ) -> Option<PointsEntries<'s>> {
        let job = job.read_only();
        let facts = self.reader.facts(
            self.needs,
            job.get(|job| job.job_id),
            &views::request(job, self.needs.course)?,
            now,
        );
        let partition = job.partition().map(|partition| partition.text(|part| part.name));
        let partition = partition.as_deref().unwrap_or_default();
        let grants = if self.needs.grants {
            Some(self.own_grants(lock, job, (node, newcomer), partition))
        } else {
            None
        };
        let points = PointsJob {
            node,
            newcomer: newcomer.map(|(user, account)| pools::Names { user, account }),
            partition: self.core.partition(partition),
            qos: job.qos(lock).map(|qos| self.core.qos(qos.get(|qos| qos.id))).unwrap_or_default(),
            granted: grants
                .as_ref()
                .map_or_else(Granted::default, |grants| self.granted(&*grants.places, grants.qos, partition)),
            group: self.core.group(facts.group),
            bypass: self.bypass(facts.id),
            accuracy: self.accuracy(node, newcomer),
            ..facts.job()
        };
        Some(PointsEntries::new(self, points, job, grants))
    }
}

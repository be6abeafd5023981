//! Points of jobs (see [`multifactor2_core::policy::points`]): what the last cycle knew, and the facts of single jobs.
//!
//! A cycle reads the facts of every job with its draft ([`queue`]), weighs targets when usage is charged, and puts the points beside
//! the drafts. A submission asks with what the last cycle knew. Points are a term next to the job's own site factor: no record holds them.

mod entries;
mod groups;
mod queue;
pub mod stopping;

use std::collections::HashMap;
use std::sync::Arc;

use super::names::Names;
use super::standing::Standing;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::Job;
use crate::host::views;
use multifactor2_core::policy::points::bypass::Overtaken;
use multifactor2_core::policy::points::{Needs, Points, PointsJob, Reader, TargetUsage};
use multifactor2_core::policy::pools::{self, Named};
use multifactor2_core::rules::targets::KeptSteps;
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, ShareTree};

pub use entries::PointsEntries;
pub use groups::GroupFinder;
pub use queue::{Decided, PointsQueue};

/// Ids of Unix groups by name, as far as they are known.
pub type Groups = HashMap<String, u32>;

/// What gives points, with priorities, targets and usage as of the last cycle.
#[derive(Clone, Debug)]
pub struct PointsState {
    core: Points,
    /// It has the steps of an earlier process.
    knows_steps: bool,
    /// The settings that it was made from.
    settings: Settings,
    needs: Needs,
    /// The associations that it has learnt.
    tree: Arc<ShareTree>,
    /// The QOS that it has learnt.
    qos: Vec<(u32, String)>,
    groups: Arc<Groups>,
    reader: Reader,
    partitions: Names,
    overtaken: Overtaken,
    /// What targets go by: with half-life decay, and in windows.
    usage: Arc<[TargetUsage; 2]>,
}

impl PointsState {
    /// Nothing is known yet but what the settings say; `None` where they ask for no points.
    pub fn new(settings: &Settings) -> Option<Self> {
        let core = Points::configured(settings)?;
        Some(Self {
            needs: core.needs(),
            core,
            knows_steps: false,
            settings: settings.clone(),
            tree: Arc::default(),
            qos: Vec::new(),
            groups: Arc::default(),
            reader: Reader::default(),
            partitions: Names::default(),
            overtaken: Overtaken::default(),
            usage: Arc::default(),
        })
    }

    /// Goes on with what does not depend on settings: how many jobs have overtaken others.
    pub fn after(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.overtaken = before.overtaken.clone();
            if let Some(steps) = before.core.kept_steps() {
                self.core.restore_steps(&steps);
            }
            self.knows_steps = before.knows_steps;
        }
        self
    }

    /// The steps that distances from targets are in, where they count in steps.
    pub fn kept_steps(&self) -> Option<KeptSteps> {
        self.core.kept_steps()
    }

    /// Goes on with the steps of distances that an earlier process has saved, where it has not yet.
    fn know_steps(&mut self, kept: impl FnOnce() -> KeptSteps) {
        if !std::mem::replace(&mut self.knows_steps, true) {
            self.core.restore_steps(&kept());
        }
    }

    /// Whether it was made from these settings.
    pub fn is_of(&self, settings: &Settings) -> bool {
        self.settings == *settings
    }

    /// The names in all lines.
    pub fn named(&self) -> impl Iterator<Item = Named<'_>> {
        self.core.named()
    }

    /// Whether targets count a TRES that the cluster does not have.
    pub fn lacks_metric(&self) -> bool {
        self.needs.targets && !self.reader.has_metric()
    }

    /// How often other jobs have overtaken one, where lines count that.
    pub fn bypass(&self, id: u32) -> u32 {
        if self.needs.bypass {
            self.overtaken.count(id)
        } else {
            0
        }
    }

    /// What the targets of the last cycle went by, with half-life decay and in windows, as far as there are targets for either; and the
    /// associations that it is of.
    pub fn target_usage(&self) -> ([Option<&TargetUsage>; 2], &Arc<ShareTree>) {
        let [halflife, windows] = &*self.usage;
        let Needs { targets, windows: has_windows, .. } = self.needs;
        ([targets.then_some(halflife), (targets && has_windows).then_some(windows)], &self.tree)
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
        let facts = self.reader.facts(self.needs, job.get(|job| job.job_id), &views::request(job)?, now);
        let partition = job.partition().map(|partition| partition.text(|part| part.name));
        let points = PointsJob {
            node,
            newcomer: newcomer.map(|(user, account)| pools::Names { user, account }),
            partition: self.core.partition(partition.as_deref().unwrap_or_default()),
            qos: job.qos(lock).map(|qos| self.core.qos(qos.get(|qos| qos.id))).unwrap_or_default(),
            group: self.core.group(facts.group),
            bypass: self.bypass(facts.id),
            ..facts.job()
        };
        Some(PointsEntries::new(self, points, job))
    }
}

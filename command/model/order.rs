//! The order in which slurmctld looks at waiting jobs. Its queue has one slot for each partition of a job, and `sort_job_queue2` in
//! `src/slurmctld/job_scheduler.c` of Slurm 26.05 compares two slots step by step.
//!
//! Two things are unknown here. One is expedited requeue, which comes before all steps. The other is which partitions share nodes: with
//! `PreemptType=preempt/partition_prio` all are assumed to share some. Backfill decides afterwards which jobs start.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Deref;

use multifactor2_snapshot::records::Job;
use schemars::JsonSchema;
use serde::Serialize;

use super::config::{HetPriority, Preemption};
use super::{Addends, Model};

/// What decides between two slots, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// One may preempt the other.
    Preemption,
    /// One has a reservation.
    Reservation,
    /// `PriorityTier` of the partition.
    PriorityTier,
    /// The priority there.
    Priority,
    /// The earlier submission.
    SubmitTime,
    /// The lower job id; of an array its own.
    JobId,
    /// The lower array task.
    ArrayTask,
    /// Nothing: they are the same.
    Nothing,
}

impl Step {
    /// In words, as in "decided by ...".
    pub fn described(self) -> &'static str {
        match self {
            Self::Preemption => "preemption: one may preempt the other",
            Self::Reservation => "the reservation: jobs with one come first",
            Self::PriorityTier => "PriorityTier of the partition",
            Self::Priority => "the priority",
            Self::SubmitTime => "the time of submission",
            Self::JobId => "the job id",
            Self::ArrayTask => "the array task",
            Self::Nothing => "nothing",
        }
    }
}

/// A job in one of its partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// The place of the job in the snapshot.
    pub job: usize,
    /// Which of its entries; `None` if it has only one partition and QOS.
    pub entry: Option<usize>,
    /// The priority there.
    pub priority: u32,
    /// `PriorityTier` of the partition.
    pub tier: u32,
    /// The job, or under `bf_hetjob_prio` a component of its heterogeneous job, has a reservation.
    pub has_reservation: bool,
    /// The tier is that of the partition; 1 where the partition is not told.
    has_tier: bool,
    /// The place of its QOS.
    qos: Option<usize>,
    submit: i64,
    id: u32,
    task: u32,
    /// Tier, priority and reservation of another heterogeneous job, see `bf_hetjob_prio`.
    het: Option<(u32, Het)>,
}

/// What all components of a heterogeneous job count with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Het {
    priority: u32,
    tier: u32,
    has_reservation: bool,
}

/// All slots that can be seen, in their order. What is between two of them is not known, nor what is before the first.
#[derive(Clone, Debug, Default)]
pub struct VisibleQueue {
    /// The first is looked at first.
    pub slots: Vec<Slot>,
}

/// All slots that there are, in their order. Only this has places.
#[derive(Clone, Debug, Default)]
pub struct WholeQueue(VisibleQueue);

impl Deref for WholeQueue {
    type Target = VisibleQueue;

    fn deref(&self) -> &VisibleQueue {
        &self.0
    }
}

/// Why there is no [`WholeQueue`], and what can be seen.
#[derive(Clone, Debug)]
pub struct PartialQueue {
    /// What can be seen.
    pub visible: VisibleQueue,
    /// Why it is not all.
    pub why: Unknown,
}

/// Why something is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// What kind of reason it is.
    pub kind: UnknownKind,
    /// The reason in plain language.
    pub sentence: String,
}

/// What kind of reason there is for not knowing something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownKind {
    /// `PrivateData` hides it from who asked.
    Hidden,
    /// Nobody asked Slurm for it.
    NotAsked,
    /// Slurm was asked and did not say.
    NotAnswered,
}

/// Tasks that have not left their array.
const NO_TASK: u32 = 0xffff_fffe;

impl Model<'_> {
    /// The queue: all jobs that may be started, in the order in which slurmctld looks at them.
    ///
    /// # Errors
    /// Not all of them are known, or not everything that decides their order. Then there are no places.
    pub fn queue(&self) -> Result<WholeQueue, PartialQueue> {
        let visible = self.visible_queue();
        match self.lacks(&visible) {
            None => Ok(WholeQueue(visible)),
            Some(why) => Err(PartialQueue { visible, why }),
        }
    }

    /// Why a queue is not the whole one.
    fn lacks(&self, queue: &VisibleQueue) -> Option<Unknown> {
        let about = &self.snapshot.about;
        if about.partial_queue || !about.queue_unknown.is_empty() {
            let kind = match about.queue_unknown.as_str() {
                "hidden" => UnknownKind::Hidden,
                "not_asked" => UnknownKind::NotAsked,
                _ => UnknownKind::NotAnswered,
            };
            let sentence = match about.queue_because.as_str() {
                "" => "Not all waiting jobs are in this snapshot.",
                because => because,
            };
            return Some(Unknown { kind, sentence: sentence.to_owned() });
        }
        queue.slots.iter().find_map(|slot| self.order_lacks(slot, &queue.slots[0]))
    }

    /// What is not known that decides between two slots.
    pub fn order_lacks(&self, a: &Slot, b: &Slot) -> Option<Unknown> {
        let (of_a, of_b) = (self.partition_of(a), self.partition_of(b));
        if let Some((_, name)) =
            [(a, of_a), (b, of_b)].into_iter().find(|(slot, _)| !slot.has_tier && of_a != of_b)
        {
            let hides = self.snapshot.is_private("partitions");
            return Some(Unknown {
                kind: if hides { UnknownKind::Hidden } else { UnknownKind::NotAnswered },
                sentence: format!(
                    "{}the PriorityTier of partition {name} is not known, and it decides before the priority.",
                    if hides { "PrivateData=partitions hides partitions: " } else { "" }
                ),
            });
        }
        let by_qos = self.config.preemption == Preemption::Qos && !self.snapshot.about.knows_preemption;
        if by_qos && (a.qos != b.qos || a.qos.is_none()) {
            let asked = self.snapshot.about.source == "plugin";
            return Some(Unknown {
                kind: if asked { UnknownKind::NotAsked } else { UnknownKind::NotAnswered },
                sentence: "PreemptType=preempt/qos decides before the priority, but which QOS preempts which is not known: only \
                 'sacctmgr show qos' shows it."
                    .to_owned(),
            });
        }
        None
    }

    /// What can be seen of the queue.
    fn visible_queue(&self) -> VisibleQueue {
        let tiers: HashMap<&str, u32> = self
            .snapshot
            .partitions
            .iter()
            .map(|partition| (partition.name.as_str(), partition.tier))
            .collect();
        let qos: HashMap<&str, usize> =
            self.snapshot.qos.iter().enumerate().map(|(at, qos)| (qos.name.as_str(), at)).collect();
        let het = self.het_jobs(&tiers);
        let mut slots = Vec::with_capacity(self.jobs.len());
        for (place, (job, rank)) in self.snapshot.jobs.iter().zip(&self.jobs).enumerate() {
            if !rank.is_eligible || rank.is_stopped {
                continue;
            }
            let mut add = |entry: Option<usize>, partition: &str, of_qos: &str, priority| {
                let task: Option<u32> = job.array_tasks.parse().ok();
                slots.push(Slot {
                    job: place,
                    entry,
                    priority,
                    tier: tiers.get(partition).copied().unwrap_or(1),
                    has_tier: tiers.contains_key(partition),
                    has_reservation: !job.reservation.is_empty(),
                    qos: qos.get(of_qos).copied(),
                    submit: job.submit,
                    id: if task.is_some() { job.array_job } else { job.id },
                    task: task.unwrap_or(NO_TASK),
                    het: het.get(&job.het_job).map(|of_all| (job.het_job, *of_all)),
                });
            };
            if rank.entries.is_empty() {
                add(None, &job.partition, &job.qos, rank.priority);
            }
            for (at, entry) in rank.entries.iter().enumerate() {
                add(Some(at), &entry.partition, &entry.qos, entry.priority);
            }
        }
        if self.config.preemption == Preemption::Off {
            slots.sort_by(|a, b| self.compare_slots(a, b).0);
        } else {
            // May-preempt need not be an order: A before B before C before A is possible, which no sort of the library allows.
            slots = merge_sorted(slots, &|a, b| self.compare_slots(a, b).0);
        }
        VisibleQueue { slots }
    }

    /// Over all entries of all components, as backfill works it out; a component that is held holds all.
    fn het_jobs(&self, tiers: &HashMap<&str, u32>) -> HashMap<u32, Het> {
        let Some(rule) = self.config.het_priority else { return HashMap::new() };
        let tier = |partition: &str| tiers.get(partition).copied().unwrap_or(1);
        let mut all: HashMap<u32, (Vec<u32>, Vec<u32>, bool)> = HashMap::new();
        for (job, rank) in self.snapshot.jobs.iter().zip(&self.jobs).filter(|(job, _)| job.het_job != 0) {
            let (priorities, tiers, has_reservation) = all.entry(job.het_job).or_default();
            *has_reservation |= !job.reservation.is_empty();
            if rank.entries.is_empty() {
                priorities.push(rank.priority);
                tiers.push(tier(&job.partition));
            }
            for entry in &rank.entries {
                priorities.push(entry.priority);
                tiers.push(tier(&entry.partition));
            }
        }
        let reduce = |values: &[u32]| match rule {
            HetPriority::Min => values.iter().copied().min().unwrap_or_default(),
            HetPriority::Max => values.iter().copied().max().unwrap_or_default(),
            HetPriority::Avg => {
                let sum: u64 = values.iter().copied().map(u64::from).sum();
                u32::try_from(sum / (values.len() as u64).max(1)).unwrap_or(u32::MAX)
            }
        };
        let het = |(id, (priorities, tiers, has_reservation)): (u32, (Vec<u32>, Vec<u32>, bool))| {
            let priority = if priorities.contains(&0) { 0 } else { reduce(&priorities) };
            (id, Het { priority, tier: reduce(&tiers), has_reservation })
        };
        all.into_iter().map(het).collect()
    }

    /// Which of two slots comes first (`Less`: the first), and what decides.
    pub fn compare_slots(&self, a: &Slot, b: &Slot) -> (Ordering, Step) {
        let (of_a, of_b) = (a.against(b), b.against(a));
        let steps = [
            (Step::Preemption, self.preempts(b, a).cmp(&self.preempts(a, b))),
            (Step::Reservation, of_b.has_reservation.cmp(&of_a.has_reservation)),
            (Step::PriorityTier, of_b.tier.cmp(&of_a.tier)),
            (Step::Priority, of_b.priority.cmp(&of_a.priority)),
            (Step::SubmitTime, a.submit.cmp(&b.submit)),
            (Step::JobId, a.id.cmp(&b.id)),
            (Step::ArrayTask, a.task.cmp(&b.task)),
        ];
        let decided = steps.into_iter().find(|(_, order)| order.is_ne());
        decided.map_or((Ordering::Equal, Step::Nothing), |(step, order)| (order, step))
    }

    /// Whether one may preempt the other while both wait.
    fn preempts(&self, one: &Slot, other: &Slot) -> bool {
        let is_higher = self.job_priority(one) > self.job_priority(other);
        match self.config.preemption {
            Preemption::Off => false,
            Preemption::PartitionPriority => {
                one.tier > other.tier && (!self.config.preempts_by_priority || one.priority >= other.priority)
            }
            Preemption::Qos => {
                let (Some(one), Some(other)) = (one.qos, other.qos) else { return false };
                let (one, other) = (&self.snapshot.qos[one], &self.snapshot.qos[other]);
                if one.name == other.name {
                    return self.config.preempts_within && is_higher;
                }
                one.preempt.contains(&other.name) && (!self.config.preempts_by_priority || is_higher)
            }
        }
    }

    fn job_priority(&self, slot: &Slot) -> u32 {
        self.jobs[slot.job].priority
    }

    /// What the priority of a slot is made of.
    pub fn addends_of(&self, slot: &Slot) -> Option<Addends> {
        self.jobs[slot.job].addends(slot.entry, self.recomputed)
    }

    /// The name of the partition of a slot.
    pub fn partition_of(&self, slot: &Slot) -> &str {
        match slot.entry {
            Some(entry) => &self.jobs[slot.job].entries[entry].partition,
            None => &self.snapshot.jobs[slot.job].partition,
        }
    }

    /// The record of the job of a slot.
    pub fn job_of(&self, slot: &Slot) -> &Job {
        &self.snapshot.jobs[slot.job]
    }
}

impl Slot {
    /// What counts in a comparison with another slot: that of all components, where the other is not one of them.
    fn against(&self, other: &Self) -> Het {
        let own = Het { priority: self.priority, tier: self.tier, has_reservation: self.has_reservation };
        match (self.het, other.het) {
            (Some((id, of_all)), other) if other.is_none_or(|(other, _)| other != id) => of_all,
            _ => own,
        }
    }
}

impl VisibleQueue {
    /// The first slot of a job.
    pub fn first_of(&self, job: usize) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.job == job)
    }
}

impl WholeQueue {
    /// The slots of a job, with their places from 0.
    pub fn places(&self, job: usize) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(move |(_, slot)| slot.job == job)
    }

    /// How many slots a partition has.
    pub fn count_in(&self, model: &Model<'_>, partition: &str) -> usize {
        self.slots.iter().filter(|slot| model.partition_of(slot) == partition).count()
    }

    /// The slots of the same partition that are before a place.
    pub fn before(&self, model: &Model<'_>, at: usize) -> Vec<&Slot> {
        let partition = model.partition_of(&self.slots[at]);
        self.slots[..at].iter().filter(|slot| model.partition_of(slot) == partition).collect()
    }
}

/// What can be seen, of a queue that may be whole.
pub fn visible(queue: &Result<WholeQueue, PartialQueue>) -> &VisibleQueue {
    match queue {
        Ok(whole) => whole,
        Err(partial) => &partial.visible,
    }
}

/// A stable sort by a comparison that need not be an order.
fn merge_sorted<T>(mut items: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let right = items.split_off(items.len() / 2);
    let mut merged = Vec::with_capacity(items.len() + right.len());
    let mut left = merge_sorted(items, compare).into_iter().peekable();
    let mut right = merge_sorted(right, compare).into_iter().peekable();
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(first), Some(second)) if compare(second, first).is_lt() => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };
        let Some(next) = next else { return merged };
        merged.push(next);
    }
}

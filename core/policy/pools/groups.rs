//! Groups of waiting jobs. Within a group jobs are ordered by the tickets that they have so far, then by nice value and accrue time, then
//! by job id.

use std::cmp::Ordering;
use std::ops::Range;

use super::WaitingJob;
use crate::ties::rank;

/// A job in its group. It has a copy of what orders it, because reading the job itself for every comparison would cost more than the sort.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupPlace {
    /// The [`rank`] of its tickets so far.
    before: i64,
    order: u64,
    /// The job's id.
    pub id: u32,
    /// Its index.
    pub job: u32,
}

impl GroupPlace {
    /// Who comes first. No two are equal.
    fn compare(&self, other: &Self) -> Ordering {
        let by_tickets = other.before.cmp(&self.before);
        by_tickets.then_with(|| (self.order, self.id, self.job).cmp(&(other.order, other.id, other.job)))
    }
}

/// Places of jobs, group by group.
#[derive(Debug, Default)]
pub(super) struct Groups {
    places: Vec<GroupPlace>,
    /// Where each group begins; one more than there are groups.
    begins: Vec<u32>,
}

impl Groups {
    /// `group` says in which of `count` groups the job at an index is; `None` leaves it out. `before` are tickets that come first
    /// in the order. The jobs of a group are in no order until it is put in [`Self::sort`].
    pub(super) fn of(
        jobs: &[WaitingJob],
        count: usize,
        before: Option<&[f64]>,
        group: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let mut begins = vec![0_u32; count + 1];
        for group in (0..jobs.len()).filter_map(&group) {
            begins[group + 1] += 1;
        }
        for at in 0..count {
            begins[at + 1] += begins[at];
        }
        let mut next = begins.clone();
        let nowhere = GroupPlace { before: 0, order: 0, id: 0, job: 0 };
        let mut places = vec![nowhere; begins[count] as usize];
        for ((at, job), index) in jobs.iter().enumerate().zip(0..) {
            if let Some(group) = group(at) {
                let before = before.map_or(0, |before| rank(before[at]));
                places[next[group] as usize] =
                    GroupPlace { before, order: job.order, id: job.id, job: index };
                next[group] += 1;
            }
        }
        Self { places, begins }
    }

    /// With all groups in their orders.
    pub(super) fn sorted(mut self) -> Self {
        for group in 0..self.count() {
            self.sort(group);
        }
        self
    }

    /// Puts the jobs of a group in their order.
    pub(super) fn sort(&mut self, group: usize) {
        let places = &mut self.places[range(&self.begins, group)];
        // Jobs come by their ids, which mostly is their order already.
        if !places.is_sorted_by(|a, b| a.compare(b).is_le()) {
            places.sort_unstable_by(GroupPlace::compare);
        }
    }

    /// The first job of a group, also of one that is not sorted.
    pub(super) fn head(&self, group: usize) -> Option<GroupPlace> {
        self.group(group).iter().copied().min_by(GroupPlace::compare)
    }

    /// How many groups there are, empty ones included.
    pub(super) fn count(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// The jobs of a group.
    pub(super) fn group(&self, group: usize) -> &[GroupPlace] {
        &self.places[range(&self.begins, group)]
    }

    /// The jobs of all groups, one group after the other.
    pub(super) fn all(&self) -> &[GroupPlace] {
        &self.places
    }

    /// Where the jobs of some groups are among all.
    pub(super) fn range(&self, groups: Range<usize>) -> Range<usize> {
        self.begins[groups.start] as usize..self.begins[groups.end] as usize
    }
}

fn range(begins: &[u32], group: usize) -> Range<usize> {
    begins[group] as usize..begins[group + 1] as usize
}

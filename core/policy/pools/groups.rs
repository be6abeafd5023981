//! Waiting jobs in groups, each group in the order in which its jobs come: by the tickets that they have so far, then by nice
//! value and accrue time, then by job id.

use std::cmp::Ordering;

use super::WaitingJob;

/// Indices of jobs, group by group.
#[derive(Debug, Default)]
pub struct Groups {
    jobs: Vec<u32>,
    /// Where each group begins; one more than there are groups.
    begins: Vec<u32>,
}

impl Groups {
    /// `group` says in which of `count` groups the job at an index is; `None` leaves it out. `before` are tickets that come first
    /// in the order.
    pub fn of(
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
        let mut grouped = vec![0_u32; begins[count] as usize];
        for (job, index) in (0..jobs.len()).zip(0..) {
            if let Some(group) = group(job) {
                grouped[next[group] as usize] = index;
                next[group] += 1;
            }
        }
        let compare = |a: &u32, b: &u32| order(jobs, before, *a as usize, *b as usize);
        let mut groups = Self { jobs: grouped, begins };
        for at in 0..count {
            let group = groups.range(at);
            // Jobs come by their ids, which mostly is their order already: the sort sees that.
            groups.jobs[group].sort_by(compare);
        }
        groups
    }

    fn range(&self, group: usize) -> std::ops::Range<usize> {
        self.begins[group] as usize..self.begins[group + 1] as usize
    }

    /// How many groups there are, empty ones included.
    pub fn count(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// The indices of the jobs of a group.
    pub fn group(&self, group: usize) -> &[u32] {
        &self.jobs[self.range(group)]
    }
}

fn order(jobs: &[WaitingJob], before: Option<&[f64]>, a: usize, b: usize) -> Ordering {
    let first = before.map_or(Ordering::Equal, |before| before[b].total_cmp(&before[a]));
    let (a, b) = (&jobs[a], &jobs[b]);
    first.then_with(|| a.order.cmp(&b.order)).then_with(|| a.id.cmp(&b.id))
}

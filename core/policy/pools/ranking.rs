//! Who comes next where several groups of jobs claim tickets: the head of the group that claims most, of equal ones the smallest
//! job id. So Grid Engine ranks waiting jobs for override and functional tickets.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::groups::Groups;
use super::WaitingJob;

/// The claim of a group's head, as it was when it was computed.
#[derive(Debug, Clone, Copy)]
struct Claim {
    tickets: f64,
    id: u32,
    group: u32,
}

impl Ord for Claim {
    /// The larger claim first, then the smaller job id.
    fn cmp(&self, other: &Self) -> Ordering {
        self.tickets.total_cmp(&other.tickets).then_with(|| other.id.cmp(&self.id))
    }
}

impl PartialOrd for Claim {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Claim {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Claim {}

/// Heads of groups by what they claim. Claims may fall while others win, but never rise: one that is out of date is computed
/// again only when it comes to the top.
#[derive(Debug)]
pub struct Ranking<'r> {
    jobs: &'r [WaitingJob],
    groups: &'r Groups,
    /// How many of each group have won.
    won: Vec<u32>,
    heads: BinaryHeap<Claim>,
}

impl<'r> Ranking<'r> {
    /// `claim` gives what a job, by its index, claims of the tickets of its group.
    pub fn new(jobs: &'r [WaitingJob], groups: &'r Groups, claim: impl Fn(usize, usize) -> f64) -> Self {
        let mut ranking = Self {
            jobs,
            groups,
            won: vec![0; groups.count()],
            heads: BinaryHeap::with_capacity(groups.count()),
        };
        for group in 0..groups.count() {
            ranking.heads.extend(ranking.head(group, &claim));
        }
        ranking
    }

    fn head(&self, group: usize, claim: impl Fn(usize, usize) -> f64) -> Option<Claim> {
        let job = *self.groups.group(group).get(self.won[group] as usize)? as usize;
        let number = u32::try_from(group).ok()?;
        Some(Claim { tickets: claim(group, job), id: self.jobs[job].id, group: number })
    }

    /// The next winner, as group and index of the job.
    pub fn next(&mut self, claim: impl Fn(usize, usize) -> f64) -> Option<(usize, usize)> {
        loop {
            let top = self.heads.pop()?;
            let group = top.group as usize;
            let now = self.head(group, &claim)?;
            if now < top {
                self.heads.push(now);
                continue;
            }
            let job = self.groups.group(group)[self.won[group] as usize] as usize;
            self.won[group] += 1;
            self.heads.extend(self.head(group, &claim));
            return Some((group, job));
        }
    }

    /// The jobs of a group that have not won, in their order.
    pub fn left(&self, group: usize) -> &'r [u32] {
        &self.groups.group(group)[self.won[group] as usize..]
    }
}

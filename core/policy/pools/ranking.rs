//! Finds the next job when several groups of jobs claim tickets: the head of the group with the largest claim or, if claims are equal, the
//! smallest job id. Grid Engine ranks waiting jobs for override and functional tickets in this way.
//!
//! A group claims what its objects give to the next job, plus what its head claims by itself. The winner takes a job of all its objects,
//! and then all groups with one of these claim less. So groups are the leaves of a tree whose branches are objects, with those of most
//! groups next to the root. An object that many groups share is then one branch or few, and what it gives does not affect the order of the
//! groups on it. A change costs one path to the root instead of a look at every group.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::groups::Groups;
use crate::ties::rank;

/// An object of a group, with the shares that the group has in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The object by a number.
    pub object: u32,
    /// Shares, where they are not the object's own.
    pub shares: f64,
}

/// The best claim of some groups.
#[derive(Clone, Copy, Debug)]
struct Best {
    tickets: f64,
    /// What ties on paper ties in whatever order it was added up.
    rank: i64,
    /// The id of the job.
    id: u32,
    group: u32,
}

impl Best {
    /// Of nobody.
    const NONE: Self = Self { tickets: f64::NEG_INFINITY, rank: i64::MIN, id: u32::MAX, group: u32::MAX };

    /// With these tickets.
    fn with(self, tickets: f64) -> Self {
        Self { tickets, rank: rank(tickets), ..self }
    }

    /// The larger claim, else the smaller job id.
    fn of(a: Self, b: Self) -> Self {
        if (a.rank, Reverse(a.id)) >= (b.rank, Reverse(b.id)) {
            a
        } else {
            b
        }
    }

    fn is(self, other: Self) -> bool {
        (self.tickets.to_bits(), self.id, self.group) == (other.tickets.to_bits(), other.id, other.group)
    }
}

/// Where something is among what is on a branch.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    branch: u32,
    /// Its place in [`Ranking::best`].
    place: u32,
}

/// An object under those that more groups have; the first branch is the root, and is no object.
#[derive(Clone, Copy, Debug)]
struct Branch {
    part: Part,
    seat: Seat,
    /// What the object gives.
    gives: f64,
    /// Where the best claims of what is on it begin, and how many there are.
    begin: u32,
    width: u32,
}

/// Groups of jobs as the leaves of a tree of what they have in common, to find the next job.
#[derive(Debug)]
pub(super) struct Ranking {
    groups: Groups,
    /// How many of each group have won.
    won: Vec<u32>,
    seats: Vec<Seat>,
    /// Those that are on a branch come after it.
    branches: Vec<Branch>,
    /// The branches of every object, and where those of each begin.
    of_object: (Vec<u32>, Vec<u32>),
    /// Of every branch a tree of claims, whose leaves are what is on the branch: the place `n` has the better of `2n` and `2n + 1`.
    best: Vec<Best>,
}

impl Ranking {
    /// `parts` are the objects of a group, by numbers below `objects`. `own` is what a group's head claims in addition, by group and index
    /// of the job. Call [`Self::refresh`] next.
    pub(super) fn new<P: Iterator<Item = Part>>(
        groups: Groups,
        objects: usize,
        parts: impl Fn(usize) -> P,
        own: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let mut users = vec![0_u32; objects];
        for group in 0..groups.count() {
            parts(group).for_each(|part| users[part.object as usize] += 1);
        }
        let root = Branch {
            part: Part { object: 0, shares: 0.0 },
            seat: Seat::default(),
            gives: 0.0,
            begin: 0,
            width: 0,
        };
        let mut branches = vec![root];
        let mut known: FxHashMap<(u32, u32, u64), u32> = FxHashMap::default();
        let mut path: Vec<Part> = Vec::new();
        let mut seats = Vec::with_capacity(groups.count());
        for group in 0..groups.count() {
            path.clear();
            path.extend(parts(group));
            path.sort_unstable_by_key(|part| (Reverse(users[part.object as usize]), part.object));
            let mut branch = 0_u32;
            for part in &path {
                let key = (branch, part.object, part.shares.to_bits());
                branch = *known.entry(key).or_insert_with(|| {
                    let seat = sit(&mut branches, branch);
                    branches.push(Branch { part: *part, seat, ..root });
                    number(branches.len() - 1)
                });
            }
            seats.push(sit(&mut branches, branch));
        }
        let mut end = 0;
        for branch in &mut branches {
            branch.begin = end;
            end += 2 * branch.width;
        }
        // So far a seat has its number among those of its branch.
        let firsts: Vec<u32> = branches.iter().map(|branch| branch.begin + branch.width).collect();
        for seat in branches.iter_mut().map(|branch| &mut branch.seat).chain(&mut seats) {
            seat.place += firsts[seat.branch as usize];
        }
        let best = vec![Best::NONE; end as usize];
        let of_object = by_object(&branches, objects);
        let mut ranking = Self { won: vec![0; groups.count()], groups, seats, branches, of_object, best };
        for group in 0..ranking.count() {
            let (seat, claim) = (ranking.seats[group], ranking.claim(group, &own));
            ranking.best[seat.place as usize] = claim;
        }
        ranking
    }

    /// Computes all claims again: `gives` is what an object gives to the next job.
    pub(super) fn refresh(&mut self, gives: impl Fn(Part) -> f64) {
        for (at, branch) in self.branches.iter_mut().enumerate().rev() {
            let (begin, width) = (branch.begin as usize, branch.width as usize);
            for place in (1..width).rev() {
                self.best[begin + place] =
                    Best::of(self.best[begin + 2 * place], self.best[begin + 2 * place + 1]);
            }
            if at > 0 {
                branch.gives = gives(branch.part);
                let best = self.best[begin + 1];
                self.best[branch.seat.place as usize] = best.with(best.tickets + branch.gives);
            }
        }
    }

    /// An object gives something else from here on.
    pub(super) fn change(&mut self, object: u32, gives: impl Fn(Part) -> f64) {
        let (begins, all) = &self.of_object;
        let changed = begins[object as usize] as usize..begins[object as usize + 1] as usize;
        for branch in &all[changed.clone()] {
            let branch = &mut self.branches[*branch as usize];
            branch.gives = gives(branch.part);
        }
        for at in changed {
            let branch = self.of_object.1[at];
            self.rise(branch);
        }
    }

    /// The next winner, as group and index of the job. What its objects give is still to be changed.
    pub(super) fn next(&mut self, own: impl Fn(usize, usize) -> f64) -> Option<(usize, usize)> {
        let group = self.best_on(0).group as usize;
        if group >= self.groups.count() {
            return None;
        }
        if self.won[group] == 0 {
            self.groups.sort(group);
        }
        let job = self.groups.group(group)[self.won[group] as usize].job as usize;
        self.won[group] += 1;
        let (seat, claim) = (self.seats[group], self.claim(group, &own));
        if self.set(seat, claim) {
            self.rise(seat.branch);
        }
        Some((group, job))
    }

    /// The jobs of a group that have not won, by index, in no order.
    pub(super) fn left(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        self.groups.group(group)[self.won[group] as usize..].iter().map(|place| place.job as usize)
    }

    /// How many groups there are, empty ones included.
    pub(super) fn count(&self) -> usize {
        self.groups.count()
    }

    /// What a group's head claims by itself.
    fn claim(&self, group: usize, own: impl Fn(usize, usize) -> f64) -> Best {
        let head = match self.won[group] {
            0 => self.groups.head(group),
            won => self.groups.group(group).get(won as usize).copied(),
        };
        head.map_or(Best::NONE, |head| {
            Best { id: head.id, group: number(group), ..Best::NONE }.with(own(group, head.job as usize))
        })
    }

    /// The best claim on a branch, with what its object gives.
    fn best_on(&self, branch: u32) -> Best {
        let Branch { begin, width, gives, .. } = self.branches[branch as usize];
        if width == 0 {
            return Best::NONE;
        }
        let best = self.best[begin as usize + 1];
        best.with(best.tickets + gives)
    }

    /// Notes a claim in its seat, and what is the best on the branch then. True where the best is another one.
    fn set(&mut self, seat: Seat, claim: Best) -> bool {
        self.best[seat.place as usize] = claim;
        let Branch { begin, width, .. } = self.branches[seat.branch as usize];
        let best = &mut self.best[begin as usize..(begin + 2 * width) as usize];
        let mut place = (seat.place - begin) as usize;
        while place > 1 {
            place /= 2;
            let better = Best::of(best[2 * place], best[2 * place + 1]);
            if better.is(best[place]) {
                return false;
            }
            best[place] = better;
        }
        true
    }

    /// Carries the best claim on a branch to the root.
    fn rise(&mut self, mut branch: u32) {
        while branch != 0 {
            let (seat, claim) = (self.branches[branch as usize].seat, self.best_on(branch));
            if !self.set(seat, claim) {
                return;
            }
            branch = seat.branch;
        }
    }
}

/// A new seat on a branch, with its number there as its place.
fn sit(branches: &mut [Branch], branch: u32) -> Seat {
    let width = &mut branches[branch as usize].width;
    *width += 1;
    Seat { branch, place: *width - 1 }
}

/// The branches of every object.
fn by_object(branches: &[Branch], objects: usize) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0_u32; objects + 1];
    for branch in &branches[1..] {
        begins[branch.part.object as usize + 1] += 1;
    }
    for at in 0..objects {
        begins[at + 1] += begins[at];
    }
    let mut next = begins.clone();
    let mut all = vec![0; branches.len() - 1];
    for (branch, at) in branches.iter().zip(0..).skip(1) {
        let next = &mut next[branch.part.object as usize];
        all[*next as usize] = at;
        *next += 1;
    }
    (begins, all)
}

/// An index of a group or of a branch; there are no more of them than jobs and objects.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

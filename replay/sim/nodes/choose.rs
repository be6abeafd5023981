//! Chooses the nodes of a job by the rule of Slurm's `cons_tres` without a topology (`_eval_nodes` in `job_test.c` of 20.11 to 24.05,
//! `_eval_nodes_consec` in `eval_nodes.c` later).
//!
//! Adjacent usable nodes of the same weight are a set. Among sets of the lowest weight that are large enough, the one with the fewest CPUs
//! is taken; if none is large enough, the largest. A job for one node gets the one with the fewest CPUs that suffice; other jobs fill nodes
//! from the first on. Sets are taken until the job has all it needs. From 26.05 on a job for one node gets the first one of the lowest
//! weight that can take it (`_get_one_res` in `job_test.c`).

use fixedbitset::FixedBitSet;

use super::free::{Free, Part};
use crate::workload::{Setup, Want};

/// Nodes side by side.
#[derive(Clone, Copy, Debug)]
struct Set {
    first: usize,
    last: usize,
    nodes: i32,
    cpus: i64,
    weight: i64,
}

/// What is wanted, and the nodes that may be taken.
#[derive(Clone, Copy, Debug)]
pub struct Search<'s> {
    pub setup: &'s Setup<'s>,
    pub nodes: &'s FixedBitSet,
    pub want: Want,
    pub partition: u16,
}

/// Chooses nodes, and has buffers for it.
#[derive(Debug, Default)]
pub struct Chooser {
    /// A job for one node gets the first that can take it.
    takes_the_first: bool,
    /// CPUs of each node that the job could use.
    usable: Vec<i32>,
    /// How many nodes have any, and how many CPUs they have together.
    nodes: i32,
    cpus: i64,
    sets: Vec<Set>,
    gres: Vec<(usize, i32)>,
    chosen: Vec<(usize, i32)>,
}

impl Chooser {
    /// `takes_the_first`: a job for one node gets the first that can take it.
    pub fn new(takes_the_first: bool) -> Self {
        Self { takes_the_first, ..Self::default() }
    }

    /// The parts that a job gets of some nodes, given what is free; `None` if it does not fit. `last` says of a node that it is taken after
    /// all others.
    pub fn choose(
        &mut self,
        search: &Search<'_>,
        free: &Free,
        last: impl Fn(usize) -> bool,
    ) -> Option<Vec<Part>> {
        self.look(search, free);
        self.chosen(search, free, last)
    }

    /// Looks at all nodes of a search.
    fn look(&mut self, search: &Search<'_>, free: &Free) {
        self.gres.clear();
        self.gres.extend(search.setup.gres_each(search.want, search.partition));
        self.usable.resize(free.cpus.len(), 0);
        let (mut nodes, mut all) = (0, 0);
        for node in search.nodes.ones() {
            let cpus = self.usable(search.setup, free, node, search.want);
            self.usable[node] = cpus;
            nodes += i32::from(cpus > 0);
            all += i64::from(cpus);
        }
        (self.nodes, self.cpus) = (nodes, all);
    }

    /// Looks at a node of the search again, of which something else is free than before.
    pub fn look_at(&mut self, search: &Search<'_>, free: &Free, node: usize) {
        let cpus = self.usable(search.setup, free, node, search.want);
        let before = std::mem::replace(&mut self.usable[node], cpus);
        self.nodes += i32::from(cpus > 0) - i32::from(before > 0);
        self.cpus += i64::from(cpus) - i64::from(before);
    }

    /// The same as [`Self::choose`], of what was looked at.
    pub fn chosen(
        &mut self,
        search: &Search<'_>,
        free: &Free,
        last: impl Fn(usize) -> bool,
    ) -> Option<Vec<Part>> {
        let &Search { setup, want, .. } = search;
        // Mostly too little is free, and to add it up is all that it takes to know.
        if self.nodes < want.nodes || !want.whole && self.cpus < i64::from(want.cpus) {
            return None;
        }
        self.find_sets(search, last);
        let is_for_one = want.nodes == 1 && !want.spreads;
        if !(if is_for_one && self.takes_the_first { self.take_the_first(want) } else { self.fill(want) }) {
            return None;
        }
        let memory =
            |cpus: i32| if want.spreads { want.memory.saturating_mul(cpus.into()) } else { want.memory };
        let part = |(node, cpus): &(usize, i32)| Part {
            node: u32::try_from(*node).unwrap_or_default(),
            pool: setup.machine.nodes[*node].pool,
            cpus: *cpus,
            memory: memory(*cpus),
            gres: if self.gres.is_empty() { Vec::new() } else { free.gres_of(*node, &self.gres) },
        };
        Some(self.chosen.iter().map(part).collect())
    }

    /// CPUs of a node that a job could use.
    fn usable(&self, setup: &Setup<'_>, free: &Free, node: usize, want: Want) -> i32 {
        let cpus = free.cpus[node];
        if cpus < least(want) {
            return 0;
        }
        if !self.gres.is_empty() || want.whole || want.spreads {
            return self.usable_for_more(setup, free, node, want);
        }
        match want.each {
            _ if free.memory[node] < want.memory => 0,
            0 => cpus,
            each => each,
        }
    }

    /// The same of a job that wants generic resources, whole nodes, or any number of nodes.
    fn usable_for_more(&self, setup: &Setup<'_>, free: &Free, node: usize, want: Want) -> i32 {
        let cpus = free.cpus[node];
        if self.gres.iter().any(|(kind, count)| free.gres(node, *kind) < *count) {
            return 0;
        }
        if want.whole {
            return if free.jobs[node] == 0 {
                i32::try_from(setup.machine.nodes[node].cpus).unwrap_or(i32::MAX)
            } else {
                0
            };
        }
        if !want.spreads && free.memory[node] < want.memory {
            return 0;
        }
        if want.each > 0 {
            return want.each;
        }
        // Of a node with generic resources only the cores count that its tasks need (`gres_select_filter_sock_core`).
        if !want.spreads {
            return want.cpus;
        }
        if want.memory > 0 {
            return cpus.min(i32::try_from(free.memory[node] / want.memory).unwrap_or(i32::MAX));
        }
        cpus
    }

    fn find_sets(&mut self, search: &Search<'_>, last: impl Fn(usize) -> bool) {
        self.sets.clear();
        for node in search.nodes.ones() {
            let cpus = self.usable[node];
            if cpus <= 0 {
                continue;
            }
            let weight = (i64::from(search.setup.machine.nodes[node].weight) << 16) + i64::from(last(node));
            match self.sets.last_mut() {
                Some(set) if set.last + 1 == node && set.weight == weight => {
                    set.last = node;
                    set.nodes += 1;
                    set.cpus += i64::from(cpus);
                }
                _ => self.sets.push(Set { first: node, last: node, nodes: 1, cpus: cpus.into(), weight }),
            }
        }
    }

    /// The best set for what is still wanted.
    fn best(&self, cpus: i64, nodes: i32) -> Option<usize> {
        let mut best: Option<(usize, Set, bool)> = None;
        for (at, set) in self.sets.iter().enumerate().filter(|(_, set)| set.nodes > 0) {
            let is_enough = set.cpus >= cpus && set.nodes >= nodes;
            let is_better = match &best {
                None => true,
                Some((_, before, was_enough)) => {
                    set.weight < before.weight
                        || set.weight == before.weight
                            && (is_enough && (!was_enough || set.cpus < before.cpus)
                                || !is_enough && set.cpus > before.cpus)
                }
            };
            if is_better {
                best = Some((at, *set, is_enough));
            }
        }
        best.map(|(at, ..)| at)
    }

    /// Takes nodes until the job has all that it wants.
    fn fill(&mut self, want: Want) -> bool {
        self.chosen.clear();
        // Whole nodes have as many CPUs as they have.
        let mut cpus = i64::from(if want.whole { want.nodes } else { want.cpus });
        let mut nodes = want.nodes;
        let mut most = if want.spreads { i32::MAX } else { want.nodes };
        while most > 0 {
            let Some(at) = self.best(cpus, nodes) else { break };
            let Set { first, last, .. } = self.sets[at];
            let single = (nodes <= 1).then(|| self.tightest(first, last, cpus)).flatten();
            let (first, last) = single.map_or((first, last), |node| (node, node));
            for node in first..=last {
                if most == 0 || nodes <= 0 && cpus <= 0 {
                    break;
                }
                let usable = i64::from(self.usable[node]);
                if most == 1 && usable < cpus {
                    continue;
                }
                let used = if want.whole { usable } else { usable.min(cpus - i64::from(nodes - 1).max(0)) };
                self.chosen.push((node, i32::try_from(used).unwrap_or(i32::MAX)));
                cpus -= used;
                nodes -= 1;
                most -= 1;
            }
            if nodes <= 0 && cpus <= 0 {
                return true;
            }
            self.sets[at].nodes = 0;
        }
        false
    }

    /// Takes the first node of the lowest weight that has all that the job wants.
    fn take_the_first(&mut self, want: Want) -> bool {
        self.chosen.clear();
        let is_enough = |node: &usize| want.whole || self.usable[*node] >= want.cpus;
        let first = |set: &Set| (set.first..=set.last).find(is_enough).map(|node| (set.weight, node));
        let Some((_, node)) = self.sets.iter().filter_map(first).min() else { return false };
        self.chosen.push((node, if want.whole { self.usable[node] } else { want.cpus }));
        true
    }

    /// The node of a set with the fewest CPUs that are enough.
    fn tightest(&self, first: usize, last: usize, cpus: i64) -> Option<usize> {
        let enough = (first..=last).filter(|node| i64::from(self.usable[*node]) >= cpus);
        enough.min_by_key(|node| self.usable[*node])
    }
}

/// The fewest CPUs of a node that a job can use: a node that cannot take all tasks of a job for one node is none (`_select_cores`).
fn least(want: Want) -> i32 {
    let least = match want {
        Want { whole: true, .. } => 1,
        Want { nodes: 1, spreads: false, cpus, .. } => cpus,
        Want { each, .. } => each,
    };
    least.max(1)
}

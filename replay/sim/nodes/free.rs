//! What is free on each node.

use crate::workload::Machine;

/// What a job has of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The node.
    pub node: u32,
    /// Its pool.
    pub pool: u16,
    /// CPUs.
    pub cpus: i32,
    /// MB of memory.
    pub memory: i64,
    /// Generic resources: kinds, and how many.
    pub gres: Vec<(usize, i32)>,
}

/// What is free, by node.
#[derive(Clone, Debug, Default)]
pub struct Free {
    pub cpus: Vec<i32>,
    /// MB; `None` in all of a machine whose memory does not count would be the same as much.
    pub memory: Vec<i64>,
    /// How many jobs are there.
    pub jobs: Vec<u32>,
    /// For each node, by kind.
    gres: Vec<i32>,
    kinds: usize,
    /// Kinds that are a type of another: `gpu:a100` of `gpu`.
    types: Vec<(usize, usize)>,
}

impl Free {
    /// All of it.
    pub fn new(machine: &Machine) -> Self {
        let number = |count: &u32| i32::try_from(*count).unwrap_or(i32::MAX);
        let types = machine.gres.iter().enumerate().filter_map(|(kind, name)| {
            let whole = name.split_once(':')?.0;
            Some((kind, machine.gres.iter().position(|of| of == whole)?))
        });
        Self {
            cpus: machine.nodes.iter().map(|node| number(&node.cpus)).collect(),
            // Where it is not known it does not run out.
            memory: machine
                .nodes
                .iter()
                .map(|node| {
                    if node.memory == 0 {
                        i64::MAX / 2
                    } else {
                        i64::try_from(node.memory).unwrap_or(i64::MAX / 2)
                    }
                })
                .collect(),
            jobs: vec![0; machine.nodes.len()],
            gres: machine.nodes.iter().flat_map(|node| node.gres.iter().map(number)).collect(),
            kinds: machine.gres.len(),
            types: types.collect(),
        }
    }

    /// Becomes what another is.
    pub fn copy(&mut self, other: &Self) {
        self.cpus.clone_from(&other.cpus);
        self.memory.clone_from(&other.memory);
        self.jobs.clone_from(&other.jobs);
        self.gres.clone_from(&other.gres);
        self.kinds = other.kinds;
    }

    /// How many a node has of a kind of generic resource.
    pub fn gres(&self, node: usize, kind: usize) -> i32 {
        self.gres[node * self.kinds + kind]
    }

    /// All that a node has of generic resources of these kinds. A job that requests a type also takes one of the whole, and a job that
    /// requests no type takes from the existing types.
    pub fn gres_of(&self, node: usize, wanted: &[(usize, i32)]) -> Vec<(usize, i32)> {
        let mut taken = wanted.to_vec();
        for (kind, count) in wanted {
            if let Some((_, whole)) = self.types.iter().find(|(of, _)| of == kind) {
                if !wanted.iter().any(|(of, _)| of == whole) {
                    taken.push((*whole, *count));
                }
                continue;
            }
            let types = || self.types.iter().filter(|(_, whole)| whole == kind).map(|(of, _)| *of);
            let mut left = *count
                - wanted
                    .iter()
                    .filter(|(of, _)| types().any(|t| t == *of))
                    .map(|(_, count)| count)
                    .sum::<i32>();
            for of in types().filter(|of| !wanted.iter().any(|(wanted, _)| wanted == of)) {
                let part = self.gres(node, of).clamp(0, left.max(0));
                if part > 0 {
                    taken.push((of, part));
                    left -= part;
                }
            }
        }
        taken
    }

    /// A job gets something of a node.
    pub fn take(&mut self, part: &Part) {
        self.change(part, -1);
        self.jobs[part.node as usize] += 1;
        debug_assert!(
            self.has_no_debts(part.node as usize),
            "more of a node is taken than there is: {part:?}"
        );
    }

    /// A job gives it back.
    pub fn give(&mut self, part: &Part) {
        self.change(part, 1);
        self.jobs[part.node as usize] -= 1;
    }

    /// The same of a part without generic resources.
    pub fn give_plain(&mut self, node: usize, cpus: i32, memory: i64) {
        self.cpus[node] += cpus;
        self.memory[node] += memory;
        self.jobs[node] -= 1;
    }

    fn has_no_debts(&self, node: usize) -> bool {
        let gres = &self.gres[node * self.kinds..(node + 1) * self.kinds];
        self.cpus[node] >= 0 && self.memory[node] >= 0 && gres.iter().all(|count| *count >= 0)
    }

    fn change(&mut self, part: &Part, sign: i32) {
        let node = part.node as usize;
        self.cpus[node] += sign * part.cpus;
        self.memory[node] += i64::from(sign) * part.memory;
        for (kind, count) in &part.gres {
            self.gres[node * self.kinds + kind] += sign * count;
        }
    }
}

//! What a job holds: CPUs of pools, or parts of nodes.

use std::rc::Rc;

use super::nodes::Part;

/// CPUs of pools; most jobs hold those of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Of one pool.
    One(u16, i32),
    /// Of several.
    Several(Box<[(u16, i32)]>),
    /// Parts of nodes.
    Nodes(Rc<[Part]>),
}

impl Allocation {
    /// Takes CPUs from pools in their order, where `most` says how many each has. `None` if they have too few.
    pub fn take(pools: &[u16], cpus: i32, most: impl Fn(u16) -> i32) -> Option<Self> {
        if let [pool] = pools {
            return (most(*pool) >= cpus).then_some(Self::One(*pool, cpus));
        }
        let mut left = cpus;
        let mut parts = Vec::new();
        for pool in pools {
            let part = most(*pool).clamp(0, left);
            if part > 0 {
                parts.push((*pool, part));
                left -= part;
            }
        }
        if left > 0 {
            return None;
        }
        Some(match parts.as_slice() {
            [(pool, cpus)] => Self::One(*pool, *cpus),
            _ => Self::Several(parts.into()),
        })
    }

    /// Each pool with its CPUs.
    pub fn for_each(&self, mut call: impl FnMut(u16, i32)) {
        match self {
            Self::One(pool, cpus) => call(*pool, *cpus),
            Self::Several(parts) => parts.iter().for_each(|(pool, cpus)| call(*pool, *cpus)),
            Self::Nodes(parts) => parts.iter().for_each(|part| call(part.pool, part.cpus)),
        }
    }
}

//! Finds the association with an id in the list and in the tree.

use multifactor2_core::ShareTree;
use rustc_hash::FxHashMap;

use super::waiting::Entry;

/// Position by association id, with the address, so that one look tells both. Ids grow with every association that was ever
/// added, so a plain table serves unless they are very sparse.
#[derive(Clone, Debug)]
pub enum Index {
    Dense(Vec<Slot>),
    Sparse(FxHashMap<u32, Slot>),
}

impl Default for Index {
    fn default() -> Self {
        Self::Dense(Vec::new())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// 0 where there is no association.
    pub address: usize,
    /// Position in the list of associations.
    pub at: u32,
    /// Index in the tree, beyond its end for an association that is not in it. Known here, a submission looks in one table
    /// less.
    pub node: u32,
}

impl Index {
    const NONE: Slot = Slot { address: 0, at: 0, node: u32::MAX };

    /// Of a list, and the tree that was built from it.
    pub fn of(entries: &[Entry], tree: &ShareTree) -> Self {
        let slots = entries.iter().zip(0..).map(|(entry, at)| {
            let node = tree.position(at as usize).and_then(|node| u32::try_from(node.index()).ok());
            (entry.facts.id, Slot { address: entry.address, at, node: node.unwrap_or(u32::MAX) })
        });
        let largest = entries.iter().map(|entry| entry.facts.id as usize).max().unwrap_or(0);
        if largest > 2 * entries.len() + 65_536 {
            return Self::Sparse(slots.collect());
        }
        let mut table = vec![Self::NONE; largest + 1];
        for (id, slot) in slots {
            table[id as usize] = slot;
        }
        Self::Dense(table)
    }

    /// The association with an id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<Slot> {
        let slot = match self {
            Self::Dense(table) => table.get(id as usize),
            Self::Sparse(map) => map.get(&id),
        };
        slot.copied().filter(|slot| slot.address != Self::NONE.address)
    }
}

#[cfg(test)]
mod tests {
    use multifactor2_core::facts;

    use super::*;

    #[test]
    fn ids_are_found_dense_and_sparse() {
        for ids in [vec![5, 1, 9], vec![5, 4_000_000_000, 9]] {
            let entry = |id: &u32| Entry {
                address: 64 + *id as usize,
                parent: 0,
                facts: facts::Association { id: *id, shares: 1, user: true },
            };
            let index = Index::of(&ids.iter().map(entry).collect::<Vec<_>>(), &ShareTree::default());
            let found = |id: u32| index.get(id).map(|slot| (slot.address, slot.at));
            for (at, id) in (0..).zip(&ids) {
                assert_eq!(found(*id), Some((64 + *id as usize, at)));
            }
            assert_eq!(found(7), None);
            assert_eq!(found(u32::MAX), None);
        }
    }
}

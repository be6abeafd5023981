//! Generic resources that jobs hold. A few kinds and sets of them recur, so each is kept once.

use std::collections::HashMap;

use slurm_text::tres;

use super::builder::MOST_SETS;
use super::Names;

/// Kinds with how many of each, by place in the kinds.
type Set = Box<[(u16, u32)]>;

/// All kinds, and all sets of them that jobs hold.
#[derive(Clone, Debug)]
pub struct Gres {
    /// What they are called, such as `gpu` and `gpu:a100`.
    pub kinds: Names,
    sets: Vec<Set>,
    places: HashMap<Set, u16>,
}

impl Default for Gres {
    /// With the empty set in the first place.
    fn default() -> Self {
        Self {
            kinds: Names::default(),
            sets: vec![Set::default()],
            places: HashMap::from([(Set::default(), 0)]),
        }
    }
}

impl Gres {
    /// What of a list of TRES, such as `cpu=4,gres/gpu=2`, are generic resources. Of more sets than are kept the rest is empty.
    pub(super) fn intern(&mut self, list: &str) -> u16 {
        if !list.contains("gres/") {
            return 0;
        }
        let mut set: Vec<(u16, u32)> = Vec::new();
        for (name, amount) in tres::list(list) {
            let Some(kind) = name.strip_prefix("gres/") else { continue };
            let is_full = self.kinds.len() >= MOST_SETS;
            let place = if is_full { self.kinds.find(kind) } else { Some(self.kinds.intern(kind)) };
            if let Some(place) = place.and_then(|place| u16::try_from(place).ok()).filter(|_| amount > 0) {
                set.push((place, u32::try_from(amount).unwrap_or(u32::MAX)));
            }
        }
        set.sort_unstable();
        let set: Set = set.into();
        if let Some(place) = self.places.get(&set) {
            return *place;
        }
        let Some(place) = u16::try_from(self.sets.len()).ok().filter(|_| self.sets.len() < MOST_SETS) else {
            return 0;
        };
        self.sets.push(set.clone());
        self.places.insert(set, place);
        place
    }

    /// A set of a job.
    pub fn set(&self, place: u16) -> &[(u16, u32)] {
        &self.sets[usize::from(place)]
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// No job holds any.
    pub fn is_empty(&self) -> bool {
        self.sets.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_sets_are_one() {
        let mut gres = Gres::default();
        assert_eq!(gres.intern("cpu=4,mem=1G"), 0);
        let one = gres.intern("cpu=4,gres/gpu=2,gres/gpu:a100=2,mem=1G");
        assert_eq!(gres.intern("gres/gpu:a100=2,gres/gpu=2"), one);
        assert_eq!(gres.set(one), [(0, 2), (1, 2)]);
        assert_eq!((gres.kinds.name(1), gres.len()), ("gpu:a100", 2));
    }
}

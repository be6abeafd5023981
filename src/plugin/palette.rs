//! Values that many jobs have in common, each kept once: of a million jobs every byte counts.

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// Which value of a [`Palette`] is meant.
pub type Index = u16;

/// Values that many jobs have in common, each once.
#[derive(Debug)]
pub struct Palette<K, V> {
    values: Vec<V>,
    /// So many of them have lost their keys.
    forgotten: usize,
    known: FxHashMap<K, Index>,
    /// Those that were asked for last, each at a place that its hash says: mostly there are few keys, and one look finds each, whatever
    /// order they come in.
    last: [Option<(K, Index)>; LAST],
}

/// Keys that one look finds.
const LAST: usize = 16;

/// Where one look finds a key.
fn at<K: Hash>(key: &K) -> usize {
    // The upper bits of this hash are the good ones.
    usize::try_from(FxBuildHasher.hash_one(key) >> 32).unwrap_or(0) % LAST
}

impl<K: Copy + Eq + Hash, V: Copy + Default + PartialEq> Palette<K, V> {
    /// Empty.
    pub fn new() -> Self {
        Self { values: Vec::new(), forgotten: 0, known: FxHashMap::default(), last: [None; LAST] }
    }

    /// Keys may mean something else from here on.
    pub fn forget_keys(&mut self) {
        self.known.clear();
        self.forgotten = self.values.len();
        self.last = [None; LAST];
    }

    /// The place of a key's value; `None` where there are too many values.
    #[inline]
    pub fn place(&mut self, key: K, value: impl FnOnce() -> V) -> Option<Index> {
        match self.last[at(&key)] {
            Some((last, index)) if last == key => Some(index),
            _ => self.place_among_all(key, value),
        }
    }

    fn place_among_all(&mut self, key: K, value: impl FnOnce() -> V) -> Option<Index> {
        let index = match self.known.get(&key).copied() {
            None => self.add(key, value())?,
            Some(index) => index,
        };
        self.last[at(&key)] = Some((key, index));
        Some(index)
    }

    fn add(&mut self, key: K, value: V) -> Option<Index> {
        let same = self.values[..self.forgotten].iter().position(|known| *known == value);
        let at = same.unwrap_or(self.values.len());
        let index = Index::try_from(at).ok()?;
        if at == self.values.len() {
            self.values.push(value);
        }
        self.known.insert(key, index);
        Some(index)
    }

    /// The value at a place.
    #[inline]
    pub fn get(&self, index: Index) -> V {
        self.values.get(usize::from(index)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record may be where another was that was removed while the locks were let go of.
    #[test]
    fn a_key_may_mean_another_value_once_keys_were_forgotten() {
        let mut palette: Palette<usize, u32> = Palette::new();
        let [one, two] = [(64, 1), (128, 2)].map(|(key, value)| palette.place(key, || value).unwrap());
        assert_eq!(palette.place(64, || unreachable!()), Some(one));
        palette.forget_keys();
        let three = palette.place(64, || 3).unwrap();
        assert_eq!(
            [one, two, three].map(|at| palette.get(at)),
            [1, 2, 3],
            "jobs that were read keep what they have"
        );
        assert_eq!(palette.place(192, || 2), Some(two), "each value is kept once");
    }
}

//! Values that many jobs have in common, each kept once: of a million jobs every byte counts.

use std::hash::Hash;

use multifactor2_core::books::BookAt;
use rustc_hash::FxHashMap;

/// Which value of a [`Palette`] is meant.
pub type Index = u16;

/// The place of no value, where there are too many.
pub const NOWHERE: Index = Index::MAX;

/// What values are found by. Mostly there are few keys, and one look finds each, whatever order they come in.
pub trait Key: Copy + Default + Eq + Hash {
    /// Tells some keys from others.
    fn bits(self) -> usize;
}

/// Bits of an address that differ among records of one size.
fn bits_of_address(address: usize) -> usize {
    address >> 4 ^ address >> 9
}

impl Key for (usize, BookAt) {
    fn bits(self) -> usize {
        bits_of_address(self.0) ^ self.1.index()
    }
}

impl Key for (usize, u32) {
    fn bits(self) -> usize {
        bits_of_address(self.0) ^ self.1 as usize
    }
}

impl Key for (u32, u32) {
    fn bits(self) -> usize {
        (self.0 ^ self.1) as usize
    }
}

/// Values that many jobs have in common, each once.
#[derive(Debug)]
pub struct Palette<K, V> {
    values: Vec<V>,
    /// So many of them have lost their keys.
    forgotten: usize,
    known: FxHashMap<K, Index>,
    /// Those that were asked for last, each at a place that its key says; [`NOWHERE`] where there is none.
    last: [(K, Index); LAST],
}

/// Keys that one look finds.
const LAST: usize = 32;

impl<K: Key, V: Copy + Default + PartialEq> Palette<K, V> {
    /// Empty.
    pub fn new() -> Self {
        let last = [(K::default(), NOWHERE); LAST];
        Self { values: Vec::new(), forgotten: 0, known: FxHashMap::default(), last }
    }

    /// Keys may mean something else from here on.
    pub fn forget_keys(&mut self) {
        self.known.clear();
        self.forgotten = self.values.len();
        self.last = [(K::default(), NOWHERE); LAST];
    }

    /// The place of a key's value; [`NOWHERE`] where there are too many values.
    #[inline]
    pub fn place(&mut self, key: K, value: impl FnOnce() -> V) -> Index {
        let (last, index) = &self.last[key.bits() % LAST];
        if *last == key && *index != NOWHERE {
            *index
        } else {
            self.place_among_all(key, value)
        }
    }

    #[inline(never)]
    fn place_among_all(&mut self, key: K, value: impl FnOnce() -> V) -> Index {
        let index = match self.known.get(&key) {
            Some(index) => *index,
            None => self.add(key, value()),
        };
        self.last[key.bits() % LAST] = (key, index);
        index
    }

    fn add(&mut self, key: K, value: V) -> Index {
        let same = self.values[..self.forgotten].iter().position(|known| *known == value);
        let at = same.unwrap_or(self.values.len());
        let index = Index::try_from(at).unwrap_or(NOWHERE);
        if index != NOWHERE {
            if at == self.values.len() {
                self.values.push(value);
            }
            self.known.insert(key, index);
        }
        index
    }

    /// The value at a place; the default one at [`NOWHERE`].
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
        let mut palette: Palette<(usize, u32), u32> = Palette::new();
        let [one, two] = [(64, 1), (128, 2)].map(|(key, value)| palette.place((key, 0), || value));
        assert_eq!(palette.place((64, 0), || unreachable!()), one);
        palette.forget_keys();
        let three = palette.place((64, 0), || 3);
        assert_eq!(
            [one, two, three].map(|at| palette.get(at)),
            [1, 2, 3],
            "jobs that were read keep what they have"
        );
        assert_eq!(palette.place((192, 0), || 2), two, "each value is kept once");
    }
}

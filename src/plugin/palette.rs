//! Values that many jobs have in common, each kept once: of a million jobs every byte counts.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Which value of a [`Palette`] is meant.
pub type Index = u16;

/// Values that many jobs have in common, each once.
#[derive(Debug)]
pub struct Palette<K, V> {
    values: Vec<V>,
    /// So many of them have lost their keys.
    forgotten: usize,
    known: FxHashMap<K, Index>,
    /// Jobs that come one after the other are mostly alike.
    last: Option<(K, Index)>,
}

impl<K: Copy + Eq + Hash, V: Copy + Default + PartialEq> Palette<K, V> {
    /// Empty.
    pub fn new() -> Self {
        Self { values: Vec::new(), forgotten: 0, known: FxHashMap::default(), last: None }
    }

    /// Keys may mean something else from here on.
    pub fn forget_keys(&mut self) {
        self.known.clear();
        self.forgotten = self.values.len();
        self.last = None;
    }

    /// The place of a key's value; `None` where there are too many values.
    pub fn place(&mut self, key: K, value: impl FnOnce() -> V) -> Option<Index> {
        if let Some((_, index)) = self.last.filter(|(last, _)| *last == key) {
            return Some(index);
        }
        let index = match self.known.get(&key).copied() {
            None => self.add(key, value())?,
            Some(index) => index,
        };
        self.last = Some((key, index));
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
    pub fn get(&self, index: Index) -> V {
        self.values.get(usize::from(index)).copied().unwrap_or_default()
    }
}

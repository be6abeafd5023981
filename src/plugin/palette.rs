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
    /// The first of these: mostly there are few, and looked through they are found sooner.
    few: Vec<(K, Index)>,
    /// Jobs that come one after the other are mostly alike.
    last: Option<(K, Index)>,
}

/// So many keys are looked through.
const FEW: usize = 8;

impl<K: Copy + Eq + Hash, V: Copy + Default + PartialEq> Palette<K, V> {
    /// Empty.
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            forgotten: 0,
            known: FxHashMap::default(),
            few: Vec::with_capacity(FEW),
            last: None,
        }
    }

    /// Keys may mean something else from here on.
    pub fn forget_keys(&mut self) {
        self.known.clear();
        self.few.clear();
        self.forgotten = self.values.len();
        self.last = None;
    }

    /// The place of a key's value; `None` where there are too many values.
    #[inline]
    pub fn place(&mut self, key: K, value: impl FnOnce() -> V) -> Option<Index> {
        if let Some((_, index)) = self.last.filter(|(last, _)| *last == key) {
            return Some(index);
        }
        if let Some((_, index)) = self.few.iter().find(|(known, _)| *known == key) {
            return Some(*index);
        }
        self.place_among_many(key, value)
    }

    fn place_among_many(&mut self, key: K, value: impl FnOnce() -> V) -> Option<Index> {
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
        if self.few.len() < FEW {
            self.few.push((key, index));
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

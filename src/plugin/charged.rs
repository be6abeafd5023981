//! Running jobs that a cycle has charged while others are still to be charged: they must not be charged for the same time
//! again, neither when they end between two chunks nor by the next cycle after one that a fault has ended.

use rustc_hash::FxHashMap;

/// See the module.
#[derive(Debug, Default)]
pub struct Charged {
    /// Jobs that the cycle which is running has charged, and up to when.
    ids: Vec<u32>,
    until: i64,
    /// The same of cycles that did not come to their end.
    before: FxHashMap<u32, i64>,
}

impl Charged {
    /// A cycle begins to charge jobs up to a time.
    pub fn begin(&mut self, until: i64) {
        let (ids, before) = (&mut self.ids, self.until);
        self.before.extend(ids.drain(..).map(|id| (id, before)));
        self.until = until;
    }

    /// Notes that a job is charged; returns up to when it was before, if that was noted.
    pub fn note(&mut self, id: u32) -> Option<i64> {
        self.ids.push(id);
        if self.before.is_empty() {
            return None;
        }
        self.before.get(&id).copied()
    }

    /// Up to when a job was charged, if that was noted.
    pub fn until(&self, id: u32) -> Option<i64> {
        if self.ids.contains(&id) {
            return Some(self.until);
        }
        self.before.get(&id).copied()
    }

    /// All jobs are charged.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unfinished_cycles_have_charged_is_known_until_one_finishes() {
        let mut charged = Charged::default();
        charged.begin(100);
        assert_eq!(
            (charged.note(1), charged.note(2), charged.until(2), charged.until(3)),
            (None, None, Some(100), None)
        );
        charged.begin(200);
        assert_eq!((charged.until(1), charged.until(2)), (Some(100), Some(100)));
        assert_eq!((charged.note(2), charged.note(3)), (Some(100), None));
        assert_eq!((charged.until(1), charged.until(2), charged.until(3)), (Some(100), Some(200), Some(200)));
        charged.begin(300);
        assert_eq!((charged.note(1), charged.note(2), charged.note(3)), (Some(100), Some(200), Some(200)));
        charged.clear();
        assert_eq!((charged.until(1), charged.until(3)), (None, None));
    }
}

//! Tables of the priorities and targets of each user, account, QOS, group and partition, so that the points of a job take a few additions.
//! Names are looked up when the tree changes, usage once per cycle.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::fair_share::{Room, Rules};
use super::lines::LineKind;
use super::steps::Steps;
use crate::rules::targets::{Totals, NO_CAP};

/// What an object has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held {
    /// Its priority.
    pub credential: f64,
    /// Its distance from its target.
    pub delta: f64,
}

/// What an association has: one line of the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct Own {
    pub user: Held,
    pub account: Held,
    pub parent: Held,
    /// What is added to the weight of FS.
    pub weight: f64,
    /// What its caps leave.
    pub room: f64,
}

impl Default for Own {
    fn default() -> Self {
        let (user, account, parent) = Default::default();
        Self { user, account, parent, weight: 0.0, room: NO_CAP }
    }
}

/// A user, account, QOS, group or partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Object {
    pub held: Held,
    /// What is added to the weight of FS.
    pub weight: f64,
    /// What its cap leaves.
    pub room: Room,
    /// Which lines of components hold in a partition.
    pub plan: u16,
    /// The book of a partition, where it has targets: its place among those that have some, from 1 on.
    pub book: u8,
    /// The `Service` line of a QOS or partition.
    pub promise: Option<u32>,
    /// What replaces the weight of the partition for a Unix group.
    pub class_weight: Option<f64>,
    pub rules: Rules,
    /// By half-life and in windows.
    pub usage: [f64; 2],
}

impl Object {
    /// One that has this priority and these rules, and has used nothing yet.
    pub(super) fn new(credential: f64, rules: Rules) -> Self {
        Self {
            held: Held { credential, delta: 0.0 },
            weight: rules.goal.map_or(0.0, |goal| goal.weight),
            room: Room::default(),
            plan: 0,
            book: 0,
            promise: None,
            class_weight: None,
            rules,
            usage: [0.0; 2],
        }
    }
}

static NOTHING: Object = Object {
    held: Held { credential: 0.0, delta: 0.0 },
    weight: 0.0,
    room: Room { any: NO_CAP, stopping: NO_CAP },
    plan: 0,
    book: 0,
    promise: None,
    class_weight: None,
    rules: Rules { goal: None, ceiling: None },
    usage: [0.0; 2],
};

/// The objects of one kind. The first one stands for all that are not known.
#[derive(Clone, Debug)]
pub(super) struct Objects<K> {
    at: FxHashMap<K, u32>,
    all: Vec<Object>,
    /// How many come from names; those after them come from usage.
    named: u32,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self { at: FxHashMap::default(), all: Vec::new(), named: 0 }
    }
}

impl<K: Eq + Hash> Objects<K> {
    /// None but the one that stands for all others.
    pub(super) fn new(others: Object) -> Self {
        Self { at: FxHashMap::default(), all: vec![others], named: 1 }
    }

    /// The place of an object, which is made if it is unknown.
    pub(super) fn insert(&mut self, key: K, make: impl FnOnce(&K) -> Object) -> u32 {
        let next = u32::try_from(self.all.len()).unwrap_or_default();
        let all = &mut self.all;
        let at = self.at.entry(key).or_insert_with_key(|key| {
            all.push(make(key));
            next
        });
        let at = *at;
        self.named = self.named.max(at.saturating_add(1));
        at
    }

    /// Where an object is.
    pub(super) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> u32
    where
        K: std::borrow::Borrow<Q>,
    {
        self.at.get(key).copied().unwrap_or_default()
    }

    /// All that are known, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &Object)> {
        self.at.iter().map(|(key, at)| (key, self.get(*at)))
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> &Object {
        self.all.get(at as usize).or(self.all.first()).unwrap_or(&NOTHING)
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Object> {
        self.all.get_mut(at as usize)
    }

    pub(super) fn forget_usage(&mut self) {
        for object in &mut self.all {
            object.usage = [0.0; 2];
        }
    }

    /// Compares the usage of all with their rules.
    pub(super) fn judge(&mut self, totals: &[Totals; 2]) {
        for object in &mut self.all {
            object.held.delta = object.rules.delta(object.usage, totals);
            object.room = object.rules.room(object.usage, totals);
        }
    }

    /// Lets distances count in steps, after [`Self::judge`].
    pub(super) fn step(&mut self, kind: LineKind, totals: &[Totals; 2], steps: &mut Steps)
    where
        K: ToString,
    {
        if !steps.are_used() {
            return;
        }
        let known = self.at.iter().map(|(key, at)| (key.to_string(), *at as usize));
        // Who is not known has used nothing, and comes to a step at once.
        for (name, at) in known.chain([(String::new(), 0)]) {
            let Some((object, goal)) =
                self.all.get_mut(at).and_then(|object| object.rules.goal.map(|goal| (object, goal)))
            else {
                continue;
            };
            let distance = goal.distance(object.usage[goal.by], totals[goal.by]);
            object.held.delta = goal.factor * steps.stepped(kind, &name, distance, goal.measure);
        }
    }
}

impl<K: Eq + Hash + Clone> Objects<K> {
    /// Takes usage. With `grow` also that of objects that no line names. Those whose usage is gone are forgotten once they are many.
    pub(super) fn read(&mut self, usage: [&FxHashMap<K, f64>; 2], grow: bool) {
        let live = usage.iter().map(|usage| usage.len()).sum::<usize>() + self.named as usize;
        if self.all.len() > 2 * live + 64 {
            self.at.retain(|_, at| *at < self.named);
            self.all.truncate(self.named as usize);
        }
        self.forget_usage();
        for (by, usage) in usage.into_iter().enumerate() {
            for (key, usage) in usage {
                let at = match self.at.get(key) {
                    Some(at) => *at,
                    None if grow => self.follow(key),
                    None => continue,
                };
                if let Some(object) = self.all.get_mut(at as usize) {
                    object.usage[by] = *usage;
                }
            }
        }
    }

    fn follow(&mut self, key: &K) -> u32 {
        let at = u32::try_from(self.all.len()).unwrap_or_default();
        self.all.push(*self.get(0));
        self.at.insert(key.clone(), at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgotten_usage_is_none_for_every_object() {
        let object = || Object::new(0.0, NOTHING.rules);
        let mut objects = Objects::new(object());
        let at = objects.insert("ann", |_| object());
        for at in [0, at] {
            objects.get_mut(at).unwrap().usage = [3.0, 4.0];
        }
        objects.forget_usage();
        assert_eq!([0, at].map(|at| objects.get(at).usage), [[0.0; 2]; 2]);
    }

    /// Users whom no line names come and go: those of many are forgotten, and every one that has used something is found again.
    #[test]
    fn objects_without_a_line_are_forgotten_once_they_are_many() {
        let object = || Object::new(0.0, NOTHING.rules);
        let mut objects = Objects::new(object());
        objects.insert("ann".to_owned(), |_| object());
        let none = FxHashMap::default();
        let users = |from: u32, count: u32| -> FxHashMap<String, f64> {
            (from..from + count).map(|user| (format!("u{user}"), f64::from(user))).collect()
        };
        let read = |objects: &mut Objects<String>, usage: &FxHashMap<String, f64>| {
            objects.read([usage, &none], true);
            for (user, amount) in usage {
                let at = objects.find(user);
                assert!(
                    at > 0 && objects.get(at).usage.map(f64::to_bits) == [*amount, 0.0].map(f64::to_bits),
                    "{user} at {at}"
                );
            }
            objects.all.len()
        };
        // Two with a line, one in use, and twice that and 64 kept: 70.
        let steps = [
            (users(1, 60), 62),
            (users(101, 8), 70),
            (users(201, 1), 71),
            (users(301, 1), 3),
            (users(1, 60), 63),
        ];
        for (of, kept) in steps {
            assert_eq!(read(&mut objects, &of), kept);
        }
        // The first that was kept has the place behind the last with a line.
        let again = users(301, 1);
        assert_eq!(objects.find("u301"), 2);
        let many = users(1001, 100);
        read(&mut objects, &many);
        assert_eq!(read(&mut objects, &again), 3);
    }
}

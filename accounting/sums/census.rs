//! Follows which associations and QOS slurmctld has from cycle to cycle: made, moved, removed, renamed and reset.

use rustc_hash::FxHashMap;

use super::Sums;
use crate::ended::Ended;
use crate::raw_usage::{has_fallen, resets, Remembered, Seen};

/// What an association is called. An id that means another one starts empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Its account.
    pub account: String,
    /// Its user, empty for an account.
    pub user: String,
    /// The partition that it is for, or empty.
    pub partition: String,
}

/// A QOS, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenQos {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether its usage decays.
    pub decays: bool,
    /// Its raw usage.
    pub raw: f64,
}

impl Sums {
    /// Looks at an association, by its id and the address of its record: if the id means another one than it did, its usage is none.
    pub fn meet(&mut self, id: u32, address: usize, names: impl FnOnce() -> Names) {
        let Some(known) = self.associations.get_mut(&id).filter(|known| known.address != address) else {
            return;
        };
        known.address = address;
        let names = names();
        if known.names.as_ref().is_some_and(|before| *before != names) {
            known.raw = None;
            self.kept[known.place.index()].clear();
        }
        known.names = Some(names);
    }

    /// Takes in all associations, including the root, once a cycle is settled. Usage without an association goes to the one above it or,
    /// without `handed_up`, is lost, as in slurmctld. Places change with this call.
    pub fn survey(&mut self, now: &[Seen], handed_up: bool) {
        let live: FxHashMap<u32, Option<u32>> = now.iter().map(|seen| (seen.id, seen.parent)).collect();
        let root = now.iter().find(|seen| seen.parent.is_none()).map(|seen| seen.id);
        let gone: Vec<u32> = self.associations.keys().copied().filter(|id| !live.contains_key(id)).collect();
        let heirs: Vec<Option<u32>> = gone
            .iter()
            .map(|id| {
                let above = |id: &u32| self.associations.get(id).and_then(|known| known.parent);
                let mut path = std::iter::successors(above(id), above).take(self.associations.len());
                path.find(|id| live.contains_key(id)).or(root).filter(|_| handed_up)
            })
            .collect();
        for (id, heir) in gone.into_iter().zip(heirs) {
            let Some(known) = self.associations.remove(&id) else { continue };
            let kept = self.give_back(known.place);
            if let Some(heir) = heir {
                let place = self.association(heir);
                self.kept[place.index()].take(kept);
            }
        }
        // All above one with usage, so that sums are found there, too.
        let mut known: Vec<u32> = self.associations.keys().copied().collect();
        while let Some(id) = known.pop() {
            let parent = live.get(&id).copied().flatten();
            if let Some(parent) = parent.filter(|parent| !self.associations.contains_key(parent)) {
                self.association(parent);
                known.push(parent);
            }
            if let Some(known) = self.associations.get_mut(&id) {
                known.parent = parent;
            }
        }
    }

    /// Takes in all QOS, before a cycle charges. Places are not what they were after this.
    pub fn survey_qos(&mut self, now: &[SeenQos]) {
        // slurmctld may have none while it cannot reach its database; every database has one.
        if now.is_empty() {
            return;
        }
        self.undecayed = now.iter().filter(|seen| !seen.decays).map(|seen| seen.id).collect();
        let live: FxHashMap<u32, &SeenQos> = now.iter().map(|seen| (seen.id, seen)).collect();
        let gone: Vec<u32> = self.qos.keys().copied().filter(|id| !live.contains_key(id)).collect();
        for id in gone {
            if let Some(known) = self.qos.remove(&id) {
                self.give_back(known.place);
            }
        }
        for (id, known) in &mut self.qos {
            let Some(seen) = live.get(id) else { continue };
            known.decays = seen.decays;
            if known.name.as_ref().is_some_and(|name| *name != seen.name) {
                known.raw = None;
                self.kept[known.place.index()].clear();
            }
            known.name = Some(seen.name.clone());
        }
    }

    /// What slurmctld's raw usage of all is, once a cycle has charged: what less is in the next is a reset.
    pub fn remember(&mut self, now: &[Seen], qos: &[SeenQos]) {
        let some = |raw: f64| (raw.is_finite() && raw > 0.0).then_some(raw);
        for seen in now {
            match some(seen.raw) {
                Some(raw) => {
                    self.association(seen.id);
                    if let Some(known) = self.associations.get_mut(&seen.id) {
                        (known.raw, known.parent) = (Some(raw), seen.parent);
                    }
                }
                None => {
                    if let Some(known) = self.associations.get_mut(&seen.id) {
                        known.raw = None;
                    }
                }
            }
        }
        for seen in qos {
            self.qos(seen.id);
            if let Some(known) = self.qos.get_mut(&seen.id) {
                (known.raw, known.decays, known.name) =
                    (some(seen.raw), seen.decays, Some(seen.name.clone()));
            }
        }
    }

    /// What is remembered is not comparable with what slurmctld has loaded.
    pub fn forget_raw_usage(&mut self) {
        self.associations.values_mut().for_each(|known| known.raw = None);
        self.qos.values_mut().for_each(|known| known.raw = None);
    }

    /// Empties the sums of whose usage was reset since the last cycle; what is left in `ended` is what was charged since then.
    pub fn reset_as_slurmctld(&mut self, now: &[Seen], qos: &[SeenQos], ended: &mut [Ended]) {
        let mut charged: FxHashMap<u32, f64> = FxHashMap::default();
        let mut charged_qos: FxHashMap<u32, [f64; 2]> = FxHashMap::default();
        for (ended, raw) in ended.iter().filter_map(|ended| Some((ended, ended.raw?))) {
            if let Some(id) = ended.association {
                *charged.entry(id).or_default() += raw.association;
            }
            for id in ended.qos.iter().flatten() {
                let sums = charged_qos.entry(*id).or_default();
                *sums = [sums[0] + raw.qos, sums[1] + raw.undecayed_qos];
            }
        }
        let before: Remembered = self
            .associations
            .iter()
            .filter_map(|(id, known)| Some((*id, (known.parent, known.raw?))))
            .collect();
        // A whole tree may be reset at once, after many jobs have ended: each job is looked at once.
        let mut of_each: FxHashMap<u32, Vec<&mut Ended>> = FxHashMap::default();
        for ended in ended.iter_mut() {
            if let Some(id) = ended.association {
                of_each.entry(id).or_default().push(ended);
            }
        }
        for (id, left) in resets(&before, now, &charged) {
            if let Some(known) = self.associations.get(&id) {
                self.kept[known.place.index()].clear();
            }
            keep_latest(
                of_each.remove(&id).into_iter().flatten(),
                left,
                |ended| ended.raw.map_or(0.0, |raw| raw.association),
                |ended| ended.association = None,
            );
        }
        for seen in qos {
            let Some(known) = self.qos.get(&seen.id) else { continue };
            let by = usize::from(!seen.decays);
            let Some(raw) = known.raw.filter(|_| known.decays == seen.decays) else { continue };
            let due = raw + charged_qos.get(&seen.id).map_or(0.0, |sums| sums[by]);
            if !has_fallen(due, seen.raw, (raw, 1)) {
                continue;
            }
            self.kept[known.place.index()].clear();
            let of_it = ended.iter_mut().filter(|ended| ended.qos.contains(&Some(seen.id)));
            let amount = |ended: &Ended| ended.raw.map_or(0.0, |raw| [raw.qos, raw.undecayed_qos][by]);
            keep_latest(of_it, seen.raw, amount, |ended| {
                for id in &mut ended.qos {
                    *id = id.filter(|id| *id != seen.id);
                }
            });
        }
    }
}

/// Of charges in the order of time, those stay that make up `left`; `drop` takes the earlier ones.
fn keep_latest<'a>(
    of_it: impl Iterator<Item = &'a mut Ended>,
    mut left: f64,
    amount: impl Fn(&Ended) -> f64,
    drop: impl Fn(&mut Ended),
) {
    let of_it: Vec<&mut Ended> = of_it.collect();
    for ended in of_it.into_iter().rev() {
        let raw = amount(ended);
        if raw > left * (1.0 + 1e-6) || left <= 0.0 {
            left = 0.0;
            drop(ended);
        } else {
            left -= raw;
        }
    }
}

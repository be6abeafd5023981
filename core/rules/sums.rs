//! Our own sums of usage, for targets that slurmctld's do not serve: of Unix groups and partitions, of a TRES whether limits are
//! enforced or not, in windows.
//!
//! Half-life sums are what slurmctld's raw usage is: at a cycle the charges of jobs that have ended since are added, all decays, and
//! the charges of running jobs are added. Windows have what ran in them. An association has what its own jobs used; what is below an account
//! is summed when somebody asks, by the tree of that time. So an association that is moved takes its usage with it, and a reset of it
//! is one of all above it by as much, as in slurmctld.
//!
//! A sum is one of all until [`Sums::since`], which moves with the sums and is saved with them.

use rustc_hash::FxHashMap;

use super::ended::Ended;
use super::raw_usage::{has_fallen, resets, Remembered, Seen};
use super::tally::{Charge, Tally};
use super::windows::{self, plus, Windows};

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// `billing`, or the name of a TRES.
    pub metric: String,
    /// Sums that decay.
    pub halflife: bool,
    /// Sums in windows: the length of one in seconds, and how many count.
    pub windows: Option<(i64, usize)>,
}

/// Which of the sums is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// What decays.
    HalfLife,
    /// Windows, each of which counts as a part of the next younger one.
    Windows {
        /// That part.
        decay: f64,
    },
}

/// Where a sum is kept, until sums are replaced by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place(u32);

impl Place {
    /// Everything that jobs use, whatever is reset.
    pub const ALL: Self = Self(0);
    /// What the cluster could have given.
    pub const CAPACITY: Self = Self(1);
    const FIRST: usize = 2;

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

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

/// A sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// What decays.
    pub halflife: f64,
    /// The current window first.
    pub windows: Vec<f64>,
}

impl Kept {
    /// Nothing in it, or less than anybody will ever see.
    pub fn is_faded(&self) -> bool {
        self.halflife < 1e-3 && self.windows.iter().all(|amount| *amount == 0.0)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn take(&mut self, other: Self) {
        self.halflife = plus(self.halflife, other.halflife);
        for (age, amount) in other.windows.into_iter().enumerate() {
            if amount != 0.0 {
                windows::enter(&mut self.windows, age, amount);
            }
        }
    }

    fn usage(&self, model: Model) -> f64 {
        match model {
            Model::HalfLife => self.halflife,
            Model::Windows { decay } => windows::usage(&self.windows, decay),
        }
    }
}

/// An association with usage of its own, or above one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Association {
    pub place: Place,
    pub names: Option<Names>,
    pub parent: Option<u32>,
    /// slurmctld's raw usage when the last cycle had charged.
    pub raw: Option<f64>,
    /// The record that bore these names, to be compared.
    pub address: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Qos {
    pub place: Place,
    pub name: Option<String>,
    pub raw: Option<f64>,
    pub decays: bool,
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

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    pub(super) recipe: Recipe,
    pub(super) since: i64,
    pub(super) windows: Option<Windows>,
    pub(super) kept: Vec<Kept>,
    pub(super) associations: FxHashMap<u32, Association>,
    pub(super) qos: FxHashMap<u32, Qos>,
    pub(super) groups: FxHashMap<u32, Place>,
    pub(super) partitions: FxHashMap<String, Place>,
    /// Places that nobody has any more.
    free: Vec<Place>,
}

/// What a cycle does to sums.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'a> {
    /// When it runs.
    pub now: i64,
    /// What is left of a half-life sum of the cycle before.
    pub decay: f64,
    /// All usage is reset in it.
    pub reset: bool,
    /// What running jobs add, and the cluster could have given.
    pub tally: &'a Tally,
}

/// Usage by who has it, of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// By id, with that of all below.
    pub associations: FxHashMap<u32, f64>,
    /// That of all associations.
    pub of_tree: f64,
    /// By id.
    pub qos: FxHashMap<u32, f64>,
    /// By gid.
    pub groups: FxHashMap<u32, f64>,
    /// By name.
    pub partitions: FxHashMap<String, f64>,
    /// Of all jobs, whatever was reset.
    pub all: f64,
    /// What the cluster could have given.
    pub capacity: f64,
}

impl Sums {
    /// Nothing, counted from a time on.
    pub fn new(recipe: Recipe, since: i64) -> Self {
        let windows = recipe.windows.map(|(length, depth)| Windows::new(length, depth, since));
        Self {
            recipe,
            since,
            windows,
            kept: vec![Kept::default(); Place::FIRST],
            associations: FxHashMap::default(),
            qos: FxHashMap::default(),
            groups: FxHashMap::default(),
            partitions: FxHashMap::default(),
            free: Vec::new(),
        }
    }

    /// What is kept.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Up to when everything is counted; 0 for never.
    pub fn since(&self) -> i64 {
        self.since
    }

    /// From now on something else is kept. Another metric starts empty; other windows get what overlaps.
    pub fn follow(&mut self, recipe: &Recipe) {
        if self.recipe == *recipe {
            return;
        }
        if self.recipe.metric != recipe.metric {
            *self = Self::new(recipe.clone(), self.since);
            return;
        }
        let old = self.windows.take();
        self.windows = recipe.windows.map(|(length, depth)| {
            old.map_or_else(
                || Windows::new(length, depth, self.since),
                |old| old.replaced_by(length, depth, self.since),
            )
        });
        for kept in &mut self.kept {
            kept.windows = match (old, self.windows) {
                (Some(old), Some(new)) => old.rebin(&kept.windows, &new, self.since),
                _ => Vec::new(),
            };
            if !recipe.halflife {
                kept.halflife = 0.0;
            }
        }
        self.recipe = recipe.clone();
    }

    pub(super) fn new_place(&mut self) -> Place {
        self.free.pop().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            // There are fewer associations than that.
            Place(u32::try_from(self.kept.len() - 1).unwrap_or(u32::MAX))
        })
    }

    fn give_back(&mut self, place: Place) -> Kept {
        self.free.push(place);
        std::mem::take(&mut self.kept[place.index()])
    }

    /// The place of an association.
    pub fn association(&mut self, id: u32) -> Place {
        if let Some(known) = self.associations.get(&id) {
            return known.place;
        }
        let place = self.new_place();
        let new = Association { place, names: None, parent: None, raw: None, address: 0 };
        self.associations.insert(id, new);
        place
    }

    /// The place of a QOS, and whether its usage decays.
    pub fn qos(&mut self, id: u32) -> (Place, bool) {
        if let Some(known) = self.qos.get(&id) {
            return (known.place, known.decays);
        }
        let place = self.new_place();
        self.qos.insert(id, Qos { place, name: None, raw: None, decays: true });
        (place, true)
    }

    /// The place of a Unix group.
    pub fn group(&mut self, gid: u32) -> Place {
        if let Some(place) = self.groups.get(&gid) {
            return *place;
        }
        let place = self.new_place();
        self.groups.insert(gid, place);
        place
    }

    /// The place of a partition.
    pub fn partition(&mut self, name: &str) -> Place {
        if let Some(place) = self.partitions.get(name) {
            return *place;
        }
        let place = self.new_place();
        self.partitions.insert(name.to_owned(), place);
        place
    }

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

    /// Takes in all associations, the root among them, once a cycle is settled. What has no association any more goes to the one
    /// above it, or, not to be `handed_up`, is lost, as slurmctld does it. Places are not what they were after this.
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
        for (ended, (decayed, plain)) in ended.iter().filter_map(|ended| Some((ended, ended.raw?))) {
            if let Some(id) = ended.association {
                *charged.entry(id).or_default() += decayed;
            }
            for id in ended.qos.iter().flatten() {
                let sums = charged_qos.entry(*id).or_default();
                *sums = [sums[0] + decayed, sums[1] + plain];
            }
        }
        let before: Remembered = self
            .associations
            .iter()
            .filter_map(|(id, known)| Some((*id, (known.parent, known.raw?))))
            .collect();
        for (id, left) in resets(&before, now, &charged) {
            if let Some(known) = self.associations.get(&id) {
                self.kept[known.place.index()].clear();
            }
            let of_it = ended.iter_mut().filter(|ended| ended.association == Some(id));
            keep_latest(
                of_it,
                left,
                |ended| ended.raw.map_or(0.0, |raw| raw.0),
                |ended| ended.association = None,
            );
        }
        for seen in qos {
            let Some(known) = self.qos.get(&seen.id) else { continue };
            let by = usize::from(!seen.decays);
            let Some(raw) = known.raw.filter(|_| known.decays == seen.decays) else { continue };
            let due = raw + charged_qos.get(&seen.id).map_or(0.0, |sums| sums[by]);
            if !has_fallen(due, seen.raw, raw) {
                continue;
            }
            self.kept[known.place.index()].clear();
            let of_it = ended.iter_mut().filter(|ended| ended.qos.contains(&Some(seen.id)));
            let amount = |ended: &Ended| ended.raw.map_or(0.0, |raw| [raw.0, raw.1][by]);
            keep_latest(of_it, seen.raw, amount, |ended| {
                for id in &mut ended.qos {
                    *id = id.filter(|id| *id != seen.id);
                }
            });
        }
    }

    /// The windows of a cycle that runs now.
    pub fn windows_at(&self, now: i64) -> Option<Windows> {
        self.windows.map(|mut windows| {
            windows.advance(now);
            windows
        })
    }

    /// Counts what has ended since the last cycle, decays, and counts what the tally has; from then on everything is counted up to now.
    /// What was used later than now stays in `ended`.
    pub fn settle(&mut self, cycle: Cycle<'_>, ended: &mut Vec<Ended>) {
        let Cycle { now, decay, reset, tally } = cycle;
        if let Some(windows) = &mut self.windows {
            let by = windows.advance(now);
            let depth = windows.depth();
            if by > 0 {
                self.kept.iter_mut().for_each(|kept| windows::roll(&mut kept.windows, by, depth));
            }
        }
        let set_back = now < self.since;
        let mut later = Vec::new();
        let mut of_ended = Tally::default();
        of_ended.begin(self.windows);
        for mut one in ended.drain(..) {
            let before = if set_back { std::mem::take(&mut one) } else { one.taken_until(now) };
            self.enter(&mut of_ended, &before);
            if !one.charge.is_empty() {
                // slurmctld has charged that already, and decays it now.
                one.charge.decayed *= decay;
                later.push(one);
            }
        }
        *ended = later;
        self.add(&of_ended);
        if reset {
            self.kept.iter_mut().for_each(Kept::clear);
        }
        if self.recipe.halflife {
            let undecayed: Vec<Place> =
                self.qos.values().filter(|qos| !qos.decays).map(|qos| qos.place).collect();
            let full: Vec<f64> = undecayed.iter().map(|place| self.kept[place.index()].halflife).collect();
            self.kept.iter_mut().for_each(|kept| kept.halflife *= decay);
            for (place, full) in undecayed.into_iter().zip(full) {
                self.kept[place.index()].halflife = full;
            }
        }
        self.add(tally);
        self.since = now;
        self.drop_faded();
    }

    /// Enters what a job that has ended is charged.
    fn enter(&mut self, tally: &mut Tally, ended: &Ended) {
        let charge: Charge = ended.charge.finite();
        if charge.is_empty() {
            return;
        }
        tally.add(Place::ALL, &charge, true);
        if let Some(id) = ended.association {
            let place = self.association(id);
            tally.add(place, &charge, true);
        }
        for id in ended.qos.iter().flatten() {
            let (place, decays) = self.qos(*id);
            tally.add(place, &charge, decays);
        }
        if let Some(gid) = ended.group {
            let place = self.group(gid);
            tally.add(place, &charge, true);
        }
        if let Some(name) = &ended.partition {
            let place = self.partition(name);
            tally.add(place, &charge, true);
        }
    }

    fn add(&mut self, tally: &Tally) {
        for (kept, row) in self.kept.iter_mut().zip(&tally.rows) {
            if self.recipe.halflife {
                kept.halflife = plus(kept.halflife, row.halflife);
            }
            if row.current != 0.0 {
                windows::enter(&mut kept.windows, 0, row.current);
            }
        }
        for (place, age, amount) in &tally.older {
            windows::enter(&mut self.kept[place.index()].windows, *age, *amount);
        }
    }

    /// Forgets groups and partitions that nobody has used for long.
    fn drop_faded(&mut self) {
        let mut faded = Vec::new();
        let kept = &self.kept;
        let mut stays = |place: &Place| {
            let stays = !kept[place.index()].is_faded();
            if !stays {
                faded.push(*place);
            }
            stays
        };
        self.groups.retain(|_, place| stays(place));
        self.partitions.retain(|_, place| stays(place));
        for place in faded {
            self.give_back(place);
        }
    }

    /// All usage, as the last cycle left it.
    pub fn readings(&self, model: Model) -> Readings {
        let usage = |place: Place| self.kept[place.index()].usage(model);
        let mut readings = Readings {
            associations: self.associations.keys().map(|id| (*id, 0.0)).collect(),
            of_tree: 0.0,
            qos: self.qos.iter().map(|(id, known)| (*id, usage(known.place))).collect(),
            groups: self.groups.iter().map(|(gid, place)| (*gid, usage(*place))).collect(),
            partitions: self.partitions.iter().map(|(name, place)| (name.clone(), usage(*place))).collect(),
            all: usage(Place::ALL),
            capacity: usage(Place::CAPACITY),
        };
        for (id, known) in &self.associations {
            let own = usage(known.place);
            if own == 0.0 {
                continue;
            }
            readings.of_tree = plus(readings.of_tree, own);
            let above = |id: &u32| self.associations.get(id).and_then(|known| known.parent);
            // Parents that lead in a circle end somewhere, too.
            for id in std::iter::successors(Some(*id), above).take(MOST_LEVELS) {
                if let Some(sum) = readings.associations.get_mut(&id) {
                    *sum = plus(*sum, own);
                }
            }
        }
        readings
    }
}

/// Levels of a tree of accounts.
const MOST_LEVELS: usize = 1000;

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

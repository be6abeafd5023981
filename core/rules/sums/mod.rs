//! Our own sums of usage, for targets that slurmctld's do not serve: of Unix groups and partitions, of a TRES whether limits are
//! enforced or not, in windows. Beside them what each association has used of some TRES, and what the cluster could have given of these: see
//! [`super::dominant`].
//!
//! Half-life sums are what slurmctld's raw usage is: at a cycle the charges of jobs that have ended since are added, all decays, and
//! the charges of running jobs are added. Windows have what ran in them. An association has what its own jobs used; what is below an account
//! is summed when somebody asks, by the tree of that time. So an association that is moved takes its usage with it, and a reset of it
//! is one of all above it by as much, as in slurmctld.
//!
//! A sum is one of all until [`Sums::since`], which moves with the sums and is saved with them.

mod census;
mod readings;

use rustc_hash::FxHashMap;

use super::ended::Ended;
use super::tally::{Charge, Place, Tally};
use super::windows::{self, plus, Windows};

pub use census::{Names, SeenQos};
pub use readings::{Model, Readings};

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// `billing`, or the name of a TRES.
    pub metric: String,
    /// Sums that decay.
    pub halflife: bool,
    /// Sums in windows: the length of one in seconds, and how many count.
    pub windows: Option<(i64, usize)>,
    /// The names of TRES whose usage by associations decays beside, and what the cluster could have given of them: each once, in small letters.
    pub tres: Vec<String>,
}

impl Recipe {
    /// Whether usage of the metric is kept.
    pub fn counts_metric(&self) -> bool {
        self.halflife || self.windows.is_some()
    }

    /// Where the amounts of [`Self::tres`] were in another recipe.
    fn columns_in(&self, other: &Self) -> Vec<Option<usize>> {
        self.tres.iter().map(|name| other.tres.iter().position(|known| known == name)).collect()
    }
}

impl Ended {
    /// Something else is kept from now on: what was used of another metric does not count.
    pub fn follow(&mut self, old: &Recipe, new: &Recipe) {
        if old.metric != new.metric {
            (self.charge.rate, self.charge.decayed) = (0.0, 0.0);
        }
        if old.tres != new.tres {
            rearrange(&mut self.tres, &new.columns_in(old));
        }
    }
}

/// Amounts by [`Recipe::tres`], where these are now the ones that were in such columns. New ones are 0.
fn rearrange(amounts: &mut Vec<f64>, columns: &[Option<usize>]) {
    if !amounts.is_empty() {
        let at = |column: &Option<usize>| column.and_then(|at| amounts.get(at).copied()).unwrap_or(0.0);
        *amounts = columns.iter().map(at).collect();
    }
}

/// A sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// What decays.
    pub halflife: f64,
    /// The current window first.
    pub windows: Vec<f64>,
    /// By [`Recipe::tres`], with decay. Empty where there is nothing.
    pub tres: Vec<f64>,
}

impl Kept {
    /// Nothing in it, or less than anybody will ever see.
    pub fn is_faded(&self) -> bool {
        self.halflife < 1e-3 && self.windows.iter().all(|amount| *amount == 0.0) && self.tres.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn add_tres(&mut self, amounts: &[f64]) {
        if self.tres.len() < amounts.len() {
            self.tres.resize(amounts.len(), 0.0);
        }
        for (sum, amount) in self.tres.iter_mut().zip(amounts) {
            *sum = plus(*sum, *amount);
        }
    }

    pub(super) fn take(&mut self, other: Self) {
        self.halflife = plus(self.halflife, other.halflife);
        self.add_tres(&other.tres);
        for (age, amount) in other.windows.into_iter().enumerate() {
            if amount != 0.0 {
                windows::enter(&mut self.windows, age, amount);
            }
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

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    pub(super) recipe: Recipe,
    pub(super) since: i64,
    pub(super) last_reset: i64,
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
    /// When slurmctld has reset all usage last, in it or before.
    pub last_reset: i64,
    /// What running jobs add, and the cluster could have given.
    pub tally: &'a Tally,
}

impl Sums {
    /// Nothing, counted from a time on, where all usage was reset at another.
    pub fn new(recipe: Recipe, since: i64, last_reset: i64) -> Self {
        let windows = recipe.windows.map(|(length, depth)| Windows::new(length, depth, since));
        Self {
            recipe,
            since,
            last_reset,
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

    /// Resets until then are done, or nobody knows of them.
    pub fn adopt_reset(&mut self, last_reset: i64) {
        self.last_reset = last_reset;
    }

    /// From now on something else is kept. Another metric starts empty, as does a TRES that was not kept; other windows get what overlaps.
    pub fn follow(&mut self, recipe: &Recipe) {
        if self.recipe == *recipe {
            return;
        }
        if self.recipe.tres != recipe.tres {
            let columns = recipe.columns_in(&self.recipe);
            self.kept.iter_mut().for_each(|kept| rearrange(&mut kept.tres, &columns));
        }
        if self.recipe.metric != recipe.metric {
            self.windows = None;
            for kept in &mut self.kept {
                *kept = Kept { tres: std::mem::take(&mut kept.tres), ..Kept::default() };
            }
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
        let Cycle { now, decay, last_reset, tally } = cycle;
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
                one.tres.iter_mut().for_each(|amount| *amount *= decay);
                later.push(one);
            }
        }
        *ended = later;
        self.add(&of_ended);
        // By its time, as slurmctld's usage and ours may be of different cycles after a restart: each reset is done once.
        let is_future = self.last_reset > now.saturating_add(DAY);
        if last_reset > self.last_reset || is_future && last_reset != self.last_reset {
            self.kept.iter_mut().for_each(Kept::clear);
            self.last_reset = last_reset;
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
        if !self.recipe.tres.is_empty() {
            let amounts = self.kept.iter_mut().flat_map(|kept| &mut kept.tres);
            amounts.for_each(|amount| *amount *= decay);
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
            tally.add_tres(place, &ended.tres);
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
        for (kept, older) in self.kept.iter_mut().zip(&tally.older) {
            for (age, amount) in older.iter().enumerate().filter(|(_, amount)| **amount != 0.0) {
                windows::enter(&mut kept.windows, age, *amount);
            }
        }
        for (kept, amounts) in self.kept.iter_mut().zip(tally.tres()) {
            if amounts.iter().any(|amount| *amount > 0.0) {
                kept.add_tres(amounts);
            }
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
}

/// Seconds of a day.
const DAY: i64 = 86_400;

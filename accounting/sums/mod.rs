//! The plugin's own sums of usage. Targets need them where slurmctld keeps no sum: for Unix groups, for partitions, for a TRES without
//! limits, and for windows. [`columns`] also keeps, for each association, what it used of some TRES and in some partitions.
//! [`super::measures`] says what the cluster could have given of these TRES.
//!
//! Half-life sums follow slurmctld's raw usage. A cycle adds the charges of jobs that have ended, lets all usage decay, and adds the charges
//! of running jobs. A window holds what ran in it. An association holds what its own jobs used. The sum of an account is made when it is
//! asked for, with the tree of that moment. So an association that moves takes its usage with it, and a reset takes
//! the same amount from all accounts above it, as in slurmctld.
//!
//! A sum holds everything until [`Sums::since`]. That moment moves with the sums, and is saved with them.

mod amounts;
mod beginning;
mod census;
pub mod columns;
mod readings;

use multifactor2_core::rules::targets::KeptSteps;
use multifactor2_core::rules::windows::{self, plus, Windows};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ended::Ended;
use super::tally::{Charge, Tally, TallyPlace};

use columns::{rearrange, Column};

pub use amounts::WindowAmounts;
pub use beginning::Beginning;
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
    /// The names of TRES whose decayed usage by associations is kept, and what the cluster could have given of them: each once, in small
    /// letters.
    pub tres: Vec<String>,
    /// The names of books whose decayed usage by associations is kept: of [`Self::tres`] or, without any, billing. Each once, in small
    /// letters.
    pub books: Vec<String>,
    /// Steps of distances from targets.
    pub steps: bool,
}

impl Recipe {
    /// Whether usage of the metric is kept.
    pub fn counts_metric(&self) -> bool {
        self.halflife || self.windows.is_some()
    }

    /// How many seconds its windows are together.
    pub fn covers(&self) -> Option<i64> {
        self.windows.map(|(length, depth)| length.saturating_mul(i64::try_from(depth).unwrap_or(i64::MAX)))
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        !self.counts_metric() && self.tres.is_empty() && self.books.is_empty() && !self.steps
    }
}

/// A sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    /// What decays.
    pub halflife: f64,
    /// The current window first.
    pub windows: Vec<f64>,
    /// By [`columns`], with decay. Those that are missing at the end are 0.
    pub columns: Vec<f64>,
}

impl Kept {
    /// Nothing in it, or less than anybody will ever see.
    pub(crate) fn is_faded(&self) -> bool {
        self.halflife < 1e-3 && self.windows.iter().all(|amount| *amount == 0.0) && self.columns.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn add_columns(&mut self, amounts: &[f64]) {
        if self.columns.len() < amounts.len() {
            self.columns.resize(amounts.len(), 0.0);
        }
        for (sum, amount) in self.columns.iter_mut().zip(amounts) {
            *sum = plus(*sum, *amount);
        }
    }

    pub(super) fn take(&mut self, other: Self) {
        self.halflife = plus(self.halflife, other.halflife);
        self.add_columns(&other.columns);
        for (age, amount) in other.windows.into_iter().enumerate() {
            if amount != 0.0 {
                windows::enter(&mut self.windows, age, amount);
            }
        }
    }
}

/// An association with usage itself, or above one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Association {
    pub place: TallyPlace,
    pub names: Option<Names>,
    pub parent: Option<u32>,
    /// slurmctld's raw usage when the last cycle had charged.
    pub raw: Option<f64>,
    /// The record that bore these names, to be compared.
    pub address: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Qos {
    pub place: TallyPlace,
    pub name: Option<String>,
    pub raw: Option<f64>,
    pub decays: bool,
}

/// Usage by association, QOS, group, partition and book, as of one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    pub(super) recipe: Recipe,
    /// Those of the recipe, and behind them those of books that were removed.
    pub(super) columns: Vec<Column>,
    pub(super) since: i64,
    pub(super) last_reset: i64,
    pub(super) windows: Option<Windows>,
    pub(super) kept: Vec<Kept>,
    pub(super) associations: FxHashMap<u32, Association>,
    pub(super) qos: FxHashMap<u32, Qos>,
    pub(super) groups: FxHashMap<u32, TallyPlace>,
    pub(super) partitions: FxHashMap<String, TallyPlace>,
    /// All QOS that keep their usage, those too that nothing is known of yet: the first job of one may have ended already.
    pub(super) undecayed: FxHashSet<u32>,
    /// The steps of distances from targets, as of the cycle before.
    pub steps: KeptSteps,
    /// Places that nobody has any more.
    free: Vec<TallyPlace>,
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
            columns: columns::of(&recipe),
            recipe,
            since,
            last_reset,
            windows,
            kept: vec![Kept::default(); TallyPlace::FIRST],
            associations: FxHashMap::default(),
            qos: FxHashMap::default(),
            groups: FxHashMap::default(),
            partitions: FxHashMap::default(),
            undecayed: FxHashSet::default(),
            steps: KeptSteps::new(),
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
    /// `ended` has what is still to be counted. Returns the books that start empty.
    pub fn follow<'e>(
        &mut self,
        recipe: &Recipe,
        ended: impl IntoIterator<Item = &'e mut Ended>,
    ) -> Vec<String> {
        if self.recipe == *recipe {
            return Vec::new();
        }
        let (columns, before) = columns::replaced(&self.columns, recipe);
        let is_new = |book: &&String| {
            let known =
                |(column, at): (&Column, &Option<usize>)| column.book.as_ref() == Some(book) && at.is_some();
            !columns.iter().zip(&before).any(known)
        };
        let new = recipe.books.iter().filter(is_new).cloned().collect();
        self.kept.iter_mut().for_each(|kept| rearrange(&mut kept.columns, &before));
        for ended in ended {
            rearrange(&mut ended.columns, &before);
            if self.recipe.metric != recipe.metric {
                (ended.charge.rate, ended.charge.decayed) = (0.0, 0.0);
            }
        }
        self.columns = columns;
        if self.recipe.metric != recipe.metric {
            self.windows = None;
            for kept in &mut self.kept {
                *kept = Kept { columns: std::mem::take(&mut kept.columns), ..Kept::default() };
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
        if !recipe.steps {
            self.steps.clear();
        }
        self.recipe = recipe.clone();
        new
    }

    /// Nothing is kept any more, not even of books that were removed.
    pub fn is_needless(&self) -> bool {
        self.recipe.is_empty() && self.columns.is_empty()
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Whether something of books is kept.
    pub fn has_books(&self) -> bool {
        self.columns.iter().any(|column| column.book.is_some())
    }

    pub(super) fn new_place(&mut self) -> TallyPlace {
        self.free.pop().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            // There are fewer associations than that.
            TallyPlace(u32::try_from(self.kept.len() - 1).unwrap_or(u32::MAX))
        })
    }

    fn give_back(&mut self, place: TallyPlace) -> Kept {
        self.free.push(place);
        std::mem::take(&mut self.kept[place.index()])
    }

    /// The place of an association.
    pub fn association(&mut self, id: u32) -> TallyPlace {
        if let Some(known) = self.associations.get(&id) {
            return known.place;
        }
        let place = self.new_place();
        let new = Association { place, names: None, parent: None, raw: None, address: 0 };
        self.associations.insert(id, new);
        place
    }

    /// The place of a QOS, and whether its usage decays.
    pub fn qos(&mut self, id: u32) -> (TallyPlace, bool) {
        if let Some(known) = self.qos.get(&id) {
            return (known.place, known.decays);
        }
        let (place, decays) = (self.new_place(), !self.undecayed.contains(&id));
        self.qos.insert(id, Qos { place, name: None, raw: None, decays });
        (place, decays)
    }

    /// The place of a Unix group.
    pub fn group(&mut self, gid: u32) -> TallyPlace {
        if let Some(place) = self.groups.get(&gid) {
            return *place;
        }
        let place = self.new_place();
        self.groups.insert(gid, place);
        place
    }

    /// The place of a partition.
    pub fn partition(&mut self, name: &str) -> TallyPlace {
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

    /// Counts what has ended since the last cycle, decays, and counts the tally. From then on everything is counted up to now. What was
    /// used later than now stays in `ended`. Returns whether everything was reset.
    pub fn settle(&mut self, cycle: Cycle<'_>, ended: &mut Vec<Ended>) -> bool {
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
        of_ended.begin(self.windows, self.columns.len());
        for mut one in ended.drain(..) {
            let before = if set_back { std::mem::take(&mut one) } else { one.taken_until(now) };
            self.enter(&mut of_ended, &before);
            if !one.charge.is_empty() {
                // slurmctld has charged that already, and decays it now.
                one.charge.decayed *= decay;
                one.columns.iter_mut().for_each(|amount| *amount *= decay);
                later.push(one);
            }
        }
        *ended = later;
        self.add(&of_ended);
        // By its time, as slurmctld's usage and ours may be of different cycles after a restart: each reset is done once.
        let is_future = self.last_reset > now.saturating_add(DAY);
        let is_reset = last_reset > self.last_reset || is_future && last_reset != self.last_reset;
        if is_reset {
            self.kept.iter_mut().for_each(Kept::clear);
            self.columns.truncate(columns::count(&self.recipe));
            self.last_reset = last_reset;
        }
        if self.recipe.halflife {
            let undecayed: Vec<TallyPlace> =
                self.qos.values().filter(|qos| !qos.decays).map(|qos| qos.place).collect();
            let full: Vec<f64> = undecayed.iter().map(|place| self.kept[place.index()].halflife).collect();
            self.kept.iter_mut().for_each(|kept| kept.halflife *= decay);
            for (place, full) in undecayed.into_iter().zip(full) {
                self.kept[place.index()].halflife = full;
            }
        }
        if !self.columns.is_empty() {
            let amounts = self.kept.iter_mut().flat_map(|kept| &mut kept.columns);
            amounts.for_each(|amount| *amount *= decay);
        }
        self.add(tally);
        self.since = now;
        self.drop_faded();
        self.drop_removed(decay, ended);
        is_reset
    }

    /// Enters what a job that has ended is charged.
    fn enter(&mut self, tally: &mut Tally, ended: &Ended) {
        let charge: Charge = ended.charge.finite();
        if charge.is_empty() {
            return;
        }
        tally.add(TallyPlace::ALL, &charge, true);
        if let Some(id) = ended.association {
            let place = self.association(id);
            tally.add(place, &charge, true);
            tally.add_columns(place, 0, &ended.columns);
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
        for (kept, amounts) in self.kept.iter_mut().zip(tally.columns()) {
            if amounts.iter().any(|amount| *amount > 0.0) {
                kept.add_columns(amounts);
            }
        }
    }

    /// Forgets books that were removed once half of their usage has decayed.
    fn drop_removed(&mut self, decay: f64, ended: &mut [Ended]) {
        let count = columns::count(&self.recipe);
        if self.columns.len() <= count {
            return;
        }
        self.columns[count..].iter_mut().for_each(|column| column.left *= decay);
        let stays: Vec<Option<usize>> = (0..self.columns.len())
            .filter(|at| *at < count || self.columns[*at].left > 0.5)
            .map(Some)
            .collect();
        if stays.len() < self.columns.len() {
            self.kept.iter_mut().for_each(|kept| rearrange(&mut kept.columns, &stays));
            for ended in ended {
                rearrange(&mut ended.columns, &stays);
            }
            self.columns = stays.into_iter().flatten().map(|at| self.columns[at].clone()).collect();
        }
    }

    /// Forgets groups and partitions that nobody has used for long.
    fn drop_faded(&mut self) {
        let mut faded = Vec::new();
        let kept = &self.kept;
        let mut stays = |place: &TallyPlace| {
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

//! What sums say of single windows, for those who ask where a usage in windows comes from.

use rustc_hash::FxHashMap;

use super::Sums;
use crate::rules::tally::TallyPlace;
use crate::rules::windows;

/// Amounts in the latest windows by who has them, the current one first; those that are missing at the end are 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowAmounts {
    /// When the current window begins.
    pub begin: i64,
    /// Seconds of each.
    pub length: i64,
    /// How many are told of at most: fewer than count where they are too many.
    pub told: usize,
    /// By id, with that of all below.
    pub associations: FxHashMap<u32, Vec<f64>>,
    /// That of all associations.
    pub of_tree: Vec<f64>,
    /// By id.
    pub qos: FxHashMap<u32, Vec<f64>>,
    /// By gid.
    pub groups: FxHashMap<u32, Vec<f64>>,
    /// By name.
    pub partitions: FxHashMap<String, Vec<f64>>,
    /// Of all jobs, whatever was reset.
    pub all: Vec<f64>,
    /// What the cluster could have given.
    pub capacity: Vec<f64>,
}

impl Sums {
    /// What was used in each window, as the last cycle left it: at most so many amounts in all. `None` where nothing is counted in windows.
    pub fn window_amounts(&self, most: usize) -> Option<WindowAmounts> {
        let windows = self.windows?;
        let told = windows.depth().min(most / self.kept.len().max(1)).max(1);
        let of = |place: TallyPlace| {
            let amounts = &self.kept[place.index()].windows;
            amounts[..amounts.len().min(told)].to_vec()
        };
        let mut found = WindowAmounts {
            begin: windows.newest().saturating_mul(windows.length()),
            length: windows.length(),
            told,
            qos: self.qos.iter().map(|(id, known)| (*id, of(known.place))).collect(),
            groups: self.groups.iter().map(|(gid, place)| (*gid, of(*place))).collect(),
            partitions: self.partitions.iter().map(|(name, place)| (name.clone(), of(*place))).collect(),
            all: of(TallyPlace::ALL),
            capacity: of(TallyPlace::CAPACITY),
            ..WindowAmounts::default()
        };
        for (id, known) in &self.associations {
            for (age, amount) in of(known.place).into_iter().enumerate().filter(|(_, amount)| *amount != 0.0)
            {
                windows::enter(&mut found.of_tree, age, amount);
                for id in self.path_of(*id) {
                    windows::enter(found.associations.entry(id).or_default(), age, amount);
                }
            }
        }
        Some(found)
    }
}

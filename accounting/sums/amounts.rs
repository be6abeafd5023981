//! The sums of single windows, to explain where a usage in windows comes from.

use multifactor2_core::rules::windows;
use rustc_hash::FxHashMap;

use super::Sums;
use crate::tally::TallyPlace;

/// Amounts in the latest windows by owner, the current one first; missing ones at the end are 0.
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
    /// What was used in each window, as of the last cycle, with at most `most` amounts in all. `None` if nothing is counted in windows.
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

#[cfg(test)]
mod tests {
    use super::super::{Association, Recipe, Sums};
    use super::*;

    /// The root 1, an account 2 in it, users 3 and 4 in that, and 5 in the root, who is gone from the tree.
    fn sums() -> Sums {
        let recipe = Recipe { metric: "cpu".to_owned(), windows: Some((100, 4)), ..Recipe::default() };
        let mut sums = Sums::new(recipe, 1250, 0);
        for (id, parent) in [(1, None), (2, Some(1)), (3, Some(2)), (4, Some(2)), (5, None)] {
            let place = sums.new_place();
            sums.associations.insert(id, Association { place, names: None, parent, raw: None, address: 0 });
        }
        for (id, amounts) in [(3, vec![1.0, 2.0, 0.0, 4.0]), (4, vec![0.0, 8.0]), (5, vec![16.0])] {
            let place = sums.associations[&id].place;
            sums.kept[place.index()].windows = amounts;
        }
        let group = sums.group(7);
        sums.kept[group.index()].windows = vec![0.0, 3.0];
        sums.kept[TallyPlace::ALL.index()].windows = vec![17.0, 10.0, 0.0, 4.0];
        sums
    }

    #[test]
    fn each_has_what_is_below_it_in_each_window() {
        let found = sums().window_amounts(1000).expect("there are windows");
        assert_eq!((found.begin, found.length, found.told), (1200, 100, 4));
        let of = |id: u32| found.associations.get(&id).cloned().unwrap_or_default();
        assert_eq!(of(3), [1.0, 2.0, 0.0, 4.0]);
        assert_eq!((of(1), of(2)), (vec![1.0, 10.0, 0.0, 4.0], vec![1.0, 10.0, 0.0, 4.0]));
        assert_eq!((of(4), of(5), found.of_tree), (vec![0.0, 8.0], vec![16.0], vec![17.0, 10.0, 0.0, 4.0]));
        assert_eq!((&found.groups[&7], &found.all), (&vec![0.0, 3.0], &vec![17.0, 10.0, 0.0, 4.0]));
        // What is told together is what is counted.
        let readings = sums().readings(super::super::Model::Windows { decay: 0.5 });
        for (id, sum) in readings.associations {
            assert_eq!(windows::usage(&of(id), 0.5).to_bits(), sum.to_bits(), "{id}");
        }
    }

    #[test]
    fn there_are_no_more_than_are_asked_for_and_at_least_one() {
        let sums = sums();
        let owners = sums.kept.len();
        for (most, told) in [(4 * owners, 4), (3 * owners, 3), (owners, 1), (0, 1)] {
            let found = sums.window_amounts(most).expect("there are windows");
            assert_eq!(found.told, told, "{most}");
            assert_eq!(found.all, &[17.0, 10.0, 0.0, 4.0][..told], "{most}");
            assert!(
                found.associations[&3].len() <= told
                    && found.associations[&3][0].to_bits() == 1.0_f64.to_bits()
            );
        }
        let none = Sums::new(Recipe::default(), 0, 0);
        assert_eq!(none.window_amounts(1000), None);
    }
}

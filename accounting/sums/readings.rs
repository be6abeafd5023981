//! Reads usage by owner from the sums.

use multifactor2_core::rules::windows::{self, plus};
use rustc_hash::FxHashMap;

use super::columns::Column;
use super::{Kept, Sums};
use crate::tally::TallyPlace;

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

/// Usage by owner, of one model.
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

impl Kept {
    fn usage(&self, model: Model) -> f64 {
        match model {
            Model::HalfLife => self.halflife,
            Model::Windows { decay } => windows::usage(&self.windows, decay),
        }
    }
}

impl Sums {
    /// All usage, as the last cycle left it.
    pub fn readings(&self, model: Model) -> Readings {
        let usage = |place: TallyPlace| self.kept[place.index()].usage(model);
        Readings {
            qos: self.qos.iter().map(|(id, known)| (*id, usage(known.place))).collect(),
            groups: self.groups.iter().map(|(gid, place)| (*gid, usage(*place))).collect(),
            partitions: self.partitions.iter().map(|(name, place)| (name.clone(), usage(*place))).collect(),
            all: usage(TallyPlace::ALL),
            capacity: usage(TallyPlace::CAPACITY),
            ..self.in_tree(usage)
        }
    }

    /// What was used in a book: billing, or of a TRES. Nothing if that is not kept.
    pub fn readings_of_book(&self, book: &str, of: &str) -> Readings {
        let is_it =
            |column: &Column| column.book.as_deref() == Some(book) && column.of.eq_ignore_ascii_case(of);
        let Some(at) = self.columns.iter().position(is_it) else { return Readings::default() };
        self.in_tree(|place| self.kept[place.index()].columns.get(at).copied().unwrap_or_default())
    }

    /// Usage of associations, each with all below it.
    fn in_tree(&self, usage: impl Fn(TallyPlace) -> f64) -> Readings {
        let mut readings = Readings {
            associations: self.associations.keys().map(|id| (*id, 0.0)).collect(),
            ..Readings::default()
        };
        for (id, known) in &self.associations {
            let own = usage(known.place);
            if own == 0.0 {
                continue;
            }
            readings.of_tree = plus(readings.of_tree, own);
            for id in self.path_of(*id) {
                if let Some(sum) = readings.associations.get_mut(&id) {
                    *sum = plus(*sum, own);
                }
            }
        }
        readings
    }
}

impl Sums {
    /// An association and those above it, up to the root.
    pub(super) fn path_of(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let above = |id: &u32| self.associations.get(id).and_then(|known| known.parent);
        // Parents that lead in a circle end somewhere, too.
        std::iter::successors(Some(id), above).take(MOST_LEVELS)
    }
}

/// Levels of a tree of accounts.
const MOST_LEVELS: usize = 1000;

//! How sums begin on a cluster where slurmctld has counted before: with its raw usage, so that nobody starts again at 0.

use multifactor2_core::rules::windows::enter;
use rustc_hash::FxHashMap;

use super::Sums;
use crate::ended::Ended;
use crate::measures::rest;
use crate::raw_usage::Seen;

/// What associations have used themselves before sums began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beginning(Vec<(u32, f64)>);

impl Beginning {
    /// Raw usage before a cycle charges, less that of the associations below, and less the charges of jobs that have `ended` since and are
    /// counted separately.
    pub fn of(seen: &[Seen], ended: &[Ended]) -> Self {
        let mut others: FxHashMap<u32, f64> = FxHashMap::default();
        for (parent, raw) in seen.iter().filter_map(|seen| Some((seen.parent?, seen.raw))) {
            *others.entry(parent).or_default() += raw;
        }
        for (id, raw) in ended.iter().filter_map(|ended| Some((ended.association?, ended.raw?))) {
            *others.entry(id).or_default() += raw.association;
        }
        let own = |seen: &Seen| {
            let own = rest(seen.raw, others.get(&seen.id).copied().unwrap_or_default());
            (own > 0.0 && own.is_finite()).then_some((seen.id, own))
        };
        Self(seen.iter().filter_map(own).collect())
    }
}

impl Sums {
    /// Puts what was used before into the current window.
    pub fn begin_with(&mut self, beginning: &Beginning) {
        for (id, own) in &beginning.0 {
            let place = self.association(*id);
            enter(&mut self.kept[place.index()].windows, 0, *own);
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // sums of whole numbers are exact
mod tests {
    use super::super::{Model, Recipe};
    use super::*;
    use crate::ended::RawCharge;

    #[test]
    fn each_begins_with_what_it_has_used_itself() {
        let seen = |id, parent, raw| Seen { id, parent, raw };
        // An account has what a user has left who is gone.
        let all = [
            seen(1, None, 100.0),
            seen(2, Some(1), 70.0),
            seen(3, Some(2), 30.0),
            seen(4, Some(2), 0.1 + 0.2),
            seen(5, Some(1), 30.0),
            seen(6, Some(1), f64::NAN),
        ];
        let ended = Ended {
            association: Some(5),
            raw: Some(RawCharge { association: 12.0, ..RawCharge::default() }),
            ..Ended::default()
        };
        let beginning = Beginning::of(&all, &[ended, Ended::default()]);
        assert_eq!(beginning, Beginning(vec![(2, 39.7), (3, 30.0), (4, 0.1 + 0.2), (5, 18.0)]));
        let recipe = Recipe { metric: "billing".to_owned(), windows: Some((100, 3)), ..Recipe::default() };
        let mut sums = Sums::new(recipe, 250, 0);
        sums.begin_with(&beginning);
        assert_eq!(sums.readings(Model::Windows { decay: 0.5 }).of_tree, 39.7 + 30.0 + (0.1 + 0.2) + 18.0);
    }
}

//! Sorting for code that runs seldom, such as for a file or for settings.
//!
//! The library's sorts are compiled anew for each type, up to eight kilobytes each time. This one sorts indexes and is compiled once.

use std::cmp::Ordering;

/// Sorts a list, and keeps the order of those that are equal. Takes a list of places, and a call for each comparison.
pub fn sort_by<T>(list: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let mut places: Vec<usize> = (0..list.len()).collect();
    sort_places(&mut places, &|a, b| order(&list[a], &list[b]));
    // Each goes where it belongs, one circle after the other.
    for start in 0..places.len() {
        let mut at = start;
        while places[at] != at {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            list.swap(at, from);
            at = from;
        }
    }
}

/// The same by a key.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

#[inline(never)]
fn sort_places(places: &mut [usize], order: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|a, b| order(*a, *b));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn the_order_is_that_of_the_library(list in prop::collection::vec((0..9_u8, any::<u8>()), 0..60)) {
            let (mut ours, mut theirs) = (list.clone(), list);
            super::sort_by_key(&mut ours, |(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(ours, theirs);
        }
    }
}

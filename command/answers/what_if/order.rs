//! Measures how far apart two orders of the same things are.

use std::collections::HashMap;
use std::hash::Hash;

/// Kendall's tau of two orders over what is in both: 1 where it is in the same order, -1 where it is in the opposite one, in between by
/// the pairs that changed places; `None` for fewer than two.
///
/// tau = 1 - 4 · inversions / (n · (n - 1)), see Kendall, A New Measure of Rank Correlation, 1938.
pub fn tau<K: Eq + Hash>(before: &[K], after: &[K]) -> Option<f64> {
    let places: HashMap<&K, usize> = after.iter().enumerate().map(|(place, key)| (key, place)).collect();
    let order: Vec<usize> = before.iter().filter_map(|key| places.get(key).copied()).collect();
    let n = f64::from(u32::try_from(order.len()).ok().filter(|n| *n >= 2)?);
    let (_, inversions) = sorted(order);
    #[allow(clippy::cast_precision_loss)] // counts of pairs
    Some(1.0 - 4.0 * inversions as f64 / (n * (n - 1.0)))
}

/// Sorts, and counts the pairs that were in the wrong order.
fn sorted(mut left: Vec<usize>) -> (Vec<usize>, u64) {
    if left.len() < 2 {
        return (left, 0);
    }
    let right = left.split_off(left.len() / 2);
    let ((left, of_left), (right, of_right)) = (sorted(left), sorted(right));
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut inversions = of_left + of_right;
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(first), Some(second)) if second < first => {
                // It was behind all that are left.
                inversions += left.len() as u64;
                right.next()
            }
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };
        let Some(next) = next else { return (merged, inversions) };
        merged.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::tau;
    use proptest::prelude::*;

    #[test]
    fn tau_by_hand() {
        assert_eq!(tau(&[1, 2, 3], &[1, 2, 3]), Some(1.0));
        assert_eq!(tau(&[1, 2, 3], &[3, 2, 1]), Some(-1.0));
        // Of six pairs one is the other way round.
        assert_eq!(tau(&["a", "b", "c", "d"], &["a", "c", "b", "d"]), Some(1.0 - 2.0 / 6.0));
        // What is in one only does not count.
        assert_eq!(tau(&[9, 1, 2, 3], &[1, 2, 8, 3]), Some(1.0));
        assert_eq!((tau(&[1], &[1]), tau::<u8>(&[], &[])), (None, None));
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn tau_counts_pairs(after in Just((0_usize..40).collect::<Vec<_>>()).prop_shuffle(), length in 2_usize..40) {
            let before: Vec<usize> = (0..length).collect();
            let after: Vec<usize> = after.into_iter().filter(|key| *key < length).collect();
            let place = |key| after.iter().position(|other| *other == key).unwrap();
            let (mut pairs, mut sum) = (0.0, 0.0);
            for a in 0..length {
                for b in a + 1..length {
                    pairs += 1.0;
                    sum += if place(a) < place(b) { 1.0 } else { -1.0 };
                }
            }
            let found = tau(&before, &after).unwrap();
            prop_assert!((found - sum / pairs).abs() < 1e-12, "{found} {}", sum / pairs);
        }
    }
}

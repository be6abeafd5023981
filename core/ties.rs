//! Ties: makes numbers that are equal on paper equal here, in whatever order they were computed.
//!
//! The last bits of a number with a fraction depend on the order of its arithmetic. They must not decide which job comes first if two
//! numbers are equal on paper. So each number that is compared uses one of these:
//! - It is the rounded quotient of two whole numbers, or of numbers that are inputs, which is the same for all with the same quotient.
//!   `LevelFS` of siblings is computed in this way ([`Competition::level_fs`](crate::competition::Competition::level_fs)), from shares
//!   without their common factor ([`ShareTree`](crate::ShareTree)).
//! - It is compared by its [`rank`]: `LevelFS` with its ceiling and, under `Distribution=strict`, with that of siblings, as usage itself
//!   may be a sum in any order; tickets with those of the best; claims of override and functional tickets, tickets of earlier pools, claims
//!   of `Dilution=tree`; usage with its target.
//! - It is [`settled`] before it is rounded to a whole number: what fair-share adds to a priority, and points.
//! - It is added up in a [`Sum`], which does not depend on the order.
//!
//! All other comparisons of numbers with a fraction decide between values that are the same if the two numbers are: a largest value, a
//! limit, a clamp. `policy::stock` decides as stock `priority/multifactor` does.

/// The last bits, which the order of arithmetic may change. What is left tells apart one part in 10^12; a priority has 32 bits.
const BITS: u32 = 12;

/// The part of a number that its last bits are at most.
pub(crate) const LAST_BITS: f64 = f64::EPSILON * (1 << BITS) as f64;

/// Those that a number to be rounded loses: so few that it is not taken for another one.
const SETTLED_BITS: u32 = 6;

/// Clears the very last bits: gives the nearest whole or half number if the arithmetic has just missed it. Zero, infinity, NaN, and what is
/// nearly zero or infinite, stay as they are.
pub fn settled(number: f64) -> f64 {
    let bits = number.to_bits();
    let settled = f64::from_bits(bits.wrapping_add(1 << (SETTLED_BITS - 1)) >> SETTLED_BITS << SETTLED_BITS);
    if number.is_normal() && settled.is_finite() {
        settled
    } else {
        number
    }
}

/// The place of a number among all numbers, the same for those that differ in the last bits only.
pub(crate) fn rank(number: f64) -> i64 {
    #[allow(clippy::cast_possible_wrap)] // the sign is the highest bit of both
    let bits = number.to_bits() as i64;
    // The order of all numbers, as in `f64::total_cmp`.
    let in_order = bits ^ ((bits >> 63) & i64::MAX);
    in_order.saturating_add(1 << (BITS - 1)) >> BITS
}

/// Whether two numbers differ in the last bits at most.
pub(crate) fn same(number: f64, other: f64) -> bool {
    rank(number) == rank(other)
}

/// A sum that does not depend on the order of what is added: what each addition rounds off is kept, and added at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    sum: f64,
    /// What has been rounded off so far (Neumaier).
    rest: f64,
}

impl Sum {
    /// Adds a number that is not negative.
    pub(crate) fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        let (large, small) = if self.sum >= number { (self.sum, number) } else { (number, self.sum) };
        self.rest += (large - sum) + small;
        self.sum = sum;
    }

    /// The sum.
    pub(crate) fn get(self) -> f64 {
        self.sum + self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::{rank, same, settled, Sum};

    #[test]
    fn what_differs_in_the_last_bits_is_one_number() {
        let ways: [f64; 4] = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.6, 0.17 / (0.01 * 0.17) * 0.006];
        assert!(ways.iter().any(|way| way.to_bits() != ways[0].to_bits()));
        for way in ways {
            assert_eq!(settled(way).to_bits(), settled(0.6).to_bits());
            assert!(same(way, 0.6) && same(-way, -0.6));
        }
        for number in [0.0, 1.0, 100.0, 1.5, -3.0, 5e-324, f64::MAX, f64::INFINITY] {
            assert_eq!(
                settled(number).to_bits(),
                number.to_bits(),
                "{number} has no bits to lose, or may lose none"
            );
        }
        // The last one is as large as a number of 64 bits can be.
        for nan in [f64::NAN, -f64::NAN, f64::from_bits(u64::MAX)] {
            assert!(settled(nan).is_nan());
        }
        let larger = 1.0 + 1e-11;
        assert!(settled(larger) > 1.0 && rank(larger) > rank(1.0));
        assert!(
            rank(f64::NEG_INFINITY) < rank(-1.0) && rank(-1.0) < rank(0.0) && rank(1.0) < rank(f64::INFINITY)
        );
    }

    #[test]
    fn a_sum_is_the_same_in_any_order() {
        let mut random = multifactor2_fixtures::random();
        for _ in 0..1000 {
            let mut number = || random.f64() * 10_f64.powi(random.i32(-12..12));
            let mut numbers: Vec<f64> = (0..40).map(|_| number()).collect();
            let sum = |numbers: &[f64]| {
                let mut sum = Sum::default();
                for number in numbers {
                    sum.add(*number);
                }
                sum.get().to_bits()
            };
            let first = sum(&numbers);
            random.shuffle(&mut numbers);
            assert_eq!(sum(&numbers), first);
        }
    }
}

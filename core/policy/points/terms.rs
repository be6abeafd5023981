//! Weighted sums of values with caps, of which all components are made.

use crate::settings::Term;

/// No weight is taken to be larger, so that no sum of points is infinite.
const HEAVIEST: f64 = 1e30;

/// A number of settings as a weight.
pub(super) fn weight(number: f64) -> f64 {
    if number.is_nan() {
        0.0
    } else {
        number.clamp(-HEAVIEST, HEAVIEST)
    }
}

/// A cap as it is written: 0 or less is none.
pub(super) fn cap(number: f64) -> f64 {
    if number > 0.0 {
        number
    } else {
        f64::INFINITY
    }
}

/// The smaller of two numbers, where the first is not NaN, or else the second: one instruction.
#[inline]
pub(super) fn least(number: f64, cap: f64) -> f64 {
    if number < cap {
        number
    } else {
        cap
    }
}

/// The larger of two numbers, likewise.
#[inline]
pub(super) fn most(number: f64, floor: f64) -> f64 {
    if number > floor {
        number
    } else {
        floor
    }
}

/// A number of a job, not negative and not above what any job can have.
pub(super) fn amount(number: f64) -> f64 {
    // The comparison is false for NaN.
    if number > 0.0 {
        least(number, 1e30)
    } else {
        0.0
    }
}

/// The sum of w · min(cap, value) over the parts of a component (Maui Administrator's Guide, 5.1.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Terms<const N: usize> {
    weights: [f64; N],
    caps: [f64; N],
}

impl<const N: usize> Terms<N> {
    pub(super) fn of(terms: [Term; N]) -> Self {
        Self { weights: terms.map(|term| weight(term.weight)), caps: terms.map(|term| cap(term.cap)) }
    }

    /// Whether a part counts.
    pub(super) fn counts(&self, part: usize) -> bool {
        self.weights.get(part).is_some_and(|weight| *weight != 0.0)
    }

    /// The weight of a part.
    pub(super) fn weight(&self, part: usize) -> f64 {
        self.weights.get(part).copied().unwrap_or_default()
    }

    /// What a value adds to the sum.
    pub(super) fn part(&self, part: usize, value: f64) -> f64 {
        self.weight(part) * least(value, self.caps.get(part).copied().unwrap_or(f64::INFINITY))
    }

    /// Whether a part counts up to a cap only.
    pub(super) fn has_cap(&self, part: usize) -> bool {
        self.caps.get(part).is_some_and(|cap| cap.is_finite())
    }

    pub(super) fn sum(&self, values: [f64; N]) -> f64 {
        let mut sum = 0.0;
        for ((value, weight), cap) in values.into_iter().zip(self.weights).zip(self.caps) {
            sum += weight * least(value, cap);
        }
        sum
    }

    /// The same with numbers that are added to the weights.
    pub(super) fn sum_with(&self, values: [f64; N], more: [f64; N]) -> f64 {
        let mut sum = 0.0;
        for (((value, weight), cap), more) in values.into_iter().zip(self.weights).zip(self.caps).zip(more) {
            sum += (weight + more) * least(value, cap);
        }
        sum
    }
}

//! The rule `nesi`: what is not used in time is lost. After each interval at least as much counts as used as even use would have taken.
//!
//! B = A - max(U in all, floor((t - start) / d) · A · d / (end - start)) with the interval d. The grant is within where B > 0.

use num_bigint::BigInt;
use num_traits::Zero as _;

use super::{at_least, exact, sum, used_in, Exact, Grant, Parts};

/// How a grant stands in a period at a time.
pub(super) fn parts(grant: &Grant, used: &[i128], (period, at): (usize, i64), interval: i64) -> Parts {
    let (start, end) = grant.periods.whole();
    let all = grant.total(at);
    let interval = interval.max(1);
    let steps = (at - start).max(0) / interval;
    let part = Exact::new(BigInt::from(steps) * BigInt::from(interval), BigInt::from((end - start).max(1)));
    let aged = &all * part;
    let used_in_all = exact(sum(used));
    let others = &used_in_all - exact(used_in(used, period));
    let beyond_from = if aged >= all { i128::MIN } else { at_least(&(&all - others)) };
    Parts { carried: Exact::zero(), beyond_from, balance: all - used_in_all.max(aged), limit: Exact::zero() }
}

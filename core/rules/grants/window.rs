//! The rule `rwth`: a window of three periods, the previous, the current and the next.
//!
//! B = G(p-1) + G(p) + G(p+1) - U(p-1) - U(p). The grant is within where B > 0. It is also beyond where U(p) > 6 G(p), or where usage in
//! all exceeds twice the whole amount.

use num_bigint::BigInt;
use num_traits::Zero as _;

use super::{at_least, exact, more_than, sum, used_in, Exact, Grant, Parts};

/// How many times the grant of a period may be used in it.
const MOST_OF_PERIOD: u8 = 6;
/// How many times the whole amount may be used in all.
const MOST_OF_ALL: u8 = 2;

/// How a grant stands in a period at a time.
pub(super) fn parts(grant: &Grant, used: &[i128], (period, at): (usize, i64)) -> Parts {
    let times = |count: u8, amount: Exact| amount * Exact::from_integer(BigInt::from(count));
    let own = used_in(used, period);
    let window = [period.checked_sub(1), Some(period), Some(period + 1)];
    let granted =
        window.into_iter().flatten().fold(Exact::zero(), |sum, period| sum + grant.granted(period, at));
    let before = period.checked_sub(1).map_or(0, |before| used_in(used, before));
    let left = granted - exact(before);
    let others = exact(sum(used)) - exact(own);
    let of_period = more_than(&times(MOST_OF_PERIOD, grant.granted(period, at)));
    let of_all = more_than(&(times(MOST_OF_ALL, grant.total(at)) - others));
    Parts {
        carried: Exact::zero(),
        beyond_from: at_least(&left).min(of_period).min(of_all),
        balance: left - exact(own),
        limit: Exact::zero(),
    }
}

//! The rules `jsc` (months, all of a grant is carried) and `nhr` (quarters): the rest of a period, or its overuse, moves on to the next.
//!
//! B = carry(p) + G(p) - U(p), with carry(1) = 0 and carry(p+1) = max(min(B at the end of p, carry over · G(p)), -debt cap · G(p+1)). The
//! grant is within where B > -borrow · G(p+1). The last period has no next one to borrow from.

use num_traits::Zero as _;

use super::{at_least, exact, used_in, Exact, Grant, Parts};

/// What a line says besides the rule.
pub(super) struct Options<'o> {
    pub carry_over: &'o Exact,
    pub borrow: &'o Exact,
    pub debt_cap: Option<&'o Exact>,
}

/// How a grant stands in a period at a time.
pub(super) fn parts(
    grant: &Grant,
    used: &[i128],
    (period, at): (usize, i64),
    options: &Options<'_>,
) -> Parts {
    let Options { carry_over, borrow, debt_cap } = options;
    let mut carried = Exact::zero();
    for before in 1..period {
        let granted = grant.granted(before, at);
        let most = *carry_over * &granted;
        let left = (carried + granted - exact(used_in(used, before))).min(most);
        carried = match debt_cap {
            Some(cap) => left.max(-(*cap * grant.granted(before + 1, at))),
            None => left,
        };
    }
    let before_use = &carried + grant.granted(period, at);
    let limit = -(*borrow * grant.granted(period + 1, at));
    Parts {
        beyond_from: at_least(&(&before_use - &limit)),
        balance: before_use - exact(used_in(used, period)),
        carried,
        limit,
    }
}

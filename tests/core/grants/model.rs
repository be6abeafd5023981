//! An independent model of grants, made from their definitions alone: exact fractions, plain loops, no memory.
//!
//! Every quantity is computed anew from the grant as it is at t and from the use of all periods. Periods count from 1,
//! as in the definitions: period p lasts from `borders[p - 1]` to the second before `borders[p]`.

use num_bigint::BigInt;

/// A fraction without rounding.
pub type Exact = num_rational::BigRational;

/// How the periods of a grant work together.
#[derive(Clone, Debug)]
pub enum ModelRule {
    /// What is left of a period, or is owed, goes into the next one.
    Carry {
        /// At most this much of a period's grant goes into the next period.
        carry_over: Exact,
        /// This much of the next period's grant can be used already.
        borrow: Exact,
        /// At most this much of the next period's grant is owed when it begins. None: all that is owed.
        debt_cap: Option<Exact>,
    },
    /// The period before, this one and the next one are one budget.
    Window,
    /// What is not used gets lost in steps.
    Ageing {
        /// The length of a step.
        interval_seconds: i64,
    },
}

/// A later change of the amount.
#[derive(Clone, Debug)]
pub struct ModelAdjust {
    /// How much more is granted. Less, if it is negative.
    pub amount: Exact,
    /// The first second at which it holds.
    pub at: i64,
    /// Over the seconds that are left of the grant, instead of all in the period of `at`.
    pub spread: bool,
}

/// One line of a grant.
#[derive(Clone, Debug)]
pub struct ModelGrant {
    /// What is granted in all, without the adjusts.
    pub amount: Exact,
    /// Each period gets its part by its length in seconds. Otherwise all get the same.
    pub by_days: bool,
    /// How the periods work together.
    pub rule: ModelRule,
    /// The later changes, in any order.
    pub adjusts: Vec<ModelAdjust>,
    /// The n + 1 borders of the n periods in UTC seconds, ascending.
    pub borders: Vec<i64>,
}

/// How the account stands at one second.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelStanding {
    /// The period that contains the second, from 1.
    pub period: usize,
    /// What is granted for this period, as known at this second.
    pub granted: Exact,
    /// What came from the period before. Zero for every rule but carry.
    pub carried: Exact,
    /// What is left.
    pub balance: Exact,
    /// The account is beyond at this balance and below.
    pub limit: Exact,
    /// The account is within its grant.
    pub is_within: bool,
}

/// How the account of `grant` stands at `t`, after `used` in the periods 1 to n. None outside of the grant.
///
/// # Panics
///
/// If the borders do not ascend, if `used` has not one number for each period, or if an interval is not positive.
pub fn standing(grant: &ModelGrant, used: &[i128], t: i64) -> Option<ModelStanding> {
    assert!(grant.borders.len() >= 2, "a grant has at least one period");
    assert!(grant.borders.windows(2).all(|pair| pair[0] < pair[1]), "borders ascend");
    assert_eq!(used.len(), periods(grant), "one number for each period");

    let period = period_of(grant, t)?;
    let granted = granted(grant, period, t);
    Some(match &grant.rule {
        ModelRule::Carry { carry_over, borrow, debt_cap } => {
            let carried = carried_into(grant, used, t, period, carry_over, debt_cap.as_ref());
            let balance = &carried + &granted - used_in(used, period);
            let limit = -(borrow * granted_next(grant, period, t));
            let is_within = balance > limit;
            ModelStanding { period, granted, carried, balance, limit, is_within }
        }
        ModelRule::Window => {
            let budget = granted_before(grant, period, t) + &granted + granted_next(grant, period, t);
            let balance = budget - used_before(used, period) - used_in(used, period);
            let limit = whole(0);
            let is_too_much_in_period = used_in(used, period) > whole(6) * &granted;
            let is_too_much_in_all = used_in_all(used) > whole(2) * amount_at(grant, t);
            let is_within = balance > limit && !is_too_much_in_period && !is_too_much_in_all;
            ModelStanding { period, granted, carried: whole(0), balance, limit, is_within }
        }
        ModelRule::Ageing { interval_seconds } => {
            let amount = amount_at(grant, t);
            let lost = lost_by_age(grant, &amount, *interval_seconds, t);
            let balance = amount - std::cmp::max(used_in_all(used), lost);
            let limit = whole(0);
            let is_within = balance > limit;
            ModelStanding { period, granted, carried: whole(0), balance, limit, is_within }
        }
    })
}

/// The number n of periods.
fn periods(grant: &ModelGrant) -> usize {
    grant.borders.len() - 1
}

/// The first second of the grant.
fn start(grant: &ModelGrant) -> i64 {
    grant.borders[0]
}

/// The first second after the grant.
fn end(grant: &ModelGrant) -> i64 {
    grant.borders[periods(grant)]
}

/// The period that contains `t`, from 1.
fn period_of(grant: &ModelGrant, t: i64) -> Option<usize> {
    (1..=periods(grant)).find(|&period| grant.borders[period - 1] <= t && t < grant.borders[period])
}

/// A whole number as a fraction.
fn whole(number: i128) -> Exact {
    Exact::from_integer(BigInt::from(number))
}

/// The seconds from `from` to `to`.
fn seconds(from: i64, to: i64) -> Exact {
    whole(i128::from(to) - i128::from(from))
}

/// The adjusts that count at `t`: those up to then. One from before the grant is not an adjust of this grant.
fn adjusts_at(grant: &ModelGrant, t: i64) -> Vec<&ModelAdjust> {
    grant.adjusts.iter().filter(|adjust| start(grant) <= adjust.at && adjust.at <= t).collect()
}

/// The amount and the adjusts up to `t`.
fn amount_at(grant: &ModelGrant, t: i64) -> Exact {
    let mut amount = grant.amount.clone();
    for adjust in adjusts_at(grant, t) {
        amount += adjust.amount.clone();
    }
    amount
}

/// G(p, t): what is granted for a period from 1 to n, as known at `t`.
fn granted(grant: &ModelGrant, period: usize, t: i64) -> Exact {
    let (first, after) = (grant.borders[period - 1], grant.borders[period]);
    let mut sum = if grant.by_days {
        &grant.amount * seconds(first, after) / seconds(start(grant), end(grant))
    } else {
        &grant.amount / whole(i128::try_from(periods(grant)).unwrap())
    };
    for adjust in adjusts_at(grant, t) {
        if adjust.spread {
            let from = std::cmp::max(first, adjust.at);
            if from < after {
                sum += &adjust.amount * seconds(from, after) / seconds(adjust.at, end(grant));
            }
        } else if first <= adjust.at && adjust.at < after {
            sum += adjust.amount.clone();
        }
    }
    sum
}

/// G(p - 1, t). Nothing is granted before the first period.
fn granted_before(grant: &ModelGrant, period: usize, t: i64) -> Exact {
    if period == 1 {
        whole(0)
    } else {
        granted(grant, period - 1, t)
    }
}

/// G(p + 1, t). Nothing is granted after the last period.
fn granted_next(grant: &ModelGrant, period: usize, t: i64) -> Exact {
    if period == periods(grant) {
        whole(0)
    } else {
        granted(grant, period + 1, t)
    }
}

/// U(p): what was used in a period from 1 to n.
fn used_in(used: &[i128], period: usize) -> Exact {
    whole(used[period - 1])
}

/// U(p - 1). Nothing was used before the first period.
fn used_before(used: &[i128], period: usize) -> Exact {
    if period == 1 {
        whole(0)
    } else {
        used_in(used, period - 1)
    }
}

/// What was used in all periods together.
fn used_in_all(used: &[i128]) -> Exact {
    let mut sum = whole(0);
    for &one in used {
        sum += whole(one);
    }
    sum
}

/// carry(p): what the periods before `period` leave to it, or owe it, by the rule carry as known at `t`.
fn carried_into(
    grant: &ModelGrant,
    used: &[i128],
    t: i64,
    period: usize,
    carry_over: &Exact,
    debt_cap: Option<&Exact>,
) -> Exact {
    let mut carried = whole(0);
    for before in 1..period {
        let balance = carried + granted(grant, before, t) - used_in(used, before);
        carried = std::cmp::min(balance, carry_over * granted(grant, before, t));
        if let Some(debt_cap) = debt_cap {
            carried = std::cmp::max(carried, -(debt_cap * granted_next(grant, before, t)));
        }
    }
    carried
}

/// What is lost until `t` by the rule ageing if it was not used: the amount's part of each step that is over.
fn lost_by_age(grant: &ModelGrant, amount: &Exact, interval_seconds: i64, t: i64) -> Exact {
    assert!(interval_seconds > 0, "an interval has a length");
    let steps_over = (i128::from(t) - i128::from(start(grant))) / i128::from(interval_seconds);
    let seconds_over = whole(steps_over) * whole(i128::from(interval_seconds));
    amount * seconds_over / seconds(start(grant), end(grant))
}

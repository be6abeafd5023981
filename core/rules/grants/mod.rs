//! Grants: amounts of a unit for some months or days, with a rule that says how much of them may be used by when.
//!
//! The rules are those of sites that pace budgets by hand: [`carry`] of JSC and NHR, [`window`] of RWTH, [`ageing`] of `NeSI`, one file
//! each. All of them share the amounts and the bounds of periods ([`periods`]). The arithmetic is exact: amounts are rational numbers of
//! seconds of the unit, usage is whole seconds. Nothing here has a clock or a time zone: the caller says how far local clocks are ahead of
//! UTC.
//!
//! The current lines apply from the first period on. Standings are a function of the lines and of the usage by period, and have no memory.

mod ageing;
mod carry;
pub mod correction;
mod effects;
pub mod ledger;
mod ledger_file;
mod lineage;
mod lines;
pub mod periods;
mod scopes;
mod slots;
mod standings;
mod window;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

pub use crate::settings::GrantSplit as Split;
pub use effects::{Effect, Effects, Filters, Granted};
pub use lineage::DEEPEST;
pub use lines::{has_factors, Key, Sequence, Sequences};
pub(crate) use periods::MOST as MOST_PERIODS;
pub use periods::{Pace, Periods};
pub use scopes::Scopes;
pub use slots::Slots;
pub use standings::Standings;

/// An exact amount, in seconds of the unit.
pub type Exact = BigRational;

/// When a grant is used up for now.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// What is left, or was used too much, goes on to the next period (JSC, NHR@ZIB).
    Carry {
        /// As many times the period's grant as is carried at most.
        carry_over: Exact,
        /// As many times the next period's grant as may be used before it begins.
        borrow: Exact,
        /// As many times the next period's grant as is carried of a debt at most; `None` for all of it.
        debt_cap: Option<Exact>,
    },
    /// Three months are looked at: the one before, this one and the next (RWTH).
    Window,
    /// What is not used in time is lost (`NeSI`).
    Ageing {
        /// How often, in seconds.
        interval: i64,
    },
}

/// More or less than was granted, from a time on.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjust {
    /// By how much.
    pub amount: Exact,
    /// From when on.
    pub at: i64,
    /// Over the seconds that are left of the grant; else in the period of that time.
    pub spread: bool,
}

/// What one line grants.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// All of it, before adjustments.
    pub amount: Exact,
    /// How it is divided.
    pub split: Split,
    /// When it is used up for now.
    pub rule: Rule,
    /// More or less from a time on.
    pub adjusts: Vec<Adjust>,
    /// Its periods.
    pub periods: Periods,
}

/// How a grant stands.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantStanding {
    /// The number of the period, from 1 on.
    pub period: usize,
    /// What is granted for it.
    pub granted: Exact,
    /// What came from the period before; negative for a debt. 0 where the rule carries nothing.
    pub carried: Exact,
    /// What is left. Down to `limit` it may be used.
    pub balance: Exact,
    /// 0, or less than that where something may be borrowed.
    pub limit: Exact,
    /// The least usage of the period, in whole seconds of the unit, with which it is beyond. It is within where less was used.
    pub beyond_from: i128,
    /// Whether it is within.
    pub is_within: bool,
}

impl Grant {
    /// How many periods there are.
    pub fn count(&self) -> usize {
        self.periods.count()
    }

    /// What is granted for a period, as of a time; 0 for the ones before the first and behind the last.
    pub fn granted(&self, period: usize, at: i64) -> Exact {
        let Some((begin, end)) = self.periods.span(period) else { return Exact::zero() };
        let whole = |seconds: i64| Exact::from_integer(BigInt::from(seconds));
        let (first, last) = self.periods.whole();
        let part = match self.split {
            Split::Equal => Exact::new(BigInt::from(1), BigInt::from(self.count().max(1))),
            Split::Days => whole(end - begin) / whole((last - first).max(1)),
        };
        let mut granted = &self.amount * part;
        for adjust in self.adjusted(at) {
            if adjust.spread {
                let overlap = (end - begin.max(adjust.at)).max(0);
                granted += &adjust.amount * whole(overlap) / whole(last - adjust.at);
            } else if (begin..end).contains(&adjust.at) {
                granted += &adjust.amount;
            }
        }
        granted
    }

    /// All that is granted, as of a time.
    pub fn total(&self, at: i64) -> Exact {
        self.adjusted(at).fold(self.amount.clone(), |sum, adjust| sum + &adjust.amount)
    }

    /// The adjustments that are in force at a time. Those outside of the grant are of another one.
    fn adjusted(&self, at: i64) -> impl Iterator<Item = &Adjust> {
        let (first, last) = self.periods.whole();
        self.adjusts.iter().filter(move |adjust| (first..last).contains(&adjust.at) && adjust.at <= at)
    }

    /// How it stands at a time, with the usage of each period in whole seconds of the unit, the first period first; missing periods count
    /// 0. `None` outside the grant.
    pub fn standing(&self, used: &[i128], at: i64) -> Option<GrantStanding> {
        let period = self.periods.at(at)?;
        let parts = match &self.rule {
            Rule::Carry { carry_over, borrow, debt_cap } => carry::parts(
                self,
                used,
                (period, at),
                &carry::Options { carry_over, borrow, debt_cap: debt_cap.as_ref() },
            ),
            Rule::Window => window::parts(self, used, (period, at)),
            Rule::Ageing { interval } => ageing::parts(self, used, (period, at), *interval),
        };
        let Parts { carried, balance, limit, beyond_from } = parts;
        let is_within = used_in(used, period) < beyond_from;
        Some(GrantStanding {
            period,
            granted: self.granted(period, at),
            carried,
            balance,
            limit,
            beyond_from,
            is_within,
        })
    }

    /// What should have been used at a time: all of the earlier periods, and the elapsed part of this one. `None` outside the grant.
    pub fn should_be(&self, at: i64) -> Option<Exact> {
        let period = self.periods.at(at)?;
        let (begin, end) = self.periods.span(period)?;
        let part = Exact::new(BigInt::from(at - begin), BigInt::from((end - begin).max(1)));
        let before = (1..period).fold(Exact::zero(), |sum, before| sum + self.granted(before, at));
        Some(before + self.granted(period, at) * part)
    }

    /// When the standing may next change after a time even if nothing is used: with a period, an adjustment, or ageing. `None` if the grant
    /// is over then.
    pub fn next_change(&self, after: i64) -> Option<i64> {
        let (first, last) = self.periods.whole();
        let borders = self.periods.borders().iter().copied();
        let adjusts = self.adjusts.iter().map(|adjust| adjust.at);
        let ages = match self.rule {
            Rule::Ageing { interval } if interval > 0 && after >= first => {
                Some(first + ((after - first) / interval + 1) * interval)
            }
            _ => None,
        };
        borders.chain(adjusts).chain(ages).filter(|time| *time > after && *time <= last).min()
    }
}

/// What a rule says.
struct Parts {
    carried: Exact,
    balance: Exact,
    limit: Exact,
    beyond_from: i128,
}

/// An amount as the nearest number that is shown.
pub fn shown(amount: &Exact) -> f64 {
    amount.to_f64().unwrap_or_default()
}

/// The usage of a period; 0 for those that there are not.
fn used_in(used: &[i128], period: usize) -> i128 {
    period.checked_sub(1).and_then(|at| used.get(at)).copied().unwrap_or_default()
}

/// The usage of a period as an exact amount.
fn exact(used: i128) -> Exact {
    Exact::from_integer(BigInt::from(used))
}

/// The usage of all periods.
fn sum(used: &[i128]) -> i128 {
    used.iter().fold(0_i128, |sum, one| sum.saturating_add(*one))
}

/// The least whole number that is at least an amount.
fn at_least(amount: &Exact) -> i128 {
    whole(&amount.ceil())
}

/// The least whole number that is more than an amount.
fn more_than(amount: &Exact) -> i128 {
    whole(&amount.floor()).saturating_add(1)
}

fn whole(amount: &Exact) -> i128 {
    let far = if amount.is_negative() { i128::MIN } else { i128::MAX };
    amount.to_integer().to_i128().unwrap_or(far)
}

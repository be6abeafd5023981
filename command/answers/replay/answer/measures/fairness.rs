//! How close usage comes to the shares.

use super::{Measure, Of, Policy, Section, Unit};

const fn of(
    name: &'static str,
    (heading, csv): (&'static str, Option<&'static str>),
    unit: Unit,
    of: fn(&Policy) -> f64,
) -> Measure {
    Measure { text: Some((Section::Shares, heading)), csv, ..Measure::new(name, unit, Of::Policy(of)) }
}

/// How far usage is from the shares.
pub const SHARE_ERROR: Measure = Measure {
    page: Some(("Share error", "Its mean over contended time: 0 % is as configured.")),
    over_runs: true,
    ..of("mean share error", ("ShareError>", Some("share_error_mean")), Unit::Part, |policy| {
        policy.share_error.mean
    })
};

/// What accounts lack of what they are entitled to.
pub const ACCOUNT_SHORTFALL: Measure = Measure {
    page: Some((
        "Of accounts",
        "Account shortfall: the part of all usage that went to accounts that were not entitled to it.",
    )),
    over_runs: true,
    definition: Some((
        "Σ max(0, entitled − usage) over accounts directly below the root, over all contended time: what went to accounts that \
         were not entitled to it. The shortfall also counts users who wait for an hour and get more in the next",
        "",
    )),
    ..of("account shortfall", ("OfAccounts>", Some("account_shortfall")), Unit::Part, |policy| {
        policy.account_shortfall
    })
};

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        definition: Some((
            "time in which at least one job waits. Measures of fairness use only this time: while a machine has free room, no \
             user can be treated unfairly",
            "",
        )),
        ..of("contended", ("Contended>", Some("contended_s")), Unit::Seconds, |policy| policy.contended)
    },
    SHARE_ERROR,
    of("largest share error", ("Worst>", Some("share_error_worst")), Unit::Part, |policy| {
        policy.share_error.worst
    }),
    Measure {
        page: Some(("Shortfall", "The mean part of usage that went to others than those entitled to it.")),
        over_runs: true,
        ..of("mean shortfall", ("Shortfall>", Some("shortfall_mean")), Unit::Part, |policy| policy.shortfall.mean)
    },
    ACCOUNT_SHORTFALL,
    Measure {
        page: Some(("Jain", "The mean of Jain's index: 1 is even.")),
        over_runs: true,
        ..of("mean Jain's index", ("Jain>", Some("jain_mean")), Unit::Index, |policy| policy.jain.mean)
    },
    of("smallest Jain's index", ("Least>", Some("jain_worst")), Unit::Index, |policy| policy.jain.worst),
    Measure {
        page: Some(("Lag", "How far an account was behind at most, in CPU hours.")),
        definition: Some((
            "entitled − had, added up from the beginning, in CPU hours: how far an account was behind at most",
            "",
        )),
        ..of("lag", ("LagHours>", Some("lag_cpu_hours")), Unit::CpuHours, |policy| policy.lag)
    },
    of("95 % of normalised waits", ("WaitPerCPU95>", None), Unit::None, |policy| policy.users_normalised.p95),
];

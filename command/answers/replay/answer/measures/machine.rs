//! How well the machine is used.

use super::{Measure, Of, Policy, Section, Unit};

const fn of(
    name: &'static str,
    (heading, csv): (&'static str, &'static str),
    unit: Unit,
    of: fn(&Policy) -> f64,
) -> Measure {
    Measure { text: Some((Section::Waits, heading)), csv: Some(csv), ..Measure::new(name, unit, Of::Policy(of)) }
}

#[allow(clippy::cast_precision_loss)] // jobs, seconds
pub(super) const MEASURES: &[Measure] = &[
    Measure {
        page: Some(("Used", "Utilisation.")),
        over_runs: true,
        definition: Some((
            "used CPU seconds divided by available CPU seconds, from the first submission to the last start",
            "",
        )),
        ..of("utilisation", ("Used>", "utilisation"), Unit::Part, |policy| policy.utilisation)
    },
    Measure {
        page: Some(("Makespan", "From the first submission to the last end.")),
        over_runs: true,
        definition: Some(("last end − first submission, in seconds", "")),
        ..of("makespan", ("Makespan>", "makespan_s"), Unit::Seconds, |policy| policy.makespan as f64)
    },
    of("jobs that did not start", ("NotStarted>", "not_started"), Unit::Count, |policy| policy.not_started as f64),
];

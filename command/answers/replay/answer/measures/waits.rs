//! How long jobs wait.

use super::{Measure, Of, Section, Unit};

const fn wait(name: &'static str, csv: &'static str, unit: Unit, of: fn(&super::Waits) -> f64) -> Measure {
    Measure { csv: Some(csv), ..Measure::new(name, unit, Of::Waits(of)) }
}

/// How long a job waits.
pub const MEAN_WAIT: Measure = Measure {
    text: Some((Section::Waits, "Wait>")),
    page: Some(("Wait", "The mean, in hours, minutes and seconds.")),
    over_runs: true,
    ..wait("mean wait", "wait_mean_s", Unit::Seconds, |waits| waits.wait.mean)
};

#[allow(clippy::cast_precision_loss)] // jobs
pub(super) const MEASURES: &[Measure] = &[
    Measure {
        text: Some((Section::Waits, "Jobs>")),
        page: Some(("Jobs", "Jobs that are counted: those that ended under all policies.")),
        ..wait("jobs", "jobs", Unit::Count, |waits| waits.jobs as f64)
    },
    Measure {
        text: Some((Section::Waits, "Before>")),
        page: Some(("Before", "The mean time before a job could start: Eligible − Submit.")),
        ..wait("mean time before", "before_mean_s", Unit::Seconds, |waits| waits.before.mean)
    },
    MEAN_WAIT,
    Measure {
        text: Some((Section::Waits, "Wait95>")),
        page: Some(("95 %", "95 % of the jobs wait no longer than this.")),
        ..wait("95 % of waits", "wait_p95_s", Unit::Seconds, |waits| waits.wait.p95)
    },
    Measure {
        text: Some((Section::Waits, "Longest>")),
        page: Some(("Longest", "The longest wait.")),
        ..wait("longest wait", "wait_worst_s", Unit::Seconds, |waits| waits.wait.worst)
    },
    Measure {
        text: Some((Section::Waits, "Slowdown>")),
        page: Some(("Slowdown", "Mean bounded slowdown.")),
        over_runs: true,
        ..wait("mean bounded slowdown", "slowdown_mean", Unit::None, |waits| waits.slowdown.mean)
    },
    wait("largest bounded slowdown", "slowdown_worst", Unit::None, |waits| waits.slowdown.worst),
    Measure {
        text: Some((Section::Waits, "ByArea>")),
        page: Some(("By area", "The mean wait, with more weight for large jobs.")),
        over_runs: true,
        definition: Some((
            "waits weighted by CPUs times run time: large jobs count more, and many tiny ones do not hide them",
            "Goponenko and others, SBAC-PAD 2022",
        )),
        ..wait("area-weighted wait", "area_weighted_wait_s", Unit::Seconds, |waits| waits.area_weighted)
    },
];

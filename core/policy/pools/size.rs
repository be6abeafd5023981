//! How large a job is to dilution: `DilutionUnit`. `job` is Grid Engine's unit; `committed` is what LSF calls committed run time.

use crate::settings::{DilutionUnit, Settings};

/// What sizes are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeFacts {
    /// CPUs: requested by a job that waits, allocated to one that runs.
    pub cpus: u64,
    /// Billing, in the same way.
    pub billing: u64,
    /// Minutes that the job may still run; `None` without a limit.
    pub minutes_left: Option<f64>,
}

/// How sizes are measured.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    unit: DilutionUnit,
    /// `DilutionCap` in minutes.
    cap: f64,
}

impl Measure {
    /// As the settings say.
    pub fn of(settings: &Settings) -> Self {
        Self { unit: settings.dilution_unit, cap: settings.dilution_cap.as_secs_f64() / 60.0 }
    }

    /// True if all jobs have the size 1, so that nothing need be known of them.
    pub fn is_by_job(&self) -> bool {
        self.unit == DilutionUnit::Job
    }

    /// The size of a job. Of what is committed nothing is stored: it is the job's limit, or what is left of it.
    #[allow(clippy::cast_precision_loss)] // counts of TRES
    pub fn size(&self, facts: SizeFacts) -> f64 {
        match self.unit {
            DilutionUnit::Job => 1.0,
            DilutionUnit::Cpu => facts.cpus as f64,
            DilutionUnit::Billing => facts.billing as f64,
            DilutionUnit::Committed => {
                let minutes = facts.minutes_left.unwrap_or(self.cap);
                facts.billing as f64 * minutes.clamp(0.0, self.cap)
            }
        }
    }
}

//! What a replay does about the last reason for which a job waited, from sacct's Reason (`job_state_reason_string` in Slurm's
//! `slurm_protocol_defs.c`). An unknown word is a reason that the replay leaves out: a limit must not pass for a queue.

/// What becomes of a fact in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// The model does the same.
    Replayed,
    /// It is taken from the record, whatever the policy.
    Frozen,
    /// The model knows nothing of it.
    LeftOut,
}

impl Treatment {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::Frozen => "frozen as recorded",
            Self::LeftOut => "left out",
        }
    }
}

/// A place in the queue, or what a job ended by.
const REPLAYED: [&str; 12] = [
    "",
    "None",
    "Priority",
    "Resources",
    "SchedDefer",
    "Cleaning",
    "NonZeroExitCode",
    "TimeLimit",
    "InactiveLimit",
    "JobLaunchFailure",
    "OutOfMemory",
    "RaisedSignal",
];

/// Before a job is eligible.
const FROZEN: [&str; 6] = [
    "BeginTime",
    "Dependency",
    "DependencyNeverSatisfied",
    "JobHeldUser",
    "JobHeldAdmin",
    "JobHoldMaxRequeue",
];

/// What a replay does about a reason.
pub fn treatment(reason: &str) -> Treatment {
    // Some are followed by what they are about, such as ReqNodeNotAvail, UnavailableNodes:n1.
    let word = reason.split([',', ' ', '(']).next().unwrap_or_default();
    if REPLAYED.contains(&word) {
        Treatment::Replayed
    } else if FROZEN.contains(&word) {
        Treatment::Frozen
    } else {
        Treatment::LeftOut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_and_what_is_not_known_are_left_out() {
        for reason in [
            "QOSMaxJobsPerUserLimit",
            "AssocGrpCpuLimit",
            "Licenses",
            "ReqNodeNotAvail, UnavailableNodes:n1",
            "Nonsense",
        ] {
            assert_eq!(treatment(reason), Treatment::LeftOut, "{reason}");
        }
        assert_eq!(["Priority", "Resources", "", "None"].map(treatment), [Treatment::Replayed; 4]);
        assert_eq!(["BeginTime", "Dependency", "JobHeldUser"].map(treatment), [Treatment::Frozen; 3]);
    }
}

//! The priority algorithm that `PriorityType` and `PriorityFlags` select.

use multifactor2_core::policy::stock;
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

/// How priorities are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// `priority/multifactor2`
    Multifactor2,
    /// `priority/multifactor` with Fair Tree, its default.
    FairTree,
    /// `priority/multifactor` with `PriorityFlags=NO_FAIR_TREE`.
    Classic,
    /// `priority/basic`: by submission.
    Basic,
    /// Another one, of which nothing is known.
    Other,
}

impl Algorithm {
    /// That of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        // Slurm takes either, with or without what comes before the last slash.
        match snapshot.about.priority_type.rsplit('/').next().unwrap_or_default() {
            "multifactor2" => Self::Multifactor2,
            "multifactor" => {
                let flags = snapshot.parameter("PriorityFlags").unwrap_or_default();
                match stock::Algorithm::of(flags, 1, (0, 0)) {
                    stock::Algorithm::FairTree => Self::FairTree,
                    stock::Algorithm::Classic(_) => Self::Classic,
                }
            }
            "basic" => Self::Basic,
            _ => Self::Other,
        }
    }

    /// In one line, for people.
    pub fn described(self) -> &'static str {
        match self {
            Self::Multifactor2 => "priority/multifactor2",
            Self::FairTree => "priority/multifactor with Fair Tree",
            Self::Classic => "priority/multifactor with classic fair-share (NO_FAIR_TREE)",
            Self::Basic => "priority/basic: jobs in the order of their submission",
            Self::Other => "a priority plugin that is not known here",
        }
    }
}

//! Which algorithm gives the priorities.

use std::fmt;

use multifactor2_snapshot::Snapshot;

/// What `PriorityType` and `PriorityFlags` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `priority/multifactor2`
    Multifactor2,
    /// `priority/multifactor` with Fair Tree, its default since 19.05.
    FairTree,
    /// `priority/multifactor` with `NO_FAIR_TREE`.
    Classic,
    /// `priority/basic`: the order of submission.
    Basic,
    /// Another plugin.
    Other(String),
}

/// The algorithm of a snapshot.
pub fn algorithm(snapshot: &Snapshot) -> Algorithm {
    let kind = &snapshot.about.priority_type;
    // Slurm takes either, with or without what comes before the last slash.
    match kind.rsplit('/').next().unwrap_or_default() {
        "multifactor2" => Algorithm::Multifactor2,
        "multifactor" => {
            let flags = snapshot.parameter("PriorityFlags").unwrap_or_default();
            let is_classic = flags.split(',').any(|flag| flag.trim().eq_ignore_ascii_case("NO_FAIR_TREE"));
            if is_classic {
                Algorithm::Classic
            } else {
                Algorithm::FairTree
            }
        }
        "basic" => Algorithm::Basic,
        _ => Algorithm::Other(kind.clone()),
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Multifactor2 => f.write_str("priority/multifactor2"),
            Self::FairTree => f.write_str("priority/multifactor (Fair Tree)"),
            Self::Classic => f.write_str("priority/multifactor (classic fair-share, NO_FAIR_TREE)"),
            Self::Basic => f.write_str("priority/basic (the order of submission, no factors)"),
            Self::Other(kind) if kind.is_empty() => f.write_str("an algorithm that is not known"),
            Self::Other(kind) => write!(f, "{kind}, which this command does not know"),
        }
    }
}

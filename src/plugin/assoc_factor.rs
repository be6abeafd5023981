//! The association factor of jobs: `PriorityWeightAssoc`.

use crate::host::access::Open;
use crate::host::records::Association;

/// What the association factor of jobs is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AssocFactor {
    /// Not needed.
    #[default]
    None,
    /// The normalised priority of the association.
    Normalised,
    /// The priority itself, under `NO_NORMAL_ASSOC`.
    Plain,
}

impl AssocFactor {
    /// Of one association.
    pub fn of<A: Open>(self, association: Association<'_, A>) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Normalised => association.usage().map_or(0.0, |usage| usage.get(|u| u.priority_norm)),
            Self::Plain => f64::from(association.get(|assoc| assoc.priority)),
        }
    }
}

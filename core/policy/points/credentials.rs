//! CRED: the priorities of the user, group, account and so on of a job (Maui Administrator's Guide, 5.1.2.1).
//!
//! `Credential` lines set them. A priority of 0 counts as none, and a name without a line gets that of `*`. Parents are our addition: the
//! sum over the account of a job and all above it, without the root.

use super::lines::{ByName, LineKind, KINDS};
use super::terms::{weight, Terms};
use super::{Component, Ground, Needs};
use crate::settings::{self, Settings};

/// CRED on one line.
#[derive(Clone, Debug)]
pub(super) struct Credentials(Terms<KINDS>);

impl Component for Credentials {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([line.user, line.group, line.account, line.parent, line.qos, line.class]))
    }

    fn needs(&self, settings: &Settings) -> Needs {
        Needs { credentials: !settings.credentials.is_empty(), ..Needs::default() }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let Ground { own, group, qos, partition, .. } = ground;
        let values = [
            own.user.credential,
            group.held.credential,
            own.account.credential,
            own.parent.credential,
            qos.held.credential,
            partition.held.credential,
        ];
        match group.class_weight {
            None => self.0.sum(values),
            Some(weight) => self.0.sum_with(values, [0.0, 0.0, 0.0, 0.0, 0.0, weight - self.0.weight(CLASS)]),
        }
    }
}

/// The part for the partition.
const CLASS: usize = LineKind::Partition as usize;

/// The priorities that the lines give.
#[derive(Clone, Debug, Default)]
pub(super) struct Priorities {
    by_kind: [ByName<f64>; KINDS],
    /// Of Unix groups: what replaces the weight of the partition.
    class_weights: ByName<f64>,
}

impl Priorities {
    pub(super) fn of(settings: &Settings) -> Self {
        let mut priorities = Self::default();
        for line in &settings.credentials {
            #[allow(clippy::cast_precision_loss)] // at most 10^9
            let (kind, priority) = (LineKind::from(line.kind), line.priority as f64);
            priorities.by_kind[kind as usize].insert(kind, &line.names, priority);
            if let Some(class_weight) = line.class_weight {
                priorities.class_weights.insert(kind, &line.names, weight(class_weight));
            }
        }
        priorities
    }

    /// Whether there are any of a kind.
    pub(super) fn has(&self, kind: LineKind) -> bool {
        !self.by_kind[kind as usize].is_empty()
    }

    /// The priority of an object.
    pub(super) fn priority(&self, kind: LineKind, name: &str) -> f64 {
        self.own(kind, name).unwrap_or_else(|| self.of_others(kind))
    }

    /// The priority that the line of an object itself gives.
    pub(super) fn own(&self, kind: LineKind, name: &str) -> Option<f64> {
        self.by_kind[kind as usize].own(kind, name).copied().filter(|priority| *priority != 0.0)
    }

    /// What replaces the weight of the partition for a Unix group, by the line that names it.
    pub(super) fn own_class_weight(&self, name: &str) -> Option<f64> {
        self.class_weights.own(LineKind::Group, name).copied()
    }

    /// The same for groups that no line names.
    pub(super) fn class_weight_of_others(&self) -> Option<f64> {
        self.class_weights.of_others().copied()
    }

    /// The priority of names without a line.
    pub(super) fn of_others(&self, kind: LineKind) -> f64 {
        self.by_kind[kind as usize].of_others().copied().unwrap_or_default()
    }
}

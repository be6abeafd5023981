//! FS: how far usage is from the targets of a job's user, account and so on (Maui Administrator's Guide, 5.1.2.2 and 6.3), as `Target`
//! lines set them. This file has the lines; [`super::tables`] has the usage.

use super::lines::{ByName, LineKind, KINDS};
use super::terms::{weight, Terms};
use super::{Component, Ground, Needs};
use crate::rules::targets::{delta, percentage, Cap, Measure, Side, Tiers, Totals, NO_CAP};
use crate::settings::{self, Settings, TargetMode, TargetType, TargetUsage};

/// FS on one line.
#[derive(Clone, Debug)]
pub(super) struct FairShare(Terms<{ KINDS + 1 }>);

impl Component for FairShare {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([
            line.fs_user,
            line.fs_group,
            line.fs_account,
            line.fs_parent,
            line.fs_qos,
            line.fs_class,
            line.wc_accuracy,
        ]))
    }

    fn needs(&self, _settings: &Settings) -> Needs {
        Needs { accuracy: self.0.counts(KINDS), ..Needs::default() }
    }

    /// `FSWEIGHT` of accounts and groups (Moab, 6.3.3.4).
    #[inline]
    fn more_weight(ground: &Ground<'_>) -> f64 {
        ground.own.weight + ground.group.weight + ground.book.map_or(0.0, |book| book.weight)
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let Ground { own, group, qos, partition, book, .. } = ground;
        let (user, account, parent) =
            book.map_or_else(Default::default, |book| (book.user.delta, book.account.delta, book.parent.delta));
        self.0.sum([
            own.user.delta + user,
            group.held.delta,
            own.account.delta + account,
            own.parent.delta + parent,
            qos.held.delta,
            partition.held.delta,
            ground.job.accuracy,
        ])
    }
}

impl FairShare {
    /// What a distance of this kind adds to the sum by itself.
    pub(super) fn part(&self, kind: LineKind, distance: f64) -> f64 {
        self.0.part(kind as usize, distance)
    }

    /// Whether distances of this kind count up to a cap only.
    pub(super) fn has_cap(&self, kind: LineKind) -> bool {
        self.0.has_cap(kind as usize)
    }
}

/// Which of the two usages a line uses.
pub(super) const HALFLIFE: usize = 0;
/// The same in windows.
pub(super) const WINDOW: usize = 1;

/// A target, floor or ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Goal {
    pub percent: f64,
    pub of_available: bool,
    pub side: Side,
    pub measure: Measure,
    /// [`HALFLIFE`] or [`WINDOW`].
    pub by: usize,
    /// The distance is multiplied with it.
    pub factor: f64,
    /// It is added to the weight of FS.
    pub weight: f64,
}

impl Goal {
    /// The distance without `factor`, for usage of these totals; 0 where nothing was used at all.
    pub(super) fn distance(&self, usage: f64, totals: Totals) -> f64 {
        let used = percentage(usage, self.total(totals)).filter(|_| totals.delivered > 0.0);
        used.map_or(0.0, |used| delta(self.percent, used, self.side, self.measure))
    }

    /// What the percentage is of.
    pub(super) fn total(&self, totals: Totals) -> f64 {
        if self.of_available {
            totals.available
        } else {
            totals.delivered
        }
    }

    /// The distance on a level of the tree without `factor`, for usage among siblings that have used `level` together; 0 where nothing
    /// was used at all.
    pub(super) fn distance_on_level(&self, usage: f64, level: f64, totals: Totals) -> f64 {
        if totals.delivered <= 0.0 {
            return 0.0;
        }
        let used = percentage(usage, level).unwrap_or_default();
        delta(self.percent, used, self.side, self.measure)
    }
}

/// A cap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ceiling {
    pub cap: Cap,
    /// [`HALFLIFE`] or [`WINDOW`].
    pub by: usize,
    /// Jobs beyond it do not start.
    pub stops: bool,
}

impl Ceiling {
    /// What it leaves.
    pub(super) fn room(&self, usage: f64, totals: Totals) -> f64 {
        self.cap.room(usage, totals)
    }
}

/// What caps leave, in seconds times `TargetMetric`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Room {
    /// All caps.
    pub any: f64,
    /// Those beyond which jobs do not start.
    pub stopping: f64,
}

impl Default for Room {
    fn default() -> Self {
        Self { any: NO_CAP, stopping: NO_CAP }
    }
}

impl Room {
    /// What is left where both hold.
    pub(super) fn min(self, other: Self) -> Self {
        Self { any: self.any.min(other.any), stopping: self.stopping.min(other.stopping) }
    }
}

/// What lines say of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rules {
    pub goal: Option<Goal>,
    pub ceiling: Option<Ceiling>,
}

impl Rules {
    /// With those of another where there are none.
    pub(super) fn or(self, others: Self) -> Self {
        Self { goal: self.goal.or(others.goal), ceiling: self.ceiling.or(others.ceiling) }
    }

    /// The distance of an object from its target, by both usages and their totals.
    pub(super) fn delta(&self, usage: [f64; 2], totals: &[Totals; 2]) -> f64 {
        self.goal.map_or(0.0, |goal| goal.factor * goal.distance(usage[goal.by], totals[goal.by]))
    }

    /// What its cap leaves.
    pub(super) fn room(&self, usage: [f64; 2], totals: &[Totals; 2]) -> Room {
        self.ceiling.map_or(Room::default(), |ceiling| {
            let any = ceiling.room(usage[ceiling.by], totals[ceiling.by]);
            Room { any, stopping: if ceiling.stops { any } else { NO_CAP } }
        })
    }
}

/// The `Target` lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    goals: [ByName<Goal>; KINDS],
    ceilings: [ByName<Ceiling>; KINDS],
    /// The usage for accounts and users of the tree without a line.
    by: usize,
    /// How levels of the tree count.
    pub tiers: Tiers,
    /// There are caps beyond which jobs do not start.
    pub stops: bool,
    /// Distances count in steps.
    pub has_steps: bool,
}

impl Targets {
    /// Those of all usage, or of what was used in a book.
    pub(super) fn of(settings: &Settings, book: Option<&str>) -> Self {
        let by = |window: bool| if window { WINDOW } else { HALFLIFE };
        let window = settings.target_usage == TargetUsage::Window;
        let mut targets = Self {
            by: by(window),
            tiers: Tiers { cap: settings.cap_tiers, multiplier: settings.tier_multiplier },
            has_steps: settings.fs_step > 0.0,
            ..Self::default()
        };
        let is_of_it = |line: &&settings::Target| match (&line.book, book) {
            (None, None) => true,
            (Some(line), Some(book)) => line.eq_ignore_ascii_case(book),
            _ => false,
        };
        for line in settings.targets.iter().filter(is_of_it) {
            let (kind, by) = (LineKind::from(line.kind), by(line.window.unwrap_or(window)));
            let (percent, of_available) = line.percentage().unwrap_or_default();
            let side = match line.target_type {
                TargetType::Target => Side::Both,
                TargetType::Floor => Side::Below,
                TargetType::Ceiling => Side::Above,
                TargetType::Cap => {
                    let cap = match (line.amount, line.percentage()) {
                        (Some(hours), _) => Cap::Amount(hours),
                        (None, Some((percent, true))) => Cap::Available(percent),
                        (None, Some((percent, false))) => Cap::Delivered(percent),
                        (None, None) => continue,
                    };
                    targets.stops |= line.stops();
                    targets.ceilings[kind as usize].insert(kind, &line.names, Ceiling { cap, by, stops: line.stops() });
                    continue;
                }
            };
            let measure = match line.mode {
                TargetMode::Difference => Measure::Difference,
                TargetMode::Ratio => Measure::Ratio,
            };
            let (factor, more) = match kind {
                LineKind::Account | LineKind::Group => (1.0, line.weight.unwrap_or(0.0)),
                _ => (line.weight.unwrap_or(1.0), 0.0),
            };
            let (factor, weight) = (weight(factor), weight(more));
            let goal = Goal { percent, of_available, side, measure, by, factor, weight };
            targets.goals[kind as usize].insert(kind, &line.names, goal);
        }
        targets
    }

    /// Whether there are any of a kind.
    pub(super) fn has(&self, kind: LineKind) -> bool {
        self.has_goals(kind) || self.has_ceilings(kind)
    }

    /// Whether there are targets, floors or ceilings of a kind.
    pub(super) fn has_goals(&self, kind: LineKind) -> bool {
        !self.goals[kind as usize].is_empty()
    }

    /// Whether there are caps of a kind.
    pub(super) fn has_ceilings(&self, kind: LineKind) -> bool {
        !self.ceilings[kind as usize].is_empty()
    }

    /// Whether lines of a kind add to the weight of FS.
    pub(super) fn adds_weight(&self, kind: LineKind) -> bool {
        self.goals[kind as usize].all().any(|goal| goal.weight != 0.0)
    }

    /// Whether those count that no line names.
    pub(super) fn has_others(&self, kind: LineKind) -> bool {
        self.of_others(kind) != Rules::default()
    }

    /// What holds for an object.
    pub(super) fn rules(&self, kind: LineKind, name: &str) -> Rules {
        self.own(kind, name).or(self.of_others(kind))
    }

    /// What lines say that name it.
    pub(super) fn own(&self, kind: LineKind, name: &str) -> Rules {
        Rules {
            goal: self.goals[kind as usize].own(kind, name).copied(),
            ceiling: self.ceilings[kind as usize].own(kind, name).copied(),
        }
    }

    /// What holds for one that no line names.
    pub(super) fn of_others(&self, kind: LineKind) -> Rules {
        Rules {
            goal: self.goals[kind as usize].of_others().copied(),
            ceiling: self.ceilings[kind as usize].of_others().copied(),
        }
    }

    /// The target of an account or user without a line, which has this part of the shares of its siblings.
    pub(super) fn by_share(&self, share: f64) -> Goal {
        Goal {
            percent: 100.0 * share,
            of_available: false,
            side: Side::Both,
            measure: Measure::Difference,
            by: self.by,
            factor: 1.0,
            weight: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_of_what_was_available_waits_for_the_first_use() {
        let goal = |of_available| Goal {
            percent: 50.0,
            of_available,
            side: Side::Both,
            measure: Measure::Difference,
            by: HALFLIFE,
            factor: 1.0,
            weight: 0.0,
        };
        for of_available in [false, true] {
            let delta = |delivered| goal(of_available).distance(0.0, Totals { delivered, available: 1000.0 });
            assert_eq!(delta(0.0).to_bits(), 0.0_f64.to_bits(), "nothing was used at all");
            assert!(delta(10.0) > 0.0, "others have used something");
        }
    }
}

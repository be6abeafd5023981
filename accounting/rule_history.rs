//! Which charge rules held when. Usage is charged for seconds that are past, and lines may have changed since: each second is multiplied by
//! the lines that held then.

use std::borrow::Cow;

use multifactor2_core::rules::charge_rules::{ChargeFactors, ChargeRules};

/// Rules that hold, and those that held before them and not for all seconds that are still to be charged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleHistory {
    /// With the time until they held, oldest first.
    pub former: Vec<(i64, ChargeRules)>,
    /// Those that hold.
    pub current: ChargeRules,
}

impl RuleHistory {
    /// `rules` hold from a time on. All before `charged` is charged.
    #[must_use]
    pub fn followed_by(mut self, rules: ChargeRules, from: i64, charged: i64) -> Self {
        // A change that is yet to come was made before the clock was set back: all since is after it.
        self.former.retain(|(until, _)| *until > charged && *until <= from);
        if self.current != rules {
            self.former.push((from, std::mem::replace(&mut self.current, rules)));
        }
        self
    }

    /// The same for the seconds from `start` to `end`, which is now, without lines that count only at some hours. Rules follow each other
    /// where such a line begins or stops counting. The second before `start` is like those after it. `offset` says
    /// how many seconds local clocks are ahead of UTC at a time; if it cannot, UTC counts.
    ///
    /// What is longer ago than [`LONGEST`] seconds is charged like what follows it.
    #[must_use]
    pub fn divided(&self, start: i64, end: i64, offset: impl Fn(i64) -> Option<i64>) -> Cow<'_, Self> {
        let within = self.within(start, end);
        if !within.all().any(ChargeRules::are_timed) {
            return Cow::Borrowed(self);
        }
        let last = end.saturating_sub(1);
        let mut from = start.saturating_sub(1).clamp(end.saturating_sub(LONGEST), last);
        let mut parts = Vec::new();
        let former = within.former.iter().map(|(until, rules)| (*until, rules));
        for (until, rules) in former.chain([(end, within.current)]) {
            parts.extend(rules.divided((from, until), &offset));
            from = from.max(until);
        }
        let current = parts.pop().map(|(_, rules)| rules).unwrap_or_default();
        Cow::Owned(Self { former: parts, current })
    }

    /// Those that count for the seconds from `start` to `end`, which is now.
    pub fn within(&self, start: i64, end: i64) -> RulesWithin<'_> {
        let held = self.former.iter().take_while(|(until, _)| *until <= start).count();
        let former = &self.former[held..];
        // See `followed_by`.
        let is_past = former.iter().all(|(until, _)| *until <= end);
        RulesWithin { former: if is_past { former } else { &[] }, current: &self.current }
    }
}

/// How many seconds back rules are divided: 400 days.
const LONGEST: i64 = 400 * 86_400;

/// The rules of a [`RuleHistory`] that count for some seconds.
#[derive(Clone, Copy, Debug)]
pub struct RulesWithin<'h> {
    former: &'h [(i64, ChargeRules)],
    current: &'h ChargeRules,
}

impl<'h> RulesWithin<'h> {
    /// All of them, in the order of [`Self::mean`].
    pub fn all(self) -> impl Iterator<Item = &'h ChargeRules> {
        self.former.iter().map(|(_, rules)| rules).chain([self.current])
    }

    /// The least that a job is charged that ended at a time.
    pub fn minimum_at(self, end: i64) -> i64 {
        self.former.iter().find(|(until, _)| end < *until).map_or(self.current, |(_, rules)| rules).minimum
    }

    /// Whether jobs may be charged a minimum.
    pub fn have_minimum(self) -> bool {
        self.all().any(|rules| rules.minimum > 0)
    }

    /// Whether no line is there that multiplies; there may be a minimum.
    pub fn are_none(self) -> bool {
        self.all().all(ChargeRules::are_none)
    }

    /// The mean over the seconds of a charge: `factors` says what holds by the number of the rules, where the current ones come
    /// last.
    pub fn mean(
        self,
        start: i64,
        run: f64,
        mut factors: impl FnMut(usize) -> ChargeFactors,
    ) -> ChargeFactors {
        let current = factors(self.former.len());
        if self.former.is_empty() || run <= 0.0 {
            return current;
        }
        let (mut from, mut usage, mut limits) = (0.0, 0.0, 0.0);
        for (at, (until, _)) in self.former.iter().enumerate() {
            #[allow(clippy::cast_precision_loss)] // seconds
            let to = (until.saturating_sub(start) as f64).clamp(from, run);
            let held = factors(at);
            usage += held.usage * (to - from);
            limits += held.limits * (to - from);
            from = to;
        }
        if from <= 0.0 {
            return current;
        }
        let rest = run - from;
        ChargeFactors {
            usage: (usage + current.usage * rest) / run,
            limits: (limits + current.limits * rest) / run,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // products of numbers that are exact

    use super::*;
    use multifactor2_core::settings::Settings;
    use proptest::prelude::*;

    /// Midnight before a Monday, in UTC.
    const MONDAY: i64 = 1_795_392_000;

    fn rules(text: &str) -> ChargeRules {
        ChargeRules::of(&Settings::parse(text, "f").unwrap().settings)
    }

    #[test]
    fn rules_hold_for_the_seconds_after_a_change() {
        let (one, two) =
            (rules("Charge=Partition Name=p Factor=2"), rules("Charge=Partition Name=p Factor=10"));
        let history = RuleHistory::default().followed_by(one, 100, 0).followed_by(two.clone(), 200, 0);
        let of = |at: usize| [1.0, 2.0, 10.0].map(|usage| ChargeFactors { usage, limits: 1.0 })[at];
        let mean = |start, run| history.within(0, 400).mean(start, run, of).usage;
        assert_eq!(mean(0, 400.0), (100.0 + 200.0 + 2000.0) / 400.0);
        assert_eq!(mean(150, 100.0), 6.0);
        assert_eq!(mean(200, 100.0), 10.0);
        assert_eq!(mean(0, 50.0), 1.0);
        assert_eq!(mean(0, 0.0), 10.0);
        let later = history.followed_by(two.clone(), 300, 150);
        assert_eq!(later.former.len(), 1, "the same rules are no change, and what is charged is forgotten");
        assert_eq!(later.current, two);
    }

    #[test]
    fn the_minimum_is_that_of_the_end() {
        let history = RuleHistory::default().followed_by(rules("MinimumCharge=60"), 100, 0);
        assert_eq!([99, 100].map(|end| history.within(0, 200).minimum_at(end)), [0, 3600]);
        assert!(history.within(0, 200).are_none() && history.within(0, 200).have_minimum());
        let history = RuleHistory::default().followed_by(rules("Charge=Requeued Factor=2"), 1, 0);
        assert!(!history.within(0, 200).are_none());
    }

    #[test]
    fn rules_that_are_gone_cost_nothing_once_all_that_they_held_for_is_charged() {
        let history =
            RuleHistory { current: rules("Charge=Requeued Factor=2\nMinimumCharge=60"), former: vec![] };
        let history = history.followed_by(ChargeRules::default(), 100, 0);
        let of = |start, end| {
            let within = history.within(start, end);
            (within.are_none(), within.have_minimum())
        };
        assert_eq!(of(99, 300), (false, true));
        assert_eq!(of(100, 300), (true, false));
    }

    #[test]
    fn former_rules_do_not_come_back_when_the_clock_is_set_back() {
        let (one, two) =
            (rules("Charge=Partition Name=p Factor=2"), rules("Charge=Partition Name=p Factor=10"));
        let history = RuleHistory { current: one, former: vec![] }.followed_by(two, 10_000, 9900);
        // Set back to 500.
        assert_eq!(history.within(500, 800).all().count(), 1);
        let history = history.followed_by(ChargeRules::default(), 850, 800);
        assert_eq!(history.within(800, 900).all().count(), 2);
        let of = |at: usize| [10.0, 1.0].map(|usage| ChargeFactors { usage, limits: 1.0 })[at];
        assert_eq!(history.within(800, 900).mean(800, 100.0, of).usage, 5.5);
    }

    #[test]
    fn a_change_of_lines_with_hours_counts_from_when_it_was_made() {
        let (one, two) = (
            rules("Charge=Partition Name=p Factor=2 Hours=00:00-12:00"),
            rules("Charge=Partition Name=p Factor=10 Hours=01:00-02:00"),
        );
        let history = RuleHistory { former: vec![], current: one }.followed_by(two, MONDAY + 5400, MONDAY);
        let divided = history.divided(MONDAY, MONDAY + 3 * 3600, |_| Some(0));
        let held: Vec<(i64, f64)> = divided
            .former
            .iter()
            .map(|(until, rules)| (until - MONDAY, rules.partitions.of("p").usage))
            .chain([(0, divided.current.partitions.of("p").usage)])
            .collect();
        // The second before the first one counts, too.
        assert_eq!(held, [(0, 1.0), (5400, 2.0), (7200, 10.0), (0, 1.0)]);
        let plain = RuleHistory { former: vec![], current: rules("Charge=Partition Name=p Factor=2") };
        assert!(matches!(plain.divided(0, 100, |_| None), Cow::Borrowed(_)), "costs nothing");
    }

    #[test]
    fn a_time_of_no_length_and_one_of_ages_have_rules() {
        let history = RuleHistory {
            former: vec![],
            current: rules("Charge=Partition Name=p Factor=2 Hours=00:00-01:00"),
        };
        let now = history.divided(MONDAY + 3600, MONDAY + 3600, |_| Some(0));
        assert_eq!((now.former.len(), now.current.partitions.of("p").usage), (0, 2.0), "the second before");
        let ages = history.divided(0, MONDAY, |_| Some(0));
        assert_eq!(ages.former.len(), 2 * 400 - 1);
    }

    #[test]
    fn lines_with_hours_hold_for_the_seconds_in_them_and_multiply_with_others() {
        let timed = rules(
            "Charge=Partition Name=p Factor=2\nCharge=Partition Name=p Factor=0.5 Days=Mon-Fri Hours=18:00-06:00\n\
             Charge=QOS Name=q Factor=10 Days=Sat,Sun",
        );
        assert!(timed.are_timed() && !timed.are_none());
        let history = RuleHistory { former: vec![], current: timed };
        let of = |start: i64, end: i64| {
            let divided = history.divided(start, end, |_| Some(0));
            let within = divided.within(start, end);
            #[allow(clippy::cast_precision_loss)] // seconds
            let run = (end - start) as f64;
            let all: Vec<&ChargeRules> = within.all().collect();
            let names: [fn(&ChargeRules) -> ChargeFactors; 2] =
                [|rules| rules.partitions.of("p"), |rules| rules.qos.of("Q")];
            names.map(|of| within.mean(start, run, |at| of(all[at])).usage)
        };
        let hour = 3600;
        // Half an hour of the night and as much of the day.
        assert_eq!(of(MONDAY + 11 * hour / 2, MONDAY + 13 * hour / 2), [1.5, 1.0]);
        assert_eq!(of(MONDAY + 12 * hour, MONDAY + 13 * hour), [2.0, 1.0]);
        // The last hour of a Friday and the first of a Saturday.
        assert_eq!(of(MONDAY + (5 * 24 - 1) * hour, MONDAY + (5 * 24 + 1) * hour), [1.5, 5.5]);
        // A whole week: 60 of 168 hours at night, 48 on the weekend.
        let [p, q] = of(MONDAY, MONDAY + 7 * 24 * hour);
        assert!(
            (p - (60.0 + 108.0 * 2.0) / 168.0).abs() < 1e-12 && (q - (120.0 + 480.0) / 168.0).abs() < 1e-12
        );
        // The second before a job's end, where that is a border.
        let last = MONDAY + 6 * hour;
        assert_eq!(of(last - 1, last), [1.0, 1.0]);
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Against counting second by second.
        #[test]
        fn the_mean_is_that_of_all_seconds(
            changes in prop::collection::vec((0_i64..300, 0_u32..8), 0..4), start in 0_i64..300, run in 1_u32..100,
            last in 0_u32..8,
        ) {
            let mut changes = changes;
            changes.sort_unstable();
            let former = changes.iter().map(|(until, _)| (*until, ChargeRules::default())).collect();
            let history = RuleHistory { former, current: ChargeRules::default() };
            let factor = |at: usize| f64::from(changes.get(at).map_or(last, |(_, factor)| *factor));
            let found = history.within(i64::MIN, i64::MAX).mean(start, f64::from(run), |at| ChargeFactors { usage: factor(at), limits: 1.0 });
            let sum: f64 = (start..start + i64::from(run))
                .map(|second| factor(changes.iter().take_while(|(until, _)| *until <= second).count()))
                .sum();
            prop_assert!((found.usage * f64::from(run) - sum).abs() < 1e-6);
            prop_assert!((found.limits - 1.0).abs() < 1e-12);
        }
    }
}

//! The factors that the usage of a job is multiplied by (`Charge` lines).
//!
//! A job has two products of factors: of the lines for limits, and of all lines. Everything that slurmctld's limits count is multiplied by
//! the first. Raw usage of associations, which only fair-share uses, is multiplied by the second.
//!
//! Lines with `Days` or `Hours` count by the local clock. Before seconds are charged, time is divided where such a line begins or stops
//! counting ([`ChargeRules::divided`]). Within a part all lines are constant.

use rustc_hash::{FxHashMap, FxHashSet};

use super::hours::{self, LocalTime, WeekHours};
use crate::policy::pools::{Bearer, Named};
use crate::settings::{Charge, ChargeKind, ChargeScope, Settings};

/// What the charges of a job are multiplied with. Exactly 1 where no line fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChargeFactors {
    /// Raw usage of associations, and our own sums: the product of all lines.
    pub usage: f64,
    /// All other usage, and run seconds: the product of the lines with `Scope=limits`.
    pub limits: f64,
}

impl Default for ChargeFactors {
    fn default() -> Self {
        Self::NONE
    }
}

impl ChargeFactors {
    /// Nothing is multiplied.
    pub const NONE: Self = Self { usage: 1.0, limits: 1.0 };

    /// Both factors.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self { usage: self.usage * other.usage, limits: self.limits * other.limits }
    }

    fn of(factor: f64, scope: ChargeScope) -> Self {
        match scope {
            ChargeScope::Priority => Self { usage: factor, limits: 1.0 },
            ChargeScope::Limits => Self { usage: factor, limits: factor },
        }
    }
}

/// What one kind of lines says, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByName {
    factors: FxHashMap<String, ChargeFactors>,
    /// Slurm keeps accounts and QOS in small letters, others as they are.
    is_exact: bool,
}

impl ByName {
    fn add(&mut self, name: String, factors: ChargeFactors) {
        let known = self.factors.entry(name).or_default();
        *known = known.times(factors);
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.factors.is_empty()
    }

    /// Of one name.
    pub fn of(&self, name: &str) -> ChargeFactors {
        let found =
            if self.is_exact { self.factors.get(name) } else { self.factors.get(&name.to_lowercase()) };
        found.copied().unwrap_or_default()
    }
}

/// All lines, and `MinimumCharge`.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeRules {
    /// By partition.
    pub partitions: ByName,
    /// By QOS.
    pub qos: ByName,
    /// By reservation.
    pub reservations: ByName,
    /// By wckey.
    pub wckeys: ByName,
    /// By the account of the job's association.
    pub accounts: ByName,
    /// By that account and those above it, without the root.
    pub parents: ByName,
    /// Of runs after the first.
    pub requeued: ChargeFactors,
    /// Seconds that a job is charged at least.
    pub minimum: i64,
    /// The lines that count at some hours only, which are in none of the above.
    timed: Vec<(WeekHours, ChargeLine)>,
}

/// What one line says.
#[derive(Clone, Debug, PartialEq)]
struct ChargeLine {
    kind: ChargeKind,
    names: Vec<String>,
    factors: ChargeFactors,
}

impl ChargeLine {
    fn of(line: &Charge) -> Self {
        Self {
            kind: line.kind,
            names: line.names.clone().unwrap_or_default(),
            factors: ChargeFactors::of(line.factor, line.scope),
        }
    }
}

impl Default for ChargeRules {
    fn default() -> Self {
        let exact = || ByName { is_exact: true, ..ByName::default() };
        Self {
            partitions: exact(),
            qos: ByName::default(),
            reservations: exact(),
            wckeys: exact(),
            accounts: ByName::default(),
            parents: ByName::default(),
            requeued: ChargeFactors::NONE,
            minimum: 0,
            timed: Vec::new(),
        }
    }
}

impl ChargeRules {
    /// The rules that settings give.
    pub fn of(settings: &Settings) -> Self {
        let minimum = i64::try_from(settings.minimum_charge.as_secs()).unwrap_or(i64::MAX);
        let mut rules = Self { minimum, ..Self::default() };
        for line in &settings.charges {
            match line.week_hours() {
                None => rules.add(&ChargeLine::of(line)),
                Some(hours) => rules.timed.push((hours, ChargeLine::of(line))),
            }
        }
        rules
    }

    fn add(&mut self, ChargeLine { kind, names, factors }: &ChargeLine) {
        let by_name = match kind {
            ChargeKind::Partition => &mut self.partitions,
            ChargeKind::Qos => &mut self.qos,
            ChargeKind::Reservation => &mut self.reservations,
            ChargeKind::WcKey => &mut self.wckeys,
            ChargeKind::Account => &mut self.accounts,
            ChargeKind::Parent => &mut self.parents,
            ChargeKind::Requeued => {
                self.requeued = self.requeued.times(*factors);
                return;
            }
        };
        let name = |name: &String| if by_name.is_exact { name.clone() } else { name.to_lowercase() };
        // One line counts once for each.
        let names: FxHashSet<String> = names.iter().map(name).collect();
        for name in names {
            by_name.add(name, *factors);
        }
    }

    /// Whether some lines count at some hours only.
    pub fn are_timed(&self) -> bool {
        !self.timed.is_empty()
    }

    /// The rules as they are at a time of the local clock: without lines that count at some hours only.
    #[must_use]
    pub(crate) fn during(&self, local: LocalTime) -> Self {
        let mut rules = Self { timed: Vec::new(), ..self.clone() };
        for (_, line) in self.timed.iter().filter(|(hours, _)| hours.has(local)) {
            rules.add(line);
        }
        rules
    }

    /// The same for the time from `from` to `to`, divided where they change: until when each part is.
    pub fn divided(&self, span: (i64, i64), offset: impl Fn(i64) -> Option<i64>) -> Vec<(i64, Self)> {
        if !self.are_timed() {
            return if span.0 < span.1 { vec![(span.1, self.clone())] } else { Vec::new() };
        }
        let hours: Vec<WeekHours> = self.timed.iter().map(|(hours, _)| *hours).collect();
        let parts = hours::parts(&hours, span, offset);
        parts.into_iter().map(|(until, local)| (until, self.during(local))).collect()
    }

    /// Whether no line is there that multiplies; there may be a minimum.
    pub fn are_none(&self) -> bool {
        let all =
            [&self.partitions, &self.qos, &self.reservations, &self.wckeys, &self.accounts, &self.parents];
        all.into_iter().all(ByName::is_empty) && self.requeued == ChargeFactors::NONE && self.timed.is_empty()
    }
}

/// The names in all lines; `is_account` says whether there is an account of a name, in small letters.
pub fn named<'s>(
    settings: &'s Settings,
    is_account: impl Fn(&str) -> bool + 's,
) -> impl Iterator<Item = Named<'s>> + 's {
    settings.charges.iter().flat_map(move |line| {
        let bearer = |name: &str| match line.kind {
            ChargeKind::Partition => Bearer::Partition,
            ChargeKind::Qos => Bearer::Qos,
            ChargeKind::Account | ChargeKind::Parent => Bearer::Association(is_account(&name.to_lowercase())),
            ChargeKind::Reservation | ChargeKind::WcKey | ChargeKind::Requeued => Bearer::Job,
        };
        let all = line.names.iter().flatten().map(|name| Named {
            place: &line.place.0,
            setting: "Charge",
            kind: line.kind.to_string(),
            name,
            of: bearer(name),
        });
        all.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // products of numbers that are exact

    use super::*;

    fn rules(text: &str) -> ChargeRules {
        ChargeRules::of(&Settings::parse(text, "f").unwrap().settings)
    }

    #[test]
    fn factors_of_one_name_multiply_and_scopes_stay_apart() {
        let rules = rules(
            "Charge=Partition Name=a,b Factor=0.5\nCharge=Partition Name=a Factor=4 Scope=limits\nCharge=QOS Name=Low Factor=0.25",
        );
        assert_eq!(rules.partitions.of("a"), ChargeFactors { usage: 2.0, limits: 4.0 });
        assert_eq!(rules.partitions.of("b"), ChargeFactors { usage: 0.5, limits: 1.0 });
        assert_eq!(rules.partitions.of("A"), ChargeFactors::NONE);
        assert_eq!(rules.qos.of("lOW"), ChargeFactors { usage: 0.25, limits: 1.0 });
        assert!(!rules.are_none());
    }

    #[test]
    fn a_name_twice_on_a_line_counts_once() {
        assert_eq!(rules("Charge=Account Name=x,X,y Factor=3").accounts.of("x").usage, 3.0);
        assert_eq!(rules("Charge=WCKey Name=x,X Factor=3").wckeys.of("x").usage, 3.0);
    }

    #[test]
    fn every_kind_has_its_own_names() {
        let all = rules(
            "Charge=Partition Name=n Factor=2\nCharge=QOS Name=n Factor=3\nCharge=Reservation Name=n Factor=5\n\
             Charge=WCKey Name=n Factor=7\nCharge=Account Name=n Factor=11\nCharge=Parent Name=n Factor=13\n\
             Charge=Requeued Factor=17\nCharge=Requeued Factor=2 Scope=limits",
        );
        let found = [&all.partitions, &all.qos, &all.reservations, &all.wckeys, &all.accounts, &all.parents]
            .map(|names| names.of("n").usage);
        assert_eq!(found, [2.0, 3.0, 5.0, 7.0, 11.0, 13.0]);
        assert_eq!(all.requeued, ChargeFactors { usage: 34.0, limits: 2.0 });
    }

    #[test]
    fn nothing_is_there_without_lines() {
        assert!(rules("").are_none());
        let minimum = rules("MinimumCharge=10:00");
        assert!(minimum.are_none());
        assert_eq!(minimum.minimum, 600);
    }

    #[test]
    fn names_are_told_with_what_has_them() {
        let settings =
            Settings::parse("Charge=Account Name=A,b Factor=2\nCharge=Reservation Name=r Factor=2", "f")
                .unwrap()
                .settings;
        let found: Vec<_> =
            named(&settings, |name| name == "a").map(|named| (named.name.to_owned(), named.of)).collect();
        let expected = [
            ("A".to_owned(), Bearer::Association(true)),
            ("b".to_owned(), Bearer::Association(false)),
            ("r".to_owned(), Bearer::Job),
        ];
        assert_eq!(found, expected);
    }
}

//! How all sequences stand after each cycle. A rule is computed when a period begins, or when anything of a sequence changes besides the
//! usage of its current period. That usage is then only compared with a number; if it is unchanged, nothing happens.

use super::effects::{Effect, Effects};
use super::ledger::{sum_of, Accounts, Ledger};
use super::lines::{Line, Sequence, Sequences};
use super::slots::{Changed, Slots};
use crate::settings::GrantOutside;

/// What was found of a sequence, and holds until something else of it changes than the usage of a period.
#[derive(Clone, Copy, Debug)]
struct Found {
    line: usize,
    period: usize,
    /// Between which times it holds.
    since: i64,
    until: i64,
    /// The usage of all other periods.
    others: i128,
    /// What counts in the period in addition to what was counted: amounts of the line, and corrections.
    beside: i128,
    /// With how much usage, as it was counted, it is beyond.
    beyond_from: i128,
    is_beyond: bool,
}

/// How sequences stand, with what need not be worked out in each cycle.
#[derive(Clone, Debug, Default)]
pub struct Standings {
    found: Vec<Option<Found>>,
    /// The edits of the accounts when that was found.
    edits: u64,
    has_unknown: bool,
}

impl Standings {
    /// Other grants hold.
    pub fn forget(&mut self) {
        self.found.clear();
    }

    /// Whether what was used of some that hold is not known, as [`Self::effects`] has found it last.
    pub fn have_unknown(&self) -> bool {
        self.has_unknown
    }

    /// How all stand at a time. Notes in the ledger what has changed.
    pub fn effects(
        &mut self,
        sequences: &Sequences,
        slots: &mut Slots,
        ledger: &mut Ledger,
        now: i64,
    ) -> Effects {
        let edits = ledger.accounts.edits();
        if std::mem::replace(&mut self.edits, edits) != edits {
            self.found.clear();
        }
        self.found.resize(sequences.all.len(), None);
        let mut all = Vec::with_capacity(sequences.all.len());
        let mut has_unknown = false;
        for ((place, sequence), found) in sequences.all.iter().enumerate().zip(&mut self.found) {
            let changed = slots.take_changed(place);
            let known = found.filter(|found| (found.since..found.until).contains(&now));
            let known = known.and_then(|known| Some((known, known.is_beyond_after(changed)?)));
            let effect = match known {
                Some((known, is_beyond)) if is_beyond == known.is_beyond => {
                    known.effect(&sequence.lines[known.line])
                }
                _ => {
                    let slot = |line| slots.of(place, line);
                    anew(sequence, (&mut ledger.accounts, slot), now, found, &mut has_unknown)
                }
            };
            all.push(effect);
        }
        self.has_unknown = has_unknown;
        Effects::of(sequences.filters().clone(), all)
    }
}

impl Found {
    /// Whether it is beyond after something has changed; `None` where that is to be worked out.
    fn is_beyond_after(&self, changed: Changed) -> Option<bool> {
        match changed {
            Changed::Nothing => Some(self.is_beyond),
            Changed::Period(period, used) if period == self.period => Some(used >= self.beyond_from),
            _ => None,
        }
    }

    fn effect(&self, line: &Line) -> Effect {
        if self.is_beyond {
            Effect::Beyond(line.beyond)
        } else {
            Effect::Within(line.within)
        }
    }
}

/// How a sequence stands, from its usage. The rule is worked out where what was found is of another time, or the usage of another period has changed.
fn anew(
    sequence: &Sequence,
    (accounts, slot): (&mut Accounts, impl FnOnce(usize) -> usize),
    now: i64,
    found: &mut Option<Found>,
    has_unknown: &mut bool,
) -> Effect {
    let before = found.take();
    let Some(number) = sequence.line_number(now) else {
        let nearest = sequence.lines.iter().rev().find(|line| line.grant.periods.whole().1 <= now);
        let nearest = nearest.or(sequence.lines.first());
        return match (sequence.outside, nearest) {
            (GrantOutside::Beyond, Some(line)) => Effect::Beyond(line.beyond),
            _ => Effect::Nothing,
        };
    };
    let line = &sequence.lines[number];
    let Some(account) = accounts.at(slot(number)) else { return Effect::Nothing };
    if account.is_unknown {
        *has_unknown = true;
        return Effect::Nothing;
    }
    let said = |period: usize| line.used_before.get(period - 1).copied().unwrap_or_default();
    let counted = |period: usize| account.used.get(period - 1).copied().unwrap_or_default();
    let used = |period: usize| account.amount(period).saturating_add(said(period));
    let others = |period: usize| {
        let all = line.used_before.iter().fold(account.total(), |sum, one| sum.saturating_add(*one));
        all.saturating_sub(used(period))
    };
    let beside = |period: usize| used(period).saturating_sub(counted(period));
    let holds = |known: &Found| {
        known.line == number
            && (known.since..known.until).contains(&now)
            && (known.others, known.beside) == (others(known.period), beside(known.period))
    };
    let worked_out = || {
        let standing = line.grant.standing(&sum_of(&line.used_before, &account.amounts()), now)?;
        let (period, beside) = (standing.period, beside(standing.period));
        Some(Found {
            line: number,
            period,
            since: now,
            until: line.grant.next_change(now).unwrap_or(i64::MAX),
            others: others(period),
            beside,
            beyond_from: standing.beyond_from.saturating_sub(beside),
            is_beyond: false,
        })
    };
    let Some(mut known) = before.filter(holds).or_else(worked_out) else { return Effect::Nothing };
    known.is_beyond = counted(known.period) >= known.beyond_from;
    if account.is_beyond != Some(known.is_beyond) {
        (account.is_beyond, account.changed) = (Some(known.is_beyond), now);
    }
    *found = Some(known);
    known.effect(line)
}

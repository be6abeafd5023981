//! Counts the usage of grants: by period, and by day for a while.
//!
//! A ledger is that of a time T, when a cycle ran. It has everything that jobs used up to T, and is saved with it. A running job is counted
//! from T on, or from its start. A job that has ended since T waits as a [`Piece`] until a cycle has gone past it. So each second is
//! counted once, by its time, whatever is saved when. If slurmctld has forgotten the end of a job, the job runs again after a restart: its
//! piece is dropped, and it is counted from T on. A resize also reports an end, but the job goes on with the same id and start: its piece
//! stays, and a [`Mark`] says from when on the rest is counted.
//!
//! Resets of usage do not affect the ledger, and nothing decays.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use rustc_hash::FxHashMap;

use super::lineage::Lineage;
use super::lines::{Line, Sequences};
use super::periods::Periods;
use super::slots::Slots;

/// The name of its file, in `StateSaveLocation`.
pub const FILE: &str = "multifactor2_grants";

/// How many days usage is kept by day.
const DAYS: usize = 8;

/// The usage of a line, in [parts](super::Sequence::parts) of seconds of its unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// From when on it is counted.
    pub begun: i64,
    /// Until when it is kept at least.
    pub keep_until: i64,
    /// By period, the first one first, as it was counted. Those that are missing at the end are 0.
    pub used: Vec<i128>,
    /// What a comparison with the accounting adds to each; `None` where there was none, as are those that are missing at the end.
    pub corrected: Vec<Option<i128>>,
    /// The borders of the periods, and from when on usage is counted by the line.
    pub calendar: Calendar,
    /// By day: when each begins. The latest come last.
    pub days: VecDeque<(i64, i128)>,
    /// Whether jobs were beyond at the last calculation, where one has looked.
    pub is_beyond: Option<bool>,
    /// Since when.
    pub changed: i64,
    /// What was used before cannot be known: the file was damaged.
    pub is_unknown: bool,
}

/// When the periods of a line begin. Many lines have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Calendar {
    /// What was used before is said by the line, or is before the first border.
    pub counted_from: i64,
    /// One more than there are periods.
    pub periods: Periods,
}

/// A job that is counted up to a time, when it had run so long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// When it started: the same id may run again.
    pub started: i64,
    /// Up to when.
    pub at: i64,
    /// The seconds that it had run then, without those in which it was suspended.
    pub ran: i64,
}

/// What a job has used that has ended, or was resized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its id.
    pub job: u32,
    /// When it started.
    pub started: i64,
    /// From when on this is.
    pub start: i64,
    /// For how many seconds.
    pub run: i64,
    /// It goes on with another size.
    pub is_resize: bool,
    /// How much of the unit each second is, by the key of the sequence.
    pub rates: Vec<(String, i128)>,
    /// It comes from the file of an earlier process.
    pub is_restored: bool,
}

/// What running jobs add in a cycle: how much of the unit each second is.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The beginning and seconds of most jobs: they have run since the cycle before.
    most: (i64, i64),
    /// Of these, by sequence.
    of_most: Vec<i128>,
    /// Of all others, by sequence, beginning and seconds.
    others: FxHashMap<(u32, i64, i64), i128>,
}

impl Tally {
    /// For a cycle at `now` with this number of sequences, after everything was counted up to `since`.
    pub fn new(sequences: usize, since: i64, now: i64) -> Self {
        Self { most: (since, now - since), of_most: vec![0; sequences], others: FxHashMap::default() }
    }

    /// A job of a sequence runs some seconds from a beginning on.
    pub fn add(&mut self, place: u32, (start, run): (i64, i64), rate: i128) {
        let common = self.of_most.get_mut(place as usize).filter(|_| (start, run) == self.most);
        let sum = common.unwrap_or_else(|| self.others.entry((place, start, run)).or_default());
        *sum = sum.saturating_add(rate);
    }

    fn iter(&self) -> impl Iterator<Item = ((u32, i64, i64), i128)> + '_ {
        let (start, run) = self.most;
        let of_most = (0..).zip(&self.of_most).filter(|(_, rate)| **rate != 0);
        let of_most = of_most.map(move |(place, rate)| ((place, start, run), *rate));
        of_most.chain(self.others.iter().map(|(key, rate)| (*key, *rate)))
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Chosen by chance when it began, so that it is not taken for another one.
    pub id: u64,
    /// T; 0 for never.
    pub since: i64,
    /// Nobody knows what was used before, of lines that began earlier.
    pub unknown_before: Option<i64>,
    /// T of the latest correction that is in force or was rejected permanently; 0 for none.
    pub corrected_at: i64,
    /// By [`Line::ledger`].
    pub accounts: Accounts,
    /// Jobs that run and were suspended or resized, by id.
    pub marks: BTreeMap<u32, Mark>,
    /// What is still to be counted of jobs that have ended.
    pub ended: Vec<Piece>,
    /// The numbers of Unix groups that lines name, as far as they are known.
    pub groups: BTreeMap<String, u32>,
    /// Below which account each one was, where lines name accounts.
    pub lineage: Lineage,
    /// What this process has read of an earlier one, and when it has counted itself first: what was counted between is lost.
    pub gap: Gap,
}

/// The times between which another process may have counted what this one knows nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub(super) after: i64,
    pub(super) before: i64,
}

impl Default for Gap {
    /// Without a ledger.
    fn default() -> Self {
        Self { after: i64::MAX, before: i64::MAX }
    }
}

/// The usage of all lines, by the names of [`Line::ledger`] or by where they are.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    names: BTreeMap<String, usize>,
    all: Vec<Account>,
    /// How often something was changed otherwise than by a cycle.
    edits: u64,
}

impl PartialEq for Accounts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Accounts {}

impl Accounts {
    /// That of a name.
    pub fn get(&self, name: &str) -> Option<&Account> {
        self.names.get(name).and_then(|at| self.all.get(*at))
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Account> {
        self.edits += 1;
        self.names.get(name).and_then(|at| self.all.get_mut(*at))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// All, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Account)> {
        self.names.iter().map(|(name, at)| (name.as_str(), &self.all[*at]))
    }

    /// All, to be changed, in any order.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Account> {
        self.edits += 1;
        self.all.iter_mut()
    }

    /// Adds one. `false` if the name exists.
    pub(crate) fn insert(&mut self, name: String, account: Account) -> bool {
        self.edits += 1;
        let is_new = !self.names.contains_key(&name);
        if is_new {
            self.names.insert(name, self.all.len());
            self.all.push(account);
        }
        is_new
    }

    /// How often something was changed otherwise than by a cycle.
    pub(super) fn edits(&self) -> u64 {
        self.edits
    }

    /// That at a place, for a cycle, which notes itself what it changes.
    pub(super) fn at(&mut self, place: usize) -> Option<&mut Account> {
        self.all.get_mut(place)
    }

    fn place(&mut self, name: &str, new: impl FnOnce() -> Account) -> usize {
        if !self.names.contains_key(name) {
            self.insert(name.to_owned(), new());
        }
        self.names[name]
    }

    fn retain(&mut self, keep: impl Fn(&str, &Account) -> bool) {
        let kept = self.iter().filter(|(name, account)| keep(name, account));
        let kept: Vec<(String, Account)> =
            kept.map(|(name, account)| (name.to_owned(), account.clone())).collect();
        if kept.len() < self.all.len() {
            *self = Self { edits: self.edits + 1, ..Self::default() };
            for (name, account) in kept {
                self.insert(name, account);
            }
        }
    }
}

/// What a cycle does to it.
pub struct Cycle<'a, O> {
    /// When it runs.
    pub now: i64,
    /// What running jobs add.
    pub tally: &'a Tally,
    /// Those of them that were suspended or resized.
    pub marks: BTreeMap<u32, Mark>,
    /// The grants in force.
    pub sequences: &'a Sequences,
    /// Where their usage is, as [`Ledger::follow`] has said it.
    pub slots: &'a mut Slots,
    /// How many seconds local clocks are ahead of UTC at a time.
    pub offset: O,
}

impl Ledger {
    /// Nothing, counted from a time on.
    pub fn new(id: u64, since: i64) -> Self {
        Self { id, since, ..Self::default() }
    }

    /// Counts these grants from now on. Those that are gone are kept for two periods after their end. Call it whenever the grants in force
    /// change, and when the ledger was read.
    #[must_use]
    pub fn follow(&mut self, sequences: &Sequences, now: i64) -> Slots {
        let since = if self.since > 0 { self.since } else { now };
        let lines = || sequences.all.iter().flat_map(|sequence| &sequence.lines);
        let are_there: HashSet<&str> = lines().map(|line| line.ledger.as_str()).collect();
        self.accounts.retain(|ledger, account| are_there.contains(ledger) || account.keep_until > now);
        let mut slots = Slots::new(sequences.all.len());
        for sequence in &sequences.all {
            let of_lines = sequence.lines.iter().map(|line| {
                let periods = &line.grant.periods;
                let (first, end) = periods.whole();
                let longest = periods.borders().windows(2).map(|pair| pair[1] - pair[0]).max();
                let unknown = self.unknown_before.is_some_and(|before| first < before);
                let is_unknown = unknown && line.counted_from.is_none();
                let new = || Account { begun: since, is_unknown, ..Account::default() };
                let slot = self.accounts.place(&line.ledger, new);
                let account = &mut self.accounts.all[slot];
                account.keep_until = end.saturating_add(longest.unwrap_or_default().saturating_mul(2));
                account.calendar =
                    Calendar { counted_from: line.counted_from.unwrap_or(first), periods: periods.clone() };
                slot
            });
            slots.push(of_lines.collect());
        }
        let earliest = self.accounts.all.iter().map(|account| account.calendar.periods.whole().0).min();
        self.lineage.forget_before(earliest.unwrap_or(now));
        slots
    }

    /// From when on a run of a job is counted, and how long it had run then.
    pub fn mark_of(&self, job: u32, started: i64) -> Mark {
        let known = self.marks.get(&job).filter(|mark| mark.started == started);
        known.copied().unwrap_or_else(|| {
            let at = self.since.max(started);
            Mark { started, at, ran: at - started }
        })
    }

    /// Notes what a job has used that has ended, or was resized: `ran` seconds in all, until a time.
    pub fn end(&mut self, piece: Piece, (until, ran): (i64, i64)) {
        let (job, started) = (piece.job, piece.started);
        // It ran again after a restart that had forgotten its end.
        self.ended.retain(|before| {
            before.is_resize || !before.is_restored || (before.job, before.started) != (job, started)
        });
        if piece.is_resize {
            self.marks.insert(job, Mark { started, at: until, ran });
        } else {
            self.marks.remove(&job);
        }
        self.wait(piece);
    }

    /// Notes what a job is charged in addition: the rest of its minimum.
    pub fn wait(&mut self, piece: Piece) {
        if piece.run > 0 && !piece.rates.is_empty() {
            self.ended.push(piece);
        }
    }

    /// Counts what has ended since the last cycle and what running jobs add; from then on everything is counted up to now. `runs_again` says whether
    /// slurmctld has a job as running that had ended before a restart.
    pub fn settle<O: Fn(i64) -> i64>(&mut self, cycle: Cycle<'_, O>, runs_again: impl Fn(&Piece) -> bool) {
        let Cycle { now, tally, marks, sequences, slots, offset } = cycle;
        let places: HashMap<String, usize> = if self.ended.is_empty() {
            HashMap::new()
        } else {
            sequences.all.iter().zip(0..).map(|(one, at)| (one.key.text(), at)).collect()
        };
        for mut piece in std::mem::take(&mut self.ended) {
            if piece.is_restored && !piece.is_resize && runs_again(&piece) {
                continue;
            }
            // What is later than this cycle waits for the next one.
            let before = (now - piece.start).clamp(0, piece.run);
            for (key, rate) in &piece.rates {
                if let Some(at) = places.get(key) {
                    self.charge((sequences, slots, *at), (piece.start, before), *rate, &offset);
                }
            }
            if piece.run > before && now >= self.since {
                piece.start += before;
                piece.run -= before;
                self.ended.push(piece);
            }
        }
        for ((place, start, run), rate) in tally.iter() {
            self.charge((sequences, slots, place as usize), (start, run), rate, &offset);
        }
        self.marks = marks;
        self.since = now;
        self.gap.before = self.gap.before.min(now);
    }

    /// Enters what was used in some seconds, in whichever periods they are.
    fn charge(
        &mut self,
        (sequences, slots, place): (&Sequences, &mut Slots, usize),
        (start, run): (i64, i64),
        rate: i128,
        offset: &impl Fn(i64) -> i64,
    ) {
        let end = start.saturating_add(run);
        if slots.charge_open(&mut self.accounts, place, (start, end), rate.saturating_mul(run.into())) {
            return;
        }
        let Some(sequence) = sequences.all.get(place) else { return };
        let offset = |at| if sequence.is_universal { 0 } else { offset(at) };
        for (number, line) in sequence.lines.iter().enumerate() {
            let (first, last) = line.counted();
            let (mut from, until) = (start.max(first), end.min(last));
            if from >= until {
                continue;
            }
            let Some(account) = self.accounts.all.get_mut(slots.of(place, number)) else { continue };
            account.add_days((from, until), rate, &offset);
            while let Some(period) = line.grant.periods.at(from).filter(|_| from < until) {
                let Some((_, border)) = line.grant.periods.span(period) else { break };
                let to = border.min(until);
                if account.used.len() < period {
                    account.used.resize(period, 0);
                }
                let used = &mut account.used[period - 1];
                *used = used.saturating_add(rate.saturating_mul((to - from).into()));
                from = to;
            }
        }
        slots.note_charged(place, sequence, (start, end), &offset);
    }

    /// The usage of a line by period, with what it says itself of earlier times.
    pub fn used(&self, line: &Line) -> Vec<i128> {
        let counted = self.accounts.get(&line.ledger).map_or_else(Vec::new, Account::amounts);
        sum_of(&line.used_before, &counted)
    }

    /// The process before has left this: what it counted later is lost.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { gap: Gap { after: self.since, before: i64::MAX }, ..self }
    }

    /// Whether what was used of a line cannot be known.
    pub fn is_unknown(&self, line: &Line) -> bool {
        self.accounts.get(&line.ledger).is_none_or(|account| account.is_unknown)
    }
}

/// Two lists of amounts, one added to the other.
pub(super) fn sum_of(one: &[i128], other: &[i128]) -> Vec<i128> {
    let at = |list: &[i128], at: usize| list.get(at).copied().unwrap_or_default();
    (0..one.len().max(other.len())).map(|period| at(one, period).saturating_add(at(other, period))).collect()
}

impl Account {
    /// The usage of a period, by its number from 1 on, with what the accounting corrects.
    pub fn amount(&self, period: usize) -> i128 {
        let at = period.wrapping_sub(1);
        let corrected = self.corrected.get(at).copied().flatten().unwrap_or_default();
        self.used.get(at).copied().unwrap_or_default().saturating_add(corrected)
    }

    /// The usage of all periods.
    pub(crate) fn total(&self) -> i128 {
        let all = self.used.iter().chain(self.corrected.iter().flatten());
        all.fold(0, |sum, one| sum.saturating_add(*one))
    }

    /// The usage of each period.
    pub fn amounts(&self) -> Vec<i128> {
        (1..=self.used.len().max(self.corrected.len())).map(|period| self.amount(period)).collect()
    }

    fn add_days(&mut self, (mut from, until): (i64, i64), rate: i128, offset: &impl Fn(i64) -> i64) {
        while from < until {
            let (begin, end) = match self.days.back() {
                // The day that a cycle before has found; the next midnight is looked for once a day.
                Some((begin, _)) if (0..82_800).contains(&(until - 1 - *begin)) && from >= *begin => {
                    (*begin, until)
                }
                _ => Periods::day(from, offset),
            };
            let to = end.min(until);
            let amount = rate.saturating_mul((to - from).into());
            if let Some((_, sum)) = self.days.iter_mut().find(|(day, _)| *day == begin) {
                *sum = sum.saturating_add(amount);
            } else {
                let at = self.days.partition_point(|(day, _)| *day < begin);
                self.days.insert(at, (begin, amount));
            }
            from = to;
        }
        while self.days.len() > DAYS {
            self.days.pop_front();
        }
    }
}

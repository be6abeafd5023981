//! Whether slurmctld's records are as the layout says, and what becomes of calculations and priorities where they are not.
//!
//! | state | entered | what is done |
//! |---|---|---|
//! | sound | at the start | everything |
//! | in doubt | a calculation met a record that failed a check | that calculation is left out: it writes and charges nothing, and the next one charges its time. A job whose own records pass gets its priority at a submission as always; any other keeps its number |
//! | passive | two calculations in a row met something that holds for slurmctld as a whole, or [`SEVERAL`] records that slurmctld lists or finds by their ids; or a self-check failed in init in a release that this build does not know | nothing is written until slurmctld starts again, and every job keeps its number |
//!
//! Who can bring a failure about says [`Found::causes`](crate::host::checks::Found::causes).
//!
//! The number that a job keeps is the one in its record. Where records of jobs themselves are not as the layout says, nothing in
//! one is read, and it is the last number of ours for that address: addresses are compared and never followed.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashSet;
use tracing::{error, info};

use super::sync::{Rank, Ranked};
use crate::host::checks::Failure;

/// So many records must fail in one calculation.
pub const SEVERAL: usize = 3;
/// Seconds between two lines that say the same.
const HOUR: i64 = 3600;

/// See the module.
#[derive(Debug)]
pub struct Health {
    passive: AtomicBool,
    inner: Ranked<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// What failed first since the calculation began, and how many records.
    failed: Option<(Failure, usize)>,
    /// The calculation before was left out for something that holds for slurmctld as a whole, or for several records.
    before: bool,
    /// What is said once an hour.
    said: Option<Said>,
    numbers: Kept,
}

#[derive(Debug)]
struct Said {
    text: String,
    /// That the plugin is passive; else that a calculation is left out.
    passive: bool,
    /// When it was said last.
    at: i64,
}

/// The last numbers of ours, by the addresses of the jobs' records; those of the last calculation are in its drafts.
#[derive(Debug, Default)]
struct Kept {
    /// While a calculation runs, and after one that was left out: what there was before, the newest last.
    before: Vec<(usize, u32)>,
    /// Answers since it has begun, the newest last. Of an address that was answered for again the older ones are left out now and then.
    since: Vec<(usize, u32)>,
    /// So many there were when that was done last.
    compacted: usize,
}

impl Kept {
    /// Answers that are always kept.
    const FEW: usize = 4096;

    fn note(&mut self, address: usize, number: u32) {
        self.since.push((address, number));
        if self.since.len() > (2 * self.compacted).max(Self::FEW) {
            let mut seen = FxHashSet::default();
            // The newest of each stays.
            self.since.reverse();
            self.since.retain(|(address, _)| seen.insert(*address));
            self.since.reverse();
            self.compacted = self.since.len();
        }
    }
}

/// The newest number for an address.
fn newest(numbers: &[(usize, u32)], address: usize) -> Option<u32> {
    numbers.iter().rev().find(|(at, _)| *at == address).map(|(_, number)| *number)
}

impl Default for Health {
    fn default() -> Self {
        Self { passive: AtomicBool::new(false), inner: Ranked::new(Rank::Health, Inner::default()) }
    }
}

impl Health {
    /// Nothing is written until slurmctld starts again.
    pub fn is_passive(&self) -> bool {
        self.passive.load(Ordering::Relaxed)
    }

    /// A start.
    pub fn begin(&self) {
        *self.inner.lock() = Inner::default();
        self.passive.store(false, Ordering::Relaxed);
    }

    /// A calculation begins.
    pub fn begin_look(&self) {
        self.inner.lock().failed = None;
    }

    /// A record that slurmctld lists, or finds by its id, is not as the layout says.
    pub fn note(&self, failure: Failure) {
        let mut inner = self.inner.lock();
        let records = inner.failed.as_ref().map_or(0, |(_, records)| *records) + failure.records;
        match &mut inner.failed {
            // What holds for all of slurmctld says more.
            Some((first, known)) if first.found.is_general() || !failure.found.is_general() => {
                *known = records;
            }
            failed => *failed = Some((failure, records)),
        }
    }

    /// This calculation must not write.
    pub fn has_failed(&self) -> bool {
        self.inner.lock().failed.is_some()
    }

    /// So many records have failed that more would say nothing.
    pub fn is_sure(&self) -> bool {
        self.inner.lock().is_sure()
    }

    /// The calculation at `now` was left out; `refuted` where records of jobs themselves cannot be read.
    pub fn leave_out(&self, now: i64, refuted: bool) {
        let mut inner = self.inner.lock();
        let Some((failure, _)) = inner.failed.clone() else { return };
        let is_sure = inner.is_sure();
        if is_sure && inner.before {
            self.passive.store(true, Ordering::Relaxed);
            inner.say(true, now, || passive(&failure, refuted));
            return;
        }
        inner.before = is_sure;
        inner.say(false, now, || left_out(&failure));
    }

    /// The same where the kernel does not let us look, which says nothing of any record.
    pub fn leave_out_blindly(&self, now: i64, blind: &impl std::fmt::Display) {
        let mut inner = self.inner.lock();
        inner.before = false;
        inner.say(false, now, || left_out(blind));
    }

    /// The calculation met nothing that was wrong.
    pub fn note_sound(&self) {
        let mut inner = self.inner.lock();
        inner.before = false;
        if inner.said.take().is_some() {
            info!("slurmctld's records are as they should be again: calculations go on");
        }
    }

    /// A self-check failed in init, in a release that this build does not know; `refuted` as in [`Health::leave_out`].
    pub fn start_passive(&self, failure: &impl std::fmt::Display, refuted: bool, now: i64) {
        self.passive.store(true, Ordering::Relaxed);
        self.inner.lock().say(true, now, || passive(failure, refuted));
    }

    /// Says once an hour why nothing is written.
    pub fn remind(&self, now: i64) {
        let mut inner = self.inner.lock();
        if let Some(said) = &inner.said {
            let (text, passive) = (said.text.clone(), said.passive);
            inner.say(passive, now, || text);
        }
    }

    /// Notes our answer for the job with a record at an address.
    pub fn note_answer(&self, address: usize, number: u32) {
        self.inner.lock().numbers.note(address, number);
    }

    /// A calculation begins, and does not keep the numbers of the one before.
    pub fn begin_numbers(&self, before: impl Iterator<Item = (usize, u32)>) {
        let drafts: Vec<_> = before.collect();
        let mut inner = self.inner.lock();
        let Kept { before, since, .. } = &mut inner.numbers;
        if !drafts.is_empty() {
            *before = drafts;
        }
        before.append(since);
    }

    /// The calculation is over, and its own numbers are there.
    pub fn end_numbers(&self) {
        let before = std::mem::take(&mut self.inner.lock().numbers.before);
        drop(before);
    }

    /// Our last number for the job with a record at an address, if it is newer than the drafts of the last calculation that was not
    /// left out.
    pub fn last_number(&self, address: usize) -> Option<u32> {
        let inner = self.inner.lock();
        let Kept { before, since, .. } = &inner.numbers;
        newest(since, address).or_else(|| newest(before, address))
    }
}

impl Inner {
    fn is_sure(&self) -> bool {
        self.failed
            .as_ref()
            .is_some_and(|(failure, records)| failure.found.is_general() || *records >= SEVERAL)
    }

    /// A line, once an hour where it says the same.
    fn say(&mut self, passive: bool, now: i64, text: impl FnOnce() -> String) {
        let known = self.said.as_ref().filter(|said| said.passive == passive);
        if known.is_some_and(|said| (said.at..said.at + HOUR).contains(&now)) {
            return;
        }
        let text = text();
        error!("{text}");
        self.said = Some(Said { text, passive, at: now });
    }
}

fn left_out(failure: &impl std::fmt::Display) -> String {
    format!(
        "{failure}. This calculation of priorities is left out; the next one looks again, and charges its time if all is as it \
         should be"
    )
}

fn passive(failure: &impl std::fmt::Display, refuted: bool) -> String {
    let lost = if refuted {
        ". Records of jobs are not read at all: a job that is changed gets the last number of this plugin, so set a priority that \
         was given directly again after the change"
    } else {
        ""
    };
    format!(
        "{failure}. Until slurmctld starts again the plugin is passive: nothing is written or charged, jobs keep their priorities, \
         new ones come behind all others. The next start charges running jobs for this time{lost}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_said_once_an_hour_and_at_once_where_it_says_something_else() {
        let mut inner = Inner::default();
        let mut said = |passive, now| {
            inner.say(passive, now, || "what is wrong".to_owned());
            inner.said.as_ref().unwrap().at == now
        };
        let times = [100, 101, 3699, 3700];
        assert_eq!(times.map(|now| said(false, now)), [true, false, false, true]);
        assert!(said(true, 3701));
        assert!(said(true, 50), "the clock was set back");
    }

    #[test]
    fn answers_for_the_same_jobs_take_no_more_memory_however_often_they_are_asked_for() {
        let mut kept = Kept::default();
        for number in 0..100_000 {
            kept.note(number as usize % 3000, number);
            assert!(kept.since.len() <= 2 * 4096, "{number}");
        }
        assert_eq!(newest(&kept.since, 7), Some(99_007));
        assert_eq!(newest(&kept.since, 3000), None);
    }

    #[test]
    fn the_last_number_for_an_address_is_the_answer_since_or_that_of_the_calculation_before() {
        let health = Health::default();
        assert_eq!(health.last_number(64), None);
        health.note_answer(64, 7);
        health.note_answer(192, 4);
        health.begin_numbers([(64, 3), (128, 5)].into_iter());
        health.note_answer(192, 9);
        assert_eq!(
            [64, 128, 192, 256].map(|at| health.last_number(at)),
            [Some(7), Some(5), Some(9), None],
            "while a calculation runs"
        );
        health.end_numbers();
        assert_eq!([64, 128, 192].map(|at| health.last_number(at)), [None, None, Some(9)]);
    }
}

//! Decides whether slurmctld's records match the layout, and what happens to calculations and priorities if they do not.
//!
//! | state | entered | what is done |
//! |---|---|---|
//! | sound | at the start | everything |
//! | in doubt | a calculation met a record that failed a check | that calculation is left out: it writes and charges nothing, and the next one charges its time. A job whose own records pass gets its priority at a submission as always; any other keeps its number |
//! | passive | two calculations in a row met something that holds for slurmctld as a whole, or [`SEVERAL`] records that slurmctld lists or finds by their ids; or a self-check failed in init in a release that this build does not know | nothing is written until slurmctld starts again, and every job keeps its number |
//!
//! [`Found::causes`](crate::host::checks::Found::causes) says who can cause a failure.
//!
//! The number that a job keeps is the one in its record. If job records themselves do not match the layout, it is our last number for the
//! job (see [`LastNumbers`](super::last_numbers::LastNumbers)).

use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{error, info};

use super::sync::{Rank, Ranked};
use crate::host::checks::Failure;

/// How many records must fail in one calculation.
pub const SEVERAL: usize = 3;
/// Seconds between two lines that say the same.
const HOUR: i64 = 3600;

/// Which of the three states the plugin is in, and since when.
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
}

#[derive(Debug)]
struct Said {
    text: String,
    /// That the plugin is passive; else that a calculation is left out.
    passive: bool,
    /// When it was said last.
    at: i64,
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

    /// Enough records have failed that more would say nothing.
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
            info!("slurmctld's records are as expected again: calculations continue");
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
        "{failure}. This calculation of priorities is skipped. The next one checks again and, if nothing is wrong, \
         charges the skipped time too"
    )
}

fn passive(failure: &impl std::fmt::Display, refuted: bool) -> String {
    let lost = if refuted {
        ". Job records are not read at all: a job that is changed gets the last priority that this plugin gave it. \
         If its priority was set directly, set it again after the change"
    } else {
        ""
    };
    format!(
        "{failure}. The plugin is passive until slurmctld starts again: it writes and charges nothing, jobs keep \
         their priorities, and new jobs come after all others. The next start charges running jobs for this \
         time{lost}"
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
}

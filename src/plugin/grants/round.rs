//! One cycle of the ledger of grants, under the hold of locks in which slurmctld's usage is charged, and the end of a job between two
//! cycles.
//!
//! Nothing changes before [`Round::finish`]: a cycle that fails before it has counted nothing, and the next one counts from the same time
//! on.

use std::collections::BTreeMap;

use multifactor2_accounting::charge::END_CHARGED;
use multifactor2_core::facts::amount;
use multifactor2_core::rules::grants::ledger::{Cycle, Mark, Piece, Tally};
use multifactor2_core::rules::grants::{Sequence, Sequences};

use super::places::Places;
use super::{offset, Grants, State};
use crate::faults;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, JobLock, Usage};
use crate::host::records::Job;
use crate::plugin::sync::RankedGuard;

/// Who is counting: nobody, a cycle, or the end of a job.
#[derive(Debug, Default)]
pub enum Granting<'g> {
    /// There are no grants.
    #[default]
    Nobody,
    /// A cycle.
    Cycle(Box<Round<'g>>),
    /// The end of a job.
    End(&'g Grants),
}

/// One cycle. Holds our own lock on the ledger.
#[derive(Debug)]
pub struct Round<'g> {
    state: RankedGuard<'g, State>,
    now: i64,
    places: Places,
    /// The position of the TRES of each unit, where the cluster has it.
    units: Vec<Option<usize>>,
    /// The cluster has TRES: while slurmctld reads them from the database anew there are none for a moment.
    has_tres: bool,
    /// The sequences of the job at hand.
    of_job: Vec<u32>,
    tally: Tally,
    running: Vec<i128>,
    marks: BTreeMap<u32, Mark>,
}

impl Grants {
    /// Begins a cycle that runs `now`; `None` where there are no grants.
    pub fn begin<'g>(&'g self, lock: &AssocLock<'_, Usage>, now: i64) -> Option<Box<Round<'g>>> {
        let state = self.0.lock();
        let since = state.ledger.as_ref()?.since;
        faults::point("grants.begin");
        Some(Box::new(Round {
            now,
            places: Places::of(state.scopes.clone()),
            units: state.sequences.units().iter().map(|unit| position(lock, unit)).collect(),
            has_tres: position(lock, "cpu").is_some(),
            of_job: Vec::new(),
            tally: Tally::new(state.sequences.all.len(), since, now),
            running: vec![0; state.sequences.all.len()],
            marks: BTreeMap::new(),
            state,
        }))
    }
}

impl Granting<'_> {
    /// Counts a job that runs, up to the cycle, or one that has ended or is resized at `now`. `factor` says with what some seconds of it from a time on are
    /// multiplied where factors count.
    pub fn count(
        &mut self,
        lock: &AssocLock<'_, Usage>,
        job: Job<'_>,
        now: i64,
        factor: impl FnMut(i64, i64) -> f64,
    ) {
        match self {
            Self::Nobody => (),
            Self::Cycle(round) => round.count(lock, job, factor),
            Self::End(grants) => grants.end(lock, job, now, factor),
        }
    }

    /// Counts what is missing to the minimum of a job that has ended, as used in its last second, where factors count.
    pub fn count_minimum(
        &mut self,
        lock: &AssocLock<'_, Usage>,
        job: Job<'_>,
        (end, missing): (i64, i64),
        factor: f64,
    ) {
        if let Self::End(grants) = self {
            grants.end_minimum(lock, job, (end, missing), factor);
        }
    }
}

impl Round<'_> {
    fn count(&mut self, lock: &AssocLock<'_, Usage>, job: Job<'_>, mut factor: impl FnMut(i64, i64) -> f64) {
        let Some(ledger) = &self.state.ledger else { return };
        let id = job.get(|job| job.job_id);
        let started = job.get(|job| job.start_time);
        let mark = ledger.mark_of(id, started);
        let ran = job.ran_until(self.now);
        let is_marked = ledger.marks.contains_key(&id) || job.was_suspended();
        if is_marked {
            self.marks.insert(id, Mark { started, at: self.now.max(mark.at), ran: ran.max(mark.ran) });
        }
        let run = (ran - mark.ran).max(0);
        self.places.all(lock, job, &mut self.of_job);
        let is_running = !job.state().is_suspended();
        if self.of_job.is_empty() || run == 0 && !is_running {
            return;
        }
        let Self { state, units, of_job, running, tally, .. } = self;
        let sequences = &*state.sequences;
        let unit = |at| units.get(sequences.unit_of(at)).copied().flatten();
        let mut known = None;
        each_count(sequences, of_job, job, unit, |place, sequence, count| {
            let rate = sequence.rate(count, || *known.get_or_insert_with(|| factor(mark.at, run)));
            if is_running {
                let sum = &mut running[place as usize];
                *sum = sum.saturating_add(rate);
            }
            if run > 0 && rate > 0 {
                tally.add(place, (mark.at, run), rate);
            }
        });
    }

    /// Takes all into the ledger: what has ended since the last cycle, and what was counted. Everything is counted until this cycle then.
    pub fn finish<A: Open>(mut self, jobs: &JobLock<'_, A>) {
        faults::point("grants.finish");
        let State { ledger: Some(ledger), sequences, slots, running, lacking, is_unsaved, before, .. } =
            &mut *self.state
        else {
            return;
        };
        if self.has_tres {
            let missing = sequences.units().iter().zip(&self.units).filter(|(_, unit)| unit.is_none());
            *lacking = missing.map(|(unit, _)| unit.clone()).collect();
        }
        let cycle = Cycle {
            now: self.now,
            tally: &self.tally,
            marks: std::mem::take(&mut self.marks),
            sequences,
            slots,
            offset,
        };
        *before = ledger.since;
        ledger.settle(cycle, |piece| runs_again(jobs, piece));
        *running = std::mem::take(&mut self.running);
        *is_unsaved = true;
    }
}

impl Grants {
    /// A job has ended, or is about to be resized.
    fn end(
        &self,
        lock: &AssocLock<'_, Usage>,
        job: Job<'_>,
        now: i64,
        mut factor: impl FnMut(i64, i64) -> f64,
    ) {
        let mut state = self.0.lock();
        let Some(ledger) = &state.ledger else { return };
        let (id, started) = (job.get(|job| job.job_id), job.get(|job| job.start_time));
        let mark = ledger.mark_of(id, started);
        let is_resize = job.state().is_resizing();
        let end = job.get(|job| job.end_time);
        let until = if is_resize || end == 0 { now } else { now.min(end) };
        let ran = job.ran_until(until);
        let run = (ran - mark.ran).max(0);
        let mut known = None;
        let rates = state.rates(lock, job, |sequence, count| {
            sequence.rate(count, || *known.get_or_insert_with(|| factor(mark.at, run)))
        });
        let piece = Piece { job: id, started, start: mark.at, run, is_resize, rates, is_restored: false };
        if let Some(ledger) = &mut state.ledger {
            ledger.end(piece, (until, ran));
            state.is_unsaved = true;
        }
    }

    /// What is missing to the minimum of a job, where factors count.
    fn end_minimum(
        &self,
        lock: &AssocLock<'_, Usage>,
        job: Job<'_>,
        (end, missing): (i64, i64),
        factor: f64,
    ) {
        let mut state = self.0.lock();
        let rates = state.rates(lock, job, |sequence, count| {
            let rate = if sequence.has_factors { sequence.rate(count, || factor) } else { 0 };
            rate.saturating_mul(missing.into())
        });
        let (id, started) = (job.get(|job| job.job_id), job.get(|job| job.start_time));
        let piece = Piece { job: id, started, start: end - 1, run: 1, rates, ..Piece::default() };
        if let Some(ledger) = &mut state.ledger {
            ledger.wait(piece);
            state.is_unsaved = true;
        }
    }
}

impl State {
    /// What each second of a job counts, by the keys of its sequences.
    fn rates(
        &self,
        lock: &AssocLock<'_, Usage>,
        job: Job<'_>,
        mut rate: impl FnMut(&Sequence, i128) -> i128,
    ) -> Vec<(String, i128)> {
        let mut places = Vec::new();
        Places::of(self.scopes.clone()).all(lock, job, &mut places);
        let unit = |at: usize| position(lock, &self.sequences.all.get(at)?.key.unit);
        let mut rates = Vec::new();
        each_count(&self.sequences, &places, job, unit, |_, sequence, count| {
            let rate = rate(sequence, count);
            if rate > 0 {
                rates.push((sequence.key.text(), rate));
            }
        });
        rates
    }
}

/// How much a job has of the unit of each sequence that counts it in its partition, as far as it has some. `unit` says where that of a sequence is.
fn each_count(
    sequences: &Sequences,
    places: &[u32],
    job: Job<'_>,
    unit: impl Fn(usize) -> Option<usize>,
    mut each: impl FnMut(u32, &Sequence, i128),
) {
    let partition = job.partition();
    for place in places {
        let at = *place as usize;
        let Some(sequence) = sequences.all.get(at) else { continue };
        let is_there = sequence.key.partitions.is_none()
            || partition.is_some_and(|part| sequence.key.has_partition(&part.text(|part| part.name)));
        let count = if is_there { count_of(job, unit(at)) } else { 0 };
        if count > 0 {
            each(*place, sequence, count);
        }
    }
}

/// The position of a TRES, where the cluster has it.
fn position(lock: &AssocLock<'_, Usage>, name: &str) -> Option<usize> {
    (0..lock.host().tres_count()).find(|at| lock.tres_name(*at).eq_ignore_ascii_case(name))
}

/// How much a job has of the TRES at a position.
fn count_of(job: Job<'_>, at: Option<usize>) -> i128 {
    at.and_then(|at| job.tres_allocated()?.get(at).copied()).map_or(0, |count| amount(count).into())
}

/// Whether a job that had ended before a restart is one that slurmctld has started as running.
fn runs_again<A: Open>(jobs: &JobLock<'_, A>, piece: &Piece) -> bool {
    jobs.job(piece.job).is_some_and(|job| {
        job.get(|job| job.start_time) == piece.started && job.get(|job| job.end_time_exp) != END_CHARGED
    })
}

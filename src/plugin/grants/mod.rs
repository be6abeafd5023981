//! Grants in the life of slurmctld: keeps what is used of them, and knows their effect on jobs.
//!
//! The ledger ([`multifactor2_core::rules::grants::ledger`]) changes in a cycle only, under the hold of locks in which slurmctld's usage is
//! charged ([`Round`]). Jobs that end in between wait in it. Its file is written after the cycle, outside slurmctld's locks, and the
//! previous copy stays as `.old`. Each of our files continues from its own time, so nothing is counted twice, whichever was saved last.
//!
//! If neither file is usable, nobody knows what was used before. Then the grants that had already begun count as not exceeded, until their
//! lines say what was used (`Used`), or the accounting is consulted ([`correction`]). Each calculation reports this.
//!
//! Without grants there is no file, and nothing is counted.

mod correction;
mod known;
mod places;
mod round;
mod shown;

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use multifactor2_core::rules::grants::ledger::{Ledger, FILE};
use multifactor2_core::rules::grants::{Effects, Scopes, Sequences, Slots, Standings};
use multifactor2_core::settings::GrantKind;
use tracing::{error, info, warn};

use super::config::Config;
use super::points::Groups;
use super::progress::own_usage::replace;
use super::progress::saving::{News, Saving};
use super::progress::state_file;
use super::small_file;
use super::sync::{Rank, Ranked};
use crate::faults;
use crate::host::clock;
use crate::host::clock::LocalCalendar;
use multifactor2_core::calendar::Calendar as _;

pub use known::KnownGrants;
pub use places::OtherPlaces;
pub use round::Granting;
pub use shown::GrantShown;

/// How many seconds local clocks are ahead of UTC.
pub fn offset(at: i64) -> i64 {
    LocalCalendar.offset(at).unwrap_or_default()
}

/// What is kept, and what was found last.
#[derive(Debug, Default)]
struct State {
    /// `None` where there are no grants.
    ledger: Option<Ledger>,
    sequences: Arc<Sequences>,
    scopes: Arc<Scopes>,
    standings: Standings,
    slots: Slots,
    effects: Arc<Effects>,
    /// What jobs use of each sequence in a second, as of the last cycle.
    running: Vec<i128>,
    /// The TRES of units that the cluster did not have then.
    lacking: BTreeSet<String>,
    saving: Saving,
    is_unsaved: bool,
    /// The file of a correction that was looked at last.
    seen: Option<correction::Identity>,
    /// The tree that was noted last.
    parents: Arc<BTreeMap<String, String>>,
    /// Up to when everything was counted before the last cycle.
    before: i64,
}

impl State {
    fn learn_groups(&mut self) {
        let Some(ledger) = &self.ledger else { return };
        let keys = self.sequences.all.iter().map(|sequence| &sequence.key);
        self.scopes = Arc::new(Scopes::of(keys, |name| ledger.groups.get(name).copied()));
    }
}

/// All grants, with what was used of them.
#[derive(Debug)]
pub struct Grants(Ranked<State>);

impl Default for Grants {
    /// There are none.
    fn default() -> Self {
        Self(Ranked::new(Rank::Grants, State::default()))
    }
}

impl Grants {
    /// Which grants there are from now on. Where nothing was counted, the file is read. Called without locks of slurmctld's, or where it loads the
    /// plugin.
    pub fn configure(&self, config: &Config) {
        let sequences = Arc::clone(&config.grants);
        if sequences.is_empty() {
            *self.0.lock() = State::default();
            return;
        }
        // Read before our own lock is taken: who ends a job waits for it.
        let is_fresh = self.0.lock().ledger.is_none();
        let file = config.state_file.as_deref().map(file_of);
        let now = clock::now();
        let recovered =
            is_fresh.then(|| file.as_deref().map_or_else(|| fresh(now), |file| recover(file, now)));
        let mut state = self.0.lock();
        let state = &mut *state;
        if let (None, Some(recovered)) = (&state.ledger, recovered) {
            state.ledger = Some(recovered);
            state.is_unsaved = true;
        }
        if state.sequences != sequences {
            state.standings.forget();
            state.running = vec![0; sequences.all.len()];
        }
        if let Some(ledger) = &mut state.ledger {
            state.slots = ledger.follow(&sequences, now);
        }
        state.sequences = sequences;
        state.learn_groups();
        // What the file says counts at once: a submission does not wait for the next cycle.
        state.weigh(now);
    }

    /// The Unix groups that lines name.
    pub fn group_names(&self) -> Vec<String> {
        let state = self.0.lock();
        let of_groups = state.sequences.all.iter().filter(|sequence| sequence.key.kind == GrantKind::Group);
        of_groups.map(|sequence| sequence.key.name.clone()).collect()
    }

    /// Takes the numbers of Unix groups, as far as they are known now.
    pub fn learn_groups(&self, groups: &Groups) {
        let mut state = self.0.lock();
        let names = state.sequences.all.iter().filter(|sequence| sequence.key.kind == GrantKind::Group);
        let found = names.filter_map(|sequence| {
            let name = &sequence.key.name;
            Some((name.clone(), *groups.get(name)?))
        });
        let mut found: BTreeMap<String, u32> = found.collect();
        let Some(ledger) = &mut state.ledger else { return };
        if found.iter().all(|(name, gid)| ledger.groups.get(name) == Some(gid)) {
            return;
        }
        ledger.groups.append(&mut found);
        state.learn_groups();
    }

    /// Takes the tree by which the last cycle has counted: each account with the one above it.
    pub fn note_tree(&self, parents: &Arc<BTreeMap<String, String>>) {
        let mut state = self.0.lock();
        let State { ledger: Some(ledger), parents: noted, before, .. } = &mut *state else { return };
        if parents.is_empty() || Arc::ptr_eq(noted, parents) {
            return;
        }
        ledger.lineage.note(parents, *before);
        *noted = Arc::clone(parents);
    }

    /// What grants do to jobs from now on. Called after a cycle has charged; says what cannot be known.
    pub fn weigh(&self, now: i64) {
        let mut state = self.0.lock();
        state.weigh(now);
        let Some(ledger) = state.ledger.as_ref().filter(|_| state.standings.have_unknown()) else {
            return;
        };
        let lines = state.sequences.all.iter().filter_map(|sequence| Some((sequence, sequence.line(now)?)));
        let unknown: Vec<String> = lines
            .filter(|(_, line)| ledger.is_unknown(line))
            .map(|(sequence, _)| sequence.key.in_words())
            .collect();
        drop(state);
        if let Some(first) = unknown.first() {
            error!(
                "the usage of {} grants is unknown, such as that of {first}: no job is beyond them. Run \
                 'multifactor2 grants --reconcile', which skips grants with Factors=yes, or set Used and UsedUntil \
                 on their lines",
                unknown.len()
            );
        }
    }

    /// The TRES of units that the cluster did not have in the last cycle.
    pub fn lacking(&self) -> BTreeSet<String> {
        self.0.lock().lacking.clone()
    }

    /// Who is in which, and how they stand.
    pub fn in_force(&self) -> (Arc<Scopes>, Arc<Effects>) {
        let state = self.0.lock();
        (Arc::clone(&state.scopes), Arc::clone(&state.effects))
    }

    /// Saves the ledger. No lock of slurmctld's is held: this waits for the file system.
    pub fn save(&self, state_file: Option<&Path>) {
        faults::point("grants.save");
        let Some(file) = state_file.map(file_of) else { return };
        let text = {
            let mut state = self.0.lock();
            let Some(ledger) = &state.ledger else { return };
            let text = ledger.text();
            state.is_unsaved = false;
            text
        };
        state_file::keep_old(&file);
        let written = replace(&file, &text);
        let mut state = self.0.lock();
        let news = state.saving.note(written.is_ok());
        state.is_unsaved |= written.is_err();
        drop(state);
        match (news, written) {
            (Some(News::Fails), Err(problem)) => error!(
                "cannot save {}: {problem}. The usage of grants is not lost while slurmctld runs; free space or \
                 correct the permissions of StateSaveLocation before slurmctld restarts",
                file.display()
            ),
            (Some(News::Works), _) => info!("the usage of grants is saved again in {}", file.display()),
            _ => (),
        }
    }

    /// The end of the plugin's life: all is saved that is not yet, and forgotten.
    pub fn stop(&self, state_file: Option<&Path>) {
        if self.0.lock().is_unsaved {
            self.save(state_file);
        }
        *self.0.lock() = State::default();
    }
}

impl State {
    fn weigh(&mut self, now: i64) {
        let Self { ledger: Some(ledger), sequences, standings, slots, effects, .. } = self else { return };
        let found = standings.effects(sequences, slots, ledger, now);
        // Mostly nobody has come to be beyond: who has worked with them before sees that.
        if **effects != found {
            *effects = Arc::new(found);
        }
    }
}

fn file_of(state_file: &Path) -> PathBuf {
    state_file.with_file_name(FILE)
}

fn fresh(now: i64) -> Ledger {
    // Nothing else of the system's chance is at hand; it only tells ledgers apart.
    Ledger::new(RandomState::new().build_hasher().finish(), now)
}

/// What the file has, or the copy before.
fn recover(file: &Path, now: i64) -> Ledger {
    let read = |file: &Path| small_file::read(file, Ledger::parse);
    let problem = match read(file) {
        Ok(Some(ledger)) => return ledger.resumed(),
        Ok(None) => None,
        Err(problem) => Some(problem),
    };
    let old = file.with_extension("old");
    let (file, problem) = match (problem, read(&old)) {
        // The machine crashed between two renames.
        (None, Ok(Some(ledger))) => return ledger.resumed(),
        (None, Ok(None)) => {
            info!("no {} to recover: the usage of grants is counted from now on", file.display());
            return fresh(now);
        }
        (Some(problem), Ok(Some(ledger))) => {
            warn!(
                "cannot use {}: {problem}; {}. The previous copy is used, plus what jobs that are running now \
                 have used since. Find out what damages files there: a full or failing disk, or another program",
                file.display(),
                state_file::put_aside_in_words(file)
            );
            return ledger.resumed();
        }
        (Some(problem), _) => (file, problem),
        (None, Err(problem)) => (old.as_path(), problem),
    };
    error!(
        "cannot use {}: {problem}; {}. The earlier usage of grants is unknown, and no job is beyond them. Run \
         'multifactor2 grants --reconcile', or set Used and UsedUntil on their lines",
        file.display(),
        state_file::put_aside_in_words(file)
    );
    Ledger { unknown_before: Some(now), ..fresh(now) }
}

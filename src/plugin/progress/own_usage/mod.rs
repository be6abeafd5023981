//! Our own sums of usage in the life of slurmctld: every second that a job runs counts once, however slurmctld ends.
//!
//! The sums are those of a time T, when a cycle ran, and change in a cycle only ([`Round`]). Their file records T. It is written after the
//! cycle, outside slurmctld's locks, and replaced in one step. It is not slurmctld's file of usage, so after a restart our sums continue
//! from their own T, whatever slurmctld's usage includes (see [`super::history`]). A running job is counted from T on, or from its start.
//! Each second counts exactly once for two reasons: a file of T has everything up to T of all jobs that slurmctld may restart as running,
//! and nothing later than T of any of these.
//!
//! Jobs that end between cycles, or later than T while the cycle of T runs, are therefore kept apart by job ([`Ended`]), in memory and in
//! the file, until a cycle has gone past them. If the next slurmctld has such a job running, it has forgotten the end: the job is counted
//! from T on, and what was kept of it is dropped. Otherwise the job has ended and counts. So:
//!
//! | what happens | the next start |
//! |---|---|
//! | killed before a cycle has counted, or before the file is replaced | T is the cycle before: jobs that run are counted from there on |
//! | killed after that, before or after slurmctld has saved usage | T is the cycle; slurmctld's usage may go on from another time |
//! | killed after the end of a job, slurmctld knows the end | what it ran after T is lost, as in slurmctld's own usage |
//! | killed after the end of a job, slurmctld has forgotten the end | it runs, is counted from T on, and ends anew |
//! | stopped, as every reconfigure does from 23.11 on | the file has the jobs that have ended since T; each counts unless it runs again |
//! | stopped or killed before the first cycle | the same file again |
//! | the machine fails | an older file, with its older T |
//! | the clock is set back | no time is negative: counting goes on from the new time, and the current window goes on |
//!
//! If limits are not enforced, slurmctld tells nobody that a job has ended. A cycle then counts the jobs that have ended since the last
//! one, up to their ends, by the times in their records. No later cycle counts them, because those times are before its period.
//!
//! slurmctld's raw usage after the cycle of T is saved too, so that a reset by `sacctmgr` is noticed after a restart. It is compared only
//! if slurmctld has loaded usage that includes exactly that cycle.
//!
//! Without targets that need our own sums, `UsageMeasure=dominant` and books, nothing is counted, and there is no file. Removed books are
//! kept for a while.
//!
//! A share tree with `TreeUsage=window` uses separate sums in a separate file ([`OwnUsage::of_tree`]). They begin with slurmctld's raw
//! usage in the current window, and the file is removed with the setting.

mod columns;
mod counted;
mod recipe;
mod round;

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use multifactor2_accounting::ended::Ended;
use multifactor2_accounting::measures::Measures;
use multifactor2_accounting::sums::{Model, Readings, Recipe, Sums, WindowAmounts};
use multifactor2_accounting::sums_file;
use multifactor2_core::books::BookLines;
use multifactor2_core::rules::targets::KeptSteps;
use multifactor2_core::settings::Settings;
use tracing::{error, info};

use super::history::Times;
use super::saving::{News, Saving};
use super::state_file;
use crate::faults;
use crate::host::panics::attempt;
use crate::host::Host;
use crate::plugin::sync::{Rank, Ranked};

pub use counted::Charged;
pub use recipe::{recipe, recipe_of_tree};
pub use round::{since, Counting, Round};

/// What sums are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Targets, dominant shares and books.
    Settings,
    /// Windows of the share tree.
    Tree,
}

impl Purpose {
    /// The name of the file, in the directory of the state file.
    fn file(self) -> &'static str {
        match self {
            Self::Settings => "multifactor2_usage",
            Self::Tree => "multifactor2_tree",
        }
    }

    /// What is in it.
    fn words(self) -> &'static str {
        match self {
            Self::Settings => "usage for targets, UsageMeasure and books",
            Self::Tree => "usage for TreeUsage=window",
        }
    }
}

/// What is kept, and what of it is in the file.
#[derive(Debug, Default)]
struct State {
    sums: Option<Sums>,
    saving: Saving,
    /// TRES besides the metric that the cluster did not have in the last cycle.
    lacking: Vec<String>,
    /// A cycle has begun, in which slurmctld's usage decays, and has not taken note yet of what that is then.
    is_open: bool,
    /// Nothing was counted before: the next cycle takes in what slurmctld's raw usage is.
    begins: bool,
}

/// What the end of a job needs, and leaves.
#[derive(Debug, Default)]
struct Ends {
    /// Up to when running jobs are counted, where sums are kept.
    since: Option<i64>,
    recipe: Recipe,
    books: Arc<BookLines>,
    jobs: Vec<Ended>,
    /// The latest time of a cycle, also where the clock was set back since.
    latest: i64,
    /// Jobs that had ended before the last restart; some may run again.
    restored: Vec<Ended>,
    /// There is something that the file does not have.
    is_unsaved: bool,
}

impl Ends {
    /// A job has ended.
    fn note(&mut self, ended: Ended) {
        // It ran again after a restart that had forgotten its end.
        self.restored.retain(|before| !before.is_run(ended.job, ended.started));
        self.jobs.push(ended);
        self.is_unsaved = true;
    }

    /// Takes all jobs that have ended; of those that had before a restart the ones that do not run again.
    fn take(&mut self, runs_again: impl Fn(&Ended) -> bool) -> Vec<Ended> {
        let mut all = std::mem::take(&mut self.restored);
        all.retain(|ended| !runs_again(ended));
        all.append(&mut self.jobs);
        all
    }
}

/// What slurmctld's usage is when sums begin to be kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loaded {
    /// The last cycle that it includes, and when it was reset.
    pub times: Times,
    /// That cycle is the newest that there was, and the usage has just been loaded.
    pub includes_newest: bool,
    /// When it was reset is known, and not assumed.
    pub knows_reset: bool,
}

/// The sums as they are now, with their time and their file.
#[derive(Debug)]
pub struct OwnUsage {
    purpose: Purpose,
    state: Ranked<State>,
    ends: Ranked<Ends>,
}

impl Default for OwnUsage {
    /// Nothing is kept.
    fn default() -> Self {
        Self {
            purpose: Purpose::Settings,
            state: Ranked::new(Rank::OwnUsage, State::default()),
            ends: Ranked::new(Rank::Ends, Ends::default()),
        }
    }
}

impl OwnUsage {
    /// Those of the share tree. Nothing is kept.
    pub fn of_tree() -> Self {
        Self {
            purpose: Purpose::Tree,
            state: Ranked::new(Rank::TreeUsage, State::default()),
            ends: Ranked::new(Rank::TreeEnds, Ends::default()),
        }
    }

    /// What is to be kept from now on: nothing where nobody can be charged. Where nothing was, the file is read; without one everything is
    /// counted from the last cycle on. `state_file` is that of cycles.
    pub fn configure(
        &self,
        recipe: Option<(&Recipe, &Arc<BookLines>)>,
        state_file: Option<&Path>,
        loaded: Loaded,
    ) {
        let Times { last_ran, last_reset } = loaded.times;
        // Read before our own locks are taken: who ends a job waits for them with slurmctld's.
        let (is_fresh, mut keeps) = {
            let state = self.state.lock();
            (state.sums.is_none(), state.sums.as_ref().is_some_and(Sums::has_books))
        };
        let file = state_file.map(|file| file.with_file_name(self.purpose.file()));
        let old = file.as_ref().filter(|_| is_fresh);
        keeps |= self.purpose == Purpose::Settings && old.is_some_and(|file| has_books(file));
        let Some((recipe, books)) = recipe.filter(|(recipe, _)| keeps || !recipe.is_empty()) else {
            *self.state.lock() = State::default();
            *self.ends.lock() = Ends::default();
            if let (Purpose::Tree, Some(file)) = (self.purpose, file) {
                // What it would lack of the time until the setting comes back nobody could tell.
                let _ = fs::remove_file(file);
            }
            return;
        };
        let recovered = old.and_then(|file| self.recover(file));
        // Windows that are all over by now say less than raw usage.
        let is_over =
            |sums: &Sums| recipe.covers().is_some_and(|all| sums.since().saturating_add(all) <= last_ran);
        let recovered = recovered.filter(|(sums, _)| self.purpose == Purpose::Settings || !is_over(sums));
        let mut state = self.state.lock();
        let mut ends = self.ends.lock();
        if state.sums.is_none() {
            let is_unsaved = recovered.is_none();
            state.begins = is_unsaved && self.purpose == Purpose::Tree;
            let (sums, restored) =
                recovered.unwrap_or_else(|| (Sums::new(Recipe::default(), last_ran, last_reset), Vec::new()));
            let comparable = loaded.includes_newest && sums.since() == last_ran;
            let sums = state.sums.insert(sums);
            if !loaded.knows_reset {
                sums.adopt_reset(last_reset);
            }
            if !comparable {
                sums.forget_raw_usage();
            }
            *ends = Ends { restored, is_unsaved, ..Ends::default() };
        }
        if let Some(sums) = &mut state.sums {
            let Ends { jobs, restored, .. } = &mut *ends;
            for book in sums.follow(recipe, jobs.iter_mut().chain(restored)) {
                info!(
                    "Book={book} starts without usage: the usage of jobs in its partitions is counted there from now on"
                );
            }
            ends.since = Some(sums.since());
            ends.recipe.clone_from(recipe);
            ends.books = Arc::clone(books);
        }
    }

    /// Whether anything is kept.
    pub fn is_kept(&self) -> bool {
        self.since().is_some()
    }

    /// Up to when everything is counted; `None` where nothing is kept.
    pub fn since(&self) -> Option<i64> {
        self.ends.lock().since
    }

    /// After when jobs have ended that nothing has been counted of since; `None` where slurmctld tells of each end, or nothing is kept.
    pub fn looks_for_ends(&self, host: &Host) -> Option<i64> {
        let ends = self.ends.lock();
        ends.since.filter(|_| !host.enforces_limits()).map(|since| since.max(ends.latest))
    }

    /// Whether anything is kept, and of a TRES.
    pub fn counts_tres(&self) -> bool {
        let ends = self.ends.lock();
        let Recipe { metric, tres, .. } = &ends.recipe;
        ends.since.is_some() && !(metric.eq_ignore_ascii_case("billing") && tres.is_empty())
    }

    /// What share trees use instead of slurmctld's raw usage, as of the last cycle; `None` if the settings say raw usage, and there are no
    /// books.
    pub fn measures(&self, settings: &Settings, books: &BookLines) -> Option<Arc<Measures>> {
        let weights = settings.dominant_weights();
        if weights.is_none() && books.is_empty() {
            return None;
        }
        let measures = |sums: &Sums| Arc::new(sums.measures(weights.as_deref(), books.names()));
        let state = self.state.lock();
        Some(state.sums.as_ref().map_or_else(|| measures(&Sums::new(Recipe::default(), 0, 0)), measures))
    }

    /// The usage in windows for the share tree, as of the last cycle: each window as a part of the next younger one.
    pub fn measures_of_windows(&self, decay: f64) -> Arc<Measures> {
        let state = self.state.lock();
        Arc::new(state.sums.as_ref().map(|sums| sums.measures_of_windows(decay)).unwrap_or_default())
    }

    /// The TRES of `DominantTRES` that the cluster did not have in the last cycle.
    pub fn lacking(&self) -> Vec<String> {
        self.state.lock().lacking.clone()
    }

    /// All usage as the last cycle left it; `None` where nothing is kept.
    pub fn readings(&self, model: Model) -> Option<Readings> {
        self.state.lock().sums.as_ref().map(|sums| sums.readings(model))
    }

    /// What was used in each window as of the last cycle, with at most `most` amounts in all. `None` if nothing is counted in windows.
    pub fn window_amounts(&self, most: usize) -> Option<WindowAmounts> {
        self.state.lock().sums.as_ref().and_then(|sums| sums.window_amounts(most))
    }

    /// What was used in a book as the last cycle left it: billing, or of a TRES.
    pub fn readings_of_book(&self, book: &str, of: &str) -> Readings {
        self.state.lock().sums.as_ref().map(|sums| sums.readings_of_book(book, of)).unwrap_or_default()
    }

    /// The steps of distances from targets, as they were saved.
    pub fn steps(&self) -> KeptSteps {
        self.state.lock().sums.as_ref().map(|sums| sums.steps.clone()).unwrap_or_default()
    }

    /// Takes the steps that a cycle has found: they are saved with the sums of the next.
    pub fn take_steps(&self, steps: KeptSteps) {
        if let Some(sums) = &mut self.state.lock().sums {
            sums.steps = steps;
        }
    }

    /// Saves the sums, in the directory of the cycles' state file. No lock of slurmctld's is held: this waits for the file system.
    pub fn save(&self, state_file: Option<&Path>) {
        faults::point("own_usage.save");
        let Some(file) = state_file.map(|file| file.with_file_name(self.purpose.file())) else { return };
        let (text, is_needless) = {
            let state = self.state.lock();
            // What has not begun yet begins anew after a restart.
            let Some(sums) = state.sums.as_ref().filter(|_| !state.begins) else { return };
            // No cycle runs: what ends meanwhile is in none of both.
            let ended = {
                let mut ends = self.ends.lock();
                ends.is_unsaved = false;
                [&ends.restored[..], &ends.jobs].concat()
            };
            (sums_file::text(sums, &ended), sums.is_needless())
        };
        let written = replace(&file, &text);
        if is_needless && written.is_ok() {
            // The last of the books that were removed is forgotten, and the file says so.
            *self.state.lock() = State::default();
            *self.ends.lock() = Ends::default();
            return;
        }
        let news = self.state.lock().saving.note(written.is_ok());
        self.ends.lock().is_unsaved |= written.is_err();
        match (news, written) {
            (Some(News::Fails), Err(problem)) => error!(
                "cannot save {}: {problem}. The {} is not lost while slurmctld runs; free space or correct the \
                 permissions of StateSaveLocation before slurmctld restarts",
                file.display(),
                self.purpose.words()
            ),
            (Some(News::Works), _) => info!("the {} is saved again in {}", self.purpose.words(), file.display()),
            _ => (),
        }
    }

    /// The end of the plugin's life: all is saved that is not yet, and forgotten.
    pub fn stop(&self, state_file: Option<&Path>) {
        if self.ends.lock().is_unsaved {
            attempt(|| self.save(state_file));
        }
        *self.state.lock() = State::default();
        *self.ends.lock() = Ends::default();
    }
}

/// Puts a text in the place of a file. At no moment is there half a file.
pub(in crate::plugin) fn replace(file: &Path, text: &str) -> io::Result<()> {
    state_file::prepare(file, text.as_bytes())?;
    faults::point("own_usage.replace");
    state_file::commit(file)?;
    // The new name too, where the file system can: without it the file before is found after a crash.
    if let Some(directory) = file.parent().and_then(|directory| File::open(directory).ok()) {
        let _ = directory.sync_all();
    }
    Ok(())
}

impl OwnUsage {
    /// What the file has; `None` where it has nothing that can be used, which is said.
    fn recover(&self, file: &Path) -> Option<(Sums, Vec<Ended>)> {
        let text = match fs::read(file) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is not text".to_owned()),
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
                let from = match self.purpose {
                    Purpose::Settings => "is counted from the last calculation on",
                    Purpose::Tree => "starts with RawUsage, in the current window",
                };
                info!("no {} to recover: {} {from}", file.display(), self.purpose.words());
                return None;
            }
            Err(problem) => Err(problem.to_string()),
        };
        match text.and_then(|text| sums_file::parse(&text)) {
            Ok(found) => Some(found),
            Err(problem) => {
                error!(
                    "cannot use {}: {problem}; {}. It had the {}, which starts anew. Find out what damages files \
                     there: a full or failing disk, or another program",
                    file.display(),
                    state_file::put_aside_in_words(file),
                    self.purpose.words()
                );
                None
            }
        }
    }
}

/// Whether a file has usage of books. Readers that need it deal with what cannot be used.
fn has_books(file: &Path) -> bool {
    let text = fs::read_to_string(file).ok();
    text.and_then(|text| sums_file::parse(&text).ok()).is_some_and(|(sums, _)| sums.has_books())
}

#[cfg(test)]
mod kill_model;

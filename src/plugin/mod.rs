//! The plugin between Slurm's calls and the core: its life from init to fini, and its answers.
//!
//! init and fini may alternate in one process (a backup controller, a failed reconfigure). So all state is in one [`Plugin`] that can be
//! filled and emptied again. The last good settings and the host survive.

#![forbid(unsafe_code)]

mod advice;
mod assoc_factor;
mod assoc_index;
mod books;
mod charging;
pub mod config;
mod cycle;
mod decay_loop;
mod drafts;
mod entries;
mod evaluator;
mod explain;
mod gather;
mod grants;
mod health;
mod interrupted;
mod kept_file;
mod known_once;
mod last_numbers;
mod names;
mod origins;
mod palette;
mod phases;
mod points;
mod posting;
pub mod progress;
mod queue;
mod rates;
mod set_jobs;
mod small_file;
mod snapshot;
mod sprio;
mod standing;
mod submit;
mod sync;
mod thread;
mod unknown;
mod usage;
mod waiting;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use multifactor2_accounting::measures::Measures;
use multifactor2_accounting::rule_history::RuleHistory;
use multifactor2_core::policy::points::LARGEST_THRESHOLD;
use multifactor2_core::rules::charge_rules::ChargeRules;
use multifactor2_core::settings::{Settings, SettingsKeeper};
use once_cell::sync::Lazy;
use parking_lot::RwLock;
use tracing::{debug, error, info, warn};

use crate::host::access::{Open, Write};
use crate::host::checks::{Failure, Inspector};
use crate::host::layout::Release;
use crate::host::locks::{AssocLock, Levels, Shown, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::{Association, Job};
use crate::host::{clock, Host, HostError};

use charging::Noted;
use config::{Config, InForce};
use grants::Grants;
use health::Health;
use kept_file::KeptFile;
use origins::Origins;
use progress::own_usage::{recipe, recipe_of_tree, Loaded, OwnUsage};
use progress::Progress;
use snapshot::Snapshots;
pub use submit::after;
use sync::{Rank, Ranked};
use thread::DecayThread;

/// Why init refuses. Everything there is to say has been logged.
#[derive(Debug)]
pub struct Refused;

/// All state of the plugin. Its locks come after the host's, see [`sync`].
#[derive(Debug)]
pub struct Plugin {
    config: RwLock<Option<Arc<Config>>>,
    settings: Ranked<SettingsKeeper>,
    /// The file that they are kept in.
    kept_file: KeptFile,
    /// Who has which fair-share, and what priorities came from.
    origins: Ranked<Origins>,
    /// When cycles ran, and what is charged.
    progress: Progress,
    /// Sums of usage that slurmctld does not keep.
    own_usage: OwnUsage,
    /// The usage in windows that the share tree may use.
    tree_usage: OwnUsage,
    /// What is used of grants.
    grants: Grants,
    /// What is noted of jobs from one charge to a later one.
    noted: Ranked<Noted>,
    thread: DecayThread,
    /// What is written for others to read.
    snapshots: Snapshots,
    /// What is known of slurmctld's records.
    inspector: Inspector,
    /// Whether they are as the layout says.
    health: Health,
    /// The settings in force want nothing but their priorities of jobs that wait: a submission sees by this alone which way it goes.
    only_priorities: AtomicBool,
    /// There are caps beyond which jobs do not start.
    caps_stop: AtomicBool,
    /// There is a site factor plugin to be asked.
    site_factor: AtomicBool,
    /// slurmctld is loading the plugin.
    loading: AtomicBool,
    /// Questionable configuration was looked for since the last start or reconfigure.
    advised: AtomicBool,
}

/// The one plugin of the process.
pub static PLUGIN: Lazy<Plugin> = Lazy::new(|| Plugin {
    config: RwLock::new(None),
    settings: Ranked::new(Rank::Settings, SettingsKeeper::new()),
    kept_file: KeptFile::default(),
    origins: Ranked::new(Rank::Origins, Origins::default()),
    progress: Progress::default(),
    own_usage: OwnUsage::default(),
    tree_usage: OwnUsage::of_tree(),
    grants: Grants::default(),
    noted: Ranked::new(Rank::Noted, Noted::default()),
    thread: DecayThread::new(),
    snapshots: Snapshots::default(),
    inspector: Inspector::new(),
    health: Health::default(),
    only_priorities: AtomicBool::new(false),
    caps_stop: AtomicBool::new(false),
    site_factor: AtomicBool::new(false),
    loading: AtomicBool::new(false),
    advised: AtomicBool::new(false),
});

impl Plugin {
    fn config(&self) -> Option<Arc<Config>> {
        self.config.read().clone()
    }

    /// What is in force from here on; returns what was.
    fn take_config(&self, config: Option<Arc<Config>>) -> Option<Arc<Config>> {
        let is_short = config.as_ref().is_some_and(|config| config.only_priorities);
        self.only_priorities.store(is_short, Ordering::Relaxed);
        let caps_stop = config.as_ref().is_some_and(|config| config.caps_stop);
        self.caps_stop.store(caps_stop, Ordering::Relaxed);
        self.origins.lock().config.clone_from(&config);
        std::mem::replace(&mut *self.config.write(), config)
    }

    /// The least fair-share factor of an association: above 0 where caps stop jobs, as slurmctld compares it with thresholds where it knows
    /// nothing of a job. 0 in sshare, which asks for factors, too.
    pub fn least_factor(&self) -> f64 {
        if self.caps_stop.load(Ordering::Relaxed) {
            LARGEST_THRESHOLD
        } else {
            0.0
        }
    }

    fn is_loading(&self) -> bool {
        self.loading.load(Ordering::Relaxed)
    }

    /// There is a site factor plugin to be asked.
    fn has_site_factor(&self) -> bool {
        self.site_factor.load(Ordering::Relaxed)
    }

    /// Nothing is written because the records are not as expected.
    pub fn is_passive(&self) -> bool {
        self.health.is_passive()
    }

    /// Takes note of a check of records that slurmctld lists; false where they must not be used.
    fn check(&self, result: Result<(), Failure>) -> bool {
        let Err(failure) = result else { return true };
        self.health.note(failure);
        false
    }

    /// Whether a job may be used. The first of each kind are checked; `listed` where the job is in slurmctld's list.
    #[inline]
    fn admits<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        listed: bool,
    ) -> bool {
        if self.is_passive() {
            return false;
        }
        if self.inspector.knows(job) {
            return true;
        }
        self.admits_unknown(lock, job, listed)
    }

    #[cold]
    fn admits_unknown<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        listed: bool,
    ) -> bool {
        let result = self.inspector.check_job(lock, job, listed, self.is_loading());
        if !listed && result.is_err() {
            // Only records that slurmctld lists count; the next cycle looks at them.
            self.inspector.look_again();
            return false;
        }
        self.check(result)
    }

    /// `init` in slurmctld. The host holds its configuration lock (from 23.02 on), so no lock of slurmctld's is taken
    /// here except where the release expects initial priorities.
    ///
    /// # Errors
    /// The plugin cannot work; why has been logged.
    pub fn start(&'static self, mut unlocked: Unlocked) -> Result<(), Refused> {
        let host = unlocked.host();
        self.health.begin();
        self.inspector.note_sound();
        self.advised.store(false, Ordering::Relaxed);
        if let Some(misfit) = host.misfit() {
            // Nothing of slurmctld's is touched, its configuration included.
            self.forget();
            self.health.start_passive(misfit, false, clock::now());
            if !host.has_thread_start() {
                self.start_thread(host);
            }
            return Ok(());
        }
        self.site_factor.store(host.has_site_factor(), Ordering::Relaxed);
        host.forget_lists();
        self.forget();
        log_layout(host);
        if host.site_factor_first() && !host.start_site_factor() {
            error!(
                "the site factor plugin cannot be started: correct PrioritySiteFactorPlugin in slurm.conf"
            );
            return Err(Refused);
        }
        let fair_share = find_database(&mut unlocked)?;
        let before = config::kept_settings(host);
        let in_force = self.load_settings(host, before.as_ref(), true).ok_or(Refused)?;
        // Those of the slurmctld before: what its jobs ran until now is charged as it would have charged it.
        let rules =
            before.map(|before| RuleHistory { current: ChargeRules::of(&before), ..RuleHistory::default() });
        let config = Arc::new(Config::read(host, fair_share, in_force, rules, 0));
        self.take_config(Some(Arc::clone(&config)));
        let loaded = if host.has_database() { self.progress.read(host) } else { Loaded::default() };
        self.keep_own_usage(&config, loaded);
        self.grants.configure(&config);
        self.read_interrupted(&config);
        self.read_points(&config);
        if fair_share {
            let measures = self.measures(&config);
            let mut origins = self.origins.lock();
            origins.standing.configure(&config);
            origins.standing.measure_by(measures);
        }
        if !host.has_thread_start() && fair_share {
            self.start_thread(host);
        }
        if !host.has_recover() && !host.has_database() {
            self.loading.store(true, Ordering::Relaxed);
            self.set_initial_priorities(&mut unlocked);
            self.loading.store(false, Ordering::Relaxed);
        }
        if !host.site_factor_first() {
            // As these releases do, without asking whether it worked.
            host.start_site_factor();
        }
        debug!("loaded");
        Ok(())
    }

    /// `init` in a slurmctld that lacks what the plugin needs, in a release that this build does not know: nothing of it is touched.
    pub fn start_without_host(&self, problem: &HostError) {
        self.health.begin();
        self.health.start_passive(problem, true, clock::now());
    }

    /// `fini`: stops the decay thread and empties the state. Called without locks that a cycle takes.
    pub fn stop(&self) {
        self.thread.stop();
        self.snapshots.stop();
        self.kept_file.finish();
        self.progress.save_at_end();
        let config = self.take_config(None);
        let state_file = config.as_ref().and_then(|config| config.state_file.as_deref());
        for sums in self.own_sums() {
            sums.stop(state_file);
        }
        attempt(|| self.grants.stop(state_file));
        if let Some(config) = &config {
            attempt(|| self.save_points(config));
        }
        self.stop_noting(config.as_deref());
        self.forget();
        if let Some(host) = Host::get() {
            host.stop_site_factor();
        }
    }

    /// Which usage we keep ourselves from now on.
    fn keep_own_usage(&self, config: &Config, loaded: Loaded) {
        let recipe = recipe(&config.settings, &config.books);
        let kept = config.fair_share.then_some((&recipe, &config.books));
        self.own_usage.configure(kept, config.state_file.as_deref(), loaded);
        let recipe = recipe_of_tree(&config.settings);
        let kept = config.fair_share.then_some((&recipe, &config.books));
        self.tree_usage.configure(kept, config.state_file.as_deref(), loaded);
    }

    /// All sums of our own, in the order in which they are locked.
    fn own_sums(&self) -> [&OwnUsage; 2] {
        [&self.own_usage, &self.tree_usage]
    }

    /// What share trees use instead of slurmctld's raw usage, as of the last cycle; `None` if they use raw usage.
    fn measures(&self, config: &Config) -> Option<Arc<Measures>> {
        match config.settings.tree_windows() {
            Some((_, _, decay)) => Some(self.tree_usage.measures_of_windows(decay)),
            None => self.own_usage.measures(&config.settings, &config.books),
        }
    }

    /// Forgets what is known of associations and jobs.
    fn forget(&self) {
        self.origins.lock().clear();
    }

    /// `priority_p_thread_start`, from 23.11.6 on; the host holds its configuration write lock.
    pub fn thread_start(&'static self) {
        if let Some(host) = Host::get() {
            self.start_thread(host);
        }
    }

    /// Our own settings. What is good is kept by another thread: this one may hold locks of slurmctld's.
    fn load_settings(
        &'static self,
        host: &'static Host,
        before: Option<&Settings>,
        start: bool,
    ) -> Option<InForce> {
        config::load_settings(host, &mut self.settings.lock(), before, start, |file, text| {
            self.kept_file.keep(host, file, text);
        })
    }

    /// `priority_p_reconfig`. `recount` is `scontrol reconfigure` (up to 23.02): the host has counted the run seconds of running jobs anew, and
    /// holds no lock. Otherwise it is `scontrol setdebugflags` or another value of slurm.conf's, and the host holds its configuration and
    /// job locks: no file is looked at, and our own settings stay as they are.
    pub fn reconfigure(&'static self, host: &'static Host, recount: Option<Unlocked>) {
        let Some(old) = self.config() else { return };
        let loaded = recount.as_ref().and_then(|_| self.load_settings(host, Some(&old.settings), false));
        let is_loaded = loaded.is_some();
        let in_force = loaded.unwrap_or_else(|| old.in_force());
        let times = self.progress.times();
        let rules = Some(old.charging.clone());
        let config = Arc::new(Config::read(host, old.fair_share, in_force, rules, times.last_ran));
        self.take_config(Some(Arc::clone(&config)));
        if is_loaded {
            self.keep_own_usage(&config, Loaded { times, includes_newest: false, knows_reset: true });
            self.grants.configure(&config);
        }
        self.thread.reconfigure();
        self.advised.store(false, Ordering::Relaxed);
        if let Some(mut unlocked) = recount {
            decay_loop::forget_time_before_restart(self, &mut unlocked, true);
        }
        host.reconfigure_site_factor();
        debug!("reconfigured");
    }

    /// `priority_p_set_assoc_usage`: what sshare shows of one association.
    pub fn set_association_usage(&self, lock: &AssocLock<'_, Shown>, association: Association<'_, Write>) {
        if !self.is_passive() && self.inspector.knows_lists() {
            self.origins.lock().standing.publish_single(lock, association);
        }
    }

    /// `priority_p_recover` and, before it existed, the end of init: priorities of all jobs where no database and so, in
    /// older releases, no decay thread will set them. Called without locks.
    pub fn set_initial_priorities(&self, unlocked: &mut Unlocked) {
        let Some(config) = self.config() else { return };
        if unlocked.host().has_database() || self.is_passive() || !self.records_are_sound(unlocked) {
            return;
        }
        self.evaluate_all(unlocked, &config, clock::now());
    }
}

fn log_layout(host: &'static Host) {
    let group = host.layout.group;
    let (first, verified) = (Release(group.first), Release(group.verified));
    if group.candidate.is_some() {
        warn!(
            "{} in Slurm {}, whose layout is provisional: that of the release may differ. Install a newer \
             slurm-multifactor2 before you update Slurm to the release",
            crate::identity::VERSION,
            group.name()
        );
    } else if host.verified {
        info!("{} in Slurm {}, layout {first} to {verified}", crate::identity::VERSION, host.release);
    } else {
        warn!(
            "{} in Slurm {}, which is newer than this build knows: the layout of {first} to {verified} is used as \
             long as all self-checks pass. What they cannot check is left alone (wckeys, admin comments, \
             UsageThreshold, Unix groups). Look for a newer slurm-multifactor2",
            crate::identity::VERSION,
            host.release
        );
    }
}

/// Whether there is something to compute fair-share from.
fn find_database(unlocked: &mut Unlocked) -> Result<bool, Refused> {
    let host = unlocked.host();
    if !host.has_database() {
        return Ok(false);
    }
    if unlocked.associations::<Shown>().root().is_some() {
        return Ok(true);
    }
    if host.conf().get(|conf| conf.priority_weight_fs) == 0 {
        return Ok(false);
    }
    error!(
        "PriorityWeightFairshare is set, but slurmctld has no associations: check that slurmdbd is running and \
         knows this cluster (sacctmgr show cluster)"
    );
    Err(Refused)
}

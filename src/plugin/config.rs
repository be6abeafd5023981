//! The administrator's configuration: the `Priority*` parameters of slurm.conf and our own settings, read together at start and at every
//! reconfigure.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{error, info, warn};

use super::assoc_factor::AssocFactor;
use super::grants;
use super::progress::state_file;
use super::snapshot::parameters::Told;
use crate::host::clock::LocalCalendar;
use crate::host::prefetch::Touched;
use crate::host::views::{self, Wanted};
use crate::host::{clock, constants, Host};
use multifactor2_accounting::kept_settings as kept;
use multifactor2_accounting::rule_history::RuleHistory;
use multifactor2_core::books::BookLines;
use multifactor2_core::calendar::{Calendar, ResetPeriod};
use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::factors::{NodeCount, SizeOrder, SizePolicy, Weights};
use multifactor2_core::policy::points::{Needs, Points};
use multifactor2_core::policy::pools::{Measure, Pools};
use multifactor2_core::rules::charge_rules::ChargeRules;
use multifactor2_core::rules::grants::Sequences;
use multifactor2_core::settings::advice::Beside;
use multifactor2_core::settings::{
    ActiveJobs, Enforced, Errors, FileFound, Loaded, Outcome, Settings, SettingsKeeper,
};

/// `PriorityFlags`, the same bits in every release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:ident;)*) => {
        impl Flags { $( $(#[$doc])* pub fn $name(self) -> bool { self.0 & constants::$bit != 0 } )* }
    };
}

flags! {
    /// `ACCRUE_ALWAYS`: a job is shown from its submission on.
    accrue_always = PRIORITY_FLAGS_ACCRUE_ALWAYS;
    /// `SMALL_RELATIVE_TO_TIME`
    size_relative = PRIORITY_FLAGS_SIZE_RELATIVE;
    /// Neither `NO_FAIR_TREE` nor `DEPTH_OBLIVIOUS`.
    fair_tree = PRIORITY_FLAGS_FAIR_TREE;
    /// `CALCULATE_RUNNING`: running jobs keep getting priorities.
    calculate_running = PRIORITY_FLAGS_CALCULATE_RUNNING;
    /// `INCR_ONLY`: a priority never falls.
    increase_only = PRIORITY_FLAGS_INCR_ONLY;
    /// `NO_NORMAL_ASSOC`
    no_normal_assoc = PRIORITY_FLAGS_NO_NORMAL_ASSOC;
    /// `NO_NORMAL_PART`
    no_normal_part = PRIORITY_FLAGS_NO_NORMAL_PART;
    /// `NO_NORMAL_QOS`
    no_normal_qos = PRIORITY_FLAGS_NO_NORMAL_QOS;
    /// `NO_NORMAL_TRES`
    no_normal_tres = PRIORITY_FLAGS_NO_NORMAL_TRES;
}

/// Which sizes come first.
fn size_order(flags: Flags, favor_small: bool) -> SizeOrder {
    match (flags.size_relative(), favor_small) {
        (true, _) => SizeOrder::RelativeToTime { favor_small },
        (false, true) => SizeOrder::Small,
        (false, false) => SizeOrder::Large,
    }
}

/// The configuration that priorities are computed with.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub struct Config {
    /// What the factors of jobs are computed with. Fair-share has no weight where it is not computed.
    pub factors: FactorConfig,
    /// `PriorityFlags`
    pub flags: Flags,
    /// What our own settings are compared with.
    pub beside: Beside,
    /// Fair-share is computed: there are a database and a root association.
    pub fair_share: bool,
    /// Where the time of the last decay is saved; `None` where `StateSaveLocation` is /dev/null. Kept here because the
    /// host's text may be replaced while the decay thread runs.
    pub state_file: Option<PathBuf>,
    /// What the priority of a job touches with these weights.
    pub touched: Touched,
    /// A plain job that waits ([`Job::is_plain`](crate::host::records::Record::is_plain)) does so in the one book that there is, and nothing
    /// keeps it from starting.
    pub has_plain_jobs: bool,
    /// Nothing but its priority is wanted of such a job either.
    pub only_priorities: bool,
    /// What points need, if the settings ask for some.
    pub points: Option<Needs>,
    /// They are the same for all jobs of an association: grants of accounts and users alone give some.
    pub points_by_association: bool,
    /// There are caps beyond which jobs do not start.
    pub caps_stop: bool,
    /// What usage is multiplied with, and was until lately.
    pub charging: RuleHistory,
    /// What `Book` lines say.
    pub books: Arc<BookLines>,
    /// What `Grant` and `Adjust` lines say; none where nobody can be charged.
    pub grants: Arc<Sequences>,
    /// Our own settings.
    pub settings: Arc<Settings>,
    /// Their lines with the place of each, where a snapshot is asked for.
    written: Option<String>,
    /// What a snapshot says of both, where one is asked for.
    pub told: Option<Arc<Told>>,
}

/// Our own settings in force, and where each was written.
#[derive(Clone, Debug)]
pub struct InForce {
    /// What holds.
    pub settings: Arc<Settings>,
    /// Lines of multifactor2.conf, each with its place in a comment; `None` where the settings are those of before.
    written: Option<String>,
}

impl InForce {
    fn fresh(loaded: Loaded) -> Self {
        Self { settings: Arc::new(loaded.settings), written: Some(loaded.written) }
    }

    /// Settings of before, in place of bad ones.
    pub fn kept(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), written: None }
    }

    /// Lines of multifactor2.conf, each with its place, for a snapshot.
    fn lines(&self) -> Vec<(String, String)> {
        let place = |line: &str| {
            let (line, place) = line.rsplit_once(" # ").unwrap_or((line, ""));
            (line.to_owned(), place.to_owned())
        };
        match &self.written {
            Some(written) => written.lines().map(place).collect(),
            None => self.settings.lines().into_iter().map(|line| (line, LAST_GOOD.to_owned())).collect(),
        }
    }
}

/// What a snapshot says of the place of settings that hold because newer ones are bad.
const LAST_GOOD: &str = "the last good settings: the current ones have errors";

impl Config {
    /// Reads `slurm_conf`. The host holds its configuration lock, or starts up. `rules` were in force until now; all before `charged` is
    /// charged.
    pub fn read(
        host: &'static Host,
        fair_share: bool,
        in_force: InForce,
        rules: Option<RuleHistory>,
        charged: i64,
    ) -> Self {
        let lines = in_force.settings.is_told().then(|| in_force.lines());
        let InForce { mut settings, written } = in_force;
        for problem in Arc::make_mut(&mut settings).take_out_unenforced(enforced(host)) {
            warn!("{problem}");
        }
        let conf = host.conf();
        let flags = Flags(conf.get(|conf| conf.priority_flags));
        let mut weights = Weights {
            age: conf.get(|conf| conf.priority_weight_age),
            assoc: conf.get(|conf| conf.priority_weight_assoc),
            fair_share: conf.get(|conf| conf.priority_weight_fs),
            job_size: conf.get(|conf| conf.priority_weight_js),
            partition: conf.get(|conf| conf.priority_weight_part),
            qos: conf.get(|conf| conf.priority_weight_qos),
        };
        let tres_weights = host.tres_weights();
        let beside = Beside {
            has_tickets: true,
            weights,
            weighs_tres: tres_weights.is_some(),
            max_age: conf.get(|conf| conf.priority_max_age),
            half_life: conf.get(|conf| conf.priority_decay_hl),
            resets: conf.reset_period() != ResetPeriod::None,
            calc_period: conf.get(|conf| conf.priority_calc_period),
            increase_only: flags.increase_only(),
            calculate_running: flags.calculate_running(),
            no_fair_tree: !flags.fair_tree(),
        };
        if !host.has_database() {
            for (weight, name) in [
                (&mut weights.age, "PriorityWeightAge"),
                (&mut weights.fair_share, "PriorityWeightFairshare"),
            ] {
                if *weight != 0 {
                    error!("{name} needs slurmdbd and is ignored: set AccountingStorageType=accounting_storage/slurmdbd");
                }
                *weight = 0;
            }
        }
        let favor_small = conf.get(|conf| conf.priority_favor_small) != 0;
        let nodes = if host.counts_active_nodes() { NodeCount::Active } else { NodeCount::Table };
        let points = Points::configured(&settings).map(|points| points.needs());
        let has_pools = Pools::are_asked_for(&settings);
        if !fair_share {
            weights.fair_share = 0;
            warn_of_idle_lines(&settings, has_pools);
        }
        let books = BookLines::of(&settings);
        let grants = Arc::new(if fair_share {
            Sequences::of(&settings, grants::offset)
        } else {
            Sequences::default()
        });
        let points_by_association = points.is_some_and(Needs::only_grants) && grants.are_by_association();
        let has_plain_jobs = !flags.calculate_running()
            && settings.active_jobs != ActiveJobs::Startable
            && books.is_empty()
            && !settings.caps_stop();
        let of_single_jobs = points.is_some() && !points_by_association || fair_share && has_pools;
        Self {
            has_plain_jobs,
            only_priorities: has_plain_jobs && !of_single_jobs,
            touched: views::evaluated_jobs(
                host,
                Wanted {
                    size: weights.job_size != 0,
                    tres: tres_weights.is_some(),
                    reason: settings.active_jobs == ActiveJobs::Startable,
                    tickets: fair_share && has_pools,
                    resources: fair_share && has_pools && !Measure::of(&settings).is_by_job(),
                    points: points.is_some() && !points_by_association,
                },
            ),
            factors: FactorConfig {
                weights,
                tres_weights,
                max_age: conf.get(|conf| conf.priority_max_age),
                size: SizePolicy { order: size_order(flags, favor_small), nodes },
                no_normal_part: flags.no_normal_part(),
                no_normal_qos: flags.no_normal_qos(),
                no_normal_tres: flags.no_normal_tres(),
            },
            flags,
            beside,
            fair_share,
            points,
            points_by_association,
            caps_stop: host.verified && settings.caps_stop(),
            charging: now_in_force(rules, &settings, charged),
            books: Arc::new(books),
            grants,
            state_file: state_file::path(&host.conf_text(|conf| conf.state_save_location)),
            written: written.filter(|_| lines.is_some()),
            told: lines.map(|lines| Arc::new(Told::read(host, lines))),
            settings,
        }
    }

    /// The charge rules for a period, and for what our own sums have not counted `since` before it, divided by the local clock.
    pub fn charging_since(&self, since: Option<i64>, (start, end): (i64, i64)) -> Cow<'_, RuleHistory> {
        let start = since.map_or(start, |since| since.min(start));
        self.charging.divided(start, end, |at| LocalCalendar.offset(at))
    }

    /// The settings of this configuration, for another one.
    pub fn in_force(&self) -> InForce {
        InForce { settings: self.settings.clone(), written: self.written.clone() }
    }

    /// What the association factor of a job is.
    pub fn assoc_factor(&self) -> AssocFactor {
        match (self.factors.weights.assoc, self.flags.no_normal_assoc()) {
            (0, _) => AssocFactor::None,
            (_, true) => AssocFactor::Plain,
            (_, false) => AssocFactor::Normalised,
        }
    }

    /// Whether held and not yet eligible jobs hold tickets, too (`ActiveJobs=pending`).
    pub fn counts_all_pending(&self) -> bool {
        self.settings.active_jobs == ActiveJobs::Pending
    }

    /// Whether jobs hold no tickets that slurmctld found unable to start (`ActiveJobs=startable`).
    pub fn counts_startable_only(&self) -> bool {
        self.settings.active_jobs == ActiveJobs::Startable
    }
}

/// Lines that do nothing where nobody can be charged.
fn warn_of_idle_lines(settings: &Settings, has_pools: bool) {
    if has_pools || !settings.books.is_empty() || !settings.grants.is_empty() {
        warn!(
            "TicketsFunctional, Override, Dilution, Book and Grant do nothing without associations: set \
             AccountingStorageType=accounting_storage/slurmdbd"
        );
    }
}

/// Those of the settings, from now on.
fn now_in_force(rules: Option<RuleHistory>, settings: &Settings, charged: i64) -> RuleHistory {
    let current = ChargeRules::of(settings);
    match rules {
        Some(rules) => rules.followed_by(current, clock::now(), charged),
        None => RuleHistory { current, ..RuleHistory::default() },
    }
}

/// What slurmctld enforces, as it was when it started.
fn enforced(host: &Host) -> Enforced {
    Enforced { wckeys: host.enforces_wckeys(), limits: host.enforces_limits(), qos: host.enforces_qos() }
}

/// The last good settings of the slurmctld before this one, where there was one that kept some.
pub fn kept_settings(host: &'static Host) -> Option<Settings> {
    let mut settings = kept::read(&kept_file(host)?).ok().flatten()?;
    settings.take_out_unenforced(enforced(host));
    Some(settings)
}

fn kept_file(host: &'static Host) -> Option<PathBuf> {
    let directory = host.conf_text(|conf| conf.state_save_location);
    state_file::path(&directory).map(|path| path.with_file_name(kept::NAME))
}

/// Loads our settings. Good ones are handed to `keep`, with the file that they are kept in; in place of bad ones the last good ones hold: those of
/// this process at a reconfigure, at a `start` those that are kept, which another controller may have written.
///
/// The log says what holds, and what has changed since `before`, where there was something.
///
/// `None` where the settings are wrong and there never were good ones. What is wrong has been logged. Takes no lock of the
/// host's: nobody else touches the file.
pub fn load_settings(
    host: &'static Host,
    keeper: &mut SettingsKeeper,
    before: Option<&Settings>,
    start: bool,
    keep: impl FnOnce(PathBuf, String),
) -> Option<InForce> {
    let parameters = host.conf_text(|conf| conf.priority_params);
    let configuration = host.conf_path(c"multifactor2.conf");
    let loaded = Settings::load(Some(&parameters), &configuration);
    let file = kept_file(host);
    if let (true, Err(_), Some(file)) = (start, &loaded, &file) {
        match kept::read(file) {
            Ok(settings) => settings.into_iter().for_each(|settings| keeper.remember(settings)),
            Err(damage) => {
                error!("{damage}. It is ignored, and will be rewritten once the settings are valid");
            }
        }
    }
    match keeper.reload(loaded) {
        Outcome::Fresh(loaded) => {
            for warning in &loaded.warnings {
                warn!("{warning}");
            }
            let before = before.map(|before| holding(host, before));
            let now = holding(host, &loaded.settings);
            log_settings(&now, loaded.file, &configuration, before.as_ref());
            if let Some(file) = file {
                keep(file, kept::text(&loaded, &configuration));
            }
            Some(InForce::fresh(loaded))
        }
        Outcome::Kept(settings, errors) => {
            let shown = match settings.summary() {
                all_default if all_default.is_empty() => "all defaults".to_owned(),
                some => some,
            };
            let in_force = format!(
                ". The last good settings stay in force ({shown}): correct the errors and run 'scontrol reconfigure'"
            );
            log_errors(&errors, &in_force);
            Some(InForce::kept(settings))
        }
        Outcome::Refused(errors) => {
            log_errors(&errors, "");
            None
        }
    }
}

/// Lines that slurmctld does not enforce do not hold.
fn holding(host: &Host, settings: &Settings) -> Settings {
    let mut holding = settings.clone();
    holding.take_out_unenforced(enforced(host));
    holding
}

/// One line with what holds, and one with what has changed.
fn log_settings(settings: &Settings, found: FileFound, configuration: &Path, before: Option<&Settings>) {
    let file = configuration.display();
    let what_is_there = match found {
        FileFound::Missing => "does not exist",
        FileFound::Empty => "has no settings",
        FileFound::Used => "has settings",
    };
    match settings.summary() {
        none if none.is_empty() => info!("settings: all have their default values. {file} {what_is_there}"),
        some => info!("settings that differ from their defaults: {some}. {file} {what_is_there}"),
    }
    let Some(before) = before else { return };
    let Some(changes) = settings.changes_since(before) else {
        info!("settings: nothing has changed");
        return;
    };
    info!("settings have changed. {changes}");
    if found != FileFound::Used {
        warn!(
            "{file} {what_is_there}, so settings that were in it are no longer in force. If this was not intended, \
             restore it and run 'scontrol reconfigure'"
        );
    }
}

/// One line for each problem; `end` is said once, with the last.
fn log_errors(errors: &Errors, end: &str) {
    let mut lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if errors.omitted() > 0 {
        lines.push(format!("and {} more", errors.omitted()));
    }
    if let Some(last) = lines.last_mut() {
        last.push_str(end);
    }
    for line in lines {
        error!("{line}");
    }
}

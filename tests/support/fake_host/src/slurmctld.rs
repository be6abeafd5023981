//! The one slurmctld of the process: what it knows, its configuration, its log.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, CString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, fs};

use slurm_headers::Version;

use crate::callers::Caller;
use crate::exports::{enter_functions, watch_signals};
use crate::layout::{Layout, Shift};
use crate::library::variable;
use crate::lists;
use crate::memory::{self, Arena, Difference, Snapshot};
use crate::plugin::Plugin;
use crate::process::loader_error;
use crate::record::{Record, Value};

static LAYOUT: OnceLock<Layout> = OnceLock::new();

/// The layout of the process's release.
///
/// # Panics
/// Before there is one.
pub fn layout() -> &'static Layout {
    LAYOUT.get().expect("a slurmctld was started")
}

/// What the host's functions answer from.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// By id.
    pub jobs: BTreeMap<u32, Record>,
    /// `PriorityTier` by the address of a partition.
    pub tiers: BTreeMap<usize, u16>,
    /// Billable TRES by job.
    pub billable: BTreeMap<u32, f64>,
    /// What `PriorityWeightTRES` is read as.
    pub weights: Vec<f64>,
    pub operators: BTreeSet<u32>,
    pub coordinators: BTreeSet<(u32, String)>,
    pub mcs: Mcs,
    pub no_database: bool,
    pub site_factor_fails: bool,
    pub log_level: c_int,
    pub log: Vec<(c_int, String)>,
    pub expected: Vec<String>,
    /// Calls of functions that a test may want to count.
    pub calls: Vec<String>,
}

/// What the MCS plugin says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Mcs {
    /// Nothing is private.
    #[default]
    None,
    /// `mcs/user` and others that take no lock.
    Label,
    /// `mcs/account`: the association manager is asked, which takes its lock of associations.
    Account,
}

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

pub(crate) fn shared<T>(body: impl FnOnce(&mut Shared) -> T) -> T {
    let mut shared: MutexGuard<'_, Option<Shared>> = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    body(shared.get_or_insert_with(|| Shared { log_level: 6, ..Shared::default() }))
}

/// The log, for who fails, perhaps while it is locked.
pub(crate) fn log_at_failure() -> String {
    let shared = SHARED.try_lock();
    shared.map_or_else(
        |_| String::new(),
        |shared| shared.as_ref().map_or_else(String::new, |s| log_text(&s.log)),
    )
}

/// See the crate.
#[derive(Debug)]
pub struct Slurmctld {
    /// The release that it pretends to be.
    pub release: Version,
    /// `slurm_conf`
    pub conf: Record,
    /// The plugin, once it is loaded.
    pub plugin: Plugin,
    /// `StateSaveLocation`
    pub directory: PathBuf,
    /// Who makes the next call.
    pub(crate) caller: Option<Caller>,
    /// Threads before the plugin was loaded.
    pub(crate) threads: usize,
    pub(crate) tres: Vec<&'static str>,
    pub(crate) associations: Vec<Record>,
    pub(crate) qos: Vec<Record>,
    pub(crate) partitions: Vec<Record>,
}

impl Slurmctld {
    /// Becomes a slurmctld. There is nothing in it but a configuration, its TRES, a QOS and a partition list.
    pub(crate) fn start(release: Version, shift: Option<&Shift>) -> Self {
        LAYOUT.set(Layout::of(release, shift)).expect("one slurmctld in a process");
        watch_signals();
        enter_functions();
        open(Path::new(&env::var_os("FAKEHOST_LOADED").expect("set by who started us")));
        let directory = PathBuf::from(env::var_os("FAKEHOST_DIRECTORY").expect("set by who started us"))
            .join(std::process::id().to_string());
        fs::create_dir_all(directory.join("state")).expect("a directory can be made");
        let conf = Record { kind: "conf", address: variable("slurm_conf") };
        conf.fill(layout().record("conf").size);
        conf.expect_all();
        let mut slurmctld = Self {
            release,
            conf,
            plugin: Plugin::default(),
            directory,
            caller: None,
            threads: crate::plugin::threads(),
            tres: Vec::new(),
            associations: Vec::new(),
            qos: Vec::new(),
            partitions: Vec::new(),
        };
        slurmctld.fill();
        slurmctld.conf.complete();
        slurmctld
    }

    fn fill(&mut self) {
        for (name, text) in [
            ("state_save_location", self.directory.join("state").display().to_string()),
            ("cluster_name", "fakehost".to_owned()),
            ("priority_params", String::new()),
            ("priority_type", "priority/multifactor2".to_owned()),
            ("site_factor_plugin", "site_factor/none".to_owned()),
        ] {
            self.conf_text(name, &text);
        }
        self.conf.set("priority_weight_tres", std::ptr::null_mut::<u8>());
        self.conf.set("debug_flags", 0_u64);
        for (name, number) in [
            ("priority_decay_hl", 604_800_u32),
            ("priority_calc_period", 300),
            ("priority_max_age", 86_400),
            ("priority_weight_age", 0),
            ("priority_weight_assoc", 0),
            ("priority_weight_fs", 0),
            ("priority_weight_js", 0),
            ("priority_weight_part", 0),
            ("priority_weight_qos", 0),
        ] {
            self.conf.set(name, number);
        }
        for name in ["priority_favor_small", "priority_flags", "priority_reset_period", "private_data"] {
            self.conf.set(name, 0_u16);
        }
        for (name, list, lock) in [
            ("job_list", "the jobs", "job"),
            ("part_list", "the partitions", "part"),
            ("assoc_mgr_assoc_list", "the associations", "assoc"),
            ("assoc_mgr_qos_list", "the QOS", "qos"),
            ("assoc_mgr_user_list", "the users", "user"),
        ] {
            self.set(name, lists::new(Some((list, lock))));
        }
        self.set("cluster_cpus", 200_u32);
        self.set("node_record_count", 40_i32);
        if self.release >= crate::release(23, 2, 0) {
            self.set("active_node_record_count", 20_i32);
        }
        self.set("acct_db_conn", 0x5000_usize);
        self.tres_names(&["cpu", "mem", "energy", "node", "billing"]);
    }

    /// Sets a text of `slurm_conf`.
    pub fn conf_text(&mut self, name: &str, text: &str) -> &mut Self {
        self.conf.set(name, memory::text(Arena::Configuration, &format!("conf.{name}"), text));
        self
    }

    /// Sets a number of `slurm_conf`.
    pub fn configure<T: Value>(&mut self, name: &str, value: T) -> &mut Self {
        self.conf.set(name, value);
        self
    }

    /// Sets an exported variable, such as `cluster_cpus`.
    pub fn set<T: Copy>(&mut self, name: &str, value: T) -> &mut Self {
        // SAFETY: a variable of that type, as slurmctld.c defines it.
        unsafe { variable::<T>(name).write(value) };
        self
    }

    /// Reads an exported variable.
    pub fn get<T: Copy>(&self, name: &str) -> T {
        // SAFETY: as above.
        unsafe { variable::<T>(name).read() }
    }

    /// Seconds since 1970, as the plugin sees them.
    pub fn now(&self) -> i64 {
        self.get("fakehost_now")
    }

    /// Moves the clock.
    pub fn advance(&mut self, seconds: i64) -> i64 {
        let now = self.now() + seconds;
        self.set("fakehost_now", now);
        now
    }

    /// Weights of the TRES, as `PriorityWeightTRES` would say.
    pub fn weigh_tres(&mut self, weights: &[f64]) -> &mut Self {
        shared(|shared| shared.weights = weights.to_vec());
        self.conf_text("priority_weight_tres", "CPU=1")
    }

    /// Accounting goes not through slurmdbd.
    pub fn without_database(&mut self) -> &mut Self {
        shared(|shared| shared.no_database = true);
        self
    }

    /// The site factor plugin cannot be started.
    pub fn site_factor_fails(&mut self) -> &mut Self {
        shared(|shared| shared.site_factor_fails = true);
        self
    }

    /// The association manager has no list of users, as without slurmdbd: who asks about users makes it load one.
    pub fn without_users(&mut self) -> &mut Self {
        self.set("assoc_mgr_user_list", std::ptr::null_mut::<u8>())
    }

    /// Makes a user an operator.
    pub fn operator(&mut self, uid: u32) -> &mut Self {
        shared(|shared| shared.operators.insert(uid));
        self
    }

    /// Makes a user the coordinator of an account.
    pub fn coordinator(&mut self, uid: u32, account: &str) -> &mut Self {
        shared(|shared| shared.coordinators.insert((uid, account.to_owned())));
        self
    }

    /// Chooses the MCS plugin.
    pub fn mcs(&mut self, mcs: Mcs) -> &mut Self {
        shared(|shared| shared.mcs = mcs);
        if mcs == Mcs::Account {
            // Known by the name of its file.
            let file = self.directory.join("mcs_account.so");
            fs::copy(env::var_os("FAKEHOST_LOADED").expect("set by who started us"), &file).expect("a copy");
            open(&file);
        }
        self
    }

    /// Calls of some functions of the host since the last time.
    pub fn take_calls(&mut self) -> Vec<String> {
        shared(|shared| std::mem::take(&mut shared.calls))
    }

    /// What was logged until now.
    pub fn log(&self) -> String {
        shared(|shared| log_text(&shared.log))
    }

    /// An error line that holds this text is no failure.
    pub fn expect_error(&mut self, text: &str) -> &mut Self {
        shared(|shared| shared.expected.push(text.to_owned()));
        self
    }

    /// Fails where errors were logged that nobody expects, or one that is expected was not.
    ///
    /// # Panics
    /// So.
    pub fn assert_log(&self) {
        shared(|shared| {
            let errors = || shared.log.iter().filter(|(level, _)| *level <= 2).map(|(_, line)| line);
            let unexpected: Vec<&String> =
                errors().filter(|line| !shared.expected.iter().any(|text| line.contains(text))).collect();
            assert!(unexpected.is_empty(), "errors in the log: {unexpected:#?}");
            for text in &shared.expected {
                assert!(errors().any(|line| line.contains(text)), "no error '{text}' in the log");
            }
        });
    }

    /// Runs `body` and says what it has changed, field by field, sorted: `job 7: job.priority`, new and freed blocks.
    ///
    /// # Panics
    /// Where memory between the records was written.
    pub fn changes<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> (T, BTreeSet<String>) {
        let before = Self::everything();
        let result = body(self);
        let after = Self::everything();
        let mut changed = BTreeSet::new();
        for (block, difference) in before.1.differences(&after.1) {
            let name = format!("{} {}", block.kind, block.name);
            changed.insert(match difference {
                Difference::New(_) => format!("new {name}"),
                Difference::Gone(_) => format!("freed {name}"),
                Difference::Changed(_, at) => {
                    assert!(at < block.size, "written beyond the end of {name}, at {at}");
                    match layout().records.get(&block.kind) {
                        Some(record) => format!("{}: {}", block.name, record.describe(at)),
                        None => name,
                    }
                }
            });
        }
        for ((name, before), (_, after)) in before.0.iter().zip(&after.0) {
            if before != after {
                changed.insert((*name).to_owned());
            }
        }
        (result, changed)
    }

    /// Variables, and all blocks.
    fn everything() -> (Vec<(&'static str, Vec<u8>)>, Snapshot) {
        let sized = [
            ("slurm_conf", layout().record("conf").size),
            ("job_list", 8),
            ("part_list", 8),
            ("assoc_mgr_root_assoc", 8),
            ("assoc_mgr_assoc_list", 8),
            ("assoc_mgr_qos_list", 8),
            ("assoc_mgr_user_list", 8),
            ("assoc_mgr_tres_name_array", 8),
            ("assoc_mgr_tres_array", 8),
            ("acct_db_conn", 8),
            ("last_job_update", 8),
            ("last_part_update", 8),
            ("cluster_cpus", 4),
            ("node_record_count", 4),
            ("slurmctld_tres_cnt", 4),
            ("accounting_enforce", 2),
            ("ignore_state_errors", 1),
        ];
        let copy = |(name, size): (&'static str, usize)| {
            // SAFETY: an exported variable of that size.
            (name, unsafe { std::slice::from_raw_parts(variable::<u8>(name), size) }.to_vec())
        };
        (sized.map(copy).into(), memory::snapshot())
    }

    /// Ends: what the plugin has allocated and not freed, or left with a record that the host frees, is a leak.
    ///
    /// # Panics
    /// For leaks, and errors in the log.
    pub fn assert_nothing_leaks(&mut self) {
        self.free_jobs();
        let leaked: Vec<String> = memory::of_plugin()
            .into_iter()
            .map(|(_, block)| format!("{} {}", block.kind, block.name))
            .collect();
        assert!(leaked.is_empty(), "the plugin never freed {leaked:#?}");
        assert_eq!(lists::of_plugin(), 0, "lists of the plugin are left");
        assert_eq!(lists::iterators(), 0, "iterators are left");
        self.assert_log();
    }
}

/// Loads an object of ours.
fn open(file: &Path) {
    let path = CString::new(file.as_os_str().as_encoded_bytes()).expect("a path without NUL");
    // SAFETY: an object without constructors.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    assert!(!handle.is_null(), "{}", loader_error());
}

pub(crate) fn log_text(log: &[(c_int, String)]) -> String {
    let lines: Vec<String> = log.iter().map(|(level, line)| format!("    [{level}] {line}")).collect();
    lines.join("\n")
}

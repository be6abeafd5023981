//! The callers of an export in a release, and their locks (`slurm-headers/callers.tsv`); and which locks the functions that the
//! plugin calls take in turn (`callees.tsv`).

use std::collections::BTreeSet;
use std::sync::OnceLock;

use slurm_headers::{Level, LockRow, LockTable, LockTableError, Version, LOCKS};

use crate::memory::Arena;
use crate::release::table;

/// A caller of an export.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// What it holds, as [`Levels`](crate::locks::Levels) are written.
    pub locks: String,
    /// Lists whose own lock it holds, and how.
    pub lists: Vec<(String, Level)>,
    /// `file.c:function`
    pub name: String,
}

impl Caller {
    /// Slurm itself changes job records under a lock for reading there: `scontrol setdebugflags` starts gang scheduling anew.
    pub(crate) fn opens_jobs(&self) -> Option<Arena> {
        self.locks.contains("job:r").then_some(Arena::Jobs)
    }
}

/// Whom a test means that names nobody.
const USUAL: [(&str, &str); 4] = [
    ("init", "controller.c:main"),
    ("priority_p_set", "proc_req.c:_slurm_rpc_submit_batch_job"),
    ("priority_p_job_end", "controller.c:_slurmctld_background/job_time_limit"),
    ("priority_p_set_assoc_usage", "assoc_mgr.c:assoc_mgr_get_shares"),
];

fn read(
    table: &'static OnceLock<LockTable>,
    file: fn() -> Result<LockTable, LockTableError>,
) -> &'static LockTable {
    table.get_or_init(|| file().unwrap_or_else(|error| panic!("{error}")))
}

static CALLERS: OnceLock<LockTable> = OnceLock::new();
static CALLEES: OnceLock<LockTable> = OnceLock::new();

/// Reads both tables, so that copies of this process need not.
pub(crate) fn read_all() {
    read(&CALLERS, LockTable::callers);
    read(&CALLEES, LockTable::callees);
}

/// The newest release that the tables know which is not newer than this one, in its series.
fn known(release: Version) -> Version {
    let series = |version: Version| (version.year, version.month);
    let known = table().groups.iter().map(|group| group.verified);
    let newest = known.filter(|version| series(*version) == series(release)).max();
    newest.map_or(release, |newest| release.min(newest))
}

/// The locks of a row, as [`Levels`](crate::locks::Levels) are written.
fn locks(row: &LockRow) -> String {
    let level = |level: Level| if level == Level::Write { "w" } else { "r" };
    let held = LOCKS.iter().zip(row.levels).filter(|(_, held)| *held != Level::None);
    held.map(|(name, held)| format!("{name}:{}", level(held))).collect::<Vec<String>>().join(" ")
}

/// What a function of the host takes in a case.
pub(crate) fn taken(function: &str, case: &str, release: Version) -> String {
    let release = known(release);
    let row = read(&CALLEES, LockTable::callees).of(function, release).find(|row| row.case == case);
    locks(row.unwrap_or_else(|| panic!("callees.tsv has no {function} with {case} in {release}")))
}

/// All callers of an export.
///
/// # Panics
/// Where the release does not call it.
pub fn of(export: &str, release: Version) -> Vec<Caller> {
    let release = known(release);
    let found: Vec<Caller> = read(&CALLERS, LockTable::callers)
        .of(export, release)
        .filter(|row| !row.case.starts_with("sshare.c") && !row.case.starts_with("process.c"))
        .map(|row| Caller { locks: locks(row), lists: row.lists.clone(), name: row.case.clone() })
        .collect();
    assert!(!found.is_empty(), "Slurm {release} does not call {export}");
    found
}

/// The usual caller of an export.
pub fn usual(export: &str, release: Version) -> Caller {
    let all = of(export, release);
    let wanted = USUAL.iter().find(|(known, _)| *known == export).map(|(_, caller)| *caller);
    let usual = all.iter().find(|caller| Some(caller.name.as_str()) == wanted);
    usual.unwrap_or(&all[0]).clone()
}

/// One caller for each set of locks that there is.
pub fn different(export: &str, release: Version) -> Vec<Caller> {
    let mut seen = BTreeSet::new();
    let mut all = of(export, release);
    all.retain(|caller| seen.insert((caller.locks.clone(), caller.lists.clone())));
    all
}

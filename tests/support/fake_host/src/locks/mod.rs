//! The host's locks, and a ledger of who asks for which while holding what.
//!
//! Two threads hang when each holds what the other waits for. That needs luck; the order in which locks are asked for does
//! not: a lock asked for while another is held is an edge between them, and a cycle of edges, wherever they come
//! from, is a deadlock that waits for its moment. slurmctld's own order is there from the start. Readers count as much as writers: between
//! two readers of a lock there is room for a writer.

mod levels;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::fail;
use crate::memory::{allow, Access, Arena};

use levels::COUNT;
pub use levels::{Level, Levels, NAMES};

/// slurmctld's own.
const CTLD: usize = 6;
const JOB: usize = 1;

/// Where the association manager's begin.
const FIRST_OF_MANAGER: usize = CTLD;
const OF_MANAGER: usize = 7;
const STATE_FILES: usize = 13;
const TEXTS: usize = 14;

/// A lock that a thread holds, and who asked for it.
#[derive(Debug, Clone)]
struct Held {
    lock: usize,
    level: Level,
    by: String,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    /// The call into the plugin that this thread is in.
    static CALL: RefCell<String> = const { RefCell::new(String::new()) };
}

#[derive(Default)]
struct Ledger {
    readers: [u32; COUNT],
    written: [bool; COUNT],
    /// By the lock that was held and the one that was asked for: who did so first.
    edges: BTreeMap<(usize, usize), String>,
    trace: Vec<(String, Levels)>,
    /// May be written whatever is held: the host wants it so.
    open: Option<Arena>,
    /// A call into the plugin is on its way, or its thread has something to do; otherwise the host itself works on its records.
    watching: bool,
    /// The plugin's thread was started and not waited for.
    thread_works: bool,
}

static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);
static RELEASED: Condvar = Condvar::new();

fn ledger() -> MutexGuard<'static, Option<Ledger>> {
    let mut ledger = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    ledger.get_or_insert_with(|| {
        let own = "slurmctld in its own order".to_owned();
        let edges = (1..COUNT).map(|later| ((later - 1, later), own.clone())).collect();
        Ledger { edges, ..Ledger::default() }
    });
    ledger
}

fn with<T>(body: impl FnOnce(&mut Ledger) -> T) -> T {
    body(ledger().as_mut().unwrap_or_else(|| unreachable!("made when it was locked")))
}

impl Ledger {
    /// A way along the edges.
    fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        fn search(ledger: &Ledger, way: &mut Vec<usize>, to: usize) -> bool {
            let here = way[way.len() - 1];
            if here == to {
                return true;
            }
            let next: Vec<usize> =
                ledger.edges.range((here, 0)..=(here, COUNT)).map(|((_, next), _)| *next).collect();
            for next in next {
                if !way.contains(&next) {
                    way.push(next);
                    if search(ledger, way, to) {
                        return true;
                    }
                    way.pop();
                }
            }
            false
        }
        let mut way = vec![from];
        search(self, &mut way, to).then_some(way)
    }

    fn is_held(&self, lock: usize) -> bool {
        self.readers[lock] > 0 || self.written[lock]
    }

    fn update_access(&self) {
        for (arena, lock) in [
            (Arena::Jobs, JOB),
            (Arena::Partitions, 3),
            (Arena::Associations, 6),
            (Arena::Qos, 8),
            (Arena::Tres, 10),
            (Arena::Configuration, TEXTS),
        ] {
            let access = if !self.watching || self.written[lock] || self.open == Some(arena) {
                Access::Write
            } else if self.readers[lock] > 0 || (arena == Arena::Partitions && self.is_held(JOB)) {
                Access::Read
            } else {
                Access::None
            };
            allow(arena, access);
        }
    }
}

/// Asks for one lock after the other, and waits where it must.
fn take(levels: Levels, function: &str) {
    let call = CALL.with_borrow(Clone::clone);
    let thread = if call.is_empty() { "the decay thread" } else { &call };
    for (lock, level) in levels.each() {
        let by = format!("{function} in {thread}");
        HELD.with_borrow_mut(|held| {
            if let Some(twice) = held.iter().find(|held| held.lock == lock) {
                fail(&format!(
                    "lock '{}' is taken twice by one thread: for {} by {}, and for {} by {by}",
                    NAMES[lock],
                    twice.level.letter(),
                    twice.by,
                    level.letter()
                ));
            }
            with(|ledger| {
                for before in held.iter() {
                    if let Some(way) = ledger.path(lock, before.lock) {
                        let names: Vec<&str> = way.iter().map(|at| NAMES[*at]).collect();
                        let reverse = ledger.edges.get(&(way[0], way[1])).cloned().unwrap_or_default();
                        fail(&format!(
                            "deadlock: {by} asks for lock '{}' ({}) while '{}' ({}) is held by {}; the other way round, \
                             {} is taken by {reverse}",
                            NAMES[lock],
                            level.letter(),
                            NAMES[before.lock],
                            before.level.letter(),
                            before.by,
                            names.join(" before "),
                        ));
                    }
                    let what = || format!("{by} ({} under {})", level.letter(), before.level.letter());
                    ledger.edges.entry((before.lock, lock)).or_insert_with(what);
                }
            });
            held.push(Held { lock, level, by });
        });
        let mut guard = ledger();
        loop {
            let ledger = guard.as_mut().unwrap_or_else(|| unreachable!("made when it was locked"));
            let free = !ledger.written[lock] && (level == Level::Read || ledger.readers[lock] == 0);
            if free {
                match level {
                    Level::Write => ledger.written[lock] = true,
                    _ => ledger.readers[lock] += 1,
                }
                break;
            }
            guard = RELEASED.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
    with(|ledger| {
        if !call.starts_with("slurmctld") {
            ledger.trace.push((thread.to_owned(), levels));
        }
        ledger.update_access();
    });
}

fn release(levels: Levels, function: &str) {
    for (lock, level) in levels.each() {
        HELD.with_borrow_mut(|held| {
            let at = held.iter().position(|held| held.lock == lock && held.level == level);
            let Some(at) = at else {
                fail(&format!(
                    "{function} of '{}' ({}), which this thread does not hold so",
                    NAMES[lock],
                    level.letter()
                ));
            };
            held.remove(at);
        });
        with(|ledger| match level {
            Level::Write => ledger.written[lock] = false,
            _ => ledger.readers[lock] -= 1,
        });
    }
    with(|ledger| ledger.update_access());
    RELEASED.notify_all();
}

/// What this thread holds.
pub fn held() -> Levels {
    let mut levels = Levels::default();
    HELD.with_borrow(|held| held.iter().for_each(|held| levels.0[held.lock] = held.level));
    levels
}

/// Fails unless this thread holds a lock at a level or a higher one. To read partitions the job lock will do: who changes
/// them has both.
pub fn require(name: &str, level: Level, who: &str) {
    let by_jobs = name == "part" && level == Level::Read && held().of("job") >= Level::Read;
    let open = name == "job" && with(|ledger| ledger.open) == Some(Arena::Jobs);
    if held().of(name) < level && !by_jobs && !open {
        fail(&format!("{who} needs lock '{name}' ({}), and holds: {}", level.letter(), held()));
    }
}

/// A function of the host that takes a lock for itself and lets go of it again.
pub fn pass_through(locks: &str, function: &str) {
    let levels = Levels::parse(locks);
    let trace = with(|ledger| ledger.trace.len());
    take(levels, function);
    release(levels, function);
    with(|ledger| ledger.trace.truncate(trace));
}

/// A call into the plugin, with the locks that slurmctld's caller holds. `open`: records that the host wants written whatever
/// lock protects them.
pub fn call<T>(export: &str, locks: &str, open: Option<Arena>, body: impl FnOnce() -> T) -> T {
    let levels = Levels::parse(locks);
    CALL.set(format!("slurmctld, which calls {export}"));
    take(levels, "the caller");
    CALL.set(export.to_owned());
    with(|ledger| {
        ledger.watching = true;
        ledger.open = open;
        ledger.update_access();
    });
    let result = body();
    let left = held();
    if left != levels {
        fail(&format!("{export} was called with the locks '{levels}' and returns with '{left}'"));
    }
    with(|ledger| {
        ledger.watching = ledger.thread_works;
        ledger.open = None;
    });
    release(levels, "the caller");
    CALL.set(String::new());
    result
}

/// The plugin's thread works from now on, until it is waited for, or does not.
pub(crate) fn thread_works(works: bool) {
    with(|ledger| {
        ledger.thread_works = works;
        ledger.watching = works;
        ledger.update_access();
    });
}

/// Lets the decay thread work, under watch.
pub fn watch<T>(body: impl FnOnce() -> T) -> T {
    let set = |watching| {
        with(|ledger| {
            ledger.watching = watching;
            ledger.thread_works = watching;
            ledger.update_access();
        });
    };
    set(true);
    let result = body();
    set(false);
    result
}

/// The locks that the plugin has asked for since the last time, in order, each with the call or thread.
pub fn take_trace() -> Vec<(String, String)> {
    with(|ledger| std::mem::take(&mut ledger.trace))
        .into_iter()
        .map(|(thread, levels)| (thread, levels.to_string()))
        .collect()
}

fn levels_at(begin: usize, levels: *const u32, count: usize) -> Levels {
    let mut result = Levels::default();
    for at in 0..count {
        // SAFETY: so many levels, by the contract of the functions.
        result.0[begin + at] = Level::of(unsafe { *levels.add(at) });
    }
    result
}

pub(crate) unsafe extern "C" fn lock_slurmctld(levels: *const u32, count: i32) {
    take(levels_at(0, levels, count.unsigned_abs() as usize), "lock_slurmctld");
}

pub(crate) unsafe extern "C" fn unlock_slurmctld(levels: *const u32, count: i32) {
    release(levels_at(0, levels, count.unsigned_abs() as usize), "unlock_slurmctld");
}

pub(crate) unsafe extern "C" fn assoc_mgr_lock(levels: *const u32) {
    take(levels_at(FIRST_OF_MANAGER, levels, OF_MANAGER), "assoc_mgr_lock");
}

pub(crate) unsafe extern "C" fn assoc_mgr_unlock(levels: *const u32) {
    release(levels_at(FIRST_OF_MANAGER, levels, OF_MANAGER), "assoc_mgr_unlock");
}

fn alone(lock: usize) -> Levels {
    let mut levels = Levels::default();
    levels.0[lock] = Level::Write;
    levels
}

pub(crate) unsafe extern "C" fn lock_state_files() {
    take(alone(STATE_FILES), "lock_state_files");
}

pub(crate) unsafe extern "C" fn unlock_state_files() {
    release(alone(STATE_FILES), "unlock_state_files");
}

pub(crate) unsafe extern "C" fn slurm_conf_lock() -> *mut c_void {
    take(alone(TEXTS), "slurm_conf_lock");
    crate::library::variable::<u8>("slurm_conf").cast()
}

pub(crate) unsafe extern "C" fn slurm_conf_unlock() {
    release(alone(TEXTS), "slurm_conf_unlock");
}

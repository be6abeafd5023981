//! The host's locks, and a ledger of who asks for which while holding what.
//!
//! Two threads hang when each holds what the other waits for. That needs luck; the order in which locks are asked for does
//! not: a lock asked for while another is held is an edge between them, and a cycle of edges, wherever they come
//! from, is a deadlock that waits for its moment. slurmctld's own order is there from the start. Readers count as much as writers: between
//! two readers of a lock there is room for a writer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::fail;
use crate::memory::{allow, Access, Arena};

/// Names of the locks, in slurmctld's order: its own, the association manager's, and what is taken last.
pub const NAMES: [&str; 14] = [
    "conf",
    "job",
    "node",
    "part",
    "fed",
    "select",
    "assoc",
    "file",
    "qos",
    "res",
    "tres",
    "user",
    "wckey",
    "state files",
];
/// slurmctld's own.
const CTLD: usize = 6;
const JOB: usize = 1;
/// Where the association manager's begin.
const FIRST_OF_MANAGER: usize = CTLD;
const OF_MANAGER: usize = 7;
const STATE_FILES: usize = 13;
const COUNT: usize = NAMES.len();

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Not at all.
    #[default]
    None,
    /// With others.
    Read,
    /// Alone.
    Write,
}

impl Level {
    fn of(number: u32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Read,
            2 => Self::Write,
            other => fail(&format!("lock level {other}: there are 0, 1 and 2")),
        }
    }

    fn letter(self) -> &'static str {
        ["-", "r", "w"][self as usize]
    }
}

/// Some locks and how they are held or asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels([Level; COUNT]);

impl Levels {
    /// From words such as `job:w node:r qos:r`, as they are written by `Display`.
    ///
    /// # Panics
    /// Where that is no lock or no level.
    pub fn parse(text: &str) -> Self {
        let mut levels = Self::default();
        for word in text.split_whitespace() {
            let (name, level) =
                word.split_once(':').unwrap_or_else(|| panic!("'{word}' is no lock and level"));
            let at =
                NAMES.iter().position(|known| *known == name).unwrap_or_else(|| panic!("no lock '{name}'"));
            levels.0[at] = match level {
                "r" => Level::Read,
                "w" => Level::Write,
                other => panic!("'{other}' is no level"),
            };
        }
        levels
    }

    /// The level of one lock.
    ///
    /// # Panics
    /// For a name that no lock has.
    pub fn of(&self, name: &str) -> Level {
        self.0[NAMES.iter().position(|known| *known == name).expect("the name of a lock")]
    }

    fn each(self) -> impl Iterator<Item = (usize, Level)> {
        self.0.into_iter().enumerate().filter(|(_, level)| *level != Level::None)
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.each().map(|(at, level)| format!("{}:{}", NAMES[at], level.letter())).collect();
        f.write_str(&words.join(" "))
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

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
        for (arena, lock) in
            [(Arena::Jobs, JOB), (Arena::Partitions, 3), (Arena::Associations, 6), (Arena::Qos, 8)]
        {
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

pub(crate) unsafe extern "C" fn lock_state_files() {
    let mut levels = Levels::default();
    levels.0[STATE_FILES] = Level::Write;
    take(levels, "lock_state_files");
}

pub(crate) unsafe extern "C" fn unlock_state_files() {
    let mut levels = Levels::default();
    levels.0[STATE_FILES] = Level::Write;
    release(levels, "unlock_state_files");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::forked;

    fn ctld(job: u32, part: u32) {
        // SAFETY: five levels.
        unsafe { lock_slurmctld([0, job, 0, part, 0].as_ptr(), 5) }
    }

    fn manager(assoc: u32, qos: u32) {
        // SAFETY: seven levels.
        unsafe { assoc_mgr_lock([assoc, 0, qos, 0, 0, 0, 0].as_ptr()) }
    }

    #[track_caller]
    fn assert_found(body: impl FnOnce(), texts: &[&str]) {
        let said = forked(body).expect_err("it is found");
        for text in texts {
            assert!(said.contains(text), "'{text}' is not in: {said}");
        }
    }

    #[test]
    fn slurmctlds_own_order_is_allowed_and_lists_what_is_held() {
        let _alone = crate::process::alone();
        let inside = || {
            call("priority_p_set", "job:w part:r", None, || {
                manager(1, 1);
                assert_eq!(held().to_string(), "job:w part:r assoc:r qos:r");
                // SAFETY: as they were taken.
                unsafe { assoc_mgr_unlock([1, 0, 1, 0, 0, 0, 0].as_ptr()) };
            });
            assert_eq!(held().to_string(), "");
            assert_eq!(take_trace(), [("priority_p_set".to_owned(), "assoc:r qos:r".to_owned())]);
        };
        forked(inside).unwrap();
    }

    #[test]
    fn a_lock_that_comes_before_what_the_caller_holds_is_a_deadlock_even_between_readers() {
        let _alone = crate::process::alone();
        assert_found(
            || call("an_export", "job:r qos:r", None, || manager(1, 0)),
            &[
                "deadlock: assoc_mgr_lock in an_export asks for lock 'assoc' (r) while 'qos' (r) is held by the caller in \
                 slurmctld, which calls an_export",
                "assoc before file before qos is taken by slurmctld in its own order",
            ],
        );
        assert_found(
            || {
                manager(1, 0);
                ctld(1, 0);
            },
            &["asks for lock 'job' (r) while 'assoc' (r) is held by assoc_mgr_lock in the decay thread"],
        );
        assert_found(
            || {
                // SAFETY: no arguments.
                unsafe { lock_state_files() };
                manager(0, 1);
            },
            &["asks for lock 'qos' (r) while 'state files' (w) is held"],
        );
    }

    #[test]
    fn a_lock_that_is_taken_twice_is_noticed_also_where_the_caller_has_it() {
        let _alone = crate::process::alone();
        assert_found(
            || call("an_export", "job:w", None, || ctld(1, 0)),
            &[
                "lock 'job' is taken twice by one thread: for w by the caller",
                "and for r by lock_slurmctld in an_export",
            ],
        );
    }

    #[test]
    fn locks_are_released_as_they_were_taken_and_none_is_left() {
        let _alone = crate::process::alone();
        assert_found(
            || {
                manager(1, 0);
                // SAFETY: seven levels.
                unsafe { assoc_mgr_unlock([2, 0, 0, 0, 0, 0, 0].as_ptr()) };
            },
            &["assoc_mgr_unlock of 'assoc' (w), which this thread does not hold so"],
        );
        assert_found(
            || call("an_export", "job:w", None, || manager(1, 0)),
            &["an_export was called with the locks 'job:w' and returns with 'job:w assoc:r'"],
        );
    }

    #[test]
    fn a_function_that_needs_a_lock_says_so_and_partitions_are_safe_under_the_job_lock() {
        let _alone = crate::process::alone();
        assert_found(
            || require("job", Level::Read, "somebody"),
            &["somebody needs lock 'job' (r), and holds: "],
        );
        assert_found(
            || call("an_export", "job:r", None, || require("job", Level::Write, "somebody")),
            &["somebody needs lock 'job' (w), and holds: job:r"],
        );
        forked(|| call("an_export", "job:r", None, || require("part", Level::Read, "somebody"))).unwrap();
    }
}

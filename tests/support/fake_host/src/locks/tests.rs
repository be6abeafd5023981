//! Each rule is broken in a copy of the process.

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
    assert_found(|| require("job", Level::Read, "somebody"), &["somebody needs lock 'job' (r), and holds: "]);
    assert_found(
        || call("an_export", "job:r", None, || require("job", Level::Write, "somebody")),
        &["somebody needs lock 'job' (w), and holds: job:r"],
    );
    forked(|| call("an_export", "job:r", None, || require("part", Level::Read, "somebody"))).unwrap();
}

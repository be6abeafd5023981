//! The wall that no panic crosses: every export and every cycle runs behind [`guard`].
//!
//! The first panic at each place in the source is logged, and later ones are counted, so that a fault in every job does not fill the disk.

use std::collections::HashMap;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe, PanicHookInfo};

use once_cell::sync::Lazy;
use parking_lot::Mutex;

use super::log::error_line;

static SEEN: Lazy<Mutex<HashMap<String, u64>>> = Lazy::new(Mutex::default);

/// Sends panics to Slurm's log instead of a standard error that a daemon does not have.
pub fn install_hook() {
    set_hook(Box::new(report));
}

fn report(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(|| "unknown place".to_owned(), ToString::to_string);
    let count = {
        let mut seen = SEEN.lock();
        let count = seen.entry(place.clone()).or_insert(0);
        *count += 1;
        *count
    };
    // The first, then the 10th, 100th, … time.
    if count != 1 && !(count >= 10 && 10_u64.pow(count.ilog10()) == count) {
        return;
    }
    let cause = info
        .payload()
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| info.payload().downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
    error_line(&format!(
        "priority/multifactor2: internal error at {place}: {cause}{times}. slurmctld keeps running; priorities \
         that could not be computed keep their last values. Please report this line; RUST_BACKTRACE=1 in \
         slurmctld's environment adds a backtrace to the next report{}",
        backtrace()
    ));
}

fn backtrace() -> String {
    let trace = std::backtrace::Backtrace::capture();
    match trace.status() {
        std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
        _ => String::new(),
    }
}

/// Runs `body`; if it panics, the answer is `otherwise()` instead, which must be trivial.
pub fn guard<T>(body: impl FnOnce() -> T, otherwise: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        // Dropping the payload could panic in turn; a leak of one message is the lesser evil.
        std::mem::forget(payload);
        otherwise()
    })
}

/// Runs `body`; `None` if it panics.
pub fn attempt<T>(body: impl FnOnce() -> T) -> Option<T> {
    guard(|| Some(body()), || None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_declared_answer() {
        assert_eq!(guard(|| 1, || 2), 1);
        assert_eq!(guard(|| panic!("on purpose"), || 2), 2);
    }
}

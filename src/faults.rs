//! Injects faults to test the panic walls, in builds with the feature `faults` only.
//!
//! The environment variable `MULTIFACTOR2_FAULTS` names a file, which is read at every point. The file holds the name of a point, which
//! then panics each time it is passed, or `name:n`, for the n-th time only. A `!` at the end kills the process instead. The released plugin
//! has neither the variable nor the points: [`point`] is empty there.

#[cfg(feature = "faults")]
mod armed {
    use std::fs;
    use std::panic::Location;

    use once_cell::sync::Lazy;
    use parking_lot::Mutex;

    /// What the file said last, and how often the point was passed since.
    static ORDER: Lazy<Mutex<(String, u32)>> = Lazy::new(Mutex::default);

    /// Panics here if the file says so.
    ///
    /// # Panics
    /// That is its purpose. With `!` the process ends as if it were killed.
    #[track_caller]
    pub fn point(name: &str) {
        let Some(file) = std::env::var_os("MULTIFACTOR2_FAULTS") else { return };
        let Ok(order) = fs::read_to_string(file) else { return };
        let (order_name, kill) = match order.trim().strip_suffix('!') {
            Some(name) => (name, true),
            None => (order.trim(), false),
        };
        let (wanted, nth) = match order_name.split_once(':') {
            Some((wanted, nth)) => (wanted, nth.parse().unwrap_or(1)),
            None => (order_name, 0),
        };
        if wanted != name {
            return;
        }
        let passed = {
            let mut last = ORDER.lock();
            if last.0 != order {
                *last = (order.clone(), 0);
            }
            last.1 += 1;
            last.1
        };
        if kill && (nth == 0 || nth == passed) {
            std::process::abort();
        }
        assert!(nth != 0 && nth != passed, "fault {name} on purpose, at {}", Location::caller());
    }
}

#[cfg(feature = "faults")]
pub use armed::point;

/// Does nothing in this build.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn point(_name: &str) {}

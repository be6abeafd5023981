//! Shows the progress of replays on a terminal, and handles Ctrl-C: the first ends with the results so far, the second ends at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level, SigId};

use crate::progress::ProgressLine;

/// The line on the terminal that shows how far replays are.
pub struct Watch {
    stopped: Arc<AtomicBool>,
    signals: Vec<SigId>,
    replays: AtomicUsize,
    /// Replays that are done, with parts, and where that is shown.
    done: Mutex<(f64, ProgressLine)>,
}

const WIDTH: usize = 30;

impl Watch {
    /// Of this number of replays.
    pub fn new(replays: usize) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        // In this order: the second Ctrl-C finds what the first has set.
        let signals = [
            flag::register_conditional_default(SIGINT, Arc::clone(&stopped)),
            flag::register(SIGINT, Arc::clone(&stopped)),
        ];
        Self {
            stopped,
            // Without them Ctrl-C ends the program, as ever.
            signals: signals.into_iter().flatten().collect(),
            replays: AtomicUsize::new(replays),
            done: Mutex::new((0.0, ProgressLine::begin())),
        }
    }

    /// Somebody has pressed Ctrl-C.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// This number of further replays will follow.
    pub fn expect(&self, replays: usize) {
        self.replays.fetch_add(replays, Ordering::Relaxed);
    }

    /// Another part of a replay is done.
    #[allow(clippy::cast_precision_loss)] // a count of replays
    pub fn add(&self, part: f64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += part;
        let part = done.0 / self.replays.load(Ordering::Relaxed).max(1) as f64;
        done.1.show(|passed| bar(part, passed));
    }

    /// Ctrl-C ends the program again; the bar goes.
    pub fn finish(self) {
        for signal in &self.signals {
            low_level::unregister(*signal);
        }
    }
}

/// A part from 0 to 1, and what is left by it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // parts of a bar
fn bar(part: f64, passed: Duration) -> String {
    let part = part.clamp(0.0, 1.0);
    let full = (part * WIDTH as f64) as usize;
    let left = if part > 0.0 { passed.as_secs_f64() * (1.0 - part) / part } else { 0.0 };
    let left = left.ceil() as u64;
    let time = match left {
        _ if part == 0.0 => String::new(),
        0..=59 => format!(", {left} s left"),
        60..=3599 => format!(", {} min {} s left", left / 60, left % 60),
        _ => format!(", {} h {} min left", left / 3600, left / 60 % 60),
    };
    format!(
        "[{}{}] {:>3.0} %{time} (Ctrl-C: stop and report)",
        "#".repeat(full),
        " ".repeat(WIDTH - full),
        100.0 * part
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_how_long_it_takes() {
        assert!(bar(0.0, Duration::from_secs(5)).contains("  0 % ("));
        assert!(bar(0.25, Duration::from_secs(40)).contains(" 25 %, 2 min 0 s left"));
        assert!(bar(2.0, Duration::from_secs(40)).contains("100 %, 0 s left"));
    }
}

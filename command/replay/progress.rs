//! How far replays are, on a terminal, and Ctrl-C: the first ends with what there is, the second ends at once.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level, SigId};

/// See the module.
pub struct Watch {
    stopped: Arc<AtomicBool>,
    signals: Vec<SigId>,
    replays: usize,
    begin: Instant,
    is_shown: bool,
    /// Replays that are done, with parts; and when that was shown last.
    done: Mutex<(f64, Option<Instant>)>,
}

/// Between two looks of the bar.
const PAUSE: Duration = Duration::from_millis(200);

const WIDTH: usize = 30;

impl Watch {
    /// Of so many replays.
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
            replays,
            begin: Instant::now(),
            is_shown: io::stderr().is_terminal(),
            done: Mutex::new((0.0, None)),
        }
    }

    /// Somebody has pressed Ctrl-C.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// So much of a replay more is done, in parts of it.
    #[allow(clippy::cast_precision_loss)] // a count of replays
    pub fn add(&self, part: f64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += part;
        if self.is_shown && done.1.is_none_or(|last| last.elapsed() >= PAUSE) {
            done.1 = Some(Instant::now());
            let bar = bar(done.0 / self.replays.max(1) as f64, self.begin.elapsed());
            // Nobody is the worse for a bar that cannot be shown.
            let _ = write!(io::stderr(), "\r{bar}\x1b[K");
        }
    }

    /// Clears the bar.
    pub fn finish(self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
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
        "[{}{}] {:>3.0} %{time} (Ctrl-C: end with what there is)",
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

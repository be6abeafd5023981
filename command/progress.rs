//! Shows on a terminal what is being done: one line on standard error after the first second, cleared at the end.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Who waits less needs no line.
const FIRST: Duration = Duration::from_secs(1);

/// Between two looks of the line.
const PAUSE: Duration = Duration::from_millis(200);

/// A line that is written over and over, and cleared in the end. Nothing where standard error is no terminal.
#[derive(Debug)]
pub struct ProgressLine {
    is_terminal: bool,
    since: Instant,
    last: Option<Instant>,
}

impl ProgressLine {
    /// An empty one.
    pub fn begin() -> Self {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        Self { is_terminal: io::stderr().is_terminal() && !is_dumb, since: Instant::now(), last: None }
    }

    /// Shows what it is given since the beginning, if it is time to.
    pub fn show(&mut self, text: impl FnOnce(Duration) -> String) {
        let passed = self.since.elapsed();
        if self.is_terminal && passed >= FIRST && self.last.is_none_or(|last| last.elapsed() >= PAUSE) {
            self.last = Some(Instant::now());
            // Nobody is the worse for a line that cannot be shown.
            let _ = write!(io::stderr(), "\r{}\x1b[K", text(passed));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Steps, each shown with the time since the beginning.
#[derive(Debug)]
pub struct Progress {
    step: Arc<Mutex<String>>,
    /// Its end stops the thread.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Of what is done from now on.
    pub fn begin() -> Self {
        let mut line = ProgressLine::begin();
        let step = Arc::new(Mutex::new(String::new()));
        let (end, ended) = mpsc::channel();
        let shown = Arc::clone(&step);
        let thread = line.is_terminal.then(|| {
            thread::spawn(move || {
                while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    let step = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    if !step.is_empty() {
                        line.show(|passed| format!("{step}, {} s", passed.as_secs()));
                    }
                }
            })
        });
        Self { step, end: Some(end), thread }
    }

    /// This is what is done now.
    pub fn step(&self, text: impl Into<String>) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

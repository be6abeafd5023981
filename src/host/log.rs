//! Writes `tracing` events into Slurm's own log.
//!
//! | event | Slurm |
//! |---|---|
//! | error | `error` |
//! | warn | `info`, prefixed "warning: " |
//! | info, debug, trace | `info`, `debug`, `debug2` |
//! | target [`PRIORITY`], info | `info` with the prefix "PRIO: ", only while `DebugFlags=Priority` is set |
//!
//! The level is compared with what Slurm logs before any text is built, so an explanation that nobody reads costs one comparison.

use std::ffi::{c_int, c_void, CString};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use once_cell::sync::OnceCell;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{set_global_default, Interest};
use tracing::{Event, Level, Metadata, Subscriber};

use super::constants::{DEBUG_FLAG_PRIO, LOG_LEVEL_DEBUG, LOG_LEVEL_DEBUG2, LOG_LEVEL_INFO};
use super::symbols::find;
use super::Host;

/// Target of the explanations that `DebugFlags=Priority` turns on.
pub const PRIORITY: &str = "priority";

/// `LOG_LEVEL_*` of Slurm.
const INFO: c_int = LOG_LEVEL_INFO;
const DEBUG: c_int = LOG_LEVEL_DEBUG;
const DEBUG2: c_int = LOG_LEVEL_DEBUG2;

extern "C" {
    fn mf2_call_error(function: *mut c_void, line: *const libc::c_char);
    fn mf2_call_log(function: *mut c_void, level: c_int, line: *const libc::c_char);
}

/// The two functions that a line can go to; they are looked up on their own because a refusal is logged
/// before the rest of the host is known.
struct Sink {
    error: *mut c_void,
    log: *mut c_void,
}

// SAFETY: addresses of functions, which any thread may call.
unsafe impl Send for Sink {}
// SAFETY: as above.
unsafe impl Sync for Sink {}

static SINK: OnceCell<Sink> = OnceCell::new();

fn sink() -> &'static Sink {
    SINK.get_or_init(|| Sink { error: find(c"slurm_error"), log: find(c"slurm_log_var") })
}

/// Writes one error line to Slurm's log, whatever the state of the plugin.
pub fn error_line(text: &str) {
    write_line(None, text);
}

fn write_line(level: Option<c_int>, text: &str) {
    // A NUL can only come from bytes that somebody put into a name; the rest of the line is still worth reading.
    let line = CString::new(text.replace('\0', "?")).unwrap_or_default();
    let sink = sink();
    match level {
        // SAFETY: the host's function, a format of "%s" inside the shim and a terminated line.
        None if !sink.error.is_null() => unsafe { mf2_call_error(sink.error, line.as_ptr()) },
        // SAFETY: as above.
        Some(level) if !sink.log.is_null() => unsafe { mf2_call_log(sink.log, level, line.as_ptr()) },
        // Outside Slurm, in unit tests, there is no log to write to.
        _ => {}
    }
}

/// Makes Slurm's log the destination of all events of this shared object. Later calls change nothing.
pub fn install() {
    // An error means that it is installed already.
    let _ = set_global_default(SlurmLog);
}

/// Lets one line of a kind through until it is renewed, so that a cause which many jobs share is said once per cycle.
#[derive(Debug)]
pub struct Once(AtomicBool);

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl Once {
    /// Nothing said yet.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// True the first time.
    pub fn first(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// From here on the next one is the first again.
    pub fn renew(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

struct SlurmLog;

/// Slurm's level of an event, `None` for errors, which are always logged.
fn slurm_level(metadata: &Metadata<'_>) -> Option<c_int> {
    match *metadata.level() {
        Level::ERROR => None,
        Level::WARN | Level::INFO => Some(INFO),
        Level::DEBUG => Some(DEBUG),
        Level::TRACE => Some(DEBUG2),
    }
}

/// True while `DebugFlags=Priority` is set and somebody reads what is logged.
pub fn explains() -> bool {
    Host::get().is_some_and(|host| {
        let flag = host.conf().get(|conf| conf.debug_flags) & DEBUG_FLAG_PRIO != 0;
        // SAFETY: no arguments, no state of ours.
        flag && unsafe { (host.sym.get_log_level)() } >= INFO
    })
}

impl Subscriber for SlurmLog {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Both the log level and the debug flags change while the daemon runs.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let Some(level) = slurm_level(metadata) else { return true };
        let Some(host) = Host::get() else { return level <= INFO };
        // SAFETY: no arguments, no state of ours.
        let wanted = unsafe { (host.sym.get_log_level)() } >= level;
        wanted && (metadata.target() != PRIORITY || explains())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = LogLine(String::new());
        let metadata = event.metadata();
        line.0.push_str(match *metadata.level() {
            _ if metadata.target() == PRIORITY => "PRIO: ",
            Level::WARN => "warning: priority/multifactor2: ",
            _ => "priority/multifactor2: ",
        });
        event.record(&mut line);
        write_line(slurm_level(metadata), &line.0);
    }

    // Spans are not used: a line of Slurm's log stands for itself.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message, and other fields as ` name=value`.
struct LogLine(String);

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}

//! Writes the last good settings into `StateSaveLocation`, in a separate thread.
//!
//! slurmctld loads settings in init while it holds locks that every client waits for, so nothing is written and synced there. The thread
//! ends as soon as its settings are written. A process that is killed earlier leaves the file of the previous settings, which count only if
//! `multifactor2.conf` is bad at the next start. A regular end waits for the thread, because slurmctld then writes into the same directory.

use std::path::PathBuf;

use multifactor2_accounting::kept_settings as kept;
use tracing::error;

use super::sync::{Condvar, Mutex};
use crate::host::locks::spawn;
use crate::host::panics::guard;
use crate::host::Host;

/// The file of the last good settings, and the thread that writes it.
#[derive(Debug, Default)]
pub struct KeptFile {
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The file, and what is to be in it; the newest only.
    wanted: Option<(PathBuf, String)>,
    /// A thread writes.
    is_busy: bool,
}

impl KeptFile {
    /// Has a text written into the file, soon. Waits for nothing.
    pub fn keep(&'static self, host: &'static Host, file: PathBuf, text: String) {
        {
            let mut state = self.state.lock();
            state.wanted = Some((file, text));
            if std::mem::replace(&mut state.is_busy, true) {
                return;
            }
        }
        if let Err(problem) = spawn(host, "settings", |_| self.write()) {
            self.state.lock().is_busy = false;
            error!(
                "the last good settings are not saved: cannot start a thread: {problem}. Raise the task limit of \
                 slurmctld's service"
            );
        }
    }

    /// On the thread: writes what is wanted until there is nothing more.
    fn write(&self) {
        loop {
            let (file, text) = {
                let mut state = self.state.lock();
                let Some(wanted) = state.wanted.take() else {
                    state.is_busy = false;
                    self.idle.notify_all();
                    return;
                };
                wanted
            };
            guard(
                || {
                    match kept::keep(&file, &text) {
                        Ok(None) => (),
                        Ok(Some(damage)) => error!("{damage}. It has been rewritten"),
                        Err(problem) => error!(
                            "cannot save {}: {problem}. Free space or correct the permissions of \
                             StateSaveLocation: without this file, slurmctld does not start if multifactor2.conf \
                             has errors",
                            file.display()
                        ),
                    }
                },
                || (),
            );
        }
    }

    /// Waits until everything is written.
    pub fn finish(&self) {
        let mut state = self.state.lock();
        while state.is_busy {
            self.idle.wait(&mut state);
        }
    }
}

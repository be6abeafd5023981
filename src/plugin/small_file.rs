//! Small files next to the state file: the notes of one slurmctld for the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::config::Config;
use super::progress::own_usage::replace;
use crate::host::log::Once;

/// The file of a name, where there is a place for files.
pub fn path(config: &Config, name: &str) -> Option<PathBuf> {
    config.state_file.as_deref().map(|file: &Path| file.with_file_name(name))
}

/// Why something may have been changed by somebody else than slurmctld's user and root.
pub enum Foreign {
    /// It belongs to this user.
    Owner(u32),
    /// Its group, or everybody, may write it.
    Writers,
}

/// Whether a file or directory with this owner and mode is foreign.
pub fn foreign(uid: u32, mode: u32) -> Option<Foreign> {
    match uid {
        uid if uid != 0 && uid != geteuid().as_raw() => Some(Foreign::Owner(uid)),
        _ => (mode & 0o022 != 0).then_some(Foreign::Writers),
    }
}

/// What a file holds; `None` if it does not exist.
///
/// # Errors
/// Why it cannot be used, as a phrase.
pub fn read<T>(file: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    match fs::read(file) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| "it is not text".to_owned())
            .and_then(|text| parse(&text))
            .map(Some),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem.to_string()),
    }
}

/// Writes a file. `failing` is that it could not be written before, until it can.
///
/// # Errors
/// It cannot be written; with the cause where that is to be said.
pub fn write(file: &Path, text: &str, failing: &Once) -> Result<(), Option<io::Error>> {
    match replace(file, text) {
        Ok(()) => {
            failing.renew();
            Ok(())
        }
        Err(problem) => Err(failing.first().then_some(problem)),
    }
}

//! Reads the numbers of the accounting, which `multifactor2 grants --reconcile` leaves next to the ledger.
//!
//! They decide who has exceeded a grant. So the file is taken only if nobody but slurmctld's user and root can have written it: a regular
//! file with one name, in a directory of theirs. A problem is reported once, and the numbers in force stay.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use multifactor2_core::rules::grants::correction::{Correction, Refused, EXTENSION, MOST_BYTES};
use tracing::{info, warn};

use super::{file_of, Grants};
use crate::faults;
use crate::plugin::small_file::{foreign, Foreign};

/// What tells a file from the one before.
pub type Identity = (u64, u64, i64, i64, u64);

fn identity(about: &Metadata) -> Identity {
    (about.dev(), about.ino(), about.ctime(), about.ctime_nsec(), about.size())
}

impl Grants {
    /// Looks whether there is a new correction, and takes it. No lock of slurmctld's is held: this waits for the file system.
    pub fn correct(&self, state_file: Option<&Path>) {
        faults::point("grants.correct");
        let Some(ledger) = state_file.map(file_of) else { return };
        let file = ledger.with_extension(EXTENSION);
        // Nearly always there is none, or the one from before.
        let Ok(about) = fs::symlink_metadata(&file) else { return };
        let identity = identity(&about);
        if self.0.lock().seen == Some(identity) {
            return;
        }
        let read = read(&file);
        let mut state = self.0.lock();
        state.seen = Some(identity);
        let Some(kept) = &mut state.ledger else { return };
        let taken = read.and_then(|correction| match kept.correct(&correction) {
            Ok(count) => Ok(Some((count, correction.at))),
            Err(Refused::Known) => Ok(None),
            Err(Refused::Because(why)) => Err(why),
        });
        state.is_unsaved = true;
        drop(state);
        match taken {
            Ok(Some((count, at))) => {
                info!(
                    "{}: loaded the usage of grants from the accounting as of {at}, {count} periods",
                    file.display()
                );
            }
            Ok(None) => (),
            Err(why) => warn!(
                "{} is not used: {why}. The known usage of grants stays as it is; run 'multifactor2 grants \
                 --reconcile' again",
                file.display()
            ),
        }
    }
}

/// What is in it, where nobody else can have written it.
fn read(file: &Path) -> Result<Correction, String> {
    let failed = |error: io::Error| error.to_string();
    let directory = fs::metadata(file.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
    // Neither a link is followed, nor is a pipe waited for.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file);
    let opened = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => "it is a symbolic link".to_owned(),
        _ => error.to_string(),
    })?;
    let about = opened.metadata().map_err(failed)?;
    for (what, about) in [("its directory", &directory), ("it", &about)] {
        match foreign(about.uid(), about.mode()) {
            None => (),
            Some(Foreign::Owner(uid)) => {
                return Err(format!(
                    "{what} belongs to user {uid}, not to root or the user that slurmctld runs as"
                ))
            }
            Some(Foreign::Writers) => {
                return Err(format!(
                    "group or others can write to {what}: remove that permission with chmod go-w"
                ))
            }
        }
    }
    if !about.is_file() || about.nlink() != 1 {
        return Err("it is not a regular file, or has more than one name".to_owned());
    }
    if about.size() > MOST_BYTES {
        return Err(format!("it has {} bytes, at most {MOST_BYTES} are allowed", about.size()));
    }
    let mut text = String::new();
    opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    Correction::parse(&text)
}

//! The file of a snapshot: nobody sees half of one, or one that is not theirs to see.
//!
//! All names are looked up below one handle of the directory, so that nothing can be put in their way meanwhile.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    fchmod, fchown, fstat, open, openat, renameat, statat, unlinkat, AtFlags, FileType, Gid, Mode, OFlags,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::faults;

/// What is written at once, and between two looks whether somebody wants it to end.
const PIECE: usize = 1 << 16;

/// Who may read the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readers {
    /// `SnapshotMode`
    pub mode: u32,
    /// `SnapshotGroup`
    pub group: Option<u32>,
}

/// Why there is no new file. The one before, if any, is as it was.
#[derive(Debug)]
pub enum Trouble {
    /// Somebody waits for the thread to end.
    Stopped,
    /// What is wrong, and what to do.
    Problem(String),
}

impl Trouble {
    fn of(path: &Path, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::Problem(format!(
            "Snapshot: cannot write {}: {error}. Make room, or mend path and permissions",
            path.display()
        ))
    }
}

/// Stops the writing when it is to end.
struct Stoppable<'s, S> {
    file: File,
    stops: &'s S,
}

impl<S: Fn() -> bool> Write for Stoppable<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.stops)() {
            // Not `ErrorKind::Interrupted`, which is tried again.
            return Err(io::Error::from(Errno::CANCELED));
        }
        self.file.write(&bytes[..bytes.len().min(PIECE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The directory that the file is in, if nobody but its owner, who is slurmctld's user or root, can write there.
fn open_directory(path: &Path) -> Result<OwnedFd, Trouble> {
    let refuse = |why: &str| {
        Trouble::Problem(format!(
            "Snapshot: {} {why}: nothing is written. Name a file in a directory that belongs to SlurmUser or root, and that nobody else can write",
            path.display()
        ))
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match open(path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(refuse("is no directory, or a symbolic link")),
        Err(error) => return Err(Trouble::of(path, error)),
    };
    let about = fstat(&directory).map_err(|error| Trouble::of(path, error))?;
    if about.st_uid != 0 && about.st_uid != geteuid().as_raw() {
        return Err(refuse(&format!("belongs to the user with the number {}", about.st_uid)));
    }
    if about.st_mode & 0o022 != 0 {
        return Err(refuse("can be written by its group or by everybody"));
    }
    Ok(directory)
}

/// Writes a file with what `write` gives, in place of the one that is there.
///
/// # Errors
/// There is no new file. Nothing else is left behind, as far as the system lets that be taken away.
pub fn replace<S: Fn() -> bool>(
    path: &Path,
    readers: Readers,
    stops: &S,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Trouble> {
    // The settings say that it has both.
    let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let directory = open_directory(parent)?;
    match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile => {
            return Err(Trouble::Problem(format!(
                "Snapshot: {} is there and no file: nothing is written. Take it away, or name another path",
                path.display()
            )));
        }
        _ => (),
    }
    let mut new = std::ffi::OsString::from(".");
    new.push(name);
    new.push(".new");
    let shown: PathBuf = parent.join(&new);
    // What a process that was killed has left there. Whatever else is in the way is noticed when the file is made.
    let _ = unlinkat(&directory, &new, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&directory, &new, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|error| Trouble::of(&shown, error))?;
    let written = fill(file, &shown, readers, stops, write).and_then(|()| {
        faults::point("snapshot.rename");
        renameat(&directory, &new, &directory, name).map_err(|error| Trouble::of(path, error))
    });
    if written.is_err() {
        let _ = unlinkat(&directory, &new, AtFlags::empty());
    }
    written
}

/// Gives the file to its readers first, and then its content.
fn fill<S: Fn() -> bool>(
    file: OwnedFd,
    shown: &Path,
    readers: Readers,
    stops: &S,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Trouble> {
    if let Some(group) = readers.group {
        fchown(&file, None, Some(Gid::from_raw(group))).map_err(|error| match error {
            Errno::PERM => Trouble::Problem(format!(
                "Snapshot: cannot give {} to the group with the number {group}: nothing is written. Make SlurmUser a member of SnapshotGroup",
                shown.display()
            )),
            other => Trouble::of(shown, other),
        })?;
    }
    fchmod(&file, Mode::from_raw_mode(readers.mode)).map_err(|error| Trouble::of(shown, error))?;
    let mut out = BufWriter::with_capacity(PIECE, Stoppable { file: file.into(), stops });
    let written = write(&mut out).and_then(|()| out.flush());
    // What is left in it is of no use after an error.
    let _ = out.into_parts();
    match written {
        _ if stops() => Err(Trouble::Stopped),
        Ok(()) => Ok(()),
        Err(error) => Err(Trouble::of(shown, error)),
    }
}

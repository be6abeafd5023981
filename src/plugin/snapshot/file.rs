//! Writes the file of a snapshot so that nobody sees half of one, or one that they must not see.
//!
//! All names are looked up below one handle of the directory, so that nobody can put anything in their way meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    fchmod, fchown, fstat, open, openat, renameat, statat, unlinkat, AtFlags, Dir, FileType, Gid, Mode,
    OFlags, CWD,
};
use rustix::io::Errno;
use rustix::process::{test_kill_process, Pid};

use crate::faults;
use crate::plugin::small_file::{foreign, Foreign};

/// What is written at once, and between two looks whether somebody wants it to end.
const PIECE: usize = 1 << 16;

/// Who may read the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readers {
    /// The setting that names the file, for what is said of it.
    pub setting: &'static str,
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
    fn of(setting: &str, path: &Path, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::Problem(format!(
            "{setting}: cannot write {}: {error}. Free space, or correct the path or its permissions",
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
fn open_directory(setting: &str, path: &Path) -> Result<OwnedFd, Trouble> {
    let refuse = |why: &str| {
        Trouble::Problem(format!(
            "{setting}: {} {why}: nothing is written. Name a file in a directory that belongs to SlurmUser or root \
             and that nobody else can write to",
            path.display()
        ))
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match open(path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(refuse("is not a directory, or is a symbolic link")),
        Err(error) => return Err(Trouble::of(setting, path, error)),
    };
    let about = fstat(&directory).map_err(|error| Trouble::of(setting, path, error))?;
    match foreign(about.st_uid, about.st_mode) {
        None => Ok(directory),
        Some(Foreign::Owner(uid)) => Err(refuse(&format!("belongs to the user with UID {uid}"))),
        Some(Foreign::Writers) => Err(refuse("is writable by its group or by everybody")),
    }
}

/// The name of a new file, which no other thread and no other process has: one that hangs may be left behind, and takes its own away when
/// it goes on.
fn new_name(name: &OsStr) -> OsString {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut new = OsString::from(".");
    new.push(name);
    new.push(format!(".{}-{number}.new", std::process::id()));
    new
}

/// The process that a new file of the name `name` is of; `None` for other files.
fn maker(file: &[u8], name: &OsStr) -> Option<i32> {
    let rest = file.strip_prefix(b".")?.strip_prefix(name.as_bytes())?;
    let (process, number) =
        std::str::from_utf8(rest.strip_prefix(b".")?.strip_suffix(b".new")?).ok()?.split_once('-')?;
    number.parse::<u32>().ok()?;
    process.parse().ok()
}

/// Takes away what processes have left that were killed.
fn sweep(directory: impl AsFd, name: &OsStr) {
    let Ok(files) = Dir::read_from(&directory) else { return };
    for file in files.flatten() {
        let maker = maker(file.file_name().to_bytes(), name).and_then(Pid::from_raw);
        if maker.is_some_and(|maker| test_kill_process(maker) == Err(Errno::SRCH)) {
            let _ = unlinkat(&directory, file.file_name(), AtFlags::empty());
        }
    }
}

/// The directory that a file is in, and its name there, if what has that name is one of ours to replace, or nothing has it.
fn place_of<'p>(setting: &str, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), Trouble> {
    // The settings say that it has both.
    let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let directory = open_directory(setting, parent)?;
    match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile => {
            Err(Trouble::Problem(format!(
                "{setting}: {} exists and is not a regular file: nothing is written. Remove it, or name another path",
                path.display()
            )))
        }
        _ => Ok((directory, name)),
    }
}

/// Takes a file away that more people can read than should.
///
/// # Errors
/// It stays.
pub fn take_away(setting: &str, path: &Path) -> Result<(), Trouble> {
    if statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT) {
        return Ok(());
    }
    let (directory, name) = place_of(setting, path)?;
    match unlinkat(&directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(Trouble::Problem(format!(
            "{setting}: cannot remove {}: {error}. Remove it yourself",
            path.display()
        ))),
    }
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
    let setting = readers.setting;
    let (directory, name) = place_of(setting, path)?;
    sweep(&directory, name);
    let new = new_name(name);
    // What one of the same number has left that was killed. Whatever else is in the way is noticed when the file is made.
    let _ = unlinkat(&directory, &new, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&directory, &new, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|error| Trouble::of(setting, path, error))?;
    let _unfinished = Unfinished { directory: &directory, name: &new };
    fill(file, path, readers, stops, write)?;
    faults::point("snapshot.rename");
    renameat(&directory, &new, &directory, name).map_err(|error| Trouble::of(setting, path, error))
}

/// A new file, which is taken away unless it has got another name; after a panic, too.
struct Unfinished<'f> {
    directory: &'f OwnedFd,
    name: &'f OsStr,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(self.directory, self.name, AtFlags::empty());
    }
}

/// Gives the file to its readers first, and then its content.
fn fill<S: Fn() -> bool>(
    file: OwnedFd,
    path: &Path,
    readers: Readers,
    stops: &S,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Trouble> {
    let setting = readers.setting;
    if let Some(group) = readers.group {
        fchown(&file, None, Some(Gid::from_raw(group))).map_err(|error| match error {
            Errno::PERM => Trouble::Problem(format!(
                "{setting}: cannot give {} to the group with GID {group}: nothing is written. Make SlurmUser a \
                 member of SnapshotGroup",
                path.display()
            )),
            other => Trouble::of(setting, path, other),
        })?;
    }
    fchmod(&file, Mode::from_raw_mode(readers.mode)).map_err(|error| Trouble::of(setting, path, error))?;
    let mut out = BufWriter::with_capacity(PIECE, Stoppable { file: file.into(), stops });
    let written = write(&mut out).and_then(|()| out.flush());
    // What is left in it is of no use after an error.
    let _ = out.into_parts();
    match written {
        _ if stops() => Err(Trouble::Stopped),
        Ok(()) => Ok(()),
        Err(error) => Err(Trouble::of(setting, path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_of_others_are_known_by_their_names_and_only_those_of_the_dead_go() {
        let name = OsStr::new("snapshot");
        let (one, other) = (new_name(name), new_name(name));
        assert_ne!(one, other, "two lives in one process");
        assert_eq!(maker(one.as_bytes(), name), i32::try_from(std::process::id()).ok());
        for file in
            [".snapshot.new", ".snapshot.7.new", ".snapshot.7-.new", ".snapshot2.7-1.new", "snapshot.7-1.new"]
        {
            assert_eq!(maker(file.as_bytes(), name), None, "{file}");
        }
        let directory = tempfile::tempdir().unwrap();
        // No process has so high a number.
        let dead = directory.path().join(format!(".snapshot.{}-1.new", i32::MAX));
        let living = directory.path().join(&one);
        for file in [&dead, &living] {
            std::fs::write(file, "left").unwrap();
        }
        sweep(open_directory("Snapshot", directory.path()).unwrap(), name);
        assert!(!dead.exists() && living.exists());
    }
}

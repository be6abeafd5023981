//! Writes files whole or not at all: first under another name in the same directory, then renamed. Meanwhile a reader sees the old one.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{fchown, DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Only its owner can read it.
const PRIVATE: u32 = 0o600;

/// Writes a file in the place of the one that is there, with this mode. `None`: with the mode of that one, else as the umask says.
///
/// A link is replaced, not followed. A pipe, a device and what is in `/dev` (such as `/dev/stdout`) gets the bytes as they are.
///
/// # Errors
/// What the file system says, and what to do. Nothing is left then.
pub fn write(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Error> {
    write_with(path, mode, |file| file.write_all(bytes))
}

/// The same of what a function writes bit by bit, where it is too much to be kept.
///
/// # Errors
/// As with [`write`].
pub fn write_with(
    path: &Path,
    mode: Option<u32>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let written = if is_stream(path) { append(path, content) } else { replace(path, content, mode, None) };
    written.map_err(|error| cannot_be_written(path, &error))
}

/// Puts a file in the place of whatever has its name, also of a link, a pipe or a device: readable by its owner only, who may be another.
///
/// # Errors
/// As with [`write`].
pub fn replace_private(path: &Path, bytes: &[u8], owner: Option<(u32, u32)>) -> Result<(), Error> {
    let written = replace(path, |file| file.write_all(bytes), Some(PRIVATE), owner);
    written.map_err(|error| cannot_be_written(path, &error))
}

/// What must not be renamed over.
fn is_stream(path: &Path) -> bool {
    path.starts_with("/dev") || fs::metadata(path).is_ok_and(|about| !about.is_file())
}

fn append(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    content(&mut OpenOptions::new().append(true).open(path)?)
}

fn replace(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    mode: Option<u32>,
    owner: Option<(u32, u32)>,
) -> io::Result<()> {
    let before = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let mode = mode.or(before.map(|before| before.permissions().mode() & 0o777));
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode.map_or(0o666, |mode| mode & PRIVATE));
    let mut name = tempfile::Builder::new();
    name.prefix(".multifactor2-").suffix(".tmp");
    let mut beside = name.make_in(directory.unwrap_or(Path::new(".")), |path| options.open(path))?;
    let file = beside.as_file_mut();
    if let Some(mode) = mode {
        // The umask does not count.
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    if let Some((uid, gid)) = owner {
        fchown(&*file, Some(uid), Some(gid))?;
    }
    let mut buffered = BufWriter::new(&mut *file);
    content(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    // Only now some file systems say that there is no room.
    file.sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn cannot_be_written(path: &Path, error: &io::Error) -> Error {
    let next = match error.kind() {
        io::ErrorKind::NotFound => "make its directory, or choose another file",
        io::ErrorKind::PermissionDenied => "choose a file that you may write",
        _ => "make room there, or choose another file",
    };
    Error::Output(format!("{} cannot be written: {error}: {next}", path.display()))
}

/// A directory of files that only their owner can read. Unless it is [finished](Self::finish), all of it goes again.
#[derive(Debug)]
pub struct NewDirectory {
    path: PathBuf,
    is_new: bool,
    written: Vec<PathBuf>,
    is_finished: bool,
}

impl NewDirectory {
    /// Makes one, or takes one that is empty.
    ///
    /// # Errors
    /// If there is something in it already, or it cannot be made.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let is_new = match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(cannot_be_written(path, &error)),
        };
        let directory = Self { path: path.to_owned(), is_new, written: Vec::new(), is_finished: false };
        let mut entries = fs::read_dir(path).map_err(|error| Error::of_output(path, &error))?;
        if entries.next().is_some() {
            return Err(Error::Output(format!(
                "{}: it is not empty: name a directory that does not exist yet",
                path.display()
            )));
        }
        Ok(directory)
    }

    /// Writes a file in it.
    ///
    /// # Errors
    /// As [`write`].
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path.join(name);
        write(&path, bytes, Some(PRIVATE))?;
        self.written.push(path);
        Ok(())
    }

    /// All is written.
    pub fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // What cannot be removed stays: the error that is told is the first one.
        for path in &self.written {
            let _ = fs::remove_file(path);
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Writes a text as [`write`] does.
///
/// # Errors
/// As there.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write(path, text.as_bytes(), None)
}

//! `priority_last_decay_ran` in `StateSaveLocation`: when the last cycle ran and when usage was last reset, two
//! 64-bit times in network byte order. Stock priority/multifactor reads and writes the same file.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of the file.
const SIZE: usize = 16;

/// What the file holds, seconds since the epoch; 0 means never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When the last cycle ran: usage up to then is charged and decayed.
    pub last_ran: i64,
    /// When usage was last reset.
    pub last_reset: i64,
}

/// What reading the file gave.
#[derive(Debug)]
pub enum Saved {
    /// Both times.
    Complete(Times),
    /// No file, or an empty one: a new cluster.
    None,
    /// A file that ends too early, with what it still had.
    Damaged(Times, Damage),
}

/// A state file that cannot be used as it is.
#[derive(Debug)]
pub struct Damage {
    file: PathBuf,
    size: usize,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} has {} bytes, {SIZE} expected. Restore it from {}.old, or start slurmctld with -i to go on without: the \
             time since the last cycle is then not decayed, and running jobs are charged from their start again",
            self.file.display(),
            self.size,
            self.file.display()
        )
    }
}

/// The file within `StateSaveLocation`; `None` where that is /dev/null.
pub fn path(directory: &str) -> Option<PathBuf> {
    (directory != "/dev/null").then(|| Path::new(directory).join("priority_last_decay_ran"))
}

/// Reads the file.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read(file: &Path) -> io::Result<Saved> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Saved::None),
        Err(error) => return Err(error),
    };
    let time = |at: usize| {
        let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(i64::from_be_bytes(bytes))
    };
    let times = Times { last_ran: time(0).unwrap_or_default(), last_reset: time(8).unwrap_or_default() };
    Ok(match bytes.len() {
        0 => Saved::None,
        size if size < SIZE => Saved::Damaged(times, Damage { file: file.to_owned(), size }),
        _ => Saved::Complete(times),
    })
}

/// Replaces the file, keeping the one before as `.old`; at no moment is there no complete file.
///
/// # Errors
/// What the file system said; the file before is still there then.
pub fn write(file: &Path, times: Times) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let (old, new) = (file.with_extension("old"), file.with_extension("new"));
    let mut bytes = [0; SIZE];
    bytes[..8].copy_from_slice(&times.last_ran.to_be_bytes());
    bytes[8..].copy_from_slice(&times.last_reset.to_be_bytes());
    let written = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new).and_then(
        |mut target| {
            target.write_all(&bytes)?;
            target.sync_all()
        },
    );
    if let Err(error) = written {
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    // The copy of the file before is a convenience: there is none the first time.
    let _ = fs::remove_file(&old);
    if fs::hard_link(file, &old).is_err() {
        let _ = fs::copy(file, &old);
    }
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_and_the_file_before_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = path(directory.path().to_str().unwrap()).unwrap();
        assert!(matches!(read(&file).unwrap(), Saved::None));
        let first = Times { last_ran: 1_795_262_400, last_reset: 17 };
        write(&file, first).unwrap();
        write(&file, Times { last_ran: 1_795_262_700, ..first }).unwrap();
        assert!(matches!(read(&file).unwrap(), Saved::Complete(times) if times.last_ran == 1_795_262_700));
        assert!(
            matches!(read(&file.with_extension("old")).unwrap(), Saved::Complete(times) if times == first)
        );
        assert_eq!(fs::read(&file).unwrap()[..8], 1_795_262_700_i64.to_be_bytes());
        assert!(!file.with_extension("new").exists());
    }

    #[test]
    fn short_files_are_damaged_and_empty_ones_are_none() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("priority_last_decay_ran");
        fs::write(&file, []).unwrap();
        assert!(matches!(read(&file).unwrap(), Saved::None));
        for size in 1..SIZE {
            fs::write(&file, vec![0; size]).unwrap();
            let Saved::Damaged(_, damage) = read(&file).unwrap() else {
                panic!("{size} bytes are complete?")
            };
            assert!(damage.to_string().contains(&format!("has {size} bytes, 16 expected")));
        }
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error_and_nothing_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("gone/priority_last_decay_ran");
        assert!(write(&file, Times::default()).is_err());
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none());
    }
}

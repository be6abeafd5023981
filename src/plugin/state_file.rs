//! `priority_last_decay_ran` in `StateSaveLocation`: when the last cycle ran and when usage was last reset, two
//! 64-bit times in network byte order. Stock priority/multifactor reads and writes the same file; it ignores
//! what follows here, the same two times of the cycles before (see [`super::times`]).

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Bytes that the file has at least.
const SIZE: usize = 16;

/// The end of the year 9999. What is later is not a time.
const LATEST: i64 = 253_402_300_799;

/// What the file holds of one cycle, seconds since the epoch; 0 means never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When the last cycle ran: usage up to then is charged and decayed.
    pub last_ran: i64,
    /// When usage was last reset.
    pub last_reset: i64,
}

impl Times {
    fn of(bytes: [u8; SIZE]) -> Self {
        let number = u128::from_be_bytes(bytes);
        // Two halves, each a signed number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
        let (last_ran, last_reset) = ((number >> 64) as u64 as i64, number as u64 as i64);
        Self { last_ran, last_reset }
    }

    fn bytes(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&self.last_ran.to_be_bytes());
        bytes[8..].copy_from_slice(&self.last_reset.to_be_bytes());
        bytes
    }
}

/// What reading the file gave.
#[derive(Debug)]
pub enum Saved {
    /// The times of the last cycle and of those before it, newest first; at least one.
    Complete(Vec<Times>),
    /// No file, or an empty one: a new cluster.
    None,
    /// Not the file that it should be, with what can be used of it.
    Damaged(Times, Damage),
}

/// A state file that cannot be used as it is.
#[derive(Debug)]
pub struct Damage {
    file: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    /// It ends too early.
    Size(usize),
    /// A number that is not a time.
    Time(i64),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.what {
            What::Size(size) => write!(f, "{file} has {size} bytes, {SIZE} expected")?,
            What::Time(time) => {
                write!(f, "{file} says {time} where seconds since 1970 are expected, 0 to {LATEST}")?;
            }
        }
        write!(
            f,
            ". Restore it from {file}.old, or start slurmctld with -i to go on from the time at which slurmctld saved \
             usage last"
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
    match fs::read(file) {
        Ok(bytes) => Ok(parse(file, &bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Saved::None),
        Err(error) => Err(error),
    }
}

/// What the bytes of the file mean; its name is for messages.
pub fn parse(file: &Path, bytes: &[u8]) -> Saved {
    let damaged = |times, what| Saved::Damaged(times, Damage { file: file.to_owned(), what });
    let mut entries = bytes.chunks_exact(SIZE).filter_map(|chunk| chunk.try_into().ok().map(Times::of));
    let Some(newest) = entries.next() else {
        return match bytes.len() {
            0 => Saved::None,
            size => damaged(Times::default(), What::Size(size)),
        };
    };
    let is_time = |time: &i64| (0..=LATEST).contains(time);
    if let Some(wrong) = [newest.last_ran, newest.last_reset].into_iter().find(|time| !is_time(time)) {
        let kept = |time| if is_time(&time) { time } else { 0 };
        let times = Times { last_ran: kept(newest.last_ran), last_reset: kept(newest.last_reset) };
        return damaged(times, What::Time(wrong));
    }
    let before = entries.take_while(|times| is_time(&times.last_ran) && is_time(&times.last_reset));
    Saved::Complete(std::iter::once(newest).chain(before).collect())
}

/// Replaces the file, keeping the one before as `.old`; at no moment is there no complete file.
///
/// # Errors
/// What the file system said; the file before is still there then.
pub fn write(file: &Path, entries: &[Times]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let (old, new) = (file.with_extension("old"), file.with_extension("new"));
    let bytes: Vec<u8> = entries.iter().flat_map(|times| times.bytes()).collect();
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
        write(&file, &[first]).unwrap();
        write(&file, &[Times { last_ran: 1_795_262_700, ..first }, first]).unwrap();
        assert!(
            matches!(read(&file).unwrap(), Saved::Complete(times) if times.len() == 2 && times[0].last_ran == 1_795_262_700)
        );
        assert!(
            matches!(read(&file.with_extension("old")).unwrap(), Saved::Complete(times) if times == [first])
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
        assert!(write(&file, &[Times::default()]).is_err());
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none());
    }

    #[test]
    fn what_is_not_a_time_is_damage_and_the_other_time_is_kept() {
        let file = Path::new("priority_last_decay_ran");
        for (bytes, wrong, kept) in [
            ([i64::to_be_bytes(-1), i64::to_be_bytes(17)].concat(), "-1", [0, 17]),
            ([i64::to_be_bytes(17), i64::to_be_bytes(LATEST + 1)].concat(), "253402300800", [17, 0]),
            (b"usage usage usage".to_vec(), &i64::from_be_bytes(*b"usage us").to_string(), [0, 0]),
        ] {
            let Saved::Damaged(times, damage) = parse(file, &bytes) else { panic!("{bytes:?} is complete?") };
            assert!(damage.to_string().contains(wrong), "{damage}");
            assert_eq!([times.last_ran, times.last_reset], kept);
        }
    }

    #[test]
    fn what_follows_the_first_two_times_may_be_anything() {
        let file = Path::new("priority_last_decay_ran");
        let of = |numbers: &[i64]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
        for (numbers, entries) in [(&[5, 1, 4, 1][..], 2), (&[5, 1, -4, 1, 3, 1], 1), (&[5, 1, 4], 1)] {
            let Saved::Complete(times) = parse(file, &of(numbers)) else { panic!("{numbers:?} is damaged?") };
            assert_eq!((times.len(), times[0].last_ran), (entries, 5));
        }
    }
}

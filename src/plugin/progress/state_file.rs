//! `priority_last_decay_ran` in `StateSaveLocation`: up to when usage is charged and decayed, and when it was last reset.
//!
//! The file begins with two 64-bit times in network byte order, as stock priority/multifactor reads and writes it. Stock ignores what
//! follows:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 15 | the times to go on from, for stock |
//! | 16 to 31 | the times that slurmctld's saved usage includes, for versions of ours that know only pairs of times |
//! | 32 to 47 | [`MARK`], which is no time: those versions stop here |
//! | 48 to 79 | [`History`]: the times of the newest cycle, and those that the saved usage includes |
//! | 80 to 111 | [`History`]: whether usage had been saved; when, its size and its hash |

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::history::{History, Times, SIZE};
use super::saved_usage::SavedUsage;

/// Begins our own part.
const MARK: &[u8; SIZE] = b"multifactor2 v1\n";

/// The end of the year 9999. What is later is not a time.
const LATEST: i64 = 253_402_300_799;

/// What reading the file gave.
#[derive(Debug)]
pub enum Saved {
    /// What stock would go on from, and the rest of it where this version wrote the file.
    Complete(Times, Rest),
    /// No file, or an empty one: a new cluster.
    None,
    /// Not the file that it should be, with what can be used of it.
    Damaged(Times, Damage),
}

/// What follows the first two times.
#[derive(Debug, PartialEq, Eq)]
pub enum Rest {
    /// All that this version knows.
    History(History),
    /// Times of older cycles, newest first: none in a file of stock's, up to 511 in one of an early version of ours.
    Before(Vec<Times>),
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
                write!(f, "{file} has {time} where a time in seconds since 1970 is expected, 0 to {LATEST}")?;
            }
        }
        Ok(())
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
    let before: Vec<Times> =
        entries.take_while(|times| is_time(&times.last_ran) && is_time(&times.last_reset)).collect();
    let rest = own_part(&bytes[SIZE * (1 + before.len())..]).filter(|history| {
        [history.newest, history.base]
            .iter()
            .all(|times| is_time(&times.last_ran) && is_time(&times.last_reset))
    });
    Saved::Complete(newest, rest.map_or(Rest::Before(before), Rest::History))
}

/// The part that begins with the mark.
fn own_part(bytes: &[u8]) -> Option<History> {
    let bytes: &[u8; 5 * SIZE] = bytes.try_into().ok()?;
    let chunk = |at: usize| bytes[at * SIZE..].first_chunk().copied().unwrap_or_default();
    let word = |at: usize| bytes[at * 8..].first_chunk().copied().unwrap_or_default();
    if &chunk(0) != MARK {
        return None;
    }
    let saved = SavedUsage {
        at: i64::from_be_bytes(word(7)),
        size: u64::from_be_bytes(word(8)),
        hash: u64::from_be_bytes(word(9)),
    };
    let saved = (u64::from_be_bytes(word(6)) != 0).then_some(saved);
    Some(History { newest: Times::of(chunk(1)), base: Times::of(chunk(2)), saved })
}

/// The bytes of the file: `resume` is what stock would go on from.
pub fn bytes(resume: Times, history: &History) -> Vec<u8> {
    let History { newest, base, saved } = *history;
    let mut bytes = [resume.bytes(), base.bytes(), *MARK, newest.bytes(), base.bytes()].concat();
    let SavedUsage { at, size, hash } = saved.unwrap_or_default();
    let words =
        [u64::from(saved.is_some()).to_be_bytes(), at.to_be_bytes(), size.to_be_bytes(), hash.to_be_bytes()];
    bytes.extend(words.as_flattened());
    bytes
}

/// Writes what the file is to become into a second file. At no moment is there no complete file.
///
/// # Errors
/// What the file system said.
pub fn prepare(file: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let new = file.with_extension("new");
    let written = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new).and_then(
        |mut target| {
            target.write_all(bytes)?;
            target.sync_all()
        },
    );
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Keeps the file that is about to be replaced as `.old`.
pub fn keep_old(file: &Path) {
    let old = file.with_extension("old");
    // A convenience: there is none the first time.
    let _ = fs::remove_file(&old);
    if fs::hard_link(file, &old).is_err() {
        let _ = fs::copy(file, &old);
    }
}

/// Puts what [`prepare`] has written in the place of the file. One call of the system.
///
/// # Errors
/// What the file system said; the file before is still there then.
pub fn commit(file: &Path) -> io::Result<()> {
    fs::rename(file.with_extension("new"), file)
}

/// Writes and replaces the file at once where no cycle has run: its time stays that of the last one.
///
/// # Errors
/// What the file system said.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let modified = fs::metadata(file).and_then(|metadata| metadata.modified());
    prepare(file, bytes)?;
    if let Ok(modified) = modified {
        let _ = File::options()
            .write(true)
            .open(file.with_extension("new"))
            .map(|new| new.set_modified(modified));
    }
    commit(file)
}

/// Moves a file that cannot be used out of the way; returns where it is then.
///
/// # Errors
/// What the file system said; it is still there then.
pub fn put_aside(file: &Path) -> io::Result<PathBuf> {
    let aside = file.with_extension("damaged");
    fs::rename(file, &aside)?;
    Ok(aside)
}

/// The same, and where it is then, or why it is not, as a phrase.
pub fn put_aside_in_words(file: &Path) -> String {
    match put_aside(file) {
        Ok(aside) => format!("it was renamed to {}", aside.display()),
        Err(problem) => {
            format!("it cannot be renamed ({problem}): correct the permissions of StateSaveLocation")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIRST: Times = Times { last_ran: 1_795_262_400, last_reset: 17 };
    const SECOND: Times = Times { last_ran: 1_795_262_700, last_reset: 17 };

    fn history(saved: Option<SavedUsage>) -> History {
        History { newest: SECOND, base: FIRST, saved }
    }

    #[test]
    fn what_is_written_is_read_and_the_file_before_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = path(directory.path().to_str().unwrap()).unwrap();
        assert!(matches!(read(&file).unwrap(), Saved::None));
        for saved in [None, Some(SavedUsage { at: 258, size: 7, hash: u64::MAX })] {
            let history = history(saved);
            prepare(&file, &bytes(FIRST, &history)).unwrap();
            keep_old(&file);
            commit(&file).unwrap();
            assert!(
                matches!(read(&file).unwrap(), Saved::Complete(FIRST, Rest::History(found)) if found == history)
            );
            assert_eq!(fs::read(&file).unwrap().len(), 112);
            assert_eq!(fs::read(&file).unwrap()[..8], FIRST.last_ran.to_be_bytes());
            assert!(!file.with_extension("new").exists());
        }
        assert!(
            matches!(read(&file.with_extension("old")).unwrap(), Saved::Complete(_, Rest::History(found)) if found == history(None))
        );
    }

    #[test]
    fn versions_that_know_only_pairs_of_times_find_the_two_that_count() {
        let bytes = bytes(SECOND, &history(None));
        let pairs: Vec<Times> =
            bytes.chunks_exact(SIZE).map(|chunk| Times::of(chunk.try_into().unwrap())).collect();
        assert_eq!(pairs[..2], [SECOND, FIRST]);
        assert!(!(0..=LATEST).contains(&pairs[2].last_ran));
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
        let aside = put_aside(&file).unwrap();
        assert_eq!(fs::read(aside).unwrap().len(), SIZE - 1);
        assert!(matches!(read(&file).unwrap(), Saved::None));
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error_and_nothing_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("gone/priority_last_decay_ran");
        assert!(prepare(&file, b"anything").is_err() && commit(&file).is_err() && put_aside(&file).is_err());
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
        for (numbers, older) in [(&[5, 1, 4, 1][..], 1), (&[5, 1, -4, 1, 3, 1], 0), (&[5, 1, 4], 0)] {
            let Saved::Complete(times, Rest::Before(before)) = parse(file, &of(numbers)) else {
                panic!("{numbers:?} is damaged?")
            };
            assert_eq!((before.len(), times.last_ran), (older, 5));
        }
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// A part of our own that is cut, longer or holds no times is as if it were not there.
        #[test]
        fn our_own_part_is_whole_or_not_there(
            cut in 0..112_usize, more in 1..20_usize, wrong in prop_oneof![..0_i64, LATEST + 1..], field in 0..4_usize,
        ) {
            let whole = bytes(SECOND, &history(None));
            let mut longer = whole.clone();
            longer.resize(whole.len() + more, 0);
            let mut no_time = whole.clone();
            no_time[48 + field * 8..56 + field * 8].copy_from_slice(&wrong.to_be_bytes());
            for bytes in [&whole[..cut], &longer, &no_time] {
                match parse(Path::new("file"), bytes) {
                    Saved::Complete(first, Rest::Before(before)) => {
                        prop_assert_eq!(first, SECOND);
                        prop_assert_eq!(&before[..], &[FIRST][..usize::from(bytes.len() >= 2 * SIZE)]);
                    }
                    Saved::None => prop_assert_eq!(cut, 0),
                    Saved::Damaged(..) => prop_assert!(cut < SIZE),
                    Saved::Complete(..) => prop_assert!(false, "{} bytes are whole", bytes.len()),
                }
            }
        }
    }
}

//! The usage that slurmctld has saved in `StateSaveLocation`: which one it is.
//!
//! slurmctld writes usage into `assoc_usage`, and replaces that file, while it holds the association manager's locks for
//! reading (`dump_assoc_mgr_state`, in every series from 20.11 on). So while we hold them for writing, the file that lies there
//! is whole, and what it says is either before all that we change then, or it is a later file. A file is recognised by its
//! bytes: the clock has whole seconds only, can be set back, and need not be that of the file server.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What slurmctld saved, told from all others by its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedUsage {
    /// When it was saved, by the head of the file: a 16-bit version, then this.
    pub at: i64,
    /// Bytes of the file.
    pub size: u64,
    /// FNV-1a over them, eight at a time.
    pub hash: u64,
}

impl SavedUsage {
    fn read(mut file: impl io::Read) -> io::Result<Self> {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        let (mut head, mut size, mut hash) = ([0; 10], 0_usize, OFFSET);
        let mut buffer = vec![0; 1 << 16];
        loop {
            // Full but for the last, so that the groups of eight do not depend on how much comes at once.
            let mut filled = 0;
            while filled < buffer.len() {
                match file.read(&mut buffer[filled..]) {
                    Ok(0) => break,
                    Ok(more) => filled += more,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            let bytes = &buffer[..filled];
            if size == 0 {
                let known = head.len().min(filled);
                head[..known].copy_from_slice(&bytes[..known]);
            }
            hash = hashed(hash, bytes);
            size += filled;
            if filled < buffer.len() {
                let time = head.last_chunk().filter(|_| size >= head.len());
                let at = time.map_or(0, |time| i64::from_be_bytes(*time));
                return Ok(Self { at, size: size as u64, hash });
            }
        }
    }
}

fn hashed(hash: u64, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.chunks(8).fold(hash, |hash, chunk| {
        let mut group = [0; 8];
        group[..chunk.len()].copy_from_slice(chunk);
        // The rotation brings what the multiplication has moved up down again.
        (hash ^ u64::from_le_bytes(group)).wrapping_mul(PRIME).rotate_left(29)
    })
}

/// A file, told from those that replace it by what the directory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Glimpse {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Glimpse {
    fn of(metadata: &std::fs::Metadata) -> Self {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Self { device: metadata.dev(), inode: metadata.ino(), size: metadata.len(), modified }
    }
}

/// Looks at the file, and reads it only when it has been replaced.
#[derive(Debug, Default)]
pub struct Watch {
    file: PathBuf,
    last: Option<(Glimpse, SavedUsage)>,
}

impl Watch {
    /// The file beside the state file.
    pub fn beside(state_file: &Path) -> Self {
        Self { file: state_file.with_file_name("assoc_usage"), last: None }
    }

    /// Whether the file is still the one that [`Watch::look`] found. One call of the system.
    ///
    /// # Errors
    /// What the file system said, but not that there is no file.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        let now = present(std::fs::metadata(&self.file))?;
        Ok(now.map(|metadata| Glimpse::of(&metadata)) == self.last.map(|(glimpse, _)| glimpse))
    }

    /// What lies there; `None` where there is no file. slurmctld does not look for `assoc_usage.old` either.
    ///
    /// # Errors
    /// What the file system said, but not that there is no file.
    pub fn look(&mut self) -> io::Result<Option<SavedUsage>> {
        if !self.is_unchanged()? {
            self.last = match present(File::open(&self.file))? {
                Some(file) => Some((Glimpse::of(&file.metadata()?), SavedUsage::read(file)?)),
                None => None,
            };
        }
        Ok(self.last.map(|(_, saved)| saved))
    }
}

/// `None` for a file that is not there.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let some = buffer.len().min(3);
            self.0.read(&mut buffer[..some])
        }
    }

    #[test]
    fn the_time_is_that_of_the_head_and_every_byte_counts() {
        let mut bytes = vec![38, 0];
        bytes.extend(258_i64.to_be_bytes());
        bytes.extend((0..200_000_u32).map(|n| n.to_le_bytes()[0]));
        let saved = SavedUsage::read(&bytes[..]).unwrap();
        assert_eq!((saved.at, saved.size), (258, 200_010));
        assert_eq!(SavedUsage::read(Slow(&bytes)).unwrap(), saved);
        for at in [0, 9, 10, 65_535, 65_536, 200_009] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(SavedUsage::read(&other[..]).unwrap(), saved, "byte {at}");
        }
        // Too short for a time.
        assert_eq!(SavedUsage::read(&[38, 0, 1][..]).unwrap().at, 0);
    }

    #[test]
    fn a_file_is_read_again_only_when_it_was_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("assoc_usage");
        let mut watch = Watch::beside(&directory.path().join("priority_last_decay_ran"));
        assert!(watch.is_unchanged().unwrap());
        assert_eq!(watch.look().unwrap(), None);
        fs::write(directory.path().join("assoc_usage.old"), "older").unwrap();
        assert_eq!(watch.look().unwrap(), None);
        let replace = |text: &str| {
            fs::write(file.with_extension("new"), text).unwrap();
            fs::rename(file.with_extension("new"), &file).unwrap();
        };
        replace("one");
        assert!(!watch.is_unchanged().unwrap());
        let one = watch.look().unwrap().unwrap();
        assert!(watch.is_unchanged().unwrap());
        replace("two");
        assert!(!watch.is_unchanged().unwrap());
        assert_ne!(watch.look().unwrap(), Some(one));
        // The same bytes in another file: what slurmctld loads is the same.
        replace("one");
        assert_eq!(watch.look().unwrap(), Some(one));
        fs::remove_file(&file).unwrap();
        assert!(!watch.is_unchanged().unwrap());
        assert_eq!(watch.look().unwrap(), None);
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn different_bytes_are_different_files(one in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
            let [a, b] = [&one, &other].map(|bytes| SavedUsage::read(&bytes[..]).unwrap());
            prop_assert_eq!(one == other, a == b);
        }
    }
}

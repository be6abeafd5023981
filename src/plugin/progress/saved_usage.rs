//! Identifies the usage that slurmctld has saved in `StateSaveLocation`.
//!
//! slurmctld writes usage into `assoc_usage`, and replaces that file, while it holds the association manager's locks for reading
//! (`dump_assoc_mgr_state`, in every series from 20.11 on). So while we hold them for writing, the file is whole. Its contents are either
//! from before all that we change then, or it is a later file. A file is recognised by its bytes: the clock has whole seconds only, can be
//! set back, and need not be that of the file server.
//!
//! Reading a file may take long on a slow file system, so nobody reads it while holding these locks. The kernel (inotify) reports whether
//! it has been replaced since the last read. slurmctld replaces it on this machine, so the kernel knows before slurmctld releases the
//! locks, and answers from memory.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

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
    /// Where the kernel tells of changes in the directory of the file.
    notices: Option<OwnedFd>,
}

/// The name of the file.
const NAME: &str = "assoc_usage";

impl Watch {
    /// The file in the directory of the state file.
    pub fn beside(state_file: &Path) -> Self {
        Self { file: state_file.with_file_name(NAME), last: None, notices: None }
    }

    /// Asks the kernel to tell of changes from now on, if it does not yet. Waits for the file system.
    ///
    /// # Errors
    /// The kernel does not: it has too many to tell, or cannot. [`Watch::is_unchanged`] says yes always then.
    pub fn listen(&mut self) -> io::Result<()> {
        if self.notices.is_none() {
            let changes = WatchFlags::CREATE
                | WatchFlags::MOVED_TO
                | WatchFlags::MOVED_FROM
                | WatchFlags::DELETE
                | WatchFlags::ONLYDIR;
            let notices = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            inotify::add_watch(&notices, self.file.parent().unwrap_or(&self.file), changes)?;
            self.notices = Some(notices);
        }
        Ok(())
    }

    /// Whether the file has not been touched since the last time that this was asked, as far as the kernel tells. Nothing is
    /// waited for: no file system is asked.
    pub fn is_unchanged(&mut self) -> bool {
        let Some(notices) = &self.notices else { return true };
        let (mut is_unchanged, mut is_lost) = (true, false);
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(notices, &mut room);
        loop {
            match reader.next() {
                Ok(event) => {
                    // It has forgotten some; the directory is gone, or is another one.
                    is_lost |= event.events().intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT);
                    is_unchanged &= !event.events().contains(ReadFlags::QUEUE_OVERFLOW)
                        && event.file_name().is_none_or(|name| name.to_bytes() != NAME.as_bytes());
                }
                Err(Errno::INTR) => (),
                Err(Errno::WOULDBLOCK) => break,
                Err(_) => {
                    is_lost = true;
                    break;
                }
            }
        }
        if is_lost {
            // The next look listens anew.
            self.notices = None;
        }
        is_unchanged && !is_lost
    }

    /// What lies there; `None` where there is no file. slurmctld does not look for `assoc_usage.old` either. Waits for the file system.
    /// What [`Watch::is_unchanged`] says is about the time from this look on.
    ///
    /// # Errors
    /// What the file system said, but not that there is no file.
    pub fn look(&mut self) -> io::Result<Option<SavedUsage>> {
        // What comes from here on is noticed, also where it is seen below.
        self.is_unchanged();
        let now = present(std::fs::metadata(&self.file))?.map(|metadata| Glimpse::of(&metadata));
        if now != self.last.map(|(glimpse, _)| glimpse) {
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

    /// As slurmctld does it, with `rename` or with links.
    fn save(file: &Path, text: &str, links: bool) {
        let (new, old) = (file.with_extension("new"), file.with_extension("old"));
        fs::write(&new, text).unwrap();
        if links {
            let _ = fs::remove_file(&old);
            let _ = fs::hard_link(file, &old);
            let _ = fs::remove_file(file);
            fs::hard_link(&new, file).unwrap();
            fs::remove_file(&new).unwrap();
        } else {
            fs::rename(new, file).unwrap();
        }
    }

    #[test]
    fn a_file_is_read_again_only_when_it_was_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("assoc_usage");
        let mut watch = Watch::beside(&directory.path().join("priority_last_decay_ran"));
        assert_eq!(watch.look().unwrap(), None);
        fs::write(directory.path().join("assoc_usage.old"), "older").unwrap();
        assert_eq!(watch.look().unwrap(), None);
        save(&file, "one", false);
        let one = watch.look().unwrap().unwrap();
        save(&file, "two", false);
        assert_ne!(watch.look().unwrap(), Some(one));
        // The same bytes in another file: what slurmctld loads is the same.
        save(&file, "one", true);
        assert_eq!(watch.look().unwrap(), Some(one));
        fs::remove_file(&file).unwrap();
        assert_eq!(watch.look().unwrap(), None);
    }

    #[test]
    fn the_kernel_tells_that_the_file_was_replaced_without_a_look() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("assoc_usage");
        let mut watch = Watch::beside(&directory.path().join("priority_last_decay_ran"));
        assert!(watch.is_unchanged(), "nobody listens yet");
        watch.listen().unwrap();
        for links in [false, true, true, false] {
            assert!(watch.is_unchanged());
            // Other files of slurmctld's, among them longer names.
            for other in ["job_state", "assoc_usage.old", "assoc_usage2", "assoc_mgr_state"] {
                fs::write(directory.path().join(other), "other").unwrap();
            }
            assert!(watch.is_unchanged());
            save(&file, "saved", links);
            assert!(!watch.is_unchanged());
            assert!(watch.is_unchanged(), "it was told");
            save(&file, "saved", links);
            watch.look().unwrap();
            assert!(watch.is_unchanged(), "it was before the look");
        }
        fs::remove_file(&file).unwrap();
        assert!(!watch.is_unchanged());
        // More than the kernel keeps for one who does not ask.
        for at in 0..20_000 {
            let _ = fs::rename(
                directory.path().join(if at % 2 == 0 { "job_state" } else { "other" }),
                directory.path().join(if at % 2 == 0 { "other" } else { "job_state" }),
            );
        }
        assert!(!watch.is_unchanged(), "some are lost, so it may have been");
        assert!(watch.is_unchanged());
        drop(directory);
        assert!(!watch.is_unchanged(), "the directory is gone");
        assert!(watch.listen().is_err() && watch.is_unchanged());
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

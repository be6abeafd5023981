//! Reads memory that may not exist, or may not be what it should be.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::MetadataExt as _;

use parking_lot::Mutex;

use crate::host::symbols::find;

/// First word of the header that Slurm's allocator puts before each block; the second is the size.
const XMALLOC_MAGIC: usize = 0x42;
const WORD: usize = size_of::<usize>();
/// `RTLD_DL_SYMENT` of `dladdr1`.
const DL_SYMENT: c_int = 1;

/// The size of the block of the host's allocator that begins at an address; `None` where none does.
pub fn block_size(address: usize) -> Option<usize> {
    let mut header = [0; 2 * WORD];
    // Slurm's allocator aligns to words and more.
    if address % WORD != 0 || !peek(address.checked_sub(2 * WORD)?, &mut header) {
        return None;
    }
    let word = |at: usize| usize::from_ne_bytes(header[at * WORD..][..WORD].try_into().unwrap_or_default());
    (word(0) == XMALLOC_MAGIC).then(|| word(1))
}

/// The first four bytes of a block.
pub fn first_number(address: usize) -> Option<u32> {
    let mut number = [0; 4];
    peek(address, &mut number).then(|| u32::from_ne_bytes(number))
}

/// The text in a block of the host's allocator, whatever its letters are; `None` where none ends there.
pub fn text(address: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length(address)?];
    peek(address, &mut bytes).then_some(bytes)
}

/// Whether there is a block of the host's allocator, and whatever is in it ends with a terminator there: it can be read as a text.
pub fn ends_in_block(address: usize) -> bool {
    length(address).is_some()
}

/// Whether the text ends where its block does, as one that Slurm has copied or received.
pub fn fills_block(address: usize) -> bool {
    length(address).is_some_and(|length| block_size(address) == Some(length + 1))
}

/// How long the text in a block is.
fn length(address: usize) -> Option<usize> {
    const PORTION: usize = 4096;
    let size = block_size(address)?;
    let mut bytes = [0; PORTION];
    for at in (0..size).step_by(PORTION) {
        let portion = &mut bytes[..PORTION.min(size - at)];
        if !peek(address + at, portion) {
            return None;
        }
        if let Some(end) = portion.iter().position(|byte| *byte == 0) {
            return Some(at + end);
        }
    }
    None
}

/// The text of `length` bytes and its terminator at an address, if it is one.
pub fn text_of_length(address: usize, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length + 1];
    if address == 0 || !peek(address, &mut bytes) || bytes.pop() != Some(0) {
        return None;
    }
    Some(bytes)
}

/// Copies memory through the kernel, which answers with an error where a plain read would crash. False where it cannot be read, and where
/// the kernel does not look: nothing is ever read in another way.
pub fn peek(address: usize, into: &mut [u8]) -> bool {
    copy(&PIPE, address, into).unwrap_or(false)
}

/// Makes sure that the kernel looks, before anything is taken for a wrong record because it does not.
///
/// # Errors
/// It does not, for this reason.
pub fn can_look() -> Result<(), Blind> {
    can_look_by(&PIPE)
}

fn can_look_by(pipe: &Pipe) -> Result<(), Blind> {
    let there = [7_u8; 8];
    let mut seen = [0; 8];
    copy(pipe, there.as_ptr() as usize, &mut seen).map_err(Blind)?;
    if seen == there {
        Ok(())
    } else {
        Err(Blind(io::ErrorKind::InvalidData.into()))
    }
}

/// The kernel copies no memory for us, in neither way: what the second one answered.
#[derive(Debug)]
pub struct Blind(io::Error);

impl fmt::Display for Blind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot check memory before it is used: process_vm_readv is forbidden, and no pipe can be opened ({}). \
             Allow process_vm_readv in SystemCallFilter of slurmctld's service, or raise its LimitNOFILE",
            self.0
        )
    }
}

fn copy(pipe: &Pipe, address: usize, into: &mut [u8]) -> io::Result<bool> {
    through_process(address, into).or_else(|_| pipe.copy(address, into))
}

/// By `process_vm_readv`. Only `EFAULT` and a short copy say something of the memory; a sandbox may answer anything else.
fn through_process(address: usize, into: &mut [u8]) -> io::Result<bool> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: into.len() };
    // SAFETY: one valid destination; the kernel checks the source.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    whether_all(copied, into.len())
}

/// What the kernel says of memory; an error where it says nothing of it.
fn whether_all(copied: isize, wanted: usize) -> io::Result<bool> {
    match usize::try_from(copied) {
        Ok(count) => Ok(count == wanted),
        Err(_) => match io::Error::last_os_error() {
            fault if fault.raw_os_error() == Some(libc::EFAULT) => Ok(false),
            other => Err(other),
        },
    }
}

/// The second way: what cannot be read cannot be written into a pipe. It is made when it is first needed and kept, so that it does not
/// depend on how many files are open later.
#[derive(Debug)]
struct Pipe(Mutex<Option<Ends>>);

static PIPE: Pipe = Pipe::new();

/// Both ends of a pipe, which is empty and lets nobody wait, and which one it is: another part of slurmctld that closes too much could have made room
/// for a file under these numbers.
#[derive(Debug)]
struct Ends {
    reader: File,
    writer: File,
    identity: (u64, u64),
}

impl Ends {
    fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: fresh descriptors that nobody else has.
        let [reader, writer] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        let identity = identity(&writer)?;
        Ok(Self { reader, writer, identity })
    }

    fn are_ours(&self) -> bool {
        [&self.reader, &self.writer].iter().all(|end| identity(end).ok() == Some(self.identity))
    }

    fn copy(&mut self, address: usize, into: &mut [u8]) -> io::Result<bool> {
        /// Bytes that fit without waiting, and are written as a whole or up to what cannot be read.
        const PORTION: usize = 4096;
        for (at, portion) in into.chunks_mut(PORTION).enumerate() {
            let from = address.wrapping_add(at * PORTION) as *const c_void;
            // SAFETY: the kernel checks the source.
            let written = unsafe { libc::write(self.writer.as_raw_fd(), from, portion.len()) };
            if !whether_all(written, portion.len())? {
                // What could be read is no use. Where nothing could, the kernel has used up a place all the same.
                while self.reader.read(portion).is_ok_and(|count| count > 0) {}
                return Ok(false);
            }
            self.reader.read_exact(portion)?;
        }
        Ok(true)
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|about| (about.dev(), about.ino()))
}

impl Pipe {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn copy(&self, address: usize, into: &mut [u8]) -> io::Result<bool> {
        let mut kept = self.0.lock();
        let ends = match kept.take() {
            Some(ends) if ends.are_ours() => ends,
            Some(ends) => {
                // Whoever has these numbers now closes them.
                std::mem::forget(ends);
                Ends::new()?
            }
            None => Ends::new()?,
        };
        // One that did not do as it should is not used again.
        let ends = kept.insert(ends);
        let copied = ends.copy(address, into);
        if copied.is_err() {
            *kept = None;
        }
        copied
    }
}

/// The size that the ELF symbol at an address was linked with; `None` where the C library cannot tell.
pub fn symbol_size(address: *mut c_void) -> Option<usize> {
    type Dladdr1 =
        unsafe extern "C" fn(*mut c_void, *mut libc::Dl_info, *mut *mut libc::Elf64_Sym, c_int) -> c_int;
    let function = find(c"dladdr1");
    if function.is_null() {
        return None;
    }
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let mut symbol: *mut libc::Elf64_Sym = std::ptr::null_mut();
    // SAFETY: glibc's function, with pointers that it fills in.
    let found = unsafe {
        std::mem::transmute::<*mut c_void, Dladdr1>(function)(
            address,
            &raw mut info,
            &raw mut symbol,
            DL_SYMENT,
        )
    };
    if found == 0 || symbol.is_null() {
        return None;
    }
    // SAFETY: an entry of a loaded object's symbol table.
    let size = unsafe { (*symbol).st_size };
    usize::try_from(size).ok().filter(|&size| size != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that is there and one behind it that nobody can read.
    fn page_before_nothing() -> (usize, usize) {
        const PAGE: usize = 4096;
        // SAFETY: two fresh pages, of which nobody may touch one any more. It is not given back: another thread could get it, and did.
        let first = unsafe {
            let pages = libc::mmap(
                std::ptr::null_mut(),
                2 * PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(pages, libc::MAP_FAILED);
            pages.cast::<u8>().write(7);
            assert_eq!(libc::mprotect(pages.cast::<u8>().add(PAGE).cast(), PAGE, libc::PROT_NONE), 0);
            pages as usize
        };
        (first, first + PAGE)
    }

    fn tell_apart(look: impl Fn(usize, &mut [u8]) -> bool) {
        let (first, gone) = page_before_nothing();
        let mut bytes = [0; 16];
        assert!(look(first, &mut bytes) && bytes[0] == 7);
        for bad in [gone, gone - 8, 0, 16, usize::MAX - 64] {
            assert!(!look(bad, &mut bytes), "{bad:#x}");
        }
    }

    #[test]
    fn memory_that_is_not_there_is_told_either_way() {
        tell_apart(peek);
        let pipe = Pipe::new();
        tell_apart(|at, into| pipe.copy(at, into).ok() == Some(true));
    }

    /// Lets a system call fail in this thread, and in it alone.
    #[allow(clippy::cast_possible_truncation)] // the codes have 16 bits
    fn forbid(call: libc::c_long, with: i32) {
        let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let call = u32::try_from(call).unwrap();
        let mut filter = [
            // The number of the system call is the first word.
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            libc::sock_filter {
                code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
                jt: 0,
                jf: 1,
                k: call,
            },
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | u32::try_from(with).unwrap()),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
        // SAFETY: a program of four statements, for this thread.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            assert_eq!(
                libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program),
                0
            );
        }
    }

    #[test]
    fn a_sandbox_may_refuse_to_look_with_any_error() {
        for error in [libc::ENOSYS, libc::EPERM, libc::EACCES, libc::EINVAL, libc::EIO, libc::ENOMEM] {
            std::thread::spawn(move || {
                forbid(libc::SYS_process_vm_readv, error);
                assert!(through_process(page_before_nothing().0, &mut [0; 8]).is_err(), "{error}");
                tell_apart(peek);
            })
            .join()
            .unwrap();
        }
    }
    /// As where slurmctld has as many files open as it may.
    #[test]
    fn where_the_kernel_does_not_look_nothing_is_read_and_the_administrator_is_told() {
        std::thread::spawn(|| {
            let pipe = Pipe::new();
            forbid(libc::SYS_process_vm_readv, libc::EPERM);
            forbid(libc::SYS_pipe2, libc::EMFILE);
            let (there, gone) = page_before_nothing();
            for address in [there, gone, gone - 8, 0, usize::MAX - 64] {
                assert!(copy(&pipe, address, &mut [0; 16]).is_err(), "{address:#x}");
            }
            let told = can_look_by(&pipe).unwrap_err().to_string();
            assert!(told.contains("(Too many open files (os error 24)). Allow process_vm_readv"), "{told}");
        })
        .join()
        .unwrap();
    }

    /// A pipe that is there needs no more files.
    #[test]
    fn the_pipe_is_kept_for_when_no_more_files_can_be_opened() {
        std::thread::spawn(|| {
            let pipe = Pipe::new();
            forbid(libc::SYS_process_vm_readv, libc::EPERM);
            assert!(can_look_by(&pipe).is_ok());
            forbid(libc::SYS_pipe2, libc::EMFILE);
            // Also after what could be read in part only or not at all, which must not fill the pipe.
            for _ in 0..100 {
                tell_apart(|at, into| copy(&pipe, at, into).ok() == Some(true));
            }
            assert!(can_look_by(&pipe).is_ok());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_file_that_has_the_numbers_of_the_pipe_is_left_alone() {
        let pipe = Pipe::new();
        let (there, _) = page_before_nothing();
        assert!(pipe.copy(there, &mut [0; 8]).unwrap());
        let numbers = {
            let kept = pipe.0.lock();
            let ends = kept.as_ref().unwrap();
            [ends.reader.as_raw_fd(), ends.writer.as_raw_fd()]
        };
        let mut foreign = Ends::new().unwrap();
        // SAFETY: descriptors of ours; the numbers of the pipe are the foreign one's from now on.
        unsafe {
            assert_eq!(libc::dup2(foreign.reader.as_raw_fd(), numbers[0]), numbers[0]);
            assert_eq!(libc::dup2(foreign.writer.as_raw_fd(), numbers[1]), numbers[1]);
        }
        assert!(pipe.copy(there, &mut [0; 8]).unwrap());
        drop(std::mem::replace(&mut foreign.writer, File::open("/dev/null").unwrap()));
        // SAFETY: the foreign ones, which nobody has any more.
        unsafe { libc::close(numbers[1]) };
        assert_eq!(
            foreign.reader.read(&mut [0; 8]).unwrap(),
            0,
            "nothing was written there, and no end is left open"
        );
    }
}

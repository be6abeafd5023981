//! Looking at memory that may not be there, or not be what it should.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};

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

/// A terminated text in a block of the host's allocator.
pub fn text_in_block(address: usize) -> Option<Vec<u8>> {
    /// No name is longer.
    const LONGEST: usize = 65_536;
    let size = block_size(address)?.min(LONGEST);
    let mut bytes = vec![0; size];
    if !peek(address, &mut bytes) {
        return None;
    }
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    // Control characters are in no name; what is not text mostly has some.
    bytes.iter().all(|byte| *byte >= b' ').then_some(bytes)
}

/// Whether there is a block of the host's allocator, and whatever is in it ends with a terminator there: it can be read as a text.
pub fn ends_in_block(address: usize) -> bool {
    const PORTION: usize = 4096;
    let Some(size) = block_size(address) else { return false };
    let mut bytes = [0; PORTION];
    for at in (0..size).step_by(PORTION) {
        let portion = &mut bytes[..PORTION.min(size - at)];
        if !peek(address + at, portion) {
            return false;
        }
        if portion.contains(&0) {
            return true;
        }
    }
    false
}

/// The text of `length` bytes and its terminator at an address, if it is one.
pub fn text_of_length(address: usize, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length + 1];
    if address == 0 || !peek(address, &mut bytes) || bytes.pop() != Some(0) {
        return None;
    }
    Some(bytes)
}

/// Copies memory through the kernel, which answers with an error where a plain read would crash.
pub fn peek(address: usize, into: &mut [u8]) -> bool {
    through_process(address, into).or_else(|_| through_pipe(address, into)).unwrap_or_else(|_| {
        // No file descriptor is left, either: read directly, as the rest of the plugin will.
        let near_null = address < 0x1_0000;
        if !near_null {
            // SAFETY: nothing better is known than the layout; the address is not near zero.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, into.as_mut_ptr(), into.len()) };
        }
        !near_null
    })
}

/// The kernel would not look.
struct Refused;

/// By `process_vm_readv`. Only `EFAULT` and a short copy say something of the memory; a sandbox may answer anything else.
fn through_process(address: usize, into: &mut [u8]) -> Result<bool, Refused> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: into.len() };
    // SAFETY: one valid destination; the kernel checks the source.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(copied) {
        Ok(count) => Ok(count == into.len()),
        Err(_) if error() == libc::EFAULT => Ok(false),
        Err(_) => Err(Refused),
    }
}

/// By way of a pipe: what cannot be read cannot be written there.
fn through_pipe(address: usize, into: &mut [u8]) -> Result<bool, Refused> {
    /// So much fits without waiting, and is written as a whole or not at all.
    const PORTION: usize = 4096;

    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(Refused);
    }
    // SAFETY: fresh descriptors that nobody else has.
    let [mut reader, writer] = ends.map(|end| unsafe { File::from_raw_fd(end) });
    for (at, portion) in into.chunks_mut(PORTION).enumerate() {
        let from = address.wrapping_add(at * PORTION) as *const c_void;
        // SAFETY: the kernel checks the source.
        let written = unsafe { libc::write(writer.as_raw_fd(), from, portion.len()) };
        match usize::try_from(written) {
            Ok(count) if count == portion.len() => reader.read_exact(portion).map_err(|_| Refused)?,
            Ok(_) => return Ok(false),
            Err(_) if error() == libc::EFAULT => return Ok(false),
            Err(_) => return Err(Refused),
        }
    }
    Ok(true)
}

fn error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
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

    /// A page that is there and one behind it that is not.
    fn page_before_nothing() -> (usize, usize) {
        const PAGE: usize = 4096;
        // SAFETY: two fresh pages, of which one is given back.
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
            libc::munmap(pages.cast::<u8>().add(PAGE).cast(), PAGE);
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
        tell_apart(|at, into| through_pipe(at, into).ok() == Some(true));
    }

    /// Lets `process_vm_readv` fail in this thread, and in it alone.
    #[allow(clippy::cast_possible_truncation)] // the codes have 16 bits
    fn forbid(with: i32) {
        let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let call = u32::try_from(libc::SYS_process_vm_readv).unwrap();
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
                forbid(error);
                assert!(through_process(page_before_nothing().0, &mut [0; 8]).is_err(), "{error}");
                tell_apart(peek);
            })
            .join()
            .unwrap();
        }
    }
}

//! Self-checks before anything is trusted: does the running Slurm look as the chosen layout says?
//!
//! They catch the changes that really happened to Slurm's records, fields inserted behind the magic
//! number, because the size of a record changes with them. Memory is looked at through the kernel
//! first, so that a wrong layout is an error message and not a segmentation fault.

use std::ffi::{c_int, c_void, CStr};
use std::fmt;

use super::constants::{DETAILS_MAGIC, JOB_MAGIC, PART_MAGIC};
use super::records::Job;
use super::symbols::find;
use super::Host;

/// First word of the header that Slurm's allocator puts before each block; the second is the size.
const XMALLOC_MAGIC: usize = 0x42;
/// `RTLD_DL_SYMENT` of `dladdr1`.
const DL_SYMENT: c_int = 1;

/// A record that does not look as the layout says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The running release and the layout chosen for it.
    pub layout: String,
    /// Which check failed and what was found.
    pub found: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this slurmctld does not match {}: {}. It was probably built from patched sources. Build this plugin with \
             SLURM_SRC=/path/to/those/sources, or set PriorityType=priority/multifactor",
            self.layout, self.found
        )
    }
}

fn failure(host: &Host, found: String) -> Failure {
    let first = super::layout::Release(host.layout.group.first);
    Failure { layout: format!("the layout of Slurm {first} chosen for release {}", host.release), found }
}

/// What can be checked when the plugin starts: configuration and root association; from 23.02 on there are no jobs yet.
///
/// # Errors
/// The first check that failed.
pub fn check_at_start(host: &'static Host) -> Result<(), Failure> {
    let fail = |found| Err(failure(host, found));
    if let Some(size) = symbol_size(host.sym.slurm_conf.cast()) {
        if size != host.layout.conf.size {
            return fail(format!("slurm_conf has {size} bytes, {} expected", host.layout.conf.size));
        }
    }
    let own_type = crate::exports::type_text();
    let configured = host.conf().get(|conf| conf.priority_type);
    if peek_text(configured, own_type.to_bytes().len()).as_deref() != Some(own_type.to_bytes()) {
        return fail("slurm_conf.priority_type does not read back as priority/multifactor2".to_owned());
    }
    // SAFETY: a global of the host; only its address is used until it is checked.
    let root: *mut u8 = unsafe { *host.sym.assoc_mgr_root_assoc }.cast();
    if root.is_null() {
        return Ok(());
    }
    block(host, "the root association", root, host.layout.assoc.size)?;
    // SAFETY: a block of the size of an association.
    let (account, usage) = unsafe { (host.layout.assoc.acct.get(root), host.layout.assoc.usage.get(root)) };
    if peek_text(account, 4).as_deref() != Some(b"root") {
        return fail("the root association is not called root".to_owned());
    }
    block(host, "its usage record", usage, host.layout.assoc_usage.size)
}

/// What a check that did not fail says of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soundness {
    /// Everything is as the layout says.
    Complete,
    /// So is what there is, but something was not there to be looked at.
    Partial,
    /// The job still points to an association that is gone. After a failed reconfigure (from 23.11 on) slurmctld loads all
    /// associations anew and connects its jobs with them a moment later: until then the job is left alone.
    Stale,
}

/// Checks a job and what it leads to. Call it for the first job that is seen, before anything is written.
///
/// # Errors
/// The first check that failed.
pub fn check_job(job: Job<'_>) -> Result<Soundness, Failure> {
    let host = job.host();
    let layout = host.layout;
    let address = job.as_ptr();
    block(host, "a job record", address, layout.job.size)?;
    magic(host, "a job record", job.get(|job| job.magic), JOB_MAGIC)?;
    let (details, partition) = (job.get(|job| job.details), job.get(|job| job.part_ptr));
    if !details.is_null() {
        block(host, "a job's details", details, layout.details.size)?;
        // SAFETY: a block of the size of a details record.
        magic(host, "a job's details", unsafe { layout.details.magic.get(details) }, DETAILS_MAGIC)?;
    }
    if !partition.is_null() {
        block(host, "a partition", partition, layout.part.size)?;
        // SAFETY: a block of the size of a partition.
        magic(host, "a partition", unsafe { layout.part.magic.get(partition) }, PART_MAGIC)?;
    }
    let association = job.get(|job| job.assoc_ptr);
    if !association.is_null() {
        let checked = block(host, "an association", association, layout.assoc.size);
        // SAFETY: a global of the host.
        let root_was_checked = unsafe { !(*host.sym.assoc_mgr_root_assoc).is_null() };
        match checked {
            // The size of associations is known to be right from the root association.
            Err(_) if root_was_checked => return Ok(Soundness::Stale),
            other => other?,
        }
    }
    let qos = job.get(|job| job.qos_ptr);
    if !qos.is_null() {
        block(host, "a QOS", qos, layout.qos.size)?;
    }
    let complete = !details.is_null() && !partition.is_null();
    Ok(if complete { Soundness::Complete } else { Soundness::Partial })
}

fn magic(host: &'static Host, what: &str, found: u32, expected: u32) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(failure(host, format!("{what} begins with {found:#x}, {expected:#x} expected")))
}

/// Checks that `address` is a block of the host's allocator with exactly `size` bytes.
fn block(host: &'static Host, what: &str, address: *mut u8, size: usize) -> Result<(), Failure> {
    let mut header = [0_usize; 2];
    let word = size_of::<usize>();
    let begin = (address as usize).wrapping_sub(2 * word);
    let bytes: &mut [u8] = {
        // SAFETY: two words seen as bytes.
        unsafe { std::slice::from_raw_parts_mut(header.as_mut_ptr().cast(), 2 * word) }
    };
    if !peek(begin, bytes) || header[0] != XMALLOC_MAGIC {
        return Err(failure(host, format!("{what} is not a block of Slurm's memory")));
    }
    if header[1] != size {
        return Err(failure(host, format!("{what} has {} bytes, {size} expected", header[1])));
    }
    Ok(())
}

/// Copies memory through the kernel, which answers with an error where a plain read would crash.
fn peek(address: usize, into: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: into.len() };
    // SAFETY: one valid destination; the kernel checks the source.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    if usize::try_from(copied) == Ok(into.len()) {
        return true;
    }
    let refused = matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EPERM));
    if copied < 0 && refused && address > 0xffff {
        // A sandbox without that call: read directly, as the rest of the plugin will.
        // SAFETY: nothing better is known than the layout; the address is not near zero.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, into.as_mut_ptr(), into.len()) };
        return true;
    }
    false
}

/// The text of `length` bytes and its terminator at an address, if it is one.
fn peek_text(address: *mut u8, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length + 1];
    if address.is_null() || !peek(address as usize, &mut bytes) {
        return None;
    }
    CStr::from_bytes_with_nul(&bytes).ok().map(|text| text.to_bytes().to_owned())
}

/// The size that the ELF symbol at an address was linked with; `None` where the C library cannot tell.
fn symbol_size(address: *mut c_void) -> Option<usize> {
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

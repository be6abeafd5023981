//! Finds the running release, to the micro release, from the host's plugins that the process has loaded.

use std::ffi::{c_char, c_int, c_void, CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::layout::Release;

/// `plugin_version` of the first plugin of the host among the objects that the process has loaded.
pub fn plugin_version() -> Option<Release> {
    loaded_objects().iter().find_map(|name| plugin_version_of(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD))
}

/// Whether the process has loaded a plugin with this file name.
pub fn is_loaded(file: &str) -> bool {
    let of =
        |path: &CString| Path::new(OsStr::from_bytes(path.to_bytes())).file_name() == Some(OsStr::new(file));
    loaded_objects().iter().any(of)
}

/// The files of the shared objects that the process has loaded.
fn loaded_objects() -> Vec<CString> {
    unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
        // SAFETY: the loader passes a live description, and we pass our own vector.
        let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: a terminated path.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            if name.to_bytes().ends_with(b".so") {
                names.push(name.to_owned());
            }
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback fits and only uses the vector during the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut names).cast()) };
    names
}

/// Whether the host holds the address of one of our exports in its data: then it has looked our functions up, and can call them.
pub fn is_taken(export: &CStr) -> bool {
    let own = own_symbol(export);
    !own.is_null() && is_held_elsewhere(own as usize)
}

/// One of our own exports, as the host finds it.
fn own_symbol(name: &CStr) -> *mut c_void {
    let Some(file) = object_of(own_symbol as *mut c_void) else { return std::ptr::null_mut() };
    let Ok(file) = CString::new(file.as_os_str().as_bytes()) else { return std::ptr::null_mut() };
    // SAFETY: a path and valid flags; nothing is loaded.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the handle opened above, and a terminated name.
    unsafe {
        let address = libc::dlsym(handle, name.as_ptr());
        libc::dlclose(handle);
        address
    }
}

/// Whether an object of the process, but the one that it is in, holds an address in its data.
fn is_held_elsewhere(address: usize) -> bool {
    struct Search {
        address: usize,
        found: bool,
    }
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        const WORD: usize = size_of::<usize>();
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        // SAFETY: the loader passes a live description with its table of segments, and we pass our own search.
        let (segments, base, search) = unsafe {
            let info = &*info;
            let segments = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            (segments, number(info.dlpi_addr), &mut *search.cast::<Search>())
        };
        let loaded = || segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
        let range = |segment: &libc::Elf64_Phdr| {
            let begin = base.wrapping_add(number(segment.p_vaddr));
            begin..begin.wrapping_add(number(segment.p_memsz))
        };
        if loaded().any(|segment| range(segment).contains(&search.address)) {
            return 0;
        }
        let is_data = |segment: &&libc::Elf64_Phdr| {
            segment.p_flags & (libc::PF_R | libc::PF_W) == libc::PF_R | libc::PF_W
        };
        for segment in loaded().filter(is_data) {
            let range = range(segment);
            let mut words =
                (range.start.next_multiple_of(WORD)..range.end.saturating_sub(WORD)).step_by(WORD);
            // SAFETY: a whole word of a segment that is mapped as long as its object, which the loader keeps during the call. Other threads
            // may write it, so it is read once, and only compared.
            search.found |= words.any(|at| unsafe { (at as *const usize).read_volatile() } == search.address);
        }
        c_int::from(search.found)
    }
    let mut search = Search { address, found: false };
    // SAFETY: the callback fits and only uses the search during the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// `plugin_version` of a stock plugin that lies in the directory of libslurmfull.so, where Slurm installs both.
pub fn plugin_version_beside(of_library: *mut c_void) -> Option<Release> {
    let directory = object_of(of_library)?.parent()?.to_owned();
    ["priority_basic.so", "priority_multifactor.so", "auth_munge.so", "auth_none.so"].iter().find_map(
        |file| {
            let path = CString::new(directory.join(file).as_os_str().as_bytes()).ok()?;
            plugin_version_of(&path, libc::RTLD_LAZY)
        },
    )
}

/// The file that holds an address.
pub fn object_of(address: *mut c_void) -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: dladdr fills the structure for any address or returns 0.
    if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a terminated path.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())).to_owned())
}

/// Opens one object and reads its version, if it is a plugin whose version the host checks exactly.
fn plugin_version_of(path: &CStr, flags: c_int) -> Option<Release> {
    // SAFETY: a path and valid flags; stock plugins have no constructors of their own.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    if handle.is_null() {
        // SAFETY: clears the loader's error text, which the host might print later.
        unsafe { libc::dlerror() };
        return None;
    }
    let version = read_plugin_version(handle);
    // SAFETY: the handle opened above.
    unsafe { libc::dlclose(handle) };
    version
}

fn read_plugin_version(handle: *mut c_void) -> Option<Release> {
    let symbol = |name: &CStr| {
        // SAFETY: a live handle and a terminated name.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    };
    let kind: *const c_char = symbol(c"plugin_type")?.cast();
    // SAFETY: a plugin's `plugin_type` is a terminated string.
    let kind = unsafe { CStr::from_ptr(kind) };
    // SPANK plugins need not match exactly, and a copy of ourselves only repeats what it found.
    if kind.to_bytes().starts_with(b"spank") || kind == crate::identity::PRIORITY_TYPE {
        return None;
    }
    let version: *const u32 = symbol(c"plugin_version")?.cast();
    // SAFETY: a plugin's `plugin_version` is a `uint32_t`.
    let number = unsafe { version.read() };
    (number != 0).then_some(Release(number & 0xff_ffff))
}

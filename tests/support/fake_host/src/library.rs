//! The shared objects in place of slurmctld's executable and for a plugin that it has loaded, compiled for a release when
//! they are first needed, and the way from their functions to those in Rust.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{c_void, CString};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

use slurm_headers::Version;

use crate::release::{api, name};

/// The objects of one release.
#[derive(Debug)]
pub struct Objects {
    /// What slurmctld and libslurmfull export, to be preloaded.
    pub slurmctld: PathBuf,
    /// A plugin of the release.
    pub plugin: PathBuf,
}

impl Objects {
    /// Finds or compiles them; `conf_size` is that of `slurm_conf`.
    pub fn of(release: Version, conf_size: usize) -> Self {
        let locks = if (release.year, release.month) >= (26, 5) { 6 } else { 5 };
        let flags: Vec<String> = [
            ("YEAR", release.year.into()),
            ("MONTH", release.month.into()),
            ("MICRO", release.micro.into()),
            ("API", api(release)),
            ("CONF_SIZE", conf_size),
            ("LOCKS", locks),
        ]
        .map(|(name, value)| format!("-D{name}={value}"))
        .into_iter()
        .chain([format!("-DCALLED=\"{}\"", name(release))])
        .collect();
        Self {
            slurmctld: compile("slurmctld", include_str!("slurmctld.c"), release, &flags),
            plugin: compile("auth_none", include_str!("auth_none.c"), release, &flags),
        }
    }
}

fn compile(name: &str, source: &str, release: Version, flags: &[String]) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    let mut hasher = DefaultHasher::new();
    (source, flags).hash(&mut hasher);
    let directory = cache_directory();
    let object = directory.join(format!("{name}-{release}-{:016x}.so", hasher.finish()));
    let _one = COMPILING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if object.exists() {
        return object;
    }
    // Another process may compile it, too: the rename settles it.
    let work = tempfile::tempdir_in(&directory).expect("a directory can be made below target");
    let (text, result) = (work.path().join("source.c"), work.path().join("object.so"));
    fs::write(&text, source).expect("the source can be written");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args([
            "-std=gnu11",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-D_GNU_SOURCE",
            "-shared",
            "-fPIC",
            "-pthread",
        ])
        .args(flags)
        .arg("-o")
        .args([&result, &text])
        .arg("-ldl")
        .output()
        .expect("a C compiler is installed");
    assert!(output.status.success(), "{name} of {release}: {}", String::from_utf8_lossy(&output.stderr));
    fs::rename(result, &object).expect("the same file system");
    object
}

fn cache_directory() -> PathBuf {
    let exe = env::current_exe().expect("a running test has a file");
    let target = exe.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file());
    let directory = target.map_or_else(env::temp_dir, Path::to_owned).join("fakehost");
    fs::create_dir_all(&directory).expect("a directory can be made below target");
    directory
}

/// The address of a name that the preloaded object exports; null where the release has none.
pub fn symbol(name: &str) -> *mut c_void {
    let name = CString::new(name).expect("a name");
    // SAFETY: a terminated name.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Enters a function for one of the exported names; nothing where the release has no such name.
pub fn enter(name: &str, function: *const c_void) {
    let variable: *mut *const c_void = symbol(&format!("fakehost_to_{name}")).cast();
    if !variable.is_null() {
        // SAFETY: a variable of the preloaded object that holds the address of a function.
        unsafe { variable.write(function) }
    }
}

/// An exported variable.
///
/// # Panics
/// Where the release has none of that name.
pub fn variable<T>(name: &str) -> *mut T {
    let address = symbol(name);
    assert!(!address.is_null(), "{name} is not exported: is the process a fake slurmctld?");
    address.cast()
}

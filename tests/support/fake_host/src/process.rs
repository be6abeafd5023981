//! A process for each release: the running test starts itself again, with that release's names preloaded.

use std::any::type_name_of_val;
use std::env;
use std::ffi::CStr;
use std::io::Read as _;
use std::os::fd::FromRawFd as _;
use std::panic::{catch_unwind, AssertUnwindSafe, Location};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use multifactor2_fixtures::plugin;
use slurm_headers::Version;

use crate::callers;
use crate::layout::{Layout, Shift};
use crate::library::Objects;
use crate::release::name;
use crate::slurmctld::Slurmctld;

const RELEASE: &str = "FAKEHOST_RELEASE";
const CASE: &str = "FAKEHOST_CASE";
const DONE: &str = "fakehost: done";
/// Seconds after which a process has hung.
const PATIENCE: u32 = 120;

/// The plugin under test: the file that `MULTIFACTOR2_PLUGIN` names, else the newest one that cargo has built beside the
/// running test.
///
/// # Panics
/// If there is none.
pub fn plugin_file() -> std::path::PathBuf {
    let file = plugin::under_test()
        .expect("the plugin is built: run `cargo build`, or name it in MULTIFACTOR2_PLUGIN");
    file.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Runs `body`, a closure that is written in the test function itself, in a slurmctld of each release.
///
/// # Panics
/// Where it fails in any of them; with what each said.
#[track_caller]
pub fn in_releases<F: Fn(&mut Slurmctld)>(releases: &[Version], body: F) {
    let case = Location::caller().to_string();
    if let Some(release) = mine(&case) {
        body(&mut Slurmctld::start(release, None));
        done();
    }
    run_each(releases, &test_name(&body), &case);
}

/// Runs `body` once for each shift of a field in each release, each time in a process of its own. `shifts` says which there
/// are in a release, and is asked in a process with that release's names.
///
/// # Panics
/// As [`in_releases`].
#[track_caller]
pub fn in_shifted_layouts<F: Fn(&mut Slurmctld, &Shift)>(
    releases: &[Version],
    shifts: impl Fn(&Layout) -> Vec<Shift>,
    body: F,
) {
    let case = Location::caller().to_string();
    if let Some(release) = mine(&case) {
        callers::read_all();
        let shifts = shifts(&Layout::of(release, None));
        assert!(!shifts.is_empty(), "no field to shift in {release}");
        let failed = shifts.iter().filter_map(|shift| {
            be_patient();
            let run = || body(&mut Slurmctld::start(release, Some(shift)), shift);
            forked(run).err().map(|why| format!("{}.{} {:+}: {why}", shift.record, shift.field, shift.bytes))
        });
        report(shifts.len(), &failed.collect::<Vec<_>>());
        done();
    }
    run_each(releases, &test_name(&body), &case);
}

/// Runs a case in a process of its own for each release, and reports those that failed. In such a process nothing runs: it is there
/// for another case of the same test.
#[track_caller]
fn run_each(releases: &[Version], test: &str, case: &str) {
    if env::var_os(RELEASE).is_some() {
        return;
    }
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(release) = releases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = run(test, case, *release) {
                failed.lock().expect("nobody panics").push(format!("Slurm {release}: {why}"));
            }
        }
    };
    // On each processor one, so that the longest test is none for one processor alone.
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(releases.len()) {
            scope.spawn(work);
        }
    });
    report(releases.len(), &failed.into_inner().expect("nobody panics"));
}

/// The release to be, in a process that was started for this case.
fn mine(case: &str) -> Option<Version> {
    let release = env::var(RELEASE).ok()?;
    if env::var(CASE).as_deref() != Ok(case) {
        return None;
    }
    be_patient();
    Version::parse(&release)
}

/// A process that takes longer from now on has hung, and ends.
fn be_patient() {
    // SAFETY: a signal to ourselves in some time.
    unsafe { libc::alarm(PATIENCE) };
}

fn done() -> ! {
    eprintln!("{DONE}");
    // Neither the plugin's destructors nor ours, as in a slurmctld that ends.
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// The name of the test that a closure is written in.
fn test_name<F>(body: &F) -> String {
    let path = type_name_of_val(body);
    let path = path.split_once("::").map_or(path, |(_, rest)| rest);
    path.split("::{{closure}}").next().unwrap_or(path).to_owned()
}

fn run(test: &str, case: &str, release: Version) -> Result<(), String> {
    let objects = Objects::of(release, Layout::of(release, None).record("conf").size);
    let directory = tempfile::Builder::new().prefix("fakehost-").tempdir().expect("a directory");
    let output = Command::new(env::current_exe().expect("a running test has a file"))
        .args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(RELEASE, release.to_string())
        .env(CASE, case)
        .env("FAKEHOST_LOADED", &objects.plugin)
        .env("FAKEHOST_DIRECTORY", directory.path())
        .env("LD_PRELOAD", &objects.slurmctld)
        .env("TZ", "UTC")
        // Needed only where that is a candidate.
        .env("MULTIFACTOR2_CANDIDATE", name(release))
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .expect("the running test can be started again");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && said.contains(DONE) {
        return Ok(());
    }
    let nothing = output.status.success() && !said.contains("panicked");
    let hint = if nothing { ": the closure must be written in the test function itself" } else { "" };
    Err(format!("{}{hint}\n{said}", output.status))
}

/// Fails with the whole of what the first said, and of the others the line that matters.
fn report(of: usize, failed: &[String]) {
    let Some((first, others)) = failed.split_first() else { return };
    let short = |said: &String| {
        let name = said.split(": ").next().unwrap_or_default().to_owned();
        let why = said.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
        let why = said.lines().find(|line| line.starts_with("fakehost: ")).or(why);
        format!("{name}: {}", why.unwrap_or(said))
    };
    let others: Vec<String> = others.iter().map(short).collect();
    panic!("failed in {} of {of}:\n{first}\n{}", failed.len(), others.join("\n"));
}

/// Runs `body` in a copy of this process, which must not have loaded the plugin yet.
///
/// # Errors
/// What it said when it failed.
pub fn forked(body: impl FnOnce()) -> Result<(), String> {
    let mut pipe = [0; 2];
    // SAFETY: two numbers to fill in.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0, "a pipe can be made");
    // SAFETY: this process has only the threads of the test harness, which wait.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "a process can be made");
    if child == 0 {
        // SAFETY: descriptors of our own; a signal to ourselves.
        unsafe {
            libc::dup2(pipe[1], 2);
            libc::alarm(PATIENCE);
        }
        let failed = catch_unwind(AssertUnwindSafe(body)).is_err();
        // SAFETY: ends the copy.
        unsafe { libc::_exit(i32::from(failed)) }
    }
    // SAFETY: the descriptors made above.
    let mut output = unsafe {
        libc::close(pipe[1]);
        std::fs::File::from_raw_fd(pipe[0])
    };
    let (mut said, mut status) = (Vec::new(), 0);
    output.read_to_end(&mut said).expect("a pipe can be read");
    // SAFETY: our own child.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    if status == 0 {
        return Ok(());
    }
    Err(format!("status {status:#x}: {}", String::from_utf8_lossy(&said)))
}

/// Held by each unit test of the host: a copy of the process must not come while another thread holds one of its locks, which
/// would stay held in the copy.
#[cfg(test)]
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What the dynamic loader says is wrong.
pub(crate) fn loader_error() -> String {
    // SAFETY: null or a terminated text.
    unsafe {
        let error = libc::dlerror();
        if error.is_null() {
            return String::new();
        }
        CStr::from_ptr(error).to_string_lossy().into_owned()
    }
}

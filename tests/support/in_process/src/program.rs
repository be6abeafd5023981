//! Building the host program.
//!
//! The program is compiled when a test first needs it, not by a build script: the plugin itself must build where no
//! Slurm source is. The result is kept in the target directory under a name made of everything that went in.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

const SOURCES: [(&str, &str); 11] = [
    ("host.h", include_str!("../host/host.h")),
    ("bench.c", include_str!("../host/bench.c")),
    ("clock.c", include_str!("../host/clock.c")),
    ("exports.c", include_str!("../host/exports.c")),
    ("factors.c", include_str!("../host/factors.c")),
    ("jobs.c", include_str!("../host/jobs.c")),
    ("locks.c", include_str!("../host/locks.c")),
    ("main.c", include_str!("../host/main.c")),
    ("request.c", include_str!("../host/request.c")),
    ("tree.c", include_str!("../host/tree.c")),
    ("usage.c", include_str!("../host/usage.c")),
];

const LIBRARY_DIRECTORIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/slurm-wlm",
    "/usr/lib/aarch64-linux-gnu/slurm-wlm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
];

/// The headers' macros need no configuration; without `NDEBUG` they would call functions of debug builds.
const FLAGS: [&str; 10] = [
    "-std=gnu11",
    "-O2",
    "-g",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Wno-missing-field-initializers",
    "-Wno-sign-compare",
    "-Wno-unused-parameter",
];

static COMPILING: Mutex<()> = Mutex::new(());

/// A compiled host program and the Slurm it belongs to.
#[derive(Debug, Clone)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Directory of libslurmfull and of the stock plugins.
    pub library: PathBuf,
    /// Release of the headers, such as `22.05.8`.
    pub version: String,
}

impl Program {
    /// Compile the program, or find it already compiled. Flags in `INPROC_CFLAGS` (a sanitizer, say) are added.
    ///
    /// `slurmctld`: whether the executable exports slurmctld's names, or is like `sshare` a process without them.
    ///
    /// # Errors
    /// If the Slurm source or library is missing, or the compiler fails; the message says what to do.
    pub fn build(slurmctld: bool) -> Result<Self, Error> {
        let source = source_directory()?;
        let library = library_directory()?;
        let version = release(&source)?;
        let extra = env::var("INPROC_CFLAGS").unwrap_or_default();
        let mut flags: Vec<&OsStr> = FLAGS.iter().map(OsStr::new).collect();
        flags.extend(extra.split_whitespace().map(OsStr::new));
        if slurmctld {
            flags.push(OsStr::new("-rdynamic"));
        }
        let key = key(&(&SOURCES, &flags, &version, &source, modified(&library.join("libslurmfull.so"))));
        let directory = cache_directory();
        let path = directory.join(format!("host-{version}-{key:016x}"));
        // Tests run in parallel; one of them compiles. Other processes may compile too: the rename settles it.
        let _compiling = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        if !path.exists() {
            let work = tempfile::tempdir_in(&directory)?;
            for (name, text) in SOURCES {
                fs::write(work.path().join(name), text)?;
            }
            write_configuration(work.path(), &version)?;
            let output = work.path().join("host");
            let mut cc = compiler();
            cc.args(&flags).arg("-I").arg(work.path()).arg("-I").arg(&source).arg("-o").arg(&output);
            cc.args(SOURCES.iter().filter(|(n, _)| is_c(n)).map(|(n, _)| work.path().join(n)));
            cc.arg(library.join("libslurmfull.so")).arg(format!("-Wl,-rpath,{}", library.display()));
            cc.args(["-pthread", "-lm", "-ldl"]);
            run(cc)?;
            fs::rename(output, &path)?;
        }
        Ok(Self { path, library, version })
    }
}

/// Compile one C file into a plugin, against the same headers as the host.
///
/// # Errors
/// As [`Program::build`].
pub fn build_plugin(source_file: &Path, output: &Path) -> Result<(), Error> {
    let source = source_directory()?;
    let work = tempfile::tempdir()?;
    write_configuration(work.path(), &release(&source)?)?;
    let mut cc = compiler();
    cc.args(FLAGS).args(["-shared", "-fPIC"]).arg("-I").arg(work.path()).arg("-I").arg(&source);
    cc.arg("-o").arg(output).arg(source_file);
    run(cc)
}

/// The unpacked Slurm source of the installed release: the tree that `SLURM_SRC` names, else one of those in
/// `SLURM_SRC_DIRS` (colon separated; trees, or directories that hold trees), else one in `target/slurm-src`.
///
/// # Errors
/// If there is none, or `SLURM_SRC` names no Slurm source.
pub fn source_directory() -> Result<PathBuf, Error> {
    if let Some(path) = env::var_os("SLURM_SRC").filter(|path| !path.is_empty()).map(PathBuf::from) {
        if is_source(&path) {
            return Ok(path);
        }
        return Err(Error::Build(format!(
            "SLURM_SRC={} holds no src/slurmctld/slurmctld.h; it must name an unpacked Slurm source",
            path.display()
        )));
    }
    let named = env::var_os("SLURM_SRC_DIRS").filter(|path| !path.is_empty());
    let places: Vec<PathBuf> = named.map_or_else(
        || vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/slurm-src")],
        |paths| env::split_paths(&paths).collect(),
    );
    let library = fs::read(library_directory()?.join("libslurmfull.so"))?;
    places.iter().flat_map(|place| trees(place)).find(|tree| is_of_library(tree, &library)).ok_or_else(|| {
        Error::Build(format!(
            "no source of the installed Slurm release in {places:?}: run `make test`, or \
             `slurm-headers/fetch-source.sh target/slurm-src`, or set SLURM_SRC to that source's directory"
        ))
    })
}

fn is_source(path: &Path) -> bool {
    path.join("src/slurmctld/slurmctld.h").is_file()
}

/// The place itself, or the sources in it.
fn trees(place: &Path) -> Vec<PathBuf> {
    if is_source(place) {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| is_source(path)).collect()
}

/// Whether the library states the source's release.
fn is_of_library(tree: &Path, library: &[u8]) -> bool {
    release(tree).is_ok_and(|release| {
        let text = format!("{release}\0");
        library.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

fn library_directory() -> Result<PathBuf, Error> {
    let given = env::var_os("SLURM_LIBDIR").map(PathBuf::from);
    given
        .into_iter()
        .chain(LIBRARY_DIRECTORIES.map(PathBuf::from))
        .find(|d| d.join("libslurmfull.so").is_file())
        .ok_or_else(|| {
            Error::Build(format!(
                "no libslurmfull.so in {}; run `apt-get install slurmctld slurm-wlm-basic-plugins`, or set \
                 SLURM_LIBDIR to its directory",
                LIBRARY_DIRECTORIES.join(", ")
            ))
        })
}

/// The release that the source's META file states.
fn release(source: &Path) -> Result<String, Error> {
    let meta = fs::read_to_string(source.join("META"))?;
    meta.lines()
        .find_map(|line| line.trim().strip_prefix("Version:"))
        .map(|version| version.trim().to_owned())
        .ok_or_else(|| Error::Build(format!("{}/META states no Version", source.display())))
}

/// What `./configure` would write, as far as the headers look at it.
fn write_configuration(directory: &Path, version: &str) -> Result<(), Error> {
    let numbers: Vec<u32> = version.split(['.', '-']).map_while(|part| part.parse().ok()).collect();
    let [major, minor, micro, ..] = numbers[..] else {
        return Err(Error::Build(format!("'{version}' is no Slurm release")));
    };
    let number = major << 16 | minor << 8 | micro;
    fs::write(directory.join("config.h"), "")?;
    fs::create_dir_all(directory.join("slurm"))?;
    fs::write(
        directory.join("slurm/slurm_version.h"),
        format!(
            "#define SLURM_VERSION_NUM(a,b,c) (((a) << 16) + ((b) << 8) + (c))\n\
             #define SLURM_VERSION_NUMBER {number:#x}\n#define SLURM_VERSION_STRING \"{version}\"\n"
        ),
    )?;
    Ok(())
}

fn is_c(name: &str) -> bool {
    Path::new(name).extension() == Some(OsStr::new("c"))
}

fn compiler() -> Command {
    Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

fn run(mut cc: Command) -> Result<(), Error> {
    let output = cc.output().map_err(|error| Error::Build(format!("cannot run {cc:?}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Build(format!("{cc:?} failed:\n{}", String::from_utf8_lossy(&output.stderr))))
}

fn key(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|m| m.modified()).ok()
}

/// The target directory of this build, found by the tag that cargo leaves there; else the temporary directory.
fn cache_directory() -> PathBuf {
    let target = env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().find(|d| d.join("CACHEDIR.TAG").is_file()).map(|d| d.join("inproc")));
    let directory = target.unwrap_or_else(|| env::temp_dir().join("slurm-inproc"));
    // Failure shows at the first write, with the path.
    let _: io::Result<()> = fs::create_dir_all(&directory);
    directory
}

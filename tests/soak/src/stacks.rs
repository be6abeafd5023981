//! What slurmctld's threads do, and what one did that has crashed, as gdb sees it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};
use slurm_testcluster::Cluster;

/// Prints function and file of each frame of a thread, the innermost first.
const FRAMES: &str =
    "python exec('f = gdb.newest_frame()\\nwhile f:\\n print(\"frame\", f.name() or hex(f.pc()), \
                      gdb.solib_name(f.pc()) or \"slurmctld\")\\n f = f.older()')";

/// What all threads of a running slurmctld do that wait for a lock or are at work in the plugin.
pub fn of_running(cluster: &Cluster) -> Result<String> {
    let pid = cluster.controller_pid()?;
    let program = fs::read_link(format!("/proc/{pid}/exe"))?;
    Ok(busy(&gdb(cluster, &program, &["-p", &pid.to_string(), "-ex", "thread apply all backtrace 24"])?))
}

/// The frames of the thread that crashed, each a function and its file, the innermost first. The core is removed; `None` where
/// there is none.
pub fn of_core(cluster: &Cluster) -> Result<Option<Vec<String>>> {
    // slurmctld works in the directory of its log, or else in that of its state.
    for directory in ["log", "state"] {
        for entry in fs::read_dir(cluster.directory().join(directory))?.flatten() {
            if !entry.file_name().to_string_lossy().starts_with("core") {
                continue;
            }
            let core = entry.path();
            let program = cluster.release().program("slurmctld").context("slurmctld is gone")?;
            let text = gdb(cluster, &program, &["-core", &core.display().to_string(), "-ex", FRAMES])?;
            let frames: Vec<String> =
                text.lines().filter_map(|line| line.strip_prefix("frame ")).map(file_name_only).collect();
            ensure!(!frames.is_empty(), "gdb finds nothing in {}:\n{text}", core.display());
            fs::remove_file(&core)?;
            return Ok(Some(frames));
        }
    }
    Ok(None)
}

/// The directory of a frame's file says nothing, and generic arguments say too much.
fn file_name_only(frame: &str) -> String {
    let (function, file) = frame.rsplit_once(' ').unwrap_or((frame, ""));
    format!(
        "{} {}",
        function.split('<').next().unwrap_or_default(),
        file.rsplit('/').next().unwrap_or_default()
    )
}

/// What gdb prints. In the root directory of another release the files are where that is, but for the cluster's plugins.
fn gdb(cluster: &Cluster, program: &Path, arguments: &[&str]) -> Result<String> {
    let root = cluster.release().root();
    let inside = program.strip_prefix(root).unwrap_or(program);
    let inside = root.join(inside.strip_prefix("/").unwrap_or(inside));
    let first = [
        "set debuginfod enabled off".to_owned(),
        "set print frame-arguments none".to_owned(),
        format!("set sysroot {}", root.display()),
        format!("set solib-search-path {}", cluster.directory().join("plugins").display()),
        format!("file {}", inside.display()),
    ];
    let mut command = Command::new("gdb");
    command.args(["-nx", "-batch"]).args(first.iter().flat_map(|line| ["-iex", line]));
    let output =
        command.args(arguments).output().context("gdb takes the stacks; run tests/install-deps.sh test")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The stacks of threads in which something is locked, the plugin is at work or slurmdbd is asked: slurmctld has dozens that wait for work.
fn busy(text: &str) -> String {
    let (mut stacks, mut thread) = (Vec::new(), Vec::new());
    for line in text.lines().chain(["Thread "]) {
        if line.starts_with("Thread ") {
            let told = |word: &str| thread.iter().any(|line: &&str| line.contains(word));
            if ["lock", "priority", "multifactor2", "slurmdbd"].into_iter().any(told) {
                stacks.append(&mut thread);
            }
            thread.clear();
        }
        if line.starts_with("Thread ") || line.starts_with('#') {
            thread.push(line);
        }
    }
    stacks.join("\n")
}

//! What slurmctld's threads do, and what one did that has crashed, as gdb sees it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};

use crate::Cluster;

/// Prints function and file of each frame of a thread, the innermost first.
const FRAMES: &str =
    "python exec('f = gdb.newest_frame()\\nwhile f:\\n print(\"frame\", f.name() or hex(f.pc()), \
                      gdb.solib_name(f.pc()) or \"slurmctld\")\\n f = f.older()')";

/// What all threads of a running slurmctld do that wait for a lock or are at work in the plugin.
///
/// # Errors
/// If slurmctld does not run, or gdb is not there.
pub fn of_running(cluster: &Cluster) -> Result<String> {
    Ok(busy(&attached(cluster, cluster.controller_pid()?, "thread apply all backtrace 24")?))
}

/// The threads of a running slurmctld, the cluster's or its backup's, that have called the plugin and are still in it, each as its frames, the innermost
/// first. The plugin's own threads are not among them.
///
/// # Errors
/// If there is no such process, or gdb does not read it.
pub fn inside_plugin(cluster: &Cluster, pid: u32) -> Result<Vec<Vec<String>>> {
    let text = attached(cluster, pid, &format!("thread apply all {FRAMES}"))?;
    let mut threads: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Thread ") {
            threads.push(Vec::new());
        } else if let (Some(frame), Some(thread)) = (line.strip_prefix("frame "), threads.last_mut()) {
            thread.push(file_name_only(frame));
        }
    }
    ensure!(threads.iter().any(|thread| !thread.is_empty()), "gdb finds no thread of slurmctld:\n{text}");
    threads.retain(|thread| is_inside_plugin(thread));
    Ok(threads)
}

/// Whether a thread of slurmctld is in the plugin: one of its frames is, and it was not begun there.
fn is_inside_plugin(frames: &[String]) -> bool {
    let in_plugin = |frame: &String| frame.contains("priority_multifactor2");
    let begun =
        frames.iter().rev().find(|frame| !frame.ends_with("libc.so.6") && !frame.contains("libpthread"));
    frames.iter().any(in_plugin) && !begun.is_some_and(in_plugin)
}

/// What gdb says of a running slurmctld.
fn attached(cluster: &Cluster, pid: u32, question: &str) -> Result<String> {
    let program = fs::read_link(format!("/proc/{pid}/exe"))?;
    gdb(cluster, &program, &["-p", &pid.to_string(), "-ex", question])
}

/// The frames of the thread that crashed, each a function and its file, the innermost first. The core is removed; `None` where
/// there is none.
///
/// # Errors
/// If gdb does not read the core.
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

#[cfg(test)]
mod tests {
    use super::is_inside_plugin;

    /// The frames of a thread, the innermost first, by their files.
    fn thread(files: &[&str]) -> bool {
        is_inside_plugin(&files.iter().map(|file| format!("0x1234 {file}")).collect::<Vec<_>>())
    }

    #[test]
    fn a_thread_is_inside_the_plugin_where_slurmctld_has_called_it() {
        assert!(thread(&[
            "libc.so.6",
            "priority_multifactor2.so",
            "libslurmfull.so",
            "slurmctld",
            "libc.so.6"
        ]));
        assert!(thread(&[
            "libc.so.6",
            "priority_multifactor2.so",
            "slurmctld",
            "libpthread-2.31.so",
            "libc.so.6"
        ]));
        assert!(!thread(&["libc.so.6", "libslurmfull.so", "slurmctld", "libc.so.6"]));
        assert!(
            !thread(&["libc.so.6", "slurmctld", "priority_multifactor2.so", "libc.so.6"]),
            "its own thread"
        );
        assert!(!thread(&[]));
    }
}

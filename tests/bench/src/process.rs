//! What the kernel knows of a process: its memory, and the processor time of its decay thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Now.
    pub now: f64,
    /// Most since [`forget_peak`].
    pub peak: f64,
}

/// Reads it.
pub fn memory(process: u32) -> Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let bytes = |name: &str| -> Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).context(name.to_owned())?;
        let kibibytes: f64 = line.trim_start_matches(':').trim_end_matches("kB").trim().parse()?;
        Ok(kibibytes * 1024.0)
    };
    Ok(Memory { now: bytes("VmRSS")?, peak: bytes("VmHWM")? })
}

/// Lets the peak begin anew.
pub fn forget_peak(process: u32) -> Result<()> {
    Ok(fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}

/// The thread of a process that Slurm's priority plugins name `decay`.
#[derive(Debug)]
pub struct DecayThread(PathBuf);

impl DecayThread {
    /// Finds it.
    pub fn of(process: u32) -> Result<Self> {
        thread(process, "decay").map(Self)
    }

    /// Its processor time until now.
    pub fn cpu(&self) -> Result<Duration> {
        cpu(&self.0)
    }
}

/// The processor time until now of a thread with this name.
pub fn thread_cpu(process: u32, name: &str) -> Result<Duration> {
    cpu(&thread(process, name)?)
}

fn thread(process: u32, name: &str) -> Result<PathBuf> {
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm")).is_ok_and(|found| found.trim_end() == name) {
            return Ok(task);
        }
    }
    anyhow::bail!("process {process} has no thread named '{name}'")
}

/// To the nanosecond; `stat` counts in hundredths of a second only.
fn cpu(task: &Path) -> Result<Duration> {
    let text = fs::read_to_string(task.join("schedstat"))?;
    let nanoseconds = text.split(' ').next().unwrap_or_default().parse();
    Ok(Duration::from_nanos(nanoseconds.context("schedstat")?))
}

/// The machine, in a few words.
pub fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let caches = (0..4).filter_map(|index| {
        let read = |file: &str| {
            fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"))
                .map(|text| text.trim().to_owned())
        };
        Some(format!("L{} {}", read("level").ok()?, read("size").ok()?))
    });
    let model = model.trim_start_matches(['\t', ' ', ':']);
    format!("{count} x {model}; caches {}", caches.collect::<Vec<_>>().join(", "))
}

/// Load averages over 1, 5 and 15 minutes.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

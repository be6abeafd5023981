//! How long each answer of the command `multifactor2` takes in a live cluster, asked of Slurm's commands, and the memory that it needs; and
//! what the plugin's snapshot costs slurmctld.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Builder, Cluster};

use crate::daemon::{prepare, SUBMITTERS};
use crate::process::{self, DecayThread};
use crate::samples::{Samples, Scene};

/// Seconds between two cycles: in a live cluster it is some minutes, so that commands mostly find slurmctld idle.
pub const PERIOD: u32 = 15;

/// What is asked; JOB and USER are a job that waits and who submitted it.
const QUESTIONS: [(&str, &str); 8] = [
    ("why", "why JOB"),
    ("queue", "queue"),
    ("tree", "tree"),
    ("what-if", "what-if --shares a1=77"),
    ("cost", "cost JOB"),
    ("recover", "recover USER --to 0.9"),
    ("metrics", "metrics"),
    ("check", "check"),
];

const PROGRAMS: [&str; 5] = ["scontrol", "sshare", "squeue", "sprio", "sacctmgr"];

/// A list in Markdown: an item for each Slurm and plugin.
#[derive(Debug, Default)]
pub struct Answers(String);

impl Answers {
    /// Measures in one Slurm: each question `rounds` times under stock and under ours.
    pub fn measure(&mut self, builder: Builder, scene: &Scene, command: &Path, rounds: usize) -> Result<()> {
        let settings = "PriorityParameters";
        let builder = builder.cycle_seconds(Some(PERIOD)).set(settings, "ActiveJobs=eligible");
        let mut cluster = prepare(builder, scene, SUBMITTERS)?;
        let version = cluster.release().version;
        let programs = programs(&cluster)?;
        for (name, priority) in [("stock", "priority/multifactor"), ("this plugin", "priority/multifactor2")]
        {
            cluster.set("PriorityType", priority)?;
            cluster.start_controller()?;
            cluster.wait_cycle()?;
            let first = cluster.sprio(&["-h", "-o", "%i|%u"])?;
            let first = first.lines().next().and_then(|line| line.split_once('|'));
            let (job, user) = first.context("sprio shows no job")?;
            let (mut times, mut most) = (Vec::new(), 0.0_f64);
            for (question, words) in QUESTIONS {
                let words = words.replace("JOB", job.trim()).replace("USER", user.trim());
                let (mut time, mut memory) = (Samples::default(), Samples::default());
                for _ in 0..rounds {
                    let asked = ask(&cluster, command, &words, &programs)?;
                    time.push(asked.0.as_secs_f64());
                    memory.push(asked.1 / 1e6);
                }
                eprintln!("Slurm {version}, {name}, {question}: {:.1} s, {:.0} MB", time.min(), memory.max());
                times.push(format!("{question} {:.1} s", time.min()));
                most = most.max(memory.max());
            }
            let _ = write!(self.0, "- Slurm {version}, {name}: {}; {most:.0} MB.", times.join(", "));
            if name == "this plugin" {
                self.0 += &snapshot(&cluster)?;
            }
            self.0.push('\n');
            cluster.stop_controller()?;
        }
        Ok(())
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Where they and their wrapper find everything else.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A directory with Slurm's commands as they are called in this cluster.
fn programs(cluster: &Cluster) -> Result<PathBuf> {
    let directory = cluster.directory().join("commands");
    fs::create_dir(&directory)?;
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let environment: Vec<String> =
        cluster.environment().iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    for name in PROGRAMS {
        let called = cluster.release().command(name);
        let words: Vec<String> = std::iter::once(called.get_program())
            .chain(called.get_args())
            .map(|word| quoted(&word.to_string_lossy()))
            .collect();
        let path = directory.join(name);
        fs::write(
            &path,
            format!(
                "#!/bin/sh\nexport PATH={PATH} {}\nexec {} \"$@\"\n",
                environment.join(" "),
                words.join(" ")
            ),
        )?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    Ok(directory)
}

/// How long it takes, and the most memory that the command has, in bytes. Slurm's own commands are in the first, not in the second.
fn ask(cluster: &Cluster, command: &Path, words: &str, programs: &Path) -> Result<(Duration, f64)> {
    let out = cluster.directory().join("answer");
    let path = format!("{}:{PATH}", programs.display());
    let slurm_conf = cluster.directory().join("slurm.conf");
    let start = Instant::now();
    let mut child = Command::new(command)
        .args(words.split(' '))
        .env("PATH", path)
        .env("SLURM_CONF", slurm_conf)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .spawn()
        .with_context(|| command.display().to_string())?;
    let mut peak = 0.0_f64;
    let status = loop {
        // None any more once it has ended.
        peak = process::memory(child.id()).map_or(peak, |memory| peak.max(memory.peak));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        sleep(Duration::from_millis(2));
    };
    let took = start.elapsed();
    // What check finds is no failure.
    let is_answered = status.success() || words == "check";
    ensure!(is_answered && fs::metadata(&out)?.len() > 0, "multifactor2 {words}: {status}");
    Ok((took, peak))
}

/// Cycles that are looked at with and without snapshots.
const CYCLES: usize = 4;

/// Processor time of snapshots: what the decay thread takes more in a cycle, and the thread that writes.
fn snapshot(cluster: &Cluster) -> Result<String> {
    let home = cluster.directory().join("snapshots");
    fs::create_dir(&home)?;
    let file = home.join("snapshot");
    let process = cluster.controller_pid()?;
    let without = cycles(cluster, process)?.0;
    let settings = format!("Snapshot={}\nSnapshotPeriod=1\n", file.display());
    fs::write(cluster.directory().join("multifactor2.conf"), settings)?;
    cluster.reconfigure()?;
    cluster.wait_for("slurmctld", Duration::from_secs(60), |cluster| Ok(cluster.is_up().then_some(())))?;
    cluster.wait_cycle()?;
    let process = cluster.controller_pid()?;
    let (with, writing) = cycles(cluster, process)?;
    let size = fs::metadata(&file).context("there is no snapshot")?.len() / 1_000_000;
    Ok(format!(
        " A snapshot is {size} MB: {:.0} ms of the thread `decay`, {:.0} ms of its own thread.",
        (with.median() - without.median()).max(0.0),
        writing.median()
    ))
}

/// Milliseconds of the decay thread in each of some cycles, and of the thread `snapshot` after each that had one.
fn cycles(cluster: &Cluster, process: u32) -> Result<(Samples, Samples)> {
    let decay = DecayThread::of(process)?;
    let state = cluster.directory().join("state/priority_last_decay_ran");
    let written = || fs::metadata(&state).and_then(|file| file.modified()).ok();
    let (mut cycles, mut snapshots) = (Samples::default(), Samples::default());
    let (mut last, mut before) = (None, written());
    while cycles.count() < CYCLES {
        let mut writing = Duration::ZERO;
        let start = Instant::now();
        // Until some seconds after the next cycle, when all that it began is done.
        let mut ended: Option<Instant> = None;
        while ended.is_none_or(|ended| ended.elapsed() < Duration::from_secs(u64::from(PERIOD) / 3)) {
            ensure!(start.elapsed() < Duration::from_secs(150), "waited in vain for a decay cycle");
            if ended.is_none() && written() != before {
                ended = Some(Instant::now());
                before = written();
            }
            if let Ok(time) = process::thread_cpu(process, "snapshot") {
                writing = writing.max(time);
            }
            sleep(Duration::from_millis(1));
        }
        let now = decay.cpu()?;
        if let Some(last) = last.replace(now) {
            cycles.push(now.saturating_sub(last).as_secs_f64() * 1e3);
            snapshots.push(writing.as_secs_f64() * 1e3);
        }
    }
    Ok((cycles, snapshots))
}

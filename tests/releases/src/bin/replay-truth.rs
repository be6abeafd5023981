//! What real clusters do with the jobs that replays are compared with: `replay-truth [--runs N] [--at-once N] DIRECTORY [CELL...]`
//!
//! A cell is a kind of machine and of jobs, a release and a policy. Each of its runs has a cluster of its own and the same jobs at the
//! same seconds. DIRECTORY gets what `multifactor2 replay --export --anonymise` collects of each; a run that is there is not made again.
//! In cells that begin with `passes-` priorities are fixed and slurmctld logs each pass of its schedulers: what it says is kept.

use std::collections::VecDeque;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use flate2::write::GzEncoder;
use flate2::Compression;
use slurm_releases::logged;
use slurm_releases::replayed::{bursts, export, run_all, tree, Planned, SCHEDULER};
use slurm_releases::{cluster, Suite, BOOKWORM, FORKY};
use slurm_testcluster::{policies, Cluster, Mode};

/// Nodes of each machine, and CPUs of each of them.
const NODES: u16 = 20;
const CPUS: u16 = 4;

/// MB of a node.
const MEMORY: u32 = 4000;

/// What is kept of an export besides the jobs: of a cell, as it is the same in each run, and of each run.
const OF_CELL: [&str; 6] =
    ["associations.txt", "limits.txt", "qos.txt", "config.txt", "partitions.txt", "nodes.txt"];
const OF_RUN: [&str; 2] = ["events", "reservations"];

/// Jobs of a run, the seconds in which they are submitted, and the seed that they are drawn by.
const JOBS: usize = 600;
const WITHIN: u32 = 240;
const SEED: u64 = 34;

/// What a machine and its jobs are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    /// Jobs share nodes by CPUs.
    Shared,
    /// And 40 % of them want most of the memory of a node.
    Memory,
    /// And 40 % of them want GPUs, of which a node has two.
    Gres,
    /// Jobs have whole nodes.
    Whole,
    /// As shared, with [`LIMITS`].
    Limited,
    /// As shared, and eight nodes are drained for a part of the time.
    Outage,
    /// As shared, and eight nodes are reserved for one user for a part of the time.
    Reserved,
}

/// When the first nodes of a machine are reserved, in seconds after the first job: who waits may not run into it.
const RESERVED: (u64, u64, &str) = (100, 190, "n[1-8]");

/// When the first nodes of a machine are drained and come back, in seconds after the first job.
const DRAIN: (u64, u64, &str) = (90, 180, "n[1-8]");

/// Limits on running jobs: one of each kind that a replay follows in the accounting of a site. The QOS has none on jobs, which would
/// replace that of a user.
const LIMITS: [&str; 3] = [
    "modify qos normal set MaxTRESPU=cpu=24",
    "modify account physics set GrpTRES=cpu=32 GrpJobs=20",
    "modify user dora where account=chemistry set MaxJobs=5",
];

impl Machine {
    /// The jobs.
    fn jobs(self) -> Vec<Planned> {
        // Who wants one node says so, and how many tasks; who wants several says how many on each, as jobs do that talk to each other.
        let of_nodes = |nodes: u32, each: u32| {
            let mut asks = vec![format!("--nodes={nodes}"), format!("--ntasks={}", nodes * each)];
            asks.extend((nodes > 1).then(|| format!("--ntasks-per-node={each}")));
            asks
        };
        let seconds = if self == Self::Whole { 4..=14 } else { 6..=26 };
        bursts(SEED, JOBS, WITHIN, seconds, |random| {
            let of =
                |random: &mut fastrand::Rng, sizes: &[u32]| random.choice(sizes.iter().copied()).unwrap_or(1);
            let is_hungry = random.u32(0..10) < 4;
            match self {
                Self::Shared | Self::Limited | Self::Outage | Self::Reserved => {
                    let cpus = of(random, &[1, 1, 1, 2, 2, 3, 4, 4, 8]);
                    of_nodes(cpus.div_ceil(4), cpus.min(4))
                }
                Self::Memory if is_hungry => [of_nodes(1, 1), vec!["--mem=3000".to_owned()]].concat(),
                Self::Memory => {
                    let cpus = of(random, &[1, 1, 2, 2, 3, 4]);
                    [of_nodes(1, cpus), vec![format!("--mem={}", 250 * cpus)]].concat()
                }
                Self::Gres if is_hungry => {
                    let gpus = of(random, &[1, 1, 2]);
                    [of_nodes(1, gpus), vec![format!("--gres=gpu:{gpus}")]].concat()
                }
                Self::Gres => of_nodes(1, of(random, &[1, 2, 2, 3, 4])),
                Self::Whole => of_nodes(of(random, &[1, 1, 1, 2, 2, 3]), 4),
            }
        })
    }
}

/// A cell: its name, machine, release and settings of this plugin; none for Fair Tree.
struct Cell {
    name: &'static str,
    kind: Machine,
    suite: Suite,
    settings: Option<&'static str>,
    /// Priorities are fixed, and each pass is logged.
    passes: bool,
}

const STANDING: &str = "Distribution=standing\n";

const fn cell(name: &'static str, kind: Machine, suite: Suite, settings: Option<&'static str>) -> Cell {
    Cell { name, kind, suite, settings, passes: false }
}

const fn passes(name: &'static str, kind: Machine, suite: Suite) -> Cell {
    Cell { name, kind, suite, settings: None, passes: true }
}

const CELLS: [Cell; 17] = [
    cell("shared-22.05-fair-tree", Machine::Shared, BOOKWORM, None),
    cell("shared-22.05-standing", Machine::Shared, BOOKWORM, Some(STANDING)),
    cell("shared-26.05-fair-tree", Machine::Shared, FORKY, None),
    cell("shared-26.05-standing", Machine::Shared, FORKY, Some(STANDING)),
    cell("memory-22.05-standing", Machine::Memory, BOOKWORM, Some(STANDING)),
    cell("gres-22.05-standing", Machine::Gres, BOOKWORM, Some(STANDING)),
    cell("whole-22.05-standing", Machine::Whole, BOOKWORM, Some(STANDING)),
    cell("limits-22.05-standing", Machine::Limited, BOOKWORM, Some(STANDING)),
    cell("limits-26.05-fair-tree", Machine::Limited, FORKY, None),
    cell("outage-22.05-standing", Machine::Outage, BOOKWORM, Some(STANDING)),
    cell("outage-26.05-fair-tree", Machine::Outage, FORKY, None),
    cell("reserved-22.05-standing", Machine::Reserved, BOOKWORM, Some(STANDING)),
    passes("passes-shared-22.05", Machine::Shared, BOOKWORM),
    passes("passes-shared-26.05", Machine::Shared, FORKY),
    passes("passes-memory-22.05", Machine::Memory, BOOKWORM),
    passes("passes-gres-22.05", Machine::Gres, BOOKWORM),
    passes("passes-whole-22.05", Machine::Whole, BOOKWORM),
];

fn main() -> ExitCode {
    let (mut runs, mut at_once) = (4, 3);
    let mut names = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok());
        match word.as_str() {
            "--runs" => runs = number().unwrap_or(runs),
            "--at-once" => at_once = number().unwrap_or(at_once),
            _ => names.push(word),
        }
    }
    if names.is_empty() {
        eprintln!("replay-truth: give a directory, and cells if not all");
        return ExitCode::FAILURE;
    }
    let directory = PathBuf::from(names.remove(0));
    let wanted = |cell: &&Cell| names.is_empty() || names.iter().any(|name| name == cell.name);
    let all = CELLS.iter().filter(wanted);
    let mut queue: VecDeque<(&Cell, usize)> =
        all.flat_map(|cell| (1..=if cell.passes { 1 } else { runs }).map(move |run| (cell, run))).collect();
    // Runs of a cell are spread over the hour, so that another load of this machine does not hit one cell alone.
    queue.make_contiguous().sort_by_key(|(_, run)| *run);
    let queue = Mutex::new(queue);
    let failed = Mutex::new(false);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some((cell, run)) = next else { break };
                let began = Instant::now();
                match make(cell, run, &directory) {
                    Ok(()) => println!("{} run {run}: {} s", cell.name, began.elapsed().as_secs()),
                    Err(error) => {
                        eprintln!("{} run {run}: {error:#}", cell.name);
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = true;
                    }
                }
            });
        }
    });
    if failed.into_inner().unwrap_or(true) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Reserves nodes. No job runs in the reservation: the nodes are kept.
fn reserve(cluster: &Cluster) -> Result<()> {
    let (from, until, nodes) = RESERVED;
    let (start, end) = (format!("starttime=now+{from}seconds"), format!("endtime=now+{until}seconds"));
    let nodes = format!("nodes={nodes}");
    let words = ["create", "reservation", "reservationname=kept", "users=ada", &start, &end, &nodes];
    cluster.command("scontrol").args(words).text().map(drop)
}

/// Drains nodes and brings them back.
fn drain(cluster: &Cluster) -> Result<()> {
    let (from, until, nodes) = DRAIN;
    let update = |words: &[&str]| {
        let name = format!("nodename={nodes}");
        let call = cluster.command("scontrol").args(["update", &name]).args(words.iter().copied());
        call.text().map(drop)
    };
    std::thread::sleep(Duration::from_secs(from));
    update(&["state=drain", "reason=test"])?;
    std::thread::sleep(Duration::from_secs(until - from));
    update(&["state=resume"])
}

/// A run of a cell.
fn make(cell: &Cell, run: usize, directory: &Path) -> Result<()> {
    let place = directory.join(cell.name);
    let file = place.join(format!("run-{run}.txt.gz"));
    if file.is_file() {
        return Ok(());
    }
    let Some(release) = cell.suite.release()? else { return Ok(()) };
    let mut builder = cluster(release)?
        .accounts(&tree())
        .nodes(NODES)
        .cpus(CPUS)
        .memory(MEMORY)
        .slurmds(true)
        .cycle_seconds(Some(2))
        .set("SelectTypeParameters", if cell.kind == Machine::Memory { "CR_CPU_Memory" } else { "CR_CPU" })
        .set("PriorityDecayHalfLife", "00:02:00")
        .set("PriorityMaxAge", "00:05:00")
        .set("PriorityWeightAge", "10000")
        .set("PriorityWeightJobSize", "1000")
        .set("SchedulerParameters", SCHEDULER);
    builder = match cell.kind {
        Machine::Gres => builder
            .set("GresTypes", "gpu")
            .set("AccountingStorageTRES", "gres/gpu")
            .set("NodeName", "DEFAULT Gres=gpu:2")
            .file("gres.conf", "Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n"),
        Machine::Whole => builder.set("PartitionName", "DEFAULT OverSubscribe=EXCLUSIVE"),
        Machine::Shared | Machine::Memory | Machine::Limited | Machine::Outage | Machine::Reserved => builder,
    };
    builder = match cell.settings {
        _ if cell.passes => builder
            .set("PriorityType", "priority/basic")
            // Its log has the times.
            .mode(Mode::Daemon)
            .set("SlurmctldDebug", "debug2")
            .set("DebugFlags", "Backfill"),
        Some(settings) => builder.file(policies::FILE, settings),
        None => builder.set("PriorityType", "priority/multifactor"),
    };
    let cluster = builder.start()?;
    if cell.kind == Machine::Limited {
        for line in LIMITS {
            let words = ["-i"].into_iter().chain(line.split(' '));
            cluster.command("sacctmgr").args(words).text()?;
        }
    }
    if cell.kind == Machine::Reserved {
        reserve(&cluster)?;
    }
    std::thread::scope(|scope| -> Result<()> {
        let drain = scope.spawn(|| if cell.kind == Machine::Outage { drain(&cluster) } else { Ok(()) });
        run_all(&cluster, &cell.kind.jobs(), Duration::from_secs(1800))?;
        drain.join().map_err(|_| anyhow::anyhow!("the drain has panicked"))?
    })?;
    let program = std::env::current_exe()?.with_file_name("ask-cluster");
    let exported = export(&cluster, &program, "trace", &["--anonymise"])?;
    fs::create_dir_all(&place)?;
    for entry in fs::read_dir(&exported)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a name")?;
        if name.starts_with("sacct-") && name.contains(".txt") {
            fs::copy(&path, &file)?;
        } else if OF_CELL.contains(&name) {
            fs::copy(&path, place.join(name))?;
        } else if let Some(what) = OF_RUN.iter().find(|what| **what == name.trim_end_matches(".txt")) {
            fs::copy(&path, place.join(format!("{what}-{run}.txt")))?;
        }
    }
    if cell.passes {
        let mut told = GzEncoder::new(fs::File::create(place.join("passes.txt.gz"))?, Compression::best());
        told.write_all(logged::passes(&cluster.log()).as_bytes())?;
        told.finish()?;
    }
    Ok(())
}

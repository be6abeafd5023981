//! Instructions and cache misses per job, as callgrind counts them. Time depends on the machine and on who else is there; these do not, so
//! that a step of a hundredth is seen.
//!
//! callgrind writes what it has counted whenever the host begins with a request. What a job costs is the difference between many jobs and
//! few, so that what a cycle does once is not in it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use slurm_inproc::{Host, Plugin};

use crate::compare::next_cycle;
use crate::hosts::{fill_pending, fill_running};
use crate::policies::{charging, names, options, policies, PARTITIONS};
use crate::samples::Scene;

/// Jobs at first, and those that come.
const FEW: u32 = 1000;
const MORE: u32 = 3000;
const ASSOCIATIONS: u32 = 112;
/// Running jobs are charged up chains of accounts, which are more work.
const RUNNING: u32 = 500;

/// A cache of 1 MiB, which 4,000 jobs do not fit into: the same on every machine.
const CACHES: [&str; 4] = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];

/// What was counted for a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// What is called how; the settings first.
    pub settings: String,
    /// What was done.
    pub measure: &'static str,
    /// Instructions.
    pub instructions: f64,
    /// Lines that were not in the cache when they were read or written. What is fetched ahead counts, too.
    pub misses: f64,
}

/// What callgrind wrote at the begin of one request, or at the end: all since the request before.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    instructions: u64,
    misses: u64,
}

impl Totals {
    fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let events = line("events: ").context("callgrind writes its events")?.split_whitespace();
        let totals = line("totals: ").or_else(|| line("summary: ")).context("callgrind writes its totals")?;
        let mut found = Self::default();
        for (event, count) in events.zip(totals.split_whitespace()) {
            let count: u64 = count.parse()?;
            match event {
                "Ir" => found.instructions += count,
                "DLmr" | "DLmw" => found.misses += count,
                _ => {}
            }
        }
        Ok(found)
    }
}

/// A host under callgrind.
struct Counting {
    host: Host,
    directory: tempfile::TempDir,
}

impl Counting {
    fn start(plugin: &Plugin, file: &str) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut options = options(plugin, file);
        let profile = directory.path().join("profile").display().to_string();
        options.wrapper =
            ["valgrind", "-q", "--tool=callgrind", "--dump-before=run_command"].map(str::to_owned).to_vec();
        options.wrapper.extend(CACHES.map(str::to_owned));
        options.wrapper.push(format!("--callgrind-out-file={profile}"));
        let mut host = Host::start(&options)?;
        host.check_locks(false)?;
        Ok(Self { host, directory })
    }

    /// Where callgrind will write what the next request costs: that of each ends with the next one, and its own file is there from the begin.
    fn next(&self) -> Result<usize> {
        Ok(fs::read_dir(self.directory.path())?.count() + 1)
    }

    /// Ends the host; what the requests at these places have cost.
    fn finish(self, places: &[usize]) -> Result<Vec<Totals>> {
        self.host.quit()?;
        let directory = self.directory.path();
        if let Some(kept) = std::env::var_os("MULTIFACTOR2_KEEP_PROFILES") {
            fs::create_dir_all(&kept)?;
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                fs::copy(entry.path(), Path::new(&kept).join(entry.file_name()))?;
            }
        }
        places.iter().map(|place| Totals::read(&directory.join(format!("profile.{place}")))).collect()
    }

    /// Cycles until nothing is new, and then one after the usual time: its place.
    fn settled_cycle(&mut self) -> Result<usize> {
        for _ in 0..3 {
            next_cycle(&mut self.host)?;
        }
        self.host.advance(crate::hosts::PERIOD)?;
        let cycle = self.next()?;
        self.host.cycle()?;
        Ok(cycle)
    }

    /// That of a host that has all it needs; then it ends.
    fn only_cycle(mut self) -> Result<Totals> {
        self.host.init()?;
        let cycle = self.settled_cycle()?;
        Ok(self.finish(&[cycle])?[0])
    }

    /// What is counted: a settled cycle, one at the same time, the list for `sprio`, and a submission of every job.
    fn pending(&mut self) -> Result<[usize; 4]> {
        let cycle = self.settled_cycle()?;
        let unchanged = self.next()?;
        self.host.cycle()?;
        let list = self.next()?;
        self.host.bench_factors()?;
        let known = self.next()?;
        self.host.bench_set(1, false)?;
        Ok([cycle, unchanged, list, known])
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn per_job(settings: &str, measure: &'static str, (few, many): (Totals, Totals), jobs: u32) -> Count {
    let each = |few: u64, many: u64| (many as f64 - few as f64) / f64::from(jobs);
    Count {
        settings: settings.to_owned(),
        measure,
        instructions: each(few.instructions, many.instructions),
        misses: each(few.misses, many.misses),
    }
}

/// Of waiting jobs with some settings.
pub fn pending(plugin: &Plugin, settings: &str, file: &str, tres: bool) -> Result<Vec<Count>> {
    let scene = Scene { jobs: FEW, associations: ASSOCIATIONS, tres, heap: "fresh" };
    let mut counting = Counting::start(plugin, file)?;
    fill_pending(&mut counting.host, &scene)?;
    counting.host.init()?;
    let few = counting.pending()?;
    counting.host.bulk_jobs(FEW + 1, MORE.into(), 7, false)?;
    let new = counting.next()?;
    counting.host.bench_set_after(FEW, 1)?;
    let many = counting.pending()?;
    let places: Vec<usize> = few.into_iter().chain(many).chain([new]).collect();
    let totals = counting.finish(&places)?;
    let (before, after) = totals.split_at(few.len());
    let new = totals[places.len() - 1];
    let names = ["cycle", "cycle, nothing new", "list for sprio", "priority_p_set, known job"];
    let mut counts: Vec<Count> = names
        .into_iter()
        .zip(before.iter().copied().zip(after.iter().copied()))
        .map(|(name, pair)| per_job(settings, name, pair, MORE))
        .collect();
    counts.push(per_job(settings, "priority_p_set, new job", (Totals::default(), new), MORE));
    Ok(counts)
}

/// Of running jobs, which a cycle charges.
fn running(plugin: &Plugin, settings: &str, file: &str) -> Result<Vec<Count>> {
    let of = |jobs: u32| -> Result<Totals> {
        let scene = Scene { jobs, associations: ASSOCIATIONS, tres: false, heap: "fresh" };
        let mut counting = Counting::start(plugin, file)?;
        fill_running(&mut counting.host, &scene, &PARTITIONS)?;
        counting.only_cycle()
    };
    Ok(vec![per_job(settings, "cycle, running jobs", (of(RUNNING)?, of(4 * RUNNING)?), 3 * RUNNING)])
}

/// Of associations, which a cycle decays, reads and shows: what a thousand more cost.
fn associations(plugin: &Plugin) -> Result<Vec<Count>> {
    const MORE: u32 = 1000;
    let of = |associations: u32| -> Result<Totals> {
        let scene = Scene { jobs: FEW, associations, tres: false, heap: "fresh" };
        let mut counting = Counting::start(plugin, "")?;
        fill_pending(&mut counting.host, &scene)?;
        counting.only_cycle()
    };
    Ok(vec![per_job("none", "cycle, per association", (of(ASSOCIATIONS)?, of(ASSOCIATIONS + MORE)?), MORE)])
}

/// All that is counted, without settings and with each of those that are measured; several at a time.
pub fn all(plugin: &Plugin) -> Result<Vec<Count>> {
    let scene = Scene { jobs: FEW, associations: ASSOCIATIONS, tres: false, heap: "fresh" };
    let (accounts, users) = names(&scene);
    let mut cases = vec![("none", String::new(), false), ("PriorityWeightTRES", String::new(), true)];
    cases.extend(policies(&accounts, &users).into_iter().map(|policy| (policy.name, policy.file, false)));
    std::thread::scope(|scope| {
        let pending =
            cases.iter().map(|(name, file, tres)| scope.spawn(move || pending(plugin, name, file, *tres)));
        let mut threads: Vec<_> = pending.collect();
        threads.push(scope.spawn(|| associations(plugin)));
        threads.push(scope.spawn(|| running(plugin, "none", "")));
        threads.push(scope.spawn(|| running(plugin, charging().name, &charging().file)));
        let results = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a count panicked"))?);
        Ok(results.collect::<Result<Vec<_>>>()?.concat())
    })
}

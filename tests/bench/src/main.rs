//! `make bench`: this plugin and stock `priority/multifactor`, in one run.
//!
//! Prints one table of medians with spread and ratios, and writes it as Markdown, CSV and SVG.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use slurm_inproc::Plugin;
use slurm_testcluster::Builder;

use slurm_bench::answers::Answers;
use slurm_bench::report::Report;
use slurm_bench::samples::{Samples, Scene};
use slurm_bench::{compare, daemon, page, policies, process};

/// Measures the plugin beside stock priority/multifactor. MULTIFACTOR2_PLUGIN names the plugin, as 'make install' has installed it,
/// SLURM_SRC_DIRS the directory with Slurm's source: 'make bench' sets both.
#[derive(Parser)]
#[allow(clippy::doc_markdown)] // shown as help
struct Arguments {
    /// Where results.md, results.csv and ratios.svg go
    #[arg(long, value_name = "DIRECTORY", default_value = "bench-results")]
    out: PathBuf,
    /// Then rewrite the tables of this page, docs/performance.md
    #[arg(long, value_name = "PAGE")]
    docs: Option<PathBuf>,
    /// Measure nothing, take what is in DIRECTORY
    #[arg(long, requires = "docs")]
    no_run: bool,
    /// Fewer rounds, and no case of 1,000,000 jobs
    #[arg(long)]
    quick: bool,
    /// Also measure beside this older build of the plugin, both without settings: the part 'older', and in 'live'
    #[arg(long, value_name = "PLUGIN")]
    older: Option<PathBuf>,
    /// Only these parts
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
}

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Jobs that wait, in in-process hosts
    Pending,
    /// Those under policies of multifactor2.conf
    Policies,
    /// Grants
    Grants,
    /// Those beside the older build
    Older,
    /// Jobs that run, in in-process hosts
    Running,
    /// More jobs and associations
    Growth,
    /// A real slurmctld
    Live,
    /// Policies there
    LivePolicies,
    /// Answers of the command there
    Answers,
}

impl Arguments {
    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slurm-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.no_run {
        measure(arguments)?;
    }
    let Some(page) = &arguments.docs else { return Ok(()) };
    let read = |name: &str| {
        let file = arguments.out.join(name);
        fs::read_to_string(&file).with_context(|| file.display().to_string())
    };
    let results = read("results.md")?;
    let notes: Vec<String> =
        results.lines().filter_map(|line| line.strip_prefix("- ").map(str::to_owned)).collect();
    page::rewrite(page, &read("results.csv")?, &notes)?;
    if arguments.out.join(ANSWERS).exists() {
        page::rewrite_answers(page, &read(ANSWERS)?)?;
    }
    println!("Written to {}", page.display());
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<()> {
    let rounds = if arguments.quick { 5 } else { 11 };
    let mut report = Report::default();
    let quick = if arguments.quick { " (--quick)" } else { "" };
    report.note(format!("Machine: {}; rounds of each case: {rounds}{quick}", process::machine()));
    let load = process::load();
    if arguments.wants(Part::Pending) {
        for heap in ["fresh", "arrays", "scattered"] {
            let mut lines = [Samples::default(), Samples::default()];
            for associations in [1000, 10_000] {
                for tres in [false, true] {
                    let scene = Scene { jobs: 100_000, associations, tres, heap };
                    lines[usize::from(tres)].push(compare::pending(&scene, rounds, &mut report)?);
                }
            }
            let [plain, tres] = lines.map(|lines| format!("{:.1}–{:.1} ms", lines.min(), lines.max()));
            report.note(format!(
                "Two loops that touch the cache lines of a cycle's jobs and do nothing else, {heap} heap: {plain}; \
                 with TRES weights {tres}"
            ));
        }
    }
    if arguments.wants(Part::Policies) {
        let scene =
            Scene { jobs: 100_000, associations: policies::A_THOUSAND_USERS, tres: false, heap: "fresh" };
        policies::pending(&scene, rounds, &mut report)?;
    }
    if arguments.wants(Part::Grants) {
        let scene = Scene { jobs: 100_000, associations: 10_000, tres: false, heap: "fresh" };
        policies::granted(&scene, rounds, &mut report)?;
    }
    if let Some(older) = arguments.older.as_ref().filter(|_| arguments.wants(Part::Older)) {
        for heap in ["fresh", "arrays", "scattered"] {
            let scene = Scene { jobs: 100_000, associations: policies::A_THOUSAND_USERS, tres: false, heap };
            policies::older(&scene, older, rounds, &mut report)?;
        }
    }
    if arguments.wants(Part::Running) {
        let running = Scene { jobs: 20_000, associations: 1000, tres: false, heap: "fresh" };
        compare::running(&running, rounds, &mut report)?;
        policies::running(&running, rounds, &mut report)?;
    }
    if arguments.wants(Part::Growth) {
        growth(arguments.quick, rounds, &mut report)?;
    }
    if arguments.wants(Part::Live) {
        let plugin = Plugin::multifactor2()?.library.context("the plugin has no file")?;
        let builds = (plugin.as_path(), arguments.older.as_deref());
        let rounds = (if arguments.quick { 1 } else { 2 }, rounds.min(8));
        let scene = |associations, heap| Scene { jobs: 100_000, associations, tres: false, heap };
        let small = (&scene(1000, "live"), daemon::SUBMITTERS);
        daemon::live(daemon::own(&plugin), small, builds, rounds, &mut report)?;
        if !arguments.quick {
            let large = (&scene(10_000, "live"), daemon::MANY_SUBMITTERS);
            daemon::live(daemon::own(&plugin), large, builds, rounds, &mut report)?;
            if let Some(newest) = newest()? {
                let large = (&scene(10_000, "live newest"), daemon::MANY_SUBMITTERS);
                daemon::live(newest, large, builds, rounds, &mut report)?;
            }
        }
    }
    if arguments.wants(Part::LivePolicies) {
        let plugin = Plugin::multifactor2()?.library.context("the plugin has no file")?;
        let times = if arguments.quick { 1 } else { 2 };
        daemon::live_policies(100_000, &plugin, times, rounds.min(8), &mut report)?;
    }
    if arguments.wants(Part::Answers) {
        answers(arguments)?;
    }
    report.note(format!("Load averages at the begin: {load}; at the end: {}", process::load()));
    report.write(&arguments.out)?;
    println!("{}", report.table());
    println!("Written to {}", arguments.out.display());
    Ok(())
}

/// The newest Slurm with the plugin, where this machine can have it.
fn newest() -> Result<Option<Builder>> {
    slurm_releases::FORKY.release()?.map(slurm_releases::cluster).transpose()
}

/// The file of the answers.
const ANSWERS: &str = "answers.md";

/// The command in the machine's own Slurm and in the newest one.
fn answers(arguments: &Arguments) -> Result<()> {
    let plugin = Plugin::multifactor2()?.library.context("the plugin has no file")?;
    let command = plugin.with_file_name("multifactor2");
    let scene = Scene { jobs: 100_000, associations: 10_000, tres: false, heap: "live" };
    let mut answers = Answers::default();
    for builder in std::iter::once(daemon::own(&plugin)).chain(newest()?) {
        answers.measure(builder, &scene, &command, if arguments.quick { 1 } else { 3 })?;
    }
    fs::create_dir_all(&arguments.out)?;
    fs::write(arguments.out.join(ANSWERS), answers.text())?;
    println!("{}", answers.text());
    Ok(())
}

/// How cost and memory grow with jobs and associations.
fn growth(quick: bool, rounds: usize, report: &mut Report) -> Result<()> {
    const MEASURE: &str = "cycle, CPU";
    let scene = |jobs, associations| Scene { jobs, associations, tres: false, heap: "fresh" };
    let small = compare::growth(&scene(10_000, 1000), rounds, report)?;
    let wide = compare::growth(&scene(10_000, 100_000), rounds, report)?;
    let per_association = |large: f64, small: f64| (large - small) / 99_000.0;
    report.note(format!(
        "Memory of our own per association, 100,000 against 1,000: {:.0} bytes kept, {:.0} at the peak of a cycle (goal 160)",
        per_association(wide.kept, small.kept),
        per_association(wide.peak, small.peak)
    ));
    if quick {
        return Ok(());
    }
    let large = compare::growth(&scene(1_000_000, 100_000), rounds.min(5), report)?;
    let per_job = |large: f64, small: f64| (large - small) / 990_000.0;
    report.note(format!(
        "Memory of our own per job, 1,000,000 against 10,000: {:.0} bytes kept, {:.0} at the peak of a cycle (goal 64)",
        per_job(large.kept, wide.kept),
        per_job(large.peak, wide.peak)
    ));
    let medians = (report.median(MEASURE, 1_000_000, 100_000), report.median(MEASURE, 100_000, 10_000));
    if let (Some(large), Some(middle)) = medians {
        report.note(format!(
            "Growth of our cycle from 100,000 jobs and 10,000 associations to ten times both: {:.1} x (goal 20)",
            large / middle
        ));
    }
    Ok(())
}

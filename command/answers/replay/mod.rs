//! Replays a trace as the command line asks for it.

pub mod answer;
mod csv;
mod export;
pub mod months;
mod output;
mod progress;
mod pseudonyms;
mod runs;
mod site;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser;

use multifactor2_replay::measures::fair_start;
use multifactor2_replay::measures::past::Groups;
use multifactor2_replay::order;
use multifactor2_replay::sim::{Plan, Scheduler, Treatments};
use multifactor2_replay::strategist::{CannotPlay, Played, Strategy};
use multifactor2_replay::trace::directory::PARTITIONS;
use multifactor2_replay::trace::{self, associations, problems::Problems, TraceError};
use multifactor2_replay::workload::Machine;
use multifactor2_replay::Workload;

use super::Ask;
use crate::error::Error;
use crate::files;
use crate::options::AsJson;
use crate::output::{Printout, Schema, Terminal};
use crate::progress::Progress;

use answer::{spread, Document, Gaming, Input, PastPolicy, Replay};
use progress::Watch;
use runs::HowMany;

/// Seconds that submissions come later in jittered runs.
const JITTER: u32 = 60;

/// No jittered run begins later, where no number of them is asked for.
const MOST_TIME: Duration = Duration::from_secs(600);
const NO_BOUND: Duration = Duration::from_secs(365 * 86_400);

/// The exit status after Ctrl-C, where there is a report of a part: as shells have it.
const STOPPED: u8 = 130;

const DAY: i64 = 86_400;

/// What says how a trace is replayed, and does not go with `--export`.
const OF_A_REPLAY: [&str; 21] = [
    "trace",
    "policies",
    "scheduler",
    "procs",
    "partitions",
    "from",
    "shares",
    "slurm_conf",
    "runs",
    "past",
    "node_release",
    "backfill_rate",
    "seed",
    "fair_start",
    "strategists",
    "warm_up",
    "csv",
    "html",
    "json",
    "how",
    "conf",
];

/// Replay a recorded workload under other policies: how long users would have waited, and how close accounts would have come to their shares
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 replay --how\n  multifactor2 replay sacct.txt\n  multifactor2 replay sacct.txt --policy fair-tree --policy multifactor2.conf --runs 2\n  multifactor2 replay sacct.txt --procs 64 --scheduler easy --policy fifo --json"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
#[allow(clippy::struct_excessive_bools)] // each is an option of its own
pub struct Arguments {
    /// sacct output, a file in the Standard Workload Format (.gz too), or a directory from --export
    #[arg(required_unless_present_any = ["how", "export"])]
    pub trace: Option<PathBuf>,
    /// fifo, fair-tree, classic, multifactor2, or a file with multifactor2 settings; each is compared with the first [default:
    /// fair-tree and multifactor2]
    #[arg(long = "policy", value_name = "NAME|FILE")]
    pub policies: Vec<String>,
    /// Print how to collect a trace
    #[arg(long, exclusive = true)]
    pub how: bool,
    /// Collect a trace on this cluster, month by month; run it again to fetch what is missing
    #[arg(long, value_name = "DIR", conflicts_with_all = OF_A_REPLAY)]
    pub export: Option<PathBuf>,
    /// With --export: replace the names of users, accounts, partitions and QOS
    #[arg(long, requires = "export", conflicts_with_all = OF_A_REPLAY)]
    pub anonymise: bool,
    /// With --export: only jobs that ran after this time, such as 2024-01-31 or now-30days
    #[arg(long, value_name = "TIME", default_value = "now-365days", requires = "export", conflicts_with_all = OF_A_REPLAY)]
    pub start: String,
    /// With --export: only jobs that ran before this time
    #[arg(long, value_name = "TIME", default_value = "now", requires = "export", conflicts_with_all = OF_A_REPLAY)]
    pub end: String,
    /// fcfs, easy, sjbf, conservative or slurm
    #[arg(long, value_name = "NAME", default_value = "slurm")]
    pub scheduler: String,
    /// With --scheduler slurm: seconds until nodes of an ended job can start another, such as 0.7; measured: 0.4 to 1
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = milliseconds)]
    pub node_release: u32,
    /// With --scheduler slurm: jobs that backfill tests per second, from sdiag: depth mean (try depth) divided by mean cycle in
    /// seconds. bf_continue and bf_max_time then end passes; 0: a pass takes no time
    #[arg(long, value_name = "JOBS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub backfill_rate: u32,
    /// Use a machine with this many CPUs in one partition, not that of the trace
    #[arg(long, value_name = "CPUS", conflicts_with = "partitions")]
    pub procs: Option<u32>,
    /// Use a machine with these partitions: NAME=NODESxCPUS or NAME=CPUS, such as gpu=40x8
    #[arg(long = "partition", value_name = "NAME=NODESxCPUS")]
    pub partitions: Vec<String>,
    /// Take shares, QOS, weights, half-life, SchedulerParameters and partitions from a --save directory, a snapshot of the plugin
    /// or a 'sacctmgr dump' file, as far as it has them. Names must match the trace
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Take shares from the output of 'sacctmgr dump' or 'sacctmgr -P show assoc'
    #[arg(long, value_name = "FILE")]
    pub shares: Option<PathBuf>,
    /// Take weights, half-life, SchedulerParameters, partitions and nodes from this slurm.conf, not from the trace
    #[arg(long, value_name = "FILE")]
    pub slurm_conf: Option<PathBuf>,
    /// Replay this many more times, with submissions up to a minute later at random, to tell differences from chance [default:
    /// 10, up to 40 if chance is large, in at most ten minutes]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(..=1000))]
    pub runs: Option<u32>,
    /// The policy that the cluster had while the trace was recorded; it is replayed first and compared with the record [default:
    /// that of config.txt]
    #[arg(long, value_name = "NAME|FILE")]
    pub past: Option<String>,
    /// Random seed for --runs and --fair-start
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Under each policy, replay up to this many jobs without those submitted later, to see which jobs start later than is fair
    #[arg(long, value_name = "JOBS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub fair_start: u32,
    /// Let a user game the policy, with an honest twin to compare: USER=split, inflate, tiny, second-account, parked or burst; or
    /// honest for both
    #[arg(long = "strategist", value_name = "USER=STRATEGY")]
    pub strategists: Vec<String>,
    /// Days at the beginning that are replayed but not counted [default: two half-lives, if that is at most a third of the trace]
    #[arg(long, value_name = "DAYS")]
    pub warm_up: Option<u32>,
    /// Write tables as CSV files to this directory
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Write an HTML page that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: AsJson,
    // One way to say it, and whoever writes the other way is told.
    #[arg(long, hide = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "", value_parser = UnknownArgumentValueParser::suggest("write --policy FILE"))]
    conf: Option<String>,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "a recorded workload under other policies: how long users would have waited, and how close accounts come \
         to their shares ([replay.md](replay.md))";
    const EXAMPLE: &'static str = "multifactor2 replay sacct.txt --policy fair-tree --policy multifactor2.conf";

    fn schemas() -> Vec<Schema> {
        vec![Schema::of::<Document>(answer::NAME, answer::VERSION)]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        if self.how {
            return Ok(Printout::text(trace::how()));
        }
        if let Some(directory) = &self.export {
            return export::export(directory, &self.start, &self.end, self.anonymise).map(Printout::text);
        }
        let (answer, status) = replay(self)?;
        Ok(Printout { status, ..print(answer, self, terminal)? })
    }
}

/// The report, and the exit status.
fn replay(asked: &Arguments) -> Result<(Replay, u8), Error> {
    let Some(path) = &asked.trace else { return Err("no trace is given".into()) };
    let progress = Progress::begin();
    progress.step("Reading the trace");
    let mut workload = trace::read(path).map_err(|error| Error::Source(error.to_string()))?;
    if let Some(path) = &asked.from {
        site::take(&mut workload, path)?;
    }
    if let Some(file) = &asked.shares {
        set_shares(&mut workload, file)?;
    }
    if let Some(file) = &asked.slurm_conf {
        set_slurm_conf(&mut workload, file)?;
    }
    let machine = machine(asked, &workload)?;
    if asked.procs.is_some() || !asked.partitions.is_empty() {
        workload.missing.retain(|missing| ![trace::MACHINE, PARTITIONS].contains(&missing.what.as_str()));
    }
    workload.leave_out_gone(&machine);
    if workload.jobs.is_empty() {
        let gone = TraceError::NoJobs {
            file: workload.source.clone(),
            problems: Box::new(std::mem::take(&mut workload.problems)),
        };
        return Err(format!("{gone}. Give --partition, or a machine with their partitions").into());
    }
    let (past, policies) = policies(asked, path, &workload)?;
    let mut scheduler = Scheduler::named(&asked.scheduler, &workload.config)?;
    if let Scheduler::Slurm(parameters) = &mut scheduler {
        parameters.node_release = asked.node_release;
        parameters.backfill_rate = asked.backfill_rate;
    } else {
        let of_slurm = [("--node-release", asked.node_release), ("--backfill-rate", asked.backfill_rate)];
        if let Some((option, _)) = of_slurm.into_iter().find(|(_, value)| *value > 0) {
            let scheduler = &asked.scheduler;
            return Err(format!("{option} does not go with --scheduler {scheduler}: leave one of the two out").into());
        }
    }
    let strategists = strategists(&asked.strategists, &workload)?;
    let since = since(asked, &mut workload);
    let groups = Groups::of(&workload);
    let input = Input {
        name: &path.display().to_string(),
        since,
        workload: &workload,
        machine: &machine,
        scheduler: &asked.scheduler,
        treatments: &Treatments::new(&workload, &machine, &scheduler),
        seed: asked.seed,
        jitter: JITTER,
        groups: &groups,
        past: &past,
    };
    let plans: Vec<(String, Plan)> = policies
        .iter()
        .map(|(name, policy)| {
            let plan = Plan { workload: &workload, machine: &machine, scheduler: scheduler.clone(), policy };
            (name.clone(), plan)
        })
        .collect();
    // The trace and its jittered runs under each policy, each strategist beside one who does not play, and what is fair.
    let sample = fair_start::sample(&workload, asked.fair_start as usize, asked.seed, input.since);
    let replays = plans.len() * (1 + sample.len());
    drop(progress);
    let watch = Watch::new(replays);
    let many = HowMany { exactly: asked.runs, at_most: if asked.runs.is_some() { NO_BOUND } else { MOST_TIME } };
    let (mut runs, is_cut) = runs::replay(&input, &plans, &watch, many)?;
    let gaming = gaming(&strategists, &input, &plans, asked.runs, &watch)?;
    let fair = runs::fair_starts(&sample, &plans, &watch)?;
    for (run, fair) in runs.iter_mut().zip(fair).filter(|(_, fair)| !fair.is_empty()) {
        run.fair = Some(fair_start::fair_starts(&run.outcome, &fair));
    }
    let stopped = watch.is_stopped();
    let mut answer = input.answer(&runs, stopped);
    watch.finish();
    if let Some(directory) = &asked.csv {
        csv::jobs(directory, &workload, &runs)?;
    }
    answer.gaming = gaming;
    answer.trace.runs_cut = is_cut;
    Ok((answer, if stopped { STOPPED } else { 0 }))
}

fn print(answer: Replay, asked: &Arguments, terminal: Terminal) -> Result<Printout, Error> {
    if let Some(directory) = &asked.csv {
        csv::write(&answer, directory)?;
    }
    if let Some(file) = &asked.html {
        files::write_text(file, &output::page(&answer)?)?;
    }
    if asked.form.json {
        return Printout::json(&Document::new(answer));
    }
    Ok(Printout::text(output::text(&answer, terminal)))
}

/// Seconds with a fraction, in milliseconds.
fn milliseconds(text: &str) -> Result<u32, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    let seconds = seconds.ok_or("give seconds from 0 to 3600, such as 0.7")?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within bounds
    Ok((seconds * 1000.0).round() as u32)
}

/// The policy that the cluster had, and all policies with what they are called, that one first.
fn policies(
    asked: &Arguments,
    path: &Path,
    workload: &Workload,
) -> Result<(PastPolicy, Vec<(String, order::Policy)>), Error> {
    let default = ["fair-tree", "multifactor2"].map(str::to_owned);
    let names = if asked.policies.is_empty() { &default[..] } else { &asked.policies };
    let past = past(asked, path, workload);
    let mut policies: Vec<(String, order::Policy)> = Vec::new();
    for name in std::iter::once(&past.name).chain(names.iter().filter(|name| **name != past.name)) {
        if policies.iter().any(|(other, _)| other == name) {
            return Err(format!("--policy {name} is given twice").into());
        }
        let policy = order::Policy::named(name).map_err(|error| error.to_string())?;
        policies.push((name.clone(), policy));
    }
    if names.iter().filter(|name| **name == past.name).count() > 1 {
        return Err(format!("--policy {} is given twice", past.name).into());
    }
    Ok((past, policies))
}

/// The policy that the cluster had: as asked for, else by the trace's slurm.conf, else Slurm's default, which is assumed.
fn past(asked: &Arguments, path: &Path, workload: &Workload) -> PastPolicy {
    let of = |name: &str, source: &str| PastPolicy { name: name.to_owned(), source: source.to_owned() };
    if let Some(name) = &asked.past {
        return of(name, "--past");
    }
    let config = &workload.config;
    match config.get("PriorityType") {
        Some("priority/basic") => of("fifo", "PriorityType"),
        Some("priority/multifactor") if config.has_flag("NO_FAIR_TREE") => of("classic", "PriorityType and PriorityFlags"),
        Some("priority/multifactor") => of("fair-tree", "PriorityType"),
        Some("priority/multifactor2") => {
            let file = path.join("multifactor2.conf");
            if file.is_file() {
                of(&file.display().to_string(), "PriorityType")
            } else {
                of("multifactor2", "PriorityType; its settings are not in the trace, so defaults are assumed")
            }
        }
        _ => of("fair-tree", ""),
    }
}

fn set_shares(workload: &mut Workload, file: &Path) -> Result<(), Error> {
    let shown = file.display().to_string();
    let text = trace::text(file).map_err(|error| Error::of_source(file, &error))?;
    let mut problems = Problems::default();
    workload.set_associations(associations::parse(&text, &shown, &mut problems).map_err(Error::Source)?);
    workload.problems.append(problems);
    Ok(())
}

fn set_slurm_conf(workload: &mut Workload, file: &Path) -> Result<(), Error> {
    let mut problems = Problems::default();
    let site = trace::slurm_conf::read(file, &mut problems);
    workload.set_site(site.ok_or_else(|| Error::of_source(file, &"there is no such file: check the name"))?);
    workload.problems.append(problems);
    Ok(())
}

fn machine(asked: &Arguments, workload: &Workload) -> Result<Machine, Error> {
    if let Some(cpus) = asked.procs {
        let machine = Machine::of_procs(cpus);
        return machine.check().map(|()| machine).map_err(|error| format!("--procs {cpus}: {error}").into());
    }
    if asked.partitions.is_empty() {
        return workload.machine_or_observed().ok_or_else(|| {
            "the trace has neither the machine nor start times: give --procs or --partition".into()
        });
    }
    let mut machine = Machine::default();
    for text in &asked.partitions {
        machine.add_partition(text).map_err(|error| format!("--partition: {error}"))?;
    }
    Ok(machine)
}

/// Since when jobs count. Where nothing is asked for and there is no time for it, the trace has something missing.
fn since(asked: &Arguments, workload: &mut Workload) -> i64 {
    let (Some(first), Some(last)) = (workload.jobs.first(), workload.jobs.last()) else { return 0 };
    let (first, last) = (first.submit, last.submit);
    if let Some(days) = asked.warm_up {
        return first + i64::from(days) * DAY;
    }
    let two = 2 * i64::from(workload.config.half_life());
    if two == 0 || 3 * two <= last - first {
        return first + two;
    }
    workload.missing.push(multifactor2_replay::workload::Missing {
        what: "time for a warm-up".to_owned(),
        so: "the trace is shorter than six half-lives, so all jobs count from the first one, which starts without any usage".to_owned(),
    });
    first
}

/// A user who plays.
struct Strategist {
    user: String,
    strategy: Strategy,
}

fn strategists(texts: &[String], workload: &Workload) -> Result<Vec<Strategist>, Error> {
    let mut strategists = Vec::new();
    for text in texts {
        let wrong = |why: String| format!("--strategist {text}: {why}");
        let (user, name) = text
            .rsplit_once('=')
            .ok_or_else(|| wrong("write USER=STRATEGY, such as ada=split".to_owned()))?;
        let strategy = Strategy::named(name).map_err(wrong)?;
        Played::new(workload, user, strategy).map_err(|error: CannotPlay| wrong(error.to_string()))?;
        strategists.push(Strategist { user: user.to_owned(), strategy });
    }
    Ok(strategists)
}

/// What each gains under each policy: in the trace as it is, and over jittered runs, each with its own twin.
fn gaming(
    strategists: &[Strategist],
    input: &Input,
    plans: &[(String, Plan)],
    runs: Option<u32>,
    watch: &Watch,
) -> Result<Vec<Gaming>, Error> {
    let mut found: Vec<Gaming> = Vec::new();
    let mut gains: Vec<Vec<(f64, f64)>> = Vec::new();
    let runs = if strategists.is_empty() { 0 } else { runs.unwrap_or(runs::RUNS) };
    for run in 0..=runs {
        if strategists.is_empty() || watch.is_stopped() {
            break;
        }
        let jittered = (run > 0).then(|| input.workload.jittered(input.seed.wrapping_add(u64::from(run)), input.jitter));
        let workload = jittered.as_ref().unwrap_or(input.workload);
        let mut played = Vec::new();
        for Strategist { user, strategy } in strategists {
            for strategy in [Strategy::Honest, *strategy] {
                played.push(Played::new(workload, user, strategy).map_err(|error| error.to_string())?);
            }
        }
        let tasks: Vec<runs::Task> = played
            .chunks(2)
            .flat_map(|both| plans.iter().flat_map(move |(_, plan)| both.iter().map(move |played| (plan, played))))
            .map(|(plan, played)| runs::Task {
                plan: Plan { workload: &played.workload, ..plan.clone() },
                change: runs::Change::None,
            })
            .collect();
        watch.expect(tasks.len());
        let mut outcomes = runs::outcomes(&tasks, watch)?.into_iter();
        let mut row = 0;
        for (strategist, both) in strategists.iter().zip(played.chunks(2)) {
            for (policy, _) in plans {
                let (Some(honest), Some(playing)) = (outcomes.next().flatten(), outcomes.next().flatten()) else {
                    continue;
                };
                let service = both[1].service(&playing.outcome, input.since);
                let honest = both[0].service(&honest.outcome, input.since).gain();
                if run == 0 {
                    found.push(Gaming {
                        user: strategist.user.clone(),
                        strategy: strategist.strategy.name().to_owned(),
                        described: strategist.strategy.described().to_owned(),
                        policy: policy.clone(),
                        gain: service.gain(),
                        honest,
                        deviation: None,
                        runs: 0,
                        is_told: false,
                        by_entitlement: both[1].gain_by_entitlement(&playing.outcome, input.since),
                        seconds: service.seconds,
                    });
                    gains.push(Vec::new());
                } else if let (Some(pairs), Some(both)) = (gains.get_mut(row), service.gain().zip(honest)) {
                    pairs.push(both);
                }
                row += 1;
            }
        }
    }
    for (gaming, pairs) in found.iter_mut().zip(gains) {
        let differences: Vec<f64> = pairs.iter().map(|(gain, honest)| gain - honest).collect();
        gaming.runs = differences.len();
        if differences.len() > 1 {
            let deviation = spread(&differences).1;
            gaming.deviation = Some(deviation);
            let gain = gaming.gain.zip(gaming.honest).map(|(gain, honest)| gain - honest);
            gaming.is_told = gain.is_some_and(|gain| gain.abs() > 2.0 * deviation);
        }
    }
    Ok(found)
}

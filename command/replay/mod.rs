//! Replays a trace as the command line asks for it.

mod csv;
mod export;
mod progress;
mod pseudonyms;
mod runs;

use std::path::Path;

use multifactor2_replay::measures::fair_start;
use multifactor2_replay::order;
use multifactor2_replay::sim::{Plan, Scheduler};
use multifactor2_replay::strategist::{CannotPlay, Played, Strategy};
use multifactor2_replay::trace::{self, associations, directory, problems::Problems};
use multifactor2_replay::workload::Machine;
use multifactor2_replay::Workload;

use crate::answers::replay::{Document, Gaming, Input, Replay};
use crate::cli::replay::Replay as Asked;
use crate::files;
use crate::output::{escape, replay as shown, Terminal};
use crate::progress::Progress;

use progress::Watch;

/// Seconds that submissions come later in jittered runs.
const JITTER: u32 = 60;

/// The exit status after Ctrl-C, where there is a report of a part: as shells have it.
const STOPPED: u8 = 130;

const DAY: i64 = 86_400;

/// Answers it: what is printed, and the exit status.
///
/// # Errors
/// Trace, machine, shares, a policy or another option cannot be used: what is wrong, and what is allowed.
pub fn run(asked: &Asked, terminal: Terminal) -> Result<(String, u8), String> {
    if asked.how {
        return Ok((trace::how(), 0));
    }
    if let Some(directory) = &asked.export {
        let told = export::export(directory, &asked.start, &asked.end, asked.anonymise)?;
        return Ok((told, 0));
    }
    let Some(path) = &asked.trace else { return Err("no trace is given".to_owned()) };
    let policies = policies(&asked.policies)?;
    let progress = Progress::begin();
    progress.step("Reading the trace");
    let mut workload = trace::read(path).map_err(|error| error.to_string())?;
    if let Some(file) = &asked.shares {
        set_shares(&mut workload, file)?;
    }
    if let Some(file) = &asked.slurm_conf {
        set_slurm_conf(&mut workload, file)?;
    }
    let machine = machine(asked, &workload)?;
    let scheduler = Scheduler::named(&asked.scheduler, &workload.config)?;
    let strategists = strategists(&asked.strategists, &workload)?;
    let input = Input {
        name: &path.display().to_string(),
        since: since(asked, &mut workload),
        workload: &workload,
        machine: &machine,
        scheduler: &asked.scheduler,
        seed: asked.seed,
        runs: asked.runs,
        jitter: JITTER,
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
    let replays = plans.len() * (1 + asked.runs as usize + 2 * strategists.len() + sample.len());
    drop(progress);
    let watch = Watch::new(replays);
    let mut runs = runs::replay(&input, &plans, &watch)?;
    let gaming = gaming(&strategists, &plans, input.since, &watch)?;
    let fair = runs::fair_starts(&sample, &plans, &watch)?;
    for (run, fair) in runs.iter_mut().zip(fair).filter(|(_, fair)| !fair.is_empty()) {
        run.fair = Some(fair_start::fair_starts(&run.outcome, &fair));
    }
    let stopped = watch.is_stopped();
    let mut answer = input.answer(&runs, stopped);
    watch.finish();
    answer.gaming = gaming;
    let status = if stopped { STOPPED } else { 0 };
    Ok((print(answer, asked, asked.form.json, terminal)?, status))
}

fn print(answer: Replay, asked: &Asked, json: bool, terminal: Terminal) -> Result<String, String> {
    if let Some(directory) = &asked.csv {
        csv::write(&answer, directory)?;
    }
    if let Some(file) = &asked.html {
        let page = shown::page(&answer)?;
        files::write(file, page.as_bytes(), None).map_err(|problem| problem.to_string())?;
    }
    if json {
        escape::json(&Document::new(answer))
            .map_err(|error| format!("the answer cannot be written as JSON: {error}"))
    } else {
        Ok(shown::text(&answer, terminal))
    }
}

/// Policies with what they are called.
fn policies(names: &[String]) -> Result<Vec<(String, order::Policy)>, String> {
    let default = ["fair-tree", "multifactor2"].map(str::to_owned);
    let names = if names.is_empty() { &default[..] } else { names };
    let mut policies: Vec<(String, order::Policy)> = Vec::new();
    for name in names {
        if policies.iter().any(|(other, _)| other == name) {
            return Err(format!("--policy {name} is given twice"));
        }
        let policy = order::Policy::named(name).map_err(|error| error.to_string())?;
        policies.push((name.clone(), policy));
    }
    Ok(policies)
}

fn set_shares(workload: &mut Workload, file: &Path) -> Result<(), String> {
    let shown = file.display().to_string();
    let text = trace::text(file).map_err(|error| format!("{shown}: {error}"))?;
    let mut problems = Problems::default();
    workload.set_associations(associations::parse(&text, &shown, &mut problems)?);
    workload.problems.append(problems);
    Ok(())
}

fn set_slurm_conf(workload: &mut Workload, file: &Path) -> Result<(), String> {
    let mut problems = Problems::default();
    let site = trace::slurm_conf::read(file, &mut problems);
    let site = site.ok_or_else(|| format!("{}: there is no such file: check the name", file.display()))?;
    workload.problems.append(problems);
    // What was told to be missing is here.
    workload.missing.retain(|missing| missing.what != directory::CONFIG);
    workload.config = site.config;
    if site.machine.is_some() {
        workload
            .missing
            .retain(|missing| ![directory::PARTITIONS, directory::NODES].contains(&missing.what.as_str()));
        workload.machine = site.machine;
    }
    Ok(())
}

fn machine(asked: &Asked, workload: &Workload) -> Result<Machine, String> {
    if let Some(cpus) = asked.procs {
        let machine = Machine::of_procs(cpus);
        return machine.check().map(|()| machine).map_err(|error| format!("--procs {cpus}: {error}"));
    }
    if asked.partitions.is_empty() {
        return workload.machine_or_observed().ok_or_else(|| {
            "the trace tells neither of the machine nor when jobs started: give --procs or --partition"
                .to_owned()
        });
    }
    let mut machine = Machine::default();
    for text in &asked.partitions {
        machine.add_partition(text).map_err(|error| format!("--partition: {error}"))?;
    }
    Ok(machine)
}

/// Since when jobs count. Where nothing is asked for and there is no time for it, the trace has something missing.
fn since(asked: &Asked, workload: &mut Workload) -> i64 {
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
        so: "the trace is shorter than six half-lives, so all jobs count from the first, when nobody has used anything".to_owned(),
    });
    first
}

/// Users who play, beside their twins, and the same where they do not.
struct Strategist {
    user: String,
    strategy: Strategy,
    played: Played,
    honest: Played,
}

fn strategists(texts: &[String], workload: &Workload) -> Result<Vec<Strategist>, String> {
    let mut strategists = Vec::new();
    for text in texts {
        let wrong = |why: String| format!("--strategist {text}: {why}");
        let (user, name) = text
            .rsplit_once('=')
            .ok_or_else(|| wrong("write USER=STRATEGY, such as ada=split".to_owned()))?;
        let strategy = Strategy::named(name).map_err(wrong)?;
        let play = |strategy| {
            Played::new(workload, user, strategy).map_err(|error: CannotPlay| wrong(error.to_string()))
        };
        strategists.push(Strategist {
            user: user.to_owned(),
            strategy,
            played: play(strategy)?,
            honest: play(Strategy::Honest)?,
        });
    }
    Ok(strategists)
}

fn gaming(
    strategists: &[Strategist],
    plans: &[(String, Plan)],
    since: i64,
    watch: &Watch,
) -> Result<Vec<Gaming>, String> {
    let mut tasks: Vec<runs::Task> = Vec::new();
    for strategist in strategists {
        for (_, plan) in plans {
            for played in [&strategist.honest, &strategist.played] {
                tasks.push(runs::Task {
                    plan: Plan { workload: &played.workload, ..plan.clone() },
                    change: runs::Change::None,
                });
            }
        }
    }
    let outcomes = runs::outcomes(&tasks, watch)?;
    let mut outcomes = outcomes.into_iter();
    let mut gaming = Vec::new();
    for strategist in strategists {
        for (policy, _) in plans {
            let (Some(honest), Some(played)) = (outcomes.next().flatten(), outcomes.next().flatten()) else {
                continue;
            };
            let service = strategist.played.service(&played.outcome, since);
            gaming.push(Gaming {
                user: strategist.user.clone(),
                strategy: strategist.strategy.name().to_owned(),
                described: strategist.strategy.described().to_owned(),
                policy: policy.clone(),
                gain: service.gain(),
                honest: strategist.honest.service(&honest.outcome, since).gain(),
                by_entitlement: strategist.played.gain_by_entitlement(&played.outcome, since),
                seconds: service.seconds,
            });
        }
    }
    Ok(gaming)
}

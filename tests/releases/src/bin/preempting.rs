//! Two users who preempt each other's jobs, in a real cluster: `preempting [--minutes N] [--half-life MINUTES] [--step POINTS] [--without] [SUITE]`
//!
//! Each should have half of sixteen CPUs, and has more jobs than can run. Whose usage is below the target preempts jobs of the other. Told
//! is each turn, when the one who preempts becomes the other one, how far the turns are apart, and how far they have to be by the
//! formula of docs/points.md; and the CPU time that preempted runs have lost. With `--without` the same jobs run without preemption.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_releases::{cluster, SUITES};
use slurm_testcluster::{policies, Account, Accounts, Cluster, Job};

/// Nodes, and CPUs of each.
const NODES: u16 = 4;
const CPUS: u16 = 4;

const USERS: [(&str, &str); 2] = [("physics", "ada"), ("chemistry", "emmy")];

/// Jobs of a user that are waiting at least.
const WAITING: usize = 40;

const SEED: u64 = 35;

struct Asked {
    minutes: u64,
    half_life: u32,
    step: f64,
    preempts: bool,
    suite: String,
}

fn asked() -> Result<Asked> {
    let mut asked =
        Asked { minutes: 120, half_life: 20, step: 10.0, preempts: true, suite: "bookworm".to_owned() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().context("an option without a value");
        match word.as_str() {
            "--minutes" => asked.minutes = value()?.parse()?,
            "--half-life" => asked.half_life = value()?.parse()?,
            "--step" => asked.step = value()?.parse()?,
            "--without" => asked.preempts = false,
            _ => asked.suite = word,
        }
    }
    Ok(asked)
}

/// A run of a job, as sacct has it.
struct Run {
    user: String,
    was_preempted: bool,
    end: i64,
    seconds: i64,
}

fn runs(cluster: &Cluster) -> Result<Vec<Run>> {
    let fields = "User,State,End,ElapsedRaw";
    let call = cluster.command("sacct").env("SLURM_TIME_FORMAT", "%s");
    let text = call.args(["-D", "-a", "-X", "-n", "-P", "-o", fields]).text()?;
    let run = |line: &str| {
        let [user, state, end, seconds] = line.split('|').collect::<Vec<_>>()[..] else { return None };
        Some(Run {
            user: user.to_owned(),
            was_preempted: state == "PREEMPTED",
            end: end.parse().unwrap_or(0),
            seconds: seconds.parse().ok()?,
        })
    };
    Ok(text.lines().filter_map(run).collect())
}

fn start(asked: &Asked) -> Result<Option<Cluster>> {
    let suite = SUITES.iter().find(|suite| suite.name == asked.suite).context("no such suite")?;
    let Some(release) = suite.release()? else { return Ok(None) };
    let [ada, emmy] = USERS.map(|(account, user)| Account::new(account, 1).user(user, 1));
    // As if both had always had their halves.
    let steady = f64::from(NODES * CPUS) * f64::from(asked.half_life) * 60.0 / 0.693 / 2.0;
    let settings = format!(
        "Component=FS FSUser=1000\nTarget=User Name=ada,emmy Percent=50\nFSStep={}\nComponent=CRED User=1\n\
         Credential=User Name=* Priority=100000\nPointsCap=1000000\n",
        asked.step
    );
    let mut builder = cluster(release)?
        .accounts(&Accounts::new().account(ada).account(emmy))
        .usage(&USERS.map(|(account, user)| (account, user, steady)))
        .nodes(NODES)
        .cpus(CPUS)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
        .set("PriorityDecayHalfLife", &format!("00:{:02}:00", asked.half_life))
        .set("PriorityWeightFairshare", "0")
        .set("PriorityFlags", "CALCULATE_RUNNING")
        .set("SchedulerParameters", "bf_interval=5,sched_interval=10,batch_sched_delay=1")
        .set("MaxJobCount", "20000")
        .file(policies::FILE, &settings);
    if asked.preempts {
        builder = builder.set("PreemptType", "preempt/qos").set("PreemptMode", "REQUEUE,WITHIN");
    }
    Ok(Some(builder.start()?))
}

fn load(cluster: &Cluster, asked: &Asked) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let end = Instant::now() + Duration::from_secs(60 * asked.minutes);
    while Instant::now() < end {
        let text = cluster.command("squeue").args(["-h", "-t", "PD", "-o", "%u"]).text()?;
        for (account, user) in USERS {
            let waiting = text.lines().filter(|line| line.trim() == user).count();
            for _ in waiting..WAITING {
                let seconds = random.u32(30..6 * asked.half_life + 60);
                let job = Job::new(user).account(account).arg("--time=60").arg("--requeue").seconds(seconds);
                cluster.submit(&job)?;
            }
        }
        sleep(Duration::from_secs(5));
    }
    Ok(())
}

fn tell(asked: &Asked, runs: &[Run]) {
    let bound = asked.step / 100.0 * f64::from(asked.half_life) * 60.0 / std::f64::consts::LN_2;
    let mut preempted: Vec<&Run> = runs.iter().filter(|run| run.was_preempted).collect();
    preempted.sort_by_key(|run| run.end);
    let mut turns: Vec<(i64, &str)> = Vec::new();
    for run in &preempted {
        if turns.last().is_none_or(|(_, user)| *user != run.user) {
            println!("{}: jobs of {} are preempted", run.end, run.user);
            turns.push((run.end, &run.user));
        }
    }
    let apart: Vec<i64> = turns.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let lost: i64 = preempted.iter().map(|run| run.seconds).sum();
    let all: i64 = runs.iter().map(|run| run.seconds).sum();
    #[allow(clippy::cast_precision_loss)] // seconds of some hours
    let part = 100.0 * lost as f64 / all as f64;
    println!(
        "{} runs, {} preempted; {} turns, the nearest two {} s apart, at least {bound:.0} s by the formula; {lost} of {all} CPU seconds lost \
         ({part:.1} %)",
        runs.len(),
        preempted.len(),
        turns.len(),
        apart.iter().min().map_or_else(|| "-".to_owned(), i64::to_string),
    );
}

fn main() -> Result<ExitCode> {
    let asked = asked()?;
    ensure!(asked.step >= 0.0 && (1..60).contains(&asked.half_life), "a half-life of 1 to 59 minutes");
    let Some(cluster) = start(&asked)? else { return Ok(ExitCode::SUCCESS) };
    load(&cluster, &asked)?;
    tell(&asked, &runs(&cluster)?);
    Ok(ExitCode::SUCCESS)
}

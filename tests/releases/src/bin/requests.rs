//! What an answer costs slurmctld: `requests [--jobs N] [--times N] [SUITE...]`
//!
//! In each release a cluster has jobs with a record each, and 1,112 associations. A cost is the sum of what sdiag counts as `total_time` for all
//! requests of an answer, the median of several. Beside it stand those of `sprio -h` and of `squeue -ha -t PD`, taken in turn with the
//! answers, and the bounds that the command keeps. Then the answers come eight at a time, and so do as many `sprio -h`: how long
//! `scontrol show job` waits meanwhile.

use std::ffi::OsString;
use std::process::ExitCode;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use multifactor2_command::input::ask::Question;
use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use slurm_releases::asked::ask;
use slurm_releases::{Suite, SUITES};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

/// Accounts and users of each: 1 root and its user, and 101 times 11.
const ACCOUNTS: usize = 101;
const USERS: usize = 10;

/// How many of the users have jobs.
const BUSY: usize = 10;

const MARK: &str = "|m4rk|";

/// Answers in a storm, and how many at a time.
const STORM: (usize, usize) = (200, 8);

/// What is measured.
type Asking = Box<dyn Fn(&Cluster) -> Result<()>>;

struct Asked {
    suites: Vec<String>,
    jobs: usize,
    times: usize,
}

fn main() -> ExitCode {
    let mut asked = Asked { suites: Vec::new(), jobs: 20_000, times: 20 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok());
        match word.as_str() {
            "--jobs" => asked.jobs = number().unwrap_or(asked.jobs),
            "--times" => asked.times = number().unwrap_or(asked.times),
            suite => asked.suites.push(suite.to_owned()),
        }
    }
    let wanted =
        |suite: &&Suite| asked.suites.is_empty() || asked.suites.iter().any(|name| name == suite.name);
    for suite in SUITES.iter().filter(wanted) {
        if let Err(error) = report(suite, &asked) {
            eprintln!("requests: {}: {error:#}", suite.name);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn report(suite: &Suite, asked: &Asked) -> Result<()> {
    let Some(release) = suite.release()? else { return Ok(()) };
    let mut accounts = Accounts::new();
    for account in 0..ACCOUNTS {
        let users = (0..USERS).map(|user| format!("u{}", account * USERS + user));
        accounts = accounts.account(
            users.fold(Account::new(format!("a{account}"), 1), |account, user| account.user(user, 1)),
        );
    }
    let cluster = slurm_releases::cluster(release.clone())?
        .accounts(&accounts)
        .set("PriorityWeightFairshare", "1000000")
        .set("PriorityWeightAge", "1000")
        .set("MaxJobCount", "200000")
        .set("MaxArraySize", "100001")
        .set("SchedulerParameters", "defer,max_array_tasks=100000")
        .cycle_seconds(None)
        .nodes(16)
        .line("PartitionName=held Nodes=n[1-8] State=DOWN")
        .line("PartitionName=other Nodes=n[5-16] State=DOWN")
        .start()?;
    submit(&cluster, asked.jobs)?;
    let job = cluster.command("sprio").args(["-h", "-o", "%i"]).text()?;
    let job = job.lines().nth(1).context("no job")?.trim().to_owned();
    let slurm = |program: &'static str, words: &'static [&'static str]| {
        move |cluster: &Cluster| cluster.command(program).args(words).text().map(|_| ())
    };
    let of_question = |question: Question<'static>| {
        move |cluster: &Cluster| ask(cluster, &question, "root", MARK).map(|_| ())
    };
    let one = Question { jobs: vec![job.clone()], ..Question::default() };
    let one_with_qos = Question { qos: true, ..one.clone() };
    let all = Question::default();
    let costs: Vec<(&str, Asking)> = vec![
        ("S: sprio -h", Box::new(slurm("sprio", &["-h"]))),
        ("Q: squeue -ha -t PD", Box::new(slurm("squeue", &["-ha", "-t", "PD"]))),
        ("why JOB", Box::new(of_question(one.clone()))),
        ("why JOB under preempt/qos", Box::new(of_question(one_with_qos))),
        ("why --place, queue, tree", Box::new(of_question(all))),
    ];
    let mut measured = vec![Vec::new(); costs.len()];
    for _ in 0..asked.times {
        for ((_, run), into) in costs.iter().zip(&mut measured) {
            let before = spent(&cluster)?;
            run(&cluster)?;
            into.push(spent(&cluster)? - before);
        }
    }
    let medians: Vec<f64> = measured.iter_mut().map(|all| median(all)).collect();
    println!("Slurm {}, {} jobs, median of {}:", release.version, asked.jobs, asked.times);
    let (sprio, squeue) = (medians[0], medians[1]);
    let (of_one, of_all) = (1.2 * sprio + 5.0, 1.1 * (sprio + squeue) + 25.0);
    for ((name, _), cost) in costs.iter().zip(&medians) {
        let bound = match *name {
            "why --place, queue, tree" => format!(", bound {of_all:.1} ms"),
            name if name.starts_with("why") => format!(", bound {of_one:.1} ms"),
            _ => String::new(),
        };
        println!("  {name}: {cost:.1} ms{bound}");
    }
    for (name, question) in [("why JOB", &one), ("why JOB --place", &Question::default())] {
        let saved = cluster.directory().join(name.replace(' ', "-"));
        let start = Instant::now();
        ask(&cluster, question, "root", MARK)?.save(&saved)?;
        let words = ["multifactor2", "why", &job, "--from"].map(OsString::from);
        let answer = run(words.into_iter().chain([saved.into_os_string()]), Terminal::PLAIN);
        ensure!(answer.status == 0, "{name}: {}", answer.err);
        println!("  {name}: an answer in {:.2} s", start.elapsed().as_secs_f64());
    }
    let beside_sprio = storm(&cluster, &job, &slurm("sprio", &["-h"]))?;
    let beside_why = storm(&cluster, &job, &of_question(one))?;
    println!(
        "  95th percentile of scontrol show job: {:.0} ms beside {} sprio -h, {:.0} ms beside as many why JOB ({:.2})",
        beside_sprio * 1e3,
        STORM.0,
        beside_why * 1e3,
        beside_why / beside_sprio
    );
    Ok(())
}

/// Jobs with a record each: tasks leave their array when they get a nice value of their own.
fn submit(cluster: &Cluster, jobs: usize) -> Result<()> {
    let each = jobs / BUSY;
    for user in 0..BUSY {
        let name = format!("u{}", user * USERS);
        let partition = ["held", "other"][user % 2];
        let job = Job::new(&*name).account(&format!("a{user}")).partition(partition);
        let id = cluster.submit(&job.arg(format!("--array=1-{each}")))?;
        cluster.scontrol(&["update", &format!("jobid={id}_[1-{}]", each - 1), "nice=1"])?;
    }
    cluster.wait_for("records", Duration::from_secs(120), |cluster| {
        let rows = cluster.command("sprio").args(["-h", "-o", "%i"]).text()?.lines().count();
        Ok((rows >= jobs).then_some(()))
    })
}

/// What slurmctld has spent on requests, without those that ask for this, in milliseconds.
fn spent(cluster: &Cluster) -> Result<f64> {
    let said = cluster.command("sdiag").text()?;
    let by_type = said.split("statistics by message type").nth(1).unwrap_or_default();
    let by_type = by_type.split("statistics by user").next().unwrap_or_default();
    let rows = by_type.lines().filter(|line| line.contains("total_time:") && !line.contains("STATS_INFO"));
    let micros = rows.filter_map(|line| line.split("total_time:").nth(1)?.trim().parse::<f64>().ok());
    Ok(micros.sum::<f64>() / 1e3)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The 95th percentile of how long one small request takes while others run, in seconds.
fn storm(cluster: &Cluster, job: &str, run: &(dyn Fn(&Cluster) -> Result<()> + Sync)) -> Result<f64> {
    thread::scope(|scope| {
        let each = STORM.0 / STORM.1;
        let runs: Vec<_> =
            (0..STORM.1).map(|_| scope.spawn(move || (0..each).try_for_each(|_| run(cluster)))).collect();
        let mut waits = Vec::new();
        while !runs.iter().all(ScopedJoinHandle::is_finished) {
            let start = Instant::now();
            cluster.command("scontrol").args(["show", "job", job]).text()?;
            waits.push(start.elapsed().as_secs_f64());
        }
        for run in runs {
            run.join().map_err(|_| anyhow::anyhow!("a run has panicked"))??;
        }
        waits.sort_by(f64::total_cmp);
        Ok(waits[waits.len() * 95 / 100])
    })
}

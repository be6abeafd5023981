//! `Type=cap Block=yes` in every release: slurmctld itself keeps jobs beyond a cap from starting, with the reason `QOSUsageThreshold`, and nobody
//! else. Two nodes: what is beyond a cap would always find room.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_snapshot::format::read;

use crate::command::{answer, asked};
use crate::shared;
use shared::TIMEOUT;
use slurm_releases::cluster;
use slurm_testcluster::{points, policies, Account, Accounts, Builder, Cluster, Job, JobId, Release};

#[cfg(feature = "full")]
mod caps {
    slurm_releases::test_in_each_release!(super::beyond_a_cap_no_job_starts_until_usage_has_fallen);
}

#[cfg(feature = "full")]
mod restarts {
    slurm_releases::test_in_each_release!(super::in_twenty_restarts_nobody_is_stopped_or_let_go_by_mistake);
}

#[cfg(feature = "full")]
mod memory {
    slurm_releases::test_in_each_release!(super::with_the_flag_slurmctld_looks_at_no_memory_limit);
}

#[cfg(feature = "full")]
mod at_once {
    slurm_releases::test_in_each_release!(super::in_one_pass_all_start_that_fit_by_themselves);
}

#[cfg(feature = "full")]
mod paths {
    slurm_releases::test_in_each_release!(super::every_way_into_the_queue_is_closed_to_who_is_beyond);
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(beyond_a_cap_no_job_starts_until_usage_has_fallen);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(beyond_a_cap_no_job_starts_until_usage_has_fallen);
}

const REASON: &str = "QOSUsageThreshold";

/// A Unix group that has no name.
const STAFF: u32 = 12_345;

/// What slurmctld stops jobs by, in every QOS that there is.
const SETTINGS: &str = "\
Target=Account Name=physics Amount=1 Type=cap Block=yes
Target=User Name=emmy Amount=1 Type=cap Block=yes
Target=Group Name=12345 Amount=0 Type=cap Block=yes
Target=Partition Name=other Amount=0 Type=cap Block=yes
";

const RAISED: &str = "Target=Account Name=physics Amount=1000000 Type=cap Block=yes\n";

fn users(release: &Release) -> Builder {
    let tree = Accounts::new()
        .account(Account::new("physics", 50).user("ada", 1))
        .account(Account::new("science", 25).user("emmy", 1))
        .account(Account::new("history", 25).user("leopold", 1));
    cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .usage(&[("physics", "ada", 7.2e6), ("science", "emmy", 7.2e6), ("history", "leopold", 7.2e7)])
        .nodes(2)
        .cpus(4)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
        .line("PartitionName=other Nodes=ALL State=UP")
        .set("SchedulerParameters", "bf_interval=1,sched_interval=2,batch_sched_delay=1")
        .set("SlurmdTimeout", "6")
        .set("PriorityDecayHalfLife", "7-0")
        .file(policies::FILE, SETTINGS)
}

fn sacctmgr(cluster: &Cluster, arguments: &str) {
    cluster.command("sacctmgr").arg("-i").args(arguments.split(' ')).text().unwrap();
}

/// The QOS of all jobs stops them.
fn start(builder: Builder) -> Cluster {
    let cluster = builder.start().unwrap();
    sacctmgr(&cluster, "modify qos normal set UsageThreshold=0.000001 Flags+=EnforceUsageThreshold");
    cluster.wait_cycle().unwrap();
    cluster
}

/// State and reason.
fn shown(cluster: &Cluster, job: JobId) -> (String, String) {
    let shown =
        cluster.command("squeue").args(["-h", "-t", "all", "-o", "%T %r", "-j", &job.to_string()]).text();
    let shown = shown.unwrap();
    let (state, reason) = shown.trim().split_once(' ').unwrap_or_default();
    (state.to_owned(), reason.to_owned())
}

fn wait_state(cluster: &Cluster, job: JobId, due: &str) {
    let is_so = |cluster: &Cluster| Ok((shown(cluster, job).0 == due).then_some(()));
    cluster.wait_for(&format!("job {job} to be {due}"), TIMEOUT, is_so).unwrap();
}

fn wait_stopped(cluster: &Cluster, job: JobId) {
    let is_so = |cluster: &Cluster| Ok((shown(cluster, job).1 == REASON).then_some(()));
    cluster.wait_for(&format!("job {job} to wait for {REASON}"), TIMEOUT, is_so).unwrap();
}

/// Exit code and message.
fn update(cluster: &Cluster, job: JobId, change: &str) -> (Option<i32>, String) {
    let job = format!("jobid={job}");
    let updated = cluster.command("scontrol").args(["update", &job, change]).output().unwrap();
    (updated.status.code(), String::from_utf8_lossy(&updated.stderr).trim().to_owned())
}

fn fair_share(cluster: &Cluster, job: JobId) -> f64 {
    let rows = cluster.sprio_rows().unwrap();
    let row = rows.iter().find(|row| row.text("JOBID") == job.to_string());
    row.unwrap_or_else(|| panic!("no job {job} in {rows:?}")).number("FAIRSHARE").unwrap()
}

/// One that waits for both nodes.
fn large(user: &str) -> Job {
    Job::new(user).arg("--nodes=2").arg("--exclusive").arg("--time=10")
}

fn beyond_a_cap_no_job_starts_until_usage_has_fallen(release: &Release) {
    let cluster = start(users(release));
    let job = |user: &str| Job::new(user).arg("--time=10").seconds(600);
    let running = cluster.submit(&job("leopold")).unwrap();
    wait_state(&cluster, running, "RUNNING");
    let beyond = [
        job("ada"),
        job("emmy"),
        job("leopold").group(STAFF),
        job("leopold").partition("other"),
        job("ada").arg("--partition=main,other"),
    ];
    let beyond = beyond.map(|job| cluster.submit(&job).unwrap());
    // Beyond a cap in one of its partitions alone.
    let either = cluster.submit(&job("leopold").arg("--partition=other,main").seconds(2)).unwrap();
    wait_state(&cluster, either, "COMPLETED");
    for job in beyond {
        wait_stopped(&cluster, job);
    }
    // Who is far above its shares is alone with its tickets.
    let waiting = cluster.submit(&large("leopold")).unwrap();
    for _ in 0..3 {
        cluster.wait_cycle().unwrap();
        for job in beyond {
            assert_eq!(shown(&cluster, job), ("PENDING".to_owned(), REASON.to_owned()), "job {job}");
        }
        let (state, reason) = shown(&cluster, waiting);
        assert!(state == "PENDING" && reason != REASON, "{state} {reason}");
        assert!(fair_share(&cluster, waiting) >= 99_999.0, "{}", fair_share(&cluster, waiting));
    }
    say_why(&cluster, beyond, waiting);
    cluster.command("scancel").arg(waiting.to_string()).text().unwrap();
    // An administrator is obeyed, from the next calculation on. slurmctld makes the change, and answers what it found of the job before.
    let (code, answer) = update(&cluster, beyond[1], "priority=5");
    assert!(
        code == Some(1) && answer.contains("breached requested QOS usage threshold"),
        "{code:?} {answer}"
    );
    wait_state(&cluster, beyond[1], "RUNNING");
    cluster.command("scancel").arg(beyond[1].to_string()).text().unwrap();
    // Usage is below the cap again: all start that have room.
    let begun = Instant::now();
    points::change(&cluster, RAISED).unwrap();
    for job in [beyond[0], beyond[2]] {
        wait_state(&cluster, job, "RUNNING");
    }
    eprintln!("let go of within {:.1} s of a reconfigure", begun.elapsed().as_secs_f64());
    // And above it: what runs goes on.
    points::change(&cluster, SETTINGS).unwrap();
    let late = cluster.submit(&job("ada")).unwrap();
    wait_stopped(&cluster, late);
    assert_eq!(shown(&cluster, beyond[0]).0, "RUNNING");
    shared::check_log(&cluster);
}

/// The command says what is so: by the snapshot of the plugin, and as the user asks Slurm.
fn say_why(cluster: &Cluster, beyond: [JobId; 5], waiting: JobId) {
    let home = cluster.directory().join("snapshots");
    fs::create_dir(&home).unwrap();
    let file = home.join("snapshot");
    let with = |settings: &str| format!("{settings}Snapshot={}\nSnapshotPeriod=1\n", file.display());
    points::change(cluster, &with(SETTINGS)).unwrap();
    let there = |_: &Cluster| {
        let snapshot = fs::read(&file).ok().and_then(|bytes| read(bytes.as_slice()).ok());
        Ok(snapshot.filter(|snapshot| snapshot.jobs.len() == 6))
    };
    let snapshot = cluster.wait_for("a snapshot", TIMEOUT, there).unwrap();
    for job in &snapshot.jobs {
        let is_beyond = beyond.iter().any(|id| id.to_string() == job.id.to_string());
        assert_eq!((job.stopped, job.competes), (is_beyond, !is_beyond), "{job:?}");
    }
    let conf = cluster.directory().join(policies::FILE);
    let texts = asked(cluster, "ada", "why");
    for (from, conf) in [(&file, None), (&texts, Some(conf.as_path()))] {
        let why = answer(from, conf, &["why", &beyond[0].to_string()]).unwrap()["answer"].clone();
        assert_eq!(why["kind"], "obstacle", "{why}");
        assert_eq!(why["places"].as_array().unwrap().len(), 0, "{why}");
        let sentence = why["sentence"].as_str().unwrap();
        assert!(sentence.contains("does not start, because it is beyond"), "{why}");
    }
    let why = answer(&file, None, &["why", &beyond[0].to_string()]).unwrap()["answer"].clone();
    let cap = &why["caps"][0];
    let number = |name: &str| cap[name].as_f64().unwrap();
    assert_eq!((cap["of"].as_str(), cap["stops"].as_bool()), (Some("account physics"), Some(true)), "{why}");
    // What sshare shows, in hours; a CPU for ten minutes.
    let shown = cluster.share("physics", "").unwrap().number("RawUsage").unwrap() / 3600.0;
    assert!((number("used") - shown).abs() < 0.01 * shown && number("used") > 1500.0, "{shown}: {why}");
    assert!((number("allowed") - 1.0).abs() < 1e-9 && (number("asked") - 1.0 / 6.0).abs() < 1e-9, "{why}");
    // Then the sum of both is what the cap allows.
    let left = cap["free_at"].as_i64().unwrap() - snapshot.about.time;
    let half_life = cluster.scontrol(&["show", "config"]).unwrap();
    assert!(half_life.contains("PriorityDecayHalfLife   = 7-00:00:00"), "{half_life}");
    let then = number("used") * decay_over(decay_factor(604_800), f64::from(i32::try_from(left).unwrap()))
        + number("asked");
    assert!((then - 1.0).abs() < 1e-4, "{then} hours in {left} s: {why}");
    let why = answer(&file, None, &["why", &waiting.to_string()]).unwrap()["answer"].clone();
    assert_eq!((&why["kind"], why["caps"].as_array().map(Vec::len)), (&"first".into(), Some(0)), "{why}");
}

fn in_twenty_restarts_nobody_is_stopped_or_let_go_by_mistake(release: &Release) {
    const RESTARTS: usize = 20;
    let mut cluster = start(users(release));
    let running = cluster.submit(&Job::new("leopold").arg("--time=60").seconds(3600)).unwrap();
    wait_state(&cluster, running, "RUNNING");
    let free: Vec<JobId> = (0..3).map(|_| cluster.submit(&large("leopold")).unwrap()).collect();
    let stopped: Vec<JobId> =
        (0..3).map(|_| cluster.submit(&Job::new("ada").arg("--time=10")).unwrap()).collect();
    for job in &stopped {
        wait_stopped(&cluster, *job);
    }
    for restart in 0..RESTARTS {
        if restart % 2 == 0 {
            cluster.restart_controller().unwrap();
        } else {
            cluster.kill_controller().unwrap();
            cluster.start_controller().unwrap();
        }
        let end = Instant::now() + Duration::from_secs(4);
        while Instant::now() < end {
            let Ok(text) = cluster.command("squeue").args(["-h", "-t", "all", "-o", "%i %T %r"]).text()
            else {
                continue;
            };
            for line in text.lines() {
                let id = line.split(' ').next().unwrap_or_default().parse::<u32>().unwrap_or_default();
                let is = |jobs: &[JobId]| jobs.iter().any(|job| job.to_string() == id.to_string());
                assert!(!(is(&free) && line.contains(REASON)), "restart {restart}: {line}");
                assert!(!is(&stopped) || line.contains("PENDING"), "restart {restart}: {line}");
            }
            sleep(Duration::from_millis(50));
        }
    }
    cluster.wait_cycle().unwrap();
    shared::check_log(&cluster);
}

/// What commands answer whoever is beyond a cap, by `EnforcePartLimits`, as docs/points.md has it. Whatever they say: nothing runs.
fn every_way_into_the_queue_is_closed_to_who_is_beyond(release: &Release) {
    let mut cluster = start(users(release));
    for enforced in ["NO", "ANY", "ALL"] {
        cluster.set("EnforcePartLimits", enforced).unwrap();
        cluster.reconfigure().unwrap();
        cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
        cluster.wait_cycle().unwrap();
        for partitions in ["main", "main,other"] {
            let partitions = format!("--partition={partitions}");
            let batch = cluster.submit(&Job::new("ada").arg(&partitions));
            if enforced == "NO" {
                let job = batch.unwrap();
                wait_stopped(&cluster, job);
                // slurmctld makes the change, and says what it found.
                let (code, answer) = update(&cluster, job, "timelimit=5");
                assert!(
                    code == Some(1) && answer.contains("breached requested QOS usage threshold"),
                    "{answer}"
                );
                let now = cluster.scontrol(&["show", "job", &job.to_string()]).unwrap();
                assert!(now.contains("TimeLimit=00:05:00"), "{now}");
                wait_stopped(&cluster, job);
            } else {
                let answer = batch.unwrap_err().to_string();
                assert!(answer.contains("Requested partition configuration not available now"), "{answer}");
            }
            let immediate = cluster.command("salloc").args(["-I", "-A", "physics", &partitions, "true"]);
            let immediate = immediate.user("ada").unwrap().output().unwrap();
            eprintln!(
                "EnforcePartLimits={enforced} {partitions}: {}",
                String::from_utf8_lossy(&immediate.stderr)
            );
        }
    }
    let ran = cluster.command("sacct").args(["-X", "-n", "-P", "-u", "ada", "-o", "ElapsedRaw,NodeList"]);
    let ran = ran.text().unwrap();
    assert!(!ran.is_empty() && ran.lines().all(|line| line == "0|None assigned"), "{ran}");
    shared::check_log(&cluster);
}

/// Where the QOS has the flag, slurmctld looks at the threshold in place of `MaxMemPerNode` and `MaxMemPerCPU` when a job is to start
/// (`job_limits_check`): docs/points.md warns of it.
fn with_the_flag_slurmctld_looks_at_no_memory_limit(release: &Release) {
    let cluster = users(release)
        .memory(1000)
        .set("SelectTypeParameters", "CR_CPU_Memory")
        .set("MaxMemPerNode", "100")
        .start()
        .unwrap();
    let job = || cluster.submit(&Job::new("leopold").arg("--mem=200").seconds(3600)).unwrap();
    let limited = job();
    let is_limited = |cluster: &Cluster| Ok((shown(cluster, limited).1 == "MaxMemPerLimit").then_some(()));
    cluster.wait_for("a job to wait for MaxMemPerNode", TIMEOUT, is_limited).unwrap();
    sacctmgr(&cluster, "modify qos normal set UsageThreshold=0.000001 Flags+=EnforceUsageThreshold");
    wait_state(&cluster, limited, "RUNNING");
    wait_state(&cluster, job(), "RUNNING");
    shared::check_log(&cluster);
}

/// What runs is charged as it runs, so that in one pass all start that fit by themselves and find room.
fn in_one_pass_all_start_that_fit_by_themselves(release: &Release) {
    // Room for one of 10 minutes.
    let settings = "Target=Account Name=science Amount=2000.2 Type=cap Block=yes\n";
    let cluster = start(users(release).set("PriorityDecayHalfLife", "0").file(policies::FILE, settings));
    let job = || Job::new("emmy").arg("--time=10").seconds(600);
    cluster.scontrol(&["update", "partitionname=main", "state=down"]).unwrap();
    let jobs: Vec<JobId> = (0..9).map(|_| cluster.submit(&job()).unwrap()).collect();
    let large = cluster.submit(&job().arg("--ntasks=2")).unwrap();
    cluster.scontrol(&["update", "partitionname=main", "state=up"]).unwrap();
    wait_stopped(&cluster, large);
    for job in &jobs[..8] {
        wait_state(&cluster, *job, "RUNNING");
    }
    assert_eq!(shown(&cluster, jobs[8]).0, "PENDING", "there are eight CPUs");
    shared::check_log(&cluster);
}

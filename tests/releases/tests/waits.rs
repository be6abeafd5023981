//! `multifactor2 tree --waits` in a real cluster: the numbers of accounts and users are those that sacct prints, with jobs that waited, arrays, a run that was
//! requeued, jobs that never started, and accounts that are gone.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use multifactor2_command::input::accounting::OfSlurmdbd;
use serde_json::Value;
use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId, Release};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(waits_are_what_sacct_says);

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(waits_are_what_sacct_says);
}

const WAIT: Duration = Duration::from_secs(120);

/// What sacct has of a user in an account, in seconds.
#[derive(Clone, Debug, Default)]
struct Truth {
    cpu_seconds: i64,
    waits: Vec<i64>,
    runs: Vec<i64>,
    /// Wait and run over the limit, of those with one.
    of_limit: Vec<f64>,
}

impl Truth {
    fn add(&mut self, other: &Self) {
        self.cpu_seconds += other.cpu_seconds;
        self.waits.extend(&other.waits);
        self.runs.extend(&other.runs);
        self.of_limit.extend(&other.of_limit);
    }
}

/// By account and user; and how many ended without a start.
fn truth(cluster: &Cluster) -> (BTreeMap<(String, String), Truth>, u64) {
    let columns = "Account,User,Eligible,Start,End,ElapsedRaw,AllocCPUS,TimelimitRaw,NodeList";
    let arguments = ["-a", "-D", "-X", "-n", "-P", "-S", "now-1hour", "-E", "now", "-o", columns];
    let text = cluster.command("sacct").env("SLURM_TIME_FORMAT", "%s").args(arguments).text().unwrap();
    let (mut all, mut never) = (BTreeMap::<_, Truth>::new(), 0);
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').collect();
        let number = |at: usize| cells[at].parse::<i64>().ok();
        let Some(_) = number(4) else { continue };
        // A job that never started may have a Start, and the CPUs that it asked for.
        let has_nodes = cells[8] != "None assigned";
        let (Some(eligible), Some(start), true) = (number(2), number(3), has_nodes) else {
            never += 1;
            continue;
        };
        let cpus = number(6).unwrap();
        let (wait, run) = ((start - eligible).max(0), number(5).unwrap());
        let one = all.entry((cells[0].to_owned(), cells[1].to_owned())).or_default();
        one.cpu_seconds += run * cpus;
        one.waits.push(wait);
        one.runs.push(run);
        #[allow(clippy::cast_precision_loss)] // seconds
        one.of_limit.extend(number(7).map(|minutes| (wait + run) as f64 / (60 * minutes) as f64));
    }
    (all, never)
}

fn answer(cluster: &Cluster) -> Value {
    let words = ["tree", "--live", "--waits", "--since", "now-1hours", "--json"].map(OsStr::new);
    let output =
        slurm_releases::replayed::ask(cluster, Path::new(env!("CARGO_BIN_EXE_ask-cluster")), words).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["answer"].clone()
}

/// A row against its truth.
#[allow(clippy::cast_precision_loss)] // seconds, and a few jobs
fn assert_row(row: &Value, due: &Truth) {
    let near = |name: &str, due: Option<f64>| {
        let found = row[name].as_f64();
        let is_near = match (found, due) {
            (Some(found), Some(due)) => (found - due).abs() <= 1e-9 * due.abs().max(1.0),
            (found, due) => found == due,
        };
        assert!(is_near, "{name}: {row:#}, due {due:?}");
    };
    let count = due.waits.len();
    let mean = |of: Vec<f64>| (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64);
    assert_eq!(row["jobs"], count, "{row:#}: {due:?}");
    near("cpu_hours", Some(due.cpu_seconds as f64 / 3600.0));
    near("wait", mean(due.waits.iter().map(|wait| *wait as f64).collect()));
    let mut waits = due.waits.clone();
    waits.sort_unstable();
    near("wait95", (1..=count).find(|at| at * 20 >= count * 19).map(|at| waits[at - 1] as f64));
    let factor = |(wait, run): (&i64, &i64)| 1.0 + *wait as f64 / (*run).max(1) as f64;
    near("xfactor", mean(due.waits.iter().zip(&due.runs).map(factor).collect()));
    near("xfactor_of_limit", mean(due.of_limit.clone()));
}

/// The rows of accounts and users against the truth. What is below what, the test knows itself.
fn assert_rows(answer: &Value, truth: &BTreeMap<(String, String), Truth>, gone: &[&str]) {
    let rows = answer["rows"].as_array().unwrap();
    let row = |of: &str, account: &str, user: &str| {
        let is_it = |row: &&Value| row["of"] == of && row["account"] == account && row["user"] == user;
        rows.iter().find(is_it).unwrap_or_else(|| panic!("no {of} {account} {user}: {answer:#}"))
    };
    let sum = |accounts: &[&str]| {
        let mut sum = Truth::default();
        truth
            .iter()
            .filter(|((account, _), _)| accounts.contains(&account.as_str()))
            .for_each(|(_, of)| sum.add(of));
        sum
    };
    for ((account, user), due) in truth {
        let row = row("user", account, user);
        assert_row(row, due);
        assert_eq!(row["in_tree"], !gone.contains(&account.as_str()), "{row:#}");
    }
    assert_row(row("account", "physics", ""), &sum(&["physics", "optics"]));
    assert_row(row("account", "optics", ""), &sum(&["optics"]));
    assert_row(row("account", "chem", ""), &sum(&["chem"]));
    let all = ["physics", "optics", "chem"].into_iter().filter(|account| !gone.contains(account));
    assert_row(row("account", "root", ""), &sum(&all.collect::<Vec<_>>()));
    if !gone.is_empty() {
        assert_row(row("others", "", ""), &sum(gone));
    }
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

fn state(cluster: &Cluster, job: JobId) -> String {
    cluster.command("squeue").args(["-h", "-t", "all", "-o", "%T", "-j", &job.to_string()]).text().unwrap()
}

fn wait_state(cluster: &Cluster, job: JobId, due: &str) {
    let is_so = |cluster: &Cluster| Ok(state(cluster, job).contains(due).then_some(()));
    cluster.wait_for(&format!("job {job} to be {due}"), WAIT, is_so).unwrap();
}

/// What an ordinary user is told of slurmdbd, and what slurmdbd then tells of jobs: the remark of `--waits` goes by that.
fn assert_private(cluster: &mut Cluster) {
    let as_ada = |cluster: &Cluster, program: &str, words: &str| {
        let call = cluster.command(program).args(words.split(' ')).user("ada").unwrap();
        call.text().unwrap_or_else(|error| panic!("{program} {words}: {error}"))
    };
    let users = |cluster: &Cluster| -> Vec<String> {
        let text = as_ada(cluster, "sacct", "-a -X -n -P -S now-1hours -o User");
        let mut users: Vec<String> = text.lines().map(str::to_owned).collect();
        users.sort_unstable();
        users.dedup();
        users
    };
    let of_slurmdbd =
        |cluster: &Cluster| OfSlurmdbd::read(&as_ada(cluster, "sacctmgr", "show config"), now());
    // 26.05 has what slurm.conf says in its place, so there it is not known.
    let is_told = cluster.release().version.year < 25;
    let is_right = |found: Option<bool>, due: bool| found == Some(due) || found.is_none() && !is_told;
    let before = of_slurmdbd(cluster);
    assert!(is_right(before.hides_jobs, false) && before.purged.is_none(), "{before:?}");
    assert_eq!(users(cluster).len(), 3);
    let words = "-n -P show user where name=ada withcoord format=AdminLevel,Coordinators";
    assert_eq!(as_ada(cluster, "sacctmgr", words).trim(), "None|");
    let file = cluster.directory().join("slurmdbd.conf");
    let text = fs::read_to_string(&file).unwrap() + "PrivateData=jobs\nPurgeJobAfter=12months\n";
    fs::write(file, text).unwrap();
    cluster.stop_slurmdbd().unwrap();
    cluster.start_slurmdbd().unwrap();
    let after = of_slurmdbd(cluster);
    assert!(is_right(after.hides_jobs, true), "{after:?}");
    let purged = now() - after.purged.unwrap();
    assert!((365 * 86_400..366 * 86_400 + 60).contains(&purged), "{purged}");
    assert_eq!(users(cluster), ["ada"]);
}

fn waits_are_what_sacct_says(release: &Release) {
    let accounts = Accounts::new()
        .account(Account::new("physics", 1).user("ada", 1).account(Account::new("optics", 1).user("emmy", 1)))
        .account(Account::new("chem", 1).user("eve", 1));
    let mut cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .set("JobRequeue", "1")
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "bf_interval=2,sched_interval=2,batch_sched_delay=1")
        .slurmds(true)
        .nodes(2)
        .cpus(2)
        .start()
        .unwrap();
    let submit = |job: Job| cluster.submit(&job).unwrap();
    // The first has all; the others wait, and those of arrays for each other.
    let first = submit(Job::new("ada").seconds(8).arg("--nodes=2").arg("--exclusive").arg("--time=2"));
    wait_state(&cluster, first, "RUNNING");
    let requeued = submit(Job::new("eve").seconds(600).arg("--exclusive").arg("--requeue").arg("--time=20"));
    submit(Job::new("emmy").seconds(2).arg("--array=1-3").arg("--time=UNLIMITED"));
    submit(Job::new("ada").seconds(1).arg("--time=1").arg("--ntasks=2"));
    submit(Job::new("eve").seconds(1).arg("--time=3").arg("--begin=now+15"));
    let never = submit(Job::new("ada").seconds(1).arg("--time=5").arg("--nodes=2"));
    cluster.command("scancel").arg(never.to_string()).text().unwrap();
    wait_state(&cluster, requeued, "RUNNING");
    cluster.command("scontrol").args(["requeue", &requeued.to_string()]).text().unwrap();
    wait_state(&cluster, requeued, "PENDING");
    cluster.command("scancel").arg(requeued.to_string()).text().unwrap();
    let all_ended = |cluster: &Cluster| {
        let queue = cluster.command("squeue").args(["-h", "-a"]).text()?;
        let count = truth(cluster).0.values().map(|of| of.waits.len()).sum::<usize>();
        Ok((queue.trim().is_empty() && count == 7).then_some(()))
    };
    let ended = cluster.wait_for("all jobs to end, and slurmdbd to know", Duration::from_secs(60), all_ended);
    ended.unwrap_or_else(|error| {
        let shown = cluster
            .command("sacct")
            .args(["-a", "-D", "-X", "-P", "-o", "JobID,Eligible,Start,End,NodeList,State"])
            .text();
        panic!("{error}: {:?} {}", truth(&cluster), shown.unwrap_or_default())
    });
    // What ends in this second is not over before it.
    std::thread::sleep(Duration::from_millis(1100));
    let (expected, never) = truth(&cluster);
    assert!(
        expected.values().any(|of| of.waits.iter().any(|wait| *wait >= 5)),
        "nobody waited: {expected:?}"
    );
    // Its time before --begin is no wait.
    assert!(
        expected[&("chem".to_owned(), "eve".to_owned())].waits.iter().any(|wait| *wait < 8),
        "{expected:?}"
    );
    let found = answer(&cluster);
    assert_rows(&found, &expected, &[]);
    assert_eq!((&found["never_started"], &found["left_out"]), (&never.into(), &0.into()), "{found:#}");
    assert_eq!(found["remarks"], serde_json::json!([]), "{found:#}");

    for words in ["-i delete user eve", "-i delete account chem"] {
        cluster.command("sacctmgr").args(words.split(' ')).text().unwrap();
    }
    let is_gone = |cluster: &Cluster| {
        let found = answer(cluster);
        Ok(found["rows"].as_array().unwrap().iter().any(|row| row["of"] == "others").then_some(found))
    };
    let found = cluster.wait_for("chem to be gone", WAIT, is_gone).unwrap();
    assert_rows(&found, &expected, &["chem"]);
    assert_private(&mut cluster);
}

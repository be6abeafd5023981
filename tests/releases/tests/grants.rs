//! Grants in a real slurmctld: jobs of an account come last when its part of the day is used up, go on by themselves after midnight, over a kill, and do
//! not start with `Beyond=block` until more is granted; what was counted is what sacct has.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use multifactor2_command::output::{Printout, Terminal};
use multifactor2_command::run;
use slurm_testcluster::points::{change, site};
use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job, JobId, Release};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(a_grant_paces_and_a_new_day_begins);

#[cfg(feature = "full")]
mod reconciled {
    slurm_releases::test_in_each_release!(super::what_was_lost_comes_back_from_the_accounting);
}

#[cfg(feature = "full")]
mod charged {
    slurm_releases::test_in_each_release!(super::with_factors_a_grant_is_used_as_raw_usage_is);
}

#[cfg(feature = "full")]
mod weeks {
    #[test]
    fn bookworm() {
        slurm_releases::BOOKWORM.test(super::a_week_with_three_kills);
    }

    #[test]
    fn forky() {
        slurm_releases::FORKY.test(super::a_week_with_three_kills);
    }
}

#[cfg(not(feature = "full"))]
#[test]
fn reconciled_in_forky() {
    slurm_releases::FORKY.test(what_was_lost_comes_back_from_the_accounting);
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(a_grant_paces_and_a_new_day_begins);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(a_grant_paces_and_a_new_day_begins);
}

const WAIT: Duration = Duration::from_secs(120);

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

fn day(local: i64) -> String {
    let shown = Command::new("date").args(["-u", "-d", &format!("@{local}"), "+%F"]).output().unwrap();
    String::from_utf8(shown.stdout).unwrap().trim().to_owned()
}

/// Midnight of the controller, the time zone for that, and the days before and after it.
fn midnight_in(seconds: i64) -> (i64, String, String) {
    let midnight = now() + seconds;
    let behind = midnight.rem_euclid(86_400);
    let zone = format!("TST{:02}:{:02}:{:02}", behind / 3600, behind / 60 % 60, behind % 60);
    let days = format!("From={} Until={}", day(midnight - behind - 1), day(midnight - behind));
    (midnight, zone, days)
}

/// Real slurmds that get jobs soon.
fn of_accounts(release: &Release, accounts: &Accounts) -> Builder {
    slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(accounts)
        .set("PriorityWeightFairshare", "1000")
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "bf_interval=2,sched_interval=2,batch_sched_delay=1")
        .slurmds(true)
}

fn submit(cluster: &Cluster, user: &str, arguments: &[&str]) -> JobId {
    let job = Job::new(user).seconds(3600).arg("--time=120");
    cluster.submit(&arguments.iter().fold(job, |job, argument| job.arg(*argument))).unwrap()
}

fn shown(cluster: &Cluster, job: JobId) -> String {
    cluster.command("squeue").args(["-h", "-t", "all", "-o", "%T %r", "-j", &job.to_string()]).text().unwrap()
}

fn wait_shown(cluster: &Cluster, job: JobId, due: &str) {
    let is_so = |cluster: &Cluster| Ok(shown(cluster, job).contains(due).then_some(()));
    cluster.wait_for(&format!("job {job} to be {due}"), WAIT, is_so).unwrap();
}

fn wait_site(cluster: &Cluster, job: JobId, due: f64) {
    let is_so = |cluster: &Cluster| Ok(site(cluster, job).ok().filter(|site| (site - due).abs() < 0.5));
    cluster.wait_for(&format!("SITE of job {job} to be {due}"), WAIT, is_so).unwrap();
}

/// What is kept of the account, by day, and its state.
fn kept(cluster: &Cluster) -> (String, Vec<i64>) {
    let file = cluster.directory().join("state/multifactor2_grants");
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with("ledger Account physics cpu ")).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    (words[14].to_owned(), words[15..].iter().map(|word| word.parse().unwrap()).collect())
}

/// CPU seconds of all jobs of the account, as sacct has them.
fn accounted(cluster: &Cluster) -> i64 {
    let arguments =
        ["-a", "-D", "-X", "-n", "-P", "-A", "physics", "-S", "now-1hours", "-o", "ElapsedRaw,AllocCPUS"];
    let text = cluster.command("sacct").args(arguments).text().unwrap();
    cpu_seconds(&text)
}

/// The sum of lines of `ElapsedRaw|AllocCPUS`.
fn cpu_seconds(text: &str) -> i64 {
    let product = |line: &str| {
        let (seconds, cpus) = line.split_once('|').unwrap();
        seconds.parse::<i64>().unwrap() * cpus.parse::<i64>().unwrap()
    };
    text.lines().map(product).sum()
}

fn ask(cluster: &Cluster, words: &[&str]) -> String {
    let from = cluster.directory().join("snapshots/snapshot");
    let words = ["multifactor2"].iter().chain(words).copied().chain(["--from", from.to_str().unwrap()]);
    let Printout { out, err, .. } = run::run(words.map(Into::into), Terminal::PLAIN);
    format!("{out}{err}").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn a_grant_paces_and_a_new_day_begins(release: &Release) {
    // A machine that is busy with something else needs longer for the first steps.
    for until_midnight in [100, 300] {
        if paces_until_a_new_day(release, until_midnight) {
            return;
        }
        eprintln!("STARTED AGAIN in Slurm {}: its jobs ran too late before midnight", release.version);
    }
    panic!("this machine is too slow: the cluster came up too late");
}

/// Whether all was ready some time before midnight, which comes so many seconds after the start.
fn paces_until_a_new_day(release: &Release, until_midnight: i64) -> bool {
    let (midnight, zone, days) = midnight_in(until_midnight);
    let accounts = Accounts::new()
        .account(Account::new("physics", 1).user("ada", 1))
        .account(Account::new("chem", 1).user("eve", 1));
    let mut cluster = of_accounts(release, &accounts)
        .controller_env("TZ", &zone)
        .nodes(2)
        .cpus(2)
        .file("multifactor2.conf", "PointsCap=100000\n")
        .start()
        .unwrap();
    let home = cluster.directory().join("snapshots");
    fs::create_dir(&home).unwrap();
    let line = |amount: f64, more: &str| {
        format!(
            "PointsCap=100000\nSnapshot={}\nSnapshotPeriod=1\nGrant=Account Name=Physics Amount={amount:.6} {days} Pace=1days Within=50000{more}\n",
            home.join("snapshot").display()
        )
    };
    // Forty CPU seconds a day.
    change(&cluster, &line(80.0 / 3600.0, "")).unwrap();
    let running = submit(&cluster, "ada", &["--ntasks=2", "--exclusive"]);
    wait_shown(&cluster, running, "RUNNING");
    let other = submit(&cluster, "eve", &["--exclusive"]);
    wait_shown(&cluster, other, "RUNNING");
    let waiting = submit(&cluster, "ada", &["--exclusive"]);
    let behind = submit(&cluster, "eve", &["--exclusive"]);
    if now() > midnight - 60 {
        return false;
    }
    wait_site(&cluster, waiting, -100_000.0);
    assert!((site(&cluster, behind).unwrap()).abs() < 0.5, "another account has no grant");
    assert_eq!(kept(&cluster).0, "beyond");
    cluster.wait_cycle().unwrap();
    let said = ask(&cluster, &["why", "--long", &waiting.to_string()]);
    assert!(
        said.contains("It comes last, because it is beyond the grant of account physics since 20"),
        "{said}"
    );
    assert!(said.contains("The next period begins on"), "{said}");
    let said = ask(&cluster, &["grants", "physics"]);
    assert!(
        said.contains("account physics: cpu-hours, beyond") && said.contains("Running jobs use 2 an hour."),
        "{said}"
    );
    // The end of a run, and a kill: what was counted stays.
    cluster.command("scancel").arg(running.to_string()).text().unwrap();
    wait_shown(&cluster, running, "CANCELLED");
    // Its place is taken at once, and not by the account that is beyond.
    wait_shown(&cluster, behind, "RUNNING");
    cluster.wait_saved(behind).unwrap();
    cluster.wait_cycle().unwrap();
    let (state, used) = kept(&cluster);
    let sum = used.iter().sum::<i64>();
    assert_eq!((state.as_str(), sum), ("beyond", accounted(&cluster)));
    cluster.kill_controller().unwrap();
    cluster.start_controller().unwrap();
    cluster.wait_cycle().unwrap();
    let is_same = |cluster: &Cluster| {
        let sum_now = kept(cluster).1.iter().sum::<i64>();
        Ok((sum_now >= sum && sum_now == accounted(cluster)).then_some(()))
    };
    cluster.wait_for("the sum that sacct has", WAIT, is_same).unwrap();
    // A new day: nobody submits anything.
    std::thread::sleep(Duration::from_secs((midnight - now()).try_into().unwrap_or_default()));
    wait_site(&cluster, waiting, 50_000.0);
    assert!(now() >= midnight, "the day has not ended");
    let said = ask(&cluster, &["why", "--long", &waiting.to_string()]);
    assert!(!said.contains("beyond the grant"), "{said}");
    blocks(&mut cluster, line, waiting);
    let log = cluster.log();
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
    true
}

/// Beyond the grant a job does not start though there is room, until more is granted.
fn blocks(cluster: &mut Cluster, line: impl Fn(f64, &str) -> String, waiting: JobId) {
    let arguments = "-i modify qos normal set UsageThreshold=0.000001 Flags+=EnforceUsageThreshold";
    cluster.command("sacctmgr").args(arguments.split(' ')).text().unwrap();
    change(cluster, &line(0.0, " Beyond=block")).unwrap();
    cluster.wait_cycle().unwrap();
    cluster.command("scancel").args(["--state=RUNNING"]).text().unwrap();
    wait_shown(cluster, waiting, "QOSUsageThreshold");
    cluster.wait_cycle().unwrap();
    let said = ask(cluster, &["why", &waiting.to_string()]);
    assert!(said.contains("does not start, because it is beyond the grant of account physics"), "{said}");
    let later = submit(cluster, "eve", &["--exclusive"]);
    wait_shown(cluster, later, "RUNNING");
    assert!(shown(cluster, waiting).contains("PENDING"), "{}", shown(cluster, waiting));
    change(cluster, &line(1000.0, " Beyond=block")).unwrap();
    wait_shown(cluster, waiting, "RUNNING");
}

/// Factors of the QOS and of a line, a minimum, a requeue and a restart: where nothing decays, `sshare` has the same sum.
fn with_factors_a_grant_is_used_as_raw_usage_is(release: &Release) {
    let accounts = Accounts::new().account(Account::new("physics", 1).user("ada", 1));
    let settings = format!(
        "MinimumCharge=1:00\nCharge=Account Name=physics Factor=0.75\nGrant=Account Name=physics Amount=1000 From={} Until={} Pace=30days Split=days Factors=yes\n",
        day(now() - 2 * 86_400),
        day(now() + 20 * 86_400)
    );
    let mut cluster = of_accounts(release, &accounts)
        .set("PriorityDecayHalfLife", "0")
        .set("JobRequeue", "1")
        .nodes(3)
        .cpus(2)
        .file("multifactor2.conf", &settings)
        .start()
        .unwrap();
    cluster.command("sacctmgr").args("-i modify qos normal set UsageFactor=0.5".split(' ')).text().unwrap();
    cluster.wait_cycle().unwrap();
    let stays = submit(&cluster, "ada", &["--ntasks=2", "--exclusive"]);
    let short = submit(&cluster, "ada", &["--ntasks=1"]);
    let again = submit(&cluster, "ada", &["--ntasks=1", "--requeue"]);
    for job in [stays, short, again] {
        wait_shown(&cluster, job, "RUNNING");
    }
    cluster.wait_cycle().unwrap();
    cluster.command("scontrol").args(["requeue", &again.to_string()]).text().unwrap();
    cluster.command("scancel").arg(short.to_string()).text().unwrap();
    wait_shown(&cluster, short, "CANCELLED");
    let same = |cluster: &Cluster, due: f64| {
        let is_so = |cluster: &Cluster| {
            let raw = cluster.share("physics", "").unwrap().number("RawUsage").unwrap();
            let used =
                word(cluster, "ledger Account physics cpu ", 15).parse::<f64>().unwrap_or_default() / 1e6;
            Ok((raw >= due && (raw - used).abs() <= 1.0).then_some(raw))
        };
        cluster.wait_for("the sum that sshare has", WAIT, is_so).unwrap()
    };
    // A CPU for a minute, from each of the short runs alone.
    let raw = same(&cluster, 2.0 * 60.0 * 0.5 * 0.75);
    cluster.stop_controller().unwrap();
    cluster.start_controller().unwrap();
    cluster.wait_cycle().unwrap();
    same(&cluster, raw + 1.0);
    let log = cluster.log();
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
}

/// CPU seconds of an account between two times.
fn sacct(cluster: &Cluster, account: &str, from: i64, until: i64) -> i64 {
    let shown = |at: i64| {
        let shown = Command::new("date").args(["-u", "-d", &format!("@{at}"), "+%FT%T"]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap().trim().to_owned()
    };
    let (from, until) = (shown(from), shown(until));
    let columns = "-o ElapsedRaw,AllocCPUS".split(' ');
    let arguments = ["-a", "-D", "-X", "-n", "-P", "-T", "-A", account, "-S", &from, "-E", &until];
    let call = cluster.command("sacct").env("TZ", "UTC").args(arguments.into_iter().chain(columns));
    cpu_seconds(&call.text().unwrap())
}

/// A word of the first line of the ledger that begins so.
fn word(cluster: &Cluster, begin: &str, number: usize) -> String {
    let text = fs::read_to_string(cluster.directory().join("state/multifactor2_grants")).unwrap();
    let line =
        text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("no {begin} in {text}"));
    line.split(' ').nth(number).unwrap_or_default().to_owned()
}

/// The ledger is one of before, as if a disk had been restored: what ended since is missing, and comes back to the second. A job is suspended, one was requeued,
/// and an account was moved.
fn what_was_lost_comes_back_from_the_accounting(release: &Release) {
    let accounts = Accounts::new()
        .account(Account::new("physics", 1).user("ada", 1).account(Account::new("optics", 1).user("emmy", 1)))
        .account(Account::new("chem", 1).user("eve", 1));
    let line = format!(
        "Grant=Account Name=physics Amount=1000 From={} Until={} Pace=30days TimeZone=UTC Split=days\n",
        day(now() - 2 * 86_400),
        day(now() + 20 * 86_400)
    );
    let mut cluster = of_accounts(release, &accounts)
        .set("JobRequeue", "1")
        .nodes(4)
        .cpus(2)
        .file("multifactor2.conf", &line)
        .start()
        .unwrap();
    let of_optics = submit(&cluster, "emmy", &["--ntasks=2", "--exclusive"]);
    let suspended = submit(&cluster, "ada", &["--ntasks=1"]);
    let short = submit(&cluster, "ada", &["--ntasks=2", "--exclusive"]);
    let again = submit(&cluster, "ada", &["--ntasks=1", "--requeue"]);
    for job in [of_optics, suspended, short, again] {
        wait_shown(&cluster, job, "RUNNING");
    }
    cluster.wait_cycle().unwrap();
    cluster.command("sacctmgr").args("-i modify account optics set parent=chem".split(' ')).text().unwrap();
    let moved = |cluster: &Cluster| Ok((word(cluster, "account optics ", 5) == "chem").then_some(()));
    cluster.wait_for("the plugin to notice that optics was moved", WAIT, moved).unwrap();
    let moved: i64 = word(&cluster, "account optics ", 4).parse().unwrap();
    let ledger = cluster.directory().join("state/multifactor2_grants");
    // Older releases tell ends again after a restart. So it also lacks what was used up to then.
    let before = fs::read_to_string(&ledger).unwrap();
    let used = word(&cluster, "ledger Account physics cpu ", 15);
    assert!(used.parse::<i64>().unwrap() > 1, "{before}");
    let before = before.replacen(&format!(" {used}\n"), " 0\n", 1);
    cluster.command("scontrol").args(["suspend", &suspended.to_string()]).text().unwrap();
    let since = now();
    cluster.command("scontrol").args(["requeue", &again.to_string()]).text().unwrap();
    cluster.command("scancel").arg(short.to_string()).text().unwrap();
    wait_shown(&cluster, short, "CANCELLED");
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    cluster.stop_controller().unwrap();
    fs::write(&ledger, before).unwrap();
    cluster.start_controller().unwrap();
    cluster.wait_cycle().unwrap();
    let ask = |cluster: &Cluster, words: &[&str]| {
        let program = Path::new(env!("CARGO_BIN_EXE_ask-cluster"));
        let words = ["grants", "--reconcile"].iter().chain(words).map(OsStr::new);
        let output = slurm_releases::replayed::ask(cluster, program, words).unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    };
    let said = ask(&cluster, &["--json"]);
    let answer: serde_json::Value = serde_json::from_str(&said).unwrap();
    let answer = &answer["answer"];
    let until = answer["until"].as_i64().unwrap();
    let period = &answer["periods"][0];
    let hours = |name: &str| period[name].as_f64().unwrap() * 3600.0;
    // sacct does not take off the seconds of a suspension that lasts.
    let due = sacct(&cluster, "physics", until - 86_400, until) - (until - since)
        + sacct(&cluster, "optics", until - 86_400, moved);
    let (accounted, difference) = (hours("accounted"), hours("difference"));
    #[allow(clippy::cast_precision_loss)] // seconds
    let off = accounted - due as f64;
    assert!(off.abs() <= 1.0, "{accounted} of {due}, {said}");
    assert!(difference > 1.0, "nothing was lost: {said}");
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    let log = cluster.log();
    assert!(
        log.contains("loaded the usage of grants from the accounting as of") && log.contains(", 1 periods"),
        "{log}"
    );
    let used = word(&cluster, "ledger Account physics cpu ", 15);
    let (_, added) = used.split_once('+').unwrap_or_else(|| panic!("{used}"));
    assert!((added.parse::<f64>().unwrap() - difference).abs() < 0.5, "{added}, {difference}");
    // In the end both have the same, to the second: the accounting knows now how long the suspension was.
    cluster.command("scontrol").args(["resume", &suspended.to_string()]).text().unwrap();
    wait_shown(&cluster, suspended, "RUNNING");
    cluster.command("scancel").args(["--state=RUNNING"]).text().unwrap();
    for job in [of_optics, suspended] {
        wait_shown(&cluster, job, "CANCELLED");
    }
    let is_same = |cluster: &Cluster| {
        let used = word(cluster, "ledger Account physics cpu ", 15);
        let (own, added) = used.split_once('+').unwrap();
        let sum = own.parse::<i64>().unwrap() + added.parse::<i64>().unwrap();
        let until = now();
        let due = sacct(cluster, "physics", until - 86_400, until)
            + sacct(cluster, "optics", until - 86_400, moved);
        Ok((sum == due).then_some(()))
    };
    cluster.wait_for("the sum that sacct has", WAIT, is_same).unwrap();
}

/// A week of jobs of three projects, an hour of it in two thirds of a second, over a midnight, while slurmctld is killed three times. What the plugin has
/// of each day then, with one comparison, is what sacct has.
#[cfg(feature = "full")]
fn a_week_with_three_kills(release: &Release) {
    const WEEK: u64 = 110;
    const JOBS: u64 = 70;
    let (midnight, zone, days) = midnight_in(100);
    let projects = [("physics", "ada"), ("chem", "eve"), ("bio", "bob")];
    let accounts = projects
        .iter()
        .fold(Accounts::new(), |all, (account, user)| all.account(Account::new(*account, 1).user(*user, 1)));
    let line = |account: &str| {
        format!(
            "Grant=Account Name={account} Amount=0.05 {days} Pace=1days CarryOver=1 Borrow=0.5 Within=1000\n"
        )
    };
    let lines: String = projects.iter().map(|(account, _)| line(account)).collect();
    let mut cluster = of_accounts(release, &accounts)
        .controller_env("TZ", &zone)
        .nodes(4)
        .cpus(4)
        .file("multifactor2.conf", &format!("PointsCap=100000\n{lines}"))
        .start()
        .unwrap();
    // From 26.05 on slurmctld does not start after a kill before which it has never saved usage.
    cluster.stop_controller().unwrap();
    cluster.start_controller().unwrap();
    let clock = std::time::Instant::now();
    let first = now();
    let mut kills = 0;
    for job in 0..JOBS {
        let due = Duration::from_millis(job * WEEK * 1000 / JOBS);
        std::thread::sleep(due.saturating_sub(clock.elapsed()));
        let (_, user) = projects[usize::try_from(job % 3).unwrap()];
        // From a second to half a minute, which is two days.
        let seconds = 1 + job * job * 7 % 31;
        let size = format!("--ntasks={}", 1 + job % 4);
        cluster
            .submit(&Job::new(user).seconds(seconds.try_into().unwrap()).arg(&size).arg("--time=120"))
            .unwrap();
        if job % 20 == 15 && kills < 3 {
            cluster.kill_controller().unwrap();
            std::thread::sleep(Duration::from_secs(2));
            cluster.start_controller().unwrap();
            kills += 1;
        }
    }
    assert_eq!(kills, 3);
    assert!(now() > midnight, "the day has not ended");
    let is_over = |cluster: &Cluster| {
        let left = cluster.command("squeue").args(["-h", "-t", "PD,R,CG,S"]).text()?;
        Ok(left.trim().is_empty().then_some(()))
    };
    // What slurmctld forgot with a kill, and a slurmd still has, does not start again: it is cancelled, as an administrator would.
    if cluster.wait_for("the week to be over", Duration::from_secs(40), is_over).is_err() {
        for state in ["PENDING", "RUNNING"] {
            cluster.command("scancel").arg(format!("--state={state}")).text().unwrap();
        }
        cluster.wait_for("the week to be over", WAIT, is_over).unwrap();
    }
    cluster.command("sacctmgr").args(["-i", "show", "runawayjobs"]).text().unwrap();
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_ask-cluster"));
    let words = ["grants", "--reconcile", "--all"].map(OsStr::new);
    let output = slurm_releases::replayed::ask(&cluster, program, words).unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !said.contains("sacctmgr show runawayjobs"), "{said}");
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    eprintln!("Slurm {}: {said}", release.version);
    for (account, _) in projects {
        let begin = format!("ledger Account {account} cpu ");
        let days = [(first - 3600, midnight), (midnight, now())];
        for (at, (from, until)) in (15..).zip(days) {
            let used = word(&cluster, &begin, at);
            let cut = used.find(['+', '-']).unwrap_or(used.len());
            let (own, added) = used.split_at(cut);
            let sum = own.parse::<i64>().unwrap() + added.parse::<i64>().unwrap_or_else(|_| panic!("{used}"));
            assert_eq!(sum, sacct(&cluster, account, from, until), "{account}: {used}");
        }
    }
}

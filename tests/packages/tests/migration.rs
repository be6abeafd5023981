//! The steps of `docs/migration.md` on a live cluster with running and pending jobs: to the plugin and back, from Fair
//! Tree and from classic fair-share, with the trial before it. Nothing is lost in either direction.
//!
//! Here with the machine's own Slurm; `tests/packages/deb` runs the same with the installed package in other suites
//! (`MULTIFACTOR2_TRIAL` is the trial that is installed there), and with munge (`MULTIFACTOR2_AUTH=auth/munge`).

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId};

fn plugin() -> PathBuf {
    env::var_os("MULTIFACTOR2_PLUGIN")
        .expect("MULTIFACTOR2_PLUGIN names the built plugin; run the tests with `make test`")
        .into()
}

/// Two accounts, one far above its share, with users who wait in both.
fn start(flags: &str) -> Cluster {
    let tree = Accounts::new()
        .account(Account::new("physics", 40).user("ada", 1).user("emmy", 1))
        .account(Account::new("biology", 60).user("rosa", 1).user("carl", 2));
    let mut builder = Cluster::builder()
        .plugin(plugin(), "priority_multifactor2.so")
        .accounts(&tree)
        .usage(&[
            ("physics", "ada", 300_000.0),
            ("physics", "emmy", 500_000.0),
            ("biology", "carl", 200_000.0),
        ])
        .set("PriorityWeightAge", "0")
        .set("SelectTypeParameters", "CR_CPU")
        .set("ResvEpilog", "/bin/true")
        .set("EpilogSlurmctld", "/bin/true")
        .set("HealthCheckProgram", "/bin/true")
        .nodes(1)
        .cpus(2)
        .slurmds(true);
    if !flags.is_empty() {
        builder = builder.set("PriorityFlags", flags);
    }
    if let Ok(auth) = env::var("MULTIFACTOR2_AUTH") {
        builder = builder.set("AuthType", &auth);
    }
    builder.start().unwrap()
}

/// A job of this user. Munge does not believe that the client is somebody else, as auth/none does; root may submit for
/// others.
fn job(cluster: &Cluster, user: &str) -> Job {
    if env::var("MULTIFACTOR2_AUTH").is_ok_and(|auth| auth == "auth/munge") {
        Job::new("root").arg(format!("--uid={}", cluster.ids(user).unwrap().0))
    } else {
        Job::new(user)
    }
}

/// What must survive: of each job its state, owner, start (of running ones) and direct priority; of each association the
/// raw shares.
#[derive(Debug, PartialEq)]
struct Inventory {
    jobs: BTreeMap<JobId, Vec<String>>,
    shares: Vec<(String, String, String)>,
}

fn inventory(cluster: &Cluster) -> Inventory {
    let text = cluster.command("squeue").args(["-h", "-a", "-o", "%A|%T|%u|%a|%P"]).text().unwrap();
    let mut jobs = BTreeMap::new();
    for line in text.lines() {
        let mut cells: Vec<String> = line.split('|').map(str::to_owned).collect();
        let id = cells.remove(0).parse().unwrap();
        let record = cluster.scontrol(&["show", "job", "-o", &format!("{id}")]).unwrap();
        let field = |name: &str| {
            record.split_whitespace().find(|word| word.starts_with(name)).unwrap_or_default().to_owned()
        };
        cells.push(field("SubmitTime="));
        if cells[0] == "RUNNING" {
            cells.push(field("StartTime="));
        }
        // Of a held job, and of one whose priority the administrator set, the priority stays as well.
        if field("Priority=") == "Priority=0" || field("Priority=") == "Priority=4242" {
            cells.push(field("Priority="));
        }
        jobs.insert(id, cells);
    }
    let rows = cluster.sshare_rows().unwrap();
    let cell = |row: &slurm_testcluster::Row, name: &str| row.text(name).to_owned();
    let shares =
        rows.iter().map(|row| (cell(row, "Account"), cell(row, "User"), cell(row, "RawShares"))).collect();
    Inventory { jobs, shares }
}

/// Raw usage by account and user; it only grows here, as nothing decays.
fn usage(cluster: &Cluster) -> BTreeMap<(String, String), f64> {
    let rows = cluster.sshare_rows().unwrap();
    rows.iter()
        .map(|row| {
            ((row.text("Account").to_owned(), row.text("User").to_owned()), row.number("RawUsage").unwrap())
        })
        .collect()
}

fn assert_usage_continues(before: &BTreeMap<(String, String), f64>, after: &BTreeMap<(String, String), f64>) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (association, seconds) in before {
        let grown = after[association] - seconds;
        // Two CPUs for the time of a restart and a few cycles; to the second, as Slurm shows it.
        assert!((-1.0..240.0).contains(&grown), "{association:?}: {seconds} became {}", after[association]);
    }
}

/// Fair-share factors of the pending jobs, by user.
fn factors(cluster: &Cluster) -> BTreeMap<String, f64> {
    let rows = cluster.sprio_rows().unwrap();
    rows.iter().map(|row| (row.text("USER").to_owned(), row.number("fairshare").unwrap())).collect()
}

fn switch(cluster: &mut Cluster, to: &str, weight: &str) {
    cluster.set("PriorityType", to).unwrap();
    cluster.set("PriorityWeightFairshare", weight).unwrap();
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();
    let config = cluster.scontrol(&["show", "config"]).unwrap();
    assert!(config.lines().any(|line| line.starts_with("PriorityType ") && line.ends_with(to)), "{config}");
}

/// Runs the trial, that of the source if no other is named, against the cluster and gives its output. Its copy of the
/// configuration has nothing in it that would act outside.
fn trial(cluster: &Cluster) -> String {
    let script = env::var_os("MULTIFACTOR2_TRIAL")
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/trial").into());
    let mut command = Command::new(script);
    command.arg("50000").envs(cluster.environment()).env("TRIAL_KEEP", "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let copy = text.lines().find_map(|line| line.strip_prefix("Kept in ")).expect("the copy is kept");
    let config = std::fs::read_to_string(format!("{copy}/slurm.conf")).unwrap();
    for name in ["ResvEpilog", "EpilogSlurmctld", "HealthCheckProgram", "SlurmctldPort"] {
        let is_there = config.lines().any(|line| line.starts_with(name));
        assert_eq!(is_there, name == "SlurmctldPort", "{name} in\n{config}");
    }
    std::fs::remove_dir_all(copy).unwrap();
    text
}

fn there_and_back(flags: &str) {
    let mut cluster = start(flags);
    for user in ["emmy", "rosa"] {
        cluster.submit(&job(&cluster, user)).unwrap();
    }
    cluster
        .wait_for("two running jobs", Duration::from_secs(30), |cluster| {
            let text = cluster.command("squeue").args(["-h", "-t", "running"]).text()?;
            Ok((text.lines().count() == 2).then_some(()))
        })
        .unwrap();
    for user in ["ada", "emmy", "rosa", "carl"] {
        cluster.submit(&job(&cluster, user)).unwrap();
    }
    cluster.submit(&job(&cluster, "carl").arg("--hold")).unwrap();
    let direct = cluster.submit(&job(&cluster, "ada")).unwrap();
    cluster.scontrol(&["update", &format!("jobid={direct}"), "priority=4242"]).unwrap();
    // slurmctld saves the associations, which the trial reads, when it stops and every five minutes.
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();

    let before = inventory(&cluster);
    assert_eq!(before.jobs.len(), 8);
    let used = usage(&cluster);
    let stock = factors(&cluster);

    // The trial: both orders are shown, and the running cluster notices nothing.
    let log = cluster.log().len();
    let shown = trial(&cluster);
    assert_eq!(inventory(&cluster), before);
    let new_lines = cluster.log()[log..].to_owned();
    assert!(!new_lines.contains("error"), "{new_lines}");
    let (now, tomorrow) =
        shown.split_once("With priority/multifactor2, PriorityWeightFairshare=50000:").unwrap();
    assert!(now.contains("Now (priority/multifactor, PriorityWeightFairshare=100000):"), "{shown}");
    let users_of = |text: &str| {
        let rows = text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        rows.map(|row| row.split_whitespace().nth(1).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(users_of(now).len(), 5, "{shown}");

    // There.
    switch(&mut cluster, "priority/multifactor2", "50000");
    assert_eq!(inventory(&cluster), before);
    assert_usage_continues(&used, &usage(&cluster));
    let ours = factors(&cluster);
    let best = ours.values().copied().fold(0.0, f64::max);
    assert!((best - 1.0).abs() < 1e-9, "the top job has {best}: {ours:?}");
    assert_ne!(stock, ours);
    // As the trial said.
    let order = |cluster: &Cluster| users_of(&cluster.sprio(&["-h", "-S", "-y", "-o", "%i %u %Y"]).unwrap());
    assert_eq!(users_of(tomorrow), order(&cluster), "{shown}");

    // And back.
    let used = usage(&cluster);
    switch(&mut cluster, "priority/multifactor", "100000");
    assert_eq!(inventory(&cluster), before);
    assert_usage_continues(&used, &usage(&cluster));
    let again = factors(&cluster);
    for (user, factor) in &stock {
        // A few seconds of usage later.
        assert!((again[user] - factor).abs() < 0.02, "{user}: {factor} became {}", again[user]);
    }
}

#[test]
fn from_fair_tree_and_back() {
    there_and_back("");
}

#[test]
fn from_classic_fair_share_and_back() {
    there_and_back("NO_FAIR_TREE");
}

#[test]
fn removing_the_file_too_early_is_said_clearly() {
    let mut cluster = start("");
    switch(&mut cluster, "priority/multifactor2", "50000");
    std::fs::remove_file(cluster.directory().join("plugins/priority_multifactor2.so")).unwrap();
    cluster.stop_controller().unwrap();
    let refusal = format!("{:#}", cluster.start_controller().unwrap_err());
    assert!(refusal.contains("priority/multifactor2"), "{refusal}");
    // The way out that docs/migration.md names.
    cluster.set("PriorityType", "priority/multifactor").unwrap();
    cluster.start_controller().unwrap();
}

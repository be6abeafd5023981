//! Names, texts and amounts of every kind through real daemons: what coordinators, operators and users give Slurm's commands, whatever slurmdbd
//! and slurmctld take of it. After a restart and a reconfigure the plugin goes on: jobs are ordered and charged, and sprio shows all.

use std::time::Duration;

use slurm_releases::{cluster, test_in_each_release};
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release};

const TIMEOUT: Duration = Duration::from_secs(90);

/// Tab, new line, control characters, letters of other scripts, quotes, formats, nothing but a blank.
const TEXTS: [&str; 12] = [
    "t\tb",
    "a\nb",
    "\u{1}",
    "x\u{1b}[2J",
    "h\u{ff}\u{fe}",
    "\u{dc}\u{df}",
    "q'\"`",
    "%s%n",
    "$(x)",
    " ",
    "A b",
    "\u{7f}",
];

test_in_each_release!(whatever_people_name_things_the_plugin_goes_on);

fn whatever_people_name_things_the_plugin_goes_on(release: &Release) {
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&Accounts::new().account(Account::new("a", 1).user("one", 1).user("two", 1)))
        .nodes(1)
        .cpus(4)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations")
        .set("TrackWCKey", "yes")
        .set("PriorityWeightFairshare", "1000")
        .set("SlurmdTimeout", "6")
        .line("PartitionName=held Nodes=n1 State=DOWN")
        .start()
        .unwrap();
    for text in TEXTS {
        // Each may be refused: what is taken counts.
        let is = |what: &str| format!("{what}={text}");
        run(&cluster, "sacctmgr", &["-i", "add", "account", text, "parent=a"]);
        run(&cluster, "sacctmgr", &["-i", "add", "user", "one", &is("account")]);
        run(&cluster, "sacctmgr", &["-i", "add", "user", text, "account=a"]);
        run(&cluster, "sacctmgr", &["-i", "add", "qos", text]);
        run(&cluster, "sacctmgr", &["-i", "modify", "user", "one", "set", &is("qos+")]);
        run(&cluster, "sacctmgr", &["-i", "add", "user", "one", &is("wckey")]);
        run(&cluster, "scontrol", &["create", &is("partitionname"), "nodes=n1", "state=down"]);
    }
    let taken = cluster.command("sacctmgr").args(["-nP", "show", "assoc", "format=account"]).text().unwrap();
    assert!(taken.contains("t\tb"), "slurmdbd takes a tab at least:\n{taken}");

    let running = cluster.submit(&Job::new("one").account("a").arg("-n1").arg("--mem=1")).unwrap();
    for text in TEXTS {
        let is = |what: &str| format!("--{what}={text}");
        submit(&cluster, &[&is("account")]);
        submit(&cluster, &["-A", "a", &is("comment"), &is("job-name"), &is("wckey")]);
        submit(&cluster, &["-A", "a", &is("qos")]);
        submit(&cluster, &["-A", "a", &is("partition")]);
        submit(&cluster, &["-A", "a", &is("licenses"), &is("mail-user")]);
    }
    for amount in [
        "--mem=1000000000G",
        "--time=4000000000",
        "--ntasks=4000000000",
        "--nice=2147483645",
        "--begin=now+99999days",
    ] {
        submit(&cluster, &["-H", "-A", "a", amount]);
    }
    for (text, job) in TEXTS.into_iter().zip(waiting(&cluster)) {
        for change in ["admincomment", "comment", "wckey", "jobname", "account", "licenses", "features"] {
            run(&cluster, "scontrol", &["update", &format!("jobid={job}"), &format!("{change}={text}")]);
        }
    }

    goes_on(&cluster, "at once");
    cluster.restart_controller().unwrap();
    goes_on(&cluster, "after a restart");
    cluster.reconfigure().unwrap();
    cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    goes_on(&cluster, "after a reconfigure");
    // A user with running and waiting jobs gets another name, where the release can do that.
    run(&cluster, "sacctmgr", &["-i", "modify", "user", "where", "name=one", "set", "newname=uno"]);
    cluster.restart_controller().unwrap();
    goes_on(&cluster, "after a user was renamed");
    cluster.command("scancel").args([running.to_string()]).output().unwrap();
}

/// Whatever becomes of it.
fn run(cluster: &Cluster, program: &str, arguments: &[&str]) {
    cluster.command(program).args(arguments).output().unwrap();
}

/// A job of user `one` that waits, if slurmctld takes it.
fn submit(cluster: &Cluster, arguments: &[&str]) {
    let call = cluster.command("sbatch").args(["-p", "held"]).args(arguments);
    call.args(["--wrap", "sleep 600"]).user("one").unwrap().output().unwrap();
}

/// Jobs that wait and are not held.
fn waiting(cluster: &Cluster) -> Vec<String> {
    let jobs = cluster.command("squeue").args(["-h", "-t", "pd", "-o", "%i %Q"]).text().unwrap();
    let jobs = jobs.lines().filter_map(|line| line.trim().split_once(' '));
    jobs.filter(|(_, priority)| *priority != "0").map(|(job, _)| job.to_owned()).collect()
}

/// Usage grows, sprio shows every job that waits, and the log has no error of the plugin's.
#[track_caller]
fn goes_on(cluster: &Cluster, when: &str) {
    let usage = || cluster.share("a", "").unwrap().number("RawUsage").unwrap();
    cluster.wait_cycle().unwrap();
    let before = usage();
    cluster
        .wait_for("a charge", TIMEOUT, |_| Ok((usage() > before + 1.0).then_some(())))
        .unwrap_or_else(|problem| panic!("{when}: {problem}\n{}", cluster.log()));
    let shown = cluster.command("sprio").args(["-h", "-o", "%i"]).text().unwrap();
    let mut shown: Vec<String> = shown.split_whitespace().map(str::to_owned).collect();
    shown.sort();
    shown.dedup();
    let mut expected = waiting(cluster);
    expected.sort();
    assert!(!expected.is_empty(), "{when}: jobs wait");
    assert_eq!(shown, expected, "{when}: sprio is full");
    let log = cluster.log();
    for wrong in ["does not match the layout", "error: priority/multifactor2", "internal error"] {
        assert!(!log.contains(wrong), "{when}: {log}");
    }
}

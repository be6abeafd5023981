//! Names, texts and amounts of every kind through real daemons: what coordinators, operators and users give Slurm's commands, whatever slurmdbd
//! and slurmctld take of it. After a restart and a reconfigure the plugin goes on: jobs are ordered and charged, and sprio shows all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use slurm_releases::{cluster, test_in_each_release};
use slurm_testcluster::database::OPTIONS_FILE as DATABASE_OPTIONS;
use slurm_testcluster::{Account, Accounts, Builder, Call, Cluster, Job, Release};

const TIMEOUT: Duration = Duration::from_secs(90);

/// Tab, new line, control characters, letters of other scripts, what is no UTF-8, quotes, formats, nothing but a blank.
const TEXTS: [&[u8]; 13] = [
    b"t\tb",
    b"a\nb",
    b"\x01",
    b"x\x1b[2J",
    b"h\xff\xfe",
    b"\xc3",
    "\u{dc}\u{df}".as_bytes(),
    b"q'\"`",
    b"%s%n",
    b"$(x)",
    b" ",
    b"A b",
    b"\x7f",
];

test_in_each_release!(whatever_people_name_things_the_plugin_goes_on);

mod names_that_are_no_utf8 {
    slurm_releases::test_in_each_release!(super::who_has_names_that_are_no_utf8_is_served_as_others);
}

fn described(release: &Release) -> Builder {
    cluster(release.clone())
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
}

fn whatever_people_name_things_the_plugin_goes_on(release: &Release) {
    let mut cluster = described(release).start().unwrap();
    for text in TEXTS {
        // Each may be refused: what is taken counts.
        run(&cluster, "sacctmgr", &["-i", "add", "account", "{}", "parent=a"], text);
        run(&cluster, "sacctmgr", &["-i", "add", "user", "one", "account={}"], text);
        run(&cluster, "sacctmgr", &["-i", "add", "user", "{}", "account=a"], text);
        run(&cluster, "sacctmgr", &["-i", "add", "qos", "{}"], text);
        run(&cluster, "sacctmgr", &["-i", "modify", "user", "one", "set", "qos+={}"], text);
        run(&cluster, "sacctmgr", &["-i", "add", "user", "one", "wckey={}"], text);
        run(&cluster, "scontrol", &["create", "partitionname={}", "nodes=n1", "state=down"], text);
    }
    let taken = cluster.command("sacctmgr").args(["-nP", "show", "assoc", "format=account"]).text().unwrap();
    assert!(taken.contains("t\tb"), "slurmdbd takes a tab at least:\n{taken}");

    let running = cluster.submit(&Job::new("one").account("a").arg("-n1").arg("--mem=1")).unwrap();
    for text in TEXTS {
        submit(&cluster, &["--account={}"], text);
        submit(&cluster, &["-A", "a", "--comment={}", "--job-name={}", "--wckey={}"], text);
        submit(&cluster, &["-A", "a", "--qos={}"], text);
        submit(&cluster, &["-A", "a", "--partition={}"], text);
        submit(&cluster, &["-A", "a", "--licenses={}", "--mail-user={}"], text);
    }
    for amount in [
        "--mem=1000000000G",
        "--time=4000000000",
        "--ntasks=4000000000",
        "--nice=2147483645",
        "--begin=now+99999days",
    ] {
        submit(&cluster, &["-H", "-A", "a", amount], b"");
    }
    for (text, job) in TEXTS.into_iter().zip(waiting(&cluster)) {
        for change in ["admincomment", "comment", "wckey", "jobname", "account", "licenses", "features"] {
            run(&cluster, "scontrol", &["update", &format!("jobid={job}"), &format!("{change}={{}}")], text);
        }
    }

    goes_on(&cluster, "a", "at once");
    cluster.restart_controller().unwrap();
    goes_on(&cluster, "a", "after a restart");
    cluster.reconfigure().unwrap();
    cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    goes_on(&cluster, "a", "after a reconfigure");
    // A user with running and waiting jobs gets another name, where the release can do that.
    run(&cluster, "sacctmgr", &["-i", "modify", "user", "where", "name=one", "set", "newname=uno"], b"");
    cluster.restart_controller().unwrap();
    goes_on(&cluster, "a", "after a user was renamed");
    cluster.command("scancel").args([running.to_string()]).output().unwrap();
}

/// Arguments with the text in the place of `{}`.
fn filled<'c>(call: Call<'c>, arguments: &[&str], text: &[u8]) -> Call<'c> {
    arguments.iter().fold(call, |call, argument| match argument.split_once("{}") {
        Some((before, after)) => {
            call.raw(OsString::from_vec([before.as_bytes(), text, after.as_bytes()].concat()))
        }
        None => call.arg(argument),
    })
}

/// Whatever becomes of it.
fn run(cluster: &Cluster, program: &str, arguments: &[&str], text: &[u8]) {
    filled(cluster.command(program), arguments, text).output().unwrap();
}

/// A job of user `one` that waits, if slurmctld takes it.
fn submit(cluster: &Cluster, arguments: &[&str], text: &[u8]) {
    let call = filled(cluster.command("sbatch").args(["-p", "held"]), arguments, text);
    call.args(["--wrap", "sleep 600"]).user("one").unwrap().output().unwrap();
}

/// Jobs that wait and are not held.
fn waiting(cluster: &Cluster) -> Vec<String> {
    let jobs = cluster.command("squeue").args(["-h", "-t", "pd", "-o", "%i %Q"]).text().unwrap();
    let jobs = jobs.lines().filter_map(|line| line.trim().split_once(' '));
    jobs.filter(|(_, priority)| *priority != "0").map(|(job, _)| job.to_owned()).collect()
}

/// Usage of an account grows, sprio shows every job that waits, and the log has no error of the plugin's.
#[track_caller]
fn goes_on(cluster: &Cluster, account: &str, when: &str) {
    let usage = || cluster.share(account, "").unwrap().number("RawUsage").unwrap();
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

/// Begins and ends outside of UTF-8.
const NAME: &[u8] = b"\xff\xfen\xc3";

/// A user, the account and a QOS of that name: the user's jobs run, wait, are ordered and charged as anybody's.
fn who_has_names_that_are_no_utf8_is_served_as_others(release: &Release) {
    const UID: &str = "61234";
    let mut cluster = described(release)
        .set("AccountingStorageEnforce", "associations,limits,qos")
        // A connection in latin1 takes every byte, and is the default of many clients. One in UTF-8 refuses such names.
        .file(
            DATABASE_OPTIONS,
            "[mariadbd]\nskip-character-set-client-handshake\ncharacter-set-server=latin1\n",
        )
        .start()
        .unwrap();
    let mut passwd = fs::OpenOptions::new().append(true).open(cluster.directory().join("passwd")).unwrap();
    let (_, gid) = cluster.ids("one").unwrap();
    passwd.write_all(&[NAME, format!(":x:{UID}:{gid}::/tmp:/bin/sh\n").as_bytes()].concat()).unwrap();
    for arguments in [
        &["-i", "add", "account", "{}", "parent=a"][..],
        &["-i", "add", "qos", "{}"],
        &["-i", "add", "user", "{}", "account={}"],
        &["-i", "modify", "user", "{}", "set", "qos+={}"],
    ] {
        filled(cluster.command("sacctmgr"), arguments, NAME).text().unwrap();
    }
    let stored = cluster.command("sacctmgr").args(["-nP", "show", "assoc", "format=account,user,qos"]);
    let stored = stored.output().unwrap().stdout;
    let expected = [NAME, b"|", NAME, b"|"].concat();
    assert!(
        stored.windows(expected.len()).any(|part| part == expected),
        "slurmdbd keeps the bytes: {:?}",
        OsStr::from_bytes(&stored)
    );
    // slurmctld asks for the numbers of users now and then, and when it starts.
    cluster.restart_controller().unwrap();
    let submit = |arguments: &[&str]| {
        let call = filled(
            cluster.command("sbatch").args(["--parsable", "--chdir=/", "--output=/dev/null"]),
            arguments,
            NAME,
        );
        let call = call.env("TESTCLUSTER_UID", UID).env("TESTCLUSTER_GID", &gid.to_string());
        call.args(["--export=ALL", "-n1", "--mem=1", "--wrap", "exec sleep 600"])
            .text()
            .unwrap()
            .trim()
            .to_owned()
    };
    let running = submit(&["--account={}", "--qos={}"]);
    let waits = submit(&["--account={}", "--qos={}", "-pheld"]);
    let shown = String::from_utf8_lossy(NAME).into_owned();
    for when in ["at once", "after a restart", "after a reconfigure"] {
        match when {
            "after a restart" => cluster.restart_controller().unwrap(),
            "after a reconfigure" => cluster.reconfigure().unwrap(),
            _ => {}
        }
        cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
        goes_on(&cluster, &shown, when);
        assert_eq!(waiting(&cluster), std::slice::from_ref(&waits), "{when}");
        let state = cluster.command("squeue").args(["-h", "-o", "%T", "-j", &running]).text().unwrap();
        assert_eq!(state.trim(), "RUNNING", "{when}");
        let factor = cluster.sprio_rows().unwrap()[0].number("fairshare").unwrap();
        let share = cluster.share(&shown, &shown).unwrap().number("FairShare").unwrap();
        assert!(factor > 0.0 && share > 0.0, "{when}: {factor} in sprio, {share} in sshare");
    }
}

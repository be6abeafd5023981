//! `Override`: by QOS and by partition, and for a time.

use std::process::Command;

use slurm_testcluster::{policies, Account, Accounts, Cluster, Job, JobId};

use super::{assert_factors, factors};
use crate::schedule::WAIT;
use crate::support::cluster;

/// Two users with 5,000 tickets of the share tree each.
fn start(settings: &str) -> Cluster {
    cluster()
        .accounts(&Accounts::new().account(Account::new("a", 1).user("ada", 1).user("emmy", 1)))
        .line("PartitionName=Fast Nodes=n1 State=DOWN")
        .set("DebugFlags", "Priority")
        .file(policies::FILE, settings)
        .start()
        .unwrap()
}

fn overridden(cluster: &Cluster, jobs: &[JobId]) -> Vec<f64> {
    jobs.iter().map(|job| policies::tickets(cluster, *job).unwrap().overridden).collect()
}

#[test]
fn by_qos_and_partition() {
    let cluster = start("Override=QOS Name=urgent Tickets=6000\nOverride=Partition Name=Fast Tickets=3000\n");
    cluster.command("sacctmgr").args(["-i", "add", "qos", "urgent"]).text().unwrap();
    let allow = ["-i", "modify", "cluster", "test", "set", "qos+=urgent"];
    cluster.command("sacctmgr").args(allow).text().unwrap();
    let submit = |job: &Job| cluster.submit(job).unwrap();
    let urgent = Job::new("emmy").arg("--qos=urgent");
    let known = |cluster: &Cluster| Ok(cluster.submit(&urgent).ok());
    let first = cluster.wait_for("the QOS in slurmctld", WAIT, known).unwrap();
    let jobs = [
        first,
        submit(&urgent),
        submit(&Job::new("ada").partition("Fast")),
        submit(&Job::new("ada").partition("Fast").arg("--qos=urgent")),
        submit(&Job::new("ada")),
    ];
    cluster.wait_cycle().unwrap();
    // The job that has both claims 9,000 and is the first of both.
    assert_eq!(overridden(&cluster, &jobs), [3000.0, 2000.0, 1500.0, 9000.0, 0.0]);
    let expected = [8000.0, 7000.0, 6500.0, 14_000.0, 5000.0].map(|tickets| tickets / 14_000.0);
    assert_factors(&factors(&cluster, &jobs), &expected, "by QOS and partition");
    // At its submission a job is the next of both.
    let next = submit(&Job::new("ada").partition("Fast").arg("--qos=urgent"));
    assert_eq!(overridden(&cluster, &[next]), [2500.0]);
}

/// A date and time of the machine's zone as the settings have it, so many seconds from now.
fn date(from_now: i64) -> String {
    let text = Command::new("date")
        .args(["-d", &format!("{from_now} seconds"), "+%Y-%m-%dT%H:%M:%S"])
        .output()
        .unwrap();
    String::from_utf8(text.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_line_with_dates_begins_and_ends_with_a_cycle_and_one_message_each() {
    let cluster = start("");
    let jobs = ["ada", "emmy"].map(|user| cluster.submit(&Job::new(user)).unwrap());
    let lines = [
        format!("Override=User Name=ada Tickets=5000 From={} Until={}", date(10), date(18)),
        format!("Override=User Name=emmy Tickets=5000 Until={}", date(-60)),
        "Override=User Name=emmy Tickets=1".to_owned(),
    ];
    policies::change(&cluster, &lines.join("\n")).unwrap();
    cluster.wait_cycle().unwrap();
    assert_eq!(overridden(&cluster, &jobs), [0.0, 1.0]);
    let wait = |tickets: [f64; 2]| {
        let reached = |cluster: &Cluster| Ok((overridden(cluster, &jobs) == tickets).then_some(()));
        cluster.wait_for("the line to begin or end", WAIT, reached).unwrap();
        cluster.wait_cycle().unwrap();
    };
    wait([5000.0, 1.0]);
    assert_factors(&factors(&cluster, &jobs), &[1.0, 5001.0 / 10_000.0], "in force");
    wait([0.0, 1.0]);
    assert_factors(&factors(&cluster, &jobs), &[5000.0 / 5001.0, 1.0], "over");
    cluster.wait_cycle().unwrap();
    let log = cluster.log();
    // Before and after it is in force; a line without dates has no message.
    for (line, begins, ends) in [(1, 1, 2), (2, 0, 1), (3, 0, 0)] {
        let begin = format!("multifactor2.conf line {line}: Override=");
        let said =
            |what: &str| log.lines().filter(|text| text.contains(&begin) && text.ends_with(what)).count();
        assert_eq!((said(" takes effect"), said(" is not in force")), (begins, ends), "line {line}");
    }
}

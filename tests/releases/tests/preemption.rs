//! Under PreemptType=preempt/qos the scheduler looks first at a job whose QOS may preempt the other's, whatever the priorities: `queue` says so
//! beforehand, and so it starts.

use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Cluster, Job, Release};

use super::command::{answer, asked, sacctmgr};

slurm_releases::test_in_each_release!(who_may_preempt_starts_first_as_was_said);

const WAIT: Duration = Duration::from_secs(120);

fn who_may_preempt_starts_first_as_was_said(release: &Release) {
    let accounts = Accounts::new().account(Account::new("chem", 1).user("ada", 1).user("eve", 1));
    let cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .set("PriorityWeightFairshare", "1000")
        .set("PreemptType", "preempt/qos")
        .set("PreemptMode", "REQUEUE")
        .nodes(1)
        .cpus(1)
        .memory(1000)
        .slurmds(true)
        .line("PartitionName=held Nodes=ALL State=DOWN")
        .start()
        .unwrap();
    sacctmgr(&cluster, "add qos urgent");
    sacctmgr(&cluster, "modify qos urgent set preempt=normal");
    sacctmgr(&cluster, "modify cluster test set qos+=normal,urgent");
    let submit = |user: &str, qos: &str, nice: u32| {
        let job = Job::new(user).account("chem").partition("held").seconds(60);
        let job = job.arg(format!("--qos={qos}")).arg(format!("--nice={nice}")).arg("--export=ALL");
        cluster.submit(&job).unwrap()
    };
    let plain = submit("ada", "normal", 0);
    let urgent = submit("eve", "urgent", 500);
    cluster.wait_cycle().unwrap();
    let said = answer(&asked(&cluster, "ada", "preemption"), None, &["queue"]).unwrap();
    let rows = said["answer"]["rows"].as_array().unwrap();
    let ids: Vec<String> = rows.iter().map(|row| row["id"].to_string()).collect();
    let what = format!("Slurm {}", release.version);
    assert_eq!(ids, [urgent.to_string(), plain.to_string()], "{what}: {said}");
    assert!(rows[0]["priority"].as_u64() < rows[1]["priority"].as_u64(), "{what}: {said}");
    assert_eq!(rows[0]["position"], 1, "{what}: {said}");
    cluster.scontrol(&["update", "partition=held", "state=up"]).unwrap();
    let runs = |cluster: &Cluster| {
        let text = cluster.command("squeue").args(["-h", "-t", "R", "-o", "%i"]).text()?;
        Ok(text.lines().next().map(|id| id.trim().to_owned()))
    };
    let first = cluster.wait_for("a job to run", WAIT, runs).unwrap();
    assert_eq!(first, urgent.to_string(), "{what}");
}

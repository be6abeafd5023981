//! Under PreemptType=preempt/qos the scheduler looks first at a job whose QOS may preempt the other's, whatever the priorities: `queue` says so
//! beforehand, and so it starts.

use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Cluster, Job, Release};

use super::command::{answer, asked, sacctmgr};

slurm_releases::test_in_each_release!(who_may_preempt_starts_first_as_was_said);

/// `PreemptMode=WITHIN` came with 22.05.
mod by_target {
    #[test]
    fn bookworm() {
        slurm_releases::BOOKWORM.test(super::who_is_below_target_preempts_who_is_above);
    }

    #[test]
    fn trixie() {
        slurm_releases::TRIXIE.test(super::who_is_below_target_preempts_who_is_above);
    }

    #[test]
    fn forky() {
        slurm_releases::FORKY.test(super::who_is_below_target_preempts_who_is_above);
    }
}

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

/// As docs/points.md has it: of sixteen jobs of who is above target four make room, and of who is below none does.
fn who_is_below_target_preempts_who_is_above(release: &Release) {
    let accounts = Accounts::new()
        .account(Account::new("physics", 1).user("ada", 1))
        .account(Account::new("chem", 1).user("eve", 1));
    let settings = "Component=FS FSUser=1000\nTarget=User Name=ada,eve Percent=50\nFSStep=5\n\
                    Component=CRED User=1\nCredential=User Name=* Priority=100000\n";
    let cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .usage(&[("physics", "ada", 9e6), ("chem", "eve", 1e6)])
        .set("PreemptType", "preempt/qos")
        .set("PreemptMode", "REQUEUE,WITHIN")
        .set("PriorityFlags", "CALCULATE_RUNNING")
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "bf_interval=2,sched_interval=2,batch_sched_delay=1")
        .nodes(4)
        .cpus(4)
        .slurmds(true)
        .file("multifactor2.conf", settings)
        .start()
        .unwrap();
    let submit = |user: &str, count: usize| -> Vec<_> {
        let job = || Job::new(user).arg("--time=30").arg("--requeue").seconds(1800);
        (0..count).map(|_| cluster.submit(&job()).unwrap()).collect()
    };
    let running = |user: &str| {
        let text = cluster.command("squeue").args(["-h", "-t", "R", "-u", user, "-o", "%i"]).text().unwrap();
        text.lines().count()
    };
    let until = |due: [usize; 2]| {
        let is_so = |_: &Cluster| Ok(([running("ada"), running("eve")] == due).then_some(()));
        cluster.wait_for(&format!("{due:?} running jobs"), WAIT, is_so).unwrap();
    };
    submit("ada", 16);
    until([16, 0]);
    submit("eve", 4);
    until([12, 4]);
    cluster.command("scancel").args(["-u", "ada"]).text().unwrap();
    until([0, 4]);
    submit("eve", 12);
    until([0, 16]);
    submit("ada", 4);
    // A dozen calculations and passes.
    std::thread::sleep(Duration::from_secs(45));
    assert_eq!([running("ada"), running("eve")], [0, 16]);
}

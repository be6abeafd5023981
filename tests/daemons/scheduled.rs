//! The priority that the scheduler uses, under stock and under ours: of jobs that are held, released and requeued, and when it may
//! only rise.

use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId};

use crate::factors::builder;
use crate::support::{cluster, lacks_root, OURS, STOCK};

/// A held job stays at 0, and gets a priority when it is released; one whose priority was set directly loses that when it
/// is held and released.
#[test]
fn held_and_released() {
    for plugin in [STOCK, OURS] {
        let cluster = builder(plugin).set("PriorityWeightJobSize", "1000").start().unwrap();
        let priority = |job: JobId| scheduled_priority(&cluster, job);
        let job = cluster.submit(&Job::new("ada").arg("--hold")).unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(priority(job), "0", "{plugin}");
        cluster.scontrol(&["release", &job.to_string()]).unwrap();
        assert_eq!(priority(job), "562", "{plugin}");
        cluster.scontrol(&["update", &format!("jobid={job}"), "priority=77"]).unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(priority(job), "77", "{plugin}");
        cluster.scontrol(&["hold", &job.to_string()]).unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(priority(job), "0", "{plugin}");
        cluster.scontrol(&["release", &job.to_string()]).unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(priority(job), "562", "{plugin}");
    }
}

fn scheduled_priority(cluster: &Cluster, job: JobId) -> String {
    let job = job.to_string();
    cluster.command("squeue").args(["-h", "-o", "%Q", "-j", &job]).text().unwrap().trim().to_owned()
}

/// With `INCR_ONLY` a cycle raises priorities and never lowers one; without it both.
#[test]
fn priorities_only_rise_with_incr_only() {
    for plugin in [STOCK, OURS] {
        for (flags, lowered) in [("NO_NORMAL_PART", "10"), ("NO_NORMAL_PART,INCR_ONLY", "60000")] {
            let cluster = builder(plugin)
                .set("PriorityFlags", flags)
                .set("PriorityWeightPartition", "1")
                .start()
                .unwrap();
            let job = cluster.submit(&Job::new("ada").partition("p1")).unwrap();
            for (factor, expected) in [("60000", "60000"), ("10", lowered), ("65000", "65000")] {
                let update = format!("priorityjobfactor={factor}");
                cluster.scontrol(&["update", "partitionname=p1", &update]).unwrap();
                cluster.wait_cycle().unwrap();
                assert_eq!(scheduled_priority(&cluster, job), expected, "{plugin}, {flags}, {factor}");
            }
        }
    }
}

/// A requeued job has the priority of a waiting one after a cycle, not one from before it ran.
#[test]
fn a_requeued_job_keeps_no_stale_priority() {
    if lacks_root("a_requeued_job_keeps_no_stale_priority", "a job of another user") {
        return;
    }
    for plugin in [STOCK, OURS] {
        let tree = Accounts::new().account(Account::new("first", 1).user("ada", 1));
        let cluster = cluster()
            .priority_type(plugin)
            .accounts(&tree)
            .nodes(1)
            .slurmds(true)
            .set("PriorityFlags", "NO_NORMAL_PART")
            .set("PriorityWeightFairshare", "0")
            .set("PriorityWeightPartition", "1")
            .line("PartitionName=p1 Nodes=n1 PriorityJobFactor=500")
            .start()
            .unwrap();
        let job = cluster.submit(&Job::new("ada").partition("p1").arg("--requeue")).unwrap();
        let in_state = |wanted: &'static str| {
            let reached = |cluster: &Cluster| {
                let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
                Ok(text.contains(&format!("JobState={wanted}")).then_some(()))
            };
            cluster.wait_for(wanted, Duration::from_secs(60), reached).unwrap();
        };
        in_state("RUNNING");
        assert_eq!(scheduled_priority(&cluster, job), "500", "{plugin}");
        // While it runs nothing is computed anew.
        cluster.scontrol(&["update", "partitionname=p1", "priorityjobfactor=300", "state=down"]).unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(scheduled_priority(&cluster, job), "500", "{plugin}");
        cluster.scontrol(&["requeue", &job.to_string()]).unwrap();
        in_state("PENDING");
        let waits = |cluster: &Cluster| Ok((scheduled_priority(cluster, job) == "300").then_some(()));
        cluster.wait_for("the priority of a waiting job", Duration::from_secs(60), waits).unwrap();
        // Requeued and held it has none until it is released.
        cluster.scontrol(&["hold", &job.to_string()]).unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(scheduled_priority(&cluster, job), "0", "{plugin}");
        cluster.scontrol(&["release", &job.to_string()]).unwrap();
        assert_eq!(scheduled_priority(&cluster, job), "300", "{plugin}");
    }
}

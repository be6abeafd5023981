//! `ActiveJobs=startable` in every release: a job that waits for a limit makes its user active by default, and not with
//! `startable`. That a job waits for one is a number in its record, which slurmctld sets when it tries to start the job.

use crate::shared;
use shared::TIMEOUT;
use slurm_releases::{cluster, test_in_each_release};
use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId, Release};

test_in_each_release!(a_job_that_waits_for_a_limit_draws_no_tickets);

/// Until squeue shows a reason.
fn wait_reason(cluster: &Cluster, job: JobId, reason: &str) {
    let shown = |cluster: &Cluster| {
        let shown = cluster.command("squeue").args(["-h", "-o", "%r", "-j", &job.to_string()]).text()?;
        Ok((shown.trim() == reason).then_some(()))
    };
    cluster.wait_for(&format!("job {job} to wait for {reason}"), TIMEOUT, shown).unwrap();
}

/// `FAIRSHARE` of jobs in sprio, after a cycle.
fn fair_shares(cluster: &Cluster, jobs: [JobId; 2]) -> [f64; 2] {
    cluster.wait_cycle().unwrap();
    let rows = cluster.sprio_rows().unwrap();
    jobs.map(|job| {
        let row = rows.iter().find(|row| row.text("JOBID") == job.to_string());
        row.unwrap_or_else(|| panic!("no job {job} in {rows:?}")).number("FAIRSHARE").unwrap()
    })
}

/// Both users have the same shares, and user1 has used three times as much.
fn a_job_that_waits_for_a_limit_draws_no_tickets(release: &Release) {
    let tree = Accounts::new()
        .account(Account::new("free", 1).user("user1", 1))
        .account(Account::new("limited", 1).user("user2", 1).option("GrpTRES='cpu=1'"))
        .account(Account::new("other", 1).user("user3", 1));
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .usage(&[("free", "user1", 300_000.0), ("limited", "user2", 100_000.0)])
        .nodes(1)
        .slurmds(true)
        .start()
        .unwrap();
    let job = |user| Job::new(user).arg("--exclusive");
    // The node is taken, so that who may start waits for it.
    let running = cluster.submit(&job("user3")).unwrap();
    let runs = |cluster: &Cluster| {
        let state = cluster.command("squeue").args(["-h", "-o", "%T", "-j", &running.to_string()]).text()?;
        Ok((state.trim() == "RUNNING").then_some(()))
    };
    cluster.wait_for("the node to be taken", TIMEOUT, runs).unwrap();
    let waiting = cluster.submit(&job("user1")).unwrap();
    let limited = cluster.submit(&Job::new("user2").arg("--ntasks=2")).unwrap();
    let jobs = [waiting, limited];
    wait_reason(&cluster, limited, "AssocGrpCpuLimit");

    let [of_user1, of_user2] = fair_shares(&cluster, jobs);
    assert!(of_user1 < 40_000.0 && of_user2 >= 99_999.0, "both take part: {of_user1}, {of_user2}");

    cluster.set("PriorityParameters", "ActiveJobs=startable").unwrap();
    cluster.reconfigure().unwrap();
    // A reconfigure may have the job tried anew.
    wait_reason(&cluster, limited, "AssocGrpCpuLimit");
    let [alone, prospective] = fair_shares(&cluster, jobs);
    assert!(alone >= 99_999.0, "user1 is alone: {alone}");
    assert!(prospective > 0.0, "a job always has what it would have");

    cluster
        .command("sacctmgr")
        .args(["-i", "modify", "account", "limited", "set", "GrpTRES=cpu=-1"])
        .text()
        .unwrap();
    let takes_part = |cluster: &Cluster| Ok((fair_shares(cluster, jobs)[0] < 40_000.0).then_some(()));
    cluster.wait_for("user2 to take part without the limit", 2 * TIMEOUT, takes_part).unwrap();
    shared::check_log(&cluster);
}

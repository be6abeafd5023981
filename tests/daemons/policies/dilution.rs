//! `Dilution`: what the k-th job of a user has, in `sprio` and the log.

use slurm_testcluster::{policies, Account, Accounts, Cluster, Job, JobId};

use super::{assert_factors, between_cycles, factors, share_tree};
use crate::schedule::{state, wait_state};
use crate::support::{as_printed, cluster, lacks_root, number};

fn submit(cluster: &Cluster, users: &[&str]) -> Vec<JobId> {
    users.iter().map(|user| cluster.submit(&Job::new(*user)).unwrap()).collect()
}

/// Grid Engine's share tree, worked out by hand. Project one has 60 shares and 400 of 500 seconds, two has 40 and 100; of one, u1 has 300
/// and u2 has 100. S²/U makes 0.36 and 0.64 at the top, 0.25 and 0.75 below one. Project one hands out 3600, 1800, 1200, 900; in what order
/// is found one level below, by 7500, 3750 of u2 and 2500, 1250 of u1.
#[test]
fn the_tree_hands_out_to_single_jobs_what_grid_engine_does() {
    let tree = Accounts::new()
        .account(Account::new("one", 60).user("u1", 50).user("u2", 50))
        .account(Account::new("two", 40).user("u3", 1));
    let cluster = cluster()
        .accounts(&tree)
        .usage(&[("one", "u1", 300.0), ("one", "u2", 100.0), ("two", "u3", 100.0)])
        .file(policies::FILE, "TicketsShare=10000\nDilution=tree\n")
        .set("DebugFlags", "Priority")
        .start()
        .unwrap();
    let jobs = submit(&cluster, &["u1", "u1", "u2", "u2", "u3", "u3"]);
    cluster.wait_cycle().unwrap();
    let expected = [1200.0, 900.0, 3600.0, 1800.0, 6400.0, 3200.0];
    assert_factors(&factors(&cluster, &jobs), &expected.map(|tickets| tickets / 6400.0), "tree");
    let said = share_tree(&cluster, &jobs);
    assert!(said.iter().zip(expected).all(|(said, expected)| (said - expected).abs() < 0.01), "{said:?}");
    // The third job of u3 would be the third of project two; that of u1 the fifth of project one.
    for (account, user, next) in [("two", "u3", 6400.0 / 3.0), ("one", "u1", 3600.0 / 5.0)] {
        let shown = number(&cluster.share(account, user).unwrap(), "FairShare");
        assert!(as_printed(shown, next / 6400.0), "{user}: {shown}");
    }
}

fn two_users() -> Accounts {
    Accounts::new().account(Account::new("a", 1).user("ada", 1).user("emmy", 1))
}

/// One node with four processors, on which jobs of these users run.
fn running(settings: &str) -> slurm_testcluster::Builder {
    cluster()
        .accounts(&two_users())
        .nodes(1)
        .cpus(4)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
        .set("DebugFlags", "Priority")
        .set("SchedulerParameters", "defer")
        .line("PartitionName=later Nodes=n1 State=DOWN")
        .file(policies::FILE, settings)
}

/// Jobs of the partition `free` are charged nothing, so that shares alone decide: each user has 5,000 tickets.
#[test]
fn what_a_user_has_running_counts_like_what_waits_before() {
    if lacks_root("what_a_user_has_running_counts_like_what_waits_before", "jobs of several users") {
        return;
    }
    let cluster = running("Dilution=user\n")
        .set("PriorityFlags", "CALCULATE_RUNNING")
        .line("PartitionName=free Nodes=n1 TRESBillingWeights=CPU=0")
        .start()
        .unwrap();
    let submit = |partition: &str, user: &str| cluster.submit(&Job::new(user).partition(partition)).unwrap();
    let run = [(); 3].map(|()| submit("free", "ada"));
    for job in run {
        wait_state(&cluster, job, "RUNNING");
    }
    let wait = ["ada", "ada", "emmy", "emmy"].map(|user| submit("later", user));
    cluster.wait_cycle().unwrap();
    // The two that wait are behind the three that run, each of which is behind two others.
    let expected = [5000.0 / 4.0, 1000.0, 5000.0, 2500.0];
    assert_factors(&factors(&cluster, &wait), &expected.map(|tickets| tickets / 5000.0), "waiting");
    assert_factors(&factors(&cluster, &run), &[1.0 / 3.0; 3], "running");
    for job in run {
        let priority: f64 = state(&cluster, job, "%Q").parse().unwrap();
        assert!((priority - 33_333.0).abs() < 2.0, "squeue's priority of running job {job}: {priority}");
    }
    cluster.command("scancel").args(run).text().unwrap();
    cluster.wait_cycle().unwrap();
    assert_factors(&factors(&cluster, &wait), &[1.0, 0.5, 1.0, 0.5], "nothing runs");
}

/// `DilutionUnit=committed`: a job counts what it may still use, and nothing of that stays when it ends early.
#[test]
fn a_job_with_a_long_limit_that_ends_early_leaves_what_it_used() {
    if lacks_root("a_job_with_a_long_limit_that_ends_early_leaves_what_it_used", "a job of another user") {
        return;
    }
    let settings = "Dilution=user\nDilutionUnit=committed\nDilutionQuantum=2880\n";
    let cluster = running(settings).start().unwrap();
    let job = cluster.submit(&Job::new("ada").seconds(4).arg("--time=2-0")).unwrap();
    let waiting = ["ada", "emmy"]
        .map(|user| cluster.submit(&Job::new(user).partition("later").arg("--time=10")).unwrap());
    wait_state(&cluster, job, "RUNNING");
    cluster.wait_cycle().unwrap();
    let tickets = || waiting.map(|job| policies::tickets(&cluster, job).unwrap().share_tree);
    let [while_it_runs, _] = tickets();
    wait_state(&cluster, job, "COMPLETED");
    cluster.wait_cycle().unwrap();
    let usage = number(&cluster.share("a", "ada").unwrap(), "RawUsage");
    assert!((3.0..30.0).contains(&usage), "{usage} s of usage");
    // 2,880 minutes of one CPU were committed, as many as the quantum, so half of ada's tickets were left. How many these are did
    // not change meanwhile: all usage is hers.
    let [afterwards, of_emmy] = tickets();
    assert!((afterwards / while_it_runs - 2.0).abs() < 0.01, "{while_it_runs}, then {afterwards}");
    assert!((afterwards + of_emmy - 10_000.0).abs() < 0.1, "{afterwards} and {of_emmy}");
}

/// However often a job is requeued or changed, it stands once in its user's queue.
#[test]
fn a_requeued_job_does_not_stack() {
    if lacks_root("a_requeued_job_does_not_stack", "a job of another user") {
        return;
    }
    let cluster = running("Dilution=user\n").cycle_seconds(Some(4)).start().unwrap();
    let job = cluster.submit(&Job::new("ada").seconds(600).arg("--requeue")).unwrap();
    let first = cluster.submit(&Job::new("ada").partition("later")).unwrap();
    for _ in 0..2 {
        wait_state(&cluster, job, "RUNNING");
        cluster.scontrol(&["requeue", &job.to_string()]).unwrap();
        wait_state(&cluster, job, "PENDING");
        // A requeued job waits two minutes before it is eligible.
        let update = ["update", &format!("jobid={job}"), "starttime=now"].map(str::to_owned);
        cluster.scontrol(&update.each_ref().map(String::as_str)).unwrap();
    }
    wait_state(&cluster, job, "RUNNING");
    cluster.wait_cycle().unwrap();
    let next = || {
        let new = cluster.submit(&Job::new("ada").partition("later")).unwrap();
        let update = [format!("jobid={new}"), "nice=3".to_owned()];
        for _ in 0..3 {
            cluster.scontrol(&["update", &update[0], &update[1]]).unwrap();
        }
        (new, policies::tickets(&cluster, new).unwrap().share_tree)
    };
    let cancel = |(job, _)| drop(cluster.command("scancel").arg(job).text().unwrap());
    let (_, third) = between_cycles(&cluster, next, cancel);
    let second = policies::tickets(&cluster, first).unwrap().share_tree;
    // One runs and one waits before it.
    assert!((second / third - 1.5).abs() < 0.01, "{second} and {third}: {}", state(&cluster, job, "%T"));
    cluster.command("scancel").arg(job).text().unwrap();
}

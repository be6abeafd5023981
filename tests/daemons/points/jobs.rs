//! Jobs that run: who overtakes whom, who comes last behind a cap, and what blocks instead.

use slurm_testcluster::{points, Account, Accounts, Builder, Cluster, Job, JobId};

use crate::schedule::{state, wait_state, WAIT};
use crate::support::{cluster, lacks_root, number};

fn accounts() -> Accounts {
    let user = |account: &str, name: &str| Account::new(account, 1).user(name, 1);
    Accounts::new().account(user("physics", "ada")).account(user("chemistry", "emmy"))
}

/// One node with four processors, on which jobs run.
fn running(settings: &str) -> Builder {
    cluster()
        .accounts(&accounts())
        .nodes(1)
        .cpus(4)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
        .set("PriorityWeightFairshare", "0")
        .set("SchedulerParameters", "bf_interval=1,sched_interval=1")
        .file("multifactor2.conf", settings)
}

fn reason(cluster: &Cluster, job: JobId) -> String {
    state(cluster, job, "%r")
}

fn cancel(cluster: &Cluster, jobs: &[JobId]) {
    cluster.command("scancel").args(jobs).text().unwrap();
}

/// A job that the backfill scheduler starts before another one, which waits for the whole node.
#[test]
fn bypass_counts_jobs_that_backfill_starts() {
    if lacks_root("bypass_counts_jobs_that_backfill_starts", "jobs of several users") {
        return;
    }
    // Above 1, so that a nice value puts others behind it.
    let lines = "Component=SERV Bypass=1000\nComponent=CRED User=1\nCredential=User Name=* Priority=100000\n";
    let mut cluster = running(lines).start().unwrap();
    let submit = |cluster: &Cluster, user: &str, arguments: &[&str]| {
        let job = arguments.iter().fold(Job::new(user), |job, argument| job.arg(*argument));
        cluster.submit(&job).unwrap()
    };
    let first = submit(&cluster, "ada", &["--time=10"]);
    wait_state(&cluster, first, "RUNNING");
    let waits = submit(&cluster, "ada", &["--ntasks=4", "--time=10"]);
    // Those that go before it have nice values: a cycle must have seen them behind it.
    let others = [(); 2].map(|()| submit(&cluster, "emmy", &["--time=1", "--nice=100", "--hold"]));
    cluster.wait_cycle().unwrap();
    points::assert_sites(&cluster, &[(waits, 100_000.0)], "nobody went before it");
    let release = |job: JobId, overtaken: f64| {
        // Eligible, and not to be started yet, until a cycle has seen it wait.
        cluster.scontrol(&["update", "partitionname=main", "state=down"]).unwrap();
        cluster.scontrol(&["release", &job.to_string()]).unwrap();
        cluster.wait_cycle().unwrap();
        cluster.scontrol(&["update", "partitionname=main", "state=up"]).unwrap();
        wait_state(&cluster, job, "RUNNING");
        cluster.wait_cycle().unwrap();
        points::assert_sites(&cluster, &[(waits, 100_000.0 + 1000.0 * overtaken)], "overtaken");
    };
    release(others[0], 1.0);
    release(others[1], 2.0);
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();
    points::assert_sites(&cluster, &[(waits, 102_000.0)], "kept over the restart");
    cancel(&cluster, &[first, waits, others[0], others[1]]);
}

/// Of two jobs the one behind a cap comes last; alone it starts. Slurm's own limits block it: `GrpTRESMins` on an account, and on a QOS
/// whose usage does not decay.
#[test]
fn a_cap_puts_last_and_a_limit_of_slurm_blocks() {
    if lacks_root("a_cap_puts_last_and_a_limit_of_slurm_blocks", "jobs of several users") {
        return;
    }
    let settings = "Target=Account Name=physics Amount=1 Type=cap\nComponent=RES Proc=1\n";
    let mut cluster = running(settings)
        .set("PriorityDecayHalfLife", "1")
        .usage(&[("physics", "ada", 7.2e6)])
        .start()
        .unwrap();
    let whole = |user: &str| Job::new(user).arg("--ntasks=4").arg("--time=1");
    // Last: what came later goes first.
    cluster.scontrol(&["update", "partitionname=main", "state=down"]).unwrap();
    let [capped, free] = ["ada", "emmy"].map(|user| cluster.submit(&whole(user)).unwrap());
    cluster.wait_cycle().unwrap();
    points::assert_sites(&cluster, &[(capped, -1e6), (free, 4.0)], "cap");
    cluster.scontrol(&["update", "partitionname=main", "state=up"]).unwrap();
    wait_state(&cluster, free, "RUNNING");
    assert_eq!(state(&cluster, capped, "%T"), "PENDING");
    // And not held.
    cancel(&cluster, &[free]);
    wait_state(&cluster, capped, "RUNNING");
    cancel(&cluster, &[capped]);

    // The account has used more than an hour and a half, and will for some half-lives of a minute.
    let sacctmgr = |arguments: &[&str]| cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
    sacctmgr(&["modify", "account", "physics", "set", "GrpTRESMins=cpu=90"]);
    let blocked = cluster.submit(&whole("ada")).unwrap();
    let blocks = |job: JobId, wanted: &str| {
        let is_blocked = |cluster: &Cluster| Ok((reason(cluster, job) == wanted).then_some(()));
        cluster.wait_for(&format!("job {job} to be blocked by {wanted}"), WAIT, is_blocked).unwrap();
    };
    blocks(blocked, "AssocGrpCPUMinutesLimit");
    let other = cluster.submit(&whole("emmy")).unwrap();
    wait_state(&cluster, other, "RUNNING");
    cancel(&cluster, &[blocked, other]);
    sacctmgr(&["modify", "account", "physics", "set", "GrpTRESMins=cpu=-1"]);

    // On a QOS that does not decay: two processor hours have been used under it.
    points::add_qos(&cluster, "budget", &["Flags=NoDecay", "GrpTRESMins=cpu=90"]).unwrap();
    let budget = |cluster: &Cluster, user: &str| cluster.submit(&whole(user).arg("--qos=budget")).unwrap();
    let before = budget(&cluster, "emmy");
    wait_state(&cluster, before, "RUNNING");
    cancel(&cluster, &[before]);
    cluster.inject_qos_usage(&[("budget", 7200.0)]).unwrap();
    let blocked = budget(&cluster, "emmy");
    let is_blocked =
        |cluster: &Cluster| Ok((reason(cluster, blocked) == "QOSGrpCPUMinutesLimit").then_some(()));
    cluster.wait_for("the QOS to block", WAIT, is_blocked).unwrap();
    let used = || number(&cluster.share("physics", "ada").unwrap(), "RawUsage");
    let before = used();
    let decayed = |_: &Cluster| Ok((used() < 0.9 * before).then_some(()));
    cluster.wait_for("usage to decay", WAIT, decayed).unwrap();
    let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=qos", "qos=budget"]).unwrap();
    // In minutes: that of the QOS has not.
    assert!(shown.contains("GrpTRESMins=cpu=90(120)"), "{shown}");
    cancel(&cluster, &[blocked]);
}

/// A group that is made later counts without a restart.
#[test]
fn a_group_that_is_made_later_counts_from_the_next_cycle_on() {
    let cluster = cluster()
        .accounts(&accounts())
        .set("PriorityWeightFairshare", "0")
        .file("multifactor2.conf", "Component=CRED Group=1\nCredential=Group Name=late Priority=500\n")
        .start()
        .unwrap();
    let job = cluster.submit(&Job::new("ada")).unwrap();
    cluster.wait_cycle().unwrap();
    points::assert_sites(&cluster, &[(job, 0.0)], "no such group");
    let group = points::group_of(&cluster, job).unwrap();
    let (_, gid) = cluster.ids("ada").unwrap();
    assert!(group.contains(&format!("({gid})")), "{group}");
    let file = cluster.directory().join("group");
    let known = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("late:x:{gid}:\n{known}")).unwrap();
    let counts = |cluster: &Cluster| Ok((points::site(cluster, job)? > 499.5).then_some(()));
    cluster.wait_for("the group to be found", WAIT, counts).unwrap();
    let said = cluster.log().lines().filter(|line| line.contains("this name does not exist")).count();
    assert_eq!(said, 1, "said once");
}

//! What the administrator does meanwhile.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use slurm_testcluster::{Cluster, Job};

use super::USERS;
use crate::random::Random;

/// What a reconfigure by signal takes, which nobody is told the end of.
const SIGNALLED: Duration = Duration::from_secs(2);

/// Changes that were made; what Slurm refused is not counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    shares: u32,
    moves: u32,
    additions: u32,
    /// Users, QOSes and partitions that had a running and a pending job when they went, and accounts.
    users: u32,
    accounts: u32,
    qos: u32,
    partitions: u32,
    reconfigures: u32,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} changes of shares, {} accounts moved, {} things added, removed with jobs: {} users, {} QOS, {} partitions; {} \
             accounts removed, {} reconfigures",
            self.shares,
            self.moves,
            self.additions,
            self.users,
            self.qos,
            self.partitions,
            self.accounts,
            self.reconfigures
        )
    }
}

impl Done {
    /// Reconfigures that worked.
    pub fn reconfigures(&self) -> u32 {
        self.reconfigures
    }
}

/// One change; some fail because the thing is not there, or in use.
pub fn one(cluster: &Cluster, random: &mut Random, done: &mut Done) {
    let manage = |words: &[&str]| u32::from(cluster.command("sacctmgr").arg("-i").args(words).succeeds());
    let shares = format!("fairshare={}", 1 + random.below(100));
    let who = format!("user{}", random.below(USERS));
    let parent = ["parent=a", "parent=b"][usize::from(random.below(2) == 0)];
    match random.below(11) {
        0 => done.shares += manage(&["modify", "account", "a", "set", &shares]),
        1 => done.shares += manage(&["modify", "user", &who, "set", &shares]),
        2 => done.additions += manage(&["add", "account", "c", parent, "fairshare=7"]),
        3 | 4 => done.moves += manage(&["modify", "account", "c", "set", parent]),
        5 => done.additions += manage(&["add", "user", "user0", "account=c", "fairshare=3"]),
        6 => done.users += remove_user_with_jobs(cluster),
        7 => done.accounts += manage(&["remove", "account", "c"]),
        8 => done.qos += remove_qos_with_jobs(cluster, done),
        9 => done.reconfigures += reconfigure(cluster, random),
        _ => done.partitions += remove_partition_with_jobs(cluster),
    }
}

/// By requests and by signal. Returns how many were accepted.
fn reconfigure(cluster: &Cluster, random: &mut Random) -> u32 {
    let version = cluster.release().version;
    let replaces_itself = (version.year, version.month) >= (23, 11);
    let mut done = 0;
    let by_signal = random.below(2) == 0;
    if !replaces_itself || !by_signal {
        for _ in 0..=random.below(5) {
            done += u32::from(cluster.reconfigure().is_ok());
        }
    }
    // A process that has just replaced itself has no handler yet, and a signal ends it, whichever plugin it has.
    if !replaces_itself || by_signal {
        let starts = |cluster: &Cluster| cluster.log().matches("Running as primary controller").count();
        let before = starts(cluster);
        done += u32::from(cluster.hang_up_controller().is_ok());
        if replaces_itself {
            let again = |cluster: &Cluster| Ok((starts(cluster) > before).then_some(()));
            cluster.wait_for("slurmctld to replace itself", Duration::from_secs(20), again).ok();
        }
    }
    // Slurm 22.05 lets a request to reconfigure run into one by signal, and both free the list of MPI plugins.
    sleep(SIGNALLED);
    done
}

/// A job that may run, and one that waits.
fn submit_two(cluster: &Cluster, job: &Job) -> bool {
    let waiting = job.clone().arg("--hold");
    cluster.submit(&job.clone().seconds(30)).is_ok() & cluster.submit(&waiting).is_ok()
}

/// sacctmgr refuses to remove a user whose jobs the database knows to be active: they are ended there first, as if
/// their records had not arrived yet. slurmctld still has them.
fn remove_user_with_jobs(cluster: &Cluster) -> u32 {
    let submitted = submit_two(cluster, &Job::new("user0").account("c"));
    let ended =
        cluster.sql("update test_job_table set time_end=unix_timestamp() where time_end=0 and account='c'");
    let remove = ["-i", "remove", "user", "user0", "account=c"];
    u32::from(cluster.command("sacctmgr").args(remove).succeeds() && submitted && ended.is_ok())
}

fn remove_qos_with_jobs(cluster: &Cluster, done: &mut Done) -> u32 {
    let manage = |words: &[&str]| cluster.command("sacctmgr").arg("-i").args(words).succeeds();
    done.additions += u32::from(manage(&["add", "qos", "extra", "priority=5", "usagefactor=0.5"]));
    manage(&["modify", "user", "user2", "set", "qos+=extra"]);
    let submitted = submit_two(cluster, &Job::new("user2").arg("--qos=extra"));
    u32::from(manage(&["remove", "qos", "extra"]) && submitted)
}

/// Slurm ends the jobs of a partition that goes.
fn remove_partition_with_jobs(cluster: &Cluster) -> u32 {
    if cluster.scontrol(&["create", "partitionname=brief", "nodes=n1"]).is_err() {
        return 0;
    }
    let submitted = submit_two(cluster, &Job::new("user1").partition("brief"));
    cluster.submit(&Job::new("user3").partition("main,brief").arg("--hold")).ok();
    u32::from(cluster.scontrol(&["delete", "partitionname=brief"]).is_ok() && submitted)
}

//! A launch that is lost says nothing about the plugin: test clusters repeat it once, and a wait in vain reports the state of the job. In the oldest and
//! the newest release by `make test`, in all by `make test-releases`.

use std::fs;
use std::time::Duration;

use slurm_releases::cluster;
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release, Result};

use crate::shared::TIMEOUT;

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(a_lost_launch_is_repeated_once);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(a_lost_launch_is_repeated_once);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(a_lost_launch_is_repeated_once);
}

/// A file where slurmstepd makes the directory of its job: it ends as one for which a busy machine has no time. Until the job runs; the file is taken
/// away after the first time, or stays.
fn run(cluster: &Cluster, timeout: Duration, stays: bool) -> Result<()> {
    let next = cluster.submit(&Job::new("ada").arg("--hold"))?;
    let file = cluster.directory().join(format!("spool/n1/job{next:05}"));
    fs::write(&file, "")?;
    let before = requeued(cluster);
    cluster.scontrol(&["release", &next.to_string()])?;
    cluster.wait_for("the job to run", timeout, |cluster| {
        if requeued(cluster) == before {
            return Ok(None);
        }
        if !stays && file.is_file() {
            fs::remove_file(&file)?;
        }
        let state = cluster.command("squeue").args(["-h", "-o", "%T", "-j"]).arg(next).text()?;
        Ok((state.trim() == "RUNNING" && file.is_dir()).then_some(()))
    })
}

fn requeued(cluster: &Cluster) -> usize {
    cluster.log().matches("Requeuing JobId=").count()
}

fn a_lost_launch_is_repeated_once(release: &Release) {
    let tree = Accounts::new().account(Account::new("physics", 1).user("ada", 1));
    let cluster = cluster(release.clone()).unwrap().accounts(&tree).nodes(1).slurmds(true).start().unwrap();
    run(&cluster, TIMEOUT, false).unwrap();
    cluster.command("scancel").args(["-u", "ada"]).text().unwrap();
    let said = format!("{:#}", run(&cluster, TIMEOUT / 3, true).unwrap_err());
    let said = said.replace('_', " ");
    for what in ["PENDING (launch failed requeued held)", "Requeuing JobId=", "log/slurmd-n1:"] {
        assert!(said.contains(what), "no '{what}' in:\n{said}");
    }
    assert_eq!(requeued(&cluster), 3, "one was repeated, the other once:\n{said}");
}

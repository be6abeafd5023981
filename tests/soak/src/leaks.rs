//! What one request leaves behind on slurmctld's heap, kind by kind, in a cluster that is otherwise idle.
//!
//! Under a load the queue's ups and downs hide a few bytes per request; here each kind is repeated some hundred times, and
//! what is in use before and after is compared with what Slurm's own plugin leaves.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::memory::settled;
use crate::Plugin;

/// One kind of request.
type Kind = (&'static str, fn(&Cluster) -> bool);

const KINDS: [Kind; 7] = [
    ("sprio", |cluster| cluster.sprio(&["-l"]).is_ok()),
    ("sshare", |cluster| cluster.sshare(&["-al"]).is_ok()),
    ("squeue", |cluster| cluster.command("squeue").succeeds()),
    ("reconfigure", |cluster| cluster.reconfigure().is_ok()),
    ("submission", |cluster| {
        let job = cluster.submit(&Job::new("ada").partition("main,other").arg("--hold"));
        job.is_ok_and(|id| cluster.command("scancel").arg(id).succeeds())
    }),
    ("user", |cluster| {
        let manage = |words: [&str; 4]| cluster.command("sacctmgr").arg("-i").args(words).succeeds();
        manage(["add", "user", "eve", "account=a"]) & manage(["remove", "user", "eve", "account=a"])
    }),
    ("cycle", |_| {
        sleep(Duration::from_millis(200));
        true
    }),
];

/// Bytes that stay per request, by kind.
#[derive(Debug, Clone, Default)]
pub struct Summary(Vec<(&'static str, f64)>);

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes left per request:")?;
        self.0.iter().try_for_each(|(name, bytes)| write!(f, " {name} {bytes:.0}"))
    }
}

impl Summary {
    /// The kinds of which this one leaves a hundred bytes more than the other.
    pub fn beyond(&self, other: &Self) -> Vec<&'static str> {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter(|(mine, theirs)| mine.1 > theirs.1 + 100.0).map(|(mine, _)| mine.0).collect()
    }
}

/// Repeats each kind so many times.
///
/// # Errors
/// If the cluster does not start or does not answer.
pub fn run(plugin: &Plugin, times: u32) -> Result<Summary> {
    let tree = Accounts::new().account(Account::new("a", 1).user("ada", 1).user("bob", 1));
    let cluster = plugin
        .builder()
        .accounts(&tree)
        .user("eve")
        .set("MinJobAge", "2")
        .line("PartitionName=other Nodes=ALL PriorityJobFactor=20")
        .watch_heap()
        .start()?;
    for user in ["ada", "bob", "bob"] {
        cluster.submit(&Job::new(user))?;
    }
    let mut summary = Summary::default();
    for (name, ask) in KINDS {
        repeat(&cluster, ask, times / 4);
        let before = settled(&cluster)?;
        repeat(&cluster, ask, times);
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let left = settled(&cluster)? as f64 - before as f64;
        summary.0.push((name, left / f64::from(times)));
    }
    Ok(summary)
}

fn repeat(cluster: &Cluster, ask: fn(&Cluster) -> bool, times: u32) {
    for _ in 0..times {
        ask(cluster);
    }
}

//! The same where usage decays, and jobs that run add to it.

use multifactor2_fixtures::random;
use slurm_testcluster::{Cluster, Job, Release};

use super::{asked_at_once, sacctmgr, tree, Look, Truth, ALGORITHMS, WAIT, WHO};

slurm_releases::test_in_each_release!(answers_hold_while_jobs_run_and_usage_decays);

/// Seconds between two cycles where numbers change with each: so long everybody can ask.
const CYCLE: u32 = 20;

/// So many jobs of one processor run then.
const RUNNING: u32 = 4;

fn answers_hold_while_jobs_run_and_usage_decays(release: &Release) {
    let mut random = random();
    let (accounts, users) = tree(&mut random);
    let mut used: Vec<(&str, &str, f64)> = Vec::new();
    for (account, user) in &users {
        used.push((account, user, f64::from(random.u32(1..1_000_000))));
    }
    let mut cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .usage(&used)
        .set("PriorityWeightFairshare", "1000000")
        .set("PriorityWeightAge", "1000")
        .set("PriorityMaxAge", "1000-0")
        .set("PriorityDecayHalfLife", "00:10:00")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .line("PartitionName=held Nodes=n1 State=DOWN PriorityJobFactor=10")
        .cycle_seconds(Some(CYCLE))
        .nodes(1)
        .memory(1000)
        .slurmds(true)
        .file("multifactor2.conf", "")
        .start()
        .unwrap();
    sacctmgr(&cluster, "modify user olga set adminlevel=operator");
    for (account, user) in &users {
        cluster.submit(&Job::new(&**user).account(account).partition("held")).unwrap();
    }
    for (account, user) in users.iter().take(RUNNING as usize) {
        cluster.submit(&Job::new(&**user).account(account).arg("--mem=10").arg("--export=ALL")).unwrap();
    }
    let run = |cluster: &Cluster| {
        let text = cluster.command("squeue").args(["-h", "-t", "R", "-o", "%i"]).text()?;
        Ok((text.lines().count() == RUNNING as usize).then_some(()))
    };
    let conf = cluster.directory().join("multifactor2.conf");
    for (priority, flags) in ALGORITHMS {
        cluster.set("PriorityType", priority).unwrap();
        cluster.set("PriorityFlags", flags).unwrap();
        cluster.restart_controller().unwrap();
        cluster.wait_for("jobs to run", 2 * WAIT, run).unwrap();
        let before = Truth::of(&cluster);
        cluster.wait_cycle().unwrap();
        let name = format!("running {priority} {flags}");
        let (truth, all) = asked_at_once(&cluster, &name.replace('/', "-"), &WHO[..2]);
        assert!(!truth.differences(&before).is_empty(), "{name}: nothing decays");
        for (user, from) in &all {
            // Classic works parts out before it adds what jobs have used since.
            let usage = truth.shares[0].number("RawUsage").unwrap();
            let classic = flags == "NO_FAIR_TREE";
            let lag = if classic { 2.0 * f64::from(RUNNING * CYCLE) / usage } else { 0.0 };
            let look = Look {
                truth: &truth,
                places: None,
                from,
                conf: priority.ends_with('2').then_some(&*conf),
                whole: true,
                sees_queue: true,
                classic,
                lag: Some(lag),
                wrong: Vec::new(),
            };
            look.all(&format!("Slurm {}, {name}, {user}", release.version));
        }
    }
}

//! Charge rules on real slurmds, on the tree of the University of Maryland's page on priorities (docs/charging.md): `LevelFS` of every account as
//! computed by hand, where all counts and where scavenged work does not; and usage of real jobs, which is elapsed time × billing × factors.

use crate::shared;
use std::thread::sleep;
use std::time::Duration;

use shared::TIMEOUT;
use slurm_releases::cluster;
use slurm_testcluster::{parse_rows, policies, Account, Accounts, Cluster, Job, JobId, Release, Row};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(the_tree_of_maryland);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(the_tree_of_maryland);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(the_tree_of_maryland);
}

/// Accounts with equal shares, their usage, and `LevelFS` by hand: with all of it, and without that of `scavenger`. The page lists eight of nine:
/// the ninth has the 1,260 that are missing to the root's usage. Fair Tree's `LevelFS` has no end, ours ends at 100.
const ACCOUNTS: [(&str, f64, f64, f64); 9] = [
    ("cbcb", 2_540_508_354.0, 3.020_716, 1.130_682),
    ("class", 111_442_160.0, 68.862_208, 25.775_762),
    ("clip", 5_438_953_594.0, 1.410_961, 0.528_136),
    ("gamma", 11_308_782_204.0, 0.678_601, 0.254_007),
    ("mbrc", 3_589_694.0, 100.0, 100.0),
    ("mc2", 33_620.0, 100.0, 100.0),
    ("nexus", 6_449_248_844.0, 1.189_930, 0.445_402),
    ("scavenger", 43_214_818_947.0, 0.177_582, 100.0),
    ("ninth", 1_260.0, 100.0, 100.0),
];

/// What a second of a job of one processor bills.
const BILLING: f64 = 100.0;

const RULES: &str = "Charge=Account Name=scavenger Factor=0\nCharge=Partition Name=cheap Factor=0.5\nCharge=Account Name=class Factor=3\n\
                     Charge=Reservation Name=workshop Factor=0.25\nCharge=WCKey Name=urgent Factor=2\nCharge=Requeued Factor=10\nMinimumCharge=00:00:20\n";

/// Whose job is requeued while it runs, by an administrator: slurmctld does not keep who asked, so all of it counts.
const REQUEUED: &str = "ninth";

/// A user, arguments, what usage is multiplied with by these rules, and what each second counts for limits of the QOS.
fn jobs() -> Vec<(&'static str, Vec<&'static str>, f64)> {
    vec![
        ("scavenger", vec![], 0.0),
        ("cbcb", vec![], 1.0),
        ("clip", vec!["-pcheap"], 0.5),
        ("class", vec!["-pcheap"], 1.5),
        ("gamma", vec!["--reservation=workshop"], 0.25),
        ("mbrc", vec!["--wckey=urgent"], 2.0),
        ("mc2", vec!["--reservation=workshop,other"], 1.0),
    ]
}

fn the_tree_of_maryland(release: &Release) {
    let account = |(name, ..): &(&'static str, f64, f64, f64)| Account::new(*name, 1).user(*name, 1);
    let tree = ACCOUNTS.iter().map(account).fold(Accounts::new(), Accounts::account);
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .nodes(8)
        .cpus(8)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations,limits,wckeys")
        .set("TrackWCKey", "yes")
        .set("PriorityWeightFairshare", "1000")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .line("PartitionName=dear Nodes=ALL Default=YES State=UP TRESBillingWeights=CPU=100")
        .line("PartitionName=cheap Nodes=ALL State=UP TRESBillingWeights=CPU=100")
        .start()
        .unwrap();
    give_keys(&cluster);
    let usage = |skipped: &str| -> Vec<(&str, &str, f64)> {
        ACCOUNTS.iter().filter(|row| row.0 != skipped).map(|row| (row.0, row.0, row.1)).collect()
    };
    cluster.inject_usage(&usage("")).unwrap();
    assert_levels(&cluster, |row| row.2);
    cluster.inject_usage(&usage("scavenger")).unwrap();
    assert_levels(&cluster, |row| row.3);

    policies::change(&cluster, RULES).unwrap();
    let jobs = charged_by_the_rules(&cluster);
    // What was not counted stays uncounted, and so does all that is left of what there was.
    for (name, before, ..) in ACCOUNTS.iter().filter(|row| row.0 != "scavenger") {
        let more = jobs.iter().filter(|(user, _)| user == name).map(|(_, more)| more).sum::<f64>();
        let found = raw(&cluster, name);
        assert!(
            (found - before - more).abs() <= 0.02 * BILLING,
            "{name}: {found}, was {before} and {more} more"
        );
    }
    assert!(raw(&cluster, "scavenger").abs() < f64::EPSILON);
    assert_levels_near(&cluster);
    shared::check_log(&cluster);
}

/// Lets jobs run; what they are to be charged.
fn charged_by_the_rules(cluster: &Cluster) -> Vec<(&'static str, f64)> {
    for name in ["workshop", "other"] {
        let users = ACCOUNTS.map(|row| row.0).join(",");
        let users = format!("users={users}");
        let reservation = format!("ReservationName={name}");
        let arguments =
            ["create", &reservation, "StartTime=now", "Duration=60", &users, "Nodes=n2", "Flags=OVERLAP"];
        cluster.scontrol(&arguments).unwrap();
    }
    for (user, arguments, _) in jobs() {
        // One is shorter than the minimum, one is longer.
        for seconds in [3, 30] {
            let job =
                arguments.iter().fold(Job::new(user).seconds(seconds), |job, argument| job.arg(*argument));
            cluster.submit(&job.arg("-n1").arg("--mem=1")).unwrap();
        }
    }
    let again =
        cluster.submit(&Job::new(REQUEUED).seconds(25).arg("-n1").arg("--mem=1").arg("--requeue")).unwrap();
    run_again(cluster, again);
    let over = |cluster: &Cluster| {
        let rows = sacct(cluster);
        let over = rows.len() == 2 * jobs().len() + 2 && rows.iter().all(|row| row.text("End") != "Unknown");
        Ok(over.then_some(rows))
    };
    let rows = cluster.wait_for("all jobs to end", 2 * TIMEOUT, over).unwrap_or_else(|problem| {
        let queue = cluster.command("squeue").args(["-a"]).text();
        panic!("{problem}:\n{queue:?}\n{:?}\n{}", sacct(cluster), cluster.log())
    });
    cluster.wait_cycle().unwrap();
    let of = |user: &'static str| rows.iter().filter(move |row| row.text("User") == user);
    let elapsed = |row: &Row| row.number("ElapsedRaw").unwrap();
    let mut all: Vec<_> = jobs()
        .into_iter()
        .map(|(user, _, factor)| {
            let seconds: f64 = of(user).map(|row| elapsed(row).max(20.0)).sum();
            (user, seconds * BILLING * factor)
        })
        .collect();
    // Nothing is given back of the first run, which is charged its minimum.
    let (first, second): (Vec<_>, Vec<_>) = of(REQUEUED).partition(|row| row.text("State") == "REQUEUED");
    assert!(
        first.len() == 1 && elapsed(first[0]) < 20.0 && elapsed(second[0]) >= 20.0,
        "{first:?} {second:?}"
    );
    all.push((REQUEUED, (20.0 + elapsed(second[0])) * BILLING));
    all
}

/// Each user needs a key where they are enforced.
fn give_keys(cluster: &Cluster) {
    let users = ACCOUNTS.map(|row| row.0).join(",");
    cluster.command("sacctmgr").args(["-i", "add", "user", &users, "wckeys=plain,urgent"]).text().unwrap();
    cluster
        .command("sacctmgr")
        .args(["-i", "modify", "user", &users, "set", "defaultwckey=plain"])
        .text()
        .unwrap();
    let known = |cluster: &Cluster| {
        let knows = ACCOUNTS.iter().all(|row| {
            let sbatch = cluster.command("sbatch").args(["--test-only", "--wckey=urgent", "--wrap=true"]);
            sbatch.user(row.0).unwrap().succeeds()
        });
        Ok(knows.then_some(()))
    };
    cluster.wait_for("the keys in slurmctld", TIMEOUT, known).unwrap();
}

/// Lets a job run for some seconds and requeues it, and lets it start at once.
fn run_again(cluster: &Cluster, job: JobId) {
    let id = job.to_string();
    let wait_state = |wanted: &str| {
        let is_there = |cluster: &Cluster| {
            let state = cluster.command("squeue").args(["-h", "-o", "%T", "-j"]).arg(&id).text()?;
            Ok((state.trim() == wanted).then_some(()))
        };
        // Of jobs that may start later slurmctld looks once a minute who may by now.
        cluster.wait_for(&format!("job {id} to be {wanted}"), 2 * TIMEOUT, is_there).unwrap();
    };
    wait_state("RUNNING");
    sleep(Duration::from_secs(5));
    cluster.scontrol(&["requeue", &id]).unwrap();
    wait_state("PENDING");
    // slurmd revokes all credentials up to the second of the requeue: a job that starts again within it is refused as "Job credential revoked".
    sleep(Duration::from_secs(2));
    // slurmctld makes it wait for some minutes.
    cluster.scontrol(&["update", &format!("JobId={id}"), "StartTime=now"]).unwrap();
    wait_state("RUNNING");
}

fn sacct(cluster: &Cluster) -> Vec<Row> {
    let call = cluster.command("sacct").args([
        "-a",
        "-X",
        "-D",
        "-P",
        "-S",
        "now-1day",
        "-o",
        "jobid,user,end,elapsedraw,state",
    ]);
    parse_rows(&call.text().unwrap())
}

fn raw(cluster: &Cluster, account: &str) -> f64 {
    cluster.share(account, account).unwrap().number("RawUsage").unwrap()
}

/// As sshare prints it, with six decimals.
fn assert_levels(cluster: &Cluster, expected: impl Fn(&(&str, f64, f64, f64)) -> f64) {
    cluster.wait_cycle().unwrap();
    for row in &ACCOUNTS {
        let level = cluster.share(row.0, "").unwrap().number("LevelFS").unwrap();
        let expected = expected(row);
        assert!(
            (level - expected).abs() <= 1e-6 * expected.max(1.0),
            "{}: LevelFS {level}, by hand {expected}",
            row.0
        );
    }
}

/// Some jobs of a minute change little in what has grown over months.
fn assert_levels_near(cluster: &Cluster) {
    for row in ACCOUNTS.iter().filter(|row| row.1 > 1e8) {
        let level = cluster.share(row.0, "").unwrap().number("LevelFS").unwrap();
        assert!((level / row.3 - 1.0).abs() < 1e-3, "{}: LevelFS {level}, by hand {}", row.0, row.3);
    }
}

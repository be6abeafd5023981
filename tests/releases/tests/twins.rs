//! Users who serve themselves, each with an equal user who does not: what docs/who-can-write.md says that is gained, measured in usage.
//!
//! The only thing that differs between twins is what the row is about. All of them run in one cluster, side by side.

use std::thread::sleep;
use std::time::Duration;

use crate::shared::TIMEOUT;
use slurm_releases::cluster;
use slurm_testcluster::{parse_rows, points, policies, Account, Accounts, Cluster, Job, JobId, Release, Row};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(twins);

#[cfg(not(feature = "full"))]
#[test]
fn bookworm() {
    slurm_releases::BOOKWORM.test(twins);
}

mod nodes_that_fail {
    #[cfg(feature = "full")]
    slurm_releases::test_in_each_release!(super::nodes_that_fail);

    #[cfg(not(feature = "full"))]
    #[test]
    fn bookworm() {
        slurm_releases::BOOKWORM.test(super::nodes_that_fail);
    }
}

/// The least that a job is charged, in seconds.
const MINIMUM: f64 = 40.0;

const RULES: &str = "MinimumCharge=00:00:40\nCharge=Requeued Factor=0.1\nCharge=WCKey Name=urgent Factor=0\nOverride=WCKey Name=urgent Tickets=100000\n\
                     Charge=Reservation Name=workshop Factor=0.25\n";

const USERS: [&str; 14] = [
    "cancels",
    "requeues",
    "preempted",
    "preempts",
    "keyed",
    "keyless",
    "reserves",
    "shrinks",
    "nodefail",
    "admin",
    "patient",
    "leaves",
    "keyed2",
    "keyless2",
];

/// A reservation of all users, on a node that nobody asks for.
fn reserve_workshop(cluster: &Cluster) {
    let users = format!("users={}", USERS.join(","));
    let workshop = [
        "create",
        "ReservationName=workshop",
        "StartTime=now",
        "Duration=60",
        &users,
        "Nodes=n11",
        "Flags=OVERLAP",
    ];
    cluster.scontrol(&workshop).unwrap();
}

fn twins(release: &Release) {
    let tree =
        USERS.iter().fold(Accounts::new(), |tree, name| tree.account(Account::new(*name, 1).user(*name, 1)));
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .nodes(11)
        .cpus(8)
        .slurmds(true)
        .set("PreemptType", "preempt/qos")
        .set("PreemptMode", "REQUEUE")
        .set("SchedulerParameters", "defer,bf_interval=5,sched_interval=5")
        .set("PriorityWeightFairshare", "100000")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .file("multifactor2.conf", RULES)
        .start()
        .unwrap();
    points::add_qos(&cluster, "high", &["preempt=normal"]).unwrap();

    let whole = |user: &str, node: &str, seconds| {
        Job::new(user).seconds(seconds).arg(format!("-w{node}")).arg("--exclusive").arg("--requeue")
    };
    reserve_workshop(&cluster);

    // All of them start, each on nodes of its own.
    let cancels = cluster.submit(&whole("cancels", "n1", 300)).unwrap();
    let requeues = cluster.submit(&whole("requeues", "n2", 45)).unwrap();
    let preempted = cluster.submit(&whole("preempted", "n3", 45)).unwrap();
    let preempts = cluster.submit(&whole("preempts", "n4", 45)).unwrap();
    let failed = cluster.submit(&whole("nodefail", "n5", 45)).unwrap();
    let reserves = cluster.submit(&whole("reserves", "n6", 45)).unwrap();
    let two = |user: &str, nodes: &str| Job::new(user).seconds(20).arg(nodes).arg("-N2").arg("--exclusive");
    let shrinks = cluster.submit(&two("shrinks", "-wn[7-8]")).unwrap();
    let patient = cluster.submit(&two("patient", "-wn[9-10]")).unwrap();
    for id in [cancels, requeues, preempted, preempts, failed, reserves, shrinks, patient] {
        wait_state(&cluster, id, "RUNNING");
    }
    sleep(Duration::from_secs(3));

    own(&cluster, "requeues", &["requeue", &requeues.to_string()]);
    own(&cluster, "cancels", &["requeuehold", &cancels.to_string()]);
    own(&cluster, "reserves", &["update", &format!("JobId={reserves}"), "ReservationName=workshop"]);
    own(&cluster, "shrinks", &["update", &format!("JobId={shrinks}"), "NumNodes=1"]);
    wait_state(&cluster, cancels, "PENDING");
    let scancel = cluster.command("scancel").arg(cancels.to_string()).user("cancels").unwrap();
    scancel.text().unwrap();
    // The administrator's job, and one's own.
    cluster.submit(&whole("admin", "n3", 5).arg("--qos=high")).unwrap();
    cluster.submit(&whole("preempts", "n4", 1).arg("--qos=high")).unwrap();
    cluster.scontrol(&["update", "NodeName=n5", "State=DOWN", "Reason=test"]).unwrap();
    for id in [requeues, preempted, preempts, failed] {
        wait_state(&cluster, id, "PENDING");
    }
    // How the last run ended is known after a restart, too.
    cluster.restart_controller().unwrap();
    // It may be back by itself (ReturnToService=2).
    let _ = cluster.scontrol(&["update", "NodeName=n5", "State=RESUME"]);
    for (user, id) in
        [("requeues", requeues), ("preempted", preempted), ("preempts", preempts), ("nodefail", failed)]
    {
        // slurmctld makes it wait for some minutes.
        own(&cluster, user, &["update", &format!("JobId={id}"), "StartTime=now"]);
    }

    cluster.submit(&whole("keyed", "n1", 45).arg("--wckey=urgent")).unwrap();
    cluster.submit(&whole("keyless", "n6", 45)).unwrap();
    cluster.submit(&whole("leaves", "n7", 1)).unwrap();

    let rows = wait_all(&cluster);
    cluster.wait_cycle().unwrap();
    let of = |user: &'static str| rows.iter().filter(move |row| row.text("User") == user);
    let seconds = |row: &Row| row.number("ElapsedRaw").unwrap() * row.number("AllocCPUS").unwrap();
    let minimum =
        |row: &Row| row.number("ElapsedRaw").unwrap().max(MINIMUM) * row.number("AllocCPUS").unwrap();
    let is = |row: &Row, state: &str| row.text("State").starts_with(state);
    let full = |user| {
        of(user)
            .filter(|row| row.number("ElapsedRaw").unwrap() > 0.0 || !is(row, "CANCELLED"))
            .map(minimum)
            .sum::<f64>()
    };

    // Nothing is gained.
    for user in ["leaves", "keyless", "keyed", "requeues", "patient"] {
        assert_charged(&cluster, user, full(user), &rows);
    }
    let first: f64 = of("cancels").filter(|row| is(row, "REQUEUED")).map(minimum).sum();
    assert!(first >= MINIMUM, "{rows:?}");
    assert_charged(&cluster, "cancels", first, &rows);

    // Forgiven: nobody asks for a preemption by others or for a node that fails.
    for (user, state) in [("preempted", "PREEMPTED"), ("nodefail", "NODE_FAIL")] {
        let (cut, again): (Vec<_>, Vec<_>) = of(user).partition(|row| is(row, state));
        assert!(cut.len() == 1 && again.len() == 1 && seconds(cut[0]) < 8.0 * MINIMUM, "{user}: {rows:?}");
        assert_charged(&cluster, user, seconds(cut[0]) + 0.1 * minimum(again[0]), &rows);
    }

    // Gained, as the page says: the run after one's own preemption costs a tenth, and the short job that did it 40 seconds.
    let (cut, rest): (Vec<_>, Vec<_>) = of("preempts").partition(|row| is(row, "PREEMPTED"));
    let (short, again): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|row| row.number("ElapsedRaw").unwrap() < MINIMUM);
    assert!(cut.len() == 1 && short.len() == 1 && again.len() == 1, "{rows:?}");
    assert_charged(
        &cluster,
        "preempts",
        seconds(cut[0]) + minimum(short[0]) + 0.1 * minimum(again[0]),
        &rows,
    );
    // Gained, as the page says: a reservation that is named later, for the seconds since. A job outside of it.
    let inside = usage(&cluster, "reserves");
    let plain = of("reserves").map(seconds).sum::<f64>();
    assert!(inside < 0.5 * plain && inside > 0.24 * plain, "{inside} of {plain}");
    // Gained, as the page says: what is missing to the minimum is billed as the job is when it ends.
    let (shrunk, stayed) = (usage(&cluster, "shrinks"), usage(&cluster, "patient"));
    assert!(shrunk < 0.8 * stayed && shrunk > 0.5 * stayed, "{shrunk} beside {stayed}");

    equal_tickets(&cluster);
    let log = cluster.log();
    assert!(log.contains("Override=WCKey and Grant=WCKey do nothing, because without wckeys"), "{log}");
}

/// Of two equal users one names a key with override tickets, which slurmctld does not look at.
fn equal_tickets(cluster: &Cluster) {
    // A reconfigure makes partitions as slurm.conf says.
    policies::change(cluster, "Override=WCKey Name=urgent Tickets=100000\n").unwrap();
    cluster.scontrol(&["update", "PartitionName=main", "State=DOWN"]).unwrap();
    let submit = |user: &str, key: &[&str]| {
        let job = key.iter().fold(Job::new(user).arg("-n1"), |job, argument| job.arg(*argument));
        cluster.submit(&job).unwrap()
    };
    // Both have used nothing.
    let jobs = [submit("keyed2", &["--wckey=urgent"]), submit("keyless2", &[])];
    cluster.wait_cycle().unwrap();
    let rows = cluster.sprio_rows().unwrap();
    let [keyed, plain] = jobs.map(|job| {
        let row = rows.iter().find(|row| row.text("JOBID") == job.to_string());
        row.unwrap_or_else(|| panic!("no job {job} in {rows:?}")).number("FAIRSHARE").unwrap()
    });
    assert!((keyed - plain).abs() < f64::EPSILON, "{keyed}, without the key {plain}");
}

/// Whoever took the node down, what the job ran is charged, without the minimum, and only the run that follows is cheaper. What the owner asks for
/// meanwhile changes nothing, and a requeue of his own before slurmctld has noticed is charged in full.
fn nodes_that_fail(release: &Release) {
    const PLAYERS: [&str; 5] = ["dies", "flees", "stays", "drains", "again"];
    let tree = PLAYERS
        .iter()
        .fold(Accounts::new(), |tree, name| tree.account(Account::new(*name, 1).user(*name, 1)));
    let cluster = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .nodes(5)
        .cpus(8)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations,limits")
        .set("SchedulerParameters", "defer,bf_interval=5,sched_interval=5")
        .set("PriorityWeightFairshare", "100000")
        // How soon slurmctld notices.
        .set("SlurmdTimeout", "10")
        .file("multifactor2.conf", "MinimumCharge=00:00:40\nCharge=Requeued Factor=0.1\n")
        .start()
        .unwrap();
    let submit = |user: &str, node: &str, seconds, requeue: &str| {
        let job = Job::new(user).seconds(seconds).arg(format!("-w{node}")).arg("--exclusive").arg(requeue);
        cluster.submit(&job).unwrap()
    };
    let dies = submit("dies", "n1", 600, "--requeue");
    let flees = submit("flees", "n2", 600, "--requeue");
    let stays = submit("stays", "n3", 600, "--no-requeue");
    let drains = submit("drains", "n4", 12, "--requeue");
    let again = submit("again", "n5", 45, "--requeue");
    for id in [dies, flees, stays, drains, again] {
        wait_state(&cluster, id, "RUNNING");
    }
    sleep(Duration::from_secs(3));

    cluster.kill_node(1).unwrap();
    cluster.kill_node(2).unwrap();
    own(&cluster, "flees", &["requeue", &flees.to_string()]);
    cluster.scontrol(&["update", "NodeName=n[3,5]", "State=DOWN", "Reason=test"]).unwrap();
    cluster.scontrol(&["update", "NodeName=n4", "State=DRAIN", "Reason=test"]).unwrap();
    wait_state(&cluster, again, "PENDING");
    // He may ask for as much as he likes now; some of it slurmctld refuses.
    for arguments in [["requeue"], ["requeuehold"], ["hold"], ["release"]] {
        let id = again.to_string();
        let call = cluster.command("scontrol").args(arguments).arg(&id).user("again").unwrap();
        call.output().unwrap();
    }
    let _ = cluster.scontrol(&["update", "NodeName=n5", "State=RESUME"]);
    own(&cluster, "again", &["update", &format!("JobId={again}"), "StartTime=now"]);
    for (user, id) in [("dies", dies), ("flees", flees)] {
        wait_state(&cluster, id, "PENDING");
        cluster.command("scancel").arg(id).user(user).unwrap().text().unwrap();
    }

    let rows = wait_all(&cluster);
    cluster.wait_cycle().unwrap();
    let seconds = |row: &Row| row.number("ElapsedRaw").unwrap();
    let runs = |user: &str| -> Vec<(String, f64)> {
        let rows = rows.iter().filter(|row| row.text("User") == user && seconds(row) > 0.0);
        rows.map(|row| (row.text("State").to_owned(), seconds(row))).collect()
    };
    let only = |user: &str, state: &str| {
        let runs = runs(user);
        assert!(runs.len() == 1 && runs[0].0.starts_with(state) && runs[0].1 < MINIMUM, "{user}: {rows:?}");
        runs[0].1
    };
    assert_charged(&cluster, "dies", 8.0 * only("dies", "NODE_FAIL"), &rows);
    assert_charged(&cluster, "stays", 8.0 * only("stays", "NODE_FAIL"), &rows);
    only("drains", "COMPLETED");
    assert_charged(&cluster, "drains", 8.0 * MINIMUM, &rows);
    // 20.11 and 22.05 write the cancellation into the record of the run that was requeued on a dead node.
    let was_requeued = runs("flees");
    let fits = |run: &(String, f64)| run.1 < MINIMUM && !run.0.starts_with("NODE_FAIL");
    assert!(was_requeued.len() == 1 && was_requeued.iter().all(fits), "{rows:?}");
    assert_charged(&cluster, "flees", 8.0 * MINIMUM, &rows);
    // On a busy machine the node may be lost a second time.
    let again = runs("again");
    let is_cut = |run: &(String, f64)| run.0 == "NODE_FAIL";
    assert!(
        again.len() > 1 && again.iter().position(|run| !is_cut(run)) == Some(again.len() - 1),
        "{rows:?}"
    );
    let charged = again.iter().enumerate().map(|(at, run)| {
        let seconds = if is_cut(run) { run.1 } else { run.1.max(MINIMUM) };
        if at == 0 {
            seconds
        } else {
            0.1 * seconds
        }
    });
    assert_charged(&cluster, "again", 8.0 * charged.sum::<f64>(), &rows);
}

/// As a user does it.
fn own(cluster: &Cluster, user: &str, arguments: &[&str]) {
    cluster.command("scontrol").args(arguments).user(user).unwrap().text().unwrap();
}

fn wait_state(cluster: &Cluster, job: JobId, wanted: &str) {
    let id = job.to_string();
    let is_there = |cluster: &Cluster| {
        let state = cluster.command("squeue").args(["-h", "-o", "%T", "-j"]).arg(&id).text()?;
        Ok((state.trim() == wanted).then_some(()))
    };
    cluster.wait_for(&format!("job {job} to be {wanted}"), 2 * TIMEOUT, is_there).unwrap_or_else(|problem| {
        let queue = cluster.command("squeue").args(["-a"]).text();
        panic!("{problem}:\n{queue:?}\n{}", cluster.log())
    });
}

/// The records of all runs, once nothing runs or waits any more.
fn wait_all(cluster: &Cluster) -> Vec<Row> {
    let over = |cluster: &Cluster| {
        let left = cluster.command("squeue").args(["-h", "-a", "-o", "%T"]).text()?;
        let rows = sacct(cluster);
        let is_over = left.trim().is_empty() && rows.iter().all(|row| row.text("End") != "Unknown");
        Ok(is_over.then_some(rows))
    };
    cluster.wait_for("all jobs to end", 5 * TIMEOUT, over).unwrap_or_else(|problem| {
        let queue = cluster.command("squeue").args(["-a"]).text();
        panic!("{problem}:\n{queue:?}\n{:?}\n{}", sacct(cluster), cluster.log())
    })
}

fn sacct(cluster: &Cluster) -> Vec<Row> {
    let fields = "jobid,user,end,elapsedraw,alloccpus,state";
    let call = cluster.command("sacct").args(["-a", "-X", "-D", "-P", "-S", "now-1day", "-o", fields]);
    parse_rows(&call.text().unwrap())
}

fn usage(cluster: &Cluster, user: &str) -> f64 {
    cluster.share(user, user).unwrap().number("RawUsage").unwrap()
}

fn assert_charged(cluster: &Cluster, user: &str, expected: f64, rows: &[Row]) {
    let found = usage(cluster, user);
    // sshare prints whole numbers.
    assert!((found - expected).abs() <= 1.0, "{user}: {found}, not {expected}: {rows:?}");
}

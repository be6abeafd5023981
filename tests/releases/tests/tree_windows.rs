//! `TreeUsage=window` with real jobs: over several windows of 20 s, a restart, a kill and another depth each window has the seconds that slurmdbd's records have in
//! it, and `sshare` shows what follows. In the oldest and the newest release by `make test`, in all by `make test-releases`.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use multifactor2_accounting::sums_file::parse;
use slurm_testcluster::policies::FILE;
use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId, Release};

#[cfg(feature = "full")]
mod in_all {
    slurm_releases::test_in_each_release!(super::each_window_has_what_ran_in_it);
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(each_window_has_what_ran_in_it);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(each_window_has_what_ran_in_it);
}

const WAIT: Duration = Duration::from_secs(120);
const LENGTH: i64 = 20;
const DECAY: f64 = 0.5;

fn settings(depth: usize) -> String {
    format!("TreeUsage=window\nTreeWindow=00:00:{LENGTH}\nTreeDepth={depth}\nTreeDecay={DECAY}\n")
}

/// By user, what is in each window, the current one first; of all users under an empty name.
type Windows = BTreeMap<String, Vec<f64>>;

/// Up to when the plugin has counted, and what.
fn counted(cluster: &Cluster) -> Option<(i64, Windows)> {
    let text = fs::read_to_string(cluster.directory().join("state/multifactor2_tree")).ok()?;
    let (sums, ended) = parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
    let amounts = sums.window_amounts(usize::MAX)?;
    assert_eq!((amounts.begin, amounts.length), (sums.since() - sums.since() % LENGTH, LENGTH));
    let ids = cluster.command("sacctmgr").args("-n -P show assoc format=ID,User".split(' ')).text().unwrap();
    let of_users = ids.lines().filter_map(|line| line.split_once('|')).filter(|(_, user)| !user.is_empty());
    let mut all: Windows = of_users
        .filter_map(|(id, user)| {
            Some((user.to_owned(), amounts.associations.get(&id.parse().ok()?)?.clone()))
        })
        .collect();
    all.insert(String::new(), amounts.of_tree);
    // What has ended since is not in the windows yet.
    ended.is_empty().then_some((sums.since(), all))
}

/// The same by the records of jobs.
fn recorded(cluster: &Cluster, until: i64, depth: usize) -> Windows {
    let columns = "User,Start,End,AllocCPUS";
    let arguments = ["-a", "-D", "-X", "-n", "-P", "-S", "now-1hours", "-o", columns];
    let text = cluster.command("sacct").env("SLURM_TIME_FORMAT", "%s").args(arguments).text().unwrap();
    let mut all = Windows::new();
    let newest = until.div_euclid(LENGTH);
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').collect();
        let (Ok(start), Ok(cpus)) = (cells[1].parse::<i64>(), cells[3].parse::<i64>()) else { continue };
        for second in start..cells[2].parse::<i64>().unwrap_or(until).min(until) {
            let age = usize::try_from(newest - second.div_euclid(LENGTH)).unwrap();
            for name in [cells[0], ""] {
                let windows = all.entry(name.to_owned()).or_insert_with(|| vec![0.0; depth]);
                if let Some(sum) = windows.get_mut(age) {
                    #[allow(clippy::cast_precision_loss)] // small
                    let cpus = cpus as f64;
                    *sum += cpus;
                }
            }
        }
    }
    all
}

fn sum(windows: &[f64]) -> f64 {
    windows.iter().rev().fold(0.0, |older, amount| amount + DECAY * older)
}

/// Waits until both say the same, and `sshare` what follows; what all used by then.
fn wait_same(cluster: &Cluster, depth: usize, what: &str) -> Vec<f64> {
    let mut differs = String::new();
    let same = cluster.wait_for(what, WAIT, |cluster| {
        let Some((until, found)) = counted(cluster) else { return Ok(None) };
        let due = recorded(cluster, until, depth);
        let norms: Vec<(String, f64)> = ["ada", "eve"]
            .map(|user| {
                (user.to_owned(), cluster.share("physics", user).unwrap().number("NormUsage").unwrap())
            })
            .into();
        // The cycle of which sshare shows the numbers.
        let is_now = counted(cluster).is_some_and(|(now, _)| now == until);
        let padded = |windows: Option<&Vec<f64>>| {
            let mut windows = windows.cloned().unwrap_or_default();
            windows.resize(depth, 0.0);
            windows
        };
        let all = sum(&padded(due.get("")));
        let is_due = |(user, norm): &(String, f64)| {
            let due = sum(&padded(due.get(user))) / all;
            (norm - due).abs() < 1.1e-6
        };
        let same = ["ada", "eve", ""].iter().all(|user| padded(found.get(*user)) == padded(due.get(*user)));
        differs = format!("{found:?}, by the records {due:?}, shown {norms:?}");
        Ok((is_now && same && norms.iter().all(is_due)).then(|| padded(due.get(""))))
    });
    same.unwrap_or_else(|problem| panic!("{what}: {problem}: {differs}\n{}", cluster.log()))
}

fn submit(cluster: &Cluster, user: &str, cpus: u32) -> JobId {
    cluster.submit(&Job::new(user).seconds(3600).arg("--time=120").arg(format!("--ntasks={cpus}"))).unwrap()
}

fn cancel(cluster: &Cluster, job: JobId) {
    cluster.command("scancel").arg(job.to_string()).text().unwrap();
}

fn each_window_has_what_ran_in_it(release: &Release) {
    let accounts = Accounts::new().account(Account::new("physics", 1).user("ada", 1).user("eve", 1));
    let mut cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .nodes(2)
        .cpus(4)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "bf_interval=2,sched_interval=2,batch_sched_delay=1")
        .set("PriorityDecayHalfLife", "00:01:00")
        .file(FILE, &settings(3))
        .start()
        .unwrap();
    let of_ada = submit(&cluster, "ada", 3);
    let short = submit(&cluster, "eve", 2);
    wait_same(&cluster, 3, "the first window");
    std::thread::sleep(Duration::from_secs(25));
    cancel(&cluster, short);
    let windows = wait_same(&cluster, 3, "two windows");
    assert!(windows[1] > 0.0, "{windows:?}");
    // A restart, after which slurmctld has usage to go on from.
    cluster.stop_controller().unwrap();
    cluster.start_controller().unwrap();
    let other = submit(&cluster, "eve", 1);
    wait_same(&cluster, 3, "after a restart");
    std::thread::sleep(Duration::from_secs(20));
    let windows = wait_same(&cluster, 3, "three windows");
    assert!(windows[1] > 0.0 && windows[2] > 0.0, "{windows:?}");
    cluster.kill_controller().unwrap();
    cluster.start_controller().unwrap();
    wait_same(&cluster, 3, "after a kill");
    // RawUsage has decayed meanwhile, and is not what shares go by.
    let raw = cluster.share("physics", "").unwrap().number("RawUsage").unwrap();
    assert!((raw - sum(&wait_same(&cluster, 3, "beside RawUsage"))).abs() > 1.0, "{raw}");
    // Another depth: the oldest window is gone.
    fs::write(cluster.directory().join(FILE), settings(2)).unwrap();
    cluster.command("scontrol").arg("reconfigure").text().unwrap();
    let fewer = |cluster: &Cluster| {
        Ok(counted(cluster).filter(|(_, all)| all.values().all(|windows| windows.len() <= 2)))
    };
    cluster.wait_for("two windows alone", WAIT, fewer).unwrap();
    wait_same(&cluster, 2, "with two windows");
    cancel(&cluster, of_ada);
    cancel(&cluster, other);
    wait_same(&cluster, 2, "when nobody runs");
    let log = cluster.log();
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
}

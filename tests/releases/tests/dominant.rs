//! `UsageMeasure=dominant` with real jobs on real slurmds: what sshare shows is what slurmdbd's records of their TRES give. In the oldest and
//! the newest release by `make test`, in all by `make test-releases`.

use crate::shared;
use std::collections::BTreeMap;

use slurm_releases::cluster;
use slurm_testcluster::targets::{wait_records, WAIT};
use slurm_testcluster::{parse_rows, policies, Account, Accounts, Cluster, Job, Release};

#[cfg(feature = "full")]
mod in_all {
    slurm_releases::test_in_each_release!(super::shares_are_those_of_the_tres_that_was_used_most);
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(shares_are_those_of_the_tres_that_was_used_most);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(shares_are_those_of_the_tres_that_was_used_most);
}

const CPUS: f64 = 8.0;
const MEMORY: f64 = 2.0 * 4000.0;

/// Memory in MB of all nodes counts twice.
const SETTINGS: &str = "UsageMeasure=dominant\nDominantTRES=cpu,mem=2\n";

/// The accounts that the jobs of each count for.
const ABOVE: [(&str, &[&str]); 2] = [("physics", &["physics", "science"]), ("history", &["history"])];

/// Parts of CPUs and memory that were used, in seconds, of the root and everybody below it.
type Used = BTreeMap<(String, String), [f64; 2]>;

fn megabytes(text: &str) -> f64 {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text.trim_end_matches(unit).parse().unwrap();
    match unit {
        "M" => number,
        "G" => number * 1024.0,
        other => panic!("memory in '{other}'"),
    }
}

fn used(cluster: &Cluster) -> Used {
    let columns = "account,user,elapsedraw,alloctres";
    let text = cluster
        .command("sacct")
        .args(["-a", "-D", "-X", "-P", "-S", "now-1day", "-o", columns])
        .text()
        .unwrap();
    let mut used = Used::new();
    for row in parse_rows(&text) {
        let tres: BTreeMap<&str, &str> =
            row.text("AllocTRES").split(',').filter_map(|entry| entry.split_once('=')).collect();
        let Some(cpus) = tres.get("cpu") else { continue };
        let seconds = row.number("ElapsedRaw").unwrap();
        let parts = [cpus.parse::<f64>().unwrap() / CPUS, 2.0 * megabytes(tres["mem"]) / MEMORY];
        let account = row.text("Account");
        let above = ABOVE.iter().find(|(name, _)| *name == account).unwrap().1;
        let mut owners =
            vec![("root".to_owned(), String::new()), (account.to_owned(), row.text("User").to_owned())];
        owners.extend(above.iter().map(|account| ((*account).to_owned(), String::new())));
        for owner in owners {
            let sum = used.entry(owner).or_default();
            sum.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part * seconds);
        }
    }
    used
}

/// U of each, where nothing decays: the largest part over the root's largest.
fn dominant(used: &Used) -> BTreeMap<(String, String), f64> {
    let largest = |parts: &[f64; 2]| parts[0].max(parts[1]);
    let root = largest(&used[&("root".to_owned(), String::new())]);
    used.iter().map(|(owner, parts)| (owner.clone(), largest(parts) / root)).collect()
}

fn wait_shown(cluster: &Cluster, due: &BTreeMap<(String, String), f64>) {
    let mut differs = Vec::new();
    let same = cluster.wait_for("the dominant shares", WAIT, |cluster| {
        let rows = cluster.sshare_rows()?;
        let shown = |(account, user): &(String, String)| {
            let is_it = |row: &&slurm_testcluster::Row| {
                row.text("Account").trim() == account && row.text("User") == user
            };
            rows.iter().find(is_it).and_then(|row| row.number("NormUsage").ok())
        };
        differs = due
            .iter()
            .map(|(owner, due)| (owner, shown(owner), *due))
            .filter(|(_, shown, due)| shown.is_none_or(|shown| (shown - due).abs() > 1.1e-6))
            .map(|what| format!("{what:?}"))
            .collect();
        Ok(differs.is_empty().then_some(()))
    });
    same.unwrap_or_else(|problem| panic!("{problem}: {differs:#?}\n{}", cluster.log()));
}

fn shares_are_those_of_the_tres_that_was_used_most(release: &Release) {
    let physics = Account::new("physics", 1).user("ada", 1).user("emmy", 1);
    let tree = Accounts::new()
        .account(Account::new("science", 1).account(physics))
        .account(Account::new("history", 1).user("leopold", 1));
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .nodes(2)
        .cpus(4)
        .memory(4000)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU_Memory")
        .set("SlurmdTimeout", "6")
        .file(policies::FILE, SETTINGS)
        .start()
        .unwrap();
    let job = |user: &str, cpus: u32, memory: u32, seconds: u32| {
        Job::new(user).seconds(seconds).arg(format!("-n{cpus}")).arg("-N1").arg(format!("--mem={memory}"))
    };
    // Ada needs CPUs, emmy needs memory: their account has both, and is not charged twice.
    let jobs =
        [job("ada", 4, 40, 8), job("emmy", 1, 2000, 8), job("leopold", 2, 1200, 5), job("ada", 1, 20, 3)];
    let jobs = jobs.map(|job| cluster.submit(&job).unwrap());
    wait_records(&cluster, &jobs).unwrap();
    let first = used(&cluster);
    let due = dominant(&first);
    let [ada, emmy, both] = [("physics", "ada"), ("physics", "emmy"), ("physics", "")]
        .map(|(account, user)| due[&(account.to_owned(), user.to_owned())]);
    assert!(both < 0.95 * (ada + emmy), "the largest is taken after the sum: {due:?}");
    wait_shown(&cluster, &due);

    // slurmctld does not start again that was killed before it has saved usage once.
    cluster.restart_controller().unwrap();
    cluster.kill_controller().unwrap();
    cluster.start_controller().unwrap();
    let again = [job("emmy", 2, 3000, 4), job("leopold", 4, 400, 3)].map(|job| cluster.submit(&job).unwrap());
    wait_records(&cluster, &again).unwrap();
    let all = used(&cluster);
    assert_ne!(all, first);
    wait_shown(&cluster, &dominant(&all));

    // Another weight holds at once, another unit changes nothing.
    policies::change(&cluster, "UsageMeasure=dominant\nDominantTRES=cpu=0.5,mem\n").unwrap();
    wait_shown(&cluster, &dominant(&all));
    policies::change(&cluster, "").unwrap();
    let billed = |cluster: &Cluster| {
        let share = cluster.share("physics", "ada")?;
        let (root, ada) = (cluster.share("root", "")?.number("RawUsage")?, share.number("RawUsage")?);
        Ok(((share.number("NormUsage")? - ada / root).abs() < 0.01 && root > 0.0).then_some(()))
    };
    cluster.wait_for("billing", WAIT, billed).unwrap();
    shared::check_log(&cluster);
}

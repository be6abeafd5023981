//! The snapshot of a real slurmctld has the numbers that its sprio and sshare show, rounded as they round: in the oldest and the newest release
//! by `make test`, in all by `make test-releases`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use multifactor2_snapshot::format::read;
use multifactor2_snapshot::Snapshot;
use slurm_releases::cluster;
use slurm_testcluster::{points, Account, Accounts, Cluster, Job, Release, Row};

use crate::command::sacctmgr;

#[cfg(feature = "full")]
mod in_all {
    mod numbers {
        slurm_releases::test_in_each_release!(super::super::the_numbers_are_those_of_the_commands);
    }
    mod readers {
        slurm_releases::test_in_each_release!(super::super::each_file_is_open_to_its_readers_alone);
    }
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(the_numbers_are_those_of_the_commands);
    slurm_releases::BULLSEYE.test(each_file_is_open_to_its_readers_alone);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(the_numbers_are_those_of_the_commands);
    slurm_releases::FORKY.test(each_file_is_open_to_its_readers_alone);
}

fn number(row: &Row, column: &str) -> f64 {
    row.number(column).unwrap()
}

/// Whether a command shows a number so, with so many digits.
#[track_caller]
fn assert_shown(exact: f64, shown: f64, unit: f64, what: &str) {
    assert!((exact - shown).abs() <= unit / 2.0 + 1e-9 * exact.abs(), "{what}: {exact} is shown as {shown}");
}

/// A snapshot of which the commands tell the same: none is taken while they are asked.
fn same(cluster: &Cluster, path: &Path) -> (Snapshot, Vec<Row>, Vec<Row>) {
    let wait = Duration::from_secs(90);
    let asked = |cluster: &Cluster| {
        let Ok(before) = fs::read(path) else { return Ok(None) };
        let (sprio, sshare) = (cluster.sprio_rows()?, cluster.sshare_rows()?);
        let is_same = fs::read(path)? == before;
        let snapshot = read(before.as_slice()).expect("never half a file");
        Ok((is_same && snapshot.jobs.len() >= 6).then_some((snapshot, sprio, sshare)))
    };
    cluster.wait_for("a snapshot that stays while it is compared", wait, asked).unwrap()
}

fn the_numbers_are_those_of_the_commands(release: &Release) {
    let builder = points::cluster(cluster(release.clone()).unwrap())
        .set("PriorityWeightFairshare", "100000")
        .set("PriorityWeightAge", "5000")
        .set("PriorityWeightJobSize", "700")
        .set("PriorityWeightPartition", "300")
        .set("PriorityWeightTRES", "CPU=2000,Mem=100")
        .usage(&[("physics", "john", 4_000_000.0), ("chemistry", "ann", 900_000.0)]);
    let cluster = builder.start().unwrap();
    let home = cluster.directory().join("snapshots");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    let path = home.join("snapshot");
    let jobs: Vec<_> = [("john", 1), ("john", 3), ("paul", 2), ("ann", 4), ("ann", 1), ("paul", 1)]
        .map(|(user, cpus)| {
            let job = Job::new(user).partition("other").arg(format!("-n{cpus}")).arg("--mem=100".to_owned());
            cluster.submit(&job.arg(format!("--nice={}", 10 * cpus))).unwrap()
        })
        .into();
    points::change(
        &cluster,
        &format!("{}Snapshot={}\nSnapshotPeriod=1\n", points::CREDENTIALS, path.display()),
    )
    .unwrap();
    cluster.wait_cycle().unwrap();
    let (snapshot, sprio, sshare) = same(&cluster, &path);
    assert_eq!(snapshot.about.release.split('.').count(), 3, "{:?}", snapshot.about);
    assert_eq!(snapshot.parameter("PriorityWeightAge"), Some("5000"));
    for id in &jobs {
        let row = sprio.iter().find(|row| row.text("JOBID") == id.to_string()).expect("sprio shows it");
        let job = snapshot
            .jobs
            .iter()
            .find(|job| job.id.to_string() == id.to_string())
            .expect("the snapshot has it");
        let what = format!("{row:?} {job:?}");
        for (exact, column) in [
            (job.age, "AGE"),
            (job.fair_share, "FAIRSHARE"),
            (job.job_size, "JOBSIZE"),
            (job.partition_addend, "PARTPRIO"),
            (job.qos_addend, "QOS"),
        ] {
            assert_shown(exact, number(row, column), 1.0, &format!("{column}: {what}"));
        }
        #[allow(clippy::cast_precision_loss)]
        let site = job.site as f64 + job.points.last().copied().unwrap_or_default();
        assert_shown(site, number(row, "SITE"), 1.0, &what);
        assert!(!job.reason.is_empty() && job.submit > 0, "{what}");
        assert!((f64::from(job.priority) - number(row, "PRIORITY")).abs() < 1.5, "{what}");
    }
    for row in &sshare {
        let (account, user) = (row.text("Account"), row.text("User"));
        let found = snapshot.associations.iter().find(|of| of.account == account && of.user == user);
        let association = found.unwrap_or_else(|| panic!("{row:?}"));
        assert_shown(association.usage, number(row, "RawUsage"), 2.0, &format!("{row:?}"));
        for (exact, column) in [
            (association.shares_norm, "NormShares"),
            (association.usage_norm, "NormUsage"),
            (association.usage_effective, "EffectvUsage"),
        ] {
            // The root has no parent to share with.
            if let Some(shown) = row.number(column).ok().filter(|_| association.parent != 0) {
                assert_shown(exact, shown, 1e-6, &format!("{column}: {row:?} {association:?}"));
            }
        }
        if let (Some(factor), false) = (association.factor, user.is_empty()) {
            assert_shown(factor, number(row, "FairShare"), 1e-6, &format!("{row:?} {association:?}"));
        }
    }
    // Problems begin with the setting; lines about settings name it with its value.
    assert_eq!(cluster.log().matches("multifactor2: Snapshot").count(), 0, "{}", cluster.log());
}

/// Every word of `PrivateData` that Slurm knows of, and all of them.
const PRIVATE: [&str; 10] = [
    "none",
    "accounts",
    "events",
    "jobs",
    "nodes",
    "partitions",
    "reservations",
    "usage",
    "users",
    "accounts,events,jobs,nodes,partitions,reservations,usage,users",
];

/// Names of users and accounts that stand nowhere else.
const NAMES: [&str; 5] = ["zoe-chem", "yann-operator", "xaver-coord", "account-w", "account-v"];

/// Whether a person can open a file, and what is in it.
fn opened(cluster: &Cluster, user: &str, file: &Path) -> Option<String> {
    let (uid, gid) = if user == "root" { (0, 0) } else { cluster.ids(user).unwrap() };
    let person = [format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()];
    let output = Command::new("setpriv").args(person).arg("cat").arg(file).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn each_file_is_open_to_its_readers_alone(release: &Release) {
    let [plain, operator, coordinator, one, other] = NAMES;
    let accounts = Accounts::new()
        .account(Account::new(one, 3).user(plain, 1).user(coordinator, 1))
        .account(Account::new(other, 1).user(operator, 1));
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .set("PriorityWeightFairshare", "1000")
        .file("multifactor2.conf", "")
        .start()
        .unwrap();
    sacctmgr(&cluster, &format!("modify user {operator} set adminlevel=operator"));
    sacctmgr(&cluster, &format!("add coordinator account={one} names={coordinator}"));
    cluster.submit(&Job::new(plain).account(one)).unwrap();
    let home = cluster.directory().join("files");
    fs::create_dir(&home).unwrap();
    for directory in [cluster.directory(), &home] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (snapshot, public) = (home.join("snapshot"), home.join("public"));
    let lines = format!(
        "Snapshot={}\nSnapshotPublic={}\nSnapshotPeriod=1\nDistribution=standing\nOverride=User Name={plain} Tickets=5\n\
         Override=Account Name={one},{other} Tickets=5\nOverride=QOS Name=normal Tickets=5\n",
        snapshot.display(),
        public.display()
    );
    fs::write(cluster.directory().join("multifactor2.conf"), lines).unwrap();
    for private in PRIVATE {
        match private {
            "none" => cluster.unset("PrivateData").unwrap(),
            private => cluster.set("PrivateData", private).unwrap(),
        }
        cluster.reconfigure().unwrap();
        let wait = Duration::from_secs(90);
        cluster.wait_for("slurmctld", wait, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
        // One that was taken under the old words goes first.
        for file in [&snapshot, &public] {
            let _ = fs::remove_file(file);
        }
        let are_there = |_: &Cluster| Ok((snapshot.is_file() && public.is_file()).then_some(()));
        cluster.wait_for("both files", wait, are_there).unwrap();
        for who in ["root", operator, coordinator, plain] {
            let what = format!("Slurm {}, PrivateData={private}, {who}", release.version);
            let of_owner = opened(&cluster, who, &snapshot);
            assert_eq!(of_owner.is_some(), who == "root", "{what}");
            // It would show the names if it could.
            assert!(of_owner.is_none_or(|text| NAMES.iter().all(|name| text.contains(name))), "{what}");
            let text = opened(&cluster, who, &public).unwrap_or_else(|| panic!("{what}"));
            assert!(NAMES.iter().all(|name| !text.contains(name)), "{what}: {text}");
            let found = read(text.as_bytes()).unwrap();
            assert_eq!((found.about.source.as_str(), found.about.withheld), ("public", 2), "{what}");
            assert_eq!((found.jobs.len(), found.associations.len()), (0, 0), "{what}");
            assert_eq!(found.partitions.is_empty(), private.contains("partitions"), "{what}");
            let has_size = !(private.contains("partitions") && private.contains("nodes"));
            assert_eq!(found.about.cpus > 0 && found.about.nodes > 0, has_size, "{what}");
            let lines: Vec<&str> =
                found.settings.iter().flatten().map(|setting| setting.line.as_str()).collect();
            assert!(lines.contains(&"Distribution=standing"), "{what}: {lines:?}");
            assert!(lines.iter().any(|line| line.starts_with("Override=QOS")), "{what}: {lines:?}");
        }
    }
}

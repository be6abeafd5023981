//! The snapshot of a real slurmctld has the numbers that its sprio and sshare show, rounded as they round: in the oldest and the newest release
//! by `make test`, in all by `make test-releases`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use multifactor2_snapshot::format::read;
use multifactor2_snapshot::Snapshot;
use slurm_releases::cluster;
use slurm_testcluster::{points, Cluster, Job, Release, Row};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(the_numbers_are_those_of_the_commands);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(the_numbers_are_those_of_the_commands);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(the_numbers_are_those_of_the_commands);
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
fn same(cluster: &Cluster, path: &std::path::Path) -> (Snapshot, Vec<Row>, Vec<Row>) {
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

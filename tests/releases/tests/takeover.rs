//! A backup controller takes over, gives back when the primary returns, and takes over again, in every release:
//! init after fini in one process.

mod shared;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use shared::{check_example, example, submit_example};
use slurm_releases::{cluster, Suite, BOOKWORM, BULLSEYE, FORKY, TRIXIE};
use slurm_testcluster::{Cluster, Release};

const TIMEOUT: Duration = Duration::from_secs(120);

// A slurmctld from 23.11 on takes half a minute to give back: one test for each release, side by side.

#[test]
fn bullseye() {
    in_suite(BULLSEYE);
}

#[test]
fn bookworm() {
    in_suite(BOOKWORM);
}

#[test]
fn trixie() {
    in_suite(TRIXIE);
}

#[test]
fn forky() {
    in_suite(FORKY);
}

#[test]
fn installed_in_prefixes() {
    for release in slurm_releases::in_prefixes().unwrap() {
        a_backup_takes_over_gives_back_and_takes_over_again(&release);
    }
}

fn in_suite(suite: Suite) {
    if let Some(release) = suite.release().unwrap() {
        a_backup_takes_over_gives_back_and_takes_over_again(&release);
    }
}

fn a_backup_takes_over_gives_back_and_takes_over_again(release: &Release) {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap();
    let builder = example(cluster(release.clone()).unwrap())
        // A slurmctld listens at the address that its host's name has.
        .hosts(&format!("127.0.0.1 localhost {host}\n127.0.0.2 backup\n"))
        .set("SlurmctldHost", &format!("{host}(127.0.0.1)"))
        .line("SlurmctldHost=backup(127.0.0.2)")
        .set("CommunicationParameters", "NoCtldInAddrAny")
        .set("SlurmctldTimeout", "2");
    let mut cluster = builder.start().unwrap();
    submit_example(&cluster);
    lives_on(&cluster);
    let _backup = Backup::start(&cluster);
    Backup::said(&cluster, "slurmctld running in background mode", 1);
    for turn in 1..=2 {
        // Older releases report a failure although the backup takes over.
        let _ = cluster.scontrol(&["takeover"]);
        Backup::said(&cluster, "Running as primary controller", turn);
        cluster
            .wait_for("the primary to end", TIMEOUT, |cluster| Ok(cluster.controller_ended()?.map(drop)))
            .unwrap();
        lives_on(&cluster);
        // Giving back a second time may hang in Slurm 22.05, before it comes to us: see docs/operations.md.
        if turn == 1 {
            cluster.start_controller().unwrap();
            Backup::said(&cluster, "slurmctld running in background mode", 2);
            lives_on(&cluster);
        }
    }
    shared::check_log(&cluster);
    let log = backup_log(&cluster);
    assert_eq!(log.matches(" in Slurm ").count(), 2, "{log}");
    assert!(!log.contains("error: priority/multifactor2") && !log.contains("panicked"), "{log}");
}

/// Whoever is in charge computes cycles and shows the documented numbers.
fn lives_on(cluster: &Cluster) {
    cluster.wait_cycle().unwrap();
    check_example(cluster);
}

/// A slurmctld on a machine of another name; ends with the test.
struct Backup(Child);

impl Backup {
    /// slurmctld knows itself by the name of its host, which is another one in a namespace of its own.
    fn start(cluster: &Cluster) -> Self {
        let place = |name: &str| cluster.directory().join(name);
        // A slurmctld ends the one that it finds in its pid file.
        let conf = fs::read_to_string(place("slurm.conf")).unwrap();
        fs::write(place("backup.conf"), conf.replace("slurmctld.pid", "backup.pid")).unwrap();
        let slurmctld = cluster.release().command("slurmctld");
        let log = fs::File::create(place("log/backup")).unwrap();
        // It must not outlive the test, however that ends.
        let mut command = Command::new("setpriv");
        command.args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--uts",
            "sh",
            "-c",
            "hostname backup && exec \"$@\"",
            "sh",
        ]);
        command.arg(slurmctld.get_program()).args(slurmctld.get_args()).arg("-D");
        command.envs(cluster.environment()).env("SLURM_CONF", place("backup.conf"));
        let offset = cluster.release().calc_period_offset().unwrap().to_string();
        command.env("TESTCLUSTER_CYCLE_SECONDS", "1").env("TESTCLUSTER_CYCLE_OFFSET", offset);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.spawn().unwrap())
    }

    /// Waits until its log has this so many times.
    fn said(cluster: &Cluster, what: &str, times: usize) {
        let found = |_: &Cluster| Ok((backup_log(cluster).matches(what).count() >= times).then_some(()));
        let waited = cluster.wait_for(what, TIMEOUT, found);
        assert!(
            waited.is_ok(),
            "'{what}' is not {times} times in the backup's log:\n{}",
            backup_log(cluster)
        );
    }
}

fn backup_log(cluster: &Cluster) -> String {
    fs::read_to_string(cluster.directory().join("log/backup")).unwrap()
}

impl Drop for Backup {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

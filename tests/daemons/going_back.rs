//! "To an older version" of docs/migration.md. An older version is one that does not know a line: this one, and a line that nobody
//! knows yet.

use std::fmt::Write as _;
use std::fs;

use slurm_testcluster::{Cluster, Job};

use crate::example;
use crate::support::sprio_of;

/// What it finds in place of what it knows, and what it has kept, both as a newer version leaves them.
fn leave_as_a_newer_version(cluster: &Cluster, lines: &str) {
    let file = cluster.directory().join("multifactor2.conf");
    fs::write(&file, lines).unwrap();
    let mut kept = "# multifactor2_settings 1: the last good settings\n".to_owned();
    for (line, at) in lines.lines().zip(1..) {
        writeln!(kept, "{line} # {} line {at}", file.display()).unwrap();
    }
    kept.push_str("# end\n");
    fs::write(cluster.directory().join("state/multifactor2_settings"), kept).unwrap();
}

fn fair_shares(cluster: &Cluster, jobs: [u32; 2]) -> [String; 2] {
    cluster.wait_cycle().unwrap();
    jobs.map(|job| sprio_of(cluster, job).text("FAIRSHARE").to_owned())
}

/// A held job of user 3, whose F is 100, takes part under `ActiveJobs=pending` only.
#[test]
fn lines_of_a_newer_version_are_named_and_without_them_the_older_one_goes_on() {
    let (mut cluster, jobs) = example::start(None);
    cluster.submit(&Job::new("user3").arg("--hold")).unwrap();
    cluster.wait_cycle().unwrap();
    let usage = |cluster: &Cluster| cluster.share("f", "user5").unwrap().text("RawUsage").to_owned();
    let before = usage(&cluster);
    cluster.stop_controller().unwrap();

    leave_as_a_newer_version(&cluster, "ActiveJobs=pending\nNewerSetting=1\n");
    let refusal = format!("{:#}", cluster.start_controller().unwrap_err());
    for part in [
        "multifactor2.conf line 2: NewerSetting=1: unknown key; known keys are ActiveJobs",
        "cannot use the settings kept in",
        "failed to initialize priority plugin",
    ] {
        assert!(refusal.contains(part), "'{part}' is missing in {refusal}");
    }

    // The way out: the file alone. What was kept needs nothing.
    fs::write(cluster.directory().join("multifactor2.conf"), "ActiveJobs=pending\n").unwrap();
    cluster.start_controller().unwrap();
    assert_eq!(fair_shares(&cluster, jobs), ["49", "100000"]);
    assert_eq!(usage(&cluster), before);
    let log = cluster.log();
    assert!(log.contains("It has been rewritten"), "{log}");
    let kept = fs::read_to_string(cluster.directory().join("state/multifactor2_settings")).unwrap();
    assert!(kept.contains("ActiveJobs=pending") && !kept.contains("NewerSetting"), "{kept}");
}

//! `scontrol reconfigure`: new weights and settings count at once, bad ones change nothing, at the next start neither.

use std::fs;
use std::time::Duration;

use slurm_testcluster::{Cluster, Job};

use crate::example;
use crate::support::{as_printed, cluster, number, sprio_of};

const CONF: &str = "multifactor2.conf";

fn wait_for_line(cluster: &Cluster, what: &str) {
    let found = |cluster: &Cluster| Ok(cluster.log().contains(what).then_some(()));
    cluster.wait_for(&format!("'{what}' in the log"), Duration::from_secs(20), found).unwrap();
}

/// Lines of the log in which our plugin reports an error.
fn our_errors(cluster: &Cluster) -> usize {
    cluster.log().matches("error: priority/multifactor2: ").count()
}

fn fair_shares(cluster: &Cluster, jobs: [u32; 2]) -> [String; 2] {
    cluster.wait_cycle().unwrap();
    jobs.map(|job| sprio_of(cluster, job).text("FAIRSHARE").to_owned())
}

#[test]
fn weights_change_with_a_reconfigure() {
    let (mut cluster, jobs) = example::start(None);
    cluster.set("PriorityWeightFairshare", "5000").unwrap();
    cluster.set("PriorityWeightJobSize", "3200").unwrap();
    assert_eq!(fair_shares(&cluster, jobs), ["24691", "100000"], "nothing changes before the reconfigure");
    cluster.reconfigure().unwrap();
    assert_eq!(fair_shares(&cluster, jobs), ["1235", "5000"]);
    // Half of 1 CPU by 32, and of 1 node by 4.
    assert_eq!(sprio_of(&cluster, jobs[0]).text("JOBSIZE"), "450");
    cluster.set("PriorityWeightFairshare", "2000").unwrap();
    cluster.hang_up_controller().unwrap();
    let changed =
        |cluster: &Cluster| Ok((sprio_of(cluster, jobs[1]).text("FAIRSHARE") == "2000").then_some(()));
    cluster.wait_for("the weight after SIGHUP", Duration::from_secs(20), changed).unwrap();
    assert_eq!(cluster.controller_ended().unwrap(), None);
}

/// A held job of user 3, whose F is 100, takes part under `ActiveJobs=pending` only.
#[test]
fn settings_change_with_a_reconfigure_and_bad_ones_leave_the_last_good_for_the_next_process_too() {
    let (mut cluster, jobs) = example::start(None);
    cluster.submit(&Job::new("user3").arg("--hold")).unwrap();
    assert_eq!(fair_shares(&cluster, jobs), ["24691", "100000"]);
    let file = cluster.directory().join(CONF);
    fs::write(&file, "ActiveJobs=pending\n").unwrap();
    cluster.reconfigure().unwrap();
    let pending = ["49", "100000"];
    // S*F of users 2 and 3 are 0.01 and 5.
    assert_eq!(fair_shares(&cluster, jobs), pending);

    fs::write(&file, "# ours\nActiveJobs=sometimes\n").unwrap();
    cluster.reconfigure().unwrap();
    wait_for_line(&cluster, "The last good settings stay in force (ActiveJobs=pending)");
    let log = cluster.log();
    let line = log.lines().find(|line| line.contains("sometimes")).expect("a line that names the value");
    for part in [CONF, "2", "ActiveJobs", "eligible", "pending"] {
        assert!(line.contains(part), "'{part}' is missing in '{line}'");
    }
    assert!(cluster.is_up());
    assert_eq!(fair_shares(&cluster, jobs), pending);

    // A new process starts with the settings of the one before, killed or not, and says so in one line.
    cluster.stop_controller().unwrap();
    let before = our_errors(&cluster);
    cluster.start_controller().unwrap();
    assert_eq!(fair_shares(&cluster, jobs), pending);
    assert_eq!(our_errors(&cluster), before + 1, "{}", cluster.log());
    cluster.kill_controller().unwrap();
    cluster.start_controller().unwrap();
    assert_eq!(fair_shares(&cluster, jobs), pending);

    // Only without them it refuses.
    cluster.stop_controller().unwrap();
    fs::write(cluster.directory().join("state/multifactor2_settings"), "damaged").unwrap();
    let error = format!("{:#}", cluster.start_controller().unwrap_err());
    assert!(error.contains("cannot use the settings kept in") && error.contains("sometimes"), "{error}");
    fs::remove_file(&file).unwrap();
    cluster.start_controller().unwrap();
    assert_eq!(fair_shares(&cluster, jobs), ["24691", "100000"]);
}

#[test]
fn priority_parameters_do_as_the_file_does_and_unknown_keys_are_named() {
    let (mut cluster, jobs) = example::start(None);
    cluster.submit(&Job::new("user3").arg("--hold")).unwrap();
    cluster.set("PriorityParameters", "ActiveJobs=pending").unwrap();
    cluster.reconfigure().unwrap();
    assert_eq!(fair_shares(&cluster, jobs), ["49", "100000"]);
    cluster.set("PriorityParameters", "ActiveJob=pending").unwrap();
    cluster.reconfigure().unwrap();
    wait_for_line(&cluster, "ActiveJob=pending: unknown key; known keys are ActiveJobs");
    assert_eq!(fair_shares(&cluster, jobs), ["49", "100000"]);
    assert!(as_printed(number(&cluster.share("f", "user5").unwrap(), "FairShare"), 1.0));
}

#[test]
fn a_bad_file_keeps_slurmctld_from_starting_where_there_never_was_a_good_one() {
    let error = cluster().file(CONF, "Active Jobs=pending\n").start().unwrap_err();
    let text = format!("{error:#}");
    let directory = text.split([' ', ':']).find(|word| word.contains("slurm-test-")).unwrap();
    fs::remove_dir_all(directory).unwrap();
    assert!(text.contains("slurmctld ended") && text.contains("multifactor2.conf"), "{text}");
}

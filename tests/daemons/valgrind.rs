//! A real slurmctld under valgrind, with the documented example and what users do to it.

use std::time::Duration;

use slurm_testcluster::{Cluster, Job};

use crate::example::{assert_tree, tree, usage};
use crate::support::cluster;
use multifactor2_fixtures::valgrind::{options, Report};

#[test]
fn valgrind_reports_nothing_of_ours_in_a_real_slurmctld() {
    let reports = tempfile::tempdir().unwrap();
    let report = reports.path().join("slurmctld");
    let wrapper = options(&report);
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let mut cluster = cluster()
        .accounts(&tree())
        .usage(&usage())
        .set("PriorityWeightAge", "10")
        .set("PriorityWeightJobSize", "10")
        .set("PriorityWeightPartition", "10")
        .set("PriorityWeightQOS", "10")
        .set("PriorityWeightTRES", "CPU=10,Mem=10")
        .line("PartitionName=other Nodes=n1 State=DOWN")
        .controller_wrapper(&wrapper)
        .start()
        .unwrap();
    let jobs = ["user2", "user5"].map(|user| cluster.submit(&Job::new(user)).unwrap());
    cluster.submit(&Job::new("user5").arg("--partition=main,other")).unwrap();
    let format = ["--array=1-20", "--job-name=%n%s%n", "--comment=%s%n%hhn", "--wckey=%n"];
    cluster.submit(&format.into_iter().fold(Job::new("user2"), Job::arg)).unwrap();
    cluster.wait_cycle().unwrap();
    assert_tree(&cluster);
    // The scheduler, slow under valgrind, first decides that a job is eligible; the third is shown in both partitions.
    let all_shown = |cluster: &Cluster| Ok((cluster.sprio_rows()?.len() == 5).then_some(()));
    cluster.wait_for("sprio to show four jobs", Duration::from_secs(60), all_shown).unwrap();
    cluster.scontrol(&["setdebugflags", "+Priority"]).unwrap();
    cluster.wait_cycle().unwrap();
    cluster.set("PriorityDecayHalfLife", "1").unwrap();
    cluster.reconfigure().unwrap();
    cluster.scontrol(&["update", &format!("JobId={}", jobs[0]), "Nice=5"]).unwrap();
    cluster.command("scancel").arg(jobs[1].to_string()).text().unwrap();
    cluster.wait_cycle().unwrap();
    cluster.sshare_rows().unwrap();
    assert!(cluster.log().contains("PRIO: "), "{}", cluster.log());
    cluster.stop_controller().unwrap();
    drop(cluster);

    let report = Report::read(&report);
    let ours = report.of_the_plugin();
    assert!(ours.is_empty(), "{} reports are ours:\n{}", ours.len(), ours.join("\n"));
    eprintln!("valgrind: {} reports but leaks are Slurm's own", report.accesses().len());
}

//! `make test-releases`: what takes longer than `make test` has time for, in every release.

mod numbers;
mod restarts;
#[path = "../shared/mod.rs"]
mod shared;

use std::fs;
use std::time::Duration;

use shared::{check_log, example, submit_example};
use slurm_releases::{cluster, SUITES};
use slurm_testcluster::{Builder, Cluster, Job, Release, Version};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a test in every release that is at hand, and names the one where it fails.
fn in_every_release(test: impl Fn(&Release)) {
    let suites = SUITES.iter().filter_map(|suite| suite.release().unwrap());
    for release in suites.chain(slurm_releases::in_prefixes().unwrap()) {
        println!("Slurm {}", release.version);
        test(&release);
    }
}

fn start(builder: Builder) -> Cluster {
    builder.start().unwrap()
}

#[test]
fn jobs_in_several_partitions_arrays_and_requeued_ones_keep_the_daemon_alive() {
    in_every_release(|release| {
        let several_qos = (release.version.year, release.version.month) >= (24, 11);
        let builder = example(cluster(release.clone()).unwrap())
            .set("PriorityWeightPartition", "1000")
            .slurmds(true)
            .nodes(1)
            .line("PartitionName=extra Nodes=n1 State=DOWN PriorityJobFactor=9 PriorityTier=9")
            .line("PartitionName=third Nodes=n1 State=DOWN PriorityJobFactor=3");
        let cluster = start(builder);
        let several = Job::new("user4").account("e").partition("held,extra,third");
        let job = cluster.submit(&several).unwrap();
        let array = cluster.submit(&several.clone().arg("--array=1-4")).unwrap();
        if several_qos {
            cluster.command("sacctmgr").args(["-i", "add", "qos", "gold", "Priority=9"]).text().unwrap();
            let modify = ["-i", "modify", "account", "root", "set", "qos=normal,gold"];
            cluster.command("sacctmgr").args(modify).text().unwrap();
            cluster.submit(&several.arg("--qos=gold,normal")).unwrap();
        }
        cluster.wait_cycle().unwrap();
        // The scheduler must have seen a job before sprio shows it.
        let wait_lines = |expected: usize| {
            let lines = |cluster: &Cluster| {
                let rows = cluster.sprio_rows()?;
                Ok((rows.iter().filter(|row| row.text("USER") == "user4").count() == expected).then_some(()))
            };
            let waited = cluster.wait_for("lines of sprio", TIMEOUT, lines);
            assert!(waited.is_ok(), "{expected} expected:\n{}", cluster.sprio(&["-l"]).unwrap());
        };
        // One line per partition, and per QOS where there are several.
        let of_qos = if several_qos { 6 } else { 0 };
        wait_lines(3 + 3 + of_qos);
        // Tasks split off get records of their own, with copies of the arrays.
        cluster.scontrol(&["update", &format!("jobid={array}_[1-3]"), "nice=5"]).unwrap();
        cluster.wait_cycle().unwrap();
        wait_lines(3 + 4 * 3 + of_qos);
        cluster.command("squeue").args(["-h", "-o", "%i %Q %P"]).text().unwrap();
        cluster.command("squeue").args(["-h", "-P", "-o", "%i %Q %P"]).text().unwrap();
        // Fewer partitions, then only one.
        for partitions in ["held,third", "held"] {
            cluster
                .scontrol(&["update", &format!("jobid={job}"), &format!("partition={partitions}")])
                .unwrap();
            cluster.wait_cycle().unwrap();
        }
        wait_lines(1 + 4 * 3 + of_qos);

        let running =
            cluster.submit(&Job::new("user1").account("b").partition("main").arg("--export=ALL")).unwrap();
        wait_state(&cluster, running, "RUNNING");
        cluster.scontrol(&["requeuehold", &running.to_string()]).unwrap();
        wait_state(&cluster, running, "PENDING");
        cluster.scontrol(&["release", &running.to_string()]).unwrap();
        cluster.command("scancel").arg(array).text().unwrap();
        cluster.wait_cycle().unwrap();
        assert!(cluster.is_up());
        cluster.reconfigure().unwrap();
        cluster.wait_cycle().unwrap();
        assert!(cluster.is_up());
        check_log(&cluster);
    });
}

fn wait_state(cluster: &Cluster, job: u32, state: &str) {
    let option = format!("-j{job}");
    cluster
        .wait_for(state, TIMEOUT, |cluster| {
            let text = cluster.command("squeue").args(["-h", "-t", "all", "-o", "%T", &option]).text()?;
            Ok((text.trim() == state).then_some(()))
        })
        .unwrap();
}

/// On a machine where somebody runs sshare and nobody has installed the plugin.
#[test]
fn sshare_without_the_plugin_file_says_so() {
    in_every_release(|release| {
        let cluster = start(example(cluster(release.clone()).unwrap()).set("PriorityFlags", "NO_FAIR_TREE"));
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        let own = format!("{}/plugins:", cluster.directory().display());
        let conf = fs::read_to_string(cluster.directory().join("slurm.conf")).unwrap().replace(&own, "");
        let elsewhere = cluster.directory().join("elsewhere.conf");
        fs::write(&elsewhere, conf).unwrap();
        let sshare = cluster.command("sshare").args(["-alP"]).env("SLURM_CONF", elsewhere.to_str().unwrap());
        let output = sshare.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot") && said.contains("priority/multifactor2"), "{output:?}");
        // From 23.02.2 on sshare loads the priority plugin at its start; before, when it prints FairShare.
        let loads_always = release.version >= Version::parse("23.02.2").unwrap();
        assert_eq!(output.status.success(), !loads_always, "{output:?}");
        check_log(&cluster);
    });
}

//! The cases of Slurm's own tests of the factors, under stock and under ours: the range of the site factor
//! (24.5), factors as they are for several partitions (24.6), normalised factors that follow the highest
//! priority of associations, QOS and partitions up and down (24.7), priorities set directly.

use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job, JobId};

use crate::support::{cluster, number, sprio_of, OURS, STOCK};

pub fn builder(plugin: &str) -> Builder {
    let tree = Accounts::new()
        .account(Account::new("first", 1).option("Priority=4000000").user("ada", 1))
        .account(Account::new("second", 1).option("Priority=2000000").user("ada", 1));
    cluster()
        .priority_type(plugin)
        .accounts(&tree)
        .nodes(1)
        .set("PriorityWeightFairshare", "0")
        .line("PartitionName=p1 Nodes=n1 State=DOWN PriorityJobFactor=60000")
        .line("PartitionName=p2 Nodes=n1 State=DOWN PriorityJobFactor=30000")
}

fn sacctmgr(cluster: &Cluster, arguments: &[&str]) {
    cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
}

/// Two QOS that the cluster's users may use.
fn add_qos(cluster: &Cluster) {
    sacctmgr(cluster, &["add", "qos", "q1", "priority=4000000"]);
    sacctmgr(cluster, &["add", "qos", "q2", "priority=2000000"]);
    sacctmgr(cluster, &["modify", "cluster", "test", "set", "qos+=q1,q2"]);
    let known = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "assoc_mgr", "flags=qos"])?;
        Ok((text.contains("QOS=q1") && text.contains("QOS=q2")).then_some(()))
    };
    cluster.wait_for("the QOS in slurmctld", Duration::from_secs(20), known).unwrap();
}

/// Columns of a job's line in one partition.
fn columns(cluster: &Cluster, job: JobId, partition: &str, names: &[&str]) -> Vec<String> {
    let rows = cluster.sprio_rows().unwrap();
    let found = rows
        .iter()
        .find(|row| row.text("JOBID") == job.to_string() && row.text("PARTITION") == partition)
        .unwrap_or_else(|| panic!("sprio does not show job {job} in {partition}: {rows:?}"));
    names.iter().map(|name| found.text(name).to_owned()).collect()
}

#[test]
fn the_site_factor_has_its_range() {
    for plugin in [STOCK, OURS] {
        let cluster =
            builder(plugin).set("PriorityWeightJobSize", "1000").cycle_seconds(Some(600)).start().unwrap();
        let job = cluster.submit(&Job::new("ada")).unwrap();
        // Half of 1 CPU of 8 and of 1 node of 1.
        let size = 562;
        let update = |factor: &str| {
            cluster.scontrol(&["update", &format!("jobid={job}"), &format!("sitefactor={factor}")])
        };
        for (factor, priority) in [
            ("100", 100 + size),
            ("-100", size - 100),
            ("0", size),
            ("2147483645", 2_147_483_645_i64 + size),
            ("-2147483645", 1),
        ] {
            update(factor).unwrap();
            let row = sprio_of(&cluster, job);
            assert_eq!(row.text("SITE"), factor, "{plugin}");
            assert_eq!(row.text("PRIORITY"), priority.to_string(), "{plugin} {factor}");
        }
        for factor in ["2147483646", "-2147483646"] {
            let error = format!("{:#}", update(factor).unwrap_err());
            assert!(error.contains("SiteFactor value out of range"), "{plugin} {factor}: {error}");
        }
    }
}

#[test]
fn factors_as_they_are_in_several_partitions() {
    const NAMES: [&str; 4] = ["ASSOC", "PARTPRIO", "QOS", "TRES"];
    for plugin in [STOCK, OURS] {
        let cluster = builder(plugin)
            .set("PriorityFlags", "NO_NORMAL_ALL")
            .set("PriorityWeightAssoc", "1")
            .set("PriorityWeightPartition", "1")
            .set("PriorityWeightQOS", "1")
            .set("PriorityWeightTRES", "CPU=1")
            .start()
            .unwrap();
        add_qos(&cluster);
        assert!(cluster.scontrol(&["show", "config"]).unwrap().contains("NO_NORMAL_ALL"));
        let submit = |partition| {
            let job =
                Job::new("ada").account("second").partition(partition).arg("--qos=q2").arg("--ntasks=8");
            cluster.submit(&job).unwrap()
        };
        let expected = |partition| ["2000000", partition, "2000000", "cpu=8"];
        let (first, second, both) = (submit("p1"), submit("p2"), submit("p1,p2"));
        for _ in 0..2 {
            assert_eq!(columns(&cluster, first, "p1", &NAMES), expected("60000"), "{plugin}");
            assert_eq!(columns(&cluster, second, "p2", &NAMES), expected("30000"), "{plugin}");
            assert_eq!(columns(&cluster, both, "p1", &NAMES), expected("60000"), "{plugin}");
            assert_eq!(columns(&cluster, both, "p2", &NAMES), expected("30000"), "{plugin}");
            cluster.wait_cycle().unwrap();
        }
    }
}

#[test]
fn normalised_factors_follow_the_highest_priority_up_and_down() {
    const NAMES: [&str; 8] = ["ASSOC", "PARTPRIO", "QOS", "TRES", "assoc", "partprio", "qos", "SITE"];
    for plugin in [STOCK, OURS] {
        let cluster = builder(plugin)
            .set("PriorityWeightAssoc", "4000000")
            .set("PriorityWeightPartition", "60000")
            .set("PriorityWeightQOS", "4000000")
            .set("PriorityWeightTRES", "CPU=4000000")
            .start()
            .unwrap();
        add_qos(&cluster);
        let submit = |n: u8, cpus: u8| {
            let account = ["first", "second"][usize::from(n) - 1];
            let job = Job::new("ada").account(account).partition(&format!("p{n}"));
            cluster.submit(&job.arg(format!("--qos=q{n}")).arg(format!("--ntasks={cpus}"))).unwrap()
        };
        let full = ["4000000", "60000", "4000000", "cpu=4000000", "1.0000000", "1.0000000", "1.0000000", "0"];
        let half = ["2000000", "30000", "2000000", "cpu=2000000", "0.5000000", "0.5000000", "0.5000000", "0"];
        let set_highest = |priority: &str, partition: &str| {
            sacctmgr(&cluster, &["modify", "account", "first", "set", &format!("priority={priority}")]);
            sacctmgr(&cluster, &["modify", "qos", "q1", "set", &format!("priority={priority}")]);
            cluster
                .scontrol(&["update", "partitionname=p1", &format!("priorityjobfactor={partition}")])
                .unwrap();
            let known = |cluster: &Cluster| {
                let text = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc,qos"])?;
                let at = |start: &str| {
                    text.split(start).nth(1).is_some_and(|rest| {
                        rest.split("Priority=").nth(1).is_some_and(|rest| rest.starts_with(priority))
                    })
                };
                Ok((at("Account=first UserName= ") && at("QOS=q1")).then_some(()))
            };
            cluster.wait_for("the new priorities in slurmctld", Duration::from_secs(20), known).unwrap();
        };
        let (first, second) = (submit(1, 8), submit(2, 4));
        assert_eq!(columns(&cluster, first, "p1", &NAMES), full, "{plugin}");
        assert_eq!(columns(&cluster, second, "p2", &NAMES), half, "{plugin}");
        // Down: what had half is the highest now, for a new job at once and for an old one after a cycle.
        set_highest("2000000", "30000");
        assert_eq!(columns(&cluster, submit(2, 8), "p2", &NAMES), full, "{plugin}");
        cluster.wait_cycle().unwrap();
        assert_eq!(columns(&cluster, second, "p2", &NAMES)[4..7], ["1.0000000"; 3], "{plugin}");
        assert_eq!(columns(&cluster, first, "p1", &NAMES)[4..7], ["1.0000000"; 3], "{plugin}");
        // And up again.
        set_highest("4000000", "60000");
        assert_eq!(columns(&cluster, submit(2, 4), "p2", &NAMES), half, "{plugin}");
        cluster.wait_cycle().unwrap();
        assert_eq!(columns(&cluster, second, "p2", &NAMES), half, "{plugin}");
        assert_eq!(columns(&cluster, first, "p1", &NAMES), full, "{plugin}");

        cluster.scontrol(&["update", &format!("jobid={second}"), "priority=999"]).unwrap();
        let direct =
            ["PRIORITY", "SITE", "AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTPRIO", "QOS", "NICE", "TRES"];
        for _ in 0..2 {
            let shown = columns(&cluster, second, "p2", &direct);
            assert_eq!(shown, ["999", "0", "0", "0", "0", "0", "0", "0", "0", ""], "{plugin}");
            cluster.wait_cycle().unwrap();
        }
    }
}

/// Where stock is wrong: for a job in several partitions its sprio multiplies the factor of a TRES that one of
/// them lacks by its weight twice, instead of showing none. The priorities are equal.
#[test]
fn a_tres_that_one_of_several_partitions_lacks_is_not_weighted_twice() {
    for (plugin, shown) in [(STOCK, "gres/gpu=500000"), (OURS, "")] {
        let cluster = cluster()
            .priority_type(plugin)
            .accounts(&Accounts::new().account(Account::new("first", 1).user("ada", 1)))
            .nodes(0)
            .line("NodeName=n1 NodeAddr=127.0.0.1 CPUs=8 Gres=gpu:4 State=DOWN")
            .line("NodeName=n2 NodeAddr=127.0.0.1 CPUs=8 State=DOWN")
            .line("PartitionName=p1 Nodes=n1 Default=YES")
            .line("PartitionName=p2 Nodes=n2")
            .set("GresTypes", "gpu")
            .set("AccountingStorageTRES", "gres/gpu")
            .set("PriorityWeightTRES", "GRES/gpu=1000")
            .set("PriorityWeightFairshare", "0")
            .start()
            .unwrap();
        let job = cluster.submit(&Job::new("ada").partition("p1,p2").arg("--gres=gpu:2")).unwrap();
        cluster.wait_cycle().unwrap();
        let in_partitions =
            ["p1", "p2"].map(|partition| columns(&cluster, job, partition, &["TRES"]).remove(0));
        assert_eq!(in_partitions, ["gres/gpu=500", shown], "{plugin}");
    }
}

/// Where stock is wrong: without slurmdbd there are no ages, but after a reconfigure stock adds them again.
#[test]
fn without_slurmdbd_there_is_no_age_not_even_after_a_reconfigure() {
    for (plugin, aged) in [(STOCK, true), (OURS, false)] {
        let mut cluster = cluster()
            .priority_type(plugin)
            .user("ada")
            .controller(false)
            .nodes(0)
            .line("NodeName=n1 NodeAddr=127.0.0.1 CPUs=8 State=DOWN")
            .line("PartitionName=p1 Nodes=n1 Default=YES")
            .set("PriorityWeightAge", "86400")
            .set("PriorityWeightJobSize", "1000")
            .set("PriorityMaxAge", "1-0")
            .start()
            .unwrap();
        cluster.set("AccountingStorageType", "accounting_storage/none").unwrap();
        cluster.unset("AccountingStorageEnforce").unwrap();
        cluster.start_controller().unwrap();
        let job = cluster.submit(&Job::new("ada")).unwrap();
        let accrues = |cluster: &Cluster| {
            let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
            Ok((!text.contains("AccrueTime=Unknown")).then_some(()))
        };
        cluster.wait_for("the job to accrue age", Duration::from_secs(60), accrues).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let evaluate = |nice: &str| {
            cluster.scontrol(&["update", &format!("jobid={job}"), &format!("nice={nice}")]).unwrap();
            let row = sprio_of(&cluster, job);
            assert!(number(&row, "JOBSIZE") > 0.0 && row.text("FAIRSHARE") == "0", "{plugin}: {row:?}");
            number(&row, "AGE") > 0.0
        };
        assert!(!evaluate("1"), "{plugin}");
        cluster.reconfigure().unwrap();
        assert_eq!(evaluate("2"), aged, "{plugin}");
        assert!(cluster.log().contains("PriorityWeightAge") || plugin == STOCK);
    }
}

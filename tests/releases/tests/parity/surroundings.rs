//! Priorities in surroundings that are not as usual: without a site factor plugin, without slurmdbd, with other nodes.

use slurm_releases::{FORKY, TRIXIE};
use slurm_testcluster::{Cluster, Job};

use crate::{releases, running_cluster, under_both};

/// From 23.02.3 on a slurmctld without its site factor plugin does not start.
#[test]
fn a_site_factor_plugin_that_is_missing_is_as_bad_as_under_stock() {
    for release in releases() {
        let refuses = (release.version.year, release.version.month) >= (23, 11);
        let up = under_both(|plugin| {
            let cluster = running_cluster(&release, plugin).slurmds(false).controller(false);
            let mut cluster = cluster.set("PrioritySiteFactorPlugin", "site_factor/nosuch").start().unwrap();
            cluster.start_controller().is_ok()
        });
        assert_eq!(up, [!refuses; 2], "Slurm {}", release.version);
    }
}

/// Factors of jobs in a cluster without slurmdbd, right after a start.
#[test]
fn without_slurmdbd_priorities_at_the_start_are_those_of_stock() {
    for release in releases() {
        let [ours, stock] = under_both(|plugin| {
            let mut cluster = running_cluster(&release, plugin)
                .slurmds(false)
                .controller(false)
                .cycle_seconds(None)
                .set("PriorityCalcPeriod", "60")
                .set("PriorityWeightAge", "1000")
                .set("PriorityWeightJobSize", "5000")
                .set("PriorityWeightPartition", "7000")
                .line("PartitionName=low Nodes=n1 State=DOWN PriorityJobFactor=10")
                .line("PartitionName=high Nodes=n[1-2] State=DOWN PriorityJobFactor=65")
                .start()
                .unwrap();
            for name in ["AccountingStorageType", "AccountingStorageEnforce"] {
                cluster.unset(name).unwrap();
            }
            cluster.start_controller().unwrap();
            for (n, partition) in ["low", "high", "main", "high,low", "low,main"].iter().enumerate() {
                let job = Job::new("ada").partition(partition).arg(format!("--nice={n}"));
                cluster.submit(&job.arg(format!("--ntasks={}", n + 1))).unwrap();
            }
            let look = |cluster: &Cluster| {
                let queue = ["-h", "-r", "-S", "i", "-o", "%i %T %Q"];
                let queue = cluster.command("squeue").args(queue).text().unwrap();
                let rows = cluster.sprio_rows().unwrap().into_iter().map(|row| row.cells().clone());
                (queue, rows.collect::<Vec<_>>())
            };
            let submitted = look(&cluster).0;
            cluster.restart_controller().unwrap();
            (submitted, look(&cluster))
        });
        assert!(!stock.1 .1.is_empty() && stock.1 .0.lines().count() == 5, "{stock:?}");
        assert_eq!(ours, stock, "Slurm {}", release.version);
    }
}

/// Where nodes can be removed while slurmctld runs, job sizes are by those that are left.
#[test]
fn sizes_of_jobs_follow_nodes_that_come_and_go() {
    for release in [TRIXIE, FORKY].iter().filter_map(|suite| suite.release().unwrap()) {
        for favor_small in ["NO", "YES"] {
            let [ours, stock] = under_both(|plugin| {
                let cluster = running_cluster(&release, plugin)
                    .slurmds(false)
                    .set("MaxNodeCount", "64")
                    .set("PriorityFavorSmall", favor_small)
                    .set("PriorityWeightJobSize", "100000")
                    .set("PriorityWeightFairshare", "0")
                    .start()
                    .unwrap();
                for tasks in ["1", "3", "16"] {
                    for nodes in ["1", "2"] {
                        let job = Job::new("ada").arg(format!("--ntasks={tasks}"));
                        cluster.submit(&job.arg(format!("--nodes={nodes}-2"))).unwrap();
                    }
                }
                let sizes = |cluster: &Cluster| {
                    cluster.wait_cycle().unwrap();
                    let rows = cluster.sprio_rows().unwrap();
                    rows.iter().map(|row| row.text("jobsize").to_owned()).collect::<Vec<_>>()
                };
                let before = sizes(&cluster);
                cluster.scontrol(&["create", "nodename=d[1-8]", "cpus=8", "state=cloud"]).unwrap();
                let more = sizes(&cluster);
                cluster.scontrol(&["delete", "nodename=d[1-6]"]).unwrap();
                [before, more, sizes(&cluster)]
            });
            eprintln!("Slurm {}, favor small {favor_small}: {ours:?}", release.version);
            assert_eq!(ours, stock, "Slurm {}", release.version);
            assert!(ours[0].len() == 6 && ours[0] != ours[1] && ours[1] != ours[2], "{ours:?}");
        }
    }
}

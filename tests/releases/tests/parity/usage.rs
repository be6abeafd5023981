//! Run-minutes, charges and usage, where releases differ and where the plugin is changed.

use std::time::Duration;

use slurm_releases::{cluster, BOOKWORM, BULLSEYE, FORKY};
use slurm_testcluster::parity::{OURS, STOCK};
use slurm_testcluster::{Cluster, Job, JobId};

use crate::{releases, running_cluster, shared, under_both, WAIT};

fn add_qos(cluster: &Cluster, name: &str, limit: &str) {
    let sacctmgr = |arguments: &[&str]| cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
    sacctmgr(&["add", "qos", name, limit]);
    sacctmgr(&["modify", "cluster", "test", "set", &format!("qos+={name}")]);
    let known = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "assoc_mgr", "flags=qos"])?;
        Ok(text.contains(&format!("QOS={name}")).then_some(()))
    };
    cluster.wait_for("the QOS in slurmctld", WAIT, known).unwrap();
}

fn state(cluster: &Cluster, job: JobId) -> String {
    let text = cluster.scontrol(&["show", "job", &job.to_string()]).unwrap();
    text.split_whitespace().find_map(|word| word.strip_prefix("JobState=")).unwrap().to_owned()
}

fn wait_running(cluster: &Cluster, job: JobId) {
    let running = |cluster: &Cluster| Ok((state(cluster, job) == "RUNNING").then_some(()));
    cluster.wait_for("the job to run", WAIT, running).unwrap();
}

/// From 24.05 on the run-minutes that users and accounts have in use within a QOS are counted, and become fewer while a job runs: a
/// second job waits and starts when enough have passed. Before, it does not wait.
#[test]
fn run_minutes_of_users_and_accounts_in_a_qos_pass_where_the_release_counts_them() {
    for release in releases() {
        let counts = (release.version.year, release.version.month) >= (24, 5);
        for limit in ["MaxTRESRunMinsPU=cpu=40", "MaxTRESRunMinsPA=cpu=40"] {
            let waited = under_both(|plugin| {
                let cluster = running_cluster(&release, plugin).start().unwrap();
                add_qos(&cluster, "brief", limit);
                let job = Job::new("ada").arg("--export=ALL").arg("--qos=brief");
                // 8 CPUs for 5 minutes are all 40, of which begun ones do not count; after 8 seconds there is room for two.
                let first = job.clone().arg("--ntasks=8").arg("--time=5").seconds(200);
                let first = cluster.submit(&first).unwrap();
                wait_running(&cluster, first);
                let second = cluster.submit(&job.arg("--time=2")).unwrap();
                let mut waited = false;
                let starts = |cluster: &Cluster| {
                    let text = cluster.scontrol(&["show", "job", &second.to_string()])?;
                    waited |= text.contains("RunMin");
                    Ok(text.contains("JobState=RUNNING").then_some(()))
                };
                cluster.wait_for("room for a second job", 2 * WAIT, starts).unwrap();
                assert_eq!(state(&cluster, first), "RUNNING", "{plugin} in Slurm {}", release.version);
                waited
            });
            eprintln!("Slurm {}, {limit}: waits under ours and stock {waited:?}", release.version);
            assert_eq!(waited, [counts; 2], "Slurm {}, {limit}", release.version);
        }
    }
}

/// After a restart the time that a job has run is taken out of the run-minutes in use, from 20.11.6 on out of those of its partition's
/// QOS, too.
#[test]
fn a_restart_corrects_the_run_minutes_of_a_partition_where_the_release_does() {
    const RUN: Duration = Duration::from_secs(45);
    for release in [BULLSEYE, BOOKWORM].iter().filter_map(|suite| suite.release().unwrap()) {
        let version = release.version;
        let corrects = (version.year, version.month, version.micro) >= (20, 11, 6);
        let used = under_both(|plugin| {
            let mut cluster = running_cluster(&release, plugin).start().unwrap();
            add_qos(&cluster, "ofpartition", "grptresrunmins=cpu=100000");
            cluster.scontrol(&["create", "partitionname=limited", "nodes=ALL", "qos=ofpartition"]).unwrap();
            cluster.set("PartitionName", "limited Nodes=ALL QOS=ofpartition").unwrap();
            let job = Job::new("ada").partition("limited").arg("--export=ALL").arg("--ntasks=16");
            let job = cluster.submit(&job.arg("--time=100")).unwrap();
            wait_running(&cluster, job);
            std::thread::sleep(RUN);
            cluster.restart_controller().unwrap();
            cluster.wait_cycle().unwrap();
            let text = cluster.scontrol(&["show", "assoc_mgr", "flags=qos"]).unwrap();
            let of_qos = text.split("QOS=ofpartition").nth(1).expect("the QOS");
            let used = of_qos.split("GrpTRESRunMins=cpu=100000(").nth(1).expect("a limit");
            used.split(')').next().unwrap().parse::<f64>().unwrap()
        });
        eprintln!("Slurm {version}: run-minutes in use under ours and stock {used:?}");
        // 16 CPUs for 100 minutes, less 16 for each minute since the start, or since the restart.
        let passed = 16.0 * RUN.as_secs_f64() / 60.0;
        for used in used {
            assert_eq!(used <= 1600.0 - passed, corrects, "Slurm {version}: {used}");
        }
        assert!((used[0] - used[1]).abs() <= 2.0, "Slurm {version}: {used:?}");
    }
}

/// With `MAX_TRES_GRES`, from 25.05 on, a job is billed for the largest of its TRES and all its GRES.
#[test]
fn jobs_are_charged_what_they_are_billed_for_their_largest_tres_and_gres() {
    let Some(release) = FORKY.release().unwrap() else { return };
    // 3 CPUs, a node for the price of 2 and a kit for that of 4: in all, at most, and at most but for the kit.
    for (flags, billing) in [("FAIR_TREE", 9.0), ("MAX_TRES", 4.0), ("MAX_TRES_GRES", 7.0)] {
        under_both(|plugin| {
            let cluster = running_cluster(&release, plugin)
                .nodes(1)
                .set("PriorityFlags", flags)
                .set("GresTypes", "kit")
                .set("AccountingStorageTRES", "gres/kit")
                .set("NodeName", "DEFAULT Gres=kit:2")
                .file("gres.conf", "Name=kit Count=2\n")
                .line("PartitionName=billed Nodes=n1 TRESBillingWeights=CPU=1,Node=2,GRES/kit=4")
                .start()
                .unwrap();
            let job = Job::new("ada").partition("billed").arg("--export=ALL").arg("--ntasks=3");
            let job = cluster.submit(&job.arg("--gres=kit:1").seconds(5)).unwrap();
            let ended = |cluster: &Cluster| {
                let fields =
                    ["-X", "-n", "-P", "-j", &job.to_string(), "-o", "State,ElapsedRaw"].map(str::to_owned);
                let text = cluster.command("sacct").args(fields).text()?;
                Ok(text.trim().strip_prefix("COMPLETED|").map(|seconds| seconds.parse::<f64>().unwrap()))
            };
            let seconds = cluster.wait_for("the job's record", WAIT, ended).unwrap();
            cluster.wait_cycle().unwrap();
            let charged = cluster.share("physics", "ada").unwrap().number("RawUsage").unwrap();
            assert!(seconds >= 5.0, "{seconds}");
            // Stock may charge the last second twice.
            let twice = if plugin == STOCK { billing } else { 0.0 };
            let due = billing * seconds;
            assert!(
                charged >= due - 0.5 && charged <= due + twice + 0.5,
                "{plugin}, {flags}: {charged}, due {due}"
            );
        });
    }
}

/// Usage stays what it is while the plugin is changed and changed back.
#[test]
fn usage_stays_when_the_plugin_is_changed_and_changed_back() {
    for release in releases() {
        let mut cluster = shared::example(cluster(release.clone()).unwrap()).start().unwrap();
        shared::submit_example(&cluster);
        let look = |cluster: &Cluster| {
            cluster.wait_cycle().unwrap();
            let columns = ["Account", "User", "RawShares", "RawUsage", "GrpTRESMins", "TRESRunMins"];
            let rows = cluster.sshare_rows().unwrap().into_iter();
            rows.map(|row| columns.map(|column| row.text(column).to_owned())).collect::<Vec<_>>()
        };
        let before = look(&cluster);
        assert!(before.iter().any(|row| row[3] == "250000"), "{before:?}");
        for plugin in [STOCK, OURS, STOCK, OURS] {
            cluster.set("PriorityType", plugin).unwrap();
            cluster.restart_controller().unwrap();
            assert_eq!(look(&cluster), before, "{plugin} in Slurm {}", release.version);
        }
    }
}

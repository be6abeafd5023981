//! `make test-releases`: what takes longer than `make test` has time for, in every release.

mod shared;

use std::fs;
use std::time::Duration;

use multifactor2_fixtures::{model, random};
use shared::{check_example, check_log, example, submit_example};
use slurm_releases::{cluster, SUITES};
use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job, Mode, Release, Row};

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
fn a_random_tree_is_as_the_model_says() {
    in_every_release(|release| {
        let mut random = random();
        let root =
            model::Association { parent: None, shares: Some(1), user: false, usage: 0.0, waiting: false };
        let mut tree = vec![root];
        let mut names: Vec<(String, String)> = vec![("root".into(), String::new())];
        let mut accounts = Accounts::new();
        let mut usage = Vec::new();
        let mut user_number = 0;
        for number in 0..3 {
            let shares = 1 + u32::try_from(random.u64(..100)).unwrap();
            let mut account = Account::new(format!("acc{number}"), shares);
            let at = tree.len();
            tree.push(model::Association {
                parent: Some(0),
                shares: Some(shares),
                usage: 0.0,
                ..tree[0].clone()
            });
            names.push((format!("acc{number}"), String::new()));
            for _ in 0..2 + random.u64(..3) {
                let shares = u32::try_from(random.u64(..20)).unwrap();
                let seconds = random.u64(..4) * random.u64(..1_000_000);
                #[allow(clippy::cast_precision_loss)] // far below 2^52
                let seconds = seconds as f64;
                let name = format!("user{user_number}");
                user_number += 1;
                account = account.user(name.clone(), shares);
                tree.push(model::Association {
                    parent: Some(at),
                    shares: Some(shares),
                    user: true,
                    usage: seconds,
                    waiting: random.u64(..2) == 0,
                });
                tree[at].usage += seconds;
                tree[0].usage += seconds;
                usage.push((format!("acc{number}"), name.clone(), seconds));
                names.push((format!("acc{number}"), name));
            }
            accounts = accounts.account(account);
        }
        let usage: Vec<(&str, &str, f64)> = usage.iter().map(|(a, u, s)| (&**a, &**u, *s)).collect();
        let cluster = start(cluster(release.clone()).unwrap().accounts(&accounts).usage(&usage));
        for (association, (account, user)) in tree.iter().zip(&names) {
            if association.waiting {
                cluster.submit(&Job::new(user).account(account)).unwrap();
            }
        }
        cluster.wait_cycle().unwrap();
        for (outcome, (account, user)) in model::outcomes(&tree).iter().zip(&names).skip(1) {
            let row = cluster.share(account, user).unwrap();
            let columns =
                [("NormShares", outcome.s), ("EffectvUsage", outcome.u_eff), ("LevelFS", outcome.f)];
            let factor = (!user.is_empty()).then_some(("FairShare", outcome.factor));
            for (column, expected) in columns.into_iter().chain(factor) {
                let found = row.number(column).unwrap();
                assert!((found - expected).abs() < 2e-6, "{column} of {account} {user}: {found}, {expected}");
            }
        }
        check_log(&cluster);
    });
}

#[test]
fn all_but_fair_share_is_as_stock_does_it() {
    in_every_release(|release| {
        let before_24_11 = (release.version.year, release.version.month) < (24, 11);
        let builder = example(cluster(release.clone()).unwrap())
            .set("PriorityWeightAssoc", "3000")
            .set("PriorityWeightJobSize", "5000")
            .set("PriorityWeightPartition", "7000")
            .set("PriorityWeightQOS", "11000")
            .set("PriorityWeightTRES", "CPU=13000,Mem=17000")
            .line("PartitionName=low Nodes=n[1-4] State=DOWN PriorityJobFactor=10 PriorityTier=2")
            .line("PartitionName=high Nodes=n[1-2] State=DOWN PriorityJobFactor=65 PriorityTier=5");
        let mut cluster = start(builder);
        let sacctmgr = |arguments: &[&str]| {
            cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
        };
        sacctmgr(&["add", "qos", "gold", "Priority=100"]);
        sacctmgr(&["add", "qos", "lead", "Priority=7"]);
        sacctmgr(&["add", "qos", "iron", "Priority=3"]);
        sacctmgr(&["modify", "account", "root", "set", "qos=normal,gold,lead,iron"]);
        sacctmgr(&["modify", "user", "user4", "set", "priority=50"]);
        let mut random = random();
        for (user, account) in
            [("user1", "b"), ("user2", "c"), ("user3", "c"), ("user4", "e"), ("user5", "f")]
        {
            for _ in 0..4 {
                let job = Job::new(user)
                    .account(account)
                    .partition(["low", "high", "main"][usize::try_from(random.u64(..3)).unwrap()])
                    .arg(format!(
                        "--qos={}",
                        ["normal", "gold", "lead"][usize::try_from(random.u64(..3)).unwrap()]
                    ))
                    .arg(format!("--ntasks={}", 1 + random.u64(..8)))
                    .arg(format!("--nice={}", random.u64(..300)));
                cluster.submit(&job).unwrap();
            }
        }
        let several = Job::new("user4").account("e").partition("low,high,main");
        cluster.submit(&several.clone().arg("--array=1-3")).unwrap();
        cluster.submit(&several.clone().arg("--nice=5")).unwrap();
        if !before_24_11 {
            // All with a priority: for one without, sprio shows that of the QOS that the scheduler tried last.
            cluster.submit(&several.arg("--qos=gold,lead,iron")).unwrap();
        }
        // A job in several QOS may have another of them first after a restart: both are looked at after one.
        std::thread::sleep(Duration::from_secs(2));
        cluster.restart_controller().unwrap();
        cluster.wait_cycle().unwrap();
        // Twenty in one partition each; three partitions of an array and of a job; and those times three QOS.
        let expected = 20 + 6 + if before_24_11 { 0 } else { 9 };
        let ours = comparable(&cluster, expected);
        check_log(&cluster);
        cluster.set("PriorityType", "priority/multifactor").unwrap();
        cluster.restart_controller().unwrap();
        cluster.wait_cycle().unwrap();
        let stock = comparable(&cluster, expected);
        let others = |rows: &[Vec<_>], from: &[Vec<_>]| -> Vec<String> {
            rows.iter().filter(|row| !from.contains(row)).map(|row| format!("{row:?}")).collect()
        };
        let (only_ours, only_stock) = (others(&ours, &stock), others(&stock, &ours));
        assert!(ours == stock, "Slurm {}: {only_ours:#?} is {only_stock:#?} in stock", release.version);
    });
}

/// What sprio shows but for fair-share and what contains it.
fn comparable(cluster: &Cluster, lines: usize) -> Vec<Vec<(String, String)>> {
    let cells = |row: Row| {
        // Ages go on growing while the one plugin is exchanged for the other.
        let own = ["FAIRSHARE", "fairshare", "PRIORITY", "priority", "AGE", "age"];
        row.cells().clone().into_iter().filter(|(name, _)| !own.contains(&name.as_str())).collect()
    };
    // The scheduler must have seen a job before sprio shows it.
    let all = cluster.wait_for("all jobs in sprio", TIMEOUT, |cluster| {
        let rows = cluster.sprio_rows()?;
        Ok((rows.len() == lines).then_some(rows))
    });
    let mut rows: Vec<Vec<_>> = all.unwrap().into_iter().map(cells).collect();
    rows.sort();
    rows
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

#[test]
fn a_new_user_gets_its_factor_at_once() {
    in_every_release(|release| {
        let cluster = start(example(cluster(release.clone()).unwrap()).user("fresh"));
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        let add = ["-i", "add", "user", "fresh", "account=e", "fairshare=1"];
        cluster.command("sacctmgr").args(add).text().unwrap();
        let job = cluster
            .wait_for("the new association", TIMEOUT, |cluster| {
                Ok(cluster.submit(&Job::new("fresh").account("e").partition("held")).ok())
            })
            .unwrap();
        let text = cluster.scontrol(&["show", "job", &job.to_string()]).unwrap();
        let priority = text.split_whitespace().find_map(|word| word.strip_prefix("Priority=")).unwrap();
        assert!(priority.parse::<u32>().unwrap() > 1, "{text}");
        cluster.wait_cycle().unwrap();
        let shown = cluster.share("e", "fresh").unwrap().number("FairShare").unwrap();
        let rows = cluster.sprio_rows().unwrap();
        let row = rows.iter().find(|row| row.text("USER") == "fresh").unwrap();
        assert!((row.number("fairshare").unwrap() - shown).abs() < 2e-6 && shown > 0.0, "{row:?} {shown}");
        check_log(&cluster);
    });
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
        let loads_always = (release.version.year, release.version.month) >= (23, 11);
        assert_eq!(output.status.success(), !loads_always, "{output:?}");
        check_log(&cluster);
    });
}

#[test]
fn restarts_leave_the_numbers() {
    in_every_release(|release| {
        let mut cluster = start(example(cluster(release.clone()).unwrap()));
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        check_example(&cluster);
        cluster.restart_controller().unwrap();
        lives_on(&cluster);
        check_log(&cluster);
        cluster.kill_controller().unwrap();
        cluster.start_controller().unwrap();
        lives_on(&cluster);
    });
}

#[test]
fn failed_reconfigures_leave_the_numbers() {
    in_every_release(|release| {
        // In the foreground a newer slurmctld would replace itself and end where that fails.
        let mut cluster = start(example(cluster(release.clone()).unwrap()).mode(Mode::Daemon));
        submit_example(&cluster);
        lives_on(&cluster);

        let own = cluster.directory().join("multifactor2.conf");
        fs::write(&own, "NoSuchSetting=1\n").unwrap();
        // Our own mistakes are no failure: the settings of before hold.
        cluster.reconfigure().unwrap();
        lives_on(&cluster);
        assert!(cluster.log().contains("multifactor2.conf line 1"), "{}", cluster.log());
        if release.reconfigures_by_a_new_process() {
            // Ours is still bad when the old process goes on after a mistake in slurm.conf.
            cluster.set("SchedulerType", "sched/nosuch").unwrap();
            cluster.reconfigure().unwrap_err();
            goes_on(&cluster);
            fs::remove_file(&own).unwrap();
            cluster.reconfigure().unwrap_err();
            goes_on(&cluster);
            cluster.set("SchedulerType", "sched/backfill").unwrap();
        } else {
            fs::remove_file(&own).unwrap();
        }
        cluster.reconfigure().unwrap();
        lives_on(&cluster);
        cluster.stop_controller().unwrap();
    });
}

/// After a failed reconfigure the old process counts usage twice at the root, which is Slurm's doing under any plugin
/// (docs/releases.md); the stock plugin even dies then, because jobs point to associations that are gone. Ours goes on
/// with cycles and priorities.
fn goes_on(cluster: &Cluster) {
    cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    cluster.wait_cycle().unwrap();
    let jobs = cluster.sprio_rows().unwrap();
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    let best = jobs.iter().filter(|job| job.text("fairshare") == "1.0000000").count();
    assert_eq!(best, 1, "{jobs:?}");
    assert!(!cluster.log().contains("does not match"), "{}", cluster.log());
}

fn lives_on(cluster: &Cluster) {
    cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    cluster.wait_cycle().unwrap();
    check_example(cluster);
}

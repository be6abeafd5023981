//! The numbers of every release, compared with the model and with its own stock plugin.

use std::time::Duration;

use multifactor2_fixtures::{model, random};
use slurm_releases::cluster;
use slurm_testcluster::{Account, Accounts, Cluster, Job, Row};

use crate::shared::{check_log, example, submit_example};
use crate::{in_every_release, start, TIMEOUT};

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

//! Restarts and changes of the plugin lose no usage; a reset resets.

use std::time::Duration;

use slurm_testcluster::{Cluster, Job};

use crate::example;
use crate::support::{cluster, number, OURS, STOCK};

/// Account, user, raw shares and raw usage of every association.
fn shares_and_usage(cluster: &Cluster) -> Vec<[String; 4]> {
    let columns = ["Account", "User", "RawShares", "RawUsage"];
    let rows = cluster.sshare_rows().unwrap();
    rows.iter().map(|row| columns.map(|column| row.text(column).to_owned())).collect()
}

#[test]
fn usage_outlives_restarts_kills_and_changes_of_the_plugin() {
    let (mut cluster, _) = example::start(None);
    let before = shares_and_usage(&cluster);
    let tres = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc"]).unwrap();
        text.lines().filter(|line| line.contains("Grp")).map(str::to_owned).collect::<Vec<_>>()
    };
    let limits = tres(&cluster);
    assert!(limits.iter().any(|line| line.contains('(')), "{limits:?}");
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();
    assert_eq!(shares_and_usage(&cluster), before);
    for plugin in [STOCK, OURS, STOCK, OURS] {
        cluster.set("PriorityType", plugin).unwrap();
        cluster.restart_controller().unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(shares_and_usage(&cluster), before, "under {plugin}");
        assert_eq!(tres(&cluster), limits, "under {plugin}");
    }
    cluster.kill_controller().unwrap();
    cluster.start_controller().unwrap();
    cluster.wait_cycle().unwrap();
    assert_eq!(shares_and_usage(&cluster), before);
    example::assert_tree(&cluster);
    assert!(!cluster.log().contains("panic"), "{}", cluster.log());
}

#[test]
fn raw_usage_can_be_reset() {
    let (cluster, _) = example::start(None);
    let sacctmgr = |arguments: &[&str]| cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
    let raw = |account: &str, user: &str| cluster.share(account, user).unwrap().text("RawUsage").to_owned();
    sacctmgr(&["modify", "user", "where", "user=user2", "account=c", "set", "RawUsage=0"]);
    let reset = |cluster: &Cluster| Ok((cluster.share("c", "user2")?.text("RawUsage") == "0").then_some(()));
    cluster.wait_for("the reset", Duration::from_secs(20), reset).unwrap();
    assert_eq!(["root", "a", "c"].map(|account| raw(account, "")), ["750000", "200000", "0"]);
    cluster.wait_cycle().unwrap();
    // user1 has 0.2 of 0.75 now.
    let row = cluster.share("b", "user1").unwrap();
    assert!((number(&row, "NormUsage") - 0.2 / 0.75).abs() < 1e-6, "{row:?}");

    sacctmgr(&["modify", "account", "where", "account=e", "set", "RawUsage=0"]);
    let reset = |cluster: &Cluster| Ok((cluster.share("e", "user4")?.text("RawUsage") == "0").then_some(()));
    cluster.wait_for("the reset of an account", Duration::from_secs(20), reset).unwrap();
    cluster.wait_cycle().unwrap();
    assert_eq!(["root", "d", "e"].map(|account| raw(account, "")), ["500000", "0", "0"]);
}

/// `PriorityUsageResetPeriod=NOW` clears all usage at the first cycle after the start.
#[test]
fn the_reset_period_now_clears_everything_under_both_plugins() {
    for plugin in [STOCK, OURS] {
        let mut cluster = cluster()
            .priority_type(plugin)
            .accounts(&example::tree())
            .usage(&example::usage())
            .start()
            .unwrap();
        cluster.submit(&Job::new("user2")).unwrap();
        cluster.wait_cycle().unwrap();
        cluster.set("PriorityUsageResetPeriod", "NOW").unwrap();
        cluster.restart_controller().unwrap();
        cluster.wait_cycle().unwrap();
        let left: f64 = cluster.sshare_rows().unwrap().iter().map(|row| number(row, "RawUsage")).sum();
        assert!(left.abs() < 0.5, "{plugin}: {left} s are left");
    }
}

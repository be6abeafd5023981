//! What `sprio` shows whom: as with stock under `PrivateData=jobs`, and under MCS labels.

use std::collections::BTreeMap;
use std::time::Duration;

use slurm_testcluster::{Cluster, Job};

use crate::example;
use crate::support::{cluster, OURS, STOCK};

/// Who asks: owners of jobs, a user without, a coordinator of account e, and the administrator.
const VIEWERS: [&str; 5] = ["user2", "user5", "user3", "user4", "root"];

/// Ids of the jobs that each of them sees.
fn seen(plugin: &str, settings: &[(&str, &str)]) -> BTreeMap<&'static str, Vec<String>> {
    let mut builder = cluster().priority_type(plugin).accounts(&example::tree());
    for (name, value) in settings {
        builder = builder.set(name, value);
    }
    let cluster = builder.start().unwrap();
    cluster
        .command("sacctmgr")
        .args(["-i", "add", "coordinator", "account=f", "names=user4"])
        .text()
        .unwrap();
    for user in ["user2", "user5", "user5"] {
        cluster.submit(&Job::new(user)).unwrap();
    }
    cluster.wait_cycle().unwrap();
    let shown = |cluster: &Cluster, user: &str| -> Vec<String> {
        let text = cluster.command("sprio").user(user).unwrap().args(["-h", "-o", "%i"]).text().unwrap();
        text.split_whitespace().map(str::to_owned).collect()
    };
    cluster
        .wait_for("sprio to show all jobs to root", Duration::from_secs(20), |cluster| {
            Ok((shown(cluster, "root").len() == 3).then_some(()))
        })
        .unwrap();
    VIEWERS.iter().map(|&user| (user, shown(&cluster, user))).collect()
}

#[test]
fn sprio_shows_each_user_what_stock_shows() {
    let by_label = [
        ("PrivateData", "jobs"),
        ("MCSPlugin", "mcs/user"),
        ("MCSParameters", "enforced,noselect,privatedata"),
    ];
    for (settings, of_coordinator) in [(&by_label[..0], 3), (&by_label[..1], 2), (&by_label[..], 0)] {
        let (stock, ours) = (seen(STOCK, settings), seen(OURS, settings));
        assert_eq!(ours, stock, "{settings:?}");
        let private = !settings.is_empty();
        let counts = VIEWERS.map(|user| ours[user].len());
        let expected = if private { [1, 2, 0, of_coordinator, 3] } else { [3; 5] };
        assert_eq!(counts, expected, "{settings:?}: {ours:?}");
    }
}

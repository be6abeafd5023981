//! The documented example, as an administrator sees it.

use slurm_testcluster::{parse_rows, Account, Accounts, Cluster, Job};

use crate::support::{as_printed, cluster, number, sprio_of};

/// The example's account tree. The usage of 30 % that nobody of the eleven has is in an account without shares.
pub fn tree() -> Accounts {
    let b = Account::new("b", 30).user("user1", 1);
    let c = Account::new("c", 10).user("user2", 1).user("user3", 1);
    let e = Account::new("e", 25).user("user4", 1);
    let f = Account::new("f", 35).user("user5", 1);
    Accounts::new()
        .account(Account::new("a", 40).account(b).account(c))
        .account(Account::new("d", 60).account(e).account(f))
        .account(Account::new("others", 0).user("other", 0))
}

/// The example's usage: account, user, seconds.
pub const USAGE: [(&str, &str, f64); 4] = [
    ("b", "user1", 200_000.0),
    ("c", "user2", 250_000.0),
    ("e", "user4", 250_000.0),
    ("others", "other", 300_000.0),
];

const COLUMNS: [&str; 4] = ["NormShares", "NormUsage", "EffectvUsage", "LevelFS"];

/// Account, user, S, U, effective usage, F.
const NODES: [(&str, &str, [f64; 4]); 11] = [
    ("a", "", [0.4, 0.45, 0.45, 0.888_889]),
    ("b", "", [0.3, 0.2, 0.2, 1.5]),
    ("b", "user1", [0.3, 0.2, 0.2, 1.5]),
    ("c", "", [0.1, 0.25, 0.25, 0.4]),
    ("c", "user2", [0.05, 0.25, 0.25, 0.2]),
    ("c", "user3", [0.05, 0.0, 0.0005, 100.0]),
    ("d", "", [0.6, 0.25, 0.25, 2.4]),
    ("e", "", [0.25, 0.25, 0.25, 1.0]),
    ("e", "user4", [0.25, 0.25, 0.25, 1.0]),
    ("f", "", [0.35, 0.0, 0.0035, 100.0]),
    ("f", "user5", [0.35, 0.0, 0.0035, 100.0]),
];

/// Account, user, fair-share factor: that of pending jobs, and what a job of the others would get.
///
/// user1 (S*F = 0.45) would share the level of A, where A has 0.355556 of 1.795556, with C (0.04); user3 (5) would
/// share that of C with user2 (0.01); user4 (0.25) that of D, which has 1.44, with F (35).
const FACTORS: [(&str, &str, f64); 5] = [
    ("c", "user2", 0.246_914),
    ("f", "user5", 1.0),
    ("b", "user1", 0.246_914 * 0.45 / (0.45 + 0.04)),
    ("c", "user3", 0.246_914 * 5.0 / (5.0 + 0.01)),
    ("e", "user4", 0.25 / (0.25 + 35.0)),
];

/// Starts the example with one pending job each of user 2 and user 5, as no user's default says otherwise.
pub fn start(flags: Option<&str>) -> (Cluster, [u32; 2]) {
    let mut builder = cluster().accounts(&tree()).usage(&USAGE);
    if let Some(flags) = flags {
        builder = builder.set("PriorityFlags", flags);
    }
    let cluster = builder.start().unwrap();
    let jobs = ["user2", "user5"].map(|user| cluster.submit(&Job::new(user)).unwrap());
    cluster.wait_cycle().unwrap();
    (cluster, jobs)
}

/// All columns of the eleven nodes.
pub fn assert_tree(cluster: &Cluster) {
    let text = cluster.sshare(&["-aP", "-o", &format!("Account,User,{}", COLUMNS.join(","))]).unwrap();
    let rows = parse_rows(&text);
    for (account, user, expected) in NODES {
        let row = rows.iter().find(|row| row.text("Account") == account && row.text("User") == user);
        let row = row.unwrap_or_else(|| panic!("sshare does not show {account}/{user}"));
        for (column, expected) in COLUMNS.iter().zip(expected) {
            let shown = number(row, column);
            assert!(as_printed(shown, expected), "{account}/{user} {column}: {shown} instead of {expected}");
        }
    }
}

#[test]
fn the_documented_example_under_the_default_flags() {
    let (cluster, [of_user2, of_user5]) = start(None);
    assert_tree(&cluster);
    for (account, user, expected) in FACTORS {
        let shown = number(&cluster.share(account, user).unwrap(), "FairShare");
        assert!(as_printed(shown, expected), "{account}/{user} FairShare: {shown} instead of {expected}");
    }

    let [second, fifth] = [of_user2, of_user5].map(|job| sprio_of(&cluster, job));
    assert_eq!((second.text("FAIRSHARE"), fifth.text("FAIRSHARE")), ("24691", "100000"));
    assert_eq!((second.text("PRIORITY"), fifth.text("PRIORITY")), ("24691", "100000"));
    let normalised = cluster.sprio(&["-h", "-n", "-o", "%i %f"]).unwrap();
    let normalised: Vec<&str> = normalised.split_whitespace().collect();
    assert_eq!(
        normalised,
        [of_user2.to_string(), "0.2469136".into(), of_user5.to_string(), "1.0000000".into()]
    );
    let table = cluster.sprio(&["-l"]).unwrap();
    assert!(table.contains("24691") && table.contains("100000"), "{table}");
}

/// The flags choose between stock's formulas; the documented columns do not depend on them. Only sshare's `FairShare`
/// does: with `NO_FAIR_TREE` sshare asks the plugin in its own process, which can only give F.
#[test]
fn without_fair_tree_the_numbers_are_the_same_and_sshare_shows_f() {
    let (cluster, [of_user2, of_user5]) = start(Some("NO_FAIR_TREE"));
    assert_tree(&cluster);
    assert_eq!(sprio_of(&cluster, of_user2).text("FAIRSHARE"), "24691");
    assert_eq!(sprio_of(&cluster, of_user5).text("FAIRSHARE"), "100000");
    for (account, user, expected) in NODES {
        let shown = cluster.command("sshare").args(["-alP"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "");
        let row = cluster.share(account, user).unwrap();
        let shown = number(&row, "FairShare");
        assert!(as_printed(shown, expected[3]), "{account}/{user}: {shown} instead of {}", expected[3]);
    }
}

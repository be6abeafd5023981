//! The documented example, as an administrator sees it.

use multifactor2_fixtures::example::{named, FACTORS, NUMBERS};
pub use slurm_testcluster::example::{tree, usage};
use slurm_testcluster::{parse_rows, Cluster, Job};

use crate::support::{as_printed, cluster, number, sprio_of};

const COLUMNS: [&str; 4] = ["NormShares", "NormUsage", "EffectvUsage", "LevelFS"];

/// Starts the example with one pending job each of user 2 and user 5, as no user's default says otherwise.
pub fn start(flags: Option<&str>) -> (Cluster, [u32; 2]) {
    let mut builder = cluster().accounts(&tree()).usage(&usage());
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
    for (name, s, u, u_eff, f) in NUMBERS {
        let node = named(name);
        let row =
            rows.iter().find(|row| row.text("Account") == node.account && row.text("User") == node.user);
        let row = row.unwrap_or_else(|| panic!("sshare does not show {name}"));
        for (column, expected) in COLUMNS.iter().zip([s, u, u_eff, f]) {
            let shown = number(row, column);
            assert!(as_printed(shown, expected), "{name} {column}: {shown} instead of {expected}");
        }
    }
}

#[test]
fn the_documented_example_under_the_default_flags() {
    let (cluster, [of_user2, of_user5]) = start(None);
    assert_tree(&cluster);
    for (user, expected) in FACTORS {
        let shown = number(&cluster.share(named(user).account, user).unwrap(), "FairShare");
        assert!(as_printed(shown, expected), "{user} FairShare: {shown} instead of {expected}");
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
    for (name, .., f) in NUMBERS {
        let shown = cluster.command("sshare").args(["-alP"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "");
        let row = cluster.share(named(name).account, named(name).user).unwrap();
        let shown = number(&row, "FairShare");
        assert!(as_printed(shown, f), "{name}: {shown} instead of {f}");
    }
}

/// Worked out by hand. F is 0.888889 for A and 2.4 for D at the top, and 100 for user5 below F, alone at every level below D.
///
/// standing: A has 0.888889 / 2.4 = 0.370370 of what D has, and user2 is alone below it. In sshare user3, with F = 100, would be
/// the best below C, and user4 would be one hundredth of F.
///
/// strict: the same for user2. D has the part from 0.370370 to 1, of which E would have one hundredth: 0.376667 for user4.
///
/// log: 1 + log10(0.370370) / 6 = 0.928106; for tickets 1 + log10(0.246914) / 6 = 0.898758.
#[test]
fn the_documented_example_under_the_other_distributions() {
    let (cluster, jobs) = start(None);
    let file = cluster.directory().join("multifactor2.conf");
    for (settings, [second, fourth], points) in [
        ("Distribution=standing", [0.370_370, 0.01], "37037"),
        ("Distribution=strict", [0.370_370, 0.376_667], "37037"),
        ("Distribution=standing\nFairShareScale=log", [0.928_106, 0.666_667], "92811"),
        ("FairShareScale=log", [0.898_758, 0.0], "89876"),
        ("", [0.246_914, 0.0], "24691"),
    ] {
        std::fs::write(&file, format!("{settings}\n")).unwrap();
        cluster.reconfigure().unwrap();
        cluster.wait_cycle().unwrap();
        assert_tree(&cluster);
        let shares = jobs.map(|job| sprio_of(&cluster, job).text("FAIRSHARE").to_owned());
        assert_eq!(shares, [points, "100000"], "{settings}");
        for (user, expected) in [("user2", second), ("user4", fourth), ("user5", 1.0)] {
            let shown = number(&cluster.share(named(user).account, user).unwrap(), "FairShare");
            let said = expected > 0.0;
            assert!(!said || as_printed(shown, expected), "{settings}: {user} {shown} instead of {expected}");
        }
    }
}

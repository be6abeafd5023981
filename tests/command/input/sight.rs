//! What `PrivateData` hides.

use crate::recorded::{snapshot, RELEASES};

#[test]
fn jobs_hide_the_queue_and_not_the_tree() {
    for release in RELEASES {
        let snapshot = snapshot(release, "jobs-ada");
        assert!(snapshot.about.partial_queue && !snapshot.about.partial_tree, "{release}");
        assert!(snapshot.jobs.iter().all(|job| job.user == "ada") && snapshot.jobs.len() > 3, "{release}");
        assert!(snapshot.jobs.iter().any(|job| job.is_computed), "{release}");
        let said = snapshot.about.hidden.join("\n");
        assert!(said.contains("PrivateData=jobs hides the jobs of others"), "{said}");
    }
}

#[test]
fn usage_hides_everything_above_and_beside() {
    for release in RELEASES {
        let snapshot = snapshot(release, "usage-ada");
        assert!(snapshot.about.partial_tree && !snapshot.about.partial_queue, "{release}");
        let [own] = &snapshot.associations[..] else { panic!("{release}: {:?}", snapshot.associations) };
        assert_eq!((own.account.as_str(), own.user.as_str(), own.parent), ("physics", "ada", 0), "{release}");
        assert!(own.factor > Some(0.0), "{release}");
        let said = snapshot.about.hidden.join("\n");
        assert!(said.contains("PrivateData=usage hides") && said.contains("1 are shown"), "{said}");
    }
}

#[test]
fn a_coordinator_sees_the_account_and_not_what_is_above_it() {
    for release in RELEASES {
        let snapshot = snapshot(release, "all-kurt");
        assert!(snapshot.about.partial_tree && snapshot.about.partial_queue, "{release}");
        let names: Vec<(&str, &str)> =
            snapshot.associations.iter().map(|row| (row.account.as_str(), row.user.as_str())).collect();
        assert!(names.contains(&("chem", "")) && names.contains(&("chem", "otto")), "{release}: {names:?}");
        assert!(names.iter().all(|(account, _)| *account == "chem"), "{release}: {names:?}");
        let chem = snapshot.associations.iter().find(|row| row.user.is_empty()).unwrap();
        assert_eq!(chem.parent, 0, "{release}");
        assert!(
            snapshot.associations.iter().all(|row| row.user.is_empty() || row.parent == chem.id),
            "{release}"
        );
        assert!(snapshot.jobs.iter().any(|job| job.user == "otto"), "{release}");
    }
}

#[test]
fn an_operator_sees_all() {
    for release in RELEASES {
        let snapshot = snapshot(release, "all-olga");
        assert!(!snapshot.about.partial_tree && !snapshot.about.partial_queue, "{release}");
        assert_eq!(snapshot.associations.len(), 16, "{release}");
        assert!(
            snapshot.about.hidden.iter().all(|line| !line.contains("PrivateData")),
            "{:?}",
            snapshot.about.hidden
        );
    }
}

/// slurmctld up to 22.05 sends what scontrol cannot read, later ones refuse.
#[test]
fn who_is_unknown_to_accounting_sees_nothing_and_is_told() {
    for release in RELEASES {
        let snapshot = snapshot(release, "all-nemo");
        assert!(snapshot.associations.is_empty() && snapshot.jobs.is_empty(), "{release}");
        assert!(snapshot.about.partial_tree && snapshot.about.partial_queue, "{release}");
        let said = snapshot.about.hidden.join("\n");
        assert!(said.contains("scontrol show assoc_mgr gave no answer"), "{release}: {said}");
    }
}

#[test]
fn users_and_accounts_hide_no_association() {
    for release in ["22.05.8", "24.11.5"] {
        for case in ["users-ada", "accounts-ada"] {
            let snapshot = snapshot(release, case);
            assert_eq!(snapshot.associations.len(), 16, "{release} {case}");
            assert!(!snapshot.about.partial_tree, "{release} {case}");
        }
        let said = snapshot(release, "users-ada").about.hidden.join("\n");
        assert!(said.contains("PrivateData=users hides"), "{said}");
    }
}

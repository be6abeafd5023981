//! Associations, partitions and QOS.

use multifactor2_command::algorithm::Algorithm;
use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::records::Association;
use multifactor2_snapshot::Snapshot;

use crate::recorded::{snapshot, RELEASES};

fn find<'a>(snapshot: &'a Snapshot, account: &str, user: &str, partition: &str) -> &'a Association {
    let is_it = |row: &&Association| row.account == account && row.user == user && row.partition == partition;
    snapshot.associations.iter().find(is_it).unwrap_or_else(|| panic!("{account} {user} {partition}"))
}

fn above<'a>(snapshot: &'a Snapshot, row: &Association) -> &'a str {
    snapshot.associations.iter().find(|above| above.id == row.parent).map_or("", |above| &above.account)
}

#[test]
fn sshare_has_no_parents_and_names_accounts_again_on_rows_of_users() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert_eq!(snapshot.associations.len(), 16, "{release}");
        for (account, user, parent) in [
            ("root", "", ""),
            ("root", "root", "root"),
            ("physics", "", "root"),
            ("physics", "ada", "physics"),
            ("theory", "", "physics"),
            ("theory", "lise", "theory"),
            ("chem", "otto", "chem"),
        ] {
            assert_eq!(
                above(&snapshot, find(&snapshot, account, user, "")),
                parent,
                "{release} {account} {user}"
            );
        }
        for (at, row) in snapshot.associations.iter().enumerate() {
            let is_before = snapshot.associations[..at].iter().any(|above| above.id == row.parent);
            assert!(is_before || row.parent == 0, "{release}: {row:?}");
        }
    }
}

#[test]
fn without_show_assoc_mgr_parents_are_those_that_indents_show() {
    for release in RELEASES {
        let mut texts = crate::recorded::texts(release, "multifactor2-root");
        texts.texts.remove("associations");
        texts.manifest.failed.insert("associations".to_owned(), "Invalid user id".to_owned());
        let blind = multifactor2_command::input::assemble(&texts, None).unwrap();
        let known = snapshot(release, "multifactor2-root");
        assert_eq!(blind.associations.len(), known.associations.len());
        for row in &known.associations {
            let same = find(&blind, &row.account, &row.user, &row.partition);
            assert_eq!((same.id, same.parent), (row.id, row.parent), "{release}: {row:?}");
        }
        let said = blind.about.hidden.join("\n");
        assert!(said.contains("scontrol show assoc_mgr gave no answer (Invalid user id)"), "{said}");
    }
}

#[test]
fn an_association_of_a_partition_is_one_of_its_own() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let (all, gpu) = (find(&snapshot, "chem", "otto", ""), find(&snapshot, "chem", "otto", "gpu"));
        assert_eq!((all.shares, gpu.shares, all.parent), (10, 5, gpu.parent), "{release}");
        assert_ne!(all.id, gpu.id);
    }
}

#[test]
fn parent_as_shares_is_a_number_and_roots_shares_are_blank() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert_eq!(find(&snapshot, "theory", "", "").shares, USE_PARENT, "{release}");
        assert_eq!(find(&snapshot, "theory", "mara", "").shares, USE_PARENT, "{release}");
        assert_eq!(find(&snapshot, "theory", "mara", "").level_fs, None, "{release}");
        assert_eq!(find(&snapshot, "root", "", "").shares, 1, "{release}");
        assert_eq!(find(&snapshot, "root", "root", "").shares, 0, "{release}");
    }
}

#[test]
fn raw_usage_has_two_places_that_sshare_does_not_print() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert!((find(&snapshot, "theory", "lise", "").usage - 1234.5).abs() < 1e-9, "{release}");
    }
}

#[test]
fn priorities_of_associations_come_from_slurmctld() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let (chem, ada) = (find(&snapshot, "chem", "kurt", ""), find(&snapshot, "physics", "ada", ""));
        assert_eq!((chem.priority, ada.priority), (10, 0), "{release}");
        assert!((chem.priority_norm - 1.0).abs() < 1e-9, "{release}");
    }
}

#[test]
fn factors_are_those_of_users_and_infinite_levels_have_no_number() {
    for release in RELEASES {
        let ours = snapshot(release, "multifactor2-root");
        assert!(ours.associations.iter().all(|row| row.factor.is_some() != row.user.is_empty()), "{release}");
        let stock = snapshot(release, "fair-tree-root");
        // sshare prints inf.
        assert_eq!(find(&stock, "physics", "emmy", "").level_fs, None, "{release}");
        assert!((find(&stock, "physics", "emmy", "").factor.unwrap() - 0.9).abs() < 1e-9, "{release}");
        // Classic fair-share has no levels, and sshare prints zeros, and factors of accounts.
        let classic = snapshot(release, "classic-root");
        assert!(classic.associations.iter().all(|row| row.level_fs.is_none()), "{release}");
        assert!(
            classic.associations.iter().all(|row| row.factor.is_some() != row.user.is_empty()),
            "{release}"
        );
        assert!(find(&classic, "chem", "otto", "").usage_effective > 0.9, "{release}");
    }
}

#[test]
fn the_algorithm_is_recognised() {
    for release in RELEASES {
        for (case, expected) in [
            ("multifactor2-root", Algorithm::Multifactor2),
            ("fair-tree-root", Algorithm::FairTree),
            ("classic-root", Algorithm::Classic),
            ("basic-root", Algorithm::Basic),
        ] {
            assert_eq!(Algorithm::of(&snapshot(release, case)), expected, "{release}");
        }
    }
}

#[test]
fn under_basic_there_are_no_factors_and_no_complaint_of_sprio() {
    for release in RELEASES {
        let snapshot = snapshot(release, "basic-root");
        assert!(snapshot.associations.iter().all(|row| row.factor.is_none()), "{release}");
        assert!(snapshot.about.hidden.is_empty(), "{:?}", snapshot.about.hidden);
    }
}

#[test]
fn a_name_with_marks_in_it_is_whole() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert_eq!(find(&snapshot, "r&d.x-1_y-longer-than-20", "ida", "").shares, 1, "{release}");
        let job = snapshot.jobs.iter().find(|job| job.user == "ida").unwrap();
        assert_eq!(job.account, "r&d.x-1_y-longer-than-20", "{release}");
    }
}

#[test]
fn partitions_are_all_there_hidden_ones_too() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let names: Vec<&str> = snapshot.partitions.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["main", "held", "gpu", "secret"], "{release}");
        let held = &snapshot.partitions[1];
        assert_eq!((held.tier, held.job_factor, held.max_time), (3, 10, Some(1440)), "{release}");
        assert_eq!(held.state, "DOWN");
        assert!((snapshot.partitions[2].job_factor_norm - 0.5).abs() < 1e-9, "{release}");
        assert_eq!(snapshot.partitions[2].billing_weights, "CPU=2.0,Mem=0.25G", "{release}");
    }
}

/// 20.11 does not print TRES of partitions.
#[test]
fn the_cluster_is_what_its_partitions_have() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert_eq!((snapshot.about.cpus, snapshot.about.nodes), (16, 2), "{release}");
        assert_eq!((snapshot.tres[0].name.as_str(), snapshot.tres[0].count), ("cpu", 16), "{release}");
        assert_eq!(snapshot.tres[0].weight, Some(1000.0), "{release}");
        assert_eq!(
            (snapshot.tres[1].name.as_str(), snapshot.tres[1].weight),
            ("mem", Some(500.0)),
            "{release}"
        );
    }
}

#[test]
fn qos_have_what_slurmdbd_tells_of_them() {
    for release in RELEASES {
        let high =
            snapshot(release, "multifactor2-root").qos.into_iter().find(|qos| qos.name == "high").unwrap();
        assert_eq!((high.priority, high.usage_factor, high.usage_threshold), (1000, 2.5, None), "{release}");
        assert!(high.flags.contains(&"NoDecay".to_owned()), "{release}: {:?}", high.flags);
        let low =
            snapshot(release, "multifactor2-root").qos.into_iter().find(|qos| qos.name == "low").unwrap();
        assert_eq!((low.usage_threshold, low.usage), (Some(0.5), Some(0.0)), "{release}");
        // Without slurmdbd jobs tell what the priority of their QOS is worth.
        let mut texts = crate::recorded::texts(release, "multifactor2-root");
        texts.texts.remove("qos");
        let qos = multifactor2_command::input::assemble(&texts, None).unwrap().qos;
        assert!(
            (qos.iter().find(|qos| qos.name == "high").unwrap().priority_norm - 1.0).abs() < 1e-9,
            "{release}"
        );
    }
}

#[test]
fn one_cluster_of_several_is_the_same_with_a_line_more() {
    for release in RELEASES {
        let (one, all) = (snapshot(release, "cluster-root"), snapshot(release, "multifactor2-root"));
        assert_eq!(one.associations.len(), all.associations.len(), "{release}");
        assert_eq!(one.about.hidden, all.about.hidden, "{release}");
    }
}

#[test]
fn parameters_and_settings_are_those_of_the_controller() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert_eq!(snapshot.about.release, release);
        assert_eq!(snapshot.about.cluster, "test");
        // Not PriorityWeightFairshare, as slurm.conf(5) has it.
        assert_eq!(snapshot.parameter("PriorityWeightFairshare"), Some("100000"));
        assert_eq!(snapshot.parameter("MailDomain"), Some(""));
        let settings = snapshot.settings.as_ref().unwrap();
        assert_eq!(
            (settings[0].line.as_str(), settings[0].from.as_str()),
            ("ActiveJobs=pending", "PriorityParameters")
        );
        assert_eq!(snapshot.about.hidden, [""; 0], "{release}");
        assert!((snapshot.about.taken - snapshot.about.time).abs() < 60, "{release}");
        assert!(!snapshot.about.partial_tree && !snapshot.about.partial_queue, "{release}");
    }
}

#[test]
fn settings_that_nobody_tells_are_unknown() {
    for release in RELEASES {
        let mut texts = crate::recorded::texts(release, "multifactor2-root");
        let config = texts.texts.get_mut("config").unwrap();
        *config = config.replace("ActiveJobs=pending", "(null)");
        let snapshot = multifactor2_command::input::assemble(&texts, None).unwrap();
        assert_eq!(snapshot.settings, None);
    }
}

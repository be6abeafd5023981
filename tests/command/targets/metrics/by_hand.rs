//! Clusters by hand: nobody is named who was not asked for, what is not known is not there, jobs count for whom the target is for, and ten thousand users
//! are no more series than fifty.

use std::collections::BTreeMap;

use multifactor2_command::answers::metrics::Users;
use multifactor2_snapshot::records::{Association, Group, Job};
use multifactor2_snapshot::Snapshot;

use super::super::{in_windows, small};
use super::{alone, everybody, metrics, named, near, value, whole};
use crate::outputs::Sample;
use crate::recorded;
use crate::site;

/// Moab's example of windows, by hand.
#[test]
fn windows_are_those_of_the_example() {
    let all = metrics(&in_windows(), Some(named(&["ada"])), None);
    let labels = "kind=\"User\",name=\"ada\",of=\"all\"";
    near(value(&all, "window_used_seconds", labels), Some(68.75 * 3600.0), "all");
    near(value(&all, "window_usage_ratio", labels), Some(68.75 / 216.25), "all");
    near(value(&all, "window_current_used_seconds", labels), Some(60.0 * 3600.0), "all");
    for (metric, due) in [
        ("windows_begin_timestamp_seconds", 0.0),
        ("windows_length_seconds", 43_200.0),
        ("windows_depth", 4.0),
    ] {
        near(alone(&all, metric), Some(due), metric);
    }
    let unnamed = metrics(&in_windows(), None, None);
    assert!(
        !unnamed.contains_key("window_used_seconds") && !unnamed.contains_key("target_ratio"),
        "{unnamed:?}"
    );
}

/// The names of users are there only where that was asked for, whatever the target; how many they are is.
#[test]
fn nobody_is_named_who_was_not_asked_for() {
    let lines = "Component=FS FSUser=1 FSParent=1\nTarget=User Name=* Percent=50 Type=floor\nTarget=User Name=ada Amount=0.1 Type=cap\n\
                 Target=Parent Name=physics Percent=50\nTarget=Account Name=* Percent=20";
    let site = small(lines, &[]);
    for (users, there, hidden) in [
        (None, &[][..], &["ada", "john"][..]),
        (Some(named(&["ada"])), &["ada"], &["john"]),
        (Some(Users::Top(1)), &["ada"], &["john"]),
    ] {
        let all = metrics(&site, users.clone(), None);
        let text = format!("{all:?}");
        for name in there {
            assert!(
                text.contains(&format!("name=\\\"{name}\\\""))
                    && text.contains(&format!("name=\\\"{name} in ")),
                "{text}"
            );
        }
        assert!(hidden.iter().all(|name| !text.contains(name)), "{users:?}: {text}");
        assert!(text.contains("physics"), "{text}");
        let count = |metric: &str, of: &str| whole(value(&all, metric, of).unwrap());
        assert_eq!(count("targets", "kind=\"User\",type=\"floor\""), 2);
        assert_eq!(count("targets_omitted", "kind=\"User\",type=\"floor\""), 2 - there.len());
        // 550 seconds are more than a tenth of an hour.
        let cap = "kind=\"User\",type=\"cap\"";
        assert_eq!(count("targets_missed", cap), 1);
        assert_eq!(count("targets_omitted_missed", cap), 1 - there.len());
    }
}

/// John is farther from the floor, and takes no place from ada where she alone was asked for.
#[test]
fn who_is_not_named_takes_no_place() {
    let lines = "Component=FS FSUser=1\nTarget=User Name=* Percent=50 Type=floor";
    for (users, due) in [(&["ada"][..], "ada"), (&["ada", "john"], "john")] {
        let all = metrics(&small(lines, &[]), Some(named(users)), Some(1));
        let labels: Vec<&String> = all["target_is_missed"].keys().collect();
        assert_eq!(labels, [&format!("kind=\"User\",name=\"{due}\",of=\"all\",type=\"floor\"")]);
        assert_eq!(whole(value(&all, "targets_omitted", "kind=\"User\",type=\"floor\"").unwrap()), 1);
    }
}

/// What is allowed to the last second is no miss; a second more is.
#[test]
fn what_is_just_reached_is_not_missed() {
    let lines = "Component=FS FSAccount=1\nTarget=Account Name=physics Percent=50 Type=TYPE";
    for (of_type, used, is_missed) in [
        ("cap", 500.0, 0.0),
        ("cap", 501.0, 1.0),
        ("floor", 500.0, 0.0),
        ("floor", 499.0, 1.0),
        ("ceiling", 500.0, 0.0),
        ("ceiling", 501.0, 1.0),
    ] {
        let mut site = small(&lines.replace("TYPE", of_type), &[]);
        for at in [1, 2] {
            site.associations[at].usage = used;
        }
        let all = metrics(&site, None, None);
        let labels = format!("kind=\"Account\",name=\"physics\",of=\"all\",type=\"{of_type}\"");
        near(value(&all, "target_is_missed", &labels), Some(is_missed), &format!("{of_type} {used}"));
        near(
            value(&all, "targets_missed", &format!("kind=\"Account\",type=\"{of_type}\"")),
            Some(is_missed),
            of_type,
        );
    }
}

/// Jobs that compete, by whom each counts for; with a book those of its partitions.
#[test]
fn jobs_are_those_of_whom_the_target_is_for() {
    let lines = "Book=cards Partitions=gpu\nComponent=FS FSUser=1 FSParent=1 FSAccount=1 FSQOS=1 FSGroup=1\n\
                 Target=User Name=john Percent=50\nTarget=User Name=john Percent=50 Book=cards\nTarget=Parent Name=physics Percent=40\n\
                 Target=Account Name=history Percent=5\nTarget=QOS Name=high Percent=9\nTarget=Partition Name=gpu Percent=10\n\
                 Target=Group Name=lab Percent=10";
    let mut site = small(lines, &[("book cards", "association", "1", 100.0)]);
    site.groups.push(Group { name: "lab".to_owned(), id: 7 });
    for (id, at, partition, qos, group, competes) in [
        (1, 2, "gpu", "normal", 7, true),
        (2, 4, "main", "high", 8, true),
        (3, 5, "main", "normal", 7, true),
        (4, 2, "gpu", "normal", 7, false),
    ] {
        let job = site::job(id, &site.associations[at]);
        let (partition, qos, group) = (partition.to_owned(), qos.to_owned(), Some(group));
        site.jobs.push(Job { partition, qos, group, competes, ..job });
    }
    let jobs = |site: &Snapshot| {
        let all = metrics(site, Some(everybody(site)), None);
        let series = all["target_competing_jobs"].iter();
        let of = series.map(|(labels, jobs)| {
            let label = |name: &str| {
                let found =
                    labels.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
                found.unwrap_or_default().to_owned()
            };
            (format!("{} {} {}", label("kind"), label("name"), label("book")).trim().to_owned(), whole(*jobs))
        });
        of.collect::<BTreeMap<String, usize>>()
    };
    let found = jobs(&site);
    for (whom, due) in [
        ("User john", 2),
        ("User john cards", 1),
        ("Parent physics", 1),
        ("Parent history", 2),
        ("Parent john in history", 1),
        ("Account history", 2),
        ("QOS high", 1),
        ("Partition gpu", 1),
        ("Group lab", 2),
    ] {
        assert_eq!(found.get(whom), Some(&due), "{whom}: {found:?}");
    }
    // Of one job nobody told the group.
    site.jobs[1].group = None;
    let found = jobs(&site);
    assert!(!found.contains_key("Group lab") && found["User john"] == 2, "{found:?}");
}

/// What is hidden or was told by no plugin is unknown, and has no series; an earlier release tells no windows; where there are no targets nothing is unknown.
#[test]
fn what_is_not_known_is_not_there() {
    let lines = "Component=FS FSUser=1\nTarget=Account Name=* Percent=50\nTarget=Partition Name=gpu Percent=50 Window=yes";
    let known = small(lines, &[("window", "partition", "gpu", 50.0), ("window", "all", "", 100.0)]);
    let all = metrics(&known, None, None);
    near(alone(&all, "targets_are_unknown"), Some(0.0), "known");
    near(alone(&all, "windows_are_unknown"), Some(1.0), "an earlier release");
    assert!(all.contains_key("target_ratio") && !all.contains_key("window_used_seconds"), "{all:?}");
    let series = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = known.clone();
        change(&mut snapshot);
        let all = metrics(&snapshot, None, None);
        let others = all.keys().filter(|name| !name.ends_with("are_unknown")).count();
        (alone(&all, "targets_are_unknown"), alone(&all, "windows_are_unknown"), others)
    };
    let unknown = (Some(1.0), Some(1.0), 0);
    assert_eq!(series(&|of| of.about.source = "commands".to_owned()), unknown);
    assert_eq!(series(&|of| of.settings = None), unknown);
    assert_eq!(series(&|of| of.about.partial_tree = true), unknown);
    let none = (Some(0.0), Some(0.0), 0);
    assert_eq!(series(&|of| of.settings = Some(Vec::new())), none);
    assert_eq!(series(&|of| of.about.priority_type = "priority/multifactor".to_owned()), none);
    for release in recorded::RELEASES {
        let hidden = ["multifactor2-root", "usage-ada", "users-ada", "accounts-ada", "all-ada"];
        for recording in hidden.into_iter().filter(|name| recorded::directory(release).join(name).exists()) {
            let mut snapshot = recorded::snapshot(release, recording);
            snapshot.settings = Some(Vec::new());
            lines.lines().for_each(|line| site::set(&mut snapshot, line));
            let all = metrics(&snapshot, None, None);
            assert_eq!(all.len(), 2, "{release} {recording}: {all:?}");
            near(alone(&all, "targets_are_unknown"), Some(1.0), recording);
        }
    }
}

/// Ten thousand users with a floor and a cap each, and a thousand accounts with levels of their own.
#[test]
fn users_and_accounts_do_not_multiply_series() {
    let lines = "Component=FS FSUser=1 FSParent=1\nTarget=User Name=* Percent=1 Type=floor\nTarget=User Name=* Amount=1 Type=cap\n\
                 Target=Account Name=* Percent=1\nTarget=Parent Name=account1 Percent=5";
    let mut site = site::empty();
    let mut association = |id: u32, parent: u32, account: &str, user: &str, usage: f64| {
        site.associations.push(Association {
            id,
            parent,
            account: account.to_owned(),
            user: user.to_owned(),
            shares: 1,
            usage,
            ..Association::default()
        });
    };
    association(1, 0, "root", "", 1e8);
    for number in 0..1000 {
        association(number + 2, 1, &format!("account{number}"), "", 1e5);
    }
    for number in 0..10_000 {
        let account = number % 1000;
        association(
            number + 2000,
            account + 2,
            &format!("account{account}"),
            &format!("user{number}"),
            1e4 + f64::from(number),
        );
    }
    lines.lines().for_each(|line| site::set(&mut site, line));
    for (users, targets, most) in [
        (None, None, 50),
        (Some(Users::Top(1000)), None, 50),
        (Some(Users::Top(1000)), Some(7), 7),
        (Some(everybody(&site)), Some(1000), 1000),
        (Some(Users::Top(10)), Some(0), 0),
    ] {
        let has_users = users.is_some();
        let all = metrics(&site, users, targets);
        for (metric, series) in all.iter().filter(|(metric, _)| metric.starts_with("target_")) {
            let mut by_type = BTreeMap::<&str, usize>::new();
            for labels in series.keys() {
                *by_type.entry(labels.rsplit("type=\"").next().unwrap()).or_default() += 1;
            }
            assert!(by_type.values().all(|count| *count <= most), "{metric}: {by_type:?}");
        }
        assert_eq!(all.contains_key("target_ratio"), most > 0);
        let count = |metric: &str, kind: &str, of_type: &str| {
            whole(value(&all, metric, &format!("kind=\"{kind}\",type=\"{of_type}\"")).unwrap())
        };
        assert_eq!(count("targets", "User", "floor"), 10_000);
        assert_eq!(count("targets_omitted", "User", "cap"), if has_users { 10_000 - most } else { 10_000 });
        assert_eq!(count("targets", "Account", "target"), 1001);
        assert_eq!(all["targets"].len(), 5, "{:?}", all["targets"]);
        if has_users && most == 7 {
            // All caps are exceeded; those that are fullest are the last.
            let full: Vec<&String> = all["target_left_seconds"].keys().collect();
            assert!(full.iter().all(|labels| labels.contains("name=\"user999")), "{full:?}");
        }
    }
}

#[test]
fn a_number_that_cannot_be_is_refused() {
    let site = Sample::new(&small("Component=FS FSUser=1\nTarget=Account Name=* Percent=50", &[]));
    let few = site.ask(&["metrics", "--targets", "1"]).out;
    assert_eq!(few.matches("multifactor2_target_ratio{").count(), 1, "{few}");
    let many = site.ask(&["metrics"]).out;
    assert_eq!(many.matches("multifactor2_target_ratio{").count(), 3, "{many}");
    assert!(many == site.ask(&["metrics", "--targets", "50"]).out);
    for bad in ["-1", "1001", "x", ""] {
        let printed = site.ask(&["metrics", &format!("--targets={bad}")]);
        assert!(
            printed.status == 1 && printed.err.contains("must be a whole number from 0 to 1000"),
            "{printed:?}"
        );
    }
}

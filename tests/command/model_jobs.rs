//! What a model makes of jobs: who takes part, what they ask for, and what points, caps and grants do to them.

use multifactor2_command::model::{lacks_size, JobRank, Model, Options};
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::{Entry, Grant, Job, Running, Usage};
use multifactor2_snapshot::Snapshot;

use crate::site::{self, TIME};

/// The first job of the example, user2's, as the queue has it.
fn told(snapshot: &Snapshot) -> JobRank {
    Model::of(snapshot, Options::default()).jobs[0].clone()
}

/// The same worked out anew.
fn recomputed(snapshot: &Snapshot) -> JobRank {
    Model::of(snapshot, Options { recompute: true, ..Options::default() }).jobs[0].clone()
}

/// The example with these settings, and a change of that job.
fn with(lines: &[&str], change: impl Fn(&mut Job)) -> Snapshot {
    let mut snapshot = site::example();
    for line in lines {
        site::set(&mut snapshot, line);
    }
    change(&mut snapshot.jobs[0]);
    snapshot
}

/// `ActiveJobs=startable`
#[test]
fn who_can_start_takes_part_and_who_waits_for_a_reservation() {
    let competes = |reason: &str, eligible: i64, priority: u32| {
        let change = |job: &mut Job| {
            (job.reason, job.eligible, job.priority) = (reason.to_owned(), eligible, priority);
        };
        recomputed(&with(&["ActiveJobs=startable"], change)).competes
    };
    let (since, later) = (TIME - 60, TIME + 3600);
    assert!(competes("Priority", since, 1));
    assert!(!competes("Priority", later, 1) && !competes("AssocGrpCpuLimit", since, 1));
    // Until it begins they have no time from which on they are eligible.
    assert!(competes("Reservation", 0, 1) && competes("Reservation", since, 1));
    assert!(!competes("Reservation", 0, 0), "held");
    assert!(!competes("Reservation", later, 1), "it was submitted for a later time");
}

/// A snapshot of the plugin says who is stopped. Elsewhere slurmctld's reason does, where there is such a cap.
#[test]
fn who_is_stopped_by_a_cap_does_not_take_part() {
    let cap = "Target=User Name=user2 Percent=1 Type=cap Block=yes";
    let mut snapshot = with(&[cap], |_| ());
    assert!(told(&snapshot).competes);
    snapshot.jobs[0].stopped = true;
    assert!(!told(&snapshot).competes && told(&snapshot).is_stopped);
    snapshot.jobs[0].stopped = false;
    snapshot.about.source = "commands".to_owned();
    assert!(told(&snapshot).competes);
    snapshot.jobs[0].reason = "QOSUsageThreshold".to_owned();
    assert!(!told(&snapshot).competes && told(&snapshot).is_stopped);
    snapshot.settings = Some(Vec::new());
    assert!(!told(&snapshot).is_stopped, "a threshold of the site's own");
}

/// user2 has used 30 of 100, and its cap is 1. slurmctld keeps jobs from starting in a QOS that has the flag and hardly any threshold.
#[test]
fn a_cap_stops_jobs_in_a_qos_that_slurmctld_enforces() {
    let cap = "Target=User Name=user2 Percent=1 Type=cap Block=yes";
    let snapshot = |flags: &[&str], threshold: f64| {
        let mut snapshot = with(&[cap], |_| ());
        for association in &snapshot.associations.clone() {
            let amount = if association.user == "user2" { 30.0 } else { 100.0 };
            let key = association.id.to_string();
            snapshot.usage.push(Usage {
                model: "halflife".to_owned(),
                of: "association".to_owned(),
                key,
                amount,
            });
        }
        snapshot.qos[0].flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        snapshot.qos[0].usage_threshold = Some(threshold);
        snapshot
    };
    let is_stopped = |snapshot: &Snapshot| recomputed(snapshot).is_stopped;
    let mut stops = snapshot(&["EnforceUsageThreshold"], 1e-9);
    assert!(is_stopped(&stops) && !recomputed(&stops).competes);
    assert!(!is_stopped(&snapshot(&[], 1e-9)), "nothing is enforced");
    assert!(!is_stopped(&snapshot(&["EnforceUsageThreshold"], 0.5)), "a threshold of the site's own");
    stops.jobs[0].direct = true;
    assert!(!is_stopped(&stops), "its priority was set");
    stops.jobs[0].direct = false;
    stops.jobs[0].priority = 0;
    assert!(!is_stopped(&stops), "it is held");
}

/// From Slurm 25.11 on a job may name several QOS: it has a priority in each.
#[test]
fn a_job_in_several_qos_has_the_addend_of_each() {
    let mut snapshot = with(&[], |_| ());
    for qos in ["normal", "high"] {
        let (job, partition) = (snapshot.jobs[0].id, "main".to_owned());
        snapshot.entries.push(Entry { job, partition, qos: qos.to_owned(), ..Entry::default() });
    }
    let entries = recomputed(&snapshot).entries;
    let of: Vec<f64> = entries.iter().map(|entry| entry.computed.unwrap().0.qos).collect();
    assert_eq!(of.iter().map(|addend| addend.round()).collect::<Vec<_>>(), [0.0, 2000.0], "{entries:?}");
}

#[test]
fn points_go_by_what_a_job_asks_for_and_has_waited_for() {
    let points = |lines: &[&str]| {
        let snapshot = with(lines, |job| {
            (job.tres, job.limit, job.bypass) = (vec![4, 2000, 0, 1, 4], Some(90), 7);
            job.qos = "high".to_owned();
        });
        recomputed(&snapshot).points.unwrap()
    };
    assert_near(points(&["Component=RES Mem=2"]).res, 4000.0, "megabytes");
    assert_near(points(&["Component=RES WallTime=1"]).res, 90.0 * 60.0, "seconds");
    assert_near(points(&["Component=SERV Bypass=3"]).serv, 21.0, "overtaken seven times");
    let of_qos = points(&["Component=CRED QOS=1", "Credential=QOS Name=high Priority=50"]);
    assert_near(of_qos.cred, 50.0, "its QOS");
}

/// What the plugin counts and measures of all jobs is in its snapshot.
#[test]
fn points_go_by_what_the_plugin_has_counted() {
    let points = |lines: &[&str], records: &[(&str, &str, &str, f64)]| {
        let mut snapshot = with(lines, |job| job.nice = -5);
        for (model, of, key, amount) in records {
            let [model, of, key] = [model, of, key].map(|text| (*text).to_owned());
            snapshot.usage.push(Usage { model, of, key, amount: *amount });
        }
        recomputed(&snapshot).points.unwrap()
    };
    let accuracy = points(
        &["Component=FS WCAccuracy=2"],
        &[("accuracy", "user", "user2", 80.0), ("step", "User", "user2", 7.0)],
    );
    assert_near(accuracy.fs, 160.0, "of how well the time limits of user2 fit");
    // Its nice value is the fifth of those that others have, from 0 down.
    let ranges = [("range", "priority", "low", 0.0), ("range", "priority", "high", 25.0)];
    assert_near(points(&["Component=URGENCY Priority=100"], &ranges).urgency, 20.0, "a fifth of the range");
    let used = [("halflife", "partition", "main", 30.0), ("halflife", "all", "", 100.0)];
    let target = ["Component=FS FSClass=1", "Target=Partition Name=main Percent=50"];
    assert_near(points(&target, &used).fs, 20.0, "30 of 100 in main");
}

#[test]
fn a_grant_gives_points_until_it_is_used_up() {
    let of = |change: &dyn Fn(&mut Grant)| {
        let line = "Grant=Group Name=staff Amount=1 From=2027-01-01 Until=2027-12-31 Within=7";
        let mut snapshot = with(&[line], |job| job.group = Some(500));
        let mut grant = Grant {
            kind: "Group".to_owned(),
            name: "staff".to_owned(),
            group: Some(500),
            within: 7.0,
            ..site::grant()
        };
        change(&mut grant);
        snapshot.grants.push(grant);
        let job = recomputed(&snapshot);
        let points = job.points.unwrap();
        (points.granted, points.is_beyond_grant, job.grants)
    };
    assert_eq!(of(&|_| ()), (7.0, false, vec![]));
    assert_eq!(of(&|grant| grant.state = "beyond".to_owned()), (0.0, true, vec![0]));
    assert_eq!(of(&|grant| grant.state = "outside".to_owned()), (0.0, true, vec![0]));
    assert_eq!(of(&|grant| grant.state = "unknown".to_owned()), (0.0, false, vec![]));
    assert_eq!(of(&|grant| grant.group = Some(501)), (0.0, false, vec![]), "of others");
    let elsewhere = |grant: &mut Grant| {
        (grant.state, grant.partitions) = ("beyond".to_owned(), vec!["gpu".to_owned()]);
    };
    assert_eq!(of(&elsewhere), (0.0, false, vec![]), "in another partition");
}

/// Where only the plugin counts what targets go by, Slurm's commands cannot tell points.
#[test]
fn without_what_targets_go_by_points_are_those_that_slurm_shows() {
    let mut snapshot = with(&["Target=User Name=user2 Percent=50", "TargetMetric=cpu"], |_| ());
    let note = |snapshot: &Snapshot| Model::of(snapshot, Options::default()).notes.join("\n");
    assert_eq!(note(&snapshot), "");
    snapshot.about.source = "files".to_owned();
    assert!(note(&snapshot).contains("Only the plugin counts the usage for targets"), "{}", note(&snapshot));
    let (model, of) = ("halflife".to_owned(), "all".to_owned());
    snapshot.usage.push(Usage { model, of, key: String::new(), amount: 1.0 });
    assert!(!note(&snapshot).contains("counts the usage"), "{}", note(&snapshot));
}

/// A job that runs has a part of the tickets of its user, and of those that a line gives its partition and wckey.
#[test]
fn jobs_that_run_divide_tickets_with_those_that_wait() {
    let tickets = |lines: &[&str], runs: bool| {
        let mut snapshot = with(lines, |job| job.wckey = "*paper".to_owned());
        if runs {
            snapshot.running.push(Running {
                association: snapshot.jobs[0].association,
                partition: "main".to_owned(),
                qos: "normal".to_owned(),
                wckey: "paper".to_owned(),
                count: 1,
                size: 1.0,
                ..Running::default()
            });
        }
        recomputed(&snapshot).tickets.unwrap()
    };
    let both = |lines: &[&str]| [false, true].map(|runs| tickets(lines, runs));
    let [alone, second] = both(&["Dilution=user"]);
    assert_near(second.share_tree, alone.share_tree / 2.0, "the second job of its user");
    for kind in ["Partition Name=main", "WCKey Name=paper"] {
        let line = format!("Override={kind} Tickets=100 Shared=yes");
        // user5 waits in main, too.
        let [alone, second] = both(&[&line]).map(|tickets| tickets.overridden);
        assert!(second < alone && second > 0.0, "{kind}: {second} of {alone}");
    }
}

/// Without a size of the cluster, or what partitions have, an addend is the one that Slurm shows.
#[test]
fn what_sizes_go_by_may_not_be_known() {
    let mut snapshot = site::example();
    (snapshot.about.cpus, snapshot.about.nodes) = (64, 0);
    assert!(!lacks_size(&snapshot), "the plugin has told all there is");
    snapshot.about.source = "commands".to_owned();
    assert!(lacks_size(&snapshot));
    snapshot.about.nodes = 4;
    assert!(!lacks_size(&snapshot));

    let notes = |snapshot: &Snapshot| Model::of(snapshot, Options::default()).notes;
    let mut snapshot = site::example();
    assert_eq!(notes(&snapshot), Vec::<String>::new());
    snapshot.jobs.iter_mut().for_each(|job| job.tres.clear());
    assert_eq!(notes(&snapshot), Vec::<String>::new(), "no TRES has a weight");
    let mut snapshot = site::example();
    snapshot.tres.iter_mut().for_each(|tres| tres.weight = Some(0.0));
    snapshot.tres[0].weight = Some(1000.0);
    assert_eq!(notes(&snapshot), Vec::<String>::new());
    // One of 64 CPUs.
    assert_near(recomputed(&snapshot).computed.unwrap().0.tres, 1000.0 / 64.0, "TRES");
    snapshot.partitions.iter_mut().for_each(|partition| partition.tres[1] = 0);
    assert_eq!(notes(&snapshot), Vec::<String>::new(), "memory has no weight");
    snapshot.partitions.iter_mut().for_each(|partition| partition.tres[0] = 0);
    assert!(notes(&snapshot)[0].contains("of each TRES is not known"), "{:?}", notes(&snapshot));
}

//! Random clusters: nothing panics, and what Slurm shows right after a cycle is what is computed.

use multifactor2_command::answers::tree::targets::{targets, Asked};
use multifactor2_command::answers::why::{self, compare};
use multifactor2_command::answers::{queue, tree};
use multifactor2_command::model::{Model, Options};
use multifactor2_snapshot::Snapshot;
use proptest::prelude::*;

use crate::site;

/// Settings of all kinds.
const LINES: [&str; 11] = [
    "FairShareScale=log",
    "Distribution=standing",
    "Dilution=user",
    "Dilution=tree\nDilutionUnit=cpu\nDilutionQuantum=64",
    "TicketsFunctional=1000\nFunctional=User Name=* Shares=10",
    "Override=Partition Name=gpu Tickets=500",
    "ActiveJobs=startable",
    "Component=SERV QueueTime=1 XFactor=10\nComponent=RES Proc=2",
    "Component=CRED User=1\nCredential=User Name=* Priority=100",
    "ParentUsers=split",
    "Component=FS FSUser=2 FSParent=1 FSClass=3\nTarget=User Name=* Percent=3\nTarget=Parent Name=* Percent=9 Type=cap\n\
     Target=Parent Name=a2 Percent=9\nTarget=Partition Name=* Percent=5 Window=yes",
];

fn settings() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(&LINES[..], 0..4)
}

fn cluster(seed: u64, lines: &[&str]) -> Snapshot {
    let mut snapshot = site::random(site::Size { associations: 30, jobs: 40 }, seed);
    for line in lines.iter().flat_map(|lines| lines.lines()) {
        site::set(&mut snapshot, line);
    }
    site::show(&mut snapshot);
    snapshot
}

/// Asks everything.
fn ask(snapshot: &Snapshot, options: Options) {
    let model = Model::of(snapshot, options);
    let order = model.queue();
    queue::queue(&model, &queue::Filter::default()).unwrap();
    tree::tree(&model, &tree::Filter::default());
    targets(&model, &tree::Filter::default(), Asked { targets: true, windows: true });
    for job in 0..model.jobs.len() {
        why::of_job(&model, &order, job);
        model.differences(job);
    }
    for pair in snapshot.jobs.windows(2).filter(|pair| pair[0].id != pair[1].id) {
        let _ = compare::compare(&model, &pair[0].id.to_string(), &pair[1].id.to_string());
    }
}

#[test]
fn all_lines_are_settings() {
    for line in LINES {
        let snapshot = cluster(1, &[line]);
        assert!(Model::of(&snapshot, Options::default()).config.settings.is_some(), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn after_a_cycle_slurm_shows_what_is_computed(seed: u64, lines in settings()) {
        let snapshot = cluster(seed, &lines);
        let model = Model::of(&snapshot, Options::default());
        prop_assert_eq!(&model.notes, &Vec::<String>::new());
        for job in 0..model.jobs.len() {
            prop_assert_eq!(model.differences(job), []);
        }
        // Computed anew it is the same.
        let anew = Model::of(&snapshot, Options { recompute: true, ..Options::default() });
        for (shown, computed) in model.jobs.iter().zip(&anew.jobs).filter(|(job, _)| job.computed.is_some()) {
            prop_assert_eq!(shown.priority, computed.priority);
        }
    }

    #[test]
    fn no_cluster_makes_anything_panic(
        seed: u64,
        lines in settings(),
        at in prop::option::of(any::<i64>()),
        recompute: bool,
        kind in prop::sample::select(vec!["priority/multifactor2", "priority/multifactor", "priority/basic", ""]),
        broken in 0..6_u8,
    ) {
        let mut snapshot = cluster(seed, &lines);
        snapshot.about.priority_type = kind.to_owned();
        match broken {
            0 => snapshot.associations.truncate(7),
            1 => snapshot.associations.reverse(),
            2 => (snapshot.partitions, snapshot.qos) = (Vec::new(), Vec::new()),
            3 => snapshot.settings = None,
            4 => snapshot.associations.iter_mut().for_each(|association| {
                (association.parent, association.usage) = (association.id, f64::NAN);
            }),
            _ => (),
        }
        if broken == 5 {
            snapshot.jobs.iter_mut().for_each(|job| {
                (job.tres, job.nice, job.site, job.submit) = (vec![u64::MAX; 9], i64::MIN, i64::MAX, i64::MIN);
                (job.accrue, job.limit, job.nodes, job.points) = (i64::MIN, Some(u32::MAX), u32::MAX, vec![f64::INFINITY]);
            });
            snapshot.parameters.values_mut().for_each(|value| *value = "4294967295".to_owned());
        }
        ask(&snapshot, Options { at, recompute });
    }
}

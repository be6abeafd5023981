//! What was used in each window: the seconds that jobs ran in it, times what they have.

use std::collections::BTreeMap;

use multifactor2_snapshot::Snapshot;
use slurm_inproc::{Conf, HostResult};

use super::Rig;
use crate::charges::running;
use crate::setup::{FAIR_TREE, NOW};

const WINDOWS: &str = "Component=FS FSUser=1 FSGroup=1\nTarget=User Name=* Percent=50\nTarget=Group Name=100 Percent=20\n\
                       TargetUsage=window\nTargetWindow=00:10:00\nTargetDepth=3\nTargetDecay=0.5\nTargetMetric=cpu\n";

/// By whom.
fn told(snapshot: &Snapshot) -> BTreeMap<(&str, &str), Vec<f64>> {
    let rows = snapshot.windows.iter().map(|row| ((row.of.as_str(), row.key.as_str()), row.amounts.clone()));
    rows.collect()
}

#[test]
fn each_window_has_what_ran_in_it() -> HostResult<()> {
    let begin = NOW - NOW % 600;
    assert_eq!(NOW - begin, 200);
    // Alice and carol, of whom alice is in the group.
    let jobs =
        [running(1).group_id(100_u32), running(2).association(6_u32).user_id(1006_u32).group_id(7_u32)];
    let mut rig = Rig::start(WINDOWS, &Conf::new().flags(FAIR_TREE), &jobs)?;
    rig.snapshot(NOW);
    rig.cycle_after(300)?;
    rig.snapshot(NOW + 300);
    let mut now = NOW + 300;
    for after in [1000, 300, 600] {
        rig.cycle_after(after)?;
        now += after;
        let snapshot = rig.snapshot(now);
        let found = told(&snapshot);
        let all = snapshot.windows.iter().find(|row| row.of == "all").expect("always there");
        let newest = snapshot.about.time - snapshot.about.time % 600;
        assert_eq!((all.begin, all.length, all.told), (newest, 600, 3));
        // By the clock, not by the code: of each second since the jobs began the window that it is in.
        let mut due = vec![0.0; 3];
        for second in NOW..snapshot.about.time {
            let age = (newest - (second - second % 600)) / 600;
            if let Some(amount) = usize::try_from(age).ok().and_then(|age| due.get_mut(age)) {
                *amount += 1.0;
            }
        }
        if after == 1000 {
            assert_eq!(due, [300.0, 600.0, 400.0]);
        }
        let of = |of: &str, key: &str| {
            let mut amounts = found.get(&(of, key)).cloned().unwrap_or_default();
            amounts.resize(3, 0.0);
            amounts
        };
        let times = |cpus: f64| due.iter().map(|seconds| seconds * cpus).collect::<Vec<f64>>();
        for (kind, key, cpus) in [
            ("association", "1", 8.0),
            ("association", "2", 4.0),
            ("association", "4", 4.0),
            ("association", "3", 4.0),
            ("association", "6", 4.0),
            ("association", "5", 0.0),
            ("group", "100", 4.0),
            ("qos", "1", 8.0),
            ("all", "", 8.0),
        ] {
            assert_eq!(of(kind, key), times(cpus), "{kind} {key}: {found:?}");
        }
        assert!(!found.contains_key(&("association", "5")), "who has used nothing has no record");
        // The sums are theirs.
        for usage in snapshot.usage.iter().filter(|usage| usage.model == "window" && usage.of != "available")
        {
            let amounts = of(&usage.of, &usage.key);
            let sum = amounts[0] + 0.5 * amounts[1] + 0.25 * amounts[2];
            assert!((usage.amount - sum).abs() < 1e-9, "{usage:?}: {amounts:?}");
        }
    }
    rig.host.quit().map(drop)
}

#[test]
fn without_windows_there_are_none() -> HostResult<()> {
    let lines = WINDOWS.replace("TargetUsage=window", "TargetUsage=halflife");
    let mut rig = Rig::start(&lines, &Conf::new().flags(FAIR_TREE), &[running(1)])?;
    rig.snapshot(NOW);
    rig.cycle_after(300)?;
    let snapshot = rig.snapshot(NOW + 300);
    assert!(snapshot.windows.is_empty() && !snapshot.usage.is_empty(), "{:?}", snapshot.windows);
    rig.host.quit().map(drop)
}

/// The share tree has windows of its own, beside those of targets, and what it goes by is their sum.
#[test]
fn the_tree_has_its_own() -> HostResult<()> {
    const TREE: &str = "TreeUsage=window\nTreeWindow=00:20:00\nTreeDepth=2\nTreeDecay=0.25\n";
    let jobs = [running(1), running(2).association(6_u32).user_id(1006_u32)];
    let mut rig = Rig::start(&format!("{WINDOWS}{TREE}"), &Conf::new().flags(FAIR_TREE), &jobs)?;
    rig.snapshot(NOW);
    for (now, due) in [(NOW + 300, [300.0, 0.0]), (NOW + 1500, [1100.0, 400.0])] {
        rig.cycle_after(now - if now == NOW + 300 { NOW } else { NOW + 300 })?;
        let snapshot = rig.snapshot(now);
        let found: BTreeMap<u32, Vec<f64>> =
            snapshot.tree_windows.iter().map(|row| (row.association, row.amounts.clone())).collect();
        let begin = now - now % 1200;
        for (id, cpus) in [(1, 8.0), (2, 4.0), (3, 4.0), (4, 4.0), (6, 4.0)] {
            let amounts = &found[&id];
            let of = |age: usize| amounts.get(age).copied().unwrap_or_default();
            assert_eq!(vec![of(0), of(1)], due.map(|seconds| seconds * cpus).to_vec(), "{id}: {found:?}");
            let association = snapshot.associations.iter().find(|association| association.id == id).unwrap();
            assert_eq!(association.dominant, Some(of(0) + 0.25 * of(1)), "{id}");
        }
        assert!(!found.contains_key(&5), "who has used nothing has no record");
        let told: Vec<_> = snapshot.tree_windows.iter().filter(|row| row.length != 0).collect();
        assert_eq!(told.len(), 1, "the root says what windows there are");
        assert_eq!((told[0].association, told[0].begin, told[0].length, told[0].told), (1, begin, 1200, 2));
        assert_eq!(snapshot.windows.iter().find(|row| row.of == "all").map(|row| row.length), Some(600));
    }
    rig.host.quit().map(drop)
}

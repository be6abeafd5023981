//! Grants, and what points keep, when their steps fail or the process is killed in them.

use std::fs;
use std::path::Path;

use multifactor2_core::rules::grants::ledger::Ledger;
use slurm_inproc::{HostResult, Qos};

use crate::setup::{conf, Rig, CPUS, NOW, WAITING};

const GRANT: &str =
    "Grant=Account Name=physics Amount=1000 From=2033-05-18 Until=2033-05-20 Pace=1days TimeZone=UTC\n";
const STEPS: [&str; 4] = ["grants.begin", "grants.finish", "grants.correct", "grants.save"];

/// CPU seconds that the file has of the first day.
fn saved(state: &Path) -> i128 {
    let text = fs::read_to_string(state.join("multifactor2_grants")).expect("the file is there");
    let ledger = Ledger::parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
    let (_, account) = ledger.accounts.iter().next().expect("a line");
    account.amount(1)
}

/// Of both jobs that run.
fn both(seconds: i64) -> i128 {
    i128::from(2 * seconds) * i128::from(CPUS)
}

#[test]
fn a_step_that_fails_loses_no_second_and_nothing_else() -> HostResult<()> {
    for step in STEPS {
        let state = tempfile::tempdir()?;
        let mut rig = Rig::of(NOW, state.path(), &conf(), GRANT)?;
        rig.host.init()?;
        let before = rig.priorities()?;
        rig.arm(&format!("{step}:1"))?;
        rig.cycle_after(300)?;
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        let changed = before.iter().zip(&rig.priorities()?).filter(|(before, after)| before != after).count();
        assert_eq!(changed, WAITING as usize, "{step}");
        rig.disarm()?;
        rig.cycle_after(300)?;
        assert_eq!(saved(state.path()), both(600), "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

/// Jobs that run go on from the calculation that is in the file, whichever that is.
#[test]
fn a_kill_at_any_step_counts_each_second_once() -> HostResult<()> {
    for step in STEPS.into_iter().chain(["save", "charge:1", "commit", "distribute", "finish"]) {
        let state = tempfile::tempdir()?;
        let mut first = Rig::of(NOW, state.path(), &conf(), GRANT)?;
        first.host.init()?;
        first.cycle_after(300)?;
        assert_eq!(saved(state.path()), both(300), "{step}");
        first.arm(&format!("{step}!"))?;
        first.host.advance(300)?;
        assert!(first.host.cycle().is_err(), "{step} is not passed");
        drop(first);
        let mut second = Rig::of(NOW + 700, state.path(), &conf(), GRANT)?;
        second.host.init()?;
        second.host.cycle()?;
        assert_eq!(saved(state.path()), both(700), "{step}");
        second.host.quit()?;
    }
    Ok(())
}

/// Jobs keep their priorities, or what points go by is older by a calculation.
#[test]
fn what_points_keep_and_whom_caps_stop_fails_once() -> HostResult<()> {
    const ENFORCED: u32 = slurm_inproc::constants::QOS_FLAG_ENFORCE_USAGE_THRES;
    const SETTINGS: &str =
        "Component=SERV Bypass=1\nTarget=User Name=alice Percent=1 Type=cap Block=yes\nPointsCap=1000\n";
    for (step, writes) in [("stop", false), ("points.save", true), ("stop_as_before", true)] {
        let state = tempfile::tempdir()?;
        let mut rig = Rig::of(NOW, state.path(), &conf(), SETTINGS)?;
        rig.host.qos(&Qos::new(1_u32).usage_threshold(1e-9).flags(ENFORCED))?;
        // A slurmctld that starts remembers whom it kept from starting.
        if step == "stop_as_before" {
            rig.arm(step)?;
        }
        rig.host.init()?;
        let before = rig.priorities()?;
        rig.arm(step)?;
        rig.cycle_after(300)?;
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        let after = rig.priorities()?;
        assert_eq!(before != after, writes, "{step}: {before:?} {after:?}");
        rig.disarm()?;
        rig.cycle_after(300)?;
        assert_ne!(rig.priorities()?, after, "{step}");
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        rig.host.quit()?;
    }
    Ok(())
}

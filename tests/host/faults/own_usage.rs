//! Our own sums of usage when their steps fail, or the process is killed in them.

use std::fs;
use std::path::Path;

use multifactor2_accounting::sums::Model;
use multifactor2_accounting::sums_file::parse;
use slurm_inproc::{state, HostResult, Job};

use crate::kills::POINTS;
use crate::setup::{conf, Rig, CPUS, NOW, WAITING};

const SETTINGS: &str =
    "Target=Partition Name=batch Percent=50\nTarget=User Name=alice Percent=50 Window=yes\n";
const STEPS: [&str; 4] = ["own_usage.begin", "own_usage.finish", "own_usage.save", "own_usage.replace"];
const ALL: Model = Model::Windows { decay: 1.0 };

/// Processor seconds of all jobs that the file has, and those of its partition; they are the same.
fn saved(state: &Path) -> f64 {
    let text = fs::read_to_string(state.join("multifactor2_usage")).expect("the file is there");
    let (sums, _) = parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
    let (halflife, windows) = (sums.readings(Model::HalfLife), sums.readings(ALL));
    let partition = halflife.partitions.get("batch").copied().unwrap_or(0.0);
    assert_eq!((halflife.all, partition), (windows.all, windows.all));
    windows.all
}

/// Seconds of both jobs.
fn both(seconds: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "seconds")]
    let seconds = seconds as f64;
    2.0 * seconds * f64::from(CPUS)
}

#[test]
fn a_step_that_fails_costs_nothing_and_nothing_else() -> HostResult<()> {
    for step in STEPS {
        let state = tempfile::tempdir()?;
        let mut rig = Rig::of(NOW, state.path(), &conf(), SETTINGS)?;
        rig.host.init()?;
        let before = rig.priorities()?;
        rig.arm(&format!("{step}:1"))?;
        rig.cycle_after(300)?;
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        assert_eq!(rig.usage(1)?, both(300), "{step}: slurmctld's own");
        let changed = before.iter().zip(&rig.priorities()?).filter(|(before, after)| before != after).count();
        assert_eq!(changed, WAITING as usize, "{step}");
        assert_eq!(saved(state.path()), 0.0, "{step}");
        rig.disarm()?;
        // A job ends before the next cycle.
        rig.host.advance(100)?;
        rig.host.jobs(&[Job::new(11_u32).end_time(NOW + 400).state(state::COMPLETE)])?;
        rig.host.job_end(11)?;
        rig.cycle_after(200)?;
        assert_eq!(saved(state.path()), (both(400) + both(600)) / 2.0, "{step}");
        assert_eq!(rig.usage(1)?, (both(400) + both(600)) / 2.0, "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

/// In a cycle that counts nothing slurmctld's usage decays all the same. Who runs nothing has less then, and was not reset.
#[test]
fn decay_in_a_cycle_that_fails_is_not_taken_for_a_reset() -> HostResult<()> {
    let windows = |state: &Path| {
        let text = fs::read_to_string(state.join("multifactor2_usage")).expect("the file is there");
        parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}")).0.readings(ALL)
    };
    for step in ["own_usage.begin", "own_usage.finish"] {
        let state = tempfile::tempdir()?;
        let mut rig = Rig::of(NOW, state.path(), &conf().decay_half_life(3600_u32), SETTINGS)?;
        rig.host.init()?;
        rig.cycle_after(300)?;
        rig.host.advance(50)?;
        for job in [11, 12] {
            rig.host.jobs(&[Job::new(job).end_time(NOW + 350).state(state::COMPLETE)])?;
            rig.host.job_end(job)?;
        }
        rig.cycle_after(50)?;
        let before = windows(state.path());
        assert_eq!(before.associations[&1], both(350), "{step}");
        rig.arm(&format!("{step}:1"))?;
        rig.cycle_after(300)?;
        assert_eq!(rig.reports().len(), 1, "{step}: {:?}", rig.reports());
        rig.disarm()?;
        rig.cycle_after(300)?;
        assert_eq!(windows(state.path()).associations, before.associations, "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn a_reset_in_a_cycle_that_fails_is_made_up_for() -> HostResult<()> {
    const DAILY: u16 = slurm_inproc::constants::PRIORITY_RESET_DAILY;
    let midnight = NOW + 43_200;
    for step in STEPS {
        let state = tempfile::tempdir()?;
        let mut rig = Rig::of(NOW, state.path(), &conf().reset_period(DAILY), SETTINGS)?;
        rig.host.init()?;
        rig.host.set_clock(midnight - 100)?;
        rig.host.cycle()?;
        assert_eq!(saved(state.path()), both(43_100), "{step}");
        rig.arm(&format!("{step}:1"))?;
        rig.cycle_after(150)?;
        rig.disarm()?;
        rig.cycle_after(50)?;
        // The cycle of the reset counts all of its period, as in slurmctld.
        assert_eq!(saved(state.path()), both(200), "{step}");
        assert_eq!(rig.usage(1)?, both(200), "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

#[test]
fn an_end_at_which_the_sums_are_not_saved_goes_on_from_the_last_cycle() -> HostResult<()> {
    for step in ["own_usage.save", "own_usage.replace"] {
        let state = tempfile::tempdir()?;
        let mut rig = Rig::of(NOW, state.path(), &conf(), SETTINGS)?;
        rig.host.init()?;
        rig.cycle_after(300)?;
        rig.host.save()?;
        rig.arm(step)?;
        rig.host.fini()?;
        rig.disarm()?;
        rig.host.advance(300)?;
        rig.host.load()?;
        rig.host.init()?;
        assert_eq!(saved(state.path()), both(600), "{step}");
        assert_eq!(rig.usage(1)?, both(600), "{step}");
        rig.host.quit()?;
    }
    Ok(())
}

/// At any point of a cycle, after slurmctld has saved usage in the same second or not, and again at the first cycle after that.
#[test]
fn a_kill_at_any_point_of_a_cycle_counts_everything_once() -> HostResult<()> {
    let mut killed = 0;
    let points =
        POINTS.into_iter().chain(STEPS).filter(|point| !point.starts_with("reset") && *point != "check");
    for point in points {
        for saves in [false, true] {
            let place = tempfile::tempdir()?;
            let state = place.path();
            let start = |now| -> HostResult<Rig> {
                let mut rig = Rig::of(now, state, &conf().decay_half_life(0_u32), SETTINGS)?;
                rig.host.load()?;
                Ok(rig)
            };
            let mut first = start(NOW)?;
            first.host.init()?;
            first.cycle_after(100)?;
            first.host.save()?;
            first.cycle_after(100)?;
            first.host.reconfigure(true)?;
            first.host.set_clock(NOW + 300)?;
            if saves {
                first.host.save()?;
            }
            first.arm(&format!("{point}!"))?;
            killed += usize::from(first.host.cycle().is_err());
            drop(first);
            let mut second = start(NOW + 400)?;
            second.arm(&format!("{point}!"))?;
            killed += usize::from(second.host.init().is_err());
            drop(second);
            let mut last = start(NOW + 1000)?;
            last.host.init()?;
            assert_eq!(saved(state), both(1000), "{point}, saved {saves}");
            assert_eq!(last.usage(1)?, both(1000), "{point}, saved {saves}");
            last.host.quit()?;
        }
    }
    println!("killed {killed} times");
    assert!(killed > 80, "{killed}");
    Ok(())
}

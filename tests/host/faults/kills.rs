//! Kills at the points of a cycle.

use slurm_inproc::{AssociationUsage, Conf, HostResult, Job};

use crate::setup::{conf, Rig, CPUS, NOW};

const DAILY: u16 = slurm_inproc::constants::PRIORITY_RESET_DAILY;

/// Points of a cycle, in its order, within and between its holds of locks.
pub const POINTS: [&str; 26] = [
    "check",
    "gather",
    "draft:1",
    "draft:4",
    "save",
    "commit",
    "announced",
    "reset",
    "reset.association:1",
    "reset.association:4",
    "decay",
    "decay.association:1",
    "decay.association:2",
    "decay.association:4",
    "charge:1",
    "charge:2",
    "charge.association:1",
    "charge.association:2",
    "charge.association:4",
    "interrupted.save",
    "distribute",
    "distribute.half",
    "publish.association",
    "advise",
    "finish",
    "write:1",
];

/// The process is killed at a point of the cycle at midnight, after the usage of that second was saved or not; the next one
/// goes on with the usage that was saved last.
#[test]
fn a_kill_at_any_point_of_a_cycle_costs_nothing() -> HostResult<()> {
    const HALF_LIFE: u32 = 3600;
    let midnight = NOW + 43_200;
    let later = |seconds: f64| (1.0 - 0.693 / f64::from(HALF_LIFE)).powf(seconds);
    let mut killed = 0;
    for reset in [false, true] {
        for point in POINTS.into_iter().filter(|point| reset || !point.starts_with("reset")) {
            for saved in [false, true] {
                let state = tempfile::tempdir()?;
                let place = Conf::new().state_save_location(state.path().display().to_string());
                let period = if reset { DAILY } else { 0 };
                let start = |now: i64| -> HostResult<Rig> {
                    let conf = conf().decay_half_life(HALF_LIFE).reset_period(period);
                    let mut rig = Rig::start_with(&conf, |options| options.clock = now)?;
                    rig.host.configure(&place)?;
                    rig.host.load()?;
                    Ok(rig)
                };
                let running = |rig: &mut Rig| {
                    rig.host.jobs(&[11_u32, 12].map(|id| Job::new(id).start_time(midnight - 600)))
                };
                // Until then usage alone, which decays; the jobs run from ten minutes before midnight on.
                let mut first = start(midnight - 600)?;
                running(&mut first)?;
                first.host.usage(&[AssociationUsage::new(3_u32).raw(1e9)])?;
                first.host.init()?;
                first.host.save()?;
                first.host.reconfigure(false)?;
                if saved {
                    first.host.set_clock(midnight)?;
                    first.host.save()?;
                }
                first.arm(&format!("{point}!"))?;
                first.host.set_clock(midnight)?;
                if first.host.cycle().is_ok() {
                    // A point that such a cycle does not pass.
                    assert!(matches!(point, "check"), "{point} is not passed");
                } else {
                    killed += 1;
                }
                drop(first);
                let mut second = start(midnight)?;
                running(&mut second)?;
                second.host.init()?;
                // The cycle of midnight again, or, where it was there already, nothing: the same usage.
                let seconds = 600.0 * later(600.0) * f64::from(CPUS);
                let old = if reset { 0.0 } else { 1e9 * later(600.0) };
                for (id, due) in [(3, old + seconds), (4, seconds), (1, old + 2.0 * seconds)] {
                    let found = second.usage(id)?;
                    assert!(
                        (found - due).abs() <= due * 1e-9,
                        "{point}, saved {saved}, reset {reset}: association {id} has {found}, not {due}"
                    );
                }
                second.host.quit()?;
            }
        }
    }
    println!("killed {killed} times");
    assert!(killed > 80, "{killed}");
    Ok(())
}

//! slurmctld is killed and started again with what it had saved.

use slurm_inproc::{Conf, HostResult, Plugin};

use crate::driver::Lives;
use crate::setup::{cycle_at, plugins, running, usage, CPUS, NOW};

/// Usage after a kill at `killed` and a start at 1000 seconds, with cycles every 300 seconds and usage that slurmctld had
/// saved at `saved`, in seconds of the job that runs all the time.
fn after_kill(plugin: &Plugin, saved: i64, killed: i64) -> HostResult<f64> {
    let mut lives = Lives::new(Conf::new(), "")?;
    lives.plugin = plugin.clone();
    let jobs = [running(1, 3, NOW)];
    let mut first = lives.start(NOW, &jobs)?;
    for second in 1..=killed {
        if second == saved {
            first.set_clock(NOW + second)?;
            first.save()?;
        }
        if second % 300 == 0 {
            cycle_at(&mut first, NOW + second)?;
        }
    }
    drop(first);
    let mut second = lives.start(NOW + 1000, &jobs)?;
    let charged = usage(&mut second, 3)? / CPUS;
    second.quit()?;
    Ok(charged)
}

#[test]
fn a_running_job_is_charged_for_all_of_its_time_where_stock_loses_up_to_five_minutes_and_a_cycle(
) -> HostResult<()> {
    let [stock, ours] = plugins()?;
    for (saved, killed) in [(10, 299), (10, 305), (301, 310), (301, 899), (301, 905), (599, 950), (601, 950)]
    {
        let (stock, ours) = (after_kill(&stock, saved, killed)?, after_kill(&ours, saved, killed)?);
        assert_eq!(ours, 1000.0, "saved at {saved}, killed at {killed}");
        assert!(stock <= ours, "saved at {saved}, killed at {killed}: stock has {stock}");
    }
    // Saved after 300 seconds, killed after three cycles: stock has the first 300 and what follows the last cycle.
    assert_eq!(after_kill(&stock, 301, 905)?, 400.0);
    Ok(())
}

#[test]
fn usage_that_was_saved_at_the_second_of_a_cycle_and_before_it_is_charged_once() -> HostResult<()> {
    let [stock, ours] = plugins()?;
    assert_eq!(after_kill(&ours, 300, 310)?, 1000.0);
    assert_eq!(after_kill(&stock, 300, 310)?, 700.0, "stock loses the cycle");
    Ok(())
}

#[test]
fn a_second_kill_before_anything_is_saved_changes_nothing() -> HostResult<()> {
    let lives = Lives::new(Conf::new(), "")?;
    for (start, lost) in [(0, 0), (700, 600), (1400, 1300), (2100, 2000)] {
        let now = NOW + i64::from(start);
        let mut life = lives.start(now, &[running(1, 3, NOW)])?;
        if start == 0 {
            life.save()?;
        }
        let told = format!("running jobs are charged from {lost} s before the last calculation on");
        assert_eq!(life.log().contains(&told), start > 0, "started at {start}: {}", life.log());
        for seconds in [300, 600] {
            cycle_at(&mut life, now + seconds)?;
        }
        assert_eq!(usage(&mut life, 3)?, f64::from(start + 600) * CPUS, "started at {start}");
    }
    Ok(())
}

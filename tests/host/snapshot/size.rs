//! A hundred thousand jobs: how large the file is, and how long its locks are held, compared with those of the cycle.

use std::fs;

use slurm_inproc::{Conf, HostResult};

use super::{few, Rig};
use crate::setup::NOW;

/// Seconds of CPU that a process has used.
fn cpu(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

#[test]
fn a_hundred_thousand_jobs_are_less_than_25_mb_and_read_in_small_holds() -> HostResult<()> {
    let conf = Conf::new()
        .weight_age(1000_u32)
        .weight_fairshare(100_000_u32)
        .weight_job_size(1000_u32)
        .weight_partition(1000_u32)
        .weight_qos(1000_u32);
    let mut rig = Rig::start("SnapshotPeriod=600\n", &conf, &few())?;
    rig.snapshot(NOW);
    rig.host.bulk_jobs(1000, 100_000, 7, false)?;
    rig.host.check_locks(false)?;
    let process = rig.host.process();
    let mut used = Vec::new();
    // One with, and one without.
    for time in (1..=6).map(|cycle| NOW + 300 * cycle) {
        let is_due = (time - NOW) % 600 == 0;
        rig.host.locks(true)?;
        let before = cpu(process);
        rig.cycle_after(300)?;
        if is_due {
            let snapshot = rig.snapshot(time);
            assert_eq!(snapshot.jobs.len(), 100_006);
            assert!(snapshot.jobs.iter().all(|job| job.is_computed && job.fair_share > 0.0));
        }
        let spent = cpu(process) - before;
        let locks = rig.host.locks(false)?;
        let jobs =
            locks.iter().find(|lock| lock.decay_thread && !lock.write && lock.name == "job").expect("read");
        println!(
            "due: {is_due}, CPU {spent:.2} s, jobs locked for reading {} times, longest {:?}",
            jobs.count, jobs.longest
        );
        used.push((is_due, jobs.count));
    }
    let size = fs::metadata(rig.path())?.len();
    println!("{size} bytes");
    assert!(size < 25_000_000, "{size} bytes");
    // One hold for what is not jobs, and one for every 10,000 of them.
    let [without, with] = [used[4], used[5]];
    assert_eq!((without.0, with.0, with.1 - without.1), (false, true, 12), "{used:?}");
    rig.host.quit().map(drop)
}

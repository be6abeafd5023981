//! Books: every second that is charged is in one of them once, whatever happens, and raw usage is stock's to the bit.

use std::fs;

use multifactor2_accounting::sums::Sums;
use slurm_inproc::{state, Association, Conf, Host, HostResult, Job, Partition, Plugin};

use crate::driver::{Accident, Lives, MIDNIGHT};
use crate::setup::{cycle_at, end_job, plugins, running, usage, ASSOCIATIONS, CPUS, NOW};

const BOOKS: &str = "Book=gpu Partitions=gpu,gpu-long\nBook=big Partitions=big\n";

/// An accident in a cluster with partitions of all books; a partition has to be there before its jobs.
fn accident(jobs: Vec<Job>) -> Accident<'static> {
    Accident { settings: BOOKS, cluster: partitions, jobs, ..Accident::default() }
}

fn lives(conf: Conf) -> HostResult<Lives> {
    Ok(Lives { cluster: partitions, ..Lives::new(conf, BOOKS)? })
}

fn partitions(host: &mut Host) -> HostResult<()> {
    for name in ["gpu", "gpu-long", "big"] {
        host.partition(&Partition::new(name).tres([(1, 100), (4, 10)]))?;
    }
    Ok(())
}

fn job(id: u32, association: u32, start: i64, partition: &str) -> Job {
    running(id, association, start).partitions([partition.to_owned()])
}

/// Seconds of a job by book: `gpu`, `big`.
fn seconds(sums: &Sums, id: u32) -> [f64; 2] {
    let of = |at: usize| sums.used(id).get(at).copied().unwrap_or(0.0) / CPUS;
    [of(0), of(1)]
}

#[test]
fn every_second_is_in_one_book_once_wherever_the_process_ends() -> HostResult<()> {
    let jobs = vec![
        job(1, 3, NOW, "gpu"),
        job(2, 4, NOW, "big"),
        job(3, 4, NOW, "batch"),
        job(4, 3, NOW + 100, "gpu-long"),
    ];
    accident(jobs).at_every_lock(|lives, second, at| {
        cycle_at(second, NOW + 1000)?;
        let sums = lives.sums();
        assert_eq!([3, 4].map(|id| seconds(&sums, id)), [[1900.0, 0.0], [0.0, 1000.0]], "{at}");
        assert_eq!([usage(second, 3)?, usage(second, 4)?], [1900.0 * CPUS, 2000.0 * CPUS], "{at}");
        // The default book has what is left: a thousand seconds of the second user.
        let norms = [3, 4].map(|id| second.dump_association(id).map(|shown| shown.usage_norm.to_f64()));
        assert_eq!(norms.map(Result::unwrap), [0.0, 1.0], "{at}");
        Ok(())
    })
}

#[test]
fn a_job_that_ends_is_in_its_book_once_whether_slurmctld_remembers_its_end_or_not() -> HostResult<()> {
    accident(vec![job(1, 3, NOW, "gpu"), job(2, 4, NOW, "big")]).a_job_ends(|lives| {
        let [[gpu, none], [nothing, big]] = [3, 4].map(|id| seconds(&lives.sums(), id));
        assert_eq!([none, nothing], [0.0, 0.0]);
        [gpu, big]
    })
}

#[test]
fn books_are_reset_with_all_usage_and_exactly_once() -> HostResult<()> {
    let first = lives(Conf::new())?;
    let mut host =
        first.start(NOW, &[job(1, 3, NOW, "gpu"), job(2, 4, NOW, "big"), job(3, 4, NOW, "batch")])?;
    cycle_at(&mut host, NOW + 300)?;
    // By sacctmgr: of one user.
    host.reset_usage(3)?;
    cycle_at(&mut host, NOW + 400)?;
    assert_eq!([3, 4].map(|id| seconds(&first.sums(), id)), [[100.0, 0.0], [0.0, 400.0]]);
    // Of the whole account.
    host.reset_usage(2)?;
    cycle_at(&mut host, NOW + 450)?;
    assert_eq!([3, 4].map(|id| seconds(&first.sums(), id)), [[50.0, 0.0], [0.0, 50.0]]);
    // One is removed, and its id means somebody else.
    for job in [2, 3] {
        end_job(&mut host, job, NOW + 450)?;
        host.delete_job(job)?;
    }
    host.associations(&[Association::new(4_u32).delete(true)])?;
    cycle_at(&mut host, NOW + 500)?;
    assert_eq!(seconds(&first.sums(), 4), [0.0, 0.0]);
    let dora = Association::new(4_u32).parent(2_u32).account("physics").user("dora").uid(1009_u32);
    host.associations(&[dora.shares(1_u32)])?;
    cycle_at(&mut host, NOW + 550)?;
    let sums = first.sums();
    assert_eq!([3, 4].map(|id| seconds(&sums, id)), [[150.0, 0.0], [0.0, 0.0]]);
    host.quit()?;
    // PriorityUsageResetPeriod, wherever a save falls into the cycle that does it.
    let reset = Accident { jobs: vec![job(1, 3, MIDNIGHT - 500, "gpu")], ..Accident::over_midnight() };
    Accident { settings: BOOKS, cluster: partitions, ..reset }.at_every_lock(|lives, _, at| {
        assert_eq!(seconds(&lives.sums(), 3), [1000.0, 0.0], "{at}");
        Ok(())
    })
}

/// slurmctld reports no ends then, and its raw usage misses the last seconds: so do books, or the default one would have too little.
#[test]
fn without_limits_books_have_what_raw_usage_has() -> HostResult<()> {
    let lives = lives(Conf::new().enforce(ASSOCIATIONS))?;
    let mut host =
        lives.start(NOW, &[job(1, 3, NOW, "batch"), job(2, 3, NOW, "gpu"), job(3, 4, NOW, "big")])?;
    for at in [100, 300, 400] {
        if at == 300 {
            host.jobs(&[job(2, 3, NOW, "gpu").state(state::COMPLETE).end_time(NOW + 190)])?;
        }
        cycle_at(&mut host, NOW + at)?;
    }
    assert_eq!([3, 4].map(|id| seconds(&lives.sums(), id)), [[100.0, 0.0], [0.0, 400.0]]);
    assert_eq!([usage(&mut host, 3)?, usage(&mut host, 4)?], [500.0 * CPUS, 400.0 * CPUS]);
    assert_eq!(
        host.dump_association(3)?.usage_norm.to_f64(),
        1.0,
        "the default book has 400 seconds, all its own"
    );
    host.quit().map(drop)
}

/// Books change nothing of what slurmctld keeps.
#[test]
fn raw_usage_is_that_of_stock_to_the_bit() -> HostResult<()> {
    let run = |plugin: &Plugin, settings: &str| -> HostResult<Vec<String>> {
        let mut lives = lives(Conf::new().decay_half_life(3600_u32))?;
        lives.plugin = plugin.clone();
        settings.clone_into(&mut lives.settings);
        let jobs = [job(1, 3, NOW, "gpu"), job(2, 4, NOW - 77, "big"), job(3, 4, NOW, "batch")];
        let mut host = lives.start(NOW, &jobs)?;
        let mut seen = Vec::new();
        for cycle in 1..12 {
            if cycle == 7 {
                end_job(&mut host, 1, NOW + cycle * 317)?;
            }
            cycle_at(&mut host, NOW + cycle * 317)?;
            for id in 1..=4 {
                seen.push(host.dump_association(id)?.usage_raw.to_string());
            }
        }
        host.quit()?;
        Ok(seen)
    };
    let [stock, ours] = plugins()?;
    let due = run(&stock, "")?;
    assert_eq!(run(&ours, "")?, due);
    assert_eq!(run(&ours, BOOKS)?, due);
    let dominant = "UsageMeasure=dominant\nDominantTRES=cpu,node\n";
    assert_eq!(run(&ours, &format!("{BOOKS}{dominant}"))?, due);
    Ok(())
}

/// The last book that was removed is kept until a half-life has passed, then the file says that there is none, and nothing is counted.
#[test]
fn what_is_left_of_removed_books_goes_after_a_half_life() -> HostResult<()> {
    let mut lives = lives(Conf::new().decay_half_life(3600_u32))?;
    let jobs = [job(1, 3, NOW, "gpu")];
    let mut host = lives.start(NOW, &jobs)?;
    cycle_at(&mut host, NOW + 300)?;
    host.save()?;
    let log = host.quit()?;
    assert_eq!(log.matches("starts without usage").count(), 2, "{log}");
    let used = lives.sums().used(3)[0];
    "# nothing\n".clone_into(&mut lives.settings);
    // In another process, as every reconfigure from 23.11 on.
    let mut host = lives.start(NOW + 300, &jobs)?;
    cycle_at(&mut host, NOW + 3600)?;
    let left = lives.sums().used(3)[0] / used;
    // slurmctld's factor per second is one minus 0.693 by the half-life.
    assert!((left - (1.0_f64 - 0.693 / 3600.0).powi(3300)).abs() < 1e-9, "{left}");
    assert_eq!(host.dump_association(3)?.usage_norm.to_f64(), 1.0, "all is in the default book");
    cycle_at(&mut host, NOW + 4000)?;
    let file = lives.file("multifactor2_usage");
    assert!(!lives.sums().has_books());
    let before = fs::metadata(&file).and_then(|data| data.modified()).unwrap();
    cycle_at(&mut host, NOW + 4300)?;
    assert_eq!(
        fs::metadata(&file).and_then(|data| data.modified()).unwrap(),
        before,
        "nothing is counted any more"
    );
    host.quit()?;
    BOOKS.clone_into(&mut lives.settings);
    let host = lives.start(NOW + 4300, &jobs)?;
    let log = host.quit()?;
    assert_eq!(log.matches("starts without usage").count(), 2, "{log}");
    Ok(())
}

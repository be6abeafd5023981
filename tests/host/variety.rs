//! Very many jobs that differ: more values than a cycle keeps once for all.

use slurm_inproc::{Conf, FactorsFilter, HostResult, Job, Nice};

use crate::setup::{fill, in_both, ours, waiting};

/// Two bytes say which of the kept values is meant.
#[test]
fn jobs_with_more_nice_values_than_are_kept_have_the_priorities_of_stock() -> HostResult<()> {
    const JOBS: u64 = 100_000;
    let both = in_both(|host| {
        fill(host)?;
        host.configure(&Conf::new().weight_age(1_000_000_u32).weight_partition(200_000_u32))?;
        host.bulk_jobs(1, JOBS, 7, false)?;
        host.init()?;
        host.vary_jobs(1, 3600, 90_000)?;
        host.advance(60)?;
        host.cycle()?;
        host.digest_jobs()
    })?;
    assert_eq!(both.stock, both.ours);
    assert!(both.ours.2 > 100_000 * JOBS, "{:?}", both.ours);
    Ok(())
}

/// Tasks that were split from arrays have ids in no order, and drafts come as the jobs do.
#[test]
fn sprio_shows_each_job_its_own_parts_whatever_the_order_of_the_ids() -> HostResult<()> {
    const PRIME: u32 = 499;
    let ids: Vec<u32> = (1..PRIME).map(|n| 37 * n % PRIME).collect();
    let job = |id: &u32| waiting(*id).nice(Nice(i64::from(*id)));
    let mut host = ours()?;
    fill(&mut host)?;
    host.jobs(&ids.iter().map(job).collect::<Vec<Job>>())?;
    host.init()?;
    host.advance(60)?;
    host.cycle()?;
    // What is shown is what the priority came from, and not what it would come from now.
    host.jobs(&ids.iter().map(|id| Job::new(*id).nice(Nice(0))).collect::<Vec<Job>>())?;
    let nice_of = |id: u32| (1 << 31) + id;
    let rows = host.factors(&FactorsFilter::new().uid(0_u32))?;
    assert_eq!(rows.len(), ids.len());
    for row in rows {
        assert_eq!(row.factors.nice, nice_of(row.job_id), "job {}", row.job_id);
    }
    // Some have gone, so that the next is not where it was expected; and one by one, out of turn.
    for id in ids.iter().filter(|id| *id % 7 < 5) {
        host.delete_job(*id)?;
    }
    let rows = host.factors(&FactorsFilter::new().uid(0_u32))?;
    assert_eq!(rows.len(), ids.iter().filter(|id| *id % 7 >= 5).count());
    assert!(rows.iter().all(|row| row.factors.nice == nice_of(row.job_id)));
    for id in [5, 495, 12, 488] {
        let rows = host.factors(&FactorsFilter::new().uid(0_u32).jobs([id]))?;
        assert_eq!(rows.iter().map(|row| row.factors.nice).collect::<Vec<_>>(), [nice_of(id)]);
    }
    host.quit().map(drop)
}

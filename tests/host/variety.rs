//! Very many jobs that differ: more values than a cycle keeps once for all.

use slurm_inproc::{Conf, HostResult};

use crate::setup::{fill, in_both};

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

//! Configurations that work but hardly as meant are said once after a start, and others are not.

use slurm_inproc::{Conf, HostResult, Qos};

use crate::setup::{fill, ours, waiting, FAIR_TREE};

const INCR_ONLY: u16 = 0x40;
/// The flag `EnforceUsageThreshold` of a QOS.
const ENFORCE_USAGE_THRESHOLD: u32 = 0x8;

/// How often a text is in the log of a start and three cycles.
fn said(conf: &Conf, qos: Option<&Qos>, text: &str) -> HostResult<usize> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(conf)?;
    if let Some(qos) = qos {
        host.qos(qos)?;
    }
    host.jobs(&[waiting(1)])?;
    host.init()?;
    for _ in 0..3 {
        host.advance(60)?;
        host.cycle()?;
    }
    Ok(host.quit()?.matches(text).count())
}

fn weighted(flags: u16) -> Conf {
    Conf::new().flags(flags).weight_fairshare(1000_u32)
}

#[test]
fn incr_only_is_warned_of_where_fair_share_counts() -> HostResult<()> {
    const TEXT: &str =
        "priority/multifactor2: PriorityFlags=INCR_ONLY keeps each job at the highest priority";
    assert_eq!(said(&weighted(FAIR_TREE | INCR_ONLY), None, TEXT)?, 1);
    assert_eq!(said(&weighted(FAIR_TREE), None, TEXT)?, 0);
    assert_eq!(said(&Conf::new().flags(INCR_ONLY).weight_age(1000_u32), None, TEXT)?, 0, "age only grows");
    Ok(())
}

#[test]
fn a_usage_threshold_is_warned_of_only_where_slurmctld_looks_at_it() -> HostResult<()> {
    const TEXT: &str = "QOS normal has a UsageThreshold";
    let qos = || Qos::new(1_u32).usage_threshold(0.25);
    assert_eq!(said(&weighted(FAIR_TREE), Some(&qos().flags(ENFORCE_USAGE_THRESHOLD)), TEXT)?, 1);
    assert_eq!(said(&weighted(FAIR_TREE), Some(&qos()), TEXT)?, 0, "without EnforceUsageThreshold");
    assert_eq!(
        said(&weighted(FAIR_TREE), Some(&Qos::new(1_u32).flags(ENFORCE_USAGE_THRESHOLD)), TEXT)?,
        0,
        "without a threshold"
    );
    Ok(())
}

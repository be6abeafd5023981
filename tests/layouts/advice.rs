//! Configurations that work but hardly as meant are said once after a start, and others are not.

use slurm_fakehost::{all, in_releases, Qos, Slurmctld};

use crate::setup::{end, fill, flags};

/// The flag `EnforceUsageThreshold` of a QOS.
const ENFORCE_USAGE_THRESHOLD: u32 = 0x8;
const THRESHOLD: &str = "QOS limited has a UsageThreshold";

/// How often a text is in the log of a start and three cycles.
fn said(slurmctld: &mut Slurmctld, text: &str) -> usize {
    let cluster = fill(slurmctld);
    slurmctld.add_job(&cluster.waiting(101));
    slurmctld.begin();
    for _ in 0..3 {
        slurmctld.advance(60);
        slurmctld.cycle();
    }
    let times = slurmctld.log().matches(text).count();
    end(slurmctld);
    times
}

#[test]
fn incr_only_is_warned_of_where_fair_share_counts() {
    const TEXT: &str = "PriorityFlags=INCR_ONLY keeps each job at the highest priority";
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_fs", 1000_u32).configure("priority_flags", flags::INCR_ONLY);
        assert_eq!(said(slurmctld, TEXT), 1);
    });
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_fs", 1000_u32);
        assert_eq!(said(slurmctld, TEXT), 0);
    });
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_age", 1000_u32).configure("priority_flags", flags::INCR_ONLY);
        assert_eq!(said(slurmctld, TEXT), 0, "age only grows");
    });
}

#[test]
fn a_usage_threshold_is_warned_of_only_where_slurmctld_looks_at_it() {
    fn with(slurmctld: &mut Slurmctld, flags: u32, usage_threshold: Option<f64>) -> usize {
        slurmctld.configure("priority_weight_fs", 1000_u32);
        slurmctld.add_qos(&Qos { id: 9, name: "limited", flags, usage_threshold, ..Qos::default() });
        said(slurmctld, THRESHOLD)
    }
    in_releases(&all(), |slurmctld| {
        assert_eq!(with(slurmctld, ENFORCE_USAGE_THRESHOLD, Some(0.25)), 1);
    });
    in_releases(&all(), |slurmctld| {
        assert_eq!(with(slurmctld, 0, Some(0.25)), 0, "without EnforceUsageThreshold");
    });
    in_releases(&all(), |slurmctld| {
        assert_eq!(with(slurmctld, ENFORCE_USAGE_THRESHOLD, None), 0, "without a threshold");
    });
}

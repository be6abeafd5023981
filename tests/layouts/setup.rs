//! A small cluster, and what is asked of every test.

use std::collections::BTreeSet;

pub use multifactor2_fixtures::assert_near;
use slurm_fakehost::{Association, Job, Partition, Qos, Record, Slurmctld, NO_VAL, RUNNING};

/// The time at which the clock stands first.
pub const NOW: i64 = 2_000_000_000;
/// `QOS_FLAG_NO_DECAY`
pub const NO_DECAY: u32 = 0x100;

/// See [`fill`].
pub struct Cluster {
    pub root: Record,
    pub physics: Record,
    pub alice: Record,
    pub carol: Record,
    pub normal: Record,
    pub high: Record,
    pub kept: Record,
    pub batch: Record,
    pub fast: Record,
    pub long: Record,
}

/// Two accounts with users, three QOS, three partitions; `fast` has a QOS of its own, which does not decay.
pub fn fill(slurmctld: &mut Slurmctld) -> Cluster {
    let mut qos =
        |id, name, priority, flags| slurmctld.add_qos(&Qos { id, name, priority, flags, ..Qos::default() });
    let normal = qos(1, "normal", (10, 0.25), 0);
    let high = qos(2, "high", (40, 1.0), 0);
    let kept = qos(3, "kept", (20, 0.5), NO_DECAY);
    let mut partition = |name, priority, tier, qos, cpus| {
        let tres = vec![cpus, 100 * cpus, 0, 10, cpus];
        slurmctld.add_partition(&Partition { name, priority, tier, qos, tres, ..Partition::default() })
    };
    let batch = partition("batch", (50, 0.25), 1, None, 100);
    let fast = partition("fast", (200, 1.0), 3, Some(kept), 40);
    let long = partition("long", (100, 0.5), 2, None, 20);
    let mut association = |id, parent, account, user, shares, priority| {
        slurmctld.add_association(&Association {
            id,
            parent,
            account,
            user,
            shares,
            priority,
            ..Association::default()
        })
    };
    let root = association(1, None, "root", None, 1, (0, 0.0));
    let physics = association(2, Some(root), "physics", None, 30, (5, 0.25));
    let chemistry = association(3, Some(root), "chemistry", None, 10, (0, 0.0));
    let alice = association(4, Some(physics), "physics", Some("alice"), 1, (20, 1.0));
    association(5, Some(physics), "physics", Some("bob"), 3, (10, 0.5));
    let carol = association(6, Some(chemistry), "chemistry", Some("carol"), 1, (0, 0.0));
    Cluster { root, physics, alice, carol, normal, high, kept, batch, fast, long }
}

impl Cluster {
    /// A job of alice in `batch` that waits.
    pub fn waiting(&self, id: u32) -> Job {
        Job {
            id,
            user_id: 1004,
            association: Some(self.alice),
            partitions: vec![self.batch],
            qos: vec![self.normal],
            ..Job::default()
        }
    }

    /// A job of alice that has run so many seconds, in `fast`, with a limit of two hours.
    pub fn running(&self, id: u32, seconds: i64) -> Job {
        let start = NOW - seconds;
        Job {
            state: RUNNING,
            partitions: vec![self.fast],
            times: (start, start + 7200, start + 7200),
            limit: 120,
            allocated: Some(vec![4, 8000, 0, 2, 4]),
            ..self.waiting(id)
        }
    }
}

/// Fails unless exactly these are changed.
#[track_caller]
pub fn assert_changed(changed: &BTreeSet<String>, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
    let (more, less): (Vec<_>, Vec<_>) =
        (changed.difference(&expected).collect(), expected.difference(changed).collect());
    assert!(
        more.is_empty() && less.is_empty(),
        "written, though it should not be: {more:#?}; not written: {less:#?}"
    );
}

/// The usage record of an association or a QOS.
pub fn usage(of: Record) -> Record {
    let kind = if of.kind == "qos" { "qos_usage" } else { "assoc_usage" };
    of.follow("usage", kind).expect("every association and every QOS has usage")
}

/// Ends as slurmctld does; nothing is left.
pub fn end(slurmctld: &mut Slurmctld) {
    slurmctld.fini();
    assert!(!slurmctld.has_decay_thread(), "fini leaves a thread");
    slurmctld.assert_nothing_leaks();
}

/// The expected end of a job whose end was charged.
pub const END_CHARGED: i64 = NO_VAL as i64;

/// What `PriorityFlags` and others are called here.
pub mod flags {
    pub const SIZE_RELATIVE: u16 = 0x4;
    pub const CALCULATE_RUNNING: u16 = 0x10;
    pub const INCR_ONLY: u16 = 0x40;
    pub const NO_NORMAL_ALL: u16 = 0x780;
}

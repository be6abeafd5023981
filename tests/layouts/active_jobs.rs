//! Which jobs give their user tickets, by `ActiveJobs`: read from the fields of every release.

use slurm_fakehost::{
    all, in_releases, Association, Job, Partition, Qos, Record, Slurmctld, COMPLETE, PENDING, RUNNING,
};

use crate::setup::{end, usage, NOW};

const SUSPENDED: u32 = 2;
const CONFIGURING: u32 = 0x4000;
const COMPLETING: u32 = 0x8000;
const POWER_UP_NODE: u32 = 0x4_0000;

/// A user with a waiting job, and a rival with the same share who has used less: while the rival is active, the user's factor is
/// below 1.
struct Two {
    user: Record,
    of_rival: Job,
}

fn begin(slurmctld: &mut Slurmctld) -> Two {
    slurmctld.configure("priority_weight_fs", 1000_u32).configure("priority_decay_hl", 0_u32);
    let normal = slurmctld.add_qos(&Qos::default());
    let batch = slurmctld.add_partition(&Partition::default());
    let root = slurmctld.add_association(&Association { usage: 1000.0, ..Association::default() });
    let mut user = |id, user, usage| {
        let of =
            Association { id, parent: Some(root), account: "physics", user, usage, ..Association::default() };
        slurmctld.add_association(&of)
    };
    let (user, rival) = (user(2, Some("user"), 900.0), user(3, Some("rival"), 100.0));
    let job = |id, association: Record| Job {
        id,
        user_id: 1000 + association.get::<u32>("id"),
        association: Some(association),
        partitions: vec![batch],
        qos: vec![normal],
        ..Job::default()
    };
    slurmctld.add_job(&job(101, user));
    slurmctld.begin();
    Two { user, of_rival: job(102, rival) }
}

impl Two {
    /// Whether this one job makes the rival active in the next cycle.
    fn counts(&self, slurmctld: &mut Slurmctld, job: &Job) -> bool {
        let factor = |slurmctld: &mut Slurmctld| {
            slurmctld.advance(60);
            slurmctld.cycle();
            usage(self.user).get::<f64>("fs_factor")
        };
        slurmctld.add_job(job);
        let beside = factor(slurmctld);
        slurmctld.purge(job.id);
        assert!(factor(slurmctld) >= 1.0, "alone, a user has 1");
        beside < 1.0
    }

    /// Kinds of jobs of the rival; whether they count by default, and with `ActiveJobs=pending`.
    fn kinds(&self) -> Vec<(&'static str, Job, bool, bool)> {
        let job = || self.of_rival.clone();
        let begins = |begin| Job { waits: (NOW - 60, begin, 0), ..job() };
        let runs = |state| Job { state, times: (NOW, NOW + 3600, NOW + 3600), ..job() };
        vec![
            ("one that could start", job(), true, true),
            ("one that can start from now on", begins(NOW), true, true),
            ("one that can start later", begins(NOW + 86_400), false, true),
            ("one with an unmet dependency: no begin time", begins(0), false, true),
            ("a held one", Job { priority: 0, ..job() }, false, true),
            (
                "one that was requeued and still completes",
                Job { state: PENDING | COMPLETING, ..job() },
                false,
                true,
            ),
            ("one without details", Job { without_details: true, ..job() }, false, true),
            ("one with a directly set priority", Job { direct: true, priority: 9, ..job() }, true, true),
            ("a running one", runs(RUNNING), false, false),
            ("a suspended one", runs(SUSPENDED), false, false),
            ("a completed one", runs(COMPLETE), false, false),
            ("one that starts its nodes", runs(RUNNING | CONFIGURING | POWER_UP_NODE), false, false),
        ]
    }
}

#[test]
fn by_default_jobs_that_could_start_count() {
    in_releases(&all(), |slurmctld| {
        slurmctld.expect_error("has no details record");
        let two = begin(slurmctld);
        for (kind, job, eligible, _) in two.kinds() {
            assert_eq!(two.counts(slurmctld, &job), eligible, "{kind}");
        }
        end(slurmctld);
    });
}

#[test]
fn with_active_jobs_pending_every_pending_job_counts() {
    in_releases(&all(), |slurmctld| {
        slurmctld.expect_error("has no details record");
        slurmctld.conf_text("priority_params", "ActiveJobs=pending");
        let two = begin(slurmctld);
        for (kind, job, _, pending) in two.kinds() {
            assert_eq!(two.counts(slurmctld, &job), pending, "{kind}");
        }
        end(slurmctld);
    });
}

#[test]
fn a_job_begins_to_count_when_its_time_comes() {
    in_releases(&all(), |slurmctld| {
        let two = begin(slurmctld);
        slurmctld.add_job(&Job { waits: (NOW, NOW + 600, 0), ..two.of_rival.clone() });
        for (later, expected) in [(599, false), (1, true)] {
            slurmctld.advance(later);
            slurmctld.cycle();
            assert_eq!(usage(two.user).get::<f64>("fs_factor") < 1.0, expected, "{later} s later");
        }
        end(slurmctld);
    });
}

//! Which jobs give their user tickets, by `ActiveJobs`: read from the fields of every release.

use slurm_fakehost::{
    all, in_releases, one_of_each_layout, reasons, release, Association, Job, Partition, Qos, Record,
    Slurmctld, COMPLETE, NO_VAL, PENDING, RUNNING,
};

use crate::setup::{end, usage, NOW};

const SUSPENDED: u32 = 2;
const CONFIGURING: u32 = 0x4000;
const COMPLETING: u32 = 0x8000;
const POWER_UP_NODE: u32 = 0x4_0000;

/// Reasons for which a job waits that has no other obstacle than who or what is on the nodes; numbers that stand for none beside them.
const STARTABLE: [&str; 21] = [
    "DEFUNCT_WAIT_17",
    "DEFUNCT_WAIT_34",
    "DEFUNCT_WAIT_76",
    "DEFUNCT_WAIT_77",
    "WAIT_BLOCK_D_ACTION",
    "WAIT_BLOCK_MAX_ERR",
    "WAIT_BURST_BUFFER_RESOURCE",
    "WAIT_BURST_BUFFER_STAGING",
    "WAIT_CLEANING",
    "WAIT_FED_JOB_LOCK",
    "WAIT_FRONT_END",
    "WAIT_MAX_POWERED_NODES",
    "WAIT_MPI_PORTS_BUSY",
    "WAIT_NO_REASON",
    "WAIT_NVIDIA_IMEX_CHANNELS",
    "WAIT_POWER_NOT_AVAIL",
    "WAIT_POWER_RESERVED",
    "WAIT_PRIORITY",
    "WAIT_PROLOG",
    "WAIT_RESOURCES",
    "WAIT_NOBODY_KNOWS",
];

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
fn with_active_jobs_startable_eligible_jobs_without_a_reason_count() {
    in_releases(&all(), |slurmctld| {
        slurmctld.expect_error("has no details record");
        slurmctld.conf_text("priority_params", "ActiveJobs=startable");
        let two = begin(slurmctld);
        for (kind, job, eligible, _) in two.kinds() {
            assert_eq!(two.counts(slurmctld, &job), eligible, "{kind}");
        }
        end(slurmctld);
    });
}

#[test]
fn with_active_jobs_startable_the_reason_decides_by_its_name_in_each_release() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        slurmctld.conf_text("priority_params", "ActiveJobs=startable");
        let two = begin(slurmctld);
        let mut known = reasons(slurmctld.release);
        for unknown in [known.values().max().unwrap() + 1, 10_000, NO_VAL, u32::MAX] {
            known.insert("WAIT_NOBODY_KNOWS".to_owned(), unknown);
            let job = Job { reason: unknown, ..two.of_rival.clone() };
            assert!(two.counts(slurmctld, &job), "{unknown}");
        }
        for (name, reason) in known {
            let job = Job { reason, ..two.of_rival.clone() };
            // The partition is up again, whatever slurmctld has noted when it looked at the job last.
            let is_past = ["WAIT_PART_DOWN", "WAIT_PART_INACTIVE"].contains(&name.as_str());
            let counts = is_past || STARTABLE.contains(&name.as_str());
            assert_eq!(two.counts(slurmctld, &job), counts, "{name} = {reason}");
        }
        end(slurmctld);
    });
}

/// Not by the table that the plugin is built with.
#[test]
fn with_active_jobs_startable_numbers_mean_what_they_mean_in_the_running_release() {
    in_releases(&all(), |slurmctld| {
        slurmctld.conf_text("priority_params", "ActiveJobs=startable");
        let two = begin(slurmctld);
        let since = |year, month, micro| slurmctld.release >= release(year, month, micro);
        let expected = [
            // An error of a block system, then a failure.
            (33, !since(23, 2, 0)),
            // Nothing yet, then a reservation that is not valid, constraints that cannot be satisfied, a limit of a QOS.
            (199, !since(23, 2, 3)),
            (200, !since(23, 11, 0)),
            (201, !since(24, 5, 0)),
            (218, !since(24, 5, 0)),
            (219, true),
        ];
        for (reason, startable) in expected {
            let job = Job { reason, ..two.of_rival.clone() };
            assert_eq!(two.counts(slurmctld, &job), startable, "{reason}");
        }
        end(slurmctld);
    });
}

/// Every reason leaves the job one that counts.
fn no_reason_matters(slurmctld: &mut Slurmctld, setting: &str) {
    slurmctld.conf_text("priority_params", setting);
    let two = begin(slurmctld);
    for reason in reasons(slurmctld.release).into_values() {
        assert!(two.counts(slurmctld, &Job { reason, ..two.of_rival.clone() }), "{reason}");
    }
    end(slurmctld);
}

#[test]
fn other_settings_do_not_ask_for_the_reason() {
    in_releases(&one_of_each_layout(), |slurmctld| no_reason_matters(slurmctld, ""));
    in_releases(&one_of_each_layout(), |slurmctld| no_reason_matters(slurmctld, "ActiveJobs=pending"));
}

#[test]
fn a_job_that_cannot_start_has_the_priority_that_it_would_have_if_it_could() {
    in_releases(&all(), |slurmctld| {
        slurmctld.conf_text("priority_params", "ActiveJobs=startable");
        let two = begin(slurmctld);
        let reason = reasons(slurmctld.release)["WAIT_QOS_MAX_JOB_PER_USER"];
        let later = slurmctld.add_job(&Job { waits: (NOW - 60, NOW + 86_400, 0), ..two.of_rival.clone() });
        slurmctld.advance(60);
        slurmctld.cycle();
        let expected = later.get::<u32>("priority");
        slurmctld.purge(two.of_rival.id);
        let limited = slurmctld.add_job(&Job { reason, ..two.of_rival.clone() });
        assert_eq!(slurmctld.ask_priority(0, limited), expected);
        slurmctld.advance(60);
        slurmctld.cycle();
        assert!(expected > 0);
        assert_eq!(limited.get::<u32>("priority"), expected);
        assert!(usage(two.user).get::<f64>("fs_factor") >= 1.0, "the rival is not active");
        // The limit is gone.
        limited.set("state_reason", 1_u32);
        slurmctld.advance(60);
        slurmctld.cycle();
        assert!(limited.get::<u32>("priority") >= expected);
        assert!(usage(two.user).get::<f64>("fs_factor") < 1.0, "the rival is active");
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

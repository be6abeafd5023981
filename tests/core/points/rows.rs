//! Rows of Maui, Moab and Grid Engine with a golden number each: percent weights, class weights of groups, starts, states, missed targets, and
//! urgencies, against our own model of them.

use multifactor2_core::policy::points::{JobState, PointsJob, Range, Ranges, Request, TargetUsage};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::settings::Settings;
use proptest::prelude::*;

use super::{requests, settings, value, waited, Cluster, Site, HOUR};

/// The points of all jobs, once they are compared.
fn all(cluster: &mut Cluster, jobs: &[PointsJob<'static>]) -> Vec<i32> {
    cluster.points.measure(jobs.iter().copied());
    jobs.iter().map(|job| cluster.value(job)).collect()
}

/// Maui has no formula for `FSWEIGHT 50%`; this is ours.
#[test]
fn a_component_in_percent_gives_its_part_to_the_job_for_which_it_is_largest() {
    let lines = "PointsCap=1000\nComponent=FS WeightPercent=50 FSUser=1\nTarget=User Name=* Percent=50\n\
                 Component=RES WeightPercent=50 Proc=1";
    let mut cluster = Site::new().with("a", "ann", 45.0).with("b", "bob", 55.0).points(lines);
    let job = |cluster: &Cluster, user: &str, account: &str, cpus| PointsJob {
        request: requests(1.0, cpus, 0.0, 0.0).request,
        ..cluster.job(user, account)
    };
    let jobs = [job(&cluster, "ann", "a", 4.0), job(&cluster, "bob", "b", 2.0)];
    assert_eq!(all(&mut cluster, &jobs), [500 + 500, -500 + 250]);
    // One more that asks for more halves what the others have.
    let large = job(&cluster, "ann", "a", 8.0);
    assert_eq!(all(&mut cluster, &[jobs[0], jobs[1], large]), [500 + 250, -500 + 125, 500 + 500]);
    assert_eq!(all(&mut cluster, &[]), []);
    assert_eq!(cluster.value(&jobs[0]), 0, "nothing is known of what others have");
}

/// The plugin writes what all jobs have into its file. The command goes on with that, as it does not see all jobs.
#[test]
fn what_all_jobs_have_is_read_back_from_its_numbers() {
    let lines =
        "Component=RES WeightPercent=50 Proc=1\nComponent=URGENCY Urgency=100 Priority=10 WaitingTime=2";
    let mut cluster = Site::new().points(lines);
    let job = |cpus, nice, wait| PointsJob { nice, wait, ..requests(1.0, cpus, 0.0, 0.0) };
    let jobs = [job(4.0, 10.0, 60.0), job(8.0, -5.0, 30.0)];
    all(&mut cluster, &jobs);
    let numbers = cluster.points.ranges().numbers();
    let mut numbers: Vec<(&str, &str, f64)> =
        numbers.iter().map(|(of, end, number)| (of.as_str(), *end, *number)).collect();
    let expected = [
        ("urgency", "low", 60.0),
        ("urgency", "high", 120.0),
        ("priority", "low", -10.0),
        ("priority", "high", 5.0),
        ("RES", "largest", 8.0),
    ];
    assert_eq!(numbers, expected);
    assert_eq!(Ranges::of_numbers(&numbers), *cluster.points.ranges());
    numbers.retain(|(_, end, _)| *end != "low");
    let half = Ranges::of_numbers(&numbers);
    assert_eq!(
        (half.urgency, half.priority),
        (Range::default(), Range::default()),
        "half of it is not known"
    );
}

/// `GROUPCFG[staff] CLASSWEIGHT` of Maui replaces that of all.
#[test]
fn a_group_has_a_class_weight_of_its_own() {
    let lines = "Component=CRED Group=1 Class=2\nCredential=Partition Name=debug Priority=100\n\
                 Credential=Group Name=staff Priority=7 ClassWeight=50\nCredential=Group Name=guests Priority=3";
    let cluster = Site::new().points(lines);
    let of = |group: u32| {
        let (group, partition) = (cluster.points.group(group), cluster.points.partition("debug"));
        cluster.value(&PointsJob { group, partition, ..PointsJob::default() })
    };
    assert_eq!([500, 501, 9].map(of), [7 + 50 * 100, 3 + 2 * 100, 2 * 100]);
    let others = format!("{lines}\nCredential=Group Name=* Priority=0 ClassWeight=-1");
    let cluster = Site::new().points(&others);
    let job = PointsJob { partition: cluster.points.partition("debug"), ..PointsJob::default() };
    assert_eq!(cluster.value(&job), -100);
}

#[test]
fn a_job_that_was_started_before_has_points_for_each_time() {
    let job = PointsJob { restarts: 3, ..PointsJob::default() };
    assert_eq!(value("Component=SERV StartCount=100 StartCountCap=2", &job), 200);
    assert_eq!(value("Component=SERV StartCount=100", &job), 300);
}

/// `JOBATTRPRIOF STATE[Running]=100`, with `ATTRSTATEWEIGHT 2` and `ATTRWEIGHT 3`.
#[test]
fn states_have_their_points() {
    let lines = "Component=ATTR Weight=3 State=2 States=running:100,Suspended:-10";
    let of = |state| value(lines, &PointsJob { state, ..PointsJob::default() });
    assert_eq!([JobState::Pending, JobState::Running, JobState::Suspended].map(of), [0, 600, -60]);
}

/// Maui's manual says of missed targets that they continue to grow, but not exponentially.
#[test]
fn a_missed_target_grows_as_far_as_asked() {
    let of = |growth: &str, minutes: f64| {
        let lines = format!(
            "Component=TARGET TargetQueueTime=1000 TargetXFactor=1\nService=Partition Name=* TargetQueueTime=00:15:00 {growth}"
        );
        value(&lines, &waited(60.0 * minutes, HOUR))
    };
    assert_eq!([15.0, 30.0, 60.0, 600.0].map(|wait| of("", wait)), [1000; 4]);
    assert_eq!([15.0, 30.0, 60.0, 600.0].map(|wait| of("TargetGrowth=4", wait)), [1000, 2000, 3000, 4000]);
    assert_eq!(of("TargetGrowth=4", 14.0), of("", 14.0), "as before until then");
    let xfactor = "Component=TARGET TargetXFactor=1000\nService=QOS Name=* TargetXFactor=2 TargetGrowth=10";
    // Waited three times the limit: 4, twice the target.
    assert_eq!(value(xfactor, &waited(3.0 * HOUR, HOUR)), 2000);
}

/// Grid Engine: `weight_waiting_time` 0.278, `weight_deadline` 3600000, `weight_urgency` 1000, `weight_priority` 100.
#[test]
fn urgency_and_priority_are_places_between_all_jobs() {
    let lines = "Component=URGENCY Urgency=1000 Priority=100 WaitingTime=0.278 Deadline=3600000";
    let mut cluster = Site::new().points(lines);
    let hour = waited(3600.0, 1800.0);
    let jobs = [
        // 1000.8
        PointsJob { nice: 100.0, ..hour },
        // 3600000 / (3600 - 1800) = 2000, and 500.4
        PointsJob { deadline: Some(3600.0), ..waited(1800.0, 1800.0) },
        // Nothing.
        PointsJob { nice: 50.0, ..waited(0.0, 1800.0) },
    ];
    // (1000.8, 2500.4, 0) of 2500.4, and nice values of 100, 0 and 50.
    assert_eq!(all(&mut cluster, &jobs), [400, 1000 + 100, 50]);
    // By the end of the job: 3600000 / 3600 and 500.4.
    let mut by_end = Site::new().points(&format!("{lines} DeadlineIs=end"));
    assert_eq!(all(&mut by_end, &jobs), [667, 1000 + 100, 50]);
    // A deadline that is over counts as one second.
    let late = PointsJob { deadline: Some(-5.0), ..waited(0.0, 1800.0) };
    assert_eq!(all(&mut cluster, &[jobs[0], late, jobs[2]]), [0, 1000 + 100, 50]);
    assert_eq!(all(&mut cluster, &[hour, hour]), [550, 550], "all alike");
}

/// Our own model of it: from the definition, with nothing of the program.
fn model(
    jobs: &[(f64, f64, Option<f64>, f64)],
    [urgency, priority, waiting, deadline]: [f64; 4],
) -> Vec<f64> {
    let urgencies: Vec<f64> = jobs
        .iter()
        .map(|(wait, limit, left, _)| {
            let by_deadline = match left {
                None => 0.0,
                Some(left) if left - limit > 1.0 => deadline / (left - limit),
                Some(_) => deadline,
            };
            waiting * wait + by_deadline
        })
        .collect();
    let posix: Vec<f64> = jobs.iter().map(|(_, _, _, nice)| -nice).collect();
    let place = |all: &[f64], at: usize| {
        let (mut low, mut high) = (all[0], all[0]);
        for one in all {
            low = if *one < low { *one } else { low };
            high = if *one > high { *one } else { high };
        }
        if high - low < 0.00001 {
            0.5
        } else {
            (all[at] - low) / (high - low)
        }
    };
    (0..jobs.len()).map(|at| urgency * place(&urgencies, at) + priority * place(&posix, at)).collect()
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn urgencies_are_as_the_model_has_them(
        jobs in prop::collection::vec((0_u32..100_000, 60_u32..100_000, prop::option::of(-1000_i32..200_000), -10_000_i32..10_000), 1..20),
        weights in [0_u32..10_000, 0_u32..10_000, 0_u32..10, 0_u32..4_000_000],
    ) {
        let jobs: Vec<(f64, f64, Option<f64>, f64)> = jobs
            .into_iter()
            .map(|(wait, limit, left, nice)| (wait.into(), limit.into(), left.map(f64::from), nice.into()))
            .collect();
        let [urgency, priority, waiting, deadline] = weights;
        let lines = format!("Component=URGENCY Urgency={urgency} Priority={priority} WaitingTime={waiting} Deadline={deadline}");
        let mut cluster = Site::new().points(&lines);
        let asked: Vec<PointsJob<'static>> = jobs
            .iter()
            .map(|(wait, limit, deadline, nice)| PointsJob { deadline: *deadline, nice: *nice, ..waited(*wait, *limit) })
            .collect();
        let found = all(&mut cluster, &asked);
        for (found, expected) in found.into_iter().zip(model(&jobs, weights.map(f64::from))) {
            prop_assert!((f64::from(found) - expected).abs() < 0.5 + 1e-6, "{found} {expected}");
        }
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (line, why) in [
        (
            "Component=SERV WaitingTime=1",
            "WaitingTime is allowed with Component=URGENCY and without Partition only",
        ),
        (
            "Component=URGENCY Partition=a Deadline=1",
            "Deadline is allowed with Component=URGENCY and without Partition only",
        ),
        ("Component=RES Weight=1 WeightPercent=50", "a line can have Weight or WeightPercent, not both"),
        ("Component=RES States=RUNNING:1", "States is allowed with Component=ATTR only"),
        ("Component=ATTR State=1 States=DONE:1", "must be one of the states PENDING, RUNNING and SUSPENDED"),
        (
            "Credential=User Name=a Priority=1 ClassWeight=3",
            "ClassWeight is allowed with Credential=Group only",
        ),
        ("Service=QOS Name=a Curve=maui TargetGrowth=2", "TargetGrowth is allowed with Curve=bounded only"),
        ("Target=User Name=a Percent=1 Book=gpu", "no Book line has this name"),
        (
            "Book=gpu Partitions=p\nTarget=QOS Name=a Percent=1 Book=gpu",
            "Target=User, Account and Parent only",
        ),
        ("Book=gpu Partitions=p\nTarget=User Name=a Percent=1 Book=gpu Window=yes", "set Window=no"),
        (
            "Book=gpu Partitions=p\nTargetMetric=cpu\nTarget=User Name=a Percent=1 Book=gpu",
            "set TargetMetric=billing",
        ),
        (
            "Book=g Partitions=p\nTarget=User Name=a Percent=1 Book=g\nTarget=User Name=a Percent=2 Book=G",
            "only one line with Target=User Book=g can have this name",
        ),
    ] {
        let errors = Settings::parse(line, "test").expect_err(line).to_string();
        assert!(errors.contains(why), "{line}: {errors}");
    }
    settings("Component=URGENCY Partition=a Urgency=1\nComponent=URGENCY Urgency=2 WaitingTime=1");
}

/// Jobs in the partitions of a book are compared with what was used there, beside the targets of all usage.
#[test]
fn a_target_in_a_book_is_of_what_that_book_was_used() {
    let lines = "Book=gpu Partitions=gpu,a100\nComponent=FS FSUser=10 FSAccount=1 FSParent=100\nTarget=User Name=ann Percent=50\n\
                 Target=User Name=* Percent=25 Book=GPU\nTarget=Account Name=b Percent=90 Book=gpu Weight=2\n\
                 Target=Parent Name=a Percent=50 Book=gpu\n";
    let mut cluster = Site::new().with("a", "ann", 45.0).with("b", "bob", 55.0).points(lines);
    assert_eq!(cluster.points.target_books().collect::<Vec<_>>(), ["gpu"]);
    let job = |cluster: &Cluster, user: &str, account: &str, partition: &str| PointsJob {
        partition: cluster.points.partition(partition),
        ..cluster.job(user, account)
    };
    let value = |cluster: &Cluster, user: &str, account: &str, partition: &str| {
        cluster.value(&job(cluster, user, account, partition))
    };
    assert_eq!(value(&cluster, "ann", "a", "gpu"), 50, "nothing is known of the book");
    // Of the book ann has used 30 of 40, and bob 10.
    let mut usage = TargetUsage { nodes: vec![0.0; cluster.tree.len()], ..TargetUsage::default() };
    for (user, account, used) in [("ann", "a", 30.0), ("bob", "b", 10.0)] {
        let mut next = job(&cluster, user, account, "").node;
        while let Some(node) = next {
            usage.nodes[node.index()] += used;
            next = cluster.tree.parent(node);
        }
    }
    cluster.points.weigh_books(&cluster.tree, &[usage]);
    for partition in ["gpu", "a100"] {
        // 50 - 45 of all; 25 - 75 in the book; of the account 50 - 75 among its siblings, where ann has all of hers.
        assert_eq!(value(&cluster, "ann", "a", partition), 10 * 5 - 10 * 50 - 100 * 25, "{partition}");
        // 25 - 25; the account 90 - 25, weighed 1 + 2, as is all else; b has half of the shares.
        assert_eq!(value(&cluster, "bob", "b", partition), 3 * (65 + 100 * 25), "{partition}");
    }
    assert_eq!(value(&cluster, "ann", "a", "debug"), 50, "elsewhere the book does not count");
    let newcomer = PointsJob {
        newcomer: Some(Names { user: "eve", account: "b" }),
        partition: cluster.points.partition("gpu"),
        ..PointsJob::default()
    };
    assert_eq!(cluster.value(&newcomer), 3 * (10 * 25 + 65 + 100 * 25), "as a new user of the account");
}

#[test]
fn a_cap_in_a_book_holds_there_alone_and_steps_are_its_own() {
    let lines = "Book=gpu Partitions=gpu\nComponent=FS FSUser=1\nFSStep=10\nTarget=User Name=ann Percent=50\n\
                 Target=User Name=ann Percent=50 Book=gpu\nTarget=User Name=ann Amount=10 Type=cap Block=yes Book=gpu\n";
    let mut cluster = Site::new().with("a", "ann", 26.0).with("b", "bob", 74.0).points(lines);
    let mut usage = TargetUsage { nodes: vec![0.0; cluster.tree.len()], ..TargetUsage::default() };
    let ann = cluster.job("ann", "a").node.unwrap();
    (usage.nodes[0], usage.nodes[ann.index()]) = (10.0 * HOUR, 8.0 * HOUR);
    cluster.points.weigh_books(&cluster.tree, std::slice::from_ref(&usage));
    let job = |partition: &str, hours: f64| PointsJob {
        partition: cluster.points.partition(partition),
        limit: hours * HOUR,
        request: Request { metric: 1.0, ..Request::default() },
        ..cluster.job("ann", "a")
    };
    // 24 points of all in steps of 10, and 50 - 80 in the book.
    assert_eq!(
        [("gpu", 2.0), ("gpu", 3.0), ("debug", 9.0)].map(|(name, hours)| cluster.value(&job(name, hours))),
        [20 - 30, -1_000_000, 20]
    );
    assert_eq!(
        [("gpu", 2.0), ("gpu", 3.0), ("debug", 9.0)]
            .map(|(name, hours)| cluster.points.is_stopped(&job(name, hours))),
        [false, true, false]
    );
    let beyond = cluster.beyond(&job("gpu", 3.0));
    assert_eq!(beyond.len(), 1);
    assert_eq!((beyond[0].book.as_deref(), beyond[0].used, beyond[0].stops), (Some("gpu"), 8.0 * HOUR, true));
    let steps = cluster.points.kept_steps().unwrap();
    let step = |kind: &str| steps.get(&(kind.to_owned(), "ann".to_owned())).copied();
    assert_eq!([step("User"), step("User@gpu")], [Some(2), Some(-3)]);
    let mut other = Site::new().with("a", "ann", 26.0).with("b", "bob", 74.0).points(lines);
    other.points.restore_steps(&steps);
    usage.nodes[ann.index()] = 7.2 * HOUR;
    other.points.weigh_books(&other.tree, &[usage]);
    assert_eq!(other.points.kept_steps().unwrap(), steps, "22 is not a whole step from 30");
}

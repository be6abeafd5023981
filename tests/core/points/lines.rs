//! What `Component`, `Credential` and `Service` lines say: weights, caps, partitions, names.

use multifactor2_core::policy::points::{Needs, Points, PointsJob, Request};
use multifactor2_core::policy::pools::{Bearer, Names};
use multifactor2_core::rules::grants::Granted;

use super::{needs, requests, settings, value, waited, Site, HOUR};

#[test]
fn nothing_where_no_line_asks() {
    for lines in ["", "Credential=User Name=a Priority=1", "PointsWeight=2\nPointsCap=5"] {
        assert!(Points::configured(&settings(lines)).is_none(), "{lines}");
    }
    for lines in ["Component=RES", "Service=QOS Name=* QueueTimeWeight=1", "Target=User Name=* Percent=1"] {
        assert!(Points::configured(&settings(lines)).is_some(), "{lines}");
    }
}

#[test]
fn resources() {
    let mut job = requests(2.0, 8.0, 4096.0, 100.0);
    (job.request.equivalents, job.limit) = (12.0, 60.0);
    let each = [
        ("Node", 2),
        ("Proc", 8),
        ("Mem", 4096),
        ("Swap", 0),
        ("Disk", 100),
        ("PS", 480),
        ("PE", 12),
        ("WallTime", 60),
    ];
    for (part, expected) in each {
        assert_eq!(value(&format!("Component=RES {part}=1"), &job), expected, "{part}");
        assert_eq!(value(&format!("Component=RES {part}=-2"), &job), -2 * expected, "{part}");
    }
    let all: Vec<String> = each.iter().map(|(part, _)| format!("{part}=1")).collect();
    let sum = each.iter().map(|(_, value)| value).sum::<i32>();
    assert_eq!(value(&format!("Component=RES {}", all.join(" ")), &job), sum);
}

#[test]
fn usage_is_of_running_jobs() {
    let waits = PointsJob {
        limit: 100.0,
        request: Request { cpus: 4.0, ..Request::default() },
        ..PointsJob::default()
    };
    let runs = PointsJob { elapsed: Some(25.0), ..waits };
    let late = PointsJob { elapsed: Some(150.0), ..waits };
    for (part, expected, of_late) in
        [("Consumed", 100, 600), ("Remaining", 300, 0), ("Percent", 25, 150), ("ExecutionTime", 25, 150)]
    {
        let line = format!("Component=USAGE {part}=1");
        assert_eq!([waits, runs, late].map(|job| value(&line, &job)), [0, expected, of_late], "{part}");
    }
    assert_eq!(value("Component=USAGE Percent=1", &PointsJob { limit: 0.0, ..runs }), 2_500);
}

/// A job that runs is not put last any more.
#[test]
fn what_grants_do_to_a_job_is_explained() {
    let cluster = Site::new().points("Component=RES Proc=1\nPointsCap=100");
    let explained = |granted, elapsed| {
        let job = PointsJob { granted, elapsed, ..requests(1.0, 4.0, 0.0, 0.0) };
        let parts = cluster.points.explain(&job);
        (parts.granted, parts.is_beyond_grant)
    };
    let within = Granted { points: 7.0, ..Granted::default() };
    let beyond = Granted { is_last: true, ..Granted::default() };
    assert_eq!([within, beyond].map(|granted| explained(granted, None)), [(7.0, false), (0.0, true)]);
    assert_eq!(explained(beyond, Some(60.0)), (0.0, false));
}

#[test]
fn waiting() {
    assert_eq!(value("Component=SERV QueueTime=10", &waited(90.0, 0.0)), 15);
    assert_eq!(value("Component=SERV Bypass=3", &PointsJob { bypass: 7, ..PointsJob::default() }), 21);
    assert_eq!(value("Component=SERV XFactor=10 XFMinLimit=00:10:00", &waited(300.0, 60.0)), 15);
    // Also for TARGET: XFactor 1.5 of 1.5.
    let target = "Service=QOS Name=* TargetXFactor=1.5\nComponent=TARGET TargetXFactor=100\n";
    let floor = "Component=SERV XFMinLimit=00:10:00";
    assert_eq!(value(&format!("{target}{floor}"), &waited(300.0, 60.0)), 100);
}

#[test]
fn caps_come_before_the_weight_of_their_level() {
    let job = requests(10.0, 100.0, 0.0, 0.0);
    for (line, expected) in [
        ("Component=RES Proc=2 ProcCap=30", 60),
        ("Component=RES Weight=3 Proc=2 ProcCap=30", 180),
        ("Component=RES Weight=3 Cap=50 Proc=2 ProcCap=30", 150),
        ("Component=RES Weight=3 Cap=50 Proc=2 ProcCap=30 Node=1", 150),
        ("Component=RES Cap=0 Proc=2 ProcCap=-5", 200),
        // A cap bounds from above only.
        ("Component=RES Weight=-1 Cap=50 Proc=2", -50),
        ("Component=RES Cap=50 Proc=-2 ProcCap=30", -60),
        ("Component=RES Proc=1\nPointsCap=70", 70),
        ("Component=RES Proc=-1\nPointsCap=70", -70),
        ("Component=RES Proc=1\nPointsCap=0", 0),
        ("Component=RES Proc=1\nPointsWeight=0.5", 50),
        ("Component=RES Proc=1\nPointsWeight=-0.5", -50),
        ("Component=RES Proc=1\nComponent=SERV QueueTime=1 XFactor=1 Weight=5", 105),
    ] {
        assert_eq!(value(line, &job), expected, "{line}");
    }
}

#[test]
fn rounded_once_half_away_from_zero() {
    let one = requests(1.0, 1.0, 1.0, 0.0);
    for (line, expected) in [
        ("Component=RES Proc=2.5", 3),
        ("Component=RES Proc=-2.5", -3),
        ("Component=RES Proc=0.5", 1),
        ("Component=RES Proc=-0.49", 0),
        ("Component=RES Proc=0.25 Node=0.25", 1),
        ("Component=RES Proc=0.25\nComponent=SERV XFactor=0.25", 1),
        ("Component=RES Proc=0.25\nPointsWeight=10", 3),
    ] {
        assert_eq!(value(line, &one), expected, "{line}");
    }
}

#[test]
fn a_line_for_a_partition_replaces_the_general_one_whole() {
    let cluster = Site::new().points(
        "Component=RES Weight=2 Proc=10 Node=1000 Cap=500\n\
         Component=RES Proc=1 Partition=debug,test\n\
         Component=SERV QueueTime=1\n\
         Component=SERV XFactor=100 Partition=debug\n",
    );
    let job = PointsJob { wait: HOUR, limit: HOUR, ..requests(1.0, 4.0, 0.0, 0.0) };
    for (name, expected) in [("batch", 1_060), ("debug", 204), ("test", 64)] {
        let partition = cluster.points.partition(name);
        assert_eq!(cluster.value(&PointsJob { partition, ..job }), expected, "{name}");
    }
    let needs = |name| cluster.points.needs_in(cluster.points.partition(name));
    assert!(needs("batch").resources && !needs("batch").limit && needs("debug").limit);
}

#[test]
fn credentials_of_each_kind() {
    let site = || {
        Site::new()
            .account("root", "top", 1)
            .account("top", "mid", 1)
            .account("mid", "low", 1)
            .user("low", "alice", 1, 0.0)
            .user("top", "bob", 1, 0.0)
            .user("root", "carol", 1, 0.0)
    };
    let of = |lines: &str, user: &str, account: &str| {
        let part = lines.split(['=', ' ']).nth(1).unwrap().replace("Partition", "Class");
        let cluster = site().points(&format!("Component=CRED {part}=1\n{lines}"));
        let partition = cluster.points.partition("debug");
        let (qos, group) = (cluster.points.qos(2), cluster.points.group(501));
        cluster.value(&PointsJob { partition, qos, group, ..cluster.job(user, account) })
    };
    for (lines, expected) in [
        ("Credential=User Name=alice Priority=5", [5, 0, 0]),
        // Slurm keeps users as they are, accounts and QOS in small letters.
        ("Credential=User Name=ALICE,bob Priority=5", [0, 5, 0]),
        ("Credential=Account Name=TOP Priority=5", [0, 5, 0]),
        ("Credential=Parent Name=TOP Priority=5", [5, 5, 0]),
        ("Credential=User Name=* Priority=5\nCredential=User Name=bob Priority=7", [5, 7, 5]),
        // 0 is as no line.
        ("Credential=User Name=* Priority=5\nCredential=User Name=bob Priority=0", [5, 5, 5]),
        ("Credential=Account Name=top Priority=5", [0, 5, 0]),
        ("Credential=Account Name=root Priority=5", [0, 0, 5]),
        ("Credential=Account Name=* Priority=5\nCredential=Account Name=low Priority=2", [2, 5, 5]),
        ("Credential=Parent Name=top Priority=5", [5, 5, 0]),
        ("Credential=Parent Name=top Priority=5\nCredential=Parent Name=low Priority=2", [7, 5, 0]),
        ("Credential=Parent Name=top Priority=5\nCredential=Parent Name=low Priority=-5", [0, 5, 0]),
        // Who has none on the way up has that of all others, the root does not count.
        ("Credential=Parent Name=* Priority=9\nCredential=Parent Name=low Priority=2", [2, 9, 9]),
        ("Credential=Parent Name=* Priority=9\nCredential=Parent Name=top,root Priority=2", [2, 2, 9]),
        ("Credential=QOS Name=SHORT Priority=3", [3, 3, 3]),
        ("Credential=QOS Name=high Priority=3", [0, 0, 0]),
        ("Credential=QOS Name=* Priority=4\nCredential=QOS Name=high Priority=3", [4, 4, 4]),
        ("Credential=QOS Name=* Priority=4\nCredential=QOS Name=short Priority=0", [4, 4, 4]),
        ("Credential=Partition Name=debug Priority=3", [3, 3, 3]),
        ("Credential=Partition Name=* Priority=4\nCredential=Partition Name=batch Priority=3", [4, 4, 4]),
        ("Credential=Group Name=guests Priority=3", [3, 3, 3]),
        ("Credential=Group Name=501 Priority=3", [3, 3, 3]),
        ("Credential=Group Name=501 Priority=0\nCredential=Group Name=guests Priority=3", [3, 3, 3]),
        // Nobody knows the number of it.
        ("Credential=Group Name=nobody Priority=3\nCredential=Group Name=* Priority=1", [1, 1, 1]),
    ] {
        let found = [("alice", "low"), ("bob", "top"), ("carol", "root")]
            .map(|(user, account)| of(lines, user, account));
        assert_eq!(found, expected, "{lines}");
    }
}

#[test]
fn service_lines() {
    let general = "Component=SERV QueueTime=1 QueueTimeCap=100 XFactor=10\n";
    let lines = "Service=QOS Name=short QueueTimeWeight=2 XFactorWeight=-5\n\
                 Service=Partition Name=debug QueueTimeWeight=100\n\
                 Service=Partition Name=* XFactorWeight=1000\n";
    let of = |lines: &str, qos: u32, partition: &str| {
        let cluster = Site::new().points(lines);
        let (qos, partition) = (cluster.points.qos(qos), cluster.points.partition(partition));
        cluster.value(&PointsJob { qos, partition, ..waited(10.0 * 60.0, HOUR * 10.0) })
    };
    let both = format!("{general}{lines}");
    // XFactor is 1 + 1/60.
    assert_eq!(of(&both, 2, "debug"), 35);
    assert_eq!(of(&both, 1, "debug"), 1_020);
    assert_eq!(of(&both, 1, "batch"), 1_037);
    // Also where there is no line of the component.
    assert_eq!(of(lines, 2, "debug"), 15);
    assert_eq!(of(lines, 1, "debug"), 1_000);
    // The cap comes before the weight that is added.
    let capped = "Component=SERV QueueTimeCap=4\nService=QOS Name=* QueueTimeWeight=2\n";
    assert_eq!(of(capped, 1, "debug"), 8);
    // All QOS come before any partition.
    assert_eq!(of(&format!("{lines}Service=QOS Name=* QueueTimeWeight=3"), 1, "debug"), 30);
}

#[test]
fn an_association_newer_than_the_tree() {
    let cluster =
        Site::new().account("root", "top", 1).with("low", "alice", 75.0).user("top", "bob", 1, 25.0).points(
            "Component=CRED User=1 Account=10 Parent=100\n\
             Credential=User Name=alice,new Priority=3\n\
             Credential=Account Name=low Priority=5\n\
             Credential=Account Name=other Priority=6\n\
             Credential=Parent Name=low Priority=7\n\
             Credential=Parent Name=* Priority=1\n\
             Component=FS FSUser=1000 FSAccount=100000\n\
             Target=User Name=* Percent=50\n\
             Target=Account Name=low Percent=80 Weight=1\nPointsCap=100000000\n",
        );
    let of = |user, account| {
        cluster.value(&PointsJob { newcomer: Some(Names { user, account }), ..PointsJob::default() })
    };
    assert_eq!(cluster.of("alice", "low"), 3 + 50 + 700 + 2 * (-25_000 + 500_000));
    // Known elsewhere: with what was used there.
    assert_eq!(of("alice", "top"), 3 + 100 - 25_000);
    assert_eq!(of("new", "low"), 3 + 50 + 700 + 2 * (50_000 + 500_000));
    assert_eq!(of("new", "top"), 3 + 100 + 50_000);
    assert_eq!(of("someone", "nowhere"), 100 + 50_000);
    assert_eq!(of("someone", "other"), 60 + 100 + 50_000, "an account that is new, too");
}

#[test]
fn what_is_worth_reading() {
    let none = Needs::default();
    assert_eq!(needs("Component=RES"), none);
    for (lines, expected) in [
        ("Component=RES Mem=1", Needs { resources: true, ..none }),
        ("Component=RES Disk=1", Needs { disk: true, ..none }),
        ("Component=RES PE=1", Needs { equivalents: true, ..none }),
        ("Component=RES PS=1", Needs { resources: true, limit: true, ..none }),
        ("Component=SERV QueueTime=1", Needs { wait: true, ..none }),
        ("Component=SERV XFactor=1 Bypass=1", Needs { wait: true, limit: true, bypass: true, ..none }),
        ("Service=QOS Name=* XFactorWeight=1", Needs { wait: true, limit: true, qos: true, ..none }),
        ("Component=TARGET TargetXFactor=1", none),
        ("Component=USAGE Percent=1", Needs { limit: true, elapsed: true, ..none }),
        ("Component=CRED User=1", none),
        ("Component=CRED\nCredential=User Name=a Priority=1", Needs { credentials: true, ..none }),
        (
            "Component=CRED\nCredential=Group Name=a Priority=1",
            Needs { credentials: true, groups: true, ..none },
        ),
        ("Target=User Name=a Percent=1", Needs { targets: true, ..none }),
        ("Target=QOS Name=a Percent=1 Window=yes", Needs { targets: true, qos: true, windows: true, ..none }),
        ("Target=Partition Name=a Percent=1", Needs { targets: true, own_halflife: true, ..none }),
        ("Target=Parent Name=a Percent=1", Needs { targets: true, ..none }),
        (
            "Target=Parent Name=a Percent=1\nTargetUsage=window",
            Needs { targets: true, windows: true, ..none },
        ),
        // Accounts without a line go by the usage of the settings, whatever the line has.
        (
            "Target=Parent Name=a Percent=1 Window=yes\nTargetMetric=cpu",
            Needs { targets: true, windows: true, own_halflife: true, ..none },
        ),
        (
            "Target=Parent Name=a Amount=1 Type=cap Window=yes\nTargetMetric=cpu",
            Needs { targets: true, windows: true, caps: true, limit: true, ..none },
        ),
        (
            "Target=User Name=a Percent=1\nTargetMetric=cpu",
            Needs { targets: true, own_halflife: true, ..none },
        ),
        (
            "Target=User Name=a Amount=1 Type=cap\nTargetUsage=window",
            Needs { targets: true, windows: true, caps: true, limit: true, ..none },
        ),
    ] {
        assert_eq!(needs(lines), expected, "{lines}");
    }
    assert!(needs("Target=User Name=a Percent=1%available\nTargetMetric=cpu").capacity);
}

#[test]
fn names_that_do_not_exist() {
    let cluster = Site::new().with("low", "alice", 0.0).points(
        "Component=CRED User=1 Partition=debug\n\
         Credential=User Name=alice,bob Priority=0\n\
         Credential=Account Name=* Priority=1\n\
         Credential=Parent Name=low,lost Priority=1\n\
         Credential=Group Name=staff,77,lost Priority=1\n\
         Service=QOS Name=high\n",
    );
    let of = |name: &str| cluster.points.named().find(|named| named.name == name).map(|named| named.of);
    for (name, bearer) in [
        ("alice", Bearer::Association(true)),
        ("bob", Bearer::Association(false)),
        ("low", Bearer::Association(true)),
        ("staff", Bearer::Group(true)),
        ("77", Bearer::Group(true)),
        ("high", Bearer::Qos),
        ("debug", Bearer::Partition),
    ] {
        assert_eq!(of(name), Some(bearer), "{name}");
    }
    assert_eq!(of("*"), None);
    let lost: Vec<Bearer> =
        cluster.points.named().filter(|named| named.name == "lost").map(|named| named.of).collect();
    assert_eq!(lost, [Bearer::Association(false), Bearer::Group(false)]);
    assert_eq!(cluster.points.group_names().collect::<Vec<_>>(), ["staff", "77", "lost"]);
}

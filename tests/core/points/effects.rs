//! What is said to have no effect has none: without it each job has the same points. With what is advised it has some, and nothing is said.

use multifactor2_core::policy::points::PointsJob;
use multifactor2_core::settings::advice::Grade;
use multifactor2_core::settings::Settings;

use super::targets::site;
use super::{waited, HOUR};

/// Points of the jobs of everybody, which have a partition, a QOS, a group and have waited.
fn of_everybody(lines: &str) -> Vec<i32> {
    let cluster = site().points(lines);
    [("alice", "low"), ("alice", "top"), ("bob", "top"), ("carol", "other")]
        .map(|(user, account)| {
            let partition = cluster.points.partition("debug");
            let (qos, group) = (cluster.points.qos(2), cluster.points.group(501));
            let node = cluster.job(user, account).node;
            cluster.value(&PointsJob { node, partition, qos, group, ..waited(2.0 * HOUR, HOUR) })
        })
        .to_vec()
}

/// What is written, what is said of it, what stays without it, and what is advised.
const CASES: [(&str, &str, &str, &str); 12] = [
    (
        "Component=CRED User=1 Account=2\nCredential=User Name=alice Priority=5",
        "Component=CRED Account=2 changes nothing: there is no Credential=Account line. Add one, or remove Account",
        "Component=CRED User=1\nCredential=User Name=alice Priority=5",
        "Component=CRED User=1 Account=2\nCredential=User Name=alice Priority=5\nCredential=Account Name=other Priority=7",
    ),
    (
        "Component=CRED Class=1 QOS=1\nCredential=QOS Name=short Priority=5",
        "Component=CRED Class=1 changes nothing: there is no Credential=Partition line. Add one, or remove Class",
        "Component=CRED QOS=1\nCredential=QOS Name=short Priority=5",
        "Component=CRED Class=1 QOS=1\nCredential=QOS Name=short Priority=5\nCredential=Partition Name=debug Priority=5",
    ),
    (
        "Component=FS FSUser=1 FSAccount=1\nTarget=User Name=alice Percent=50\nTargetMetric=cpu",
        "Component=FS FSAccount=1 changes nothing: there is no Target=Account line. Add one, or remove FSAccount",
        "Component=FS FSUser=1\nTarget=User Name=alice Percent=50\nTargetMetric=cpu",
        "Component=FS FSUser=1 FSAccount=1\nTarget=User Name=alice Percent=50\nTarget=Account Name=top Percent=70\nTargetMetric=cpu",
    ),
    (
        "Component=FS FSQOS=3\nComponent=SERV QueueTime=1",
        "Component=FS FSQOS=3 changes nothing: there is no Target=QOS line. Add one, or remove FSQOS",
        "Component=SERV QueueTime=1",
        "Component=FS FSQOS=3\nTarget=QOS Name=short Percent=70\nComponent=SERV QueueTime=1\nTargetMetric=cpu",
    ),
    (
        "Component=TARGET TargetQueueTime=1 TargetXFactor=9\nService=QOS Name=short TargetQueueTime=03:00:00",
        "Component=TARGET TargetXFactor=9 changes nothing: no Service line has TargetXFactor. Add one, or remove TargetXFactor",
        "Component=TARGET TargetQueueTime=1\nService=QOS Name=short TargetQueueTime=03:00:00",
        "Component=TARGET TargetQueueTime=1 TargetXFactor=9\nService=QOS Name=short TargetQueueTime=03:00:00 TargetXFactor=2",
    ),
    (
        "Component=CRED User=1\nCredential=User Name=bob Priority=5\nCredential=Group Name=guests Priority=6",
        "Credential=Group lines change nothing: no Component=CRED line gives Group a weight. Add it, or remove the lines",
        "Component=CRED User=1\nCredential=User Name=bob Priority=5",
        "Component=CRED User=1 Group=1\nCredential=User Name=bob Priority=5\nCredential=Group Name=guests Priority=6",
    ),
    (
        "Component=SERV QueueTime=1\nCredential=Parent Name=top Priority=5",
        "Credential: has no effect without a Component=CRED line: add one with weights, or remove it",
        "Component=SERV QueueTime=1",
        "Component=SERV QueueTime=1\nComponent=CRED Parent=2\nCredential=Parent Name=top Priority=5",
    ),
    (
        "Component=CRED User=1 Weight=0\nCredential=User Name=bob Priority=5\nComponent=SERV QueueTime=1",
        "Credential=User lines change nothing: no Component=CRED line gives User a weight. Add it, or remove the lines",
        "Component=SERV QueueTime=1",
        "Component=CRED User=1\nCredential=User Name=bob Priority=5\nComponent=SERV QueueTime=1",
    ),
    (
        "Component=FS FSUser=1\nTarget=User Name=alice Percent=50\nTarget=Account Name=top Percent=70\nTargetMetric=cpu",
        "Target=Account lines change nothing: no Component=FS line gives FSAccount a weight. Add it, or remove the lines",
        "Component=FS FSUser=1\nTarget=User Name=alice Percent=50\nTargetMetric=cpu",
        "Component=FS FSUser=1 FSAccount=1\nTarget=User Name=alice Percent=50\nTarget=Account Name=top Percent=70\nTargetMetric=cpu",
    ),
    (
        "Component=FS FSAccount=1\nTarget=Account Name=top Percent=70\nTarget=User Name=alice Percent=50 Weight=5\nTargetMetric=cpu",
        "Target=User lines change nothing: no Component=FS line gives FSUser a weight. Add it, or remove the lines",
        "Component=FS FSAccount=1\nTarget=Account Name=top Percent=70\nTargetMetric=cpu",
        "Component=FS FSAccount=1 FSUser=1\nTarget=Account Name=top Percent=70\nTarget=User Name=alice Percent=50 Weight=5\nTargetMetric=cpu",
    ),
    (
        "Component=SERV QueueTime=1\nPointsWeight=0",
        "Component lines change nothing with PointsWeight=0: set another number, or remove the lines",
        "Component=SERV\nPointsWeight=1",
        "Component=SERV QueueTime=1\nPointsWeight=2",
    ),
    (
        "Component=SERV QueueTime=1\nPointsCap=0",
        "Component lines change nothing with PointsCap=0: set another number, or remove the lines",
        "Component=SERV\nPointsWeight=1",
        "Component=SERV QueueTime=1\nPointsCap=100",
    ),
];

/// All that is said to have no effect, without its place.
fn idle(lines: &str) -> Vec<String> {
    let loaded = Settings::parse(lines, "test").unwrap();
    let warnings = loaded.warnings.iter().filter(|warning| warning.grade == Grade::WithoutEffect);
    let warnings = warnings.map(|warning| format!("{}: {}", warning.key, warning.advice));
    warnings.chain(loaded.settings.without_effect()).collect()
}

#[test]
fn what_is_said_to_change_nothing_changes_nothing() {
    for (lines, said, without, advised) in CASES {
        assert_eq!(idle(lines), [said], "{lines}");
        assert_eq!(of_everybody(lines), of_everybody(without), "{lines}");
        assert_eq!(idle(advised), Vec::<String>::new(), "{advised}");
        assert_ne!(of_everybody(lines), of_everybody(advised), "{advised}");
    }
}

#[test]
fn of_other_settings_too() {
    for (lines, said) in [
        ("", ""),
        ("Dilution=user\nDilutionQuantum=64\nDilutionUnit=cpu", ""),
        ("DilutionQuantum=64\nDilutionUnit=cpu", "DilutionUnit: has no effect with Dilution=none: remove it, or set Dilution=user or tree\nDilutionQuantum: has no effect with \
             Dilution=none: remove it, or set Dilution=user or tree"),
        ("DilutionCap=1-0", "DilutionCap: has no effect with Dilution=none: remove it, or set Dilution=user or tree"),
        ("ParentUsers=split", ""),
        ("ParentUsers=split\nDistribution=standing", "ParentUsers=split changes nothing with Distribution=standing: remove it, or set Distribution=tickets"),
        ("TicketsFunctional=5\nFunctional=User Name=* Shares=1", ""),
        ("Functional=User Name=* Shares=1", "Functional: has no effect with TicketsFunctional=0: remove it, or set TicketsFunctional to more than 0"),
    ] {
        assert_eq!(idle(lines).join("\n"), said, "{lines}");
    }
}

//! Lines of points: what they may say, and what they may not say together.

use std::time::Duration;

use multifactor2_core::settings::{
    ComponentKind, CredentialKind, Curve, Loaded, ServiceKind, Settings, TargetKind, TargetMode, TargetType,
    TargetUsage, Term,
};

fn loaded(text: &str) -> Loaded {
    Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{text:?}: {errors}"))
}

fn errors(text: &str) -> String {
    Settings::parse(text, "f").unwrap_err().to_string()
}

const ALL: &str = "\
Component=SERV Weight=2 Cap=1000 QueueTime=1 XFactor=100 XFactorCap=50 XFMinLimit=00:10:00
component=serv partition=debug,short QUEUETIME=-3
Component=CRED User=1 Group=1 Account=1 Parent=1 QOS=1 Class=1
Component=FS Weight=100 FSUser=10 FSGroup=20 FSAccount=30 FSParent=5 FSQOS=40 FSClass=0
Credential=User Name=john,paul Priority=2000
Credential=Group Name=* Priority=-5
Service=QOS Name=short TargetQueueTime=00:15:00 TargetXFactor=3 QueueTimeWeight=7 XFactorWeight=-8 Curve=maui
Target=User Name=john Percent=16.5 Type=floor Mode=ratio Window=yes
Target=Account Name=physics Percent=5%Available Weight=3
Target=Parent Name=* Type=cap Amount=1000 Block=yes
PointsWeight=0.5 PointsCap=5 TargetUsage=window TargetWindow=24:00:00 TargetDepth=7 TargetDecay=1 TargetMetric=gres/gpu CapTiers=yes TierMultiplier=-1
";

#[test]
fn every_line_is_read_and_written_again() {
    let Loaded { settings, written, warnings, .. } = loaded(ALL);
    assert_eq!(warnings.len(), 1, "Component=TARGET is missing: {warnings:?}");
    let [serv, debug, cred, fs] = &settings.components[..] else { panic!("{:?}", settings.components) };
    assert_eq!((serv.component, serv.weight, serv.cap), (ComponentKind::Serv, 2.0, 1000.0));
    assert_eq!(serv.xfactor, Term { weight: 100.0, cap: 50.0 });
    assert_eq!(serv.xfactor_min_limit, Some(Duration::from_secs(600)));
    assert_eq!(serv.bypass, Term::default());
    assert_eq!(debug.partitions.as_deref(), Some(&["debug".to_owned(), "short".to_owned()][..]));
    assert_eq!((debug.weight, debug.queue_time.weight, debug.xfactor.weight), (1.0, -3.0, 0.0));
    assert_eq!((cred.component, cred.class.weight), (ComponentKind::Cred, 1.0));
    assert_eq!((fs.weight, fs.fs_qos.weight, fs.fs_class.weight), (100.0, 40.0, 0.0));
    assert_eq!(settings.credentials[0].priority, 2000);
    assert_eq!((settings.credentials[1].kind, settings.credentials[1].priority), (CredentialKind::Group, -5));
    let service = &settings.services[0];
    assert_eq!((service.kind, service.curve), (ServiceKind::Qos, Curve::Maui));
    assert_eq!(service.target_queue_time, Some(Duration::from_secs(900)));
    assert_eq!(
        (service.target_xfactor, service.queue_time_weight, service.xfactor_weight),
        (Some(3.0), 7.0, -8.0)
    );
    let [john, physics, cap] = &settings.targets[..] else { panic!("{:?}", settings.targets) };
    assert_eq!(
        (john.kind, john.target_type, john.mode),
        (TargetKind::User, TargetType::Floor, TargetMode::Ratio)
    );
    assert_eq!((john.percentage(), john.weight, john.window), (Some((16.5, false)), None, Some(true)));
    assert_eq!((physics.percentage(), physics.weight), (Some((5.0, true)), Some(3.0)));
    assert_eq!((cap.percentage(), cap.amount, cap.target_type), (None, Some(1000.0), TargetType::Cap));
    assert_eq!((settings.points_weight, settings.points_cap), (0.5, 5));
    assert_eq!((settings.target_usage, settings.target_depth), (TargetUsage::Window, 7));
    assert_eq!((settings.target_metric.as_str(), settings.cap_tiers), ("gres/gpu", true));
    for text in [settings.to_string().replace(" Component=", "\nComponent="), written] {
        let lines = ["Component", "Credential", "Service", "Target"]
            .iter()
            .fold(text, |text, key| text.replace(&format!(" {key}="), &format!("\n{key}=")));
        assert_eq!(loaded(&lines).settings, settings, "{lines}");
    }
}

#[test]
fn without_lines_there_are_none_and_numbers_are_as_documented() {
    let settings = loaded("").settings;
    assert!(settings.components.is_empty() && settings.credentials.is_empty());
    assert!(settings.services.is_empty() && settings.targets.is_empty());
    assert_eq!((settings.points_weight, settings.points_cap), (1.0, 1_000_000));
    assert_eq!((settings.target_usage, settings.target_window.as_secs()), (TargetUsage::HalfLife, 43_200));
    assert_eq!((settings.target_depth, settings.target_decay), (14, 0.8));
    assert_eq!((settings.target_metric.as_str(), settings.cap_tiers), ("billing", false));
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_is_allowed() {
    for (text, start, allowed) in [
        ("Component=SERV User=1", "f line 1: User=1: ", "User is allowed with Component=CRED only; move it"),
        ("Component=RES XFactorCap=1", "f line 1: XFactorCap=1: ", "allowed with Component=SERV only"),
        ("Component=SERV QueTime=1", "f line 1: QueTime=1: ", "did you mean QueueTime?"),
        (
            "Component=SERV QueTime=1",
            "f line 1: QueTime=1: ",
            "XFMinLimit, WaitingTime, Deadline, DeadlineIs, States, QueueTime, XFactor, Bypass, StartCount;",
        ),
        ("Component=SERVE", "f line 1: Component=SERVE: ", "did you mean SERV?"),
        ("Component=FS XFMinLimit=1", "f line 1: XFMinLimit=1: ", "Component=SERV only"),
        ("Component=FS FSUser=x", "f line 1: FSUser=x: ", "a number from -1000000000 to 1000000000"),
        ("Component=RES Proc=1\nComponent=RES Node=1", "f line 2: Component=RES: ", "f line 1 has one, too"),
        (
            "Component=RES Partition=a,b\nComponent=RES Partition=b",
            "f line 2: Component=RES: ",
            "a component can have one line for Partition=b",
        ),
        ("Credential=User Name=john", "f line 1: Credential=User: ", "Priority is missing"),
        ("Credential=User Name=john Priority=1.5", "f line 1: Priority=1.5: ", "a whole number"),
        ("Credential=User Name=a,* Priority=1", "f line 1: Name=a,*: ", "* alone"),
        (
            "Credential=Account Name=Bio Priority=1\nCredential=Account Name=bio Priority=2",
            "f line 2: Name=bio: ",
            "f line 1 has it, too",
        ),
        ("Service=QOS Name=a\nService=QOS Name=A", "f line 2: Name=A: ", "only one line with Service=QOS"),
        ("Service=User Name=a", "f line 1: Service=User: ", "must be one of QOS, Partition"),
        ("Target=User Name=a", "f line 1: Target=User: ", "Percent is missing"),
        ("Target=User Name=a Type=cap", "f line 1: Target=User: ", "Percent or Amount is missing"),
        (
            "Target=User Name=a Percent=5 Block=yes",
            "f line 1: Block=yes: ",
            "Block=yes is allowed with Type=cap only",
        ),
        ("Target=User Name=a Amount=1", "f line 1: Amount=1: ", "Type=cap only"),
        (
            "Target=User Name=a Percent=1 Amount=1 Type=cap",
            "f line 1: Amount=1: ",
            "a line can have Percent or Amount, not both",
        ),
        ("Target=User Name=a Percent=5%", "f line 1: Percent=5%: ", "%available"),
        ("Target=User Name=a Percent=5%available", "f line 1: Percent=5%available: ", "TargetMetric=billing"),
        ("Target=User Name=a Percent=-1", "f line 1: Percent=-1: ", "a number from 0"),
        ("Target=User Name=a Percent=0 Mode=ratio", "f line 1: Percent=0: ", "more than 0 with Mode=ratio"),
        (
            "TargetMetric=cpu\nTarget=Parent Name=a Percent=5%available",
            "f line 2: Percent=5%available: ",
            "compared with its siblings",
        ),
        (
            "Target=QOS Name=a Percent=1\nTarget=QOS Name=a Percent=2 Type=floor",
            "f line 2: Name=a: ",
            "only one line with Target=QOS",
        ),
        ("TargetMetric=a,b", "f line 1: TargetMetric=a,b: ", "name of a TRES"),
        ("TargetDepth=0", "f line 1: TargetDepth=0: ", "from 1 to 1000"),
        ("TargetWindow=0", "f line 1: TargetWindow=0: ", "longer than 0 seconds"),
        ("PointsCap=-1", "f line 1: PointsCap=-1: ", "from 0 to 2147483647"),
    ] {
        let message = errors(text);
        let line = message.lines().find(|line| line.starts_with(start) && line.contains(allowed));
        assert!(line.is_some(), "{text:?}: {message}");
    }
    // Users and groups differ in small and large letters, and a name may have a target and a cap.
    loaded("Component=FS FSUser=1\nTarget=User Name=a Percent=1\nTarget=User Name=A Percent=1\nTarget=User Name=a Percent=2 Type=cap");
}

#[test]
fn what_does_nothing_is_a_warning() {
    for (text, key, advice) in [
        ("Credential=User Name=john Priority=1", "Credential", "without a Component=CRED line"),
        ("Target=User Name=john Percent=1", "Target", "without a Component=FS line"),
        ("Service=QOS Name=a TargetXFactor=2", "Service", "without a Component=TARGET line"),
        ("Component=RES Swap=1", "Swap", "Slurm does not know the swap space"),
        ("Target=User Name=john Percent=1 Type=cap Weight=2", "Weight", "no effect with Type=cap"),
        (
            "Component=FS\nTarget=User Name=j Percent=1\nTargetDepth=3",
            "TargetDepth",
            "set TargetUsage=window",
        ),
        ("Component=FS\nTarget=User Name=j Percent=1\nCapTiers=yes", "CapTiers", "Target=Parent"),
        ("TargetMetric=cpu", "TargetMetric", "without a Target line"),
    ] {
        let warnings = loaded(text).warnings;
        assert_eq!(warnings.len(), 1, "{text:?}: {warnings:?}");
        assert!(warnings[0].key == key && warnings[0].advice.contains(advice), "{text:?}: {warnings:?}");
    }
    let fine = "Target=User Name=john Percent=1 Type=cap\nService=QOS Name=a QueueTimeWeight=1";
    assert_eq!(loaded(fine).warnings, []);
}

//! `Snapshot` and what belongs to it: what they may say, alone and together.

use std::path::Path;

use multifactor2_core::settings::table::SETTINGS;
use multifactor2_core::settings::{Settings, SnapshotMode};

fn error(text: &str) -> String {
    Settings::parse(text, "f").expect_err(text).to_string()
}

#[test]
fn by_default_nothing_is_written() {
    let settings = Settings::parse("Snapshot=None SnapshotGroup=none", "f").unwrap().settings;
    assert_eq!(settings.snapshot_file(), Settings::default().snapshot_file());
    assert_eq!((settings.snapshot_file(), settings.snapshot_period), (None, 300));
    assert_eq!((settings.snapshot_mode, settings.snapshot_readers()), (SnapshotMode::Owner, None));
}

#[test]
fn all_of_it_is_read_and_kept_as_it_was_written() {
    let text = "Snapshot=\"/var/lib/slurm/my snapshot\"\nSnapshotPeriod=60\nSnapshotMode=0640\nSnapshotGroup=operators";
    let settings = Settings::parse(text, "f").unwrap().settings;
    assert_eq!(settings.snapshot_file(), Some("/var/lib/slurm/my snapshot"));
    assert_eq!((settings.snapshot_period, settings.snapshot_mode), (60, SnapshotMode::Group));
    assert_eq!(settings.snapshot_readers(), Some("operators"));
    assert_eq!(Settings::parse(&settings.lines().join("\n"), "f").unwrap().settings, settings);
    assert_eq!(settings.lines().len(), 4);
    let one =
        Settings::load(Some("Snapshot=/a/b,SnapshotMode=0644"), Path::new("/nonexistent")).unwrap().settings;
    assert_eq!((one.snapshot_file(), one.snapshot_mode), (Some("/a/b"), SnapshotMode::All));
}

#[test]
fn only_an_absolute_path_of_a_file_is_one() {
    for path in ["", "snapshot", "./snapshot", "~/snapshot", "/", "/var/", "/var/..", "/a\tb"] {
        let error = error(&format!("\nSnapshot=\"{path}\""));
        assert!(error.starts_with("f line 2: Snapshot"), "{error}");
        assert!(error.contains("the absolute path of a file"), "{error}");
    }
    assert!(error("SnapshotPeriod=0").contains("from 1 to 31536000"));
    assert!(error("SnapshotMode=0660").contains("must be one of 0600, 0640, 0644"));
    assert!(error("SnapshotGroup=\"a:b\"").contains("the name or number of a Unix group"));
}

#[test]
fn a_group_goes_with_the_mode_that_lets_it_read() {
    let of = "Snapshot=/a/b\n";
    let without = error(&format!("{of}SnapshotMode=0640"));
    assert!(
        without.contains("f line 2: SnapshotMode=0640: must be 0600 or 0644 without SnapshotGroup"),
        "{without}"
    );
    for mode in ["0600", "0644"] {
        let other = error(&format!("{of}SnapshotMode={mode}\nSnapshotGroup=wheel"));
        assert!(
            other.contains(&format!(
                "f line 3: SnapshotGroup=wheel: allowed with SnapshotMode=0640 only, but the mode is {mode}"
            )),
            "{other}"
        );
    }
    assert!(error(&format!("{of}SnapshotGroup=wheel")).contains("the mode is 0600"));
}

#[test]
fn what_everybody_may_read_is_another_file() {
    let text = "Snapshot=/a/b\nSnapshotPublic=/a/c";
    let settings = Settings::parse(text, "f").unwrap().settings;
    assert_eq!((settings.snapshot_file(), settings.public_file()), (Some("/a/b"), Some("/a/c")));
    assert_eq!(Settings::default().public_file(), None);
    let same = error("Snapshot=/a/b\nSnapshotPublic=/a/b");
    let said = "f line 2: SnapshotPublic=/a/b: must not be the file of Snapshot; name another file";
    assert!(same.contains(said), "{same}");
}

/// Lines of every kind. Who is named there is called `mary` or `mary:…`; partitions are `lab`, QOS `fast`.
const OF_EVERYBODY: &str = "\
Distribution=strict
Snapshot=/a/b
SnapshotMode=0640
SnapshotGroup=mary
SnapshotPublic=/a/c
Override=User Name=mary Tickets=1
Override=Account Name=mary Tickets=1
Override=Parent Name=mary Tickets=1
Override=WCKey Name=mary Tickets=1
Override=Job Name=4711 Tickets=1
Override=QOS Name=fast Tickets=1
Override=Partition Name=lab Tickets=1
Functional=User Name=* Shares=1
Functional=Account Name=mary Shares=1
Functional=Department Name=mary,peter Shares=1
Component=CRED Weight=2
Component=FS
Component=RES
Component=SERV
Component=TARGET
Component=CRED Partition=lab
Credential=User Name=mary Priority=1
Credential=Group Name=mary Priority=1
Credential=Account Name=mary Priority=1
Credential=Parent Name=mary Priority=1
Credential=QOS Name=fast Priority=1
Credential=Partition Name=lab Priority=1
Service=QOS Name=fast TargetXFactor=2
Service=Partition Name=lab TargetXFactor=2
Target=User Name=mary Percent=5
Target=Group Name=mary Percent=5
Target=Account Name=mary Percent=5
Target=Parent Name=mary Percent=5
Target=QOS Name=fast Percent=5
Target=Partition Name=lab Percent=5
Charge=Partition Name=lab Factor=2
Charge=QOS Name=fast Factor=2
Charge=Reservation Name=mary Factor=2
Charge=WCKey Name=mary Factor=2
Charge=Account Name=mary Factor=2
Charge=Parent Name=mary Factor=2
Charge=Requeued Factor=0
Book=gpu Partitions=lab
Book=cpu Partitions=lab2 Shares=mary:1,*:0
Grant=Account Name=mary Amount=12 From=2027-01-01 Until=2027-12-31
Grant=User Name=mary Amount=12 From=2027-01-01 Until=2027-12-31
Grant=Group Name=mary Amount=12 From=2027-01-01 Until=2027-12-31
Grant=QOS Name=fast Amount=12 From=2027-01-01 Until=2027-12-31
Grant=QOS Name=fast Amount=12 From=2027-01-01 Until=2027-12-31 Partition=lab
Grant=WCKey Name=mary Amount=12 From=2027-01-01 Until=2027-12-31
Adjust=Account Name=mary Amount=-1 At=2027-02-01
Adjust=QOS Name=fast Amount=1 At=2027-02-01
Adjust=QOS Name=fast Amount=1 At=2027-02-01 Partition=lab
";

#[test]
fn what_everybody_may_know_names_nobody() {
    let settings = Settings::parse(OF_EVERYBODY, "f").unwrap().settings;
    let all = settings.lines();
    for kind in
        ["Override=", "Functional=", "Component=", "Credential=", "Service=", "Target=", "Charge=", "Book="]
    {
        assert!(all.iter().any(|line| line.starts_with(kind)), "{kind}");
    }
    let names_somebody = |line: &String| {
        ["mary", "4711"].iter().any(|name| line.contains(name)) || line == "SnapshotMode=0640"
    };
    let names_partitions = |line: &String| line.contains("lab");
    for partitions in [true, false] {
        let public = settings.public(partitions);
        let expected: Vec<String> = all
            .iter()
            .filter(|line| !names_somebody(line) && (partitions || !names_partitions(line)))
            .cloned()
            .collect();
        assert_eq!(public.settings.lines(), expected);
        assert_eq!(public.withheld, all.len() - expected.len());
        assert!(public.withheld >= 18, "{public:?}");
    }
    // A setting of a kind that is not above would not have been looked at.
    for setting in SETTINGS.iter().filter(|setting| setting.attributes.is_some()) {
        assert!(OF_EVERYBODY.contains(&format!("\n{}=", setting.name)), "{}", setting.name);
    }
    let nobody = Settings::parse("Distribution=strict", "f").unwrap().settings;
    assert_eq!((nobody.public(true).settings, nobody.public(true).withheld), (nobody.clone(), 0));
}

//! `Snapshot` and what belongs to it: what they may say, alone and together.

use std::path::Path;

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
        assert!(error.contains("an absolute path of a file"), "{error}");
    }
    assert!(error("SnapshotPeriod=0").contains("from 1 to 31536000"));
    assert!(error("SnapshotMode=0660").contains("allowed are 0600, 0640, 0644"));
    assert!(error("SnapshotGroup=\"a:b\"").contains("the name or number of a Unix group"));
}

#[test]
fn a_group_goes_with_the_mode_that_lets_it_read() {
    let of = "Snapshot=/a/b\n";
    let without = error(&format!("{of}SnapshotMode=0640"));
    assert!(
        without.contains("f line 2: SnapshotMode=0640: allowed are 0600 and 0644 without SnapshotGroup"),
        "{without}"
    );
    for mode in ["0600", "0644"] {
        let other = error(&format!("{of}SnapshotMode={mode}\nSnapshotGroup=wheel"));
        assert!(
            other.contains(&format!(
                "f line 3: SnapshotGroup=wheel: allowed with SnapshotMode=0640 only, and it is {mode}"
            )),
            "{other}"
        );
    }
    assert!(error(&format!("{of}SnapshotGroup=wheel")).contains("it is 0600"));
}

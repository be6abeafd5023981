//! `--save`, `--from`, `--conf` and `--anonymise`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use multifactor2_command::input::{load, read, Arguments, Needs};
use multifactor2_command::progress::Progress;
use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::format;
use tempfile::TempDir;

use crate::recorded::{directory, snapshot, texts, RELEASES};

fn saved(release: &str) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("saved");
    texts(release, "multifactor2-root").save(&path).unwrap();
    (place, path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_saved_gives_the_same_and_only_its_owner_can_read_it() {
    for release in RELEASES {
        let (_place, path) = saved(release);
        let mut expected = snapshot(release, "multifactor2-root");
        expected.about.source = "files".to_owned();
        assert_eq!(read(&path, None).unwrap(), expected, "{release}");
        assert_eq!((mode(&path), mode(&path.join("queue.txt"))), (0o700, 0o600), "{release}");
        let problem = texts(release, "multifactor2-root").save(&path).unwrap_err();
        assert!(problem.to_string().contains("it is not empty"), "{problem}");
    }
}

#[test]
fn a_snapshot_of_the_plugin_is_read_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("snapshot");
    let snapshot = snapshot("26.05.5", "multifactor2-root");
    let mut bytes = Vec::new();
    format::write(&snapshot, &mut bytes).unwrap();
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path, None).unwrap(), snapshot);
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let problem = read(&path, None).unwrap_err().to_string();
    assert!(problem.contains("line ") && problem.contains("snapshot"), "{problem}");
}

#[test]
fn a_dump_has_the_tree_that_sshare_shows() {
    for release in RELEASES {
        let dump = read(&directory(release).join("sacctmgr-dump.cfg"), None).unwrap();
        let live = snapshot(release, "multifactor2-root");
        assert_eq!(
            (dump.about.cluster.as_str(), dump.about.hidden.len()),
            ("test", 1),
            "{:?}",
            dump.about.hidden
        );
        let key = |rows: &[multifactor2_snapshot::records::Association]| {
            let mut keys: Vec<_> = rows
                .iter()
                .map(|row| {
                    let parent =
                        rows.iter().find(|above| above.id == row.parent).map(|above| above.account.clone());
                    (row.account.clone(), row.user.clone(), row.partition.clone(), row.shares, parent)
                })
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(key(&dump.associations), key(&live.associations), "{release}");
        assert!(dump.associations.iter().any(|row| row.shares == USE_PARENT), "{release}");
        let high = dump.qos.iter().find(|qos| qos.name == "high");
        assert_eq!(
            high.map(|qos| (qos.priority, qos.usage_factor)),
            (release > "25").then_some((1000, 2.5)),
            "{release}"
        );
    }
}

#[test]
fn conf_is_what_the_controller_has() {
    let (place, path) = saved("24.11.5");
    let conf = place.path().join("multifactor2.conf");
    fs::write(&conf, "ActiveJobs=eligible\n").unwrap();
    let snapshot = read(&path, Some(&conf)).unwrap();
    let settings = snapshot.settings.unwrap();
    assert_eq!(settings[0].line, "ActiveJobs=eligible");
    assert!(settings[0].from.contains("multifactor2.conf line 1"), "{:?}", settings[0]);
    assert!(snapshot.about.hidden.is_empty(), "{:?}", snapshot.about.hidden);
    fs::write(&conf, "ActiveJobs=never\n").unwrap();
    let problem = read(&path, Some(&conf)).unwrap_err().to_string();
    assert!(problem.contains("multifactor2.conf line 1: ActiveJobs=never: must be"), "{problem}");
    assert!(read(&path, Some(Path::new("/nowhere/x.conf")))
        .unwrap_err()
        .to_string()
        .contains("/nowhere/x.conf"));
}

#[test]
fn what_is_no_saved_directory_is_refused_with_the_next_step() {
    let place = tempfile::tempdir().unwrap();
    let from = |path: &Path| read(path, None).unwrap_err().to_string();
    assert!(from(place.path()).contains("manifest.json"));
    assert!(from(Path::new("/dev/zero")).contains("this is no file"));
    let write = |name: &str, text: &str| {
        fs::write(place.path().join(name), text).unwrap();
        place.path().join(name)
    };
    assert!(from(&write("x", "nonsense\n")).contains("sacctmgr dump"));
    write("manifest.json", "{\"format\":\"multifactor2-commands\",\"version\":9}");
    assert!(from(place.path()).contains("version 9"));
    write("manifest.json", "{\"format\":\"multifactor2-commands\",\"version\":1}");
    assert!(from(place.path()).contains("PriorityType"));
    fs::remove_file(place.path().join("manifest.json")).unwrap();
    fs::create_dir(place.path().join("manifest.json")).unwrap();
    assert!(from(place.path()).contains("this is no file"));
}

#[test]
fn other_names_hide_all_of_them_and_change_nothing_else() {
    let names = [
        "ada",
        "emmy",
        "lise",
        "mara",
        "otto",
        "kurt",
        "olga",
        "ida",
        "physics",
        "theory",
        "chem",
        "r&d",
        "ops",
        "held",
        "gpu",
        "secret",
        "high",
        "maint",
        "999999",
        "localhost",
        "/tmp",
    ];
    for release in RELEASES {
        let (place, path) = saved(release);
        let kept = place.path().join("kept");
        let arguments =
            Arguments { from: Some(path), save: Some(kept.clone()), anonymise: true, ..Arguments::default() };
        let (snapshot, _) = load(&arguments, &Needs::default(), &Progress::begin()).unwrap();
        let text = fs::read_to_string(kept.join("snapshot")).unwrap();
        let words: Vec<&str> = text.split(|c: char| !(c.is_alphanumeric() || "&/".contains(c))).collect();
        for name in names {
            assert!(!words.contains(&name), "{release}: {name}");
        }
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1, "{release}");
        assert_eq!(read(&kept, None).unwrap(), snapshot, "{release}");
        let plain = crate::recorded::snapshot(release, "multifactor2-root");
        assert_eq!(snapshot.jobs.len(), plain.jobs.len(), "{release}");
        for (other, plain) in snapshot.jobs.iter().zip(&plain.jobs) {
            assert_eq!(
                (other.id, other.priority, other.association),
                (plain.id, plain.priority, plain.association)
            );
            let row = snapshot.associations.iter().find(|row| row.id == other.association).unwrap();
            assert_eq!((&row.user, &row.account), (&other.user, &other.account), "{release}");
        }
        assert!(
            snapshot.associations.iter().any(|row| row.account == "root" && row.user == "root"),
            "{release}"
        );
        assert_eq!(snapshot.parameter("PriorityWeightAge"), Some("1000"), "{release}");
        assert_eq!(snapshot.parameter("SlurmctldHost[0]"), None, "{release}");
    }
}

#[test]
fn names_in_settings_are_others_too() {
    let (place, path) = saved("24.11.5");
    let conf = place.path().join("multifactor2.conf");
    let lines = "Override=User Name=ada,stranger Tickets=5\nCredential=Group Name=staff Priority=3\n\
                 Functional=Account Name=* Shares=RawShares\n";
    fs::write(&conf, lines).unwrap();
    let arguments = Arguments { from: Some(path), conf: Some(conf), anonymise: true, ..Arguments::default() };
    let (snapshot, _) = load(&arguments, &Needs::default(), &Progress::begin()).unwrap();
    let ada = &snapshot.associations.iter().find(|row| row.id == 8).unwrap().user;
    let lines: Vec<&str> = snapshot.settings.iter().flatten().map(|setting| setting.line.as_str()).collect();
    assert!(
        lines.iter().any(|line| line.starts_with(&format!("Override=User Name={ada},user"))),
        "{lines:?}"
    );
    assert!(lines.contains(&"Credential=Group Name=group1 Priority=3"), "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("Functional=Account Name=\"*\"") || line.contains("Name=* ")),
        "{lines:?}"
    );
    let all = format!("{:?}", snapshot.settings);
    assert!(!all.contains("stranger") && !all.contains("staff") && !all.contains("/tmp"), "{all}");
}

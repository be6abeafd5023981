//! The last good settings, in the file that the next process finds.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use multifactor2_accounting::kept_settings as kept;
use multifactor2_core::settings::{Loaded, Settings};

fn pending() -> Settings {
    Settings::parse("ActiveJobs=pending", "f").unwrap().settings
}

/// A directory with a file of kept settings, where it is, and what it was made from.
fn kept_pending() -> (tempfile::TempDir, std::path::PathBuf, Loaded) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(kept::NAME);
    let loaded = Settings::parse("# ours\nActiveJobs=eligible\nactivejobs=PENDING # why", "/etc/f").unwrap();
    assert_eq!(kept::keep(&file, &kept::text(&loaded, Path::new("/etc/f"))).unwrap(), None);
    (directory, file, loaded)
}

#[test]
fn kept_settings_are_text_with_version_and_origin_and_private() {
    let (directory, file, loaded) = kept_pending();
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "# multifactor2_settings 1: the last good settings of priority/multifactor2, from PriorityParameters and \
         /etc/f\nActiveJobs=PENDING # /etc/f line 3\n# end\n"
    );
    let meta = fs::metadata(&file).unwrap();
    assert_eq!(meta.permissions().mode() & 0o7777, 0o600);
    assert_eq!(kept::read(&file), Ok(Some(pending())));
    // The same again is not written.
    assert_eq!(kept::keep(&file, &kept::text(&loaded, Path::new("/etc/f"))).unwrap(), None);
    assert_eq!(fs::metadata(&file).unwrap().ino(), meta.ino());
    let none = Settings::load(None, &directory.path().join("none")).unwrap();
    assert_eq!(kept::keep(&file, &kept::text(&none, Path::new("/etc/f"))).unwrap(), None);
    assert_eq!(kept::read(&file), Ok(Some(Settings::default())), "no configuration at all is good");
    let files = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(files, 1, "nothing else stays behind");
    assert_eq!(kept::read(&directory.path().join("none")), Ok(None));
}

#[test]
fn a_damaged_kept_file_gives_nothing_and_is_replaced() {
    let (directory, file, loaded) = kept_pending();
    let good = fs::read(&file).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let aside = directory.path().join("aside");
    fs::write(&aside, &good).unwrap();
    let write = |bytes: &[u8]| fs::write(&file, bytes).unwrap();
    let cases: [(&str, &dyn Fn()); 7] = [
        ("its first line is not from slurm-multifactor2", &|| write(&[])),
        ("it is not text", &|| write(&[0xff, 0xfe, 0, 7].repeat(1000))),
        ("its first line is not from slurm-multifactor2", &|| write(b"ActiveJobs=pending\n# end\n")),
        ("a newer slurm-multifactor2 wrote it (version 2, this one knows 1)", &|| {
            write(text.replace("settings 1", "settings 2").as_bytes());
        }),
        ("ActiveJobs=sometimes: must be", &|| write(text.replace("PENDING", "sometimes").as_bytes())),
        ("it is not a regular file", &|| fs::create_dir(&file).unwrap()),
        ("it is not a regular file", &|| std::os::unix::fs::symlink(&aside, &file).unwrap()),
    ];
    for (why, damage) in cases {
        let _ = fs::remove_file(&file);
        damage();
        let found = kept::read(&file).expect_err(why).to_string();
        assert!(found.contains(why) && found.contains(file.to_str().unwrap()), "{why}: {found}");
        assert!(!found.contains(char::is_control), "{found}");
        let kept = kept::keep(&file, &kept::text(&loaded, Path::new("/etc/f")));
        if file.is_dir() {
            assert!(kept.is_err());
            fs::remove_dir(&file).unwrap();
        } else {
            assert_eq!(kept.unwrap().expect(why).to_string(), found);
            assert_eq!(kept::read(&file), Ok(Some(pending())));
        }
    }
    assert_eq!(fs::read(&aside).unwrap(), good, "what a link points to is left alone");
    // A regular file by its mode, that cannot be read at its beginning by anybody.
    let unreadable = kept::read(Path::new("/proc/self/mem")).unwrap_err().to_string();
    assert!(unreadable.contains("Input/output error"), "{unreadable}");
    // Cut off anywhere, never the settings of half a file.
    for length in 0..good.len() {
        fs::write(&file, &good[..length]).unwrap();
        assert!(kept::read(&file).is_err(), "{length} bytes");
    }
}

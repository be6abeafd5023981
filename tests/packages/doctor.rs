//! `multifactor2-doctor` as an administrator calls it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A directory with a slurm.conf, and with a `scontrol` that says nothing until a test makes it.
struct Place(TempDir);

impl Place {
    fn new(slurm_conf: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("slurm.conf", slurm_conf);
        place.scontrol("exit 1");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    fn scontrol(&self, script: &str) {
        self.write("scontrol", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path("scontrol"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Exit status, what is on stdout and what is on stderr.
    fn doctor(&self, arguments: &[&str]) -> (i32, String, String) {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let output = Command::new(env!("CARGO_BIN_EXE_multifactor2-doctor"))
            .args(arguments)
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env("PATH", path)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Checks a configuration, which is told on stderr as `nginx -t` does.
    #[track_caller]
    fn assert_checked(&self, arguments: &[&str], status: i32, lines: &[&str]) {
        let (found, out, err) = self.doctor(&[&["--check-conf"], arguments].concat());
        assert_eq!((found, out.as_str()), (status, ""), "{arguments:?}: {err}");
        assert_eq!(err.lines().count(), lines.len(), "{err}");
        for (line, part) in err.lines().zip(lines) {
            assert!(line.starts_with("multifactor2-doctor: ") && line.contains(part), "'{part}': {err}");
        }
    }
}

#[test]
fn a_named_file_is_checked_alone() {
    let place = Place::new("PriorityParameters=nonsense\n");
    let good = place.write("good.conf", "ActiveJobs=pending\n");
    place.assert_checked(&[&good], 0, &[&format!("{good}: ok")]);
    let twice = place.write("twice.conf", "ActiveJobs=pending\nActiveJobs=pending\n");
    place.assert_checked(&[&twice], 0, &["warning: ", "twice.conf: ok"]);
    let bad = place.write("bad.conf", "# ours\nActiveJobs=eligable\nZebra=1\n");
    place.assert_checked(
        &[&bad],
        1,
        &[
            &format!("{bad} line 2: ActiveJobs=eligable: allowed are eligible, pending, startable"),
            "line 3: Zebra=1",
            "bad.conf: bad",
        ],
    );
    place.assert_checked(&["/nowhere/multifactor2.conf"], 1, &["No such file", "bad"]);
}

#[test]
fn the_file_beside_slurm_conf_is_checked_with_what_stands_in_slurm_conf() {
    let place = Place::new("ClusterName=c\nInclude more.conf\n");
    place.write("more.conf", "priorityparameters=ActiveJobs=pending # ours\n");
    place.assert_checked(&[], 0, &["multifactor2.conf: ok (there is none"]);
    place.write("multifactor2.conf", "ActiveJobs=eligible\n");
    place.assert_checked(&[], 0, &["replaces the value of PriorityParameters", "multifactor2.conf: ok"]);
    place.write("more.conf", "PriorityParameters=ActiveJobs=all\n");
    place.assert_checked(&[], 1, &["PriorityParameters: ActiveJobs=all: allowed", "multifactor2.conf: bad"]);
    fs::remove_file(place.path("slurm.conf")).unwrap();
    place.assert_checked(&[], 0, &["PriorityParameters is not checked", "multifactor2.conf: ok"]);
}

/// As `nginx -t`, which knows 0 and 1 only.
#[test]
fn wrong_arguments_of_a_check_are_1() {
    let place = Place::new("");
    for arguments in [&["a", "b"][..], &["--quiet"]] {
        let (status, _, err) = place.doctor(&[&["--check-conf"], arguments].concat());
        assert!(status == 1 && err.contains("usage: multifactor2-doctor"), "{status}: {err}");
    }
}

/// The plugins of the Slurm that is installed here.
fn installed() -> PathBuf {
    let output =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/find-plugindir")).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(!text.is_empty(), "no Slurm is installed; `make test` installs what tests need");
    PathBuf::from(text.trim())
}

#[test]
fn the_plugin_directory_is_found() {
    let installed = installed();
    let supported = |place: &Place| {
        let (status, out, err) = place.doctor(&[]);
        assert_eq!(status, 0, "{out}{err}");
        assert!(out.starts_with("SUPPORTED: Slurm "), "{out}");
    };
    // From slurmctld, which is believed more than slurm.conf, else from there, else where it usually is.
    let place = Place::new("PluginDir=/nowhere\n");
    place.scontrol(&format!("echo 'PluginDir               = {}:/other'", installed.display()));
    supported(&place);
    supported(&Place::new(&format!("PluginDir={}:/other\n", installed.display())));
    supported(&Place::new(""));
    let (status, _, err) = Place::new("PluginDir=/nowhere\n").doctor(&[]);
    assert!(status == 2 && err.contains("/nowhere"), "{status}: {err}");
}

/// The plugins and the library, and no slurmctld beside them.
#[test]
fn a_login_node_is_looked_at_for_sshare() {
    let (installed, place) = (installed(), Place::new(""));
    let plugins = place.path("lib/slurm");
    fs::create_dir_all(&plugins).unwrap();
    for file in ["priority_basic.so", "auth_munge.so"] {
        fs::copy(installed.join(file), plugins.join(file)).unwrap();
    }
    let (status, out, err) = place.doctor(&[plugins.to_str().unwrap()]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(
        out.starts_with("SUPPORTED: sshare of Slurm ") && out.contains("no slurmctld beside it"),
        "{out}"
    );
    fs::remove_file(plugins.join("auth_munge.so")).unwrap();
    fs::remove_file(plugins.join("priority_basic.so")).unwrap();
    let (status, _, err) = place.doctor(&[plugins.to_str().unwrap()]);
    assert!(status == 2 && err.contains("has no plugins of Slurm"), "{status}: {err}");
}

//! `multifactor2 check` on a made-up host: where it finds settings and plugins, and what it says of the files of a Slurm.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A directory with a slurm.conf, and with a `scontrol` that says nothing until a test makes it.
struct OwnConf(TempDir);

impl OwnConf {
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
    fn check(&self, arguments: &[&str]) -> (i32, String, String) {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let output = Command::new(env!("CARGO_BIN_EXE_multifactor2"))
            .arg("check")
            .args(arguments)
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env("PATH", path)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Checks a configuration: these lines are said of it, beside those about the files of Slurm and whether slurmctld was asked.
    #[track_caller]
    fn assert_checked(&self, arguments: &[&str], status: i32, lines: &[&str]) {
        let (found, out, err) = self.check(arguments);
        assert_eq!((found, err.as_str()), (status, ""), "{arguments:?}: {out}");
        let of_settings: Vec<&str> = out
            .lines()
            .filter(|line| !line.contains("SUPPORTED") && !line.contains("slurmctld could not be asked"))
            .collect();
        assert_eq!(of_settings.len(), lines.len(), "{out}");
        for (line, part) in of_settings.iter().zip(lines) {
            assert!(line.contains(part), "'{part}': {out}");
        }
    }
}

#[test]
fn a_named_file_is_checked_alone() {
    let place = OwnConf::new("PriorityParameters=nonsense\n");
    let good = place.write("good.conf", "ActiveJobs=pending\n");
    place.assert_checked(&[&good], 0, &[&format!("ok: {good}: slurmctld will take these settings")]);
    let twice = place.write("twice.conf", "ActiveJobs=pending\nActiveJobs=pending\n");
    place.assert_checked(
        &[&twice],
        2,
        &["without effect: ", "twice.conf: slurmctld will take these settings"],
    );
    let bad = place.write("bad.conf", "# ours\nActiveJobs=eligable\nZebra=1\n");
    place.assert_checked(
        &[&bad],
        2,
        &[
            &format!("wrong: {bad} line 2: ActiveJobs=eligable: must be one of eligible, pending, startable"),
            "line 3: Zebra=1",
        ],
    );
    place.assert_checked(&["/nowhere/multifactor2.conf"], 1, &["No such file"]);
}

#[test]
fn the_file_beside_slurm_conf_is_checked_with_what_stands_in_slurm_conf() {
    let place = OwnConf::new("ClusterName=c\nInclude more.conf\n");
    place.write("more.conf", "priorityparameters=ActiveJobs=pending # ours\n");
    place.assert_checked(&[], 0, &["multifactor2.conf: no such file"]);
    place.write("multifactor2.conf", "ActiveJobs=eligible\n");
    let replaced = ["replaces the value of PriorityParameters", "multifactor2.conf: slurmctld will take"];
    place.assert_checked(&[], 2, &replaced);
    place.write("more.conf", "PriorityParameters=ActiveJobs=all\n");
    place.assert_checked(&[], 2, &["wrong: PriorityParameters: ActiveJobs=all: must be"]);
    fs::remove_file(place.path("slurm.conf")).unwrap();
    let no_conf = "not looked at: ";
    place.assert_checked(&[], 0, &["multifactor2.conf: slurmctld will take these settings", no_conf]);
}

/// A slurm.conf is no multifactor2.conf: it is looked at with the file beside it, as slurmctld would.
#[test]
fn a_slurm_conf_that_is_named_is_checked_as_one() {
    let place = OwnConf::new("");
    fs::create_dir(place.path("new")).unwrap();
    let conf = place.write(
        "new/slurm.conf",
        "ClusterName=c\nSlurmctldHost=h\nPriorityType=priority/multifactor2\nAccountingStorageType=accounting_storage/slurmdbd\n\
         AccountingStorageEnforce=limits\nPriorityWeightFairshare=100000\nPriorityDecayHalfLife=7\nNodeName=h CPUs=4\n\
         PartitionName=main Nodes=ALL PriorityTier=2\n",
    );
    place.write("new/multifactor2.conf", "TicketShare=1\n");
    let beside = [
        "wrong: ",
        "wrong: PriorityDecayHalfLife is 420 s: half of all usage",
        "ok: the named slurm.conf was checked",
    ];
    place.assert_checked(&[&conf], 2, &beside);
    place.write("new/multifactor2.conf", "ActiveJobs=pending\n");
    let text = fs::read_to_string(&conf).unwrap().replace("Life=7\n", "Life=7-0\n");
    fs::write(&conf, text).unwrap();
    let good = ["new/multifactor2.conf: slurmctld will take these settings", "ok: the named slurm.conf"];
    place.assert_checked(&[&conf], 0, &good);
}

/// What slurmctld says, with which this host's files are compared. The other commands say nothing.
const IN_FORCE: &str = "ClusterName = c\nPriorityType = priority/multifactor\nPriorityDecayHalfLife = 7-00:00:00\nPriorityCalcPeriod = 00:05:00\n\
                        PriorityMaxAge = 7-00:00:00\nPriorityFlags = NO_FAIR_TREE,MAX_TRES\nPriorityWeightFairShare = 100000\n\
                        PriorityUsageResetPeriod = NONE\nAccountingStorageEnforce = associations,limits,qos\n\
                        AccountingStorageType = accounting_storage/slurmdbd\nSchedulerType = sched/backfill\nSLURM_VERSION = 22.05.8\n";

#[test]
fn the_files_of_this_host_are_compared_with_what_slurmctld_says() {
    let place = OwnConf::new(
        "ClusterName=c\nPriorityType=priority/multifactor\nPriorityDecayHalfLife=7-0\nPriorityFlags=max_tres,no_fair_tree\n\
         AccountingStorageEnforce=qos,limits,associations\n",
    );
    place.write("config", IN_FORCE);
    place.scontrol("case \"$*\" in *config*) cat \"${0%/*}/config\" ;; *) exit 1 ;; esac");
    let found = |place: &OwnConf| -> Vec<String> {
        let (_, out, _) = place.check(&[]);
        let is_odd = |line: &&str| {
            ["wrong: ", "without effect: ", "unusual: "].iter().any(|grade| line.starts_with(grade))
        };
        out.lines().filter(is_odd).map(str::to_owned).collect()
    };
    assert_eq!(found(&place), Vec::<String>::new());
    // Bug: what a word implies was said to be a difference.
    place.write(
        "slurm.conf",
        "ClusterName=c\nAccountingStorageEnforce=limits,qos\nPreemptType=preempt/none\n",
    );
    place.write("config", &(IN_FORCE.to_owned() + "PreemptType = (null)\n"));
    assert_eq!(found(&place), Vec::<String>::new());
    // Up to 25.11.0 slurmctld shows all four flags where it has one of them.
    place.write("config", &IN_FORCE.replace("MAX_TRES", "MAX_TRES,NO_NORMAL_ALL"));
    place.write("slurm.conf", "ClusterName=c\nPriorityFlags=NO_FAIR_TREE,MAX_TRES,NO_NORMAL_QOS\n");
    assert_eq!(found(&place), Vec::<String>::new());
    place.write("config", IN_FORCE);
    place.write(
        "slurm.conf",
        "ClusterName=c\nPriorityType=priority/basic\nPriorityDecayHalfLife=7\nPriorityFlags=MAX_TRES\nAccountingStorageEnforce=limits\n",
    );
    let differ = found(&place);
    assert_eq!(differ.len(), 4, "{differ:?}");
    for part in [
        "PriorityDecayHalfLife=7, but slurmctld uses 7-00:00:00",
        "PriorityType=priority/basic, but slurmctld uses priority/multifactor",
        "AccountingStorageEnforce=limits, but slurmctld uses associations,limits,qos",
        "PriorityFlags=MAX_TRES, but slurmctld uses NO_FAIR_TREE,MAX_TRES",
    ] {
        assert!(
            differ.iter().any(|line| line.starts_with("wrong: ") && line.contains(part)),
            "{part}: {differ:?}"
        );
    }
    // Settings that nobody reads.
    place.write("slurm.conf", "ClusterName=c\n");
    place.write("multifactor2.conf", "ActiveJobs=pending\n");
    let idle = found(&place);
    assert!(
        idle.len() == 1 && idle[0].contains("PriorityType=priority/multifactor does not read it"),
        "{idle:?}"
    );
}

#[test]
fn a_snapshot_that_cannot_be_written_is_said() {
    let place = OwnConf::new("ClusterName=c\n");
    let mine = fs::metadata(place.path("slurm.conf")).unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&mine);
    fs::create_dir(place.path("open")).unwrap();
    for (user, mode, expected) in [
        (owner, 0o755, "ok: Snapshot="),
        (owner + 1, 0o755, "without effect: Snapshot="),
        (owner + 1, 0o775, "not looked at: Snapshot="),
        (owner + 1, 0o777, "ok: Snapshot="),
    ] {
        fs::set_permissions(place.path("open"), fs::Permissions::from_mode(mode)).unwrap();
        let config =
            IN_FORCE.replace("multifactor\n", "multifactor2\n") + &format!("SlurmUser = somebody({user})\n");
        place.write("config", &config);
        place.scontrol("case \"$*\" in *config*) cat \"${0%/*}/config\" ;; *) exit 1 ;; esac");
        place.write("multifactor2.conf", &format!("Snapshot={}\n", place.path("open/snapshot").display()));
        let (_, out, _) = place.check(&[]);
        assert!(out.lines().any(|line| line.starts_with(expected)), "{expected}, {mode:o}: {out}");
    }
    place.write("multifactor2.conf", "Snapshot=/nowhere/snapshot\n");
    let (_, out, _) = place.check(&[]);
    assert!(
        out.contains("not looked at: Snapshot=/nowhere/snapshot: this host has no directory /nowhere"),
        "{out}"
    );
}

#[test]
fn wrong_arguments_of_a_check_are_1() {
    let place = OwnConf::new("");
    for arguments in [&["a", "b"][..], &["--quiet"]] {
        let (status, _, err) = place.check(arguments);
        assert!(status == 1 && err.contains("Usage: multifactor2 check"), "{status}: {err}");
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
    let supported = |place: &OwnConf| {
        let (status, out, err) = place.check(&[]);
        assert_eq!(status, 0, "{out}{err}");
        assert!(out.contains("ok: SUPPORTED: Slurm "), "{out}");
    };
    // From slurmctld, which is believed more than slurm.conf, else from there, else where it usually is.
    let place = OwnConf::new("PluginDir=/nowhere\n");
    place.scontrol(&format!("echo 'PluginDir               = {}:/other'", installed.display()));
    supported(&place);
    supported(&OwnConf::new(&format!("PluginDir={}:/other\n", installed.display())));
    supported(&OwnConf::new(""));
    let (status, out, _) = OwnConf::new("PluginDir=/nowhere\n").check(&[]);
    assert!(status == 1 && out.contains("error: /nowhere: "), "{status}: {out}");
}

/// The plugins and the library, and no slurmctld beside them.
#[test]
fn a_login_node_is_looked_at_for_sshare() {
    let (installed, place) = (installed(), OwnConf::new(""));
    let plugins = place.path("lib/slurm");
    fs::create_dir_all(&plugins).unwrap();
    for file in ["priority_basic.so", "auth_munge.so"] {
        fs::copy(installed.join(file), plugins.join(file)).unwrap();
    }
    let (status, out, err) = place.check(&["--plugins", plugins.to_str().unwrap()]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(
        out.starts_with("ok: SUPPORTED: sshare of Slurm ") && out.contains("no slurmctld next to it"),
        "{out}"
    );
    fs::remove_file(plugins.join("auth_munge.so")).unwrap();
    fs::remove_file(plugins.join("priority_basic.so")).unwrap();
    let (status, out, _) = place.check(&["--plugins", plugins.to_str().unwrap()]);
    assert!(status == 1 && out.contains("has no plugins of Slurm"), "{status}: {out}");
}

/// As the scripts of the packages ask, while slurmctld may be away and the settings are of no interest.
#[test]
fn a_slurm_that_is_to_be_installed_is_looked_at_alone() {
    let place = OwnConf::new("PriorityParameters=nonsense\n");
    place.scontrol("touch \"${0%/*}/asked\"; exit 1");
    place.write("multifactor2.conf", "Zebra=1\n");
    let (status, out, err) = place.check(&["--plugins", installed().to_str().unwrap()]);
    assert_eq!((status, err.as_str(), out.lines().count()), (0, "", 1), "{out}");
    assert!(out.starts_with("ok: SUPPORTED: Slurm "), "{out}");
    assert!(!place.path("asked").exists());
}

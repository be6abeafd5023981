//! multifactor2-trial where a migration does not lead it: on a cluster that has just been set up, and interrupted.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job};

fn cluster() -> Builder {
    let plugin = env::var_os("MULTIFACTOR2_PLUGIN")
        .expect("MULTIFACTOR2_PLUGIN names the built plugin; run the tests with `make test`");
    Cluster::builder()
        .plugin(plugin, "priority_multifactor2.so")
        // The trial shows what the plugin advises, and of this there is nothing.
        .set("PriorityDecayHalfLife", "7-0")
        .accounts(&Accounts::new().account(Account::new("physics", 40).user("ada", 1)))
}

fn trial(cluster: &Cluster) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/trial");
    // Whoever runs the tests may ignore signals, as nohup does, and a shell cannot trap those.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", script, "50000"]).envs(cluster.environment());
    command
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Slurm's default priority plugin, nothing saved yet, then no job, then one.
#[test]
fn a_fresh_cluster_is_shown_in_whole_sentences() {
    let mut cluster = cluster().priority_type("priority/basic").start().unwrap();
    let output = trial(&cluster).output().unwrap();
    let (shown, complaint) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}{complaint}");
    assert_eq!(
        complaint,
        "multifactor2-trial: slurmctld has not saved its associations yet, which it does every five minutes: try again later\n"
    );
    assert_eq!(shown, "");

    // slurmctld saves them when it stops, too.
    cluster.restart_controller().unwrap();
    let output = trial(&cluster).output().unwrap();
    assert_eq!(
        texts(&output),
        (
            "Now (priority/basic):\nNo job is waiting.\n\n\
             With priority/multifactor2, PriorityWeightFairshare=50000:\nNo job is waiting.\n"
                .to_owned(),
            String::new()
        )
    );
    assert!(output.status.success());

    cluster.submit(&Job::new("ada")).unwrap();
    cluster.restart_controller().unwrap();
    let output = trial(&cluster).output().unwrap();
    let (shown, complaint) = texts(&output);
    assert!(output.status.success() && complaint.is_empty(), "{shown}{complaint}");
    let (now, then) = shown.split_once("\n\n").unwrap();
    for list in [now, then] {
        assert_eq!(list.lines().count(), 3, "a title, the names of the columns and the job:\n{shown}");
        assert!(list.lines().last().unwrap().contains(" ada "), "{shown}");
    }
}

/// The only entry of a directory, when it is there.
fn copy_in(temporary: &Path) -> Option<PathBuf> {
    fs::read_dir(temporary).unwrap().flatten().map(|entry| entry.path()).next()
}

/// Whether a process was started for this copy.
fn is_in_use(copy: &Path) -> bool {
    let name = copy.display().to_string();
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&name)
    })
}

/// Whether a trial with this copy has got so far.
type Stage = fn(&Path) -> bool;

/// While the copy is made, when the second slurmctld is about to start, and when it runs.
#[test]
fn an_interrupted_trial_leaves_no_copy_and_none_but_slurm_can_read_it_meanwhile() {
    let mut cluster = cluster().start().unwrap();
    cluster.restart_controller().unwrap();
    let reached: [(&str, Stage); 3] = [
        ("copying", |_| true),
        ("configured", |copy| copy.join("slurm.conf").exists()),
        ("running", |copy| fs::metadata(copy.join("log")).is_ok_and(|log| log.len() > 0)),
    ];
    for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        for (stage, is_reached) in reached {
            let temporary = tempfile::tempdir().unwrap();
            let mut command = trial(&cluster);
            command.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = command.spawn().unwrap();
            let start = Instant::now();
            let copy = loop {
                assert!(
                    start.elapsed() < Duration::from_secs(60),
                    "{signal}: the trial does not get to {stage}"
                );
                if let Some(copy) = copy_in(temporary.path()) {
                    if let Ok(copied) = fs::metadata(&copy) {
                        assert_eq!(copied.permissions().mode() & 0o7777, 0o700, "{stage}");
                    }
                    if is_reached(&copy) {
                        break copy;
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            let sent = Command::new("kill").args(["-s", signal, &running.id().to_string()]).status().unwrap();
            assert!(sent.success());
            let status = running.wait().unwrap();
            assert_eq!(status.code(), Some(128 + number), "{signal} while {stage}: {:?}", status.signal());
            assert_eq!(copy_in(temporary.path()), None, "{signal} while {stage} leaves a copy");
            let start = Instant::now();
            while is_in_use(&copy) {
                assert!(start.elapsed() < Duration::from_secs(5), "{signal} while {stage} leaves a process");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

//! Clusters start, serve, and leave nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use slurm_testcluster::{Account, Accounts, Cluster, Job, Release};

/// Set for the process that [`nothing_is_left_after_sigkill`] kills.
const VICTIM: &str = "TESTCLUSTER_VICTIM";

fn tree() -> Accounts {
    Accounts::new()
        .account(Account::new("a", 40).user("ada", 1).user("emmy", 3))
        .account(Account::new("b", 60).account(Account::new("c", 1).user("ada", 1)))
}

/// Processes whose command line names the directory.
fn processes_of(directory: &Path) -> Vec<String> {
    let directory = directory.display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let told = entries.flat_map(|entry| {
        ["cmdline", "environ"].map(|file| fs::read(entry.path().join(file)).unwrap_or_default())
    });
    told.map(|text| String::from_utf8_lossy(&text).replace('\0', " "))
        .filter(|text| text.contains(&directory))
        .collect()
}

#[test]
fn usage_jobs_and_restarts() {
    let start = Instant::now();
    let mut cluster = Cluster::builder().accounts(&tree()).usage(&[("a", "ada", 600.0)]).start().unwrap();
    eprintln!("usable after {:?}", start.elapsed());

    let share = cluster.share("a", "ada").unwrap();
    assert_eq!((share.text("RawShares"), share.text("RawUsage")), ("1", "600"));
    assert_eq!(cluster.share("root", "root").unwrap().text("RawShares"), "0");

    cluster.inject_usage(&[("a", "ada", 250.0), ("a", "emmy", 250.0), ("c", "ada", 500.0)]).unwrap();
    eprintln!("injected after {:?}", start.elapsed());
    let raw = |account: &str, user: &str| cluster.share(account, user).unwrap().text("RawUsage").to_owned();
    assert_eq!(
        [raw("root", ""), raw("a", ""), raw("a", "emmy"), raw("b", "")],
        ["1000", "500", "250", "500"]
    );

    let jobs = [
        cluster.submit(&Job::new("ada").account("a")).unwrap(),
        cluster.submit(&Job::new("ada").account("c").arg("--nice=7")).unwrap(),
        cluster.submit(&Job::new("emmy")).unwrap(),
    ];
    cluster.wait_cycle().unwrap();
    let rows = cluster.sprio_rows().unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row.text("USER"), row.text("NICE"))).collect();
    assert_eq!(shown, [("ada", "0"), ("ada", "7"), ("emmy", "0")]);
    assert_eq!(rows[2].number("JOBID").unwrap().to_string(), jobs[2].to_string());
    // The administrator runs sshare -l for all users and sees the same tree.
    assert!(cluster.sshare(&["-al"]).unwrap().contains("emmy"));

    cluster.restart_controller().unwrap();
    eprintln!("restarted after {:?}", start.elapsed());
    assert_eq!(cluster.sprio_rows().unwrap().len(), 3);
    assert!((cluster.share("a", "emmy").unwrap().number("NormUsage").unwrap() - 0.25).abs() < 1e-6);
    assert!(cluster.submit(&Job::new("nobody-known")).is_err());
    assert!(cluster.inject_usage(&[("nosuch", "ada", 1.0)]).unwrap_err().to_string().contains("nosuch"));
}

#[test]
fn cycles_are_short_and_stay_short_after_reconfigure() {
    let cluster = Cluster::builder().accounts(&tree()).start().unwrap();
    for _ in 0..2 {
        let start = Instant::now();
        cluster.wait_cycle().unwrap();
        cluster.wait_cycle().unwrap();
        assert!(start.elapsed() < Duration::from_secs(20), "four cycles took {:?}", start.elapsed());
        cluster.reconfigure().unwrap();
    }
}

#[test]
fn jobs_run_on_slurmds() {
    let cluster = Cluster::builder().accounts(&tree()).nodes(2).slurmds(true).start().unwrap();
    // An ordinary user's slurmd runs that user's jobs only, who has no association here.
    if !rustix::process::getuid().is_root() {
        slurm_testcluster::skip("jobs_run_on_slurmds", "needs root for jobs of other users");
        return;
    }
    let job = cluster.submit(&Job::new("emmy").seconds(0)).unwrap();
    cluster
        .wait_for("the job to complete", Duration::from_secs(30), |cluster| {
            let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
            Ok(text.contains("JobState=COMPLETED").then_some(()))
        })
        .unwrap();
}

#[test]
fn two_clusters_side_by_side_leave_nothing() {
    let start = || {
        let cluster = Cluster::builder().accounts(&tree()).start().unwrap();
        cluster.submit(&Job::new("ada")).unwrap();
        assert_eq!(cluster.sprio_rows().unwrap().len(), 1);
        cluster
    };
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(start);
        (start(), other.join().unwrap())
    });
    for cluster in [first, second] {
        let directory = cluster.directory().to_owned();
        assert!(!processes_of(&directory).is_empty());
        drop(cluster);
        assert!(!directory.exists());
        assert_eq!(processes_of(&directory), Vec::<String>::new());
    }
}

#[test]
fn a_controller_that_refuses_says_why_and_the_logs_stay() {
    let error = Cluster::builder().priority_type("priority/nosuch").start().unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("slurmctld ended") && text.contains("priority/nosuch"), "{text}");
    let directory = text.split([' ', ':']).find(|word| word.contains("slurm-test-")).unwrap();
    fs::remove_dir_all(directory).unwrap();

    let directory = std::panic::catch_unwind(|| {
        let cluster = Cluster::builder().controller(false).start().unwrap();
        std::panic::panic_any(cluster.directory().to_owned());
    })
    .unwrap_err()
    .downcast::<PathBuf>()
    .unwrap();
    assert!(directory.join("log/slurmdbd").exists());
    assert_eq!(processes_of(&directory), Vec::<String>::new());
    fs::remove_dir_all(*directory).unwrap();
}

#[test]
fn nothing_is_left_after_sigkill() {
    if std::env::var_os(VICTIM).is_some() {
        let cluster = Cluster::builder().accounts(&tree()).nodes(1).slurmds(true).start().unwrap();
        println!("\ndirectory {}", cluster.directory().display());
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_is_left_after_sigkill", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let directory: PathBuf = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("directory ").map(PathBuf::from))
        .expect("the victim names its directory");
    assert!(processes_of(&directory).len() > 4);
    victim.kill().unwrap();
    assert_eq!(victim.wait().unwrap().signal(), Some(9));

    let start = Instant::now();
    while directory.exists() || !processes_of(&directory).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(10), "left: {:?}", processes_of(&directory));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_host_has_a_release() {
    let release = Release::host().unwrap();
    assert!(release.version.year >= 20);
    assert!(release.plugin_directory.join("priority_multifactor.so").exists());
}

/// In the root directory of another release there is no other, and a daemon waited for a slow name server with each question.
#[test]
fn the_names_of_addresses_are_in_a_file_of_the_clusters() {
    let cluster = Cluster::builder().controller(false).start().unwrap();
    for (address, name) in [("127.0.0.1", "localhost"), ("0.0.0.0", "any")] {
        let said = cluster.command("getent").args(["hosts", address]).text().unwrap();
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), [address, name]);
    }
}

//! What `make test` sees of every release: the plugin loads and says which layout it uses, Slurm's own tools
//! show the documented numbers, a job runs and is charged, and the daemon survives a reconfigure.
//! `make test-releases` does more (`full.rs`).

use crate::shared;
use shared::{check_example, example, submit_example};
use slurm_releases::{cluster, test_in_each_release};
use slurm_testcluster::{Cluster, Job, Release};

test_in_each_release!(basics);

fn basics(release: &Release) {
    let builder = example(cluster(release.clone()).unwrap()).set("SlurmctldDebug", "debug2");
    let cluster = builder.slurmds(true).nodes(1).start().unwrap();
    says_what_is_in_use(&cluster);
    submit_example(&cluster);
    cluster.wait_cycle().unwrap();
    check_example(&cluster);

    cluster.reconfigure().unwrap();
    cluster.wait_cycle().unwrap();
    check_example(&cluster);

    let by_list = |cluster: &Cluster| cluster.log().matches("they are read by the list").count();
    let before = by_list(&cluster);
    assert!(before > 0, "the first cycle with jobs does not read the list:\n{}", cluster.log());
    a_job_runs_and_is_charged(&cluster);
    tasks_leave_their_array(&cluster);
    assert_eq!(by_list(&cluster), before, "jobs are not found by their ids:\n{}", cluster.log());
    shared::check_log(&cluster);
}

/// Each gets an id of its own when it starts, and a record.
fn tasks_leave_their_array(cluster: &Cluster) {
    let array = cluster.submit(&Job::new("user4").account("e").arg("--array=1-5").seconds(1)).unwrap();
    cluster
        .wait_for("tasks of their own", std::time::Duration::from_secs(60), |cluster| {
            let jobs = cluster.scontrol(&["show", "job", &array.to_string()])?;
            Ok((jobs.matches("ArrayTaskId=").count() > 1).then_some(()))
        })
        .unwrap();
    cluster.wait_cycle().unwrap();
}

/// Where an administrator sees it: our line has release and layout, Slurm itself names release and plugin.
fn says_what_is_in_use(cluster: &Cluster) {
    let version = cluster.release().version;
    let line = match cluster.release().candidate().unwrap() {
        None => format!("in Slurm {version}, layout "),
        Some(name) => format!("in Slurm {name}, whose layout is provisional"),
    };
    assert!(cluster.log().contains(&line), "no '{line}' in the log:\n{}", cluster.log());
    let config = cluster.scontrol(&["show", "config"]).unwrap();
    let setting = |name: &str| {
        let line = config.lines().find(|line| line.split('=').next().unwrap_or_default().trim() == name);
        line.and_then(|line| line.split_once('=')).map(|(_, value)| value.trim())
    };
    assert_eq!(setting("PriorityType"), Some("priority/multifactor2"), "{config}");
    // Followed by what is after the release: 21.08.8-2 was made again, 26.11.0-0rc1 is a candidate.
    let said = setting("SLURM_VERSION").and_then(|said| said.split('-').next());
    assert_eq!(said, Some(&*version.to_string()), "{config}");
}

fn a_job_runs_and_is_charged(cluster: &Cluster) {
    let usage = || cluster.share("e", "user4").unwrap().number("RawUsage").unwrap();
    let before = usage();
    let job = cluster
        .submit(&Job::new("user4").account("e").partition("main").seconds(3).arg("--export=ALL"))
        .unwrap();
    let job = format!("-j{job}");
    cluster
        .wait_for("the job to end", std::time::Duration::from_secs(60), |cluster| {
            let state = cluster.command("squeue").args(["-h", "-t", "all", "-o", "%T", &job]).text()?;
            Ok((state.trim() == "COMPLETED").then_some(()))
        })
        .unwrap();
    cluster.wait_cycle().unwrap();
    let charged = usage() - before;
    // One task of one CPU for three seconds, more where the node is slow to say that it is over.
    assert!((2.0..30.0).contains(&charged), "{charged} s charged for a job of 3 s");
}

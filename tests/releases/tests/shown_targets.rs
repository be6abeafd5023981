//! `tree --targets --windows` in a real cluster: what it shows is what slurmdbd's records of the jobs give, in each window, and the points are those that
//! sprio has in SITE.

use std::fs;

use multifactor2_command::output::{Printout, Terminal};
use multifactor2_command::run;
use serde_json::Value;
use slurm_releases::cluster;
use slurm_testcluster::targets::{expected, wait_records, Owner, Ran, Saved, WAIT};
use slurm_testcluster::{policies, Account, Accounts, Cluster, Job, Release};

#[cfg(feature = "full")]
mod in_two {
    #[test]
    fn bookworm() {
        slurm_releases::BOOKWORM.test(super::what_is_shown_is_what_jobs_have_run);
    }

    #[test]
    fn forky() {
        slurm_releases::FORKY.test(super::what_is_shown_is_what_jobs_have_run);
    }
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(what_is_shown_is_what_jobs_have_run);
}

const STAFF: u32 = 12_345;

const LINES: &str = "\
Component=FS Weight=10 FSUser=100 FSGroup=7 FSClass=50 FSParent=20
Target=User Name=ada Percent=50
Target=Group Name=12345 Percent=20 Window=yes
Target=Partition Name=main Percent=90 Type=floor Window=yes
Target=Partition Name=other Percent=1 Type=ceiling Window=yes
Target=Account Name=history Amount=1 Type=cap
Target=Parent Name=science Percent=75
TargetWindow=00:00:07
TargetDepth=1000
TargetDecay=0.5
SnapshotPeriod=1
";

fn job(user: &str, cpus: u32, seconds: u32) -> Job {
    Job::new(user).seconds(seconds).arg(format!("-n{cpus}"))
}

/// As `--json` has it, of a snapshot that is newer than what has been counted.
fn shown(cluster: &Cluster, since: i64) -> Value {
    let from = cluster.directory().join("snapshots/snapshot");
    let words =
        ["multifactor2", "tree", "--targets", "--windows", "--json", "--from", from.to_str().unwrap()];
    let newer = |_: &Cluster| {
        if !from.exists() {
            return Ok(None);
        }
        let Printout { out, err, .. } = run::run(words.map(Into::into), Terminal::PLAIN);
        let answer: Value =
            serde_json::from_str(&out).unwrap_or_else(|problem| panic!("{problem}: {out}{err}"));
        Ok((answer["about"]["computed"].as_i64() > Some(since)).then_some(answer))
    };
    cluster.wait_for("a snapshot", WAIT, newer).unwrap()
}

fn row<'a>(rows: &'a Value, kind: &str, name: &str) -> &'a Value {
    let rows = rows.as_array().unwrap_or_else(|| panic!("{rows:#}"));
    let found = rows.iter().find(|row| row["kind"] == kind && row["name"] == name);
    found.unwrap_or_else(|| panic!("{kind} {name}: {rows:#?}"))
}

#[track_caller]
fn near(found: &Value, due: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found}, not {due}"));
    assert!((found - due).abs() <= 1e-6 * due.abs().max(1.0), "{found}, not {due}");
}

fn what_is_shown_is_what_jobs_have_run(release: &Release) {
    let accounts = Accounts::new()
        .account(
            Account::new("science", 1).account(Account::new("physics", 1).user("ada", 1).user("emmy", 1)),
        )
        .account(Account::new("history", 1).user("leopold", 1));
    let cluster = cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .nodes(2)
        .cpus(4)
        .slurmds(true)
        .line("PartitionName=other Nodes=ALL State=UP")
        .set("SelectTypeParameters", "CR_CPU")
        // Nothing that can be seen decays in a test.
        .set("PriorityDecayHalfLife", "3000-0")
        .file(policies::FILE, "PointsCap=1000000\n")
        .start()
        .unwrap();
    let home = cluster.directory().join("snapshots");
    fs::create_dir(&home).unwrap();
    policies::change(&cluster, &format!("{LINES}Snapshot={}\n", home.join("snapshot").display())).unwrap();
    cluster.wait_for("slurmctld", WAIT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    Saved::next(&cluster).unwrap();
    let jobs = [
        job("ada", 3, 9),
        job("ada", 2, 4).partition("other").group(STAFF),
        job("emmy", 1, 11).group(STAFF),
        job("leopold", 2, 3),
        job("emmy", 4, 2).partition("other"),
    ];
    let jobs = jobs.map(|job| cluster.submit(&job).unwrap());
    let records = wait_records(&cluster, &jobs).unwrap();
    for partition in ["main", "other"] {
        cluster.scontrol(&["update", &format!("partitionname={partition}"), "state=down"]).unwrap();
    }
    let waiting = cluster.submit(&job("ada", 1, 1).group(STAFF)).unwrap();
    let saved = Saved::next(&cluster).unwrap();
    let answer = shown(&cluster, saved.since);
    assert_windows(&answer, &records);
    // The points of all that a job belongs to are its SITE.
    let (targets, mut due) = (&answer["answer"]["targets"], 0.0);
    for (kind, name) in
        [("User", "ada"), ("Group", "12345"), ("Partition", "main"), ("Parent", "ada in physics")]
    {
        due += row(targets, kind, name)["points"]
            .as_f64()
            .unwrap_or_else(|| panic!("{kind} {name}: {targets:#}"));
    }
    assert!(due.abs() > 100.0, "{due}: {targets:#}");
    let mut seen = Vec::new();
    let same = cluster.wait_for("SITE", WAIT / 2, |cluster| {
        let rows = cluster.sprio_rows()?;
        let site =
            rows.iter().find(|row| row.text("JOBID") == waiting.to_string()).map(|row| row.number("SITE"));
        let site = site.transpose()?;
        seen.push(site);
        Ok(site.filter(|site| (site - due).abs() <= 0.5 + 1e-3))
    });
    same.unwrap_or_else(|problem| panic!("{problem}: {seen:?}, not {due}: {targets:#}"));
    crate::shared::check_log(&cluster);
}

/// Everything that is shown, against slurmdbd's records. The current window may be newer than the last job.
fn assert_windows(answer: &Value, records: &[Ran]) {
    let (targets, windows) = (&answer["answer"]["targets"], &answer["answer"]["windows"]);
    let (begin, length) = (windows["begin"].as_i64().unwrap(), windows["length"].as_i64().unwrap());
    assert_eq!((length, begin % 7), (7, 0), "{windows:#}");
    let sums = expected(records, (7, 1000, begin / 7));
    let physics = |owner: &Owner| matches!(owner, Owner::Association(account, _) if account == "physics");
    let of_physics: f64 =
        sums.iter().filter(|(owner, _)| physics(owner)).map(|(_, usage)| usage.halflife).sum();
    let (ada, leopold) = (&sums[&Owner::user("physics", "ada")], &sums[&Owner::user("history", "leopold")]);
    let all = &sums[&Owner::All];
    let percent = |used: f64| 100.0 * used / all.halflife;
    let of_ada = row(targets, "User", "ada");
    near(&of_ada["percent"], percent(ada.halflife));
    near(&of_ada["distance"], 50.0 - percent(ada.halflife));
    near(&of_ada["points"], 1000.0 * (50.0 - percent(ada.halflife)));
    near(&row(targets, "Account", "history")["left"], 1.0 - leopold.halflife / 3600.0);
    near(&row(targets, "Parent", "science")["distance"], 75.0 - percent(of_physics));
    near(&row(targets, "Parent", "ada in physics")["percent"], 100.0 * ada.halflife / of_physics);
    for (kind, name, owner) in [
        ("Group", "12345", Owner::Group(STAFF)),
        ("Partition", "main", Owner::Partition("main".to_owned())),
        ("Partition", "other", Owner::Partition("other".to_owned())),
    ] {
        let found = row(&windows["rows"], kind, name);
        for (cells, usage) in [("used", &sums[&owner]), ("all", all)] {
            let list = found[cells].as_array().unwrap();
            assert!(list.len() >= usage.windows.len(), "{found:#}, {usage:?}");
            for (age, amount) in list.iter().enumerate() {
                near(amount, usage.windows.get(age).copied().unwrap_or_default() / 3600.0);
            }
        }
        near(&found["counts"], sums[&owner].decayed(0.5) / 3600.0);
        near(&found["percent"], 100.0 * sums[&owner].decayed(0.5) / all.decayed(0.5));
        near(&row(targets, kind, name)["percent"], 100.0 * sums[&owner].decayed(0.5) / all.decayed(0.5));
    }
}

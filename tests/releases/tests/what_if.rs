//! What-if is true: what `multifactor2 what-if` foretells from Slurm's commands is what slurmctld does once the same change is made. The
//! order of the queue is the same, and fair-share factors differ by less than a millionth. In the oldest and the newest release by
//! `make test`, in all by `make test-releases`.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use multifactor2_command::answers::what_if::{what_if, Changes, Settings, WhatIf};
use multifactor2_command::input::ask::Question;
use multifactor2_command::input::{assemble, settings};
use multifactor2_fixtures::random;
use multifactor2_snapshot::Snapshot;
use slurm_releases::asked;
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release, Shares};

#[cfg(feature = "full")]
mod in_all {
    slurm_releases::test_in_each_release!(super::what_is_foretold_comes_true);
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(what_is_foretold_comes_true);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(what_is_foretold_comes_true);
}

/// So large that sprio shows all that is needed of a factor.
const WEIGHT: u32 = 1_000_000_000;

const SETTINGS: &str = "multifactor2.conf";

/// Jobs of nobody have this between the texts of squeue.
const MARK: &str = "|q7x2kd|";

#[derive(Parser)]
#[command(no_binary_name = true)]
struct AskedChanges {
    #[command(flatten)]
    changes: Changes,
}

/// A tree by chance: accounts in accounts, users with different usage.
fn tree(random: &mut fastrand::Rng) -> (Accounts, Vec<(String, String, f64)>) {
    let mut tree = Accounts::new();
    let mut usage = Vec::new();
    let mut users = 0;
    for top in 0..3 {
        let mut account = Account::new(format!("a{top}"), random.u32(1..100));
        for part in 0..2 {
            let name = format!("a{top}p{part}");
            let mut below = Account::new(&*name, random.u32(1..100));
            for _ in 0..3 {
                let user = format!("u{users}");
                users += 1;
                let shares =
                    if random.u8(..8) == 0 { Shares::Parent } else { Shares::Raw(random.u32(1..50)) };
                usage.push((name.clone(), user.clone(), f64::from(random.u32(1..1_000_000)) * 1000.0));
                below = below.user(user, shares);
            }
            account = account.account(below);
        }
        tree = tree.account(account);
    }
    (tree, usage)
}

struct Trial {
    cluster: Cluster,
    /// What multifactor2.conf says.
    settings: String,
    wrong: Vec<String>,
}

impl Trial {
    fn conf(&self) -> std::path::PathBuf {
        self.cluster.directory().join(SETTINGS)
    }

    fn snapshot(&self) -> Snapshot {
        let question = Question { qos: true, ..Question::default() };
        let texts = asked::ask(&self.cluster, &question, "root", MARK).unwrap();
        let conf = self.cluster.directory().join(".foretold.conf");
        fs::write(&conf, &self.settings).unwrap();
        assemble(&texts, Some(&conf)).unwrap()
    }

    /// Foretells, changes, and compares.
    fn holds(&mut self, words: &[&str], change: impl FnOnce(&mut Self)) -> Snapshot {
        let mut changes = AskedChanges::try_parse_from(words).unwrap().changes;
        let snapshot = self.snapshot();
        let old = self.settings.clone();
        change(self);
        if self.settings != old || words.contains(&"multifactor2") {
            let file = self.cluster.directory().join(".changed.conf");
            fs::write(&file, &self.settings).unwrap();
            let lines = settings(Some(&file), "").unwrap().unwrap();
            changes.settings = Some(Settings { file: SETTINGS.to_owned(), lines });
        }
        self.cluster.wait_cycle().unwrap();
        // Classic works out users when they are asked for.
        self.cluster.sshare_rows().unwrap();
        self.cluster.wait_cycle().unwrap();
        let foretold = what_if(&snapshot, Some(self.cycle()), &changes).unwrap();
        let weight = self.weight();
        self.compare(words, &foretold, weight);
        snapshot
    }

    /// When the last cycle ended, as far as its state file tells.
    fn cycle(&self) -> i64 {
        let file = self.cluster.directory().join("state/priority_last_decay_ran");
        let written = fs::metadata(file).and_then(|file| file.modified()).unwrap_or(SystemTime::now());
        i64::try_from(written.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
    }

    fn weight(&self) -> f64 {
        let config = self.cluster.scontrol(&["show", "config"]).unwrap();
        let line =
            config.lines().find(|line| line.to_ascii_lowercase().starts_with("priorityweightfairshare"));
        line.and_then(|line| line.split('=').nth(1)?.trim().parse().ok()).unwrap()
    }

    fn compare(&mut self, words: &[&str], foretold: &WhatIf, weight: f64) {
        let rows = self.cluster.sprio_rows().unwrap();
        let mut found: Vec<(u32, u32, f64)> = rows
            .iter()
            .map(|row| {
                let id = row.text("JOBID").trim().parse().unwrap();
                (id, row.text("PRIORITY").trim().parse().unwrap(), row.number("FAIRSHARE").unwrap() / weight)
            })
            .collect();
        found.sort_by_key(|(id, priority, _)| (u32::MAX - priority, *id));
        let ids: Vec<u32> = found.iter().map(|(id, ..)| *id).collect();
        let expected: Vec<u32> =
            foretold.rows.iter().filter(|row| row.position_after.is_some()).map(|row| row.id).collect();
        let release = self.cluster.release().version;
        if ids != expected {
            let at = ids.iter().zip(&expected).position(|(id, expected)| id != expected).unwrap_or_default();
            let foretold: Vec<_> =
                foretold.rows.iter().skip(at).take(3).map(|row| (row.id, row.priority_after)).collect();
            let found: Vec<_> = found.iter().skip(at).take(3).collect();
            self.wrong.push(format!(
                "Slurm {release}, {words:?}: the order is {ids:?}, foretold {expected:?}; from place {at} on {found:?}, foretold {foretold:?}"
            ));
        }
        // Who is held has none, and sprio does not show it.
        let factors: BTreeMap<u32, f64> =
            foretold.rows.iter().filter_map(|row| Some((row.id, row.fair_share_after?))).collect();
        for (id, _, factor) in &found {
            let expected = factors.get(id).copied().unwrap_or(f64::NAN);
            if expected.is_nan() || (factor - expected).abs() >= 1e-6 {
                let what = format!(
                    "Slurm {release}, {words:?}: the factor of job {id} is {factor}, foretold {expected}"
                );
                self.wrong.push(what);
            }
        }
        assert!(found.len() > 10, "{found:?}");
    }

    fn sacctmgr(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        self.cluster.command("sacctmgr").user("root").unwrap().arg("-i").args(words).text().unwrap();
    }

    fn restart(&mut self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.cluster.set(name, value).unwrap();
        }
        self.cluster.restart_controller().unwrap();
    }

    fn write_settings(&mut self, settings: &str) {
        settings.clone_into(&mut self.settings);
        fs::write(self.conf(), settings).unwrap();
    }
}

fn what_is_foretold_comes_true(release: &Release) {
    let mut random = random();
    let (accounts, usage) = tree(&mut random);
    let usage: Vec<(&str, &str, f64)> =
        usage.iter().map(|(account, user, seconds)| (&**account, &**user, *seconds)).collect();
    let cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .set("PriorityWeightFairshare", &WEIGHT.to_string())
        .set("PriorityFlags", "NO_NORMAL_ASSOC")
        .set("PriorityWeightQOS", "200000000")
        .set("PriorityWeightPartition", "100000000")
        .line("PartitionName=other Nodes=ALL State=UP PriorityJobFactor=7")
        .file(SETTINGS, "# none yet\n")
        .accounts(&accounts)
        .usage(&usage)
        .start()
        .unwrap();
    for (account, user, _) in &usage {
        let tasks = random.u32(1..9);
        cluster.submit(&Job::new(*user).account(account).arg(format!("--ntasks={tasks}"))).unwrap();
    }
    cluster.wait_cycle().unwrap();
    let mut trial = Trial { cluster, settings: String::new(), wrong: Vec::new() };

    let shares = random.u32(1..200).to_string();
    trial.holds(&["--shares", &format!("a0={shares},u4@a0p1=parent,a1p0=0")], |trial| {
        trial.sacctmgr(&format!("modify account name=a0 set fairshare={shares}"));
        trial.sacctmgr("modify user name=u4 account=a0p1 set fairshare=parent");
        trial.sacctmgr("modify account name=a1p0 set fairshare=0");
    });
    trial.holds(&["--usage", "u7@a1p0=0"], |trial| {
        trial.sacctmgr("modify user where name=u7 account=a1p0 cluster=test set rawusage=0");
    });
    trial.holds(&["--weight", "fairshare=300000000,jobsize=900000000"], |trial| {
        trial.restart(&[("PriorityWeightFairshare", "300000000"), ("PriorityWeightJobSize", "900000000")]);
    });
    trial.holds(&[], |trial| {
        trial.write_settings("FairShareScale=log\nDistribution=standing\n");
        trial.restart(&[]);
    });
    trial.sacctmgr("add qos high priority=50");
    trial.sacctmgr("modify cluster test set qos+=normal,high");
    people(&mut trial, 3);
    jobs(&mut trial);
    trial.holds(&["--plugin", "stock"], |trial| trial.restart(&[("PriorityType", "priority/multifactor")]));
    trial.holds(&["--usage", "a2p1=0", "--shares", "a2=77"], |trial| {
        trial.sacctmgr("modify account where name=a2p1 cluster=test set rawusage=0");
        trial.sacctmgr("modify account name=a2 set fairshare=77");
    });
    people(&mut trial, 4);
    jobs(&mut trial);
    trial.holds(&["--plugin", "classic"], |trial| {
        trial.restart(&[("PriorityFlags", "NO_NORMAL_ASSOC,NO_FAIR_TREE")]);
    });
    trial.holds(&["--plugin", "multifactor2"], |trial| {
        trial.restart(&[("PriorityType", "priority/multifactor2")]);
    });
    half_life(&mut trial);
    assert!(trial.wrong.is_empty(), "{:#?}", trial.wrong);
}

/// Accounts and users that were not there, and a job of one of them; `number` makes other names.
fn people(trial: &mut Trial, number: u32) {
    let (top, below) = (format!("n{number}"), format!("n{number}p0"));
    let account = format!("{top}=40,{below}=3@{top}");
    let user = format!("u{number}@{below}=7,u{number}@a2p0=20");
    trial.holds(&["--new-account", &account, "--new-user", &user], |trial| {
        trial.sacctmgr(&format!("add account name={top} parent=root fairshare=40"));
        trial.sacctmgr(&format!("add account name={below} parent={top} fairshare=3"));
        trial.sacctmgr(&format!("add user name=u{number} account={below} fairshare=7"));
        trial.sacctmgr(&format!("add user name=u{number} account=a2p0 fairshare=20"));
    });
    let options = format!("-A {below} -p main -n 2");
    trial.holds(&["--submit", &options, "--as", &format!("u{number}")], |trial| {
        let job = Job::new(format!("u{number}")).account(&below).partition("main").arg("--ntasks=2");
        trial.cluster.submit(&job).unwrap();
    });
}

/// Jobs that are there, with another QOS, partition, account, nice value, size, limit, or held; one alone, and an array.
fn jobs(trial: &mut Trial) {
    let jobs = trial.snapshot().jobs;
    // One who has another account, and one who has not.
    let of = |user: &str| jobs.iter().find(|job| job.user == user && job.array_job == 0).unwrap().id;
    let second = jobs.iter().rev().find(|job| job.account.starts_with('n')).unwrap();
    let (first, moved) = (of("u9"), second.id);
    let user = second.user.clone();
    let array = Job::new("u11").account("a1p1").arg("--array=1-3").arg("--ntasks=3");
    let array = trial.cluster.submit(&array).unwrap();
    trial.cluster.wait_cycle().unwrap();
    for (job, to) in [
        (first, "QOS=high"),
        (first, "Partition=other"),
        (first, "Nice=150000000"),
        (first, "NumCPUs=13"),
        (first, "TimeLimit=7"),
        (moved, "Account=a2p0"),
        (array, "Nice=70000000"),
        (array, "QOS=high"),
    ] {
        trial.holds(&["--job", &format!("{job} {to}")], |trial| {
            trial.cluster.scontrol(&["update", &format!("JobId={job}"), to]).unwrap();
        });
    }
    // One of them has its QOS all the time: up to 25.11.0 that alone shows whether the factor is normalised.
    for (job, word) in [(array, "hold"), (array, "release"), (first, "hold"), (first, "release")] {
        trial.holds(&["--job", &format!("{job} {word}")], |trial| {
            trial.cluster.scontrol(&[word, &job.to_string()]).unwrap();
        });
    }
    assert!(!user.is_empty());
    // As it was, for the next round.
    for job in [first.to_string(), moved.to_string(), array.to_string()] {
        trial.cluster.scontrol(&["update", &format!("JobId={job}"), "QOS=normal", "Nice=0"]).unwrap();
    }
    trial.cluster.wait_cycle().unwrap();
}

/// Usage decays as foretold, and as everybody's does, factors stay.
fn half_life(trial: &mut Trial) {
    const LENGTH: &str = "00:02:00";
    let before = trial.holds(&["--half-life", LENGTH], |trial| {
        trial.restart(&[("PriorityDecayHalfLife", LENGTH)]);
        std::thread::sleep(Duration::from_secs(20));
    });
    let changes = AskedChanges::try_parse_from(["--half-life", LENGTH]).unwrap().changes;
    let rows = trial.cluster.sshare_rows().unwrap();
    let foretold = what_if(&before, Some(trial.cycle()), &changes).unwrap();
    assert!(foretold.standings.len() > 10, "{foretold:?}");
    for change in &foretold.standings {
        let row = rows
            .iter()
            .find(|row| (row.text("Account"), row.text("User")) == (&*change.account, &*change.user));
        let usage = row.unwrap().number("RawUsage").unwrap();
        // A few seconds more or less: nothing tells when the last cycle before the change was.
        if (usage - change.usage_after).abs() > 0.03 * change.usage_after
            || usage > 0.95 * change.usage_before
        {
            let what = format!("the usage of {} {} is {usage}", change.account, change.user);
            trial.wrong.push(format!("{what}, foretold {} from {}", change.usage_after, change.usage_before));
        }
    }
}

//! Books on real slurmds: Moab's example of shares per partition, and the usage of real jobs in each book, which is what slurmdbd has recorded,
//! over resets, removals, kills and other settings. In the oldest and the newest release by `make test`, in all by `make test-releases`.
#![allow(clippy::float_cmp)] // sums of whole seconds are exact

use crate::shared;
use std::collections::BTreeMap;
use std::fs;

use slurm_releases::cluster;
use slurm_testcluster::targets::{now, start_of, wait_records, Owner, Ran, WAIT};
use slurm_testcluster::{policies, Account, Accounts, Cluster, Job, JobId, Release};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(moabs_example_and_usage_by_book);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(moabs_example_and_usage_by_book);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(moabs_example_and_usage_by_book);
}

const ONE: &str = "Book=one Partitions=p1 Shares=engineering:3,research:1\n";
const TWO: &str = "Book=two Partitions=p2 Shares=engineering:50,research:25,sales:15,*:10\n";
const THREE: &str = "Book=three Partitions=p3 Shares=research:1,sales:1\n";

/// Accounts, each with one user of the same name, and their factors in each partition while nobody has used anything.
const FACTORS: [(&str, [f64; 4]); 4] = [
    ("engineering", [1.0, 1.0, 1.0, 0.0]),
    ("research", [1.0, 1.0 / 3.0, 0.5, 1.0]),
    ("sales", [1.0, 0.0, 0.3, 1.0]),
    ("admin", [1.0, 0.0, 0.2, 0.0]),
];
const PARTITIONS: [&str; 4] = ["main", "p1", "p2", "p3"];

fn moabs_example_and_usage_by_book(release: &Release) {
    let account = |(name, _): &(&'static str, _)| Account::new(*name, 1).user(*name, 1);
    let tree = FACTORS.iter().map(account).fold(Accounts::new(), Accounts::account);
    let mut builder = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .nodes(3)
        .cpus(4)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
        .set("PriorityWeightFairshare", "1000000")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .file(policies::FILE, &[ONE, TWO, THREE].concat());
    for name in &PARTITIONS[1..] {
        builder = builder.line(&format!("PartitionName={name} Nodes=ALL State=UP"));
    }
    let mut cluster = builder.start().unwrap();
    let began = now();
    let lap = |what: &str| eprintln!("Slurm {}: {what} after {} s", release.version, now() - began);
    assert_factors(&cluster);
    lap("factors");
    usage_is_what_jobs_ran(&cluster);
    lap("usage");
    resets_and_removals(&cluster);
    lap("resets");
    restarts_and_kills(&mut cluster);
    lap("kills");
    books_come_and_go(&cluster);
    lap("other books");
    usage_is_reset_at_once(&mut cluster);
    lap("reset of all");
    shared::check_log(&cluster);
}

fn job(user: &str, partition: &str, cpus: u32, seconds: u32) -> Job {
    Job::new(user).partition(partition).seconds(seconds).arg(format!("-n{cpus}"))
}

fn set_partitions(cluster: &Cluster, state: &str) {
    for name in PARTITIONS {
        cluster.scontrol(&["update", &format!("partitionname={name}"), &format!("state={state}")]).unwrap();
    }
}

/// A job of everybody in each partition, and one in all of them: what sprio shows.
fn assert_factors(cluster: &Cluster) {
    set_partitions(cluster, "down");
    let submit = |user: &str, partition: &str| cluster.submit(&job(user, partition, 1, 1)).unwrap();
    let mut due: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut jobs = Vec::new();
    for (user, factors) in FACTORS {
        let in_all = submit(user, &PARTITIONS.join(","));
        for (partition, factor) in PARTITIONS.iter().zip(factors) {
            let alone = submit(user, partition);
            due.insert((alone.to_string(), (*partition).to_owned()), factor);
            due.insert((in_all.to_string(), (*partition).to_owned()), factor);
            jobs.push(alone);
        }
        jobs.push(in_all);
    }
    let mut found = BTreeMap::new();
    let same = cluster.wait_for("the factors of all books", WAIT, |cluster| {
        let rows = cluster.sprio_rows()?;
        found = rows
            .iter()
            .map(|row| {
                let key = (row.text("JOBID").to_owned(), row.text("PARTITION").to_owned());
                Ok((key, row.number("fairshare")?))
            })
            .collect::<anyhow::Result<BTreeMap<_, f64>>>()?;
        let near = |(key, due): (&(String, String), &f64)| {
            found.get(key).is_some_and(|found| (found - due).abs() < 1.1e-6)
        };
        Ok((found.len() == due.len() && due.iter().all(near)).then_some(()))
    });
    same.unwrap_or_else(|problem| panic!("{problem}: {found:?}, not {due:?}\n{}", cluster.log()));
    cluster.command("scancel").args(&jobs).text().unwrap();
    set_partitions(cluster, "up");
}

/// What the file has of books: up to when, their names, those that were removed, and what each user has in each of both.
#[derive(Debug)]
struct Books {
    since: i64,
    names: Vec<String>,
    removed: Vec<String>,
    used: BTreeMap<String, Vec<f64>>,
}

impl Books {
    fn read(cluster: &Cluster) -> Self {
        let text = fs::read_to_string(cluster.directory().join("state/multifactor2_usage")).unwrap();
        let (mut since, mut names, mut removed) = (0, Vec::new(), Vec::new());
        let (mut users, mut used) = (BTreeMap::new(), BTreeMap::new());
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "since" => since = words[1].parse().unwrap(),
                "books" => names = words[1..].iter().map(|name| (*name).to_owned()).collect(),
                "removed" => removed.push(words[1].to_owned()),
                "association" => drop(users.insert(words[1], words[5])),
                "used" if words[1] != "-" => {
                    let amounts = words[2..].iter().map(|amount| amount.parse().unwrap()).collect();
                    let name = users[words[1]].to_owned();
                    used.insert(name, amounts);
                }
                _ => (),
            }
        }
        Self { since, names, removed, used }
    }

    /// Those of a cycle that began after this call.
    fn next(cluster: &Cluster) -> Self {
        let asked = now();
        let newer = |cluster: &Cluster| Ok(Some(Self::read(cluster)).filter(|books| books.since > asked));
        cluster.wait_for("sums of a new cycle", WAIT, newer).unwrap()
    }

    fn of(&self, user: &str, book: &str) -> f64 {
        let mut all = self.names.iter().chain(&self.removed);
        let at = all.position(|name| name == book).unwrap_or_else(|| panic!("{book}: {self:?}"));
        self.used.get(user).and_then(|used| used.get(at)).copied().unwrap_or(0.0)
    }
}

/// What jobs that are over have used in a partition.
fn ran(records: &[Ran], user: &str, partition: &str) -> f64 {
    let of = |ran: &&Ran| {
        ran.owners.contains(&Owner::user(user, user))
            && ran.owners.contains(&Owner::Partition(partition.to_owned()))
    };
    let seconds = |ran: &Ran| f64::from(i32::try_from(ran.time.1 - ran.time.0).unwrap());
    records.iter().filter(of).map(|ran| ran.cpus * seconds(ran)).sum()
}

fn raw(cluster: &Cluster, user: &str) -> f64 {
    cluster.share(user, user).unwrap().number("RawUsage").unwrap()
}

fn usage_is_what_jobs_ran(cluster: &Cluster) {
    let jobs = [
        job("engineering", "p1", 2, 7),
        job("engineering", "main", 1, 5),
        job("research", "p1", 1, 9),
        job("research", "p3", 3, 4),
        job("sales", "p3", 1, 6),
        job("sales", "p2", 2, 3),
        // Charged to the book of the partition that it started in.
        job("admin", "p1,p2", 1, 6),
    ];
    let jobs = jobs.map(|job| cluster.submit(&job).unwrap());
    let records = wait_records(cluster, &jobs).unwrap();
    let books = Books::next(cluster);
    assert_eq!(books.names, ["one", "two", "three"]);
    for (user, _) in FACTORS {
        for (book, partition) in books.names.iter().zip(&PARTITIONS[1..]) {
            assert_eq!(
                books.of(user, book),
                ran(&records, user, partition),
                "{user}, {book}: {books:?}\n{records:?}"
            );
        }
        let all: f64 = PARTITIONS.iter().map(|partition| ran(&records, user, partition)).sum();
        assert_eq!(raw(cluster, user), all, "RawUsage is that of all partitions");
    }
    // The default book has one job of engineering, which sshare shows.
    let shown = |user: &str| cluster.share(user, user).unwrap().number("NormUsage").unwrap();
    assert_eq!(FACTORS.map(|(user, _)| shown(user)), [1.0, 0.0, 0.0, 0.0]);
}

fn sacctmgr(cluster: &Cluster, arguments: &str) {
    cluster.command("sacctmgr").arg("-i").args(arguments.split(' ')).text().unwrap();
}

fn wait_running(cluster: &Cluster, job: JobId) {
    let state = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
        Ok(text.contains("JobState=RUNNING").then_some(()))
    };
    cluster.wait_for("the job to run", WAIT, state).unwrap();
}

fn resets_and_removals(cluster: &Cluster) {
    let before = Books::next(cluster);
    assert!(before.of("research", "one") > 0.0 && before.of("research", "three") > 0.0, "{before:?}");
    sacctmgr(cluster, "modify user research account=research set RawUsage=0");
    let wait = |what: &str, is_done: &dyn Fn(&Books) -> bool| {
        cluster
            .wait_for(what, WAIT, |cluster| Ok(Some(Books::read(cluster)).filter(is_done)))
            .unwrap_or_else(|problem| panic!("{problem}: {:?}", Books::read(cluster)))
    };
    let after = wait("the reset", &|books| books.of("research", "one") == 0.0);
    assert_eq!(after.of("research", "three"), 0.0);
    assert_eq!(after.of("engineering", "one"), before.of("engineering", "one"));
    // Who is removed and added again starts empty.
    sacctmgr(cluster, "delete user sales");
    wait("the end of the association", &|books| books.of("sales", "three") == 0.0);
    sacctmgr(cluster, "add user sales account=sales");
    let known = |cluster: &Cluster| Ok(cluster.share("sales", "sales").is_ok().then_some(()));
    cluster.wait_for("the new association", WAIT, known).unwrap();
    let after = Books::next(cluster);
    assert_eq!(["two", "three"].map(|book| after.of("sales", book)), [0.0; 2], "{after:?}");
    let job = cluster.submit(&job("sales", "p3", 2, 3)).unwrap();
    let records = wait_records(cluster, &[job]).unwrap();
    let done: Vec<Ran> = records.into_iter().filter(|ran| ran.job == job).collect();
    assert_eq!(Books::next(cluster).of("sales", "three"), ran(&done, "sales", "p3"));
}

/// A job that runs is in its book from its start to each cycle, whatever ends slurmctld.
fn restarts_and_kills(cluster: &mut Cluster) {
    let before = Books::next(cluster).of("engineering", "two");
    let runs = cluster.submit(&job("engineering", "p2", 3, 3600)).unwrap();
    wait_running(cluster, runs);
    // slurmctld knows after a kill what it has saved, and does not start without a save of usage.
    cluster.restart_controller().unwrap();
    let start = start_of(cluster, runs).unwrap();
    let assert_seconds = |cluster: &Cluster, what: &str| {
        let books = Books::next(cluster);
        let due = 3.0 * f64::from(i32::try_from(books.since - start).unwrap());
        assert_eq!(books.of("engineering", "two") - before, due, "{what}: {books:?}");
    };
    assert_seconds(cluster, "at first");
    for round in 0..3 {
        cluster.kill_controller().unwrap();
        cluster.start_controller().unwrap();
        assert_seconds(cluster, &format!("killed, round {round}"));
        cluster.restart_controller().unwrap();
        assert_seconds(cluster, &format!("restarted, round {round}"));
        cluster.reconfigure().unwrap();
        assert_seconds(cluster, &format!("reconfigured, round {round}"));
    }
    cluster.command("scancel").arg(runs).text().unwrap();
    let records = wait_records(cluster, &[runs]).unwrap();
    let done: Vec<Ran> = records.into_iter().filter(|ran| ran.job == runs).collect();
    assert_eq!(Books::next(cluster).of("engineering", "two") - before, ran(&done, "engineering", "p2"));
}

fn books_come_and_go(cluster: &Cluster) {
    let before = Books::next(cluster);
    policies::change(cluster, &[ONE, TWO, "Book=four Partitions=main,p3\n"].concat()).unwrap();
    let changed = |cluster: &Cluster| {
        let books = Books::read(cluster);
        Ok((books.names == ["one", "two", "four"]).then_some(books))
    };
    let books = cluster.wait_for("the new book", WAIT, changed).unwrap();
    assert_eq!(books.removed, ["three"]);
    for (user, _) in FACTORS {
        assert_eq!(books.of(user, "four"), 0.0, "{books:?}");
        for book in ["one", "two", "three"] {
            assert_eq!(books.of(user, book), before.of(user, book), "{user}, {book}: {books:?}");
        }
    }
    let log = cluster.log();
    assert_eq!(log.matches("Book=four starts without usage").count(), 1, "{log}");
    policies::change(cluster, &[ONE, TWO, THREE].concat()).unwrap();
    let back = |cluster: &Cluster| {
        let books = Books::read(cluster);
        Ok((books.names == before.names).then_some(books))
    };
    let books = cluster.wait_for("the old books", WAIT, back).unwrap();
    assert_eq!(books.removed, ["four"]);
    for (user, _) in FACTORS {
        assert_eq!(books.of(user, "three"), before.of(user, "three"), "{user}: {books:?}");
    }
}

/// `PriorityUsageResetPeriod=NOW`.
fn usage_is_reset_at_once(cluster: &mut Cluster) {
    assert!(Books::read(cluster).of("engineering", "two") > 0.0);
    cluster.set("PriorityUsageResetPeriod", "NOW").unwrap();
    cluster.reconfigure().unwrap();
    let empty = |cluster: &Cluster| {
        let books = Books::read(cluster);
        Ok(books.used.values().flatten().all(|amount| *amount == 0.0).then_some(books))
    };
    let books = cluster.wait_for("the reset", WAIT, empty).unwrap();
    assert_eq!(books.removed, [""; 0], "a removed book goes with it");
    cluster.set("PriorityUsageResetPeriod", "NONE").unwrap();
    cluster.reconfigure().unwrap();
}

//! What the command `multifactor2` answers in a real cluster is what sprio and sshare show: for random trees and queues, under multifactor2
//! (from the five commands and from the plugin's snapshot), Fair Tree and classic, for root, an operator, a coordinator and an ordinary user,
//! whatever `PrivateData` hides, and while jobs run and usage decays. In the oldest and the newest release by `make test`, in all by `make test-releases`.

mod recomputed;
#[cfg(feature = "full")]
mod running;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use multifactor2_command::input::ask::Question;
use multifactor2_command::output::Terminal;
use multifactor2_command::run;
use multifactor2_fixtures::random;
use recomputed::Recomputed;
use serde_json::Value;
use slurm_releases::asked::ask;
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release, Row, Shares};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(answers_are_what_slurm_shows);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(answers_are_what_slurm_shows);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(answers_are_what_slurm_shows);
}

const WAIT: Duration = Duration::from_secs(60);

/// The books that the cluster has in its last part.
const BOOKS: &str = "Book=extra Partitions=extra Shares=a0:3,*:1\n";

/// An operator, a coordinator of account a0, and one who is none of it.
const WHO: [&str; 4] = ["root", "olga", "kurt", "u1"];

/// Of the tests of the command.
pub const ALGORITHMS: [(&str, &str); 3] = [
    ("priority/multifactor2", "FAIR_TREE"),
    ("priority/multifactor", "FAIR_TREE"),
    ("priority/multifactor", "NO_FAIR_TREE"),
];

/// Nodes that partitions share by chance.
const NODES: u16 = 4;

/// What `PrivateData` may hide.
const PRIVATE: [&str; 6] = ["none", "jobs", "usage", "users", "accounts", "jobs,usage,users,accounts"];

/// What the cluster shows to root at one time.
struct Truth {
    shares: Vec<Row>,
    priorities: Vec<Row>,
}

impl Truth {
    fn of(cluster: &Cluster) -> Self {
        // Slurm works out users when they are asked for, and takes their siblings as it last saw them.
        cluster.sshare_rows().unwrap();
        Self { shares: cluster.sshare_rows().unwrap(), priorities: cluster.sprio_rows().unwrap() }
    }

    /// The rows that are others, for who has to find out why. What is normalised, in small letters, has more digits than stay.
    fn differences(&self, other: &Self) -> Vec<String> {
        let cells = |row: &Row| {
            let mut cells = row.cells().clone();
            cells.retain(|column, _| column.starts_with(char::is_uppercase));
            format!("{cells:?}")
        };
        let all = |of: &Self| of.shares.iter().chain(&of.priorities).map(cells).collect::<Vec<_>>();
        let (before, mut after) = (all(self), all(other));
        after.retain(|row| !before.contains(row));
        after
    }
}

/// What Slurm says to a user, kept in a directory.
pub fn asked(cluster: &Cluster, user: &str, name: &str) -> PathBuf {
    let question = Question { qos: true, ..Question::default() };
    let texts = ask(cluster, &question, user, recomputed::MARK);
    let saved = cluster.directory().join(format!("asked-{name}-{user}"));
    texts.unwrap_or_else(|problem| panic!("{user}: {problem}")).save(&saved).unwrap();
    saved
}

/// A time at which nothing changes while everybody asks.
fn asked_at_once(
    cluster: &Cluster,
    name: &str,
    who: &[&'static str],
) -> (Truth, Vec<(&'static str, PathBuf)>) {
    let (mut times, mut differ) = (0, Vec::new());
    let found = cluster.wait_for("numbers that stay while they are asked for", WAIT, |cluster| {
        times += 1;
        let before = Truth::of(cluster);
        let ask = |user: &&'static str| (*user, asked(cluster, user, &format!("{name}-{times}")));
        let all: Vec<_> = who.iter().map(ask).collect();
        differ = before.differences(&Truth::of(cluster));
        Ok(differ.is_empty().then_some((before, all)))
    });
    found.unwrap_or_else(|problem| panic!("{name}: {problem}: {differ:#?}"))
}

/// An answer as JSON.
pub fn answer(from: &Path, conf: Option<&Path>, words: &[&str]) -> Result<Value, String> {
    let mut args: Vec<OsString> = vec!["multifactor2".into()];
    args.extend(words.iter().map(OsString::from));
    args.extend(["--json".into(), "--from".into(), from.into()]);
    if let Some(conf) = conf {
        args.extend(["--conf".into(), conf.into()]);
    }
    let printed = run::run(args, Terminal::PLAIN);
    if printed.status != 0 {
        return Err(printed.err);
    }
    Ok(serde_json::from_str(&printed.out).unwrap_or_else(|error| panic!("{error}: {}", printed.out)))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value}"))
}

/// A column of sprio or sshare, with what the command says of it, and the last digit.
struct Cell<'c>(&'c str, Option<f64>, f64);

/// What differs from what Slurm shows, one line each.
struct Look<'l> {
    truth: &'l Truth,
    /// The places of root's view, where they stay while everybody asks.
    places: Option<&'l Recomputed>,
    from: &'l Path,
    conf: Option<&'l Path>,
    /// All is seen.
    whole: bool,
    /// All waiting jobs can be seen.
    sees_queue: bool,
    classic: bool,
    /// `None` while usage is whole and stays. Else by how much parts of it may be older than usage itself.
    lag: Option<f64>,
    wrong: Vec<String>,
}

impl Look<'_> {
    fn compare(&mut self, what: &str, row: &Row, cells: &[Cell<'_>]) {
        for Cell(column, found, unit) in cells {
            let (Some(found), Ok(shown)) = (found, row.number(column)) else { continue };
            if (found - shown).abs() > unit * 1.001 + 1e-9 * shown.abs() {
                self.wrong.push(format!("{what}: {column} is {shown}, the answer says {found}"));
            }
        }
    }

    fn tree(&mut self) -> Value {
        let answer = answer(self.from, self.conf, &["tree"]).unwrap();
        let rows = answer["answer"]["rows"].as_array().unwrap();
        for row in rows.iter().filter(|row| row["book"].is_null() || row["book"] == "default") {
            let name = (text(row, "account"), text(row, "user"));
            let of = |shown: &&Row| (shown.text("Account"), shown.text("User")) == name;
            let Some(shown) = self.truth.shares.iter().find(of) else {
                self.wrong.push(format!("{name:?}: sshare does not show it"));
                continue;
            };
            let number = |column: &str| row[column].as_f64();
            let is_root = row["parent"] == 0;
            let mut cells = vec![Cell("RawUsage", number("usage"), 1.0)];
            if !is_root {
                cells.extend([
                    Cell("NormShares", number("shares_norm"), 0.5e-6),
                    Cell("NormUsage", number("usage_norm"), 0.5e-6 + self.lag.unwrap_or_default()),
                    Cell("EffectvUsage", number("usage_effective"), 0.5e-6 + self.lag.unwrap_or_default()),
                ]);
            }
            if !self.classic {
                // Usage is shown to two places.
                let rough = self.lag.map_or(0.0, |_| 0.01 / number("usage").unwrap_or_default().max(1.0));
                let level = number("level_fs");
                cells.push(Cell("LevelFS", level, 0.5e-6 + rough * level.unwrap_or_default()));
                cells.push(Cell("FairShare", number("factor"), 0.5e-6));
            }
            self.compare(&format!("tree {name:?}"), shown, &cells);
        }
        if self.whole && rows.len() < self.truth.shares.len() {
            self.wrong.push(format!("tree: {} rows of {}", rows.len(), self.truth.shares.len()));
        }
        answer
    }

    fn queue(&mut self) {
        let answer = answer(self.from, self.conf, &["queue"]).unwrap();
        let rows = answer["answer"]["rows"].as_array().unwrap();
        for row in rows {
            let (job, partition) = (row["id"].to_string(), text(row, "partition"));
            let of = |shown: &&Row| shown.text("JOBID") == job && shown.text("PARTITION") == partition;
            match self.truth.priorities.iter().find(of) {
                None => self.wrong.push(format!("queue: {job} in {partition} is not in sprio")),
                Some(shown) => self.compare(
                    &format!("queue {job} in {partition}"),
                    shown,
                    &[Cell("PRIORITY", row["priority"].as_f64(), 1.0)],
                ),
            }
        }
        if !rows.iter().all(|row| row["position"].is_null() != self.sees_queue) {
            self.wrong.push(format!("queue: positions of {rows:?}"));
        }
        let places = self.places.filter(|_| self.sees_queue);
        self.wrong.extend(places.and_then(|places| places.wrong_queue(rows)));
        if self.whole && rows.len() != self.truth.priorities.len() {
            self.wrong.push(format!(
                "queue: {} places, sprio has {}",
                rows.len(),
                self.truth.priorities.len()
            ));
        }
        let order = |row: &Value| (row["tier"].as_u64(), row["priority"].as_u64());
        if !rows.windows(2).all(|pair| order(&pair[0]) >= order(&pair[1])) {
            self.wrong.push(format!("queue: not in order: {rows:?}"));
        }
    }

    /// Every job, as it is seen.
    fn why(&mut self) {
        let jobs: Vec<&Row> = self.truth.priorities.iter().collect();
        for shown in jobs {
            let job = shown.text("JOBID");
            let answer = match answer(self.from, self.conf, &["why", job]) {
                Ok(answer) => answer,
                Err(_) if !self.whole => continue,
                Err(error) => panic!("why {job}: {error}"),
            };
            let why = &answer["answer"];
            let rows = self.truth.priorities.iter().filter(|row| row.text("JOBID") == job).count();
            // A place is told of who sees all jobs; without it, the partition of a job in several is not known here.
            let is_of_row = if self.sees_queue {
                why["places"][0]["partition"] == shown.text("PARTITION")
            } else {
                rows == 1
            };
            if why["places"].as_array().unwrap().is_empty() == self.sees_queue {
                self.wrong.push(format!("why {job}: places {}", why["places"]));
            }
            let places = self.places.filter(|_| self.sees_queue);
            self.wrong.extend(places.and_then(|places| places.wrong_why(job, why)));
            self.wrong.extend(wrong_sum(job, why));
            if !is_of_row {
                continue;
            }
            let term = |name: &str| {
                let terms = why["terms"].as_array().unwrap();
                let found = terms.iter().find(|term| term["name"] == name);
                found.and_then(|term| term["product"].as_f64())
            };
            let cells = [
                ("AGE", "AGE"),
                ("FAIRSHARE", "FAIRSHARE"),
                ("JOBSIZE", "JOBSIZE"),
                ("PARTPRIO", "PARTITION"),
                ("QOS", "QOS"),
                ("SITE", "SITE"),
            ]
            .map(|(column, name)| Cell(column, term(name), 0.5));
            self.compare(&format!("why {job}"), shown, &cells);
            self.compare(&format!("why {job}"), shown, &[Cell("PRIORITY", why["priority"].as_f64(), 1.0)]);
            let differences = why["differences"].as_array().unwrap();
            if self.whole && !differences.is_empty() {
                self.wrong.push(format!("why {job}: {differences:?}"));
            }
        }
    }

    /// What is computed here with nothing changed.
    fn what_if(&mut self) {
        let answer = match answer(self.from, None, &["what-if"]) {
            Ok(answer) => answer,
            Err(error) => return self.wrong.push(format!("what-if: {error}")),
        };
        let answer = &answer["answer"];
        let is_right = if self.sees_queue {
            answer["moved"] == 0 && answer["unknown"].is_null()
        } else {
            answer["moved"].is_null() && answer["unknown"]["kind"] == "hidden"
        };
        if !is_right || !answer["standings"].as_array().unwrap().is_empty() {
            self.wrong.push(format!("what-if: {answer}"));
        }
        for row in answer["rows"].as_array().unwrap() {
            let (job, partition) = (row["id"].to_string(), text(row, "partition"));
            let of = |shown: &&Row| shown.text("JOBID") == job && shown.text("PARTITION") == partition;
            if let Some(shown) = self.truth.priorities.iter().find(of) {
                let cell = Cell("PRIORITY", row["priority_before"].as_f64(), 1.0);
                self.compare(&format!("what-if {job} in {partition}"), shown, &[cell]);
            }
        }
    }

    fn all(mut self, what: &str) {
        let tree = self.tree();
        self.queue();
        self.why();
        self.what_if();
        let about = &tree["about"];
        assert!(self.wrong.is_empty(), "{what}: {:#?}\n{about:#}", self.wrong);
        let said =
            [&about["hidden"], &about["notes"]].iter().any(|said| !said.as_array().unwrap().is_empty());
        assert!(self.whole || said, "{what}: nothing is said to be hidden: {about:#}");
    }
}

/// A sum that is not the priority, and no word of what it lacks.
fn wrong_sum(job: &str, why: &Value) -> Option<String> {
    let product = |term: &Value| term["product"].as_f64().unwrap();
    let sum: f64 = why["terms"].as_array().unwrap().iter().map(product).sum();
    let lacks = why["lacks"]["amount"].as_f64().unwrap_or_default();
    let priority = why["priority"].as_f64().unwrap();
    ((sum + lacks - priority).abs() >= 1.0)
        .then(|| format!("why {job}: the sum is {sum}, it lacks {lacks}, the priority is {priority}"))
}

/// Random accounts and users; `parent`, equal ones and ones without shares among them.
fn tree(random: &mut fastrand::Rng) -> (Accounts, Vec<(String, String)>) {
    let mut users = Vec::new();
    let mut tree = Accounts::new();
    for at in 0..random.usize(3..6) {
        let mut account = Account::new(format!("a{at}"), random.u32(1..5));
        for _ in 0..random.usize(2..6) {
            let user = format!("u{}", users.len());
            let shares = match random.u8(..8) {
                0 => Shares::Parent,
                1 => Shares::Raw(0),
                _ => Shares::Raw(random.u32(1..5)),
            };
            account = account.user(user.clone(), shares);
            users.push((format!("a{at}"), user));
        }
        tree = tree.account(account);
    }
    (tree.account(Account::new("ops", 1).user("olga", 1).user("kurt", 1)), users)
}

/// A partition that is down, with some of the nodes and some tier.
fn partition(random: &mut fastrand::Rng, name: &str, job_factor: u32) -> String {
    let first = random.u16(1..=NODES);
    let (last, tier) = (random.u16(first..=NODES), random.u8(1..3));
    format!(
        "PartitionName={name} Nodes=n[{first}-{last}] State=DOWN PriorityJobFactor={job_factor} PriorityTier={tier}"
    )
}

pub fn sacctmgr(cluster: &Cluster, line: &str) {
    cluster.command("sacctmgr").user("root").unwrap().arg("-i").args(line.split(' ')).text().unwrap();
}

fn answers_are_what_slurm_shows(release: &Release) {
    let mut random = random();
    let (accounts, users) = tree(&mut random);
    let mut used: Vec<(&str, &str, f64)> = Vec::new();
    for (account, user) in &users {
        if random.u8(..4) > 0 {
            used.push((account, user, f64::from(random.u32(1..1_000_000))));
        }
    }
    let mut cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .usage(&used)
        .set("PriorityWeightFairshare", "1000000")
        .set("PriorityWeightAge", "1000")
        .set("PriorityMaxAge", "1000-0")
        .set("PriorityDecayHalfLife", "0")
        .set("PriorityWeightPartition", "2000")
        .set("PriorityWeightQOS", "3000")
        .nodes(NODES)
        .line(&partition(&mut random, "held", 10))
        .line(&partition(&mut random, "extra", 5))
        .line(&partition(&mut random, "more", 7))
        .start()
        .unwrap();
    sacctmgr(&cluster, "modify user olga set adminlevel=operator");
    sacctmgr(&cluster, "add coordinator account=a0 names=kurt");
    for (account, user) in &users {
        if random.u8(..4) == 0 {
            continue;
        }
        let partition = ["held", "extra", "more", "held,extra", "extra,more,held"][random.usize(..5)];
        let job = Job::new(&**user).account(account).partition(partition);
        cluster.submit(&job.arg(format!("--nice={}", random.u8(..100)))).unwrap();
    }
    let conf = cluster.directory().join("multifactor2.conf");
    let home = cluster.directory().join("snapshots");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    let snapshot = home.join("snapshot");
    let settings = format!("Snapshot={}\nSnapshotPeriod=1\n", snapshot.display());
    for (name, lines) in [("multifactor2", String::new()), ("books", BOOKS.to_owned())] {
        fs::write(&conf, settings.clone() + &lines).unwrap();
        settle(&cluster);
        let (truth, all) = asked_at_once(&cluster, name, &WHO);
        let places = Recomputed::of(&cluster, &all[0].1);
        for (user, from) in &all {
            // What is in the books is known to the plugin alone, and that is said.
            let look = Look {
                truth: &truth,
                places: Some(&places),
                from,
                conf: Some(&conf),
                whole: lines.is_empty(),
                sees_queue: true,
                classic: false,
                lag: None,
                wrong: Vec::new(),
            };
            look.all(&format!("Slurm {}, {name}, {user}", release.version));
        }
        of_snapshot(&cluster, &snapshot, name);
    }
    fs::write(&conf, "").unwrap();
    for (priority, flags) in ALGORITHMS {
        let is_ours = priority.ends_with('2');
        cluster.set("PriorityType", priority).unwrap();
        cluster.set("PriorityFlags", flags).unwrap();
        cluster.restart_controller().unwrap();
        for private in PRIVATE {
            match private {
                "none" => cluster.unset("PrivateData").unwrap(),
                private => cluster.set("PrivateData", private).unwrap(),
            }
            let what = format!("{private} {priority} {flags}");
            settle(&cluster);
            let (truth, all) = asked_at_once(&cluster, &what.replace(['/', ','], "-"), &WHO);
            let places = Recomputed::of(&cluster, &all[0].1);
            for (user, from) in &all {
                let sees_all = matches!(*user, "root" | "olga");
                // Names of users and accounts are hidden from sacctmgr, and are no part of the numbers.
                let hides = private.contains("jobs") || private.contains("usage");
                let look = Look {
                    truth: &truth,
                    places: Some(&places),
                    from,
                    conf: is_ours.then_some(&*conf),
                    whole: sees_all || !hides,
                    sees_queue: sees_all || !private.contains("jobs"),
                    classic: flags == "NO_FAIR_TREE",
                    lag: None,
                    wrong: Vec::new(),
                };
                look.all(&format!("Slurm {}, PrivateData={what}, {user}", release.version));
            }
        }
    }
}

/// Waits until the cluster shows what it is told to.
fn settle(cluster: &Cluster) {
    cluster.reconfigure().unwrap();
    cluster.wait_for("slurmctld", WAIT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
}

/// From the snapshot of the plugin nothing is missing.
fn of_snapshot(cluster: &Cluster, snapshot: &Path, name: &str) {
    let copy = cluster.directory().join(format!("snapshot-{name}"));
    let asked = |cluster: &Cluster| {
        let Ok(before) = fs::read(snapshot) else { return Ok(None) };
        let truth = Truth::of(cluster);
        fs::write(&copy, &before)?;
        Ok((fs::read(snapshot)? == before).then_some(truth))
    };
    let truth = cluster.wait_for("a snapshot that stays while it is compared", WAIT, asked).unwrap();
    let look = Look {
        truth: &truth,
        // It has no nodes of partitions.
        places: None,
        from: &copy,
        conf: None,
        whole: true,
        sees_queue: true,
        classic: false,
        lag: None,
        wrong: Vec::new(),
    };
    look.all(&format!("Slurm {}, snapshot, {name}", cluster.release().version));
}

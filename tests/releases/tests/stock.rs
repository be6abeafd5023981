//! The fair-share algorithms of stock `priority/multifactor` in `core::policy::stock` compared with stock itself: every number of every association
//! that `sshare` shows, to the last digit, and the factor of a job of every user, for random trees with whole, undecayed usage. In the
//! oldest and the newest release by `make test`, in all by `make test-releases`.

use std::collections::BTreeMap;

use multifactor2_core::policy::stock::{standings, Algorithm, Shown};
use multifactor2_core::{NodeSpec, ShareTree, USE_PARENT};
use multifactor2_fixtures::random;
use serde_json::Value;
use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId, Release, Row, Shares};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(three_algorithms);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(three_algorithms);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(three_algorithms);
}

/// So large that sprio shows nine decimals of the factor.
const WEIGHT: f64 = 1e9;

/// How far the same number may be off, as a part of it.
const LAST_BITS: f64 = 1e-14;

/// Random trees for each release.
const TREES: usize = if cfg!(feature = "full") { 2 } else { 1 };

/// Account and user; no user for an account.
type Name = (String, String);

struct Association {
    name: Name,
    parent: Option<usize>,
    /// None for `Fairshare=parent`.
    shares: Option<u32>,
    usage: u32,
}

/// Small numbers, of which many are equal, so that there are ties of every kind; and a few that are not small.
struct Tree(Vec<Association>);

impl Tree {
    fn random(random: &mut fastrand::Rng) -> Self {
        let mut tree = Self(Vec::new());
        tree.add(None, Some(1), "root", "", 0);
        tree.add(Some(0), Some(0), "root", "root", 0);
        let mut places = vec![0];
        let accounts = random.usize(4..13);
        let users = random.usize(20..50);
        for n in 0..accounts {
            let parent = places[random.usize(..places.len())];
            places.push(tree.0.len());
            let shares = shares(random);
            // Not in the order in which they are added.
            tree.add(Some(parent), shares, &format!("a{}", (n * 7 + 3) % 13), "", 0);
        }
        for n in 0..users {
            let parent = places[random.usize(..places.len())];
            let account = tree.0[parent].name.0.clone();
            let usage = match random.u8(..6) {
                0 | 1 => 0,
                2 => random.u32(..1_000_000),
                _ => random.u32(1..4) * 1000,
            };
            let shares = shares(random);
            tree.add(Some(parent), shares, &account, &format!("u{}", (n * 11 + 5) % 53), usage);
        }
        tree
    }

    /// Accounts of which two are equal, and a user that is equal to them. The users in each would be equal if 1/3 were what it is in binary:
    /// which of them are depends on the format of the numbers. And siblings whose shares are too many for 32 bits.
    fn tied() -> Self {
        let mut tree = Self(Vec::new());
        tree.add(None, Some(1), "root", "", 0);
        tree.add(Some(0), Some(0), "root", "root", 0);
        for (account, shares, unit) in [("twin2", 3, 300), ("other", 6, 100), ("twin1", 3, 300)] {
            let at = tree.0.len();
            tree.add(Some(0), Some(shares), account, "", 0);
            for (n, usage) in [(1, unit), (2, 2 * unit), (3, 3 * unit)] {
                tree.add(Some(at), Some(n), account, &format!("{account}u{n}"), usage);
            }
            tree.add(Some(at), None, account, &format!("{account}p"), 0);
            tree.add(Some(at), Some(0), account, &format!("{account}none"), 0);
        }
        let many = tree.0.len();
        tree.add(Some(0), Some(1), "many", "", 0);
        for n in 1..4 {
            tree.add(Some(many), Some(0x7fff_fff0), "many", &format!("m{n}"), n * 1000);
        }
        tree.add(Some(0), Some(3), "root", "single", 1800);
        tree.add(Some(0), None, "root", "parent", 700);
        tree
    }

    fn add(&mut self, parent: Option<usize>, shares: Option<u32>, account: &str, user: &str, usage: u32) {
        let mut above = parent;
        while let Some(n) = above {
            self.0[n].usage += usage;
            above = self.0[n].parent;
        }
        self.0.push(Association { name: (account.to_owned(), user.to_owned()), parent, shares, usage });
    }

    fn account(&self, at: usize) -> Account {
        let shares = |n: usize| self.0[n].shares.map_or(Shares::Parent, Shares::Raw);
        let below = (0..self.0.len()).filter(|&n| self.0[n].parent == Some(at));
        below.fold(Account::new(&*self.0[at].name.0, shares(at)), |account, n| match &*self.0[n].name.1 {
            "" => account.account(self.account(n)),
            user => account.user(user, shares(n)),
        })
    }

    fn users(&self) -> impl Iterator<Item = &Association> {
        self.0.iter().filter(|association| !matches!(&*association.name.1, "" | "root"))
    }

    fn start(&self, release: &Release) -> Cluster {
        let mut accounts = Accounts::new();
        let root = self.account(0);
        accounts.accounts = root.accounts;
        accounts.users = root.users.into_iter().filter(|user| user.name != "root").collect();
        let used = self.users().filter(|user| user.usage > 0);
        let usage: Vec<_> = used.map(|user| (&*user.name.0, &*user.name.1, f64::from(user.usage))).collect();
        Cluster::builder()
            .release(release.clone())
            // What later releases do by default must be said in 20.11.
            .set("SelectTypeParameters", "CR_Core_Memory")
            .set("PriorityWeightFairshare", "1000000000")
            .accounts(&accounts)
            .usage(&usage)
            .start()
            .unwrap()
    }

    /// What the core says, in the order in which slurmctld has the associations.
    fn standings(&self, cluster: &Cluster, algorithm: Algorithm) -> BTreeMap<&Name, Shown> {
        let version = cluster.release().version;
        let order = if (version.year, version.month) < (23, 11) { "lft" } else { "lineage" };
        let format = format!("format={order},account,user");
        let text = cluster.command("sacctmgr").args(["-nP", "show", "assoc", &format]).text().unwrap();
        let keys: BTreeMap<Name, (u32, String)> = text
            .lines()
            .map(|line| {
                let cells: Vec<&str> = line.split('|').collect();
                let [key, account, user] = cells[..] else { panic!("{text}") };
                ((account.to_owned(), user.to_owned()), (key.parse().unwrap_or(0), key.to_owned()))
            })
            .collect();
        let mut inputs: Vec<usize> = (0..self.0.len()).collect();
        inputs.sort_by_key(|&n| &keys[&self.0[n].name]);
        let place = |n: usize| u32::try_from(inputs.iter().position(|&other| other == n).unwrap()).unwrap();
        let specs: Vec<NodeSpec> = inputs
            .iter()
            .map(|&n| NodeSpec {
                parent: self.0[n].parent.map(place),
                shares: self.0[n].shares.unwrap_or(USE_PARENT),
                user: !self.0[n].name.1.is_empty(),
            })
            .collect();
        let tree = ShareTree::build(&specs);
        let mut usage = vec![0.0; tree.len()];
        for (input, &n) in inputs.iter().enumerate() {
            usage[tree.position(input).unwrap().index()] = f64::from(self.0[n].usage);
        }
        let shown = standings(&tree, &usage, algorithm);
        let at = |input: usize| shown[tree.position(input).unwrap().index()];
        inputs.iter().enumerate().map(|(input, &n)| (&self.0[n].name, at(input))).collect()
    }

    fn assert_shown(&self, cluster: &Cluster, jobs: &[JobId], algorithm: Algorithm) {
        let version = cluster.release().version;
        // Slurm works out the users when they are asked for, and takes their siblings as it last saw them.
        cluster.sshare_rows().unwrap();
        let rows = cluster.sshare_rows().unwrap();
        let priorities = cluster.sprio_rows().unwrap();
        let expected = self.standings(cluster, algorithm);
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        let mut wrong = Vec::new();
        for (name, shown) in &expected {
            let of = |row: &&Row| (row.text("Account"), row.text("User")) == (&*name.0, &*name.1);
            let row =
                rows.iter().find(of).unwrap_or_else(|| panic!("sshare does not show {name:?}: {rows:?}"));
            let mut columns = vec![
                ("RawShares", raw_shares(shown)),
                ("NormShares", printed(Some(shown.norm_shares))),
                ("NormUsage", printed(shown.norm_usage)),
                ("EffectvUsage", printed(Some(shown.effectv_usage))),
                ("FairShare", printed(shown.fair_share)),
            ];
            if algorithm == Algorithm::FairTree {
                columns.push(("LevelFS", printed(shown.level_fs)));
            }
            for (column, expected) in columns {
                if row.text(column) != expected {
                    wrong.push(format!("{name:?}: {column} is {}, computed {expected}", row.text(column)));
                }
            }
        }
        for (user, job) in self.users().zip(jobs) {
            let row = priorities.iter().find(|row| row.text("JOBID") == job.to_string());
            let factor = expected[&user.name].factor.unwrap();
            let found = row.expect("the job of every user in sprio").number("FAIRSHARE").unwrap() / WEIGHT;
            if (found - factor).abs() > 1.5 / WEIGHT {
                wrong.push(format!("job of {:?}: the factor is {found}, computed {factor}", user.name));
            }
        }
        if (version.year, version.month) >= (24, 11) {
            wrong.extend(differs_in_json(cluster, &expected, algorithm));
        }
        let look = || rows.iter().map(|row| format!("{:?}", row.cells())).collect::<Vec<_>>().join("\n");
        assert!(wrong.is_empty(), "Slurm {version}, {algorithm:?}: {wrong:#?}\n{}", look());
    }
}

/// The same numbers with all their digits, which `sshare --json` has.
fn differs_in_json(
    cluster: &Cluster,
    expected: &BTreeMap<&Name, Shown>,
    algorithm: Algorithm,
) -> Vec<String> {
    let all: Value = serde_json::from_str(&cluster.sshare(&["-a", "--json"]).unwrap()).unwrap();
    let rows = all["shares"]["shares"].as_array().expect("associations");
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    let mut wrong = Vec::new();
    for row in rows {
        let text = |column: &str| row[column].as_str().expect("a name").to_owned();
        let is_user = row["type"].as_array().expect("what it is").contains(&"USER".into());
        let name = if is_user { (text("parent"), text("name")) } else { (text("name"), String::new()) };
        let shown = expected[&name];
        let fair_share = &row["fairshare"];
        let mut columns = vec![
            (&row["shares_normalized"], Some(shown.norm_shares), LAST_BITS),
            (&row["usage_normalized"], shown.norm_usage, LAST_BITS),
            (&row["effective_usage"], Some(shown.effectv_usage), LAST_BITS),
        ];
        // Classic leaves `LevelFS` as it was, and up to 25.05 `FairShare` to sshare.
        if algorithm == Algorithm::FairTree && shown.level_fs.is_some() {
            columns.push((&fair_share["level"], shown.level_fs, LAST_BITS));
        }
        let old_classic = matches!(algorithm, Algorithm::Classic(classic) if !classic.shows_factor);
        if is_user && !old_classic {
            // The factor is 2^-x: what is off by one part of a million in x is off by about x parts of a million in the factor.
            let exponent = shown.factor.map_or(0.0, |factor| -factor.max(f64::MIN_POSITIVE).log2());
            columns.push((&fair_share["factor"], shown.factor, LAST_BITS * (1.0 + exponent)));
        }
        for (found, computed, tolerance) in columns {
            if !is_number(found, computed, tolerance) {
                wrong.push(format!("{name:?}: {found} in JSON, computed {computed:?}"));
            }
        }
    }
    wrong
}

/// Whether it is the same but for the last bits.
fn is_number(found: &Value, computed: Option<f64>, tolerance: f64) -> bool {
    let number = found["number"].as_f64().filter(|_| found["set"] == true);
    match (found["infinite"] == true, computed) {
        (true, computed) => computed == Some(f64::INFINITY),
        (false, Some(computed)) => {
            number.is_some_and(|number| (number - computed).abs() <= tolerance * computed)
        }
        (false, None) => number.is_none(),
    }
}

/// Mostly few, now and then none, `parent`, or many.
fn shares(random: &mut fastrand::Rng) -> Option<u32> {
    match random.u8(..12) {
        0 => Some(0),
        1 | 2 => None,
        3 => Some(random.u32(1..0x7fff_ffff)),
        _ => Some(random.u32(1..5)),
    }
}

fn raw_shares(shown: &Shown) -> String {
    match shown.raw_shares {
        None => String::new(),
        Some(USE_PARENT) => "parent".to_owned(),
        Some(raw) => raw.to_string(),
    }
}

fn printed(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| format!("{number:.6}"))
}

fn three_algorithms(release: &Release) {
    let mut random = random();
    let trees = (0..TREES).map(|_| Tree::random(&mut random));
    for tree in [Tree::tied()].into_iter().chain(trees) {
        let mut cluster = tree.start(release);
        let job = |user: &Association| Job::new(&*user.name.1).account(&user.name.0);
        let jobs: Vec<JobId> = tree.users().map(|user| cluster.submit(&job(user)).unwrap()).collect();
        for (flags, dampening) in
            [("FAIR_TREE", 1), ("NO_FAIR_TREE", 1), ("NO_FAIR_TREE", 5), ("DEPTH_OBLIVIOUS", 1)]
        {
            cluster.set("PriorityFlags", flags).unwrap();
            cluster.set("FairShareDampeningFactor", &dampening.to_string()).unwrap();
            cluster.restart_controller().unwrap();
            // In the first cycle the jobs of classic still have what the start gave them.
            cluster.wait_cycle().unwrap();
            cluster.wait_cycle().unwrap();
            let version = release.version;
            let release = (u16::from(version.year), u16::from(version.month));
            tree.assert_shown(&cluster, &jobs, Algorithm::of(flags, dampening, release));
        }
    }
}

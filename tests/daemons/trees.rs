//! Random trees in a real slurmctld against the independent model, and jobs that come between two cycles.

use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId, Row, Shares};

use crate::example;
use crate::support::{as_printed, cluster, number, random, sprio_of};
use multifactor2_fixtures::model::{outcomes, Association, Outcome};

/// So large that `sprio` shows nine decimals of the factor.
const WEIGHT: f64 = 1e9;

/// A random tree with the names that its associations have in Slurm.
#[derive(Debug)]
struct Tree {
    associations: Vec<Association>,
    /// Account and user; no user for an account.
    names: Vec<(String, String)>,
}

impl Tree {
    /// The root with its user `root`, which has no shares.
    fn new() -> Self {
        let mut tree = Self { associations: Vec::new(), names: Vec::new() };
        tree.add(None, Some(1), "root", "", 0.0);
        tree.add(Some(0), Some(0), "root", "root", 0.0);
        tree
    }

    fn add(&mut self, parent: Option<usize>, shares: Option<u32>, account: &str, user: &str, usage: f64) {
        let mut above = parent;
        while let Some(n) = above {
            self.associations[n].usage += usage;
            above = self.associations[n].parent;
        }
        let user_association = !user.is_empty();
        self.associations.push(Association { parent, shares, user: user_association, usage, waiting: false });
        self.names.push((account.to_owned(), user.to_owned()));
    }

    /// Accounts at any depth and users in them: shares from 1 to the largest, none, and `parent`; some users in several accounts.
    fn random(random: &mut fastrand::Rng, accounts: usize, users: usize) -> Self {
        let shares = |random: &mut fastrand::Rng| match random.u8(..10) {
            0 => Some(0),
            1 | 2 => None,
            3 => Some(random.u32(1..0x7fff_ffff)),
            _ => Some(random.u32(1..100)),
        };
        let idle = random.u8(..8) == 0;
        let mut tree = Self::new();
        let mut places = vec![0];
        for n in 0..accounts {
            let deepest = places[places.len() - 1];
            let parent = if random.bool() { deepest } else { places[random.usize(..places.len())] };
            places.push(tree.names.len());
            let shares = shares(random);
            tree.add(Some(parent), shares, &format!("a{n}"), "", 0.0);
        }
        for n in 0..users {
            let parent = places[random.usize(..places.len())];
            let user = format!("u{}", if random.u8(..4) == 0 { random.usize(..=n) } else { n });
            let account = tree.names[parent].0.clone();
            if tree.names.contains(&(account.clone(), user.clone())) {
                continue;
            }
            let usage = if idle || random.bool() { 0.0 } else { f64::from(random.u32(..1_000_000)) };
            let shares = shares(random);
            tree.add(Some(parent), shares, &account, &user, usage);
            let last = tree.associations.len() - 1;
            tree.associations[last].waiting = random.u8(..10) < 4;
        }
        tree
    }

    fn users(&self) -> impl Iterator<Item = usize> + '_ {
        (2..self.names.len()).filter(|&n| self.associations[n].user)
    }

    fn slurm_accounts(&self) -> Accounts {
        let mut accounts = Accounts::new();
        let root = self.slurm_account(0);
        accounts.accounts = root.accounts;
        accounts.users = root.users.into_iter().filter(|user| user.name != "root").collect();
        accounts
    }

    fn slurm_account(&self, at: usize) -> Account {
        let shares = |n: usize| self.associations[n].shares.map_or(Shares::Parent, Shares::Raw);
        let mut account = Account::new(&*self.names[at].0, shares(at));
        for n in (0..self.names.len()).filter(|&n| self.associations[n].parent == Some(at)) {
            account = if self.associations[n].user {
                account.user(&*self.names[n].1, shares(n))
            } else {
                account.account(self.slurm_account(n))
            };
        }
        account
    }

    fn start(&self, cycle_seconds: Option<u32>) -> (Cluster, Vec<(usize, JobId)>) {
        let usage: Vec<(&str, &str, f64)> = self
            .users()
            .map(|n| (&*self.names[n].0, &*self.names[n].1, self.associations[n].usage))
            .filter(|(.., usage)| *usage > 0.0)
            .collect();
        let cluster = cluster()
            .set("PriorityWeightFairshare", "1000000000")
            .cycle_seconds(cycle_seconds)
            .accounts(&self.slurm_accounts())
            .usage(&usage)
            .user("fresh")
            .start()
            .unwrap();
        let waiting = self.users().filter(|&n| self.associations[n].waiting);
        let jobs = waiting.map(|n| (n, cluster.submit(&self.job(n)).unwrap())).collect();
        (cluster, jobs)
    }

    fn job(&self, n: usize) -> Job {
        Job::new(&*self.names[n].1).account(&self.names[n].0)
    }

    fn assert_rows(&self, rows: &[Row]) {
        for (n, outcome) in outcomes(&self.associations).iter().enumerate() {
            let (account, user) = &self.names[n];
            let row = rows.iter().find(|row| row.text("Account") == account && row.text("User") == user);
            let row = row.unwrap_or_else(|| panic!("sshare does not show {account}/{user}"));
            let shares = self.associations[n].shares.map_or("parent".to_owned(), |raw| raw.to_string());
            if n > 0 {
                assert_eq!(row.text("RawShares"), shares, "{account}/{user}");
            }
            let mut columns = vec![("NormUsage", outcome.u), ("EffectvUsage", outcome.u_eff)];
            if self.associations[n].shares.is_some() {
                columns.push(("NormShares", outcome.s));
                if n > 0 {
                    columns.push(("LevelFS", outcome.f));
                }
            }
            if self.associations[n].user {
                columns.push(("FairShare", outcome.factor));
            }
            for (column, expected) in columns {
                let shown = number(row, column);
                assert!(
                    as_printed(shown, expected),
                    "{account}/{user} {column}: sshare shows {shown}, the model says {expected} ({outcome:?})"
                );
            }
        }
    }
}

fn assert_job(cluster: &Cluster, job: JobId, outcome: &Outcome) {
    let row = sprio_of(cluster, job);
    let (shown, expected) = (number(&row, "FAIRSHARE"), outcome.factor * WEIGHT);
    assert!((shown - expected).abs() <= 1.0, "job {job}: sprio shows {shown}, the model says {expected}");
}

#[test]
fn random_trees_are_shown_as_the_model_says() {
    let mut random = random();
    show_trees(&mut random, &[(3, 5), (12, 20), (25, 45)]);
}

#[test]
#[ignore = "minutes: make test-parity"]
fn many_random_trees_are_shown_as_the_model_says() {
    let mut random = random();
    let sizes: Vec<(usize, usize)> =
        (0..30).map(|_| (random.usize(0..30), random.usize(1..50))).chain([(100, 400)]).collect();
    show_trees(&mut random, &sizes);
}

/// Trees of so many accounts and users.
fn show_trees(random: &mut fastrand::Rng, sizes: &[(usize, usize)]) {
    for &(accounts, users) in sizes {
        let tree = Tree::random(random, accounts, users);
        let (cluster, jobs) = tree.start(Some(1));
        cluster.wait_cycle().unwrap();
        tree.assert_rows(&cluster.sshare_rows().unwrap());
        let outcomes = outcomes(&tree.associations);
        for (n, job) in jobs {
            assert_job(&cluster, job, &outcomes[n]);
        }
    }
}

/// The first cycle comes with the start, the next one after minutes: what jobs have in between they got at submission.
#[test]
fn a_job_between_cycles_has_its_factor_at_once() {
    let mut random = random();
    let mut tree = Tree::random(&mut random, 8, 16);
    for n in 2..tree.associations.len() {
        // Usage and a share for all, so that hardly any two factors are equal.
        tree.associations[n].shares = Some(1 + u32::try_from(n).unwrap() % 7);
    }
    let (mut cluster, jobs) = tree.start(Some(600));
    cluster.restart_controller().unwrap();
    let now = outcomes(&tree.associations);
    for (n, job) in jobs {
        assert_job(&cluster, job, &now[n]);
    }
    let idle: Vec<usize> = tree.users().filter(|&n| !tree.associations[n].waiting).collect();
    // Newcomers see each other, and are measured against the best of the last cycle.
    let waiting = tree.associations.iter().zip(&now).filter(|(node, _)| node.user && node.waiting);
    let best = waiting.map(|(_, outcome)| outcome.tickets).fold(0.0, f64::max);
    for n in idle {
        let job = cluster.submit(&tree.job(n)).unwrap();
        tree.associations[n].waiting = true;
        let outcome = outcomes(&tree.associations)[n];
        let factor = if outcome.tickets > 0.0 { (outcome.tickets / best).min(1.0) } else { 0.0 };
        assert_job(&cluster, job, &Outcome { factor, ..outcome });
    }

    // A user whom the last cycle cannot know.
    let (account, _) = tree.names[tree.users().next().unwrap()].clone();
    let add = ["-i", "add", "user", "fresh", &format!("account={account}"), "fairshare=5"];
    cluster.command("sacctmgr").args(add).text().unwrap();
    let parent = tree.names.iter().position(|name| *name == (account.clone(), String::new()));
    tree.add(parent, Some(5), &account, "fresh", 0.0);
    let n = tree.names.len() - 1;
    let job = cluster.submit(&tree.job(n)).unwrap();
    assert_job(&cluster, job, &outcomes(&tree.associations)[n]);
}

/// Nobody waited in the last cycle: there is no largest number of tickets to compare with.
#[test]
fn the_first_job_of_an_idle_cluster_has_the_full_factor() {
    let cluster = cluster()
        .accounts(&example::tree())
        .usage(&example::usage())
        .cycle_seconds(Some(600))
        .start()
        .unwrap();
    let job = cluster.submit(&Job::new("user2")).unwrap();
    assert_eq!(sprio_of(&cluster, job).text("FAIRSHARE"), "100000");
    // An account without shares has no tickets to give.
    let job = cluster.submit(&Job::new("others")).unwrap();
    assert_eq!(sprio_of(&cluster, job).text("FAIRSHARE"), "0");
}

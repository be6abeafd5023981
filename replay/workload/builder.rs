//! Builds a workload while sources are read: in any order, with names instead of numbers.

use std::collections::HashMap;

use super::names::LONGEST_NAME;
use super::{Association, Fact, Facts, Gres, Job, Machine, Missing, Names, Qos, Site, Workload, NO_LIMIT};
use crate::trace::config::Config;
use crate::trace::problems::{ProblemKind, Problems};

/// The most jobs that are taken: 2.4 GB.
pub const MOST_JOBS: usize = 30_000_000;

/// The most names of one kind, and the most pairs of user and account.
pub const MOST_NAMES: usize = 1_000_000;

/// The most partitions, QOS, and sets of partitions.
pub const MOST_SETS: usize = 60_000;

/// A source has more of something than is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Of what.
    pub what: &'static str,
    /// How many are taken.
    pub most: usize,
}

/// A job with names. Numbers mean what they do in [`Job`].
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // as in Job
pub struct Draft<'a> {
    pub id: u64,
    pub line: u32,
    pub submit: i64,
    pub eligible: i64,
    pub start: i64,
    pub memory: u64,
    pub run: u64,
    pub limit: u64,
    pub cpus: u32,
    pub nodes: u32,
    pub gpus: u32,
    /// A list of TRES, of which `gres/` counts.
    pub gres: &'a str,
    pub spreads: bool,
    pub priority: u32,
    pub array: u32,
    pub user: &'a str,
    pub account: &'a str,
    pub partitions: &'a str,
    pub qos: &'a str,
    pub reason: &'a str,
    pub flags: &'a str,
    pub facts: Facts,
}

/// An association that a source lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAssociation {
    /// The account above; empty for what is directly below the root.
    pub parent: String,
    /// The account.
    pub account: String,
    /// The user; empty for the account itself.
    pub user: String,
    /// Raw shares.
    pub shares: u32,
}

/// A workload in the making, job by job.
#[derive(Debug)]
pub struct Builder {
    jobs: Vec<Job>,
    users: Names,
    accounts: Names,
    account_word: &'static str,
    partitions: Names,
    partition_sets: Vec<Box<[u16]>>,
    sets_by_text: HashMap<Box<str>, u16>,
    gres: Gres,
    qos_names: Names,
    reasons: Names,
    flags: Names,
    /// Accounts and users of jobs; a job's association is a place here until the end.
    pairs: Vec<(u32, u32)>,
    pair_numbers: HashMap<(u32, u32), u32>,
    listed: Vec<ListedAssociation>,
    qos: Vec<Qos>,
    machine: Option<Machine>,
    config: Option<Config>,
    missing: Vec<Missing>,
    is_sorted: bool,
    /// The file that jobs are from.
    pub source: String,
    /// Facts that it has columns for.
    pub told: Facts,
    /// What is wrong so far.
    pub problems: Problems,
}

impl Builder {
    /// Nothing is known. `account_word` is what the source has instead of accounts.
    pub fn new(account_word: &'static str) -> Self {
        let mut qos_names = Names::default();
        qos_names.intern("");
        let (mut reasons, mut flags) = (Names::default(), Names::default());
        reasons.intern("");
        flags.intern("");
        Self {
            jobs: Vec::new(),
            users: Names::default(),
            accounts: Names::default(),
            account_word,
            partitions: Names::default(),
            partition_sets: Vec::new(),
            sets_by_text: HashMap::new(),
            gres: Gres::default(),
            qos_names,
            reasons,
            flags,
            pairs: Vec::new(),
            pair_numbers: HashMap::new(),
            listed: Vec::new(),
            qos: Vec::new(),
            machine: None,
            config: None,
            missing: Vec::new(),
            is_sorted: true,
            source: String::new(),
            told: Facts::default(),
            problems: Problems::default(),
        }
    }

    /// How many jobs there are so far.
    pub fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Adds a job.
    ///
    /// # Errors
    /// There are too many jobs, or too many different names.
    pub fn add(&mut self, draft: &Draft<'_>) -> Result<(), TooMany> {
        bound("jobs", self.jobs.len(), MOST_JOBS)?;
        bound("users", self.users.len(), MOST_NAMES)?;
        bound("accounts", self.accounts.len(), MOST_NAMES)?;
        bound("pairs of user and account", self.pairs.len(), MOST_NAMES)?;
        let pair = (self.accounts.intern(shortened(draft.account)), self.users.intern(shortened(draft.user)));
        let next = u32::try_from(self.pairs.len()).unwrap_or(u32::MAX);
        let association = *self.pair_numbers.entry(pair).or_insert(next);
        if association == next {
            self.pairs.push(pair);
        }
        bound("QOS", self.qos_names.len(), MOST_SETS)?;
        let qos = self.qos_names.intern(shortened(draft.qos));
        let partitions = self.partition_set(draft.partitions)?;
        // Of more kinds than there can be in Slurm the rest has none.
        let few = |names: &mut Names, name: &str| {
            let number =
                if names.len() < MOST_SETS { Some(names.intern(shortened(name))) } else { names.find(name) };
            number.and_then(|number| u16::try_from(number).ok()).unwrap_or_default()
        };
        let (reason, flags) = (few(&mut self.reasons, draft.reason), few(&mut self.flags, draft.flags));
        let limit = u32::try_from(draft.limit).unwrap_or(NO_LIMIT).max(1);
        let run = u32::try_from(draft.run).unwrap_or(NO_LIMIT);
        self.is_sorted &= self.jobs.last().is_none_or(|last| last.submit <= draft.submit);
        self.jobs.push(Job {
            id: draft.id,
            submit: draft.submit,
            eligible: draft.eligible.max(draft.submit),
            start: draft.start,
            memory: draft.memory,
            run: run.min(limit),
            limit,
            cpus: draft.cpus.max(1),
            nodes: draft.nodes,
            gpus: draft.gpus,
            gres: self.gres.intern(draft.gres),
            spreads: draft.spreads,
            priority: draft.priority,
            association,
            array: draft.array,
            partitions,
            qos: u16::try_from(qos).unwrap_or_default(),
            line: draft.line,
            reason,
            flags,
            facts: draft.facts.with(Fact::Before, draft.eligible > draft.submit),
        });
        Ok(())
    }

    fn partition_set(&mut self, text: &str) -> Result<u16, TooMany> {
        if let Some(set) = self.sets_by_text.get(text) {
            return Ok(*set);
        }
        bound("sets of partitions", self.partition_sets.len(), MOST_SETS)?;
        let mut set = Vec::new();
        for name in text.split(',').map(str::trim) {
            bound("partitions", self.partitions.len(), MOST_SETS)?;
            let number = u16::try_from(self.partitions.intern(shortened(name))).unwrap_or_default();
            if !set.contains(&number) {
                set.push(number);
            }
        }
        let number = u16::try_from(self.partition_sets.len()).unwrap_or_default();
        self.partition_sets.push(set.into());
        self.sets_by_text.insert(text.into(), number);
        Ok(number)
    }

    /// Nobody has told of the machine.
    pub fn lacks_machine(&self) -> bool {
        self.machine.is_none()
    }

    /// Cuts sizes of jobs at the processors that there are.
    pub fn cap_cpus(&mut self, most: u32) {
        for job in &mut self.jobs {
            job.cpus = job.cpus.min(most);
        }
    }

    /// Lets jobs, named by their places, run until a time, or as long as they may.
    pub fn run_until(&mut self, places: &[usize], end: i64) {
        for place in places {
            if let Some(job) = self.jobs.get_mut(*place).filter(|job| job.start != super::NO_TIME) {
                let run = u32::try_from(end.saturating_sub(job.start).max(0)).unwrap_or(u32::MAX);
                job.run = run.min(job.limit);
            }
        }
    }

    /// A job, named by its place, ran so long after all.
    pub fn ran(&mut self, place: usize, run: u64) {
        if let Some(job) = self.jobs.get_mut(place) {
            job.run = u32::try_from(run).unwrap_or(NO_LIMIT).min(job.limit);
        }
    }

    /// Takes associations that a source lists, parents in any place.
    pub fn list(&mut self, associations: Vec<ListedAssociation>) {
        self.listed.extend(associations);
    }

    /// Takes the QOS that a source lists.
    pub fn set_qos(&mut self, qos: Vec<Qos>) {
        self.qos = qos;
    }

    /// Takes the machine.
    pub fn set_machine(&mut self, machine: Machine) {
        self.machine = Some(machine);
    }

    /// Takes parameters of slurm.conf.
    pub fn set_config(&mut self, config: Config) {
        self.config = Some(config);
    }

    /// Notes what a source does not tell.
    pub fn miss(&mut self, what: impl Into<String>, so: impl Into<String>) {
        self.missing.push(Missing { what: what.into(), so: so.into() });
    }

    /// The workload.
    pub fn finish(mut self) -> Workload {
        if !self.is_sorted {
            let earlier = self.jobs.windows(2).filter(|pair| pair[1].submit < pair[0].submit).count();
            self.problems.count(ProblemKind::Unsorted, earlier as u64);
        }
        // Stable: jobs of one second stay in the order of the source, which is that of their ids in most.
        self.jobs.sort_by_key(|job| job.submit);
        self.jobs.shrink_to_fit();
        let qos = self.qos_names.iter().map(Qos::named).collect();
        let mut workload = Workload {
            jobs: self.jobs,
            users: self.users,
            accounts: self.accounts,
            account_word: self.account_word,
            associations: Vec::new(),
            qos,
            limits: Vec::new(),
            partitions: self.partitions,
            partition_sets: self.partition_sets,
            gres: self.gres,
            reasons: self.reasons,
            flags: self.flags,
            machine: None,
            config: Config::default(),
            source: self.source,
            told: self.told,
            outages: Vec::new(),
            away: Vec::new(),
            reservations: Vec::new(),
            has_events: false,
            changed_limits: Vec::new(),
            missing: self.missing,
            problems: self.problems,
        };
        workload.grow(self.listed, &self.pairs);
        workload.set_site(Site {
            associations: Vec::new(),
            qos: self.qos,
            config: self.config,
            machine: self.machine,
        });
        workload
    }
}

impl Workload {
    /// Takes other shares than those that it has: listed associations replace all that are there.
    pub fn set_associations(&mut self, listed: Vec<ListedAssociation>) {
        let pairs: Vec<(u32, u32)> =
            self.associations.iter().map(|of| (of.account, of.user.unwrap_or(u32::MAX))).collect();
        self.missing.retain(|missing| missing.what != SHARES);
        self.grow(listed, &pairs);
    }

    /// Makes the tree of listed associations, and of those that jobs have besides; jobs name theirs by a place in `pairs` before.
    fn grow(&mut self, listed: Vec<ListedAssociation>, pairs: &[(u32, u32)]) {
        let nothing_listed = listed.is_empty();
        let root = self.accounts.intern("root");
        let mut tree = Tree {
            rows: vec![Association { parent: None, account: root, user: None, shares: 1, is_listed: true }],
            accounts: HashMap::from([(root, 0)]),
            users: HashMap::new(),
        };
        let (of_accounts, of_users): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|association| association.user.is_empty());
        let by_name: HashMap<&str, &ListedAssociation> =
            of_accounts.iter().map(|association| (association.account.as_str(), association)).collect();
        for association in &of_accounts {
            self.place(&mut tree, &by_name, association);
        }
        for association in of_users {
            let account = self.accounts.intern(&association.account);
            let user = self.users.intern(&association.user);
            let parent = tree.account(account);
            tree.user(parent, account, user, association.shares, true);
        }
        let mut added = 0_u64;
        let places: Vec<u32> = pairs
            .iter()
            .map(|(account, user)| {
                let parent = tree.account(*account);
                if *user == u32::MAX {
                    return parent;
                }
                let before = tree.rows.len();
                let place = tree.user(parent, *account, *user, 1, false);
                added += u64::from(tree.rows.len() > before);
                place
            })
            .collect();
        for job in &mut self.jobs {
            job.association = places[job.association as usize];
        }
        self.associations = tree.rows;
        if nothing_listed {
            self.missing.push(super::Missing {
                what: SHARES.to_owned(),
                so: "every account has one share, and every user one of its account: distances from the real shares are not known".to_owned(),
            });
        } else if added > 0 {
            self.problems.count(ProblemKind::UnlistedAssociation, added);
        }
    }

    /// Puts an account and those above it into the tree, from the root down. Accounts that are above themselves come below the root.
    fn place(
        &mut self,
        tree: &mut Tree,
        by_name: &HashMap<&str, &ListedAssociation>,
        association: &ListedAssociation,
    ) {
        let mut path = vec![association];
        while let Some(above) = path.last().and_then(|last| by_name.get(last.parent.as_str())) {
            if path.len() > by_name.len() || path.iter().any(|below| below.account == above.account) {
                break;
            }
            let number = self.accounts.find(&above.account);
            if number.is_some_and(|number| tree.accounts.contains_key(&number)) {
                break;
            }
            path.push(above);
        }
        for association in path.into_iter().rev() {
            let account = self.accounts.intern(&association.account);
            let parent = self.accounts.find(&association.parent);
            let parent = parent.and_then(|parent| tree.accounts.get(&parent)).copied().unwrap_or_default();
            tree.add_account(account, parent, association.shares, true);
        }
    }
}

/// What is missing where there are no shares.
const SHARES: &str = "shares";

struct Tree {
    rows: Vec<Association>,
    accounts: HashMap<u32, u32>,
    users: HashMap<(u32, u32), u32>,
}

impl Tree {
    fn add_account(&mut self, account: u32, parent: u32, shares: u32, is_listed: bool) -> u32 {
        let next = u32::try_from(self.rows.len()).unwrap_or_default();
        let place = *self.accounts.entry(account).or_insert(next);
        if place == next {
            self.rows.push(Association { parent: Some(parent), account, user: None, shares, is_listed });
        }
        place
    }

    fn account(&mut self, account: u32) -> u32 {
        self.add_account(account, super::ROOT, 1, false)
    }

    fn user(&mut self, parent: u32, account: u32, user: u32, shares: u32, is_listed: bool) -> u32 {
        let next = u32::try_from(self.rows.len()).unwrap_or_default();
        let place = *self.users.entry((account, user)).or_insert(next);
        if place == next {
            self.rows.push(Association {
                parent: Some(parent),
                account,
                user: Some(user),
                shares,
                is_listed,
            });
        }
        place
    }
}

fn bound(what: &'static str, count: usize, most: usize) -> Result<(), TooMany> {
    if count < most {
        Ok(())
    } else {
        Err(TooMany { what, most })
    }
}

/// A name, cut where it is longer than any name is.
fn shortened(name: &str) -> &str {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let end = (0..=LONGEST_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    &name[..end]
}

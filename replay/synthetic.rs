//! Makes workloads from a seed: the same bytes every time.
//!
//! Users belong to large and small accounts and submit in bursts, by day more than by night. Sizes are powers of two, run times are spread
//! over orders of magnitude, and time limits are guesses that are too long, mostly round numbers. Jobs request `load` of the machine over
//! the whole time.
//!
//! [`Full`] makes a machine on which every user always waits, to show what policies do to shares and to users who game them.

mod full;

use fastrand::Rng;

use crate::workload::{Builder, Draft, ListedAssociation, Machine, Partition, Pool, Workload};

pub use full::{Full, Member, Work};

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The seed.
    pub seed: u64,
    /// Jobs.
    pub jobs: usize,
    /// Accounts, at least 1.
    pub accounts: u32,
    /// Users, at least one for each account.
    pub users: u32,
    /// CPUs, at least 1.
    pub cpus: u32,
    /// What jobs ask for, in parts of what the machine could give while they come.
    pub load: f64,
    /// Jobs of one burst, on average; at least 1.
    pub burst: u32,
    /// The longest run time in seconds.
    pub longest: u32,
    /// There is a second partition with a fifth of the machine, and a third over all of it with a higher tier for few jobs.
    pub partitions: bool,
}

impl Recipe {
    /// A large site: 100,000 cores, 200 accounts, 2,000 users; 5,000,000 jobs are about a year.
    pub fn large(seed: u64, jobs: usize) -> Self {
        Self {
            seed,
            jobs,
            accounts: 200,
            users: 2000,
            cpus: 100_000,
            load: 0.95,
            burst: 40,
            longest: 2 * 86_400,
            partitions: true,
        }
    }

    /// A small site, for tests.
    pub fn small(seed: u64, jobs: usize) -> Self {
        Self {
            seed,
            jobs,
            accounts: 4,
            users: 12,
            cpus: 64,
            load: 1.1,
            burst: 5,
            longest: 4 * 3600,
            partitions: false,
        }
    }

    /// Makes it.
    ///
    /// # Panics
    /// It asks for more jobs or users than a workload takes.
    pub fn make(&self) -> Workload {
        let mut random = Rng::with_seed(self.seed);
        let mut builder = Builder::new("account");
        builder.list(self.associations());
        builder.set_machine(self.machine());
        let mut sizes: Vec<Size> = Vec::with_capacity(self.jobs);
        while sizes.len() < self.jobs {
            self.burst(&mut random, &mut sizes);
        }
        let seconds: f64 = sizes.iter().map(|size| f64::from(size.cpus) * f64::from(size.run)).sum();
        let span = seconds / (f64::from(self.cpus) * self.load);
        let names = Names::new(self);
        let mut drafts = Vec::with_capacity(sizes.len());
        let mut begin = 0.0;
        for (at, size) in sizes.iter().enumerate() {
            if size.is_first {
                begin = Self::arrival(&mut random, span);
            }
            begin += if size.is_first { 0.0 } else { random.f64() * 20.0 };
            drafts.push((whole(begin), at));
        }
        drafts.sort_unstable();
        for (id, (submit, at)) in (1..).zip(drafts) {
            let size = &sizes[at];
            let submit = EPOCH + i64::from(submit);
            let draft = Draft {
                id,
                submit,
                eligible: submit,
                start: crate::workload::NO_TIME,
                memory: u64::from(size.cpus) * 2048,
                run: u64::from(size.run),
                limit: u64::from(size.limit),
                cpus: size.cpus,
                nodes: size.cpus.div_ceil(64),
                user: &names.users[size.user as usize],
                account: &names.accounts[self.account(size.user) as usize],
                partitions: size.partition,
                qos: "normal",
                ..Draft::default()
            };
            builder.add(&draft).unwrap_or_else(|many| panic!("more than {} {}", many.most, many.what));
        }
        builder.finish()
    }

    fn account(&self, user: u32) -> u32 {
        user % self.accounts
    }

    fn associations(&self) -> Vec<ListedAssociation> {
        let names = Names::new(self);
        let accounts = (0..).zip(&names.accounts).map(|(at, account): (u32, _)| ListedAssociation {
            parent: "root".to_owned(),
            account: account.clone(),
            user: String::new(),
            // Few large, many small.
            shares: 1 + 1000 / (at + 1),
        });
        let users = (0..).zip(&names.users).map(|(at, user): (u32, _)| ListedAssociation {
            parent: String::new(),
            account: names.accounts[self.account(at) as usize].clone(),
            user: user.clone(),
            shares: 1,
        });
        accounts.chain(users).collect()
    }

    fn machine(&self) -> Machine {
        if !self.partitions {
            return Machine::of_procs(self.cpus);
        }
        let second = self.cpus / 5;
        let (first, nodes) = (self.cpus - second, |cpus: u32| cpus / 64);
        let pools =
            vec![Pool { cpus: first, nodes: nodes(first) }, Pool { cpus: second, nodes: nodes(second) }];
        let partitions = vec![
            Partition::plain("main", vec![0]),
            Partition::plain("large", vec![1]),
            Partition { tier: 2, max_time: 3600, ..Partition::plain("debug", vec![0]) },
        ];
        Machine { pools, partitions, ..Machine::default() }
    }

    /// Some jobs of one user that are alike.
    fn burst(&self, random: &mut Rng, sizes: &mut Vec<Size>) {
        // Few users have most of the jobs.
        let user = whole(f64::from(self.users) * random.f64().powi(2)).min(self.users - 1);
        let count = 1 + whole(-random.f64().max(1e-9).ln() * f64::from(self.burst - 1).max(0.0));
        let most = if self.partitions { self.cpus / 10 } else { self.cpus };
        let cpus = 1_u32 << random.u32(0..=most.max(1).ilog2().min(8));
        // Small jobs are more frequent.
        let cpus = if random.f64() < 0.4 { cpus.min(8) } else { cpus };
        let scale = 30.0 * (f64::from(self.longest) / 30.0).powf(random.f64());
        let over = [1.05, 1.5, 2.0, 5.0, 20.0][random.usize(..5)];
        let partition = match (self.partitions, random.u32(..100)) {
            (false, _) => "all",
            (true, 0..=1) => "debug",
            (true, 2..=20) => "large",
            (true, _) => "main",
        };
        for at in 0..count.min(20_000) {
            if sizes.len() >= self.jobs {
                return;
            }
            let run = whole(scale * (0.5 + random.f64())).clamp(1, self.longest);
            let run = if partition == "debug" { run.min(3600) } else { run };
            let limit = rounded(whole(scale * 1.5 * over)).max(run).min(self.longest.max(run));
            sizes.push(Size { user, cpus, run, limit, is_first: at == 0, partition });
        }
    }

    /// By day more than by night, and less at weekends.
    fn arrival(random: &mut Rng, span: f64) -> f64 {
        loop {
            let at = random.f64() * span;
            let (hour, day) = (at / 3600.0 % 24.0, at / 86_400.0 % 7.0);
            let by_day = if (8.0..18.0).contains(&hour) { 1.0 } else { 0.4 };
            let by_week = if day >= 5.0 { 0.5 } else { 1.0 };
            if span < 86_400.0 || random.f64() < by_day * by_week {
                return at;
            }
        }
    }
}

/// 2024-01-01, a Monday.
const EPOCH: i64 = 1_704_067_200;

struct Size {
    user: u32,
    cpus: u32,
    run: u32,
    limit: u32,
    is_first: bool,
    partition: &'static str,
}

struct Names {
    users: Vec<String>,
    accounts: Vec<String>,
}

impl Names {
    fn new(recipe: &Recipe) -> Self {
        Self {
            users: (0..recipe.users).map(|user| format!("user{user}")).collect(),
            accounts: (0..recipe.accounts).map(|account| format!("account{account}")).collect(),
        }
    }
}

/// As people round a time limit: to minutes, quarters of an hour, hours.
fn rounded(seconds: u32) -> u32 {
    let unit = match seconds {
        0..=600 => 60,
        601..=7200 => 900,
        _ => 3600,
    };
    seconds.div_ceil(unit).max(1) * unit
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturation is wanted
fn whole(value: f64) -> u32 {
    value as u32
}

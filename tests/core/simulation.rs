//! A machine that is always full: everybody always has jobs, one-hour jobs, a half-life of seven days. Every five minutes the
//! slots that come free go to the user who is first at that moment, and what each has had in the end is compared with the shares.
//!
//! `make figures` draws what the tests check: `core/examples/figures` has this file, too.

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};

const CYCLE: f64 = 300.0;
/// Cycles that a job takes, and in which all slots come free once.
const JOB: usize = 12;
const DAY: usize = 288;
/// Ten weeks.
pub const DAYS: usize = 70;

/// A tree of accounts and users: name of the parent, name, shares, whether it is a user. The root is called "".
pub type Tree = [(String, String, u32, bool)];

/// Accounts with shares, and so many users with one share each: those of account 0 are `user0.0`, `user0.1`, …
pub fn accounts(accounts: &[(u32, u32)]) -> Vec<(String, String, u32, bool)> {
    let mut rows = Vec::new();
    for (at, (shares, users)) in accounts.iter().enumerate() {
        rows.push((String::new(), format!("account{at}"), *shares, false));
        rows.extend((0..*users).map(|user| (format!("account{at}"), format!("user{at}.{user}"), 1, true)));
    }
    rows
}

/// The documented example.
pub const EXAMPLE: &[(&str, &str, u32, bool)] = &[
    ("", "A", 40, false),
    ("A", "B", 30, false),
    ("B", "user1", 1, true),
    ("A", "C", 10, false),
    ("C", "user2", 1, true),
    ("C", "user3", 1, true),
    ("", "D", 60, false),
    ("D", "E", 25, false),
    ("E", "user4", 1, true),
    ("D", "F", 35, false),
    ("F", "user5", 1, true),
];

/// A tree that is written out.
pub fn owned(rows: &[(&str, &str, u32, bool)]) -> Vec<(String, String, u32, bool)> {
    rows.iter().map(|row| (row.0.to_owned(), row.1.to_owned(), row.2, row.3)).collect()
}

/// A tree to be simulated.
pub struct Scene {
    /// Its name in the documentation.
    pub name: &'static str,
    pub tree: Vec<(String, String, u32, bool)>,
    /// Who is looked at: what they are called, and how the names of the users begin.
    pub groups: &'static [(&'static str, &'static str)],
}

/// The trees of docs/weights.md.
pub fn scenes() -> [Scene; 4] {
    [
        Scene {
            name: "60 : 40",
            tree: accounts(&[(60, 1), (40, 1)]),
            groups: &[("60 shares", "user0."), ("40 shares", "user1.")],
        },
        Scene {
            name: "90 : 10",
            tree: accounts(&[(90, 1), (10, 1)]),
            groups: &[("90 shares", "user0."), ("10 shares", "user1.")],
        },
        Scene {
            name: "20 users against 1",
            tree: accounts(&[(50, 20), (50, 1)]),
            groups: &[("20 users", "user0."), ("1 user", "user1.")],
        },
        Scene {
            name: "the example",
            tree: owned(EXAMPLE),
            groups: &[
                ("user1", "user1"),
                ("user2", "user2"),
                ("user3", "user3"),
                ("user4", "user4"),
                ("user5", "user5"),
            ],
        },
    ]
}

/// Who is first.
pub enum Order {
    /// The plugin's factor, with these settings.
    Ours(Box<Settings>),
    /// Slurm's default: at every level the one whose usage is furthest below its share of the level.
    FairTree,
    /// The formula before Fair Tree: 2 to the power of minus effective usage by share.
    Classic,
}

impl Order {
    /// The plugin with settings in their syntax.
    pub fn ours(settings: &str) -> Self {
        Self::Ours(Box::new(Settings::parse(settings, "test").unwrap().settings))
    }
}

/// The orders of docs/weights.md, with their names there.
pub fn orders() -> [(&'static str, Order); 5] {
    [
        ("tickets", Order::ours("")),
        ("standing", Order::ours("Distribution=standing")),
        ("strict", Order::ours("Distribution=strict")),
        ("Fair Tree", Order::FairTree),
        ("classic", Order::Classic),
    ]
}

/// A tree with what the rules look at.
pub struct Machine {
    pub tree: ShareTree,
    /// By place in the list.
    parents: Vec<Option<usize>>,
    shares: Vec<f64>,
    pub users: Vec<usize>,
    usage: Vec<f64>,
}

impl Machine {
    pub fn new(rows: &Tree) -> Self {
        let at = |name: &str| rows.iter().position(|row| row.1 == name).map(|at| at + 1);
        let parents: Vec<Option<usize>> =
            std::iter::once(None).chain(rows.iter().map(|row| Some(at(&row.0).unwrap_or(0)))).collect();
        let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
        specs.extend(rows.iter().zip(&parents[1..]).map(|(row, parent)| NodeSpec {
            parent: parent.and_then(|parent| u32::try_from(parent).ok()),
            shares: row.2,
            user: row.3,
        }));
        Self {
            tree: ShareTree::build(&specs),
            shares: specs.iter().map(|spec| f64::from(spec.shares)).collect(),
            users: (0..specs.len()).filter(|at| specs[*at].user).collect(),
            usage: vec![0.0; specs.len()],
            parents,
        }
    }

    /// The association of a place in the list.
    pub fn node(&self, at: usize) -> Node {
        self.tree.position(at).unwrap()
    }

    /// Usage loses weight with time.
    pub fn decay(&mut self, factor: f64) {
        for usage in &mut self.usage {
            *usage *= factor;
        }
    }

    /// A user has used something.
    pub fn charge(&mut self, user: usize, amount: f64) {
        let path: Vec<usize> = self.ancestors(user).collect();
        for at in path {
            self.usage[at] += amount;
        }
    }

    fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(at), |at| self.parents[*at])
    }

    /// Writes down the parts of all usage.
    fn note(&self, usage: &mut [Vec<f64>]) {
        for user in &self.users {
            usage[*user].push(self.usage[*user] / self.usage[0].max(1e-9));
        }
    }

    fn siblings(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        (1..self.parents.len()).filter(move |other| self.parents[*other] == self.parents[at])
    }

    /// A part of the sum over the siblings.
    fn part(&self, values: &[f64], at: usize) -> f64 {
        let sum: f64 = self.siblings(at).map(|at| values[at]).sum();
        if sum > 0.0 {
            values[at] / sum
        } else {
            0.0
        }
    }

    /// Normalised shares.
    pub fn share(&self, at: usize) -> f64 {
        self.ancestors(at).filter(|at| *at != 0).map(|at| self.part(&self.shares, at)).product()
    }

    /// The plugin's tickets, where every user has a job waiting.
    pub fn distribute(&self, fair_share: &mut FairShare) {
        let mut usage = vec![0.0; self.parents.len()];
        for (at, used) in self.usage.iter().enumerate() {
            usage[self.node(at).index()] = *used;
        }
        let waiting: Vec<u32> = self.tree.nodes().map(|node| u32::from(self.tree.is_user(node))).collect();
        fair_share.distribute(&self.tree, &usage, &waiting);
    }

    fn best_ours(&self, fair_share: &mut FairShare) -> usize {
        self.distribute(fair_share);
        self.first(|at| fair_share.tickets(self.node(at)))
    }

    fn first(&self, value: impl Fn(usize) -> f64) -> usize {
        *self.users.iter().max_by(|a, b| value(**a).total_cmp(&value(**b))).unwrap()
    }

    fn best_of_fair_tree(&self) -> usize {
        let mut at = 0;
        while !self.users.contains(&at) {
            let level_fs = |at: usize| self.part(&self.shares, at) / self.part(&self.usage, at).max(1e-12);
            let children = (1..self.parents.len()).filter(|child| self.parents[*child] == Some(at));
            at = children.max_by(|a, b| level_fs(*a).total_cmp(&level_fs(*b))).unwrap();
        }
        at
    }

    fn best_of_classic(&self) -> usize {
        let all = self.usage[0].max(1e-9);
        let effective = |user: usize| {
            let mut path: Vec<usize> = self.ancestors(user).filter(|at| *at != 0).collect();
            path.reverse();
            let actual = |at: &usize| self.usage[*at] / all;
            // At the top it is the usage itself.
            path.iter().skip(1).fold(path.first().map_or(0.0, actual), |above, at| {
                actual(at) + (above - actual(at)) * self.part(&self.shares, *at)
            })
        };
        self.first(|user| 2_f64.powf(-effective(user) / self.share(user).max(1e-9)))
    }
}

/// How it goes for a user.
pub struct Career {
    pub name: String,
    /// Its normalised shares.
    pub share: f64,
    /// Its part of all usage, as `sshare` would show it: at the beginning, and after every day.
    pub usage: Vec<f64>,
    /// The part of the machine that it has had over the last five weeks.
    pub had: f64,
}

/// Ten weeks under an order. `past` is what was before them: 0 for a new machine, 1 for one that was always full, of which all users
/// had the same.
pub fn run(rows: &Tree, order: &Order, past: f64) -> Vec<Career> {
    let mut machine = Machine::new(rows);
    let mut fair_share = FairShare::new();
    if let Order::Ours(settings) = order {
        fair_share.configure(settings);
    }
    let decay = decay_over(decay_factor(7 * 86_400), CYCLE);
    let mut running: Vec<usize> = (0..JOB).map(|at| machine.users[at % machine.users.len()]).collect();
    let full: f64 = running.iter().map(|_| CYCLE / (1.0 - decay)).sum();
    let users: f64 = machine.users.iter().map(|_| 1.0).sum();
    for user in machine.users.clone() {
        machine.charge(user, past * full / users);
    }
    let mut usage: Vec<Vec<f64>> = vec![Vec::new(); machine.parents.len()];
    let mut had = vec![0.0; machine.parents.len()];
    machine.note(&mut usage);
    for cycle in 0..DAYS * DAY {
        machine.decay(decay);
        for user in &running {
            machine.charge(*user, CYCLE);
        }
        running[cycle % JOB] = match order {
            Order::Ours(_) => machine.best_ours(&mut fair_share),
            Order::FairTree => machine.best_of_fair_tree(),
            Order::Classic => machine.best_of_classic(),
        };
        if (cycle + 1) % DAY == 0 {
            machine.note(&mut usage);
        }
        if cycle >= DAYS / 2 * DAY {
            for user in &running {
                had[*user] += 1.0;
            }
        }
    }
    let all: f64 = had.iter().sum();
    let career = |user: &usize| Career {
        name: rows[*user - 1].1.clone(),
        share: machine.share(*user),
        usage: std::mem::take(&mut usage[*user]),
        had: had[*user] / all,
    };
    machine.users.iter().map(career).collect()
}

/// The sum of what all users have had beside their shares, from 0 to 2.
pub fn error(users: &[Career]) -> f64 {
    users.iter().map(|user| (user.had - user.share).abs()).sum()
}

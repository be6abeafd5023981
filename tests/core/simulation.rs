//! A machine that is always full: everybody always has jobs, one-hour jobs, a half-life of seven days. Every five minutes the
//! slots that come free go to the user who is first at that moment, and what each has had in the end is compared with the shares.

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};

const CYCLE: f64 = 300.0;
/// Cycles that a job takes, and in which all slots come free once.
const JOB: usize = 12;
const DAY: usize = 288;
const DAYS: usize = 70;

/// A tree of accounts and users: name of the parent, name, shares, whether it is a user. The root is called "".
pub type Tree<'a> = [(&'a str, &'a str, u32, bool)];

/// Who is first.
pub enum Order {
    /// The plugin's factor, with these settings.
    Ours(Settings),
    /// Slurm's default: at every level the one whose usage is furthest below its share of the level.
    FairTree,
    /// The formula before Fair Tree: 2 to the power of minus effective usage by share.
    Classic,
}

impl Order {
    /// The plugin with settings in their syntax.
    pub fn ours(settings: &str) -> Self {
        Self::Ours(Settings::parse(settings, "test").unwrap().settings)
    }
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
    pub fn new(rows: &Tree<'_>) -> Self {
        let at = |name: &str| rows.iter().position(|row| row.1 == name).map(|at| at + 1);
        let parents: Vec<Option<usize>> =
            std::iter::once(None).chain(rows.iter().map(|row| Some(at(row.0).unwrap_or(0)))).collect();
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

/// The part of the machine that each user has had over the last weeks, and its share, by name.
pub fn settled(rows: &Tree<'_>, order: &Order) -> Vec<(String, f64, f64)> {
    let mut machine = Machine::new(rows);
    let mut fair_share = FairShare::new();
    if let Order::Ours(settings) = order {
        fair_share.configure(settings);
    }
    let decay = decay_over(decay_factor(7 * 86_400), CYCLE);
    let mut running: Vec<usize> = (0..JOB).map(|at| machine.users[at % machine.users.len()]).collect();
    let mut had = vec![0.0; machine.parents.len()];
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
        if cycle >= DAYS / 2 * DAY {
            for user in &running {
                had[*user] += 1.0;
            }
        }
    }
    let all: f64 = had.iter().sum();
    let of = |user: &usize| (rows[*user - 1].1.to_owned(), had[*user] / all, machine.share(*user));
    machine.users.iter().map(of).collect()
}

/// The sum of what all users have had beside their shares, from 0 to 2.
pub fn error(rows: &Tree<'_>, order: &Order) -> f64 {
    settled(rows, order).iter().map(|(_, had, share)| (had - share).abs()).sum()
}

//! Ticket pools: tickets for single jobs. One file a pool, behind the trait [`Pool`]; this one puts them together in the order of
//! `PolicyHierarchy`. The rules are those of Grid Engine's ticket policies, with Slurm's associations.
//!
//! Without a second pool and without dilution all jobs of a user are alike, and none of this runs: see
//! [`Pools::configured`].

mod dilution;
mod functional;
mod groups;
mod override_tickets;
mod ranking;
mod size;
mod tree_order;

use crate::policy::{scale, FairShare};
use crate::settings::value::Date;
use crate::settings::{Dilution, FairShareScale, Place, Settings};
use crate::tree::{Node, ShareTree};

pub use override_tickets::{comment_tickets, Change, OwnTickets};
pub use size::{Measure, SizeFacts};

/// What an association is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names<'n> {
    /// The user's name; empty for the association of an account.
    pub user: &'n str,
    /// The account's name.
    pub account: &'n str,
}

/// What a job is called, besides its association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobNames<'n> {
    /// Its first partition.
    pub partition: &'n str,
    /// Its QOS.
    pub qos: &'n str,
    /// Its wckey, without the star of a default one.
    pub wckey: &'n str,
    /// Its id.
    pub id: u32,
    /// The id of the array that it is of, and which task it is once it has left it.
    pub array: Option<(u32, Option<u32>)>,
    /// Tickets in its `AdminComment`.
    pub own: u32,
}

/// A name in a line of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'n> {
    /// Where the line is.
    pub place: &'n Place,
    /// The setting.
    pub setting: &'static str,
    /// What follows it: the kind of object.
    pub kind: String,
    /// The name.
    pub name: &'n str,
    /// Whether there is such an association; `None` for what is none.
    pub exists: Option<bool>,
}

/// Which override tickets a job has besides those of its association; [`Pools::extra`] gives it, for the cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extra(u32);

/// A waiting job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitingJob {
    /// Its association.
    pub node: Node,
    /// Its id.
    pub id: u32,
    /// Orders the jobs of one user; see [`order`].
    pub order: u64,
    /// What it requests, in [`DilutionUnit`](crate::settings::DilutionUnit).
    pub size: f64,
    /// See [`Extra`].
    pub extra: Extra,
}

/// A job whose tickets are asked for by itself, or some that run and are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Who {
    /// Their association.
    pub node: Node,
    /// See [`Extra`].
    pub extra: Extra,
    /// What they have, in [`DilutionUnit`](crate::settings::DilutionUnit).
    pub size: f64,
    /// How many they are.
    pub count: u32,
}

/// The place of a job among those of its user: by nice value, then by the time since when it gains age, which is last for one that
/// does not. `age` is in seconds.
pub fn order(nice: u32, age: Option<u32>) -> u64 {
    let waited = age.map_or(u32::MAX, |age| (u32::MAX - 1).saturating_sub(age));
    u64::from(nice) << 32 | u64::from(waited)
}

/// The tickets of a job by pool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobTickets {
    /// O: those that the administrator adds.
    pub overridden: f64,
    /// F: by fixed shares.
    pub functional: f64,
    /// S: by the share tree.
    pub share_tree: f64,
    /// Which override tickets are among them besides those of the association.
    pub extra: Extra,
}

impl JobTickets {
    fn set(&mut self, pool: Letter, tickets: f64) {
        match pool {
            Letter::O => self.overridden = tickets,
            Letter::F => self.functional = tickets,
            Letter::S => self.share_tree = tickets,
        }
    }

    /// All of them.
    pub fn total(self) -> f64 {
        self.overridden + self.functional + self.share_tree
    }
}

/// What pools go by besides the jobs.
#[derive(Clone, Copy, Debug)]
struct Ground<'g> {
    tree: &'g ShareTree,
    fair_share: &'g FairShare,
}

/// The jobs of a cycle.
#[derive(Clone, Copy, Debug)]
struct Queue<'q> {
    ground: Ground<'q>,
    waiting: &'q [WaitingJob],
    running: &'q [Who],
}

/// Hands out tickets to jobs.
///
/// Nothing panics or gives a number that is negative, infinite or NaN, whatever the jobs.
trait Pool {
    /// Takes settings that are new.
    fn configure(&mut self, settings: &Settings);

    /// Takes what associations are called, where the tree is new.
    fn learn<'n>(&mut self, _tree: &ShareTree, _names: &dyn Fn(Node) -> Names<'n>) {}

    /// The tickets of every waiting job. `before`: what the jobs have of the pools that come before in the hierarchy; `None` for a
    /// pool that does not take part in it.
    fn hand_out(&mut self, queue: &Queue<'_>, before: Option<&[f64]>, tickets: &mut [f64]);

    /// The tickets of a job that runs.
    fn of_running(&self, ground: Ground<'_>, job: Who) -> f64;

    /// The tickets of a job that begins to wait now, behind all others of its user. They come from counts, not from a look at
    /// the jobs. `before`: what it has of the pools before in the hierarchy.
    fn of_next(&self, ground: Ground<'_>, job: Who, before: f64) -> f64;

    /// A job begins to wait between two cycles.
    fn join(&mut self, ground: Ground<'_>, job: Who);
}

/// One of the pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    O,
    F,
    S,
}

/// The pools in the order in which they are computed, and whether each takes part in the hierarchy: sees what those before
/// it gave, and is seen by those after it.
fn hierarchy(text: &str) -> Vec<(Letter, bool)> {
    let all = [('O', Letter::O), ('F', Letter::F), ('S', Letter::S)];
    let text = text.to_ascii_uppercase();
    let listed = if text == "NONE" { "" } else { &text };
    let named = listed.chars().filter_map(|letter| all.iter().find(|(known, _)| *known == letter));
    let omitted = all.iter().filter(|(letter, _)| !listed.contains(*letter));
    named.map(|(_, pool)| (*pool, true)).chain(omitted.map(|(_, pool)| (*pool, false))).collect()
}

/// All pools, and what they gave in the last cycle.
#[derive(Clone, Debug)]
pub struct Pools {
    order: Vec<(Letter, bool)>,
    logarithmic: bool,
    overridden: override_tickets::OverrideTickets,
    functional: functional::FunctionalTickets,
    share_tree: dilution::DilutedTickets,
    max_tickets: f64,
    /// Those of the first job that has come since, where none waited in the last cycle.
    first_since: f64,
}

impl Pools {
    /// Those that the settings ask for; `None` where there is the share tree alone, undiluted.
    pub fn configured(settings: &Settings) -> Option<Self> {
        if settings.dilution == Dilution::None
            && settings.tickets_functional == 0
            && settings.overrides.is_empty()
            && !settings.admin_comment_tickets
        {
            return None;
        }
        let mut pools = Self {
            order: hierarchy(&settings.policy_hierarchy),
            logarithmic: settings.fair_share_scale == FairShareScale::Log,
            overridden: override_tickets::OverrideTickets::default(),
            functional: functional::FunctionalTickets::default(),
            share_tree: dilution::DilutedTickets::default(),
            max_tickets: 0.0,
            first_since: 0.0,
        };
        pools.overridden.configure(settings);
        pools.functional.configure(settings);
        pools.share_tree.configure(settings);
        Some(pools)
    }

    /// A cycle begins, in local time: which lines of `Override=` take effect from now on and which end. To be called before [`Self::extra`].
    pub fn begin(&mut self, now: Date) -> Vec<Change> {
        self.overridden.begin(now)
    }

    /// The names of the associations of a tree; to be called for every tree that is new, and after [`Self::begin`] where something changed.
    pub fn learn<'n>(&mut self, tree: &ShareTree, names: impl Fn(Node) -> Names<'n>) {
        self.overridden.learn(tree, &names);
        self.functional.learn(tree, &names);
        self.share_tree.learn(tree, &names);
    }

    /// The names in all lines that name objects.
    pub fn named(&self) -> impl Iterator<Item = Named<'_>> {
        self.overridden.named().chain(self.functional.named())
    }

    /// Which names of jobs matter to [`Self::extra`].
    pub fn own_tickets(&self) -> OwnTickets {
        self.overridden.own_tickets()
    }

    /// What a job has besides what its association has.
    pub fn extra(&mut self, names: JobNames<'_>) -> Extra {
        self.overridden.extra(names)
    }

    /// What a job with these tickets has in one of its partitions and QOS.
    pub fn in_entry(&self, tickets: JobTickets, entry: JobNames<'_>) -> JobTickets {
        let overridden = self.overridden.in_entry(tickets.overridden, tickets.extra, entry);
        JobTickets { overridden, ..tickets }
    }

    /// Hands out the tickets of a cycle, after those of the associations have been. `tickets` gets those of each waiting job, in
    /// their order. `running`: those that run, each once.
    pub fn distribute(
        &mut self,
        tree: &ShareTree,
        fair_share: &FairShare,
        waiting: &[WaitingJob],
        running: &[Who],
        tickets: &mut Vec<JobTickets>,
    ) {
        let queue = Queue { ground: Ground { tree, fair_share }, waiting, running };
        tickets.clear();
        tickets.extend(waiting.iter().map(|job| JobTickets { extra: job.extra, ..JobTickets::default() }));
        let mut before = vec![0.0; waiting.len()];
        let mut column = Vec::new();
        for (letter, dependent) in self.order.clone() {
            column.clear();
            column.resize(waiting.len(), 0.0);
            self.pool(letter).hand_out(&queue, dependent.then_some(&before), &mut column);
            for ((all, before), own) in tickets.iter_mut().zip(&mut before).zip(&column) {
                all.set(letter, *own);
                if dependent {
                    *before += own;
                }
            }
        }
        self.max_tickets = tickets.iter().fold(0.0, |max, tickets| f64::max(max, tickets.total()));
        self.first_since = 0.0;
    }

    fn pool(&mut self, letter: Letter) -> &mut dyn Pool {
        match letter {
            Letter::O => &mut self.overridden,
            Letter::F => &mut self.functional,
            Letter::S => &mut self.share_tree,
        }
    }

    /// The tickets of the best waiting job of the last cycle.
    pub fn max_tickets(&self) -> f64 {
        self.max_tickets
    }

    /// The tickets of a job that runs.
    pub fn of_running(&self, tree: &ShareTree, fair_share: &FairShare, job: Who) -> JobTickets {
        let ground = Ground { tree, fair_share };
        JobTickets {
            overridden: self.overridden.of_running(ground, job),
            functional: self.functional.of_running(ground, job),
            share_tree: self.share_tree.of_running(ground, job),
            extra: job.extra,
        }
    }

    /// The tickets of a job that begins to wait now, behind all others of its user.
    pub fn of_next(&self, tree: &ShareTree, fair_share: &FairShare, job: Who) -> JobTickets {
        let ground = Ground { tree, fair_share };
        let (mut tickets, mut before) = (JobTickets { extra: job.extra, ..JobTickets::default() }, 0.0);
        for (letter, dependent) in &self.order {
            let seen = if *dependent { before } else { 0.0 };
            let own = match letter {
                Letter::O => self.overridden.of_next(ground, job, seen),
                Letter::F => self.functional.of_next(ground, job, seen),
                Letter::S => self.share_tree.of_next(ground, job, seen),
            };
            tickets.set(*letter, own);
            if *dependent {
                before += own;
            }
        }
        tickets
    }

    /// A job begins to wait, with the tickets that [`Self::of_next`] gave: those that come after it until the next cycle count it.
    pub fn join(&mut self, tree: &ShareTree, fair_share: &FairShare, job: Who, tickets: JobTickets) {
        if self.max_now() == 0.0 {
            self.first_since = tickets.total();
        }
        let ground = Ground { tree, fair_share };
        self.overridden.join(ground, job);
        self.functional.join(ground, job);
        self.share_tree.join(ground, job);
    }

    /// The tickets that a job is measured by which begins to wait now: those of the best waiting job of the last cycle, and where
    /// there was none, of the first that has come since.
    pub fn max_now(&self) -> f64 {
        if self.max_tickets > 0.0 {
            self.max_tickets
        } else {
            self.first_since
        }
    }

    /// The fair-share factor that tickets give in the last cycle, from 0 to 1.
    pub fn factor(&self, tickets: JobTickets) -> f64 {
        scale(tickets.total(), self.max_tickets, self.logarithmic)
    }

    /// The same of a job that begins to wait now.
    pub fn factor_now(&self, tickets: JobTickets) -> f64 {
        scale(tickets.total(), self.max_now(), self.logarithmic)
    }
}

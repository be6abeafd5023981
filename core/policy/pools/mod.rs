//! Ticket pools: tickets for single jobs. Each pool is one file behind the trait [`Pool`]; this one combines them in the order of
//! `PolicyHierarchy`. The rules are those of Grid Engine's ticket policies, applied to Slurm's associations.
//!
//! Without a second pool and without dilution all jobs of a user are alike, and none of this runs: see [`Pools::configured`].

mod cycle;
mod groups;
mod load;
mod names;
mod ranking;
mod size;
mod tree_order;

use crate::policy::{behind, part, scale, FairShare};
use crate::seldom;
use crate::settings::value::Date;
use crate::settings::{FairShareScale, Settings};
use crate::tree::{Node, ShareTree};

pub use cycle::{QueuedJob, Role};
pub use names::{comment_tickets, Bearer, JobNames, Named, Names, NONE_OF_THAT_NAME};
pub(crate) use override_tickets::Turn;
pub use override_tickets::{Change, OwnTickets};
pub use size::{Measure, SizeFacts};

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

/// The place of a job among its user's jobs: by nice value, then by the time since which it gains age. A job that gains none comes last.
/// `age` is in seconds.
pub fn order(nice: u32, age: Option<u32>) -> u64 {
    let waited = age.map_or(u32::MAX, |age| (u32::MAX - 1).saturating_sub(age));
    u64::from(nice) << 32 | u64::from(waited)
}

/// What pools use besides the jobs.
#[derive(Clone, Copy, Debug)]
struct Ground<'g> {
    tree: &'g ShareTree,
    fair_share: &'g FairShare,
}

/// The jobs of a cycle.
#[derive(Clone, Copy, Debug)]
struct PoolQueue<'q> {
    ground: Ground<'q>,
    waiting: &'q [WaitingJob],
    running: &'q [Who],
}

/// Hands out tickets to jobs.
///
/// Nothing panics or gives a number that is negative, infinite or NaN, whatever the jobs.
trait Pool {
    /// Whether the settings ask for more than the plain share tree because of this pool.
    fn is_asked_for(settings: &Settings) -> bool
    where
        Self: Sized;

    /// Takes settings that are new.
    fn configure(&mut self, settings: &Settings);

    /// Takes what associations are called, where the tree is new.
    fn learn<'n>(&mut self, _tree: &ShareTree, _names: &dyn Fn(Node) -> Names<'n>) {}

    /// The names that its settings name objects by.
    fn named(&self) -> Vec<Named<'_>> {
        Vec::new()
    }

    /// Nothing has asked for its tickets: it has none, and is left out.
    fn is_idle(&self) -> bool {
        false
    }

    /// The tickets of every waiting job. `before`: what the jobs have of the pools that come before in the hierarchy; `None` for a
    /// pool that does not take part in it.
    fn hand_out(&mut self, queue: &PoolQueue<'_>, before: Option<&[f64]>, tickets: &mut [f64]);

    /// The tickets of a job that runs.
    fn of_running(&self, ground: Ground<'_>, job: Who) -> f64;

    /// The tickets of a job that begins to wait now, behind all others of its user. They come from counts, not from a look at
    /// the jobs. `before`: what it has of the pools before in the hierarchy.
    fn of_next(&self, ground: Ground<'_>, job: Who, before: f64) -> f64;

    /// A job begins to wait between two cycles.
    fn join(&mut self, ground: Ground<'_>, job: Who);
}

/// Declares the pools: one line each, `letter in PolicyHierarchy, name: file::Type`.
macro_rules! pools {
    ($($(#[doc = $doc:literal])+ $letter:ident $name:ident: $file:ident::$pool:ident,)+) => {
        $(mod $file;)+

        /// The tickets of a job by pool.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct JobTickets {
            $($(#[doc = $doc])+ pub $name: f64,)+
            /// Which override tickets are among them besides those of the association.
            pub extra: Extra,
            /// When it got its override tickets.
            pub turn: Turn,
        }

        impl JobTickets {
            fn set(&mut self, pool: Letter, tickets: f64) {
                match pool {
                    $(Letter::$letter => self.$name = tickets,)+
                }
            }

            /// All of them.
            pub fn total(self) -> f64 {
                let mut sum = 0.0;
                $(sum += self.$name;)+
                sum
            }
        }

        /// A pool, as `PolicyHierarchy` names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Letter {
            $($letter,)+
        }

        const LETTERS: &[(&str, Letter)] = &[$((stringify!($letter), Letter::$letter),)+];

        /// All of them.
        #[derive(Clone, Debug, Default)]
        struct All {
            $($name: $file::$pool,)+
        }

        impl All {
            fn are_asked_for(settings: &Settings) -> bool {
                [$($file::$pool::is_asked_for(settings),)+].contains(&true)
            }

            fn pool(&self, letter: Letter) -> &dyn Pool {
                match letter {
                    $(Letter::$letter => &self.$name,)+
                }
            }

            fn pool_mut(&mut self, letter: Letter) -> &mut dyn Pool {
                match letter {
                    $(Letter::$letter => &mut self.$name,)+
                }
            }
        }
    };
}

pools! {
    /// O: those that the administrator adds.
    O overridden: override_tickets::OverrideTickets,
    /// F: by fixed shares.
    F functional: functional::FunctionalTickets,
    /// S: by the share tree.
    S share_tree: dilution::DilutedTickets,
}

/// The pools in the order in which they are computed, and whether each takes part in the hierarchy: sees what those before
/// it gave, and is seen by those after it.
fn hierarchy(text: &str) -> Vec<(Letter, bool)> {
    let text = text.to_ascii_uppercase();
    let listed = if text == "NONE" { "" } else { &text };
    let place = |letter: &str| listed.find(letter);
    let mut order: Vec<(&str, Letter)> = LETTERS.to_vec();
    // Those that are not listed come last, in their own order.
    seldom::sort_by_key(&mut order, |(letter, _)| place(letter).unwrap_or(usize::MAX));
    order.into_iter().map(|(letter, pool)| (pool, place(letter).is_some())).collect()
}

/// All pools, and what they gave in the last cycle.
#[derive(Clone, Debug)]
pub struct Pools {
    order: Vec<(Letter, bool)>,
    logarithmic: bool,
    all: All,
    max_tickets: f64,
    /// Those of the first job that has come since, where none waited in the last cycle.
    first_since: f64,
}

impl Pools {
    /// Whether the settings ask for more than the share tree alone, undiluted.
    pub fn are_asked_for(settings: &Settings) -> bool {
        All::are_asked_for(settings)
    }

    /// The pools that the settings ask for; `None` for the share tree alone, undiluted.
    pub fn configured(settings: &Settings) -> Option<Self> {
        if !Self::are_asked_for(settings) {
            return None;
        }
        let mut pools = Self {
            order: hierarchy(&settings.policy_hierarchy),
            logarithmic: settings.fair_share_scale == FairShareScale::Log,
            all: All::default(),
            max_tickets: 0.0,
            first_since: 0.0,
        };
        pools.each(|pool| pool.configure(settings));
        Some(pools)
    }

    fn each(&mut self, mut call: impl FnMut(&mut dyn Pool)) {
        for (_, letter) in LETTERS {
            call(self.all.pool_mut(*letter));
        }
    }

    /// Begins a cycle, in local time: says which lines of `Override=` take effect from now on and which end. Call it before
    /// [`Self::extra`].
    pub fn begin(&mut self, now: Date) -> Vec<Change> {
        self.all.overridden.begin(now)
    }

    /// Takes the names of the associations of a tree. Call it for every new tree, and after [`Self::begin`] if something changed.
    pub fn learn<'n>(&mut self, tree: &ShareTree, names: impl Fn(Node) -> Names<'n>) {
        self.each(|pool| pool.learn(tree, &names));
    }

    /// The names in all lines that name objects.
    pub fn named(&self) -> impl Iterator<Item = Named<'_>> {
        LETTERS.iter().flat_map(|(_, letter)| self.all.pool(*letter).named())
    }

    /// Which names of jobs matter to [`Self::extra`].
    pub fn own_tickets(&self) -> OwnTickets {
        self.all.overridden.own_tickets()
    }

    /// What a job has besides what its association has.
    pub fn extra(&mut self, names: JobNames<'_>) -> Extra {
        self.all.overridden.extra(names)
    }

    /// What a job with these tickets has in one of its partitions and QOS.
    pub fn in_entry(&self, tickets: JobTickets, entry: JobNames<'_>) -> JobTickets {
        let got = (tickets.extra, tickets.turn);
        let overridden = self.all.overridden.in_entry(tickets.overridden, got, entry);
        JobTickets { overridden, ..tickets }
    }

    /// Hands out the tickets of a cycle, after those of the associations. `tickets` gets those of each waiting job, in the order of the
    /// jobs. `running` has each running job once.
    pub fn distribute(
        &mut self,
        tree: &ShareTree,
        fair_share: &FairShare,
        waiting: &[WaitingJob],
        running: &[Who],
        tickets: &mut Vec<JobTickets>,
    ) {
        let queue = PoolQueue { ground: Ground { tree, fair_share }, waiting, running };
        tickets.clear();
        tickets.extend(waiting.iter().map(|job| JobTickets { extra: job.extra, ..JobTickets::default() }));
        let asked: Vec<(Letter, bool)> =
            self.order.iter().copied().filter(|(letter, _)| !self.all.pool(*letter).is_idle()).collect();
        // What one gives matters to the next of those that take part in the hierarchy.
        let is_seen = asked.iter().filter(|(_, dependent)| *dependent).count() > 1;
        let mut before = vec![0.0; if is_seen { waiting.len() } else { 0 }];
        let mut column = Vec::new();
        for (letter, dependent) in asked {
            column.clear();
            column.resize(waiting.len(), 0.0);
            let seen = (dependent && is_seen).then_some(before.as_slice());
            self.all.pool_mut(letter).hand_out(&queue, seen, &mut column);
            tickets.iter_mut().zip(&column).for_each(|(all, own)| all.set(letter, *own));
            if dependent {
                before.iter_mut().zip(&column).for_each(|(before, own)| *before += own);
            }
        }
        for (tickets, turn) in tickets.iter_mut().zip(self.all.overridden.take_turns()) {
            tickets.turn = turn;
        }
        self.max_tickets = tickets.iter().fold(0.0, |max, tickets| f64::max(max, tickets.total()));
        self.first_since = 0.0;
    }

    /// Lowers the factors of these jobs, which have just received tickets, so that none exceeds what the best of them would have if it
    /// began to wait in `open`, which has handed out its own tickets on the same tree.
    pub fn stand_behind(
        &mut self,
        tree: &ShareTree,
        (open, fair_share): (&Pools, &FairShare),
        jobs: &[QueuedJob],
    ) {
        let waiting = jobs.iter().filter(|job| job.role == Role::Waits);
        let parts = waiting.filter_map(|job| {
            let next = Who { node: job.node?, extra: job.extra, size: job.size, count: 1 };
            Some(part(open.of_next(tree, fair_share, next).total(), open.max_tickets))
        });
        self.max_tickets = behind(self.max_tickets, parts.fold(0.0, f64::max));
    }

    /// The tickets of the best waiting job of the last cycle.
    pub fn max_tickets(&self) -> f64 {
        self.max_tickets
    }

    /// The tickets of a job that runs.
    pub fn of_running(&self, tree: &ShareTree, fair_share: &FairShare, job: Who) -> JobTickets {
        let ground = Ground { tree, fair_share };
        let mut tickets = JobTickets { extra: job.extra, ..JobTickets::default() };
        for (_, letter) in LETTERS {
            tickets.set(*letter, self.all.pool(*letter).of_running(ground, job));
        }
        tickets
    }

    /// The tickets of a job that begins to wait now, behind all others of its user.
    pub fn of_next(&self, tree: &ShareTree, fair_share: &FairShare, job: Who) -> JobTickets {
        let ground = Ground { tree, fair_share };
        let turn = self.all.overridden.next_turn();
        let (mut tickets, mut before) = (JobTickets { extra: job.extra, turn, ..JobTickets::default() }, 0.0);
        for (letter, dependent) in &self.order {
            let seen = if *dependent { before } else { 0.0 };
            let own = self.all.pool(*letter).of_next(ground, job, seen);
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
        self.each(|pool| pool.join(ground, job));
    }

    /// The tickets against which a newly waiting job is measured: those of the best waiting job of the last cycle or, without one, of the
    /// first that has come since.
    pub fn max_now(&self) -> f64 {
        if self.max_tickets > 0.0 {
            self.max_tickets
        } else {
            self.first_since
        }
    }

    /// The fair-share factor that tickets give in the last cycle, from 0 to 1.
    #[inline]
    pub fn factor(&self, tickets: JobTickets) -> f64 {
        scale(tickets.total(), self.max_tickets, self.logarithmic)
    }

    /// The same of a job that begins to wait now.
    pub fn factor_now(&self, tickets: JobTickets) -> f64 {
        scale(tickets.total(), self.max_now(), self.logarithmic)
    }
}

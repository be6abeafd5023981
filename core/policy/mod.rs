//! Ticket policies: how users with waiting jobs get tickets. Each policy is one file behind the trait [`Policy`]; this one adds up what
//! they hand out.

pub mod distribution;
pub mod points;
pub mod pools;
mod shown;
pub mod stock;

use crate::competition::Competition;
use crate::settings::{FairShareScale, Settings};
use crate::ties::same;
use crate::tree::{at, Node, ShareTree};

pub use shown::Shown;

/// Hands out tickets.
///
/// No tree makes it panic, or give a number that is negative, infinite or NaN. It allocates nothing once the buffers have grown to the size
/// of the tree.
pub(crate) trait Policy {
    /// Takes the settings that hold from the next cycle on. What was handed out is forgotten.
    fn configure(&mut self, _settings: &Settings) {}

    /// Adds what every association gets to `tickets`, by [`Node::index`]: in a tree of which `competition` says who takes part,
    /// and for one that does not, what it would get if it alone began to.
    fn hand_out(&mut self, tree: &ShareTree, competition: &Competition, tickets: &mut [f64]);

    /// An association, not active so far, begins to take part between two cycles.
    fn join(&mut self, _tree: &ShareTree, _competition: &Competition, _node: Node) {}

    /// What an association would get now, with those that have joined since the last cycle.
    fn tickets_now(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64;
}

/// The decades of tickets that `FairShareScale=log` spans.
const DECADES: f64 = 6.0;

/// Declares the policies: one line each, `file: Type`.
macro_rules! policies {
    ($($file:ident: $policy:ident,)*) => {
        $(pub mod $file;)*

        /// All of them.
        #[derive(Clone, Debug, Default)]
        struct Policies {
            $($file: $file::$policy,)*
        }

        impl Policies {
            /// In the order in which their tickets are added.
            fn each(&mut self, mut call: impl FnMut(&mut dyn Policy)) {
                $(call(&mut self.$file);)*
            }

            /// The sum of something of each.
            fn sum(&self, of: impl Fn(&dyn Policy) -> f64) -> f64 {
                let mut sum = 0.0;
                $(sum += of(&self.$file);)*
                sum
            }
        }
    };
}

policies! {
    share_tree: ShareTreeTickets,
}

/// The result of one distribution over a [`ShareTree`]: the tickets of each user, and the fair-share factor that follows from them. It is
/// reused in the next cycle.
///
/// Values are relative to the last [`Self::distribute`]. Before the first one, and for a node outside the tree of the last one, they are 0.
#[derive(Clone, Debug, Default)]
pub struct FairShare {
    competition: Competition,
    policies: Policies,
    /// `FairShareScale=log`
    logarithmic: bool,
    /// By node, of all policies.
    tickets: Vec<f64>,
    max_tickets: f64,
}

impl FairShare {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty result whose share tree uses this rule instead of a setting.
    pub fn dividing_by(rule: impl distribution::Rule + 'static) -> Self {
        let policies = Policies { share_tree: share_tree::ShareTreeTickets::by(rule) };
        Self { policies, ..Self::default() }
    }

    /// Takes the settings that hold from the next distribution on; what was distributed is forgotten.
    pub fn configure(&mut self, settings: &Settings) {
        *self = Self { logarithmic: settings.fair_share_scale == FairShareScale::Log, ..Self::default() };
        self.policies.each(|policy| policy.configure(settings));
    }

    /// Distributes the tickets by usage and the numbers of waiting jobs, as [`Competition::read`] takes them.
    pub fn distribute(&mut self, tree: &ShareTree, usage: &[f64], waiting: &[u32]) {
        let Self { competition, policies, tickets, max_tickets, .. } = self;
        competition.read(tree, usage, waiting);
        tickets.clear();
        tickets.resize(tree.len(), 0.0);
        policies.each(|policy| policy.hand_out(tree, competition, tickets));
        let users = tree.nodes().filter(|node| tree.is_user(*node) && competition.is_active(*node));
        *max_tickets = users.fold(0.0, |max, user| f64::max(max, at(tickets, user)));
    }

    /// Lowers the factors of the users who take part here, so that none exceeds what the best of them would have if it began to take part
    /// in `open`. Their relations stay. So a user whose jobs cannot start gains nothing from having few rivals.
    pub fn stand_behind(&mut self, tree: &ShareTree, open: &FairShare) {
        let users = tree.nodes().filter(|node| tree.is_user(*node) && self.competition.is_active(*node));
        let best = users.fold(0.0, |best, user| f64::max(best, part(open.tickets(user), open.max_tickets)));
        self.max_tickets = behind(self.max_tickets, best);
    }

    /// Where the associations stand.
    pub fn competition(&self) -> &Competition {
        &self.competition
    }

    /// The part of its fair-share parent's tickets of the share tree that goes to an association, from 0 to 1.
    pub fn level_share(&self, tree: &ShareTree, node: Node) -> f64 {
        self.policies.share_tree.level_share(tree, &self.competition, node)
    }

    /// T: tickets of all policies; for an association that is not active, the prospective tickets.
    pub fn tickets(&self, node: Node) -> f64 {
        at(&self.tickets, node)
    }

    /// The tickets of the best active user; 0 if no active user has tickets.
    pub fn max_tickets(&self) -> f64 {
        self.max_tickets
    }

    /// The fair-share factor of a user's jobs, from 0 to 1; the prospective one for a user who is not active.
    ///
    /// The best active user has exactly 1. If no active user has tickets, every user who would have some has 1.
    pub fn priority(&self, node: Node) -> f64 {
        self.scaled(self.tickets(node))
    }

    /// The tickets of an association as they are now, with those counted that have joined since the last distribution.
    pub fn tickets_now(&self, tree: &ShareTree, node: Node) -> f64 {
        // Also for what the last distribution did not know.
        if self.competition.was_active(node) || node.index() >= self.tickets.len() {
            self.tickets(node)
        } else {
            self.policies.sum(|policy| policy.tickets_now(tree, &self.competition, node))
        }
    }

    /// An association begins to take part, as do those above it: newcomers of one period see each other.
    pub fn join(&mut self, tree: &ShareTree, node: Node) {
        let Self { competition, policies, .. } = self;
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| !competition.is_active(*node)) {
            policies.each(|policy| policy.join(tree, competition, node));
            competition.join(node);
            next = tree.parent(node);
        }
    }

    /// The factor of a job that a user submits now. Where the job `waits`, the user takes part from here on.
    pub fn submit(&mut self, tree: &ShareTree, node: Node, waits: bool) -> f64 {
        let tickets = self.tickets_now(tree, node);
        if waits {
            self.join(tree, node);
        }
        self.scaled(tickets)
    }

    fn scaled(&self, tickets: f64) -> f64 {
        scale(tickets, self.max_tickets, self.logarithmic)
    }
}

/// Tickets relative to those of the best, from 0 to 1. A user who equals the best on paper has exactly 1 too.
fn part(tickets: f64, max: f64) -> f64 {
    if tickets <= 0.0 {
        0.0
    } else if tickets >= max || same(tickets, max) {
        1.0
    } else {
        tickets / max
    }
}

/// What tickets are measured by where the best, which has `max`, is to have a `part` of 1.
fn behind(max: f64, part: f64) -> f64 {
    if part > 0.0 {
        (max / part).min(f64::MAX)
    } else {
        max
    }
}

/// Tickets on the scale of the factor, where the best has `max`.
fn scale(tickets: f64, max: f64, logarithmic: bool) -> f64 {
    if tickets <= 0.0 {
        return 0.0;
    }
    let part = part(tickets, max);
    if logarithmic {
        (1.0 + part.log10() / DECADES).max(0.0)
    } else {
        part
    }
}

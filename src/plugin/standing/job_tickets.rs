//! The fair-share of single jobs: that of their association, or where pools give tickets to single jobs, from those.

use std::sync::Arc;

use multifactor2_core::policy::pools::{Extra, JobTickets, Names, Pools, Who};
use multifactor2_core::{FairShare, Node, ShareTree};

use super::super::config::Config;
use super::super::queue::{Queue, Reader};
use super::super::waiting::{Place, Waiting};
use super::Standing;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::Job;
use crate::host::Host;

/// The fair-share factor of a job, and what it came from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// From 0 to 1.
    pub factor: f64,
    /// Its tickets of pools.
    pub tickets: Option<JobTickets>,
    /// It begins to wait, and is counted for those that come next.
    pub joins: bool,
}

/// The tickets of a job.
#[derive(Clone, Copy, Debug)]
pub struct Granted<'s> {
    /// What gave them.
    pub pools: &'s Pools,
    /// Its tickets.
    pub tickets: JobTickets,
}

/// User and account of every association of a tree.
#[derive(Debug)]
pub struct NamesByNode(Vec<(String, String)>);

impl NamesByNode {
    /// What one is called.
    pub fn of(&self, node: Node) -> Names<'_> {
        self.0.get(node.index()).map_or(Names::default(), |(user, account)| Names { user, account })
    }
}

/// See [`Standing::ground`].
#[derive(Clone, Debug)]
pub struct Ground {
    /// The associations.
    pub tree: Arc<ShareTree>,
    /// Their tickets.
    pub fair_share: FairShare,
}

impl Standing {
    /// Begins to collect the jobs that get tickets of their own, about so many; `None` where none do.
    pub fn begin_queue(&self, host: &Host, config: &Config, jobs: usize, now: i64) -> Option<Queue> {
        let same = self.settings.as_ref() == Some(&config.settings);
        let pools = self.pools.clone().filter(|_| same).map(|pools| (pools, Arc::clone(&self.tree)));
        config.fair_share.then(|| Queue::begin(host, &config.settings, pools, jobs, now)).flatten()
    }

    /// The association at a place in the `waiting` of a cycle.
    pub fn node_at(&self, waiting: &Waiting, place: Place) -> Option<Node> {
        self.found_at(waiting, place).map(|(_, node)| node)
    }

    /// What tickets of single jobs are handed out by, as it is now.
    pub fn ground(&self) -> Ground {
        Ground { tree: Arc::clone(&self.tree), fair_share: self.fair_share.clone() }
    }

    /// From here on these pools answer, which have handed out tickets on that ground.
    pub fn take_pools(&mut self, pools: Pools, ground: &Ground) {
        if Arc::ptr_eq(&self.tree, &ground.tree) {
            self.pools = Some(pools);
            return;
        }
        // Associations have come meanwhile.
        let of_cycle = self.of_cycle.as_mut().filter(|of_cycle| Arc::ptr_eq(&of_cycle.tree, &ground.tree));
        if let Some(of_cycle) = of_cycle {
            of_cycle.pools = Some(pools);
        }
    }

    /// Tells pools what the associations are called.
    pub(super) fn teach<V: Levels<Assoc: Open>>(&self, lock: &AssocLock<'_, V>, pools: &mut Pools) {
        let names = self.names(lock);
        pools.learn(&self.tree, |node| names.of(node));
    }

    /// What the associations are called.
    pub fn names<V: Levels<Assoc: Open>>(&self, lock: &AssocLock<'_, V>) -> NamesByNode {
        let mut names = vec![(String::new(), String::new()); self.tree.len()];
        self.for_each_node(lock, |association, node| {
            let user = association.text(|assoc| assoc.user).into_owned();
            names[node.index()] = (user, association.text(|assoc| assoc.acct).into_owned());
        });
        NamesByNode(names)
    }

    /// The fair-share factor of a job as it is now, 0 without an association. A job that `waits` makes its user take part. `known`:
    /// the tickets of a job that the last cycle knew already.
    pub fn fair_share<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        (waits, now): (bool, i64),
        known: Option<JobTickets>,
    ) -> Share {
        // Mostly without a look at the association itself.
        let (address, id) = job.named_association();
        if self.pools.is_some() {
            // What is counted of those that the cycle knew is counted there.
            if let Some(of_cycle) = self.of_cycle.as_deref_mut().filter(|of| of.node(address, id).is_some()) {
                return of_cycle.fair_share(lock, job, (waits, now), known);
            }
        }
        let node = self.node(address, id).or_else(|| {
            let association = job.association(lock)?;
            self.node_now(lock, (association.address(), association.get(|assoc| assoc.id)))
        });
        let Some(node) = node else { return Share::default() };
        if let Some(waiting) = self.waiting.get_mut(node.index()).filter(|_| waits) {
            // For a tree that is read again before the next cycle.
            *waiting = (*waiting).max(1);
        }
        let Some((pools, settings)) = self.pools.as_mut().zip(self.settings.as_ref()) else {
            return Share { factor: self.fair_share.submit(&self.tree, node, waits), ..Share::default() };
        };
        let reader = Reader::new(lock.host(), pools, settings, now);
        let who = Who { node, extra: reader.extra(pools, lock, job), size: reader.size(job), count: 1 };
        let tickets = known.unwrap_or_else(|| {
            if job.state().holds_resources() {
                pools.of_running(&self.tree, &self.fair_share, who)
            } else {
                pools.of_next(&self.tree, &self.fair_share, who)
            }
        });
        let joins = waits && known.is_none();
        if joins {
            self.fair_share.join(&self.tree, node);
            pools.join(&self.tree, &self.fair_share, who, tickets);
        }
        Share { factor: pools.factor_now(tickets), tickets: Some(tickets), joins }
    }

    /// The factors of the next jobs of all associations, by node, where they have to be worked out: without any lock of the host's. Else
    /// none.
    pub fn factors(&self) -> Vec<f64> {
        let nodes = self.pools.iter().flat_map(|_| self.tree.nodes());
        nodes.map(|node| if self.tree.is_user(node) { self.factor(node) } else { 0.0 }).collect()
    }

    /// The factor of the next job of an association.
    pub(super) fn factor(&self, node: Node) -> f64 {
        match &self.pools {
            None => self.fair_share.priority(node),
            Some(pools) => {
                let next = Who { node, extra: Extra::default(), size: 0.0, count: 1 };
                pools.factor(pools.of_next(&self.tree, &self.fair_share, next))
            }
        }
    }

    /// What gives tickets to single jobs, where the settings ask for that.
    pub fn pools(&self) -> Option<&Pools> {
        self.pools.as_ref()
    }

    /// What a job was granted, with the pools that gave it.
    pub fn granted(&self, tickets: Option<JobTickets>) -> Option<Granted<'_>> {
        let of_cycle = self.of_cycle.as_deref().unwrap_or(self);
        of_cycle.pools.as_ref().zip(tickets).map(|(pools, tickets)| Granted { pools, tickets })
    }
}

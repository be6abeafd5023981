//! The tickets of all jobs of a cycle. Waiting jobs compete for them; any other job has what it would get.

use super::{Extra, JobTickets, Pools, WaitingJob, Who};
use crate::policy::FairShare;
use crate::tree::{Node, ShareTree};

/// What a job is to the pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Its priority is not computed.
    None,
    /// It waits, and gets tickets.
    Waits,
    /// It is not eligible yet, or held, and gets what it would if it began to wait.
    Idle,
    /// It runs, and its priority is computed.
    Runs,
}

/// A job of a cycle.
#[derive(Debug, Clone, Copy)]
pub struct QueuedJob {
    /// Its id.
    pub id: u32,
    /// The leader of the heterogeneous job that it is a component of.
    pub leader: Option<u32>,
    /// Its association.
    pub node: Option<Node>,
    /// See [`Extra`].
    pub extra: Extra,
    /// What it is to the pools.
    pub role: Role,
    /// Orders the jobs of one user; see [`order`](super::order).
    pub order: u64,
    /// What it requests or has, in [`DilutionUnit`](crate::settings::DilutionUnit).
    pub size: f64,
}

impl QueuedJob {
    /// One that gets nothing.
    pub fn none(id: u32) -> Self {
        let (leader, node, extra) = (None, None, Extra::default());
        Self { id, leader, node, extra, role: Role::None, order: 0, size: 0.0 }
    }
}

impl Pools {
    /// Hands out the tickets of a cycle to jobs in the order of their ids, and returns those of each in the same order. `running` are the
    /// running jobs, with alike ones together.
    pub fn hand_out(
        &mut self,
        tree: &ShareTree,
        fair_share: &FairShare,
        jobs: &mut [QueuedJob],
        running: &[Who],
    ) -> Vec<JobTickets> {
        let leaders = join_components(jobs);
        // Components come with their leaders.
        let is_component = |at: usize| leaders.binary_search_by_key(&at, |(component, _)| *component).is_ok();
        let mut waiting = Vec::with_capacity(jobs.len());
        waiting.extend(jobs.iter().enumerate().filter_map(|(at, job)| {
            let QueuedJob { id, order, size, extra, .. } = *job;
            let node = job.node.filter(|_| job.role == Role::Waits && !is_component(at))?;
            Some(WaitingJob { node, id, order, size, extra })
        }));
        let mut of_waiting = Vec::new();
        self.distribute(tree, fair_share, &waiting, running, &mut of_waiting);
        if waiting.len() == jobs.len() {
            return of_waiting;
        }
        let mut of_waiting = of_waiting.into_iter();
        let tickets = jobs.iter().enumerate().map(|(at, job)| {
            let Some(node) = job.node else { return JobTickets::default() };
            let who = Who { node, extra: job.extra, size: job.size, count: 1 };
            match job.role {
                Role::Waits if is_component(at) => JobTickets::default(),
                Role::None => JobTickets::default(),
                Role::Waits => of_waiting.next().unwrap_or_default(),
                Role::Idle => self.of_next(tree, fair_share, who),
                Role::Runs => self.of_running(tree, fair_share, who),
            }
        });
        let mut tickets: Vec<JobTickets> = tickets.collect();
        for (component, leader) in leaders {
            tickets[component] = tickets[leader];
        }
        tickets
    }
}

/// Makes one job of the components of each heterogeneous one that waits: that of its leader, whose tickets all of them have.
/// Returns the places of components, in their order, with those of their leaders.
fn join_components(jobs: &mut [QueuedJob]) -> Vec<(usize, usize)> {
    let mut leaders = Vec::new();
    for at in 0..jobs.len() {
        let Some(id) = jobs[at].leader.filter(|id| jobs[at].role == Role::Waits && *id != jobs[at].id) else {
            continue;
        };
        let Ok(leader) = jobs.binary_search_by_key(&id, |job| job.id) else { continue };
        // The leader of a heterogeneous job is a component of none.
        if jobs[leader].role == Role::Waits && jobs[leader].leader.is_none() {
            jobs[leader].size += jobs[at].size;
            leaders.push((at, leader));
        }
    }
    leaders
}

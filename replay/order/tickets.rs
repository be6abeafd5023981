//! `priority/multifactor2`: calls the engine as the plugin does.

use std::collections::BTreeMap;

use multifactor2_core::factors::NICE_OFFSET;
use multifactor2_core::policy::pools::{
    order, Extra, JobTickets, Measure, Pools, SizeFacts, WaitingJob, Who,
};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, ShareTree};
use slurm_text::dates::{date, TimeZone};

use super::charges;
use super::points;
use super::standing::{FairSharePolicy, Ground, Newcomer, Queued, Running};

/// Fair-share by tickets, with pools where the settings ask for some.
#[derive(Debug)]
pub struct Tickets {
    fair_share: FairShare,
    pools: Option<Pools>,
    measure: Measure,
    has_learnt: bool,
    /// By place in the queue of the last cycle.
    handed_out: Vec<JobTickets>,
}

impl Tickets {
    /// With settings of multifactor2.conf.
    pub fn new(settings: &Settings) -> Self {
        let mut fair_share = FairShare::new();
        fair_share.configure(settings);
        Self {
            fair_share,
            pools: Pools::configured(settings),
            measure: Measure::of(settings),
            has_learnt: false,
            handed_out: Vec::new(),
        }
    }

    fn size(&self, job: &Queued<'_>) -> f64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // slurmctld keeps it as a whole number
        let billing = job.billing as u64;
        self.measure.size(SizeFacts { cpus: u64::from(job.cpus), billing, minutes_left: job.minutes })
    }
}

impl FairSharePolicy for Tickets {
    fn looks_at_jobs(&self) -> bool {
        self.pools.is_some()
    }

    fn distribute(&mut self, ground: &Ground<'_>, queue: &[Queued<'_>], running: &[Running<'_>]) {
        self.fair_share.distribute(ground.tree, ground.usage, ground.waiting);
        let Some(mut pools) = self.pools.take() else { return };
        let changed = !pools.begin(date(ground.now, &TimeZone::UTC)).is_empty();
        if changed || !self.has_learnt {
            self.has_learnt = true;
            pools.learn(ground.tree, |node| (ground.names)(node));
        }
        let mut waiting = Vec::with_capacity(queue.len());
        for job in queue {
            waiting.push(WaitingJob {
                node: job.node,
                id: job.names.id,
                order: order(NICE_OFFSET, Some(job.age)),
                size: self.size(job),
                extra: pools.extra(job.names),
            });
        }
        let mut alike: BTreeMap<(Node, Extra), Who> = BTreeMap::new();
        for Running { job } in running {
            let (node, extra) = (job.node, pools.extra(job.names));
            let who = alike.entry((node, extra)).or_insert(Who { node, extra, size: 0.0, count: 0 });
            who.size += self.size(job);
            who.count += 1;
        }
        let alike: Vec<Who> = alike.into_values().collect();
        pools.distribute(ground.tree, &self.fair_share, &waiting, &alike, &mut self.handed_out);
        self.pools = Some(pools);
    }

    fn of_waiting(&self, at: usize, node: Node) -> f64 {
        match &self.pools {
            None => self.fair_share.priority(node),
            Some(pools) => self.handed_out.get(at).map_or(0.0, |tickets| pools.factor(*tickets)),
        }
    }

    fn submit(&mut self, tree: &ShareTree, job: &Newcomer<'_>) -> f64 {
        let size = self.size(job);
        let Some(pools) = &mut self.pools else { return self.fair_share.submit(tree, job.node, true) };
        let who = Who { node: job.node, extra: pools.extra(job.names), size, count: 1 };
        let tickets = pools.of_next(tree, &self.fair_share, who);
        self.fair_share.join(tree, job.node);
        pools.join(tree, &self.fair_share, who, tickets);
        pools.factor_now(tickets)
    }
}

/// What settings ask for that a replay leaves out.
pub fn left_out(settings: &Settings) -> Vec<&'static str> {
    let mut left_out = points::left_out(settings);
    left_out.extend(charges::left_out(settings));
    if Pools::configured(settings)
        .is_some_and(|pools| pools.own_tickets().wckey || pools.own_tickets().admin_comment)
    {
        left_out.push("tickets by wckey and by AdminComment: the trace has neither");
    }
    left_out
}

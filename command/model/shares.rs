//! Fair-share of associations and jobs, by the algorithm in force: the one place that knows which there are.

use std::collections::BTreeMap;

use multifactor2_core::factors::age;
use multifactor2_core::policy::pools::{order, Extra, JobTickets, Measure, Pools, QueuedJob, Role, Who};
use multifactor2_core::policy::stock::{self, Shown};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node};
use multifactor2_snapshot::records::{Association, Job};
use multifactor2_snapshot::Snapshot;

use super::facts::{shifted, ByName, Looks};
use super::{Algorithm, Config, Tree};

/// Who asks for shares: what the engine is given besides usage. It stays the same where only usage changes.
#[derive(Debug, Default)]
pub struct Competitors {
    /// Users with jobs that compete, by node.
    pub(super) waiting: Vec<u32>,
    /// What gives tickets to single jobs, before it has given any.
    pools: Option<Pools>,
    /// The jobs in the order of their ids, and the place of each in the snapshot.
    queued: Vec<QueuedJob>,
    places: Vec<usize>,
    running: Vec<Who>,
}

/// The fair-share of all.
#[derive(Debug, Default)]
pub struct Shares {
    /// Under multifactor2.
    fair_share: Option<FairShare>,
    /// Under Fair Tree and classic, by node.
    stock: Option<Vec<Shown>>,
    /// Where pools give tickets to single jobs: the tickets of each job, in the order of the snapshot.
    pools: Option<(Pools, Vec<JobTickets>)>,
    competitors: Competitors,
}

/// Where an association stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Raw usage at the time of the model.
    pub usage: f64,
    /// S
    pub shares_norm: f64,
    /// U
    pub usage_norm: f64,
    /// Effective usage.
    pub usage_effective: f64,
    /// F; `None` where there is none.
    pub level_fs: Option<f64>,
    /// T; prospective where it is not active. `None` where there are no tickets, or they are not known.
    pub tickets: Option<f64>,
    /// The part of its parent's tickets, from 0 to 1.
    pub level_share: Option<f64>,
    /// It, or something below it, has jobs that compete.
    pub active: bool,
    /// The fair-share factor of its jobs, of users only.
    pub factor: Option<f64>,
}

impl Competitors {
    /// Collects the jobs of a snapshot.
    pub(super) fn of(looks: &Looks<'_>, competes: &[bool]) -> Self {
        let (snapshot, tree) = (looks.snapshot, looks.tree);
        let node = |job: &Job| tree.by_id(job.association).and_then(|association| tree.node(association));
        let mut waiting = vec![0; tree.shape.len()];
        for (job, competes) in snapshot.jobs.iter().zip(competes) {
            if let Some(node) = node(job).filter(|_| *competes) {
                waiting[node.index()] += 1;
            }
        }
        let mut competitors = Self { waiting, ..Self::default() };
        let settings = looks.config.settings.as_ref();
        if let Some((settings, mut pools)) =
            settings.and_then(|settings| Some((settings, Pools::configured(settings)?)))
        {
            pools.begin(looks.date());
            pools.learn(&tree.shape, tree.names(snapshot));
            competitors.queue(looks, competes, settings, &mut pools, node);
            competitors.pools = Some(pools);
        }
        competitors
    }

    fn queue(
        &mut self,
        looks: &Looks<'_>,
        competes: &[bool],
        settings: &Settings,
        pools: &mut Pools,
        node: impl Fn(&Job) -> Option<Node>,
    ) {
        let (snapshot, tree) = (looks.snapshot, looks.tree);
        let (measure, by_name) = (Measure::of(settings), ByName::of(snapshot));
        self.places = (0..snapshot.jobs.len()).collect();
        self.places.sort_by_key(|place| snapshot.jobs[*place].id);
        let queued = self.places.iter().map(|place| {
            let job = &snapshot.jobs[*place];
            if job.priority == 0 || job.direct {
                return QueuedJob::none(job.id);
            }
            QueuedJob {
                id: job.id,
                leader: Some(job.het_job).filter(|leader| *leader != 0 && *leader != job.id),
                node: node(job),
                extra: pools.extra(Looks::names(job)),
                role: if competes[*place] { Role::Waits } else { Role::Idle },
                order: order(shifted(job.nice), age(looks.at, job.accrue)),
                size: measure.size(looks.size_facts(job, by_name.partition(&job.partition))),
            }
        });
        self.queued = queued.collect();
        let mut alike: BTreeMap<(Node, Extra), Who> = BTreeMap::new();
        for running in &snapshot.running {
            let association = tree.by_id(running.association).and_then(|association| tree.node(association));
            let Some(node) = association else { continue };
            let extra: Extra = pools.extra(Looks::names_of_running(running));
            let who = alike.entry((node, extra)).or_insert(Who { node, extra, size: 0.0, count: 0 });
            who.count = who.count.saturating_add(running.count);
            who.size += running.size;
        }
        // One order for all runs, so that sums are the same.
        self.running = alike.into_values().collect();
    }
}

impl Shares {
    /// Computes fair-share by what the share tree goes by, by node.
    pub(super) fn compute(config: &Config, tree: &Tree, competitors: &Competitors, measured: &[f64]) -> Self {
        let Some(settings) = config.settings.as_ref().filter(|_| config.algorithm == Algorithm::Multifactor2)
        else {
            let stock = config.stock.map(|algorithm| stock::standings(&tree.shape, measured, algorithm));
            return Self { stock, ..Self::default() };
        };
        let mut fair_share = FairShare::new();
        fair_share.configure(settings);
        fair_share.distribute(&tree.shape, measured, &competitors.waiting);
        let pools = competitors.pools.clone().map(|mut pools| {
            let mut queued = competitors.queued.clone();
            let of_queued = pools.hand_out(&tree.shape, &fair_share, &mut queued, &competitors.running);
            let mut tickets = vec![JobTickets::default(); of_queued.len()];
            for (place, of_job) in competitors.places.iter().zip(of_queued) {
                tickets[*place] = of_job;
            }
            (pools, tickets)
        });
        Self { fair_share: Some(fair_share), pools, ..Self::default() }
    }

    pub(super) fn keep(&mut self, competitors: Competitors) {
        self.competitors = competitors;
    }

    /// The same with other usage, which [`Tree::measured_with`] gives.
    #[must_use]
    pub fn with_usage(&self, config: &Config, tree: &Tree, measured: &[f64]) -> Self {
        Self::compute(config, tree, &self.competitors, measured)
    }

    /// Whether fair-share is computed here, not taken from what Slurm shows.
    pub fn is_computed(&self) -> bool {
        self.fair_share.is_some() || self.stock.is_some()
    }

    /// Under multifactor2, where the settings are known.
    pub fn fair_share(&self) -> Option<&FairShare> {
        self.fair_share.as_ref()
    }

    /// What gives tickets to single jobs, where the settings ask for that.
    pub fn pools(&self) -> Option<&Pools> {
        self.pools.as_ref().map(|(pools, _)| pools)
    }

    /// The tickets of a job, by its place in the snapshot, where pools give them to single jobs.
    pub fn tickets_of_job(&self, job: usize) -> Option<JobTickets> {
        self.pools.as_ref().and_then(|(_, tickets)| tickets.get(job)).copied()
    }

    /// The fair-share factor of a job of an association; `None` where it is not computed here.
    pub fn factor_of_job(&self, job: usize, node: Option<Node>) -> Option<f64> {
        if let Some(stock) = &self.stock {
            return Some(node.and_then(|node| stock[node.index()].factor).unwrap_or_default());
        }
        let fair_share = self.fair_share.as_ref()?;
        Some(match (&self.pools, node) {
            (_, None) => 0.0,
            (Some((pools, tickets)), Some(_)) => pools.factor(tickets.get(job).copied().unwrap_or_default()),
            (None, Some(node)) => fair_share.priority(node),
        })
    }

    /// The factor that the next job of a user gets.
    pub fn factor_of_next(&self, tree: &Tree, node: Node) -> Option<f64> {
        if let Some(stock) = &self.stock {
            return stock[node.index()].factor;
        }
        let fair_share = self.fair_share.as_ref()?;
        Some(match &self.pools {
            None => fair_share.priority(node),
            Some((pools, _)) => {
                let next = Who { node, extra: Extra::default(), size: 0.0, count: 1 };
                pools.factor(pools.of_next(&tree.shape, fair_share, next))
            }
        })
    }

    /// Where each association of a snapshot stands, in its order. What is not computed here is as Slurm shows it.
    pub(super) fn standings(
        &self,
        snapshot: &Snapshot,
        tree: &Tree,
        competitors: &Competitors,
    ) -> Vec<Standing> {
        let is_whole = tree.is_whole(snapshot);
        let mut active: Vec<bool> = competitors.waiting.iter().map(|jobs| *jobs > 0).collect();
        for node in tree.shape.nodes().rev() {
            if let (true, Some(parent)) = (active[node.index()], tree.shape.parent(node)) {
                active[parent.index()] = true;
            }
        }
        let of_one = |(place, association): (usize, &Association)| {
            let node = tree.node(place);
            let usage = node.map_or(association.usage, |node| tree.usage[node.index()]);
            match (&self.fair_share, &self.stock, node) {
                (Some(fair_share), _, Some(node)) if is_whole => self.standing(fair_share, tree, node, usage),
                (_, Some(stock), Some(node)) if is_whole => {
                    of_stock(&stock[node.index()], usage, active[node.index()])
                }
                _ => shown(association, usage),
            }
        };
        snapshot.associations.iter().enumerate().map(of_one).collect()
    }

    fn standing(&self, fair_share: &FairShare, tree: &Tree, node: Node, usage: f64) -> Standing {
        let competition = fair_share.competition();
        Standing {
            usage,
            shares_norm: tree.shape.shares_norm(node),
            usage_norm: competition.usage_norm(node),
            usage_effective: competition.usage_effective(&tree.shape, node),
            level_fs: Some(competition.level_fs(&tree.shape, node)),
            tickets: Some(fair_share.tickets(node)),
            level_share: Some(fair_share.level_share(&tree.shape, node)),
            active: competition.is_active(node),
            factor: if tree.shape.is_user(node) { self.factor_of_next(tree, node) } else { None },
        }
    }
}

fn of_stock(shown: &Shown, usage: f64, active: bool) -> Standing {
    Standing {
        usage,
        shares_norm: shown.norm_shares,
        // That of the root, which Slurm does not show.
        usage_norm: shown.norm_usage.unwrap_or(1.0),
        usage_effective: shown.effectv_usage,
        level_fs: shown.level_fs,
        tickets: None,
        level_share: None,
        active,
        factor: shown.factor,
    }
}

fn shown(association: &Association, usage: f64) -> Standing {
    Standing {
        usage,
        shares_norm: association.shares_norm,
        usage_norm: association.usage_norm,
        usage_effective: association.usage_effective,
        level_fs: association.level_fs,
        tickets: association.tickets,
        level_share: None,
        active: association.active.unwrap_or_default(),
        factor: association.factor,
    }
}

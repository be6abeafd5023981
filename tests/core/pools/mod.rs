//! The pools of tickets as the engine hands them out: against the known tables, against the model, between cycles, and what holds for
//! all input. Cases are described as the model takes them: a tree, settings, lines and jobs.

mod against_model;
mod by_hand;
mod cases;
mod compensated;
mod golden;
mod next;
mod promises;
mod properties;

use std::fmt::Write;

use multifactor2_core::policy::pools::{order, Extra, JobNames, JobTickets, Names, Pools, WaitingJob, Who};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree, USE_PARENT};
use multifactor2_fixtures::pools_model::{
    ModelConfig, ModelDilution, ModelDistribution, ModelJob, ModelKind, ModelObject, ModelShares, ModelTree,
};

/// Nice value 0 as Slurm keeps it.
const NICE_OFFSET: i64 = 0x8000_0000;

/// When the cycles are, as [`ModelJob::accrue`] counts.
const NOW: i64 = 1_000_000;

/// The engine with a tree.
pub struct Engine {
    pub tree: ShareTree,
    pub fair_share: FairShare,
    pub pools: Pools,
    /// By index in the list of the model.
    pub nodes: Vec<Node>,
    described: ModelTree,
}

pub fn settings(text: &str) -> Settings {
    Settings::parse(text, "test").unwrap_or_else(|errors| panic!("{text}\n{errors}")).settings
}

impl Engine {
    /// The pools are there whatever the settings: `AdminCommentTickets` sees to that.
    pub fn new(text: &str, described: &ModelTree) -> Self {
        let settings = settings(&format!("{text}\nAdminCommentTickets=yes\n"));
        let specs = described.nodes.iter().map(|node| NodeSpec {
            parent: node.parent.map(|parent| u32::try_from(parent).unwrap()),
            shares: node.shares.unwrap_or(USE_PARENT),
            user: node.user,
        });
        let tree = ShareTree::build(&specs.collect::<Vec<_>>());
        let nodes = (0..described.nodes.len()).map(|at| tree.position(at).expect("it is in the tree"));
        let nodes: Vec<Node> = nodes.collect();
        let mut fair_share = FairShare::new();
        fair_share.configure(&settings);
        let pools = Pools::configured(&settings).expect("more than the undiluted share tree");
        let mut engine = Self { tree, fair_share, pools, nodes, described: described.clone() };
        engine.begin();
        engine
    }

    fn begin(&mut self) {
        let Self { tree, pools, nodes, described, .. } = self;
        pools.begin(Date { year: 2026, month: 1, day: 1, ..Date::default() });
        let mut names = vec![Names::default(); tree.len()];
        for (row, node) in described.nodes.iter().zip(nodes) {
            names[node.index()] = if row.user {
                let account = &described.nodes[row.parent.unwrap()].name;
                Names { user: &row.name, account }
            } else {
                Names { user: "", account: &row.name }
            };
        }
        pools.learn(tree, |node| names[node.index()]);
    }

    /// The association of a job; none of the tree for one that is not there.
    pub fn node(&self, user: &str, account: &str) -> Node {
        let rows = &self.described.nodes;
        let is_it = |at: &usize| {
            let row = &rows[*at];
            row.user && row.name == user && row.parent.is_some_and(|parent| rows[parent].name == account)
        };
        (0..rows.len()).find(is_it).map_or_else(|| outside(&self.tree), |at| self.nodes[at])
    }

    fn extra(&mut self, job: &ModelJob) -> Extra {
        self.pools.extra(JobNames {
            partition: &job.partition,
            qos: &job.qos,
            wckey: &job.wckey,
            id: job.id,
            array: None,
            own: if has_line(job) { 0 } else { whole(job.own) },
        })
    }

    pub fn waiting(&mut self, job: &ModelJob) -> WaitingJob {
        let nice = u32::try_from(NICE_OFFSET + job.nice).unwrap();
        let age = (job.accrue != 0).then(|| u32::try_from(NOW - job.accrue).unwrap());
        let node = self.node(&job.user, &job.account);
        WaitingJob { node, id: job.id, order: order(nice, age), size: job.size, extra: self.extra(job) }
    }

    pub fn who(&mut self, job: &ModelJob) -> Who {
        let node = self.node(&job.user, &job.account);
        Who { node, extra: self.extra(job), size: job.size, count: 1 }
    }

    /// Hands out tickets to associations and to jobs. The tickets of every job, of those that run, too, in their order.
    pub fn cycle(&mut self, jobs: &[ModelJob]) -> Vec<JobTickets> {
        let waiting: Vec<WaitingJob> =
            jobs.iter().filter(|job| !job.running).map(|job| self.waiting(job)).collect();
        let running: Vec<Who> = jobs.iter().filter(|job| job.running).map(|job| self.who(job)).collect();
        let mut of_waiting = self.distribute(&waiting, &running).into_iter();
        let mut of_running =
            running.iter().map(|job| self.pools.of_running(&self.tree, &self.fair_share, *job));
        let mut next = |job: &ModelJob| if job.running { of_running.next() } else { of_waiting.next() };
        jobs.iter().map(|job| next(job).expect("one of each")).collect()
    }

    /// The same for jobs as the engine has them. Usage is the tree's.
    pub fn distribute(&mut self, waiting: &[WaitingJob], running: &[Who]) -> Vec<JobTickets> {
        let (mut usage, mut active) = (vec![0.0; self.tree.len()], vec![0; self.tree.len()]);
        for (row, node) in self.described.nodes.iter().zip(&self.nodes) {
            usage[node.index()] = row.usage;
        }
        for job in waiting {
            if let Some(jobs) = active.get_mut(job.node.index()) {
                *jobs += 1;
            }
        }
        self.fair_share.distribute(&self.tree, &usage, &active);
        let mut tickets = Vec::new();
        self.pools.distribute(&self.tree, &self.fair_share, waiting, running, &mut tickets);
        tickets
    }

    /// The tickets of a job that begins to wait now, and which counts from then on, as a submission does.
    pub fn submit(&mut self, job: &ModelJob) -> JobTickets {
        let who = self.who(job);
        let tickets = self.pools.of_next(&self.tree, &self.fair_share, who);
        self.fair_share.join(&self.tree, who.node);
        self.pools.join(&self.tree, &self.fair_share, who, tickets);
        tickets
    }

    pub fn factor(&self, tickets: JobTickets) -> f64 {
        self.pools.factor(tickets)
    }
}

/// A node that a tree does not have: the last of one that is larger.
fn outside(tree: &ShareTree) -> Node {
    let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
    specs.resize(tree.len() + 1, NodeSpec { parent: Some(0), shares: 1, user: true });
    ShareTree::build(&specs).position(tree.len()).expect("it is in the larger one")
}

/// Jobs with an even id have their own tickets by a line, the others by their comment.
fn has_line(job: &ModelJob) -> bool {
    job.id % 2 == 0
}

fn whole(tickets: f64) -> u32 {
    format!("{tickets}").parse().expect("a whole number")
}

/// `multifactor2.conf` for a case of the model.
pub fn text(config: &ModelConfig, objects: &[ModelObject], jobs: &[ModelJob]) -> String {
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let mut text = format!(
        "TicketsShare={}\nTicketsFunctional={}\nPolicyHierarchy={}\nCompensationFactor={}\nMaxFunctionalJobs={}\n\
         ShareFunctionalShares={}\nShareOverrideTickets={}\nDistribution={}\nDilution={}\nDilutionQuantum={}\nDilutionExponent={}\n\
         DilutionRunning={}\n",
        config.tickets_share,
        config.tickets_functional,
        config.hierarchy,
        config.compensation,
        config.max_functional_jobs,
        yes(config.share_functional),
        yes(config.share_override),
        match config.distribution {
            ModelDistribution::Tickets => "tickets",
            ModelDistribution::Standing => "standing",
        },
        match config.dilution {
            ModelDilution::None => "none",
            ModelDilution::User => "user",
            ModelDilution::Tree => "tree",
        },
        config.quantum,
        config.exponent,
        yes(config.count_running),
    );
    for (kind, weight) in ["User", "Account", "Department", "Job"].iter().zip(config.weights) {
        writeln!(text, "FunctionalWeight{kind}={weight}").unwrap();
    }
    for (kind, shares) in ["User", "Account", "Department"].iter().zip(&config.functional) {
        let everybody = ("*".to_owned(), shares.others);
        let named = shares.named.iter().map(|(name, shares)| (name.clone(), *shares));
        for (name, shares) in named.chain([everybody]) {
            let shares = match shares {
                ModelShares::Number(number) => number.to_string(),
                ModelShares::RawShares => "RawShares".to_owned(),
            };
            writeln!(text, "Functional={kind} Name={name} Shares={shares}").unwrap();
        }
    }
    for ModelObject { kind, name, tickets, shared } in objects {
        let kind = match kind {
            ModelKind::User => "User",
            ModelKind::Account => "Account",
            ModelKind::Parent => "Parent",
            ModelKind::Qos => "QOS",
            ModelKind::Partition => "Partition",
            ModelKind::WcKey => "WCKey",
        };
        write!(text, "Override={kind} Name={name} Tickets={tickets}").unwrap();
        let own = if *shared == config.share_override {
            String::new()
        } else {
            format!(" Shared={}", yes(*shared))
        };
        writeln!(text, "{own}").unwrap();
    }
    for job in jobs.iter().filter(|job| has_line(job) && job.own > 0.0) {
        writeln!(text, "Override=Job Name={} Tickets={}", job.id, job.own).unwrap();
    }
    text
}

/// The engine for a case of the model.
pub fn engine(config: &ModelConfig, tree: &ModelTree, objects: &[ModelObject], jobs: &[ModelJob]) -> Engine {
    Engine::new(&text(config, objects, jobs), tree)
}

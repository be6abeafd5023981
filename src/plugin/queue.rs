//! The jobs that get tickets of their own, where the settings ask for more than the share tree (see
//! [`multifactor2_core::policy::pools`]): collected job by job in a cycle, handed to the pools when the tickets of associations are
//! distributed.

use std::collections::HashMap;
use std::sync::Arc;

use multifactor2_core::policy::pools::{
    comment_tickets, order, Change, Extra, JobNames, JobTickets, Measure, OwnTickets, Pools, QueuedJob, Role,
    SizeFacts, Who,
};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, ShareTree};
use tracing::warn;

use super::waiting::Place;
use crate::host::access::Open;
use crate::host::clock::Local;
use crate::host::constants::{INFINITE, TRES_ARRAY_BILLING, TRES_ARRAY_CPU};
use crate::host::locks::{AssocLock, Levels};
use crate::host::log::Once;
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::Host;

/// What is read of a job for the pools.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    own: OwnTickets,
    measure: Measure,
    now: i64,
}

impl Reader {
    /// For the pools of these settings. Texts that no self-check pins are read only in releases that were compared.
    pub fn new(host: &Host, pools: &Pools, settings: &Settings, now: i64) -> Self {
        let mut own = pools.own_tickets();
        own.wckey &= host.verified;
        own.admin_comment &= host.verified;
        Self { own, measure: Measure::of(settings), now }
    }

    /// For sizes alone.
    pub fn of_sizes(settings: &Settings, now: i64) -> Self {
        Self { own: OwnTickets::default(), measure: Measure::of(settings), now }
    }

    /// The size of a job: of one that holds resources what it has, of any other what it requests.
    pub fn size<A: Open>(&self, job: Job<'_, A>) -> f64 {
        if self.measure.is_by_job() {
            return 1.0;
        }
        let holds = job.state().holds_resources();
        let tres = if holds { job.tres_allocated() } else { job.tres_requested() };
        let count = |at: usize| tres.and_then(|tres| tres.get(at)).copied().unwrap_or_default();
        #[allow(clippy::cast_precision_loss)] // seconds that a job may run
        let minutes_left = match job.limit_in_minutes() {
            INFINITE => None,
            _ if holds => Some((job.get(|job| job.end_time) - self.now) as f64 / 60.0),
            minutes => Some(f64::from(minutes)),
        };
        let facts =
            SizeFacts { cpus: count(TRES_ARRAY_CPU), billing: count(TRES_ARRAY_BILLING), minutes_left };
        self.measure.size(facts)
    }

    /// What a job has besides what its association has.
    pub fn extra<A: Open, V: Levels<Qos: Open>>(
        &self,
        pools: &mut Pools,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
    ) -> Extra {
        if self.own.none() {
            return Extra::default();
        }
        let job = job.read_only();
        let partition = if self.own.partition { job.first_partition() } else { None };
        let partition = partition.map(|partition| partition.text(|part| part.name));
        let qos = if self.own.qos { job.qos(lock) } else { None };
        let qos = qos.map(|qos| qos.text(|qos| qos.name));
        let wckey = self.own.wckey.then(|| job.wckey());
        pools.extra(JobNames {
            partition: partition.as_deref().unwrap_or_default(),
            qos: qos.as_deref().unwrap_or_default(),
            wckey: wckey.as_deref().unwrap_or_default(),
            id: job.get(|job| job.job_id),
            array: if self.own.id { job.array() } else { None },
            own: if self.own.admin_comment { tickets_in_comment(job) } else { 0 },
        })
    }
}

/// The tickets that the `AdminComment` of a job gives it, where the settings ask for that.
pub fn tickets_of_comment(settings: &Settings, job: Job<'_>) -> u32 {
    if settings.admin_comment_tickets && job.host().verified {
        tickets_in_comment(job)
    } else {
        0
    }
}

/// Comments that say something else of tickets than what is understood, once per cycle.
pub static BAD_COMMENT: Once = Once::new();

fn tickets_in_comment(job: Job<'_>) -> u32 {
    match comment_tickets(&job.admin_comment()) {
        Ok(tickets) => tickets.unwrap_or_default(),
        Err(word) => {
            if BAD_COMMENT.first() {
                warn!(
                    "the AdminComment of job {}, and perhaps of others, says {word:?}, which is ignored: write tickets=N once, N a whole number \
                     from 0 to 1000000",
                    job.get(|job| job.job_id)
                );
            }
            0
        }
    }
}

/// What became of a job that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafted {
    /// There is nothing to be done for it.
    Nothing,
    /// It has a draft that only says what is to be cleared.
    ToClear,
    /// It has a draft of its priority.
    Priority {
        /// Its nice value, shifted.
        nice: u32,
        /// Since how many seconds it gains age.
        age: Option<u32>,
    },
}

/// See the module.
#[derive(Debug)]
pub struct Queue {
    pub pools: Pools,
    pub reader: Reader,
    /// Lines of `Override=` that take effect with this cycle, or end.
    pub changes: Vec<Change>,
    /// The tree that the pools have known.
    pub known: Option<Arc<ShareTree>>,
    /// The pools have learnt what associations there are, or what lines are in force.
    pub is_taught: bool,
    /// One for every draft, with the place of its association.
    jobs: Vec<(Place, QueuedJob)>,
    running: Vec<(Place, Extra, f64)>,
    /// Those that run, alike ones together.
    alike: Vec<Who>,
}

impl Queue {
    /// Begins to collect about so many jobs; `None` where the share tree alone gives tickets. `pools` are those of the cycle before,
    /// with the tree that they know.
    pub fn begin(
        host: &Host,
        settings: &Settings,
        pools: Option<(Pools, Arc<ShareTree>)>,
        jobs: usize,
        now: i64,
    ) -> Option<Self> {
        let (pools, known) = pools.unzip();
        let mut pools = pools.or_else(|| Pools::configured(settings))?;
        let changes = Local::at(now).map(|now| pools.begin(now.date())).unwrap_or_default();
        let reader = Reader::new(host, &pools, settings, now);
        Some(Self {
            pools,
            reader,
            changes,
            known,
            is_taught: false,
            jobs: Vec::with_capacity(jobs),
            running: Vec::new(),
            alike: Vec::new(),
        })
    }

    /// A job holds resources.
    pub fn note_running<A: Open, V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        place: Place,
    ) {
        let extra = self.reader.extra(&mut self.pools, lock, job);
        self.running.push((place, extra, self.reader.size(job)));
    }

    /// A job has got a draft. It `waits`, or its user only might.
    pub fn note<A: Open, V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        place: Place,
        drafted: Drafted,
        waits: bool,
    ) {
        let id = job.get(|job| job.job_id);
        let queued = match drafted {
            Drafted::Nothing => return,
            Drafted::ToClear => None,
            // One for every draft, whatever happens.
            Drafted::Priority { nice, age } => attempt(|| QueuedJob {
                id,
                leader: job.het_leader().filter(|leader| *leader != id),
                node: None,
                extra: self.reader.extra(&mut self.pools, lock, job),
                role: match (job.state().is_pending(), waits) {
                    (true, true) => Role::Waits,
                    (true, false) => Role::Idle,
                    (false, _) => Role::Runs,
                },
                order: order(nice, age),
                size: self.reader.size(job),
            }),
        };
        let place = if queued.is_some() { place } else { Place::NONE };
        self.jobs.push((place, queued.unwrap_or_else(|| QueuedJob::none(id))));
    }

    /// Finds the associations of all jobs. No more jobs come.
    pub fn find(&mut self, node: impl Fn(Place) -> Option<Node>) {
        self.jobs.sort_unstable_by_key(|(_, job)| job.id);
        for (place, job) in &mut self.jobs {
            job.node = node(*place);
        }
        self.alike = self.running(node);
    }

    /// Hands out the tickets: to every job that has a draft, in the order of their ids.
    pub fn hand_out(self, tree: &ShareTree, fair_share: &FairShare) -> (Pools, Vec<JobTickets>) {
        let mut pools = self.pools;
        let mut jobs: Vec<QueuedJob> = self.jobs.into_iter().map(|(_, job)| job).collect();
        let tickets = pools.hand_out(tree, fair_share, &mut jobs, &self.alike);
        (pools, tickets)
    }

    /// Those that run, alike ones together.
    fn running(&self, node: impl Fn(Place) -> Option<Node>) -> Vec<Who> {
        let mut alike: HashMap<(Node, Extra), Who> = HashMap::new();
        for (place, extra, size) in &self.running {
            let Some(node) = node(*place) else { continue };
            let who = alike.entry((node, *extra)).or_insert(Who { node, extra: *extra, size: 0.0, count: 0 });
            who.size += size;
            who.count += 1;
        }
        let mut running: Vec<Who> = alike.into_values().collect();
        // One order for all runs, so that sums are the same.
        running.sort_unstable_by_key(|who| (who.node, who.extra));
        running
    }
}

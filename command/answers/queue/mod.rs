//! The queue: the order in which the scheduler will look at waiting jobs.

mod columns;
pub(super) mod text;
mod users;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{finite, job_name, Answer, Ask};
use crate::error::Error;
use crate::input::Needs;
use crate::model::order::{visible, Unknown};
use crate::model::{Addends, Model, Slot};
use crate::options::{own_name, Files, OfTime, Printed};
use crate::output::show::{printout, write_page};
use crate::output::{Described, Printout, Schema, Terminal};
use crate::progress::Progress;

pub use columns::{QueuePoints, QueueTickets};
pub use users::OfUser;

/// Show waiting jobs in the order in which the scheduler considers them
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 queue\n  multifactor2 queue -A c --partition main\n  multifactor2 queue -P -o position,job,priority\n  multifactor2 queue -o job,priority,addends"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    #[command(flatten)]
    pub filter: Filter,
    /// Only your jobs
    #[arg(long)]
    pub me: bool,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub printed: Printed,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "waiting jobs in the order in which the scheduler tries them, with their places";
    const EXAMPLE: &'static str = "multifactor2 queue -A c --partition main";
    const COLUMNS: &'static [&'static [Described]] = columns::ALL;

    fn schemas() -> Vec<Schema> {
        vec![QueueAnswer::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(&Needs::default(), &progress)?;
        let model = self.of.model(&snapshot)?;
        let mut filter = self.filter.clone();
        if self.me {
            filter.users.push(own_name()?);
        }
        let answer = queue(&model, &filter)?;
        match &self.files.html {
            Some(file) => write_page(&model, answer, &self.printed, ("The queue", file)),
            None => printout(&model, answer, self.of.form, &self.printed, terminal),
        }
    }
}

/// Which jobs are asked for: all where nothing is said, else those that meet every condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub struct Filter {
    /// Only jobs of these users
    #[arg(short, long = "user", value_name = "NAMES", value_delimiter = ',')]
    pub users: Vec<String>,
    /// Only jobs of these accounts
    #[arg(short = 'A', long = "account", value_name = "NAMES", value_delimiter = ',')]
    pub accounts: Vec<String>,
    /// Only these jobs
    // As [`Model::job_called`] finds them.
    #[arg(short, long = "job", value_name = "JOBS", value_delimiter = ',')]
    pub jobs: Vec<String>,
    /// Only jobs of these partitions
    #[arg(long = "partition", value_name = "NAMES", value_delimiter = ',')]
    pub partitions: Vec<String>,
}

impl Filter {
    fn asks_for_all(&self) -> bool {
        self.users.is_empty()
            && self.accounts.is_empty()
            && self.jobs.is_empty()
            && self.partitions.is_empty()
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueAnswer {
    /// Why places are not known; `None` if they are.
    pub unknown: Option<Unknown>,
    /// How many places the queue has: one for each partition of a job. If places are not known, the visible ones.
    pub places: usize,
    /// How many jobs are in it, where all tasks of an array that wait together are one.
    pub jobs: usize,
    /// The places that are asked for, in their order.
    pub rows: Vec<QueueRow>,
    /// What the jobs of each user have together, of those whose jobs are among these.
    pub users: Vec<OfUser>,
    /// Whose jobs are before the first of them in its partition, most first; only if not all jobs are asked for.
    pub ahead: Vec<Ahead>,
    /// Jobs that are asked for and are not in the queue: held, or their time has not come.
    pub outside: Vec<Outside>,
}

/// A job in one of its partitions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueRow {
    /// Its place in the whole queue, from 1; `None` if places are not known.
    pub position: Option<usize>,
    /// Its place among those of its partition, from 1; `None` if places are not known.
    pub rank: Option<usize>,
    /// As squeue shows it.
    pub job: String,
    /// Its id.
    pub id: u32,
    /// Its user.
    pub user: String,
    /// Its account.
    pub account: String,
    /// The partition.
    pub partition: String,
    /// The QOS.
    pub qos: String,
    /// The priority there: higher comes first.
    pub priority: u32,
    /// Its fair-share factor, from 0 to 1, where it is computed here.
    pub fair_share: Option<f64>,
    /// What the priority is the sum of; `None` if it is set by hand, or Slurm did not show it.
    pub addends: Option<Addends>,
    /// Its tickets, where they are known.
    pub tickets: Option<QueueTickets>,
    /// Its points, where the settings ask for some and they are known.
    pub points: Option<QueuePoints>,
    /// `PriorityTier` of the partition.
    pub tier: u32,
    /// Its reservation; empty for none.
    pub reservation: String,
    /// How many tasks wait together here.
    pub tasks: u64,
    /// Nodes that it asks for.
    pub nodes: u32,
    /// CPUs that it asks for.
    pub cpus: u32,
    /// Why it waits, as Slurm shows it.
    pub reason: String,
    /// When it was submitted, in seconds since 1970.
    pub submit: i64,
    /// When backfill expects it to start; 0 if it does not say.
    pub start: i64,
}

/// How much of what is before belongs to an account.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ahead {
    /// The account.
    pub account: String,
    /// Its jobs there, where all tasks of an array that wait together are one.
    pub jobs: usize,
    /// With all tasks.
    pub tasks: u64,
    /// CPUs that they ask for together.
    pub cpus: u64,
    /// Its part of the jobs there, from 0 to 1.
    pub part: f64,
}

/// A job that is not in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outside {
    /// As squeue shows it.
    pub job: String,
    /// Its user.
    pub user: String,
    /// Its account.
    pub account: String,
    /// Why, as Slurm shows it.
    pub reason: String,
}

impl Answer for QueueAnswer {
    const NAME: &'static str = "queue";
    const VERSION: u32 = 2;
}

/// Answers it.
///
/// # Errors
/// A job that is asked for does not wait.
pub fn queue(model: &Model<'_>, filter: &Filter) -> Result<QueueAnswer, Error> {
    let mut jobs = HashSet::new();
    for name in &filter.jobs {
        jobs.insert(model.job_called(name).ok_or_else(|| no_such_job(name))?);
    }
    let is_asked_for = |place: usize| {
        let job = &model.snapshot.jobs[place];
        (filter.jobs.is_empty() || jobs.contains(&place))
            && (filter.users.is_empty() || filter.users.contains(&job.user))
            && (filter.accounts.is_empty() || filter.accounts.contains(&job.account))
    };
    let in_partition = |partition: &str| {
        filter.partitions.is_empty() || filter.partitions.iter().any(|name| name == partition)
    };
    let order = model.queue();
    let (whole, visible) = (order.as_ref().ok(), visible(&order));
    let (mut ranks, mut rows): (HashMap<&str, usize>, Vec<QueueRow>) = (HashMap::new(), Vec::new());
    let mut first = None;
    for (at, slot) in visible.slots.iter().enumerate() {
        let partition = model.partition_of(slot);
        let rank = ranks.entry(partition).or_default();
        *rank += 1;
        if is_asked_for(slot.job) && in_partition(partition) {
            first = first.or(Some(at));
            rows.push(row(model, slot, whole.is_some().then_some((at + 1, *rank))));
        }
    }
    let outside = (0..model.jobs.len()).filter(|job| {
        !model.jobs[*job].is_eligible
            && is_asked_for(*job)
            && in_partition(&model.snapshot.jobs[*job].partition)
    });
    let ahead = match (whole, first) {
        (Some(whole), Some(first)) if !filter.asks_for_all() => {
            ahead(model, whole.before(model, first).into_iter())
        }
        _ => Vec::new(),
    };
    let asked: HashSet<&str> = rows.iter().map(|row| row.user.as_str()).collect();
    let users = users::of_users(model, &visible.slots, whole.is_some());
    let users = users.into_iter().filter(|user| asked.contains(user.user.as_str())).collect();
    Ok(QueueAnswer {
        users,
        unknown: order.as_ref().err().map(|partial| partial.why.clone()),
        places: visible.slots.len(),
        jobs: visible.slots.iter().map(|slot| slot.job).collect::<HashSet<_>>().len(),
        ahead,
        outside: outside.map(|job| self::outside(model, job)).collect(),
        rows,
    })
}

/// What to say of a job that does not wait.
pub fn no_such_job(name: &str) -> String {
    format!(
        "there is no waiting job {name}: see 'squeue -j {name}'. Running and ended jobs have no place in the queue, and \
         PrivateData=jobs hides the jobs of others"
    )
}

/// Whose they are, most first.
pub fn ahead<'q>(model: &Model<'_>, slots: impl Iterator<Item = &'q Slot>) -> Vec<Ahead> {
    let (mut accounts, mut all): (HashMap<&str, Ahead>, usize) = (HashMap::new(), 0);
    for slot in slots {
        let job = model.job_of(slot);
        let of_account = accounts.entry(&job.account).or_insert_with(|| Ahead {
            account: job.account.clone(),
            jobs: 0,
            tasks: 0,
            cpus: 0,
            part: 0.0,
        });
        let tasks = model.tasks(slot.job);
        of_account.jobs += 1;
        of_account.tasks = of_account.tasks.saturating_add(tasks);
        of_account.cpus = of_account.cpus.saturating_add(tasks.saturating_mul(u64::from(job.cpus)));
        all += 1;
    }
    let mut ahead: Vec<Ahead> = accounts.into_values().collect();
    for of_account in &mut ahead {
        #[allow(clippy::cast_precision_loss)] // counts of jobs
        let part = of_account.jobs as f64 / all as f64;
        of_account.part = finite(part);
    }
    ahead.sort_by(|a, b| b.jobs.cmp(&a.jobs).then_with(|| a.account.cmp(&b.account)));
    ahead
}

fn row(model: &Model<'_>, slot: &Slot, place: Option<(usize, usize)>) -> QueueRow {
    let (job, of_job) = (model.job_of(slot), &model.jobs[slot.job]);
    let qos = slot.entry.map_or(&job.qos, |entry| &of_job.entries[entry].qos);
    QueueRow {
        position: place.map(|(position, _)| position),
        rank: place.map(|(_, rank)| rank),
        job: job_name(model, slot.job),
        id: job.id,
        user: job.user.clone(),
        account: job.account.clone(),
        partition: model.partition_of(slot).to_owned(),
        qos: qos.clone(),
        priority: slot.priority,
        fair_share: of_job.factor,
        addends: model.addends_of(slot).filter(|_| !job.direct),
        tickets: QueueTickets::of(model, slot),
        points: of_job.points.as_ref().map(QueuePoints::of),
        tier: slot.tier,
        reservation: job.reservation.clone(),
        tasks: model.tasks(slot.job),
        nodes: job.nodes,
        cpus: job.cpus,
        reason: job.reason.clone(),
        submit: job.submit,
        start: job.start,
    }
}

fn outside(model: &Model<'_>, job: usize) -> Outside {
    let record = &model.snapshot.jobs[job];
    Outside {
        job: job_name(model, job),
        user: record.user.clone(),
        account: record.account.clone(),
        reason: record.reason.clone(),
    }
}

//! What a job costs in each account of the user: the usage that it adds, and how far that lowers the fair-share factor.

mod limits;
mod text;
mod turn;

use multifactor2_core::settings::UsageMeasure;
use multifactor2_snapshot::records::{Association, Job};
use schemars::JsonSchema;
use serde::Serialize;

use super::queue::no_such_job;
use super::why::asked_as;
use super::{job_name, Answer, Ask};
pub use limits::Reached;
use limits::{Asked, Known};
use crate::error::Error;
use crate::input::texts::Texts;
use crate::input::Needs;
use crate::model::billing::{self, Billed, Rule};
use crate::model::{Model, TreeWindows};
use crate::options::{own_name, OfTime, Printed};
use crate::output::show::printout;
use crate::output::{Printout, Schema, Terminal};
use crate::progress::Progress;
use crate::submission::{associations_of, default_account, JobOptions};

/// Those of [`JobOptions`].
const JOB_OPTIONS: [&str; 10] =
    ["account", "partitions", "qos", "ntasks", "cpus_per_task", "nodes", "mem", "gres", "gpus", "time"];

/// Show how much usage a job adds, how far that lowers the fair-share factor, and which account would give it the highest priority
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 cost 1001\n  multifactor2 cost --as user2 -A c -p main -c 8 --mem 16G -t 1-0"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// A waiting job, as squeue shows it
    #[arg(value_name = "JOB", conflicts_with_all = JOB_OPTIONS)]
    pub job: Option<String>,
    #[command(flatten)]
    pub options: JobOptions,
    /// The submitting user [default: you]
    #[arg(long = "as", value_name = "USER", conflicts_with = "job")]
    pub submitter: Option<String>,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "how much a job adds to usage, by TRES, and lowers the factor, in each account of the user";
    const EXAMPLE: &'static str = "multifactor2 cost 1001";

    fn schemas() -> Vec<Schema> {
        vec![Cost::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let submitter = || self.submitter.clone().map_or_else(own_name, Ok);
        let (now, limits_of) = match &self.job {
            Some(job) => (vec![asked_as(job)?], Vec::new()),
            None => (Vec::new(), vec![submitter()?]),
        };
        let needs = Needs { now, limits_of: Some(limits_of), ..Needs::of_qos() };
        let (snapshot, texts) = self.of.snapshot_with_texts(&needs, &progress)?;
        let model = self.of.model(&snapshot)?;
        let cost = match &self.job {
            Some(job) => of_job(&model, texts.as_ref(), job)?,
            None => of_options(&model, texts.as_ref(), &self.options, &submitter()?)?,
        };
        printout(&model, cost, self.of.form, &Printed::default(), terminal)
    }
}

/// Each account takes a separate model.
const MOST_ACCOUNTS: usize = 8;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The job as squeue shows it; empty for one that is not submitted.
    pub job: String,
    /// Its user.
    pub user: String,
    /// Its account.
    pub account: String,
    /// The partition whose `TRESBillingWeights` count.
    pub partition: String,
    /// Its QOS.
    pub qos: String,
    /// Its time limit in seconds; `None` if it has none.
    pub seconds: Option<u64>,
    /// How TRES are added up.
    pub rule: Rule,
    /// TRES that it asks for or that have a weight.
    pub tres: Vec<Billed>,
    /// What it is billed for each second.
    pub billing: f64,
    /// `UsageFactor` of its QOS.
    pub usage_factor: f64,
    /// What `Charge` lines multiply in its account; 1 without any.
    pub charge_factor: f64,
    /// The usage that it adds if it runs until its limit, in seconds times billing; `None` without a limit.
    pub usage: Option<f64>,
    /// The accounts of the user, the one where the job would have the highest priority first; of equal ones that where it costs least.
    /// Where neither is known, in the order of the tree.
    pub accounts: Vec<Account>,
    /// What was assumed, and what cannot be known, one sentence each.
    pub remarks: Vec<String>,
}

/// The cost in an account.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Account {
    /// The account.
    pub account: String,
    /// The partition that the association is for; empty for all.
    pub partition: String,
    /// The job is, or is to be, submitted to it.
    pub asked: bool,
    /// What `Charge` lines multiply there; 1 without any.
    pub charge_factor: f64,
    /// The fair-share factor of the next job now, from 0 to 1.
    pub factor_before: Option<f64>,
    /// The same once the job has run until its limit, all else being as now.
    pub factor_after: Option<f64>,
    /// What that takes from each priority: the difference times `PriorityWeightFairShare`.
    pub priority_lost: Option<f64>,
    /// The priority that the job would have there at the next calculation; `None` if it is not known, or the job has no turn.
    pub priority: Option<u32>,
    /// Its place in the partition then, from 1; `None` if the whole queue is not known.
    pub rank: Option<usize>,
    /// How many would wait in the partition.
    pub of: Option<usize>,
    /// The visible limits that would hold or refuse it there now; `None` if it is not known whether one would.
    pub limits: Option<Vec<Reached>>,
}

impl Answer for Cost {
    const NAME: &'static str = "cost";
    const VERSION: u32 = 2;
}

/// Answers it for a job that waits. `texts`: what Slurm said, which has limits.
///
/// # Errors
/// It does not wait, or its user is not known.
pub fn of_job(model: &Model<'_>, texts: Option<&Texts>, name: &str) -> Result<Cost, Error> {
    let place = model.job_called(name).ok_or_else(|| no_such_job(name))?;
    let job = &model.snapshot.jobs[place];
    let mut cost = cost(model, texts, (job, Some(place)), Vec::new())?;
    cost.job = job_name(model, place);
    if job.tres.is_empty() {
        cost.remarks.push("The TRES that the job requests are not known here.".to_owned());
    }
    let tasks = model.tasks(place);
    if tasks > 1 {
        cost.remarks.push(format!("This is the cost of one of its {tasks} tasks."));
    }
    Ok(cost)
}

/// Answers it for a job that a user could submit. `texts`: what Slurm said, which has limits.
///
/// # Errors
/// See [`JobOptions::job`].
pub fn of_options(
    model: &Model<'_>,
    texts: Option<&Texts>,
    options: &JobOptions,
    user: &str,
) -> Result<Cost, Error> {
    let mut options = options.clone();
    // What is billed is the same in all accounts, so any of them does.
    let is_any = options.account.is_none() && {
        let of_user = associations_of(model.snapshot, user)?;
        let is_any = default_account(&of_user).is_none();
        options.account = of_user.first().filter(|_| is_any).map(|one| one.account.clone());
        is_any
    };
    let submission = options.job(model.snapshot, user, model.at)?;
    let mut cost = cost(model, texts, (&submission.job, None), submission.assumed)?;
    if is_any {
        cost.accounts.iter_mut().for_each(|account| account.asked = false);
        cost.remarks.push(format!(
            "The default account of {user} is not known here, so {} is assumed. Give another with -A.",
            cost.account
        ));
    }
    Ok(cost)
}

/// `place`: that of the job in the snapshot, where it waits.
fn cost(
    model: &Model<'_>,
    texts: Option<&Texts>,
    (job, place): (&Job, Option<usize>),
    mut remarks: Vec<String>,
) -> Result<Cost, Error> {
    let snapshot = model.snapshot;
    let partition = snapshot.partitions.iter().find(|partition| partition.name == job.partition);
    if partition.is_none() {
        remarks.push(format!(
            "Partition {} is not visible, so no TRESBillingWeights are assumed.",
            job.partition
        ));
    }
    if job.partitions.len() > 1 {
        remarks.push(format!(
            "The job may run in any of several partitions: this is its cost in {}.",
            job.partition
        ));
    }
    let bill = billing::bill(snapshot, partition, &job.tres);
    for item in &bill.unread {
        remarks.push(format!("'{item}' of TRESBillingWeights cannot be read and is ignored here."));
    }
    let usage_factor = usage_factor(model, job, &mut remarks);
    let seconds = Model::minutes(job, partition).map(|minutes| 60 * u64::from(minutes));
    #[allow(clippy::cast_precision_loss)] // seconds
    let plain = seconds.map(|seconds| seconds as f64 * bill.billing * usage_factor);
    let charge_factor =
        model.tree.by_id(job.association).map_or(1.0, |place| model.charge_factor(place, job));
    let usage = plain.map(|usage| usage * charge_factor);
    if model.charges_by_the_clock() {
        remarks.push(
            "Charge lines with Days or Hours also multiply usage while they apply; they are left out here.".to_owned(),
        );
    }
    if usage.is_none() {
        remarks.push("The job has no time limit, so its usage is unbounded: give one with -t.".to_owned());
    }
    let why_not = why_not(model);
    let weigh = plain.filter(|_| why_not.is_none());
    let has_turn = why_not.is_none() && !job.direct && (place.is_none() || job.priority > 0);
    remarks.extend(why_not);
    if weigh.is_some() {
        let (when, what) = match model.tree.windows {
            Some(_) => ("in the current window", "later windows"),
            None => ("now", "decay"),
        };
        remarks.push(format!(
            "This assumes that all of it is used {when} and nobody else uses anything: {what} and the usage of others reduce the \
             effect. A job that ends earlier costs less, one that gets whole nodes more."
        ));
    }
    let of_user = associations_of(snapshot, &job.user)?;
    let is_for = |one: &Association| one.partition == job.partition;
    let takes = |one: &&&Association| {
        // One for the partition comes before one for all.
        let has_own = || of_user.iter().any(|other| other.account == one.account && is_for(other));
        is_for(one) || one.partition.is_empty() && !has_own()
    };
    let own: Vec<&Association> = of_user.iter().filter(takes).copied().collect();
    let mut accounts: Vec<Account> = own.iter().map(|one| account(model, one, job, weigh)).collect();
    if has_turn && accounts.len() > MOST_ACCOUNTS {
        remarks.push(format!("Priorities are not computed for more than {MOST_ACCOUNTS} accounts."));
    } else if has_turn {
        for (account, turn) in accounts.iter_mut().zip(turn::in_each(model, (job, place), &own)) {
            if let Some(turn) = turn {
                account.priority = Some(turn.priority);
                (account.rank, account.of) = turn.place.unzip();
            }
        }
    }
    let asked = Asked { job, billing: bill.billing, seconds, usage_factor, is_submitted: place.is_some() };
    remarks.extend(look_at_limits(model, texts, &asked, accounts.iter_mut().zip(&own)));
    accounts.sort_by(|a, b| {
        let lost = |account: &Account| account.priority_lost.unwrap_or(f64::INFINITY);
        let factor = |account: &Account| account.factor_after.unwrap_or_default();
        let by_priority = b.priority.cmp(&a.priority);
        by_priority.then_with(|| lost(a).total_cmp(&lost(b))).then_with(|| factor(b).total_cmp(&factor(a)))
    });
    Ok(Cost {
        job: String::new(),
        user: job.user.clone(),
        account: job.account.clone(),
        partition: job.partition.clone(),
        qos: job.qos.clone(),
        seconds,
        rule: bill.rule,
        tres: bill.tres,
        billing: bill.billing,
        usage_factor,
        charge_factor,
        usage,
        accounts,
        remarks,
    })
}

fn usage_factor(model: &Model<'_>, job: &Job, remarks: &mut Vec<String>) -> f64 {
    let known = model.usage_factor(&job.qos);
    if known.is_none() && !job.qos.is_empty() {
        remarks.push(format!("QOS {} is not known here, so UsageFactor 1 is assumed.", job.qos));
    }
    known.unwrap_or(1.0)
}

/// Why the factor after the job cannot be known.
fn why_not(model: &Model<'_>) -> Option<String> {
    let settings = model.config.settings.as_ref();
    if model.whole_tree().is_none() {
        return Some(
            "Some associations or waiting jobs are hidden, so the effect on the factor cannot be computed."
                .to_owned(),
        );
    }
    if model.tree.windows.as_ref().is_some_and(TreeWindows::are_lost) {
        return Some(
            "The usage of each window (TreeUsage=window) is not known for this time, so the effect on the factor cannot be computed."
                .to_owned(),
        );
    }
    if !model.shares.is_computed() {
        return Some(
            "The plugin or its settings are not known here, so the effect on the factor cannot be computed: give \
             multifactor2.conf with --conf, or a snapshot of the plugin with --from."
                .to_owned(),
        );
    }
    if settings.is_some_and(|settings| settings.usage_measure == UsageMeasure::Dominant) {
        return Some(
            "With UsageMeasure=dominant shares use the TRES with the most usage, so the effect on the factor cannot be computed."
                .to_owned(),
        );
    }
    None
}

fn account(model: &Model<'_>, association: &Association, job: &Job, usage: Option<f64>) -> Account {
    let place = model.tree.by_id(association.id);
    let node = place.and_then(|place| model.tree.node(place));
    let book = model.book_of(&job.partition);
    let before = place.and_then(|place| model.standings_in(book)[place].factor);
    let charge_factor = place.map_or(1.0, |place| model.charge_factor(place, job));
    let after = usage.zip(place).zip(node).and_then(|((usage, place), node)| {
        let tree = model.whole_tree()?;
        let measured = tree.measured_with(book, place, usage * charge_factor);
        model.shares.with_usage(&model.config, tree, book, &measured).factor_of_next(node)
    });
    let lost = before.zip(after).map(|(before, after)| before - after);
    Account {
        account: association.account.clone(),
        partition: association.partition.clone(),
        asked: association.id == job.association,
        charge_factor,
        factor_before: before,
        factor_after: after,
        priority_lost: lost.map(|lost| lost * f64::from(model.config.factors.weights.fair_share)),
        priority: None,
        rank: None,
        of: None,
        limits: None,
    }
}

/// Looks at the limits in each account; what cannot be known of them.
fn look_at_limits<'a>(
    model: &Model<'_>,
    texts: Option<&Texts>,
    asked: &Asked<'_>,
    accounts: impl Iterator<Item = (&'a mut Account, &'a &'a Association)>,
) -> Option<String> {
    let told = match limits::told(model, texts, asked.job) {
        Known::NotEnforced => {
            accounts.for_each(|(account, _)| account.limits = Some(Vec::new()));
            return None;
        }
        Known::Not(why) => return Some(format!("Limits of accounts, users and QOS are not known here, because {why}: one of them \
         may hold the job.")),
        Known::Told(told) => told,
    };
    let mut hidden = Vec::new();
    for (account, association) in accounts {
        // Where it waits already it is counted.
        let is_submitted = asked.is_submitted && account.asked;
        account.limits = told.reached(association.id, &Asked { is_submitted, ..*asked });
        if account.limits.is_none() {
            hidden.push(account.account.clone());
        }
    }
    let accounts = hidden.join(", ");
    (!hidden.is_empty()).then(|| format!("Some limits for {accounts} are hidden: one of them may hold the job there."))
}

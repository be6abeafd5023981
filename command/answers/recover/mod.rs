//! How long a fair-share factor takes to reach a value once the user stops. Nobody knows what other users will do, so each stated
//! assumption about them has its own answer.

mod course;
mod text;
mod times;
mod turns;

use multifactor2_core::calendar::ResetPeriod;
use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::settings::UsageMeasure;
use multifactor2_core::Node;
use schemars::{json_schema, JsonSchema, SchemaGenerator};
use serde::{Serialize, Serializer};
use slurm_text::dates::{TimeZone, Zone};

use self::course::Course;
pub(super) use self::times::HALF_LIVES;
pub use self::turns::turns;
use super::{Answer, Ask};
use crate::error::Error;
use crate::input::Needs;
use crate::model::{Model, WholeTree};
use crate::options::{own_name, OfTime, Printed};
use crate::output::show::printout;
use crate::output::{Printout, Schema, Terminal};
use crate::output::numbers::{number, span, time};
use crate::progress::Progress;
use crate::submission::associations_of;

/// Show how long a fair-share factor takes to reach a value
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 recover\n  multifactor2 recover user2\n  multifactor2 recover user2@c --to 0.9 --running-on"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    #[command(flatten)]
    pub asked: Asked,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "when a fair-share factor reaches a value, if all users stop or if the others continue";
    const EXAMPLE: &'static str = "multifactor2 recover user2";

    fn schemas() -> Vec<Schema> {
        vec![Recover::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(&Needs::of_qos(), &progress)?;
        let model = self.of.model(&snapshot)?;
        printout(&model, recover(&model, &self.asked)?, self.of.form, &Printed::default(), terminal)
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, clap::Args)]
#[group(skip)]
pub struct Asked {
    /// USER or USER@ACCOUNT, such as ann@chem [default: you]
    #[arg(value_name = "USER")]
    pub who: Option<String>,
    /// The factor to reach, from 0 to 1
    #[arg(long, value_name = "FACTOR", default_value_t = 0.5)]
    pub to: f64,
    /// Assume that the user keeps running what runs now
    #[arg(long)]
    pub running_on: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recover {
    /// The user.
    pub user: String,
    /// The factor to reach, from 0 to 1.
    pub to: f64,
    /// `PriorityDecayHalfLife` in seconds; 0 for no decay.
    pub half_life: u32,
    /// The windows whose usage shares use, with `TreeUsage=window`; the half-life then does not affect the factor.
    pub windows: Option<Windows>,
    /// When `PriorityUsageResetPeriod` next sets all usage to 0.
    pub reset: Option<Reset>,
    /// Each account of the user, in each book in which the user has used something or waits.
    pub accounts: Vec<Account>,
    /// What is assumed, and what cannot be known, one sentence each.
    pub remarks: Vec<String>,
}

/// Windows of usage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Windows {
    /// `TreeWindow`: seconds of each.
    pub length: i64,
    /// `TreeDepth`: how many count.
    pub depth: usize,
    /// `TreeDecay`: how much one counts, relative to the next younger one.
    pub decay: f64,
    /// When the next one begins, in seconds since 1970.
    pub next: i64,
}

/// A reset of all usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reset {
    /// How often: daily, weekly, monthly, quarterly or yearly.
    #[serde(serialize_with = "word")]
    #[schemars(schema_with = "words")]
    pub period: ResetPeriod,
    /// The next one, in seconds since 1970.
    pub at: i64,
}

impl Reset {
    /// The next one, where `PriorityUsageResetPeriod` has one.
    pub(super) fn next(model: &Model<'_>) -> Option<Self> {
        let period = ResetPeriod::read(model.snapshot.parameter("PriorityUsageResetPeriod")?)?;
        Some(Self { period, at: period.next(model.at, &Zone(&TimeZone::system()))? })
    }

    /// As a sentence.
    pub(super) fn sentence(self) -> String {
        let period = described(self.period);
        format!("PriorityUsageResetPeriod sets the usage of everybody to 0 {period}, next on {}.", time(self.at))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks for it
fn word<S: Serializer>(period: &ResetPeriod, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&period.word().to_ascii_lowercase())
}

fn words(_: &mut SchemaGenerator) -> schemars::Schema {
    let repeated = ResetPeriod::ALL.into_iter().filter(|period| period.repeats());
    let words: Vec<String> = repeated.map(|period| period.word().to_ascii_lowercase()).collect();
    json_schema!({ "type": "string", "enum": words })
}

/// In words, as in "reset ...".
fn described(period: ResetPeriod) -> &'static str {
    match period {
        ResetPeriod::None => "never",
        ResetPeriod::Now => "once",
        ResetPeriod::Daily => "each day",
        ResetPeriod::Weekly => "each Sunday",
        ResetPeriod::Monthly => "each month",
        ResetPeriod::Quarterly => "each quarter",
        ResetPeriod::Yearly => "each year",
    }
}

/// A user in an account.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Account {
    /// The account.
    pub account: String,
    /// The partition that the association is for; empty for all.
    pub partition: String,
    /// The book whose partitions this is about; `None` if there are no books.
    pub book: Option<String>,
    /// The factor of the next job now, from 0 to 1.
    pub factor: f64,
    /// Forecasts, by what others do.
    pub courses: Vec<Scenario>,
}

/// What others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    /// Nobody runs anything.
    Stop,
    /// Each uses as much as decays, so that its usage stays as it is.
    KeepUsage,
    /// The running jobs continue, and jobs of the same size follow them.
    RunOn,
}

impl Others {
    /// As a sentence.
    pub fn described(self) -> &'static str {
        match self {
            Self::Stop => "If everybody stops",
            Self::KeepUsage => "If all others keep their usage",
            Self::RunOn => "If all others keep running what they run now",
        }
    }
}

/// A forecast of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scenario {
    /// What others do.
    pub others: Others,
    /// Seconds from now until the factor is reached; 0 if it is now, `None` if it is not in the time looked at.
    pub reached: Option<i64>,
    /// It is reached because all usage is reset then.
    pub by_reset: bool,
    /// The answer in plain language.
    pub sentence: String,
    /// The factor from now on.
    pub points: Vec<Point>,
}

/// A factor at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Seconds from now.
    pub after: i64,
    /// The factor then, from 0 to 1.
    pub factor: f64,
}

impl Answer for Recover {
    const NAME: &'static str = "recover";
}

/// Answers it.
///
/// # Errors
/// There is no such user, or fair-share is not computed here.
pub fn recover(model: &Model<'_>, asked: &Asked) -> Result<Recover, Error> {
    if !(0.0..=1.0).contains(&asked.to) {
        return Err(format!("--to {}: give a factor from 0 to 1", asked.to).into());
    }
    let who = asked.who.clone().map_or_else(own_name, Ok)?;
    let (user, account) =
        who.split_once('@').map_or((who.as_str(), None), |(user, account)| (user, Some(account)));
    let all = associations_of(model.snapshot, user)?;
    let windows = model.tree.windows.as_ref();
    if windows.is_some_and(|windows| !windows.are_known()) {
        return Err(UNTOLD.into());
    }
    let Some(tree) = model.whole_tree().filter(|_| model.shares.is_computed()) else {
        return Err("fair-share cannot be computed here, because settings, associations or waiting jobs are not known: give multifactor2.conf with --conf, \
                    ask as an operator, or use a snapshot of the plugin with --from".into());
    };
    let places: Vec<(usize, Node)> = all
        .iter()
        .filter_map(|one| model.tree.by_id(one.id))
        .filter_map(|place| model.tree.node(place).map(|node| (place, node)))
        .collect();
    let users: Vec<Node> = places.iter().map(|(_, node)| *node).collect();
    let half_life = model.config.half_life;
    let reset = Reset::next(model);
    let assumptions = assumptions(model);
    let mut accounts = Vec::new();
    for (place, node) in &places {
        let association = &model.snapshot.associations[*place];
        if account.is_some_and(|account| account != association.account) {
            continue;
        }
        let is_there = |book: &BookAt| {
            let standing = &model.standings_in(*book)[*place];
            *book == BookAt::DEFAULT || standing.usage > 0.0 || standing.active
        };
        for book in BookSet::from_numbers(0..=model.config.books.names().len()).iter().filter(is_there) {
            let courses = assumptions.iter().map(|others| {
                let course = Course::new(model, &users, (*others, asked.running_on), book);
                Look { model, tree, course, book, node: *node, asked, reset, others: *others }.scenario()
            });
            accounts.push(Account {
                account: association.account.clone(),
                partition: association.partition.clone(),
                book: model.book_name(book).map(str::to_owned),
                factor: model.shares.in_book(book).factor_of_next(*node).unwrap_or_default(),
                courses: courses.collect(),
            });
        }
    }
    if let (true, Some(account)) = (accounts.is_empty(), account) {
        return Err(format!("user {user} has no association with account {account}").into());
    }
    let remarks = remarks(model, asked, reset, assumptions.contains(&Others::RunOn));
    let windows = windows.map(|windows| Windows {
        length: windows.length(),
        depth: windows.depth(),
        decay: windows.decay(),
        next: windows.begin_after(1),
    });
    Ok(Recover { user: user.to_owned(), to: asked.to, half_life, windows, reset, accounts, remarks })
}

/// Where windows are missing.
pub(super) const UNTOLD: &str = "shares use windows (TreeUsage=window), and the snapshot lacks the usage of each window";

/// What is billed of jobs that run is not always known; dominant shares cannot be told from it.
fn assumptions(model: &Model<'_>) -> Vec<Others> {
    let mut assumptions = vec![Others::Stop];
    if model.config.half_life > 0 || model.tree.windows.is_some() {
        assumptions.push(Others::KeepUsage);
    }
    let is_billed = model.snapshot.running.iter().any(|running| running.billing > 0.0);
    if is_billed && !is_dominant(model) {
        assumptions.push(Others::RunOn);
    }
    assumptions
}

fn is_dominant(model: &Model<'_>) -> bool {
    model.config.settings.as_ref().is_some_and(|settings| settings.usage_measure == UsageMeasure::Dominant)
}

fn remarks(model: &Model<'_>, asked: &Asked, reset: Option<Reset>, runs: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(windows) = &model.tree.windows {
        remarks.push(windows.described());
        remarks.push(format!(
            "The next window begins on {} and takes effect at the first calculation after that.",
            time(windows.begin_after(1))
        ));
        remarks.extend(reset.map(Reset::sentence));
    } else if model.config.half_life == 0 {
        remarks.push(match reset {
            Some(reset) => format!("PriorityDecayHalfLife is 0: usage does not decay. {}", reset.sentence()),
            None => "PriorityDecayHalfLife is 0 and PriorityUsageResetPeriod is not set: usage never decreases by itself. A \
             factor rises only if others use more. An administrator can reset usage with sacctmgr (RawUsage=0)."
                .to_owned(),
        });
    } else if let Some(reset) = reset {
        remarks.push(reset.sentence());
    }
    remarks.push(
        if asked.running_on {
            "The user's running jobs continue, jobs of the same size follow them, and the user starts nothing else."
        } else {
            "The user runs nothing from now on."
        }
        .to_owned(),
    );
    if model.config.stock.is_none() {
        remarks.push("The same users as now have waiting jobs.".to_owned());
    }
    if !runs {
        remarks.push(
            "The billing of running jobs is not known here, so there is no forecast for the case that they continue."
                .to_owned(),
        );
    }
    if is_dominant(model) {
        remarks.push("With UsageMeasure=dominant the numbers are approximate.".to_owned());
    }
    remarks
}

/// One assumption, looked at.
struct Look<'l> {
    model: &'l Model<'l>,
    tree: WholeTree<'l>,
    course: Course<'l>,
    book: BookAt,
    node: Node,
    asked: &'l Asked,
    reset: Option<Reset>,
    others: Others,
}

impl Look<'_> {
    /// The factor after this number of seconds, without a reset.
    fn factor(&self, after: i64) -> f64 {
        let Model { config, shares, .. } = self.model;
        let shares = shares.with_usage(config, self.tree, self.book, &self.course.usage(after));
        shares.factor_of_next(self.node).unwrap_or_default()
    }

    fn scenario(self) -> Scenario {
        let to = self.asked.to;
        let end = self.course.horizon();
        let until_reset = self.reset.map(|reset| reset.at - self.model.at);
        let end = until_reset.map_or(end, |reset| reset.clamp(1, end));
        let mut points = vec![Point { after: 0, factor: self.factor(0) }];
        let mut reached = (points[0].factor >= to).then_some(0);
        if !self.course.changes_nothing() {
            let mut before = 0;
            for after in self.course.times(end) {
                let factor = self.factor(after);
                points.push(Point { after, factor });
                if reached.is_none() && factor >= to {
                    reached = Some(self.course.first_in(before, after, |middle| self.factor(middle) >= to));
                }
                // A little further than where it is reached.
                if reached.is_some_and(|reached| reached > 0 && after > reached + reached / 3) {
                    break;
                }
                before = after;
            }
        }
        let by_reset =
            reached.is_none() && self.factor_after_reset(until_reset, end).is_some_and(|factor| factor >= to);
        let reached = if by_reset { until_reset } else { reached };
        let sentence = self.sentence(reached, by_reset, &points, end);
        Scenario { others: self.others, reached, by_reset, sentence, points }
    }

    /// The factor where nobody has used anything, if a reset is in the time that is looked at.
    fn factor_after_reset(&self, until_reset: Option<i64>, end: i64) -> Option<f64> {
        let Model { config, shares, .. } = self.model;
        until_reset.filter(|reset| *reset <= end)?;
        let nothing = vec![0.0; self.tree.shape.len()];
        shares.with_usage(config, self.tree, self.book, &nothing).factor_of_next(self.node)
    }

    fn sentence(&self, reached: Option<i64>, by_reset: bool, points: &[Point], end: i64) -> String {
        let (to, others) = (number(self.asked.to), self.others.described());
        let last = number(points.last().map_or(0.0, |point| point.factor));
        match reached {
            Some(0) => match points.iter().find(|point| point.factor < self.asked.to) {
                Some(below) => format!(
                    "The factor is at least {to} already. {others}, it is below that again in {}.",
                    span(below.after)
                ),
                None => format!("The factor is at least {to} already."),
            },
            Some(seconds) if by_reset => format!(
                "{others}, the factor reaches {to} when all usage is reset in {}, on {}.",
                span(seconds),
                time(self.model.at + seconds)
            ),
            Some(seconds) => format!(
                "{others}, the factor reaches {to} in {}, on {}.",
                span(seconds),
                time(self.model.at.saturating_add(seconds))
            ),
            None if self.course.changes_nothing() => {
                let why = self.course.why_nothing();
                format!("{others}, the factor stays at {last}: it depends on fractions of all usage, and {why}.")
            }
            None => {
                format!("{others}, the factor does not reach {to} within {}: it is {last} then.", span(end))
            }
        }
    }
}

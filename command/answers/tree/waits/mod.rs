//! `multifactor2 tree --waits`: waits of the jobs that finished since a date, by node of today's tree. Priorities exist to shape waits;
//! this shows the result, as `showstats -T` of Moab does.
//!
//! A job counts at its association, or, if that is gone, at its account and user by name. Jobs without a place in today's tree have
//! separate rows, so that all rows add up to what sacct shows. Each job is kept as its wait in four bytes: percentiles are exact, and ten
//! million jobs take 40 to 80 megabytes.

mod read;
mod sums;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use self::read::{Found, Outcome, COLUMNS as ASKED};
use self::sums::Forest;
use super::{Arguments, Filter};
use crate::answers::replay::months;
use crate::answers::Answer;
use crate::error::Error;
use crate::input::accounting::{self, lacks_jobs, OfSlurmdbd};
use crate::input::ask::{own_uid, refused, Until};
use crate::input::{self, commands};
use crate::model::Model;
use crate::options::{date, own_name};
use crate::output::numbers::{count, time};
use crate::output::show::{self, write_page};
use crate::output::{Printout, Terminal};
use crate::progress::Progress;

pub use text::COLUMNS;

/// So often it is said how many were read.
const OFTEN: u64 = 5000;

/// `--waits`, and since when.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub struct History {
    /// Show how many jobs finished, what they used and how long they waited, according to sacct
    #[arg(long, requires = "since", conflicts_with_all = ["from", "save", "anonymise", "conf", "at", "svg", "targets", "windows"])]
    pub waits: bool,
    /// Only jobs that finished since YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or a time such as now-30days
    #[arg(long, value_name = "DATE", requires = "waits")]
    pub since: Option<String>,
}

impl History {
    /// From when on jobs have finished, in seconds since 1970; `None` if that is not asked for.
    ///
    /// # Errors
    /// It is no date, or one to come.
    pub fn since(&self) -> Result<Option<i64>, Error> {
        let Some(text) = &self.since else { return Ok(None) };
        let now = now();
        let since = if text.starts_with("now") { months::time(text, now) } else { date(text) };
        match since.filter(|since| *since >= 0) {
            None => Err(Error::Question(format!(
                "--since {text}: give a date YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or a time such as now-30days"
            ))),
            Some(since) if since >= now => {
                Err(Error::Question(format!("--since {text}: nothing has finished since then: give a date before now")))
            }
            since => Ok(since),
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Waits {
    /// From when on jobs have finished, in seconds since 1970.
    pub since: i64,
    /// Before when.
    pub until: i64,
    /// All that are asked for, each account before what is below it; last what is not in the tree.
    pub rows: Vec<WaitRow>,
    /// Only a part of the tree is visible: what is missing may be in the hidden part.
    pub partial_tree: bool,
    /// Jobs that ended in that time without starting, as far as sacct shows them. They are in no row.
    pub never_started: u64,
    /// Jobs with impossible times or numbers. They are in no row.
    pub left_out: u64,
    /// What is missing in the numbers, one sentence each.
    pub remarks: Vec<String>,
}

impl Answer for Waits {
    const NAME: &'static str = "waits";
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// An account, with all below it.
    Account,
    /// A user in an account.
    User,
    /// All accounts that are not in the tree, together.
    Others,
}

/// An account or user, and its jobs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitRow {
    /// What it is.
    pub of: Of,
    /// It is in today's tree.
    pub in_tree: bool,
    /// The id of its association; `None` if it is not in the tree.
    pub id: Option<u32>,
    /// How many rows are above it.
    pub depth: usize,
    /// Its account.
    pub account: String,
    /// Its user; empty for an account.
    pub user: String,
    /// The partition that its association is for; empty for all.
    pub partition: String,
    /// Jobs that have started and finished.
    pub jobs: u64,
    /// What they used: hours times CPUs.
    pub cpu_hours: f64,
    /// The mean of Start − Eligible, in seconds; `None` without jobs, as with all that follows.
    pub wait: Option<f64>,
    /// The shortest wait that 95 % of them do not exceed, in seconds.
    pub wait95: Option<u32>,
    /// The mean of (wait + run) / run. A run counts as one second at least.
    pub xfactor: Option<f64>,
    /// The mean of (wait + run) / time limit, of jobs that have a time limit; `None` if none has.
    pub xfactor_of_limit: Option<f64>,
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

/// Answers it.
///
/// # Errors
/// There is no accounting, or it does not answer.
pub fn waits(
    model: &Model<'_>,
    filter: &Filter,
    since: i64,
    input: &input::Arguments,
    progress: Progress,
) -> Result<Waits, Error> {
    let mut remarks = Vec::new();
    progress.step("Asking scontrol and sacctmgr");
    let config = config(input)?;
    if let Some(why) = lacks_jobs(&config) {
        return Err(Error::Question(format!("--waits: {why}")));
    }
    let until = now();
    let slurmdbd = slurmdbd(input, until);
    let asker = Asker::of(&config, input);
    let mut sees_others = false;
    if let Some(purged) = slurmdbd.purged.filter(|purged| since < *purged) {
        remarks.push(format!(
            "PurgeJobAfter in slurmdbd.conf: jobs that ended before {} may be gone and are then not counted.",
            time(purged)
        ));
    }
    let mut forest = Forest::of(model);
    let (mut never_started, mut left_out, mut read) = (0, Found::default(), 0);
    let cluster = config.get("ClusterName").map(String::as_str).unwrap_or_default();
    let months = months::between(since, until);
    for (number, month) in (1..).zip(&months) {
        let begin = match months.len() {
            1 => "Reading jobs from sacct".to_owned(),
            all => format!("Reading jobs from sacct, month {number} of {all}"),
        };
        progress.step(begin.as_str());
        let (from, to) = (months::shown(month.from), months::shown(month.until));
        let arguments = ["-M", cluster, "-S", &from, "-E", &to];
        accounting::each(arguments, &ASKED, |cells| {
            sees_others |= cells[read::USER] != asker.name;
            match read::outcome(&cells, (month.from, month.until)) {
                Outcome::Finished(job) => forest.add(&job),
                Outcome::NeverStarted => never_started += 1,
                Outcome::Elsewhere => (),
                Outcome::Impossible(why) => left_out.note(why),
            }
            read += 1;
            if read % OFTEN == 0 {
                progress.step(format!("{begin}, {read} records"));
            }
            Ok(())
        })?;
    }
    drop(progress);
    remarks.extend(asker.hidden(slurmdbd.hides_jobs, sees_others));
    if let Some(first) = &left_out.first {
        remarks.push(format!(
            "sacct has {} with impossible times or numbers; left out. The first: {first}.",
            count(usize::try_from(left_out.count).unwrap_or(usize::MAX), "job", "jobs")
        ));
    }
    Ok(Waits {
        since,
        until,
        rows: forest.rows(filter),
        partial_tree: model.snapshot.about.partial_tree,
        never_started,
        left_out: left_out.count,
        remarks,
    })
}

/// What `scontrol show config` says.
fn config(input: &input::Arguments) -> Result<BTreeMap<String, String>, Error> {
    let call = commands::config(input.cluster.as_deref());
    let answer = Until::within(Duration::from_secs(input.timeout)).run(&call)?;
    if !answer.is_good {
        return Err(refused(&call, &answer.said).into());
    }
    Ok(slurm_text::config::parameters(&answer.text))
}

/// What a command of sacctmgr prints; `None` if it gives no answer.
fn sacctmgr(input: &input::Arguments, words: &[&str]) -> Option<String> {
    let answer = Until::within(Duration::from_secs(input.timeout)).run(&commands::call("sacctmgr", "sacctmgr", words));
    answer.ok().filter(|answer| answer.is_good).map(|answer| answer.text)
}

fn slurmdbd(input: &input::Arguments, now: i64) -> OfSlurmdbd {
    sacctmgr(input, &["show", "config"]).map(|text| OfSlurmdbd::read(&text, now)).unwrap_or_default()
}

/// Who asks, as slurmdbd has it.
#[derive(Clone, Debug, Default)]
struct Asker {
    name: String,
    /// Root, `SlurmUser`, an operator or an administrator.
    sees_all: bool,
    /// Whether accounts are coordinated; `None` if nobody tells, nor who is an operator.
    coordinates: Option<bool>,
}

impl Asker {
    fn of(config: &BTreeMap<String, String>, input: &input::Arguments) -> Self {
        let (uid, name) = (own_uid(), own_name().unwrap_or_default());
        let slurm = config.get("SlurmUser").and_then(|user| slurm_text::config::uid(user));
        if uid == 0 || slurm == Some(uid) {
            return Self { name, sees_all: true, coordinates: None };
        }
        let user = format!("name={name}");
        let words = ["-n", "-P", "show", "user", "where", &user, "withcoord", "format=AdminLevel,Coordinators"];
        let text = sacctmgr(input, &words).unwrap_or_default();
        let told = text.trim().split_once('|');
        Self {
            name,
            sees_all: matches!(told, Some(("Operator" | "Administrator", _))),
            coordinates: told.map(|(_, accounts)| !accounts.is_empty()),
        }
    }

    /// Whether slurmdbd hides jobs, in a sentence. Its `PrivateData` is not that of slurm.conf.
    fn hidden(&self, hides_jobs: Option<bool>, sees_others: bool) -> Option<String> {
        let shows_others = sees_others && self.coordinates == Some(false);
        if self.sees_all || hides_jobs == Some(false) || hides_jobs.is_none() && shows_others {
            return None;
        }
        let whose =
            "sacct shows only your own jobs and those of accounts that you coordinate.";
        Some(match (hides_jobs, self.coordinates) {
            (Some(_), Some(_)) => format!("PrivateData=jobs in slurmdbd.conf: {whose}"),
            (Some(_), None) => format!("PrivateData=jobs in slurmdbd.conf: unless you are an operator, {whose}"),
            (None, _) => format!("sacctmgr does not show PrivateData of slurmdbd.conf. If it has jobs, {whose}"),
        })
    }
}

/// In the form that is asked for.
///
/// # Errors
/// A column is asked for that there is not, or a file cannot be written.
pub fn printout(mut model: Model<'_>, waits: Waits, asked: &Arguments, terminal: Terminal) -> Result<Printout, Error> {
    // What could not be known is of priorities, which are not in this answer.
    model.notes.clear();
    match &asked.files.html {
        Some(file) => write_page(&model, waits, &asked.printed, ("Finished jobs and their waits", file)),
        None => show::printout(&model, waits, asked.of.form, &asked.printed, terminal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(text: &str) -> Result<Option<i64>, Error> {
        History { waits: true, since: Some(text.to_owned()) }.since()
    }

    #[test]
    fn dates_are_of_the_past() {
        assert_eq!(History::default().since(), Ok(None));
        assert_eq!(since("1767225600"), Ok(Some(1_767_225_600)));
        let day = now() - since("now-1days").unwrap().unwrap();
        assert!((86_400..86_402).contains(&day), "{day}");
        let midnight = since("2026-01-01").unwrap().unwrap();
        assert_eq!(since("2026-01-01T00:00:30").unwrap(), Some(midnight + 30));
        for (wrong, why) in [
            ("yesterday", "give a date"),
            ("2026-13-01", "give a date"),
            ("-5", "give a date"),
            ("now", "before now"),
            ("2100-01-01", "before now"),
        ] {
            assert!(since(wrong).unwrap_err().to_string().contains(why), "{wrong}");
        }
    }
}

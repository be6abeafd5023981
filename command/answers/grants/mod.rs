//! `multifactor2 grants`: how grants stand, how much should have been used by now, and when they run out. With `--reconcile`, also what the
//! accounting has recorded of them.

mod reconcile;
mod sums;

use std::fmt::Write as _;

use multifactor2_snapshot::records::Grant;
use schemars::JsonSchema;
use serde::Serialize;

use self::reconcile::Reconciled;
use super::{About, Answer, Ask, Bare};
use crate::error::Error;
use crate::model::grants::key;
use crate::model::{Model, Options};
use crate::options::{OfCluster, Printed};
use crate::output::numbers::{number, time};
use crate::output::show::{close, for_programs, optional, printout, Show};
use crate::output::{Described, Form, Page, Printout, Schema, Table, Terminal};
use crate::progress::Progress;

const HELP: &str = "\
Amounts are in hours of the unit. The bar is what may be used in this period: # is used, | is where it should be by now. The \
run-out time assumes the usage rate of the last seven days.

--reconcile is for root and SlurmUser on the controller. It compares the plugin's counts with the job runs in slurmdbd and \
writes both to StateSaveLocation/multifactor2_grants.correction. The plugin applies them at its next calculation. \
slurmdbd stays unchanged.

Examples:
  multifactor2 grants
  multifactor2 grants c
  multifactor2 grants --csv
  multifactor2 grants --reconcile --dry-run";

/// Show grants: what is granted, carried, used and left, and when they run out
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// Show only grants of this account, user, Unix group, QOS or wckey
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Compare with slurmdbd and write a correction for the plugin
    #[arg(long, conflicts_with_all = ["name", "from", "save", "anonymise", "cluster", "live"])]
    pub reconcile: bool,
    /// Compare all periods, not only the current, the previous and those never compared
    #[arg(long, requires = "reconcile")]
    pub all: bool,
    /// Compare only, write nothing
    #[arg(long, requires = "reconcile")]
    pub dry_run: bool,
    #[command(flatten)]
    pub printed: Printed,
    #[command(flatten)]
    pub of: OfCluster,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "what is left of grants, and when they run out";
    const EXAMPLE: &'static str = "multifactor2 grants";
    const COLUMNS: &'static [&'static [Described]] = &[COLUMNS, reconcile::TABLE];

    fn schemas() -> Vec<Schema> {
        vec![GrantsAnswer::schema(), Schema::of::<Bare<Reconciled>>(Reconciled::NAME, Reconciled::VERSION)]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        if self.reconcile {
            let answer = reconcile::reconcile(self.all, self.dry_run, self.of.input.timeout)?;
            return reconcile::show(answer, self.of.form.json, &self.printed, terminal);
        }
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(&progress)?;
        let model = Model::of(&snapshot, Options::default());
        let answer = grants(&model, self.name.as_deref())?;
        printout(&model, answer, self.of.form, &self.printed, terminal)
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrantsAnswer {
    /// In the order of the settings; `None` if unknown, because only the plugin knows them.
    pub grants: Option<Vec<GrantRow>>,
}

impl Answer for GrantsAnswer {
    const NAME: &'static str = "grants";
}

/// The state of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There is something left for now.
    Within,
    /// It is used up for now.
    Beyond,
    /// What was used of it is not known.
    Unknown,
    /// No line holds now, and jobs are as if it were used up.
    Outside,
    /// No line holds now, and jobs have no grant.
    NoGrant,
}

impl State {
    /// Each with the word of a snapshot and of tables, and in words.
    const WORDS: [(Self, &'static str, &'static str); 5] = [
        (Self::Within, "within", "within"),
        (Self::Beyond, "beyond", "beyond"),
        (Self::Unknown, "unknown", "what was used is not known"),
        (Self::Outside, "outside", "no line is in force, jobs count as beyond"),
        (Self::NoGrant, "none", "no line is in force"),
    ];

    fn of(word: &str) -> Self {
        Self::WORDS.into_iter().find(|(_, known, _)| *known == word).map_or(Self::Unknown, |(state, ..)| state)
    }

    fn words(self) -> (&'static str, &'static str) {
        Self::WORDS.into_iter().find(|(state, ..)| *state == self).map_or(("", ""), |(_, word, words)| (word, words))
    }
}

/// When a grant runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// At a time, before the period is over.
    At,
    /// Not in this period.
    NotInThisPeriod,
    /// It has.
    Already,
    /// It is not known.
    NotKnown,
}

/// A grant. Amounts are in hours of the unit, times in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrantRow {
    /// Whose: `Account`, `User`, `Group`, `QOS` or `WCKey`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The unit, such as `cpu-hours`.
    pub unit: String,
    /// The partitions that it is for; none for all.
    pub partitions: Vec<String>,
    /// Its state.
    pub state: State,
    /// Since when; `None` if that is not known.
    pub since: Option<i64>,
    /// The rule, or the preset.
    pub rule: String,
    /// What happens to jobs beyond it: `low`, `share` or `block`.
    pub beyond: String,
    /// The number of the period, from 1 on; 0 if no line holds.
    pub period: u32,
    /// How many there are.
    pub periods: u32,
    /// When the period begins.
    pub period_begin: i64,
    /// When it ends.
    pub period_end: i64,
    /// When the grant begins.
    pub first: i64,
    /// When it ends.
    pub end: i64,
    /// All that is granted.
    pub amount: f64,
    /// What was used of it.
    pub used_all: f64,
    /// What should have been used by now.
    pub should_be: f64,
    /// What is granted for this period.
    pub granted: f64,
    /// What came from the period before; negative for a debt.
    pub carried: f64,
    /// What is borrowed from the next one.
    pub borrowed: f64,
    /// What was used in this period.
    pub used: f64,
    /// What is left of it; negative where more was used.
    pub left: f64,
    /// What running jobs use in an hour.
    pub running: f64,
    /// What was used in an hour, in the mean of the last seven days; `None` if nothing is known of them.
    pub rate: Option<f64>,
    /// When it runs out at that rate.
    pub ends: Ends,
    /// That time; `None` if there is none.
    pub ends_at: Option<i64>,
    /// When the next line begins; `None` for none.
    pub next_line: Option<i64>,
    /// From when on usage is counted. Earlier usage is included only if the line states it.
    pub counted_from: i64,
    /// Until when.
    pub counted_until: i64,
    /// What the accounting added to all that was used; negative where it took off.
    pub corrected: f64,
    /// Up to when the accounting was asked; `None` for never.
    pub corrected_until: Option<i64>,
    /// Usage is multiplied with `UsageFactor` and factors of `Charge` lines, and `MinimumCharge` holds.
    pub factors: bool,
    /// Where the line is written.
    pub from: String,
}

/// Answers it.
///
/// # Errors
/// There is no grant of that name.
pub fn grants(model: &Model<'_>, name: Option<&str>) -> Result<GrantsAnswer, Error> {
    let snapshot = model.snapshot;
    if snapshot.about.source != "plugin" && snapshot.grants.is_empty() {
        return Ok(GrantsAnswer { grants: None });
    }
    let wanted = |grant: &&Grant| name.is_none_or(|name| grant.name.eq_ignore_ascii_case(name));
    let rows: Vec<GrantRow> = snapshot.grants.iter().filter(wanted).map(row).collect();
    if let (true, Some(name)) = (rows.is_empty(), name) {
        return Err(Error::Question(format!(
            "{name} has no grant: list all with 'multifactor2 grants'"
        )));
    }
    Ok(GrantsAnswer { grants: Some(rows) })
}

fn row(grant: &Grant) -> GrantRow {
    /// Seconds of seven days.
    const WEEK: i64 = 604_800;
    let hours = |seconds: f64| seconds / 3600.0;
    let state = State::of(&grant.state);
    let until = grant.counted_until;
    // Of the day in which that begins the whole is not known: full days count.
    let begin = until - WEEK;
    let since = grant.days.iter().copied().find(|day| *day >= begin);
    let since = since.map(|since| since.max(grant.begun)).filter(|since| until - since >= 3600);
    let used: f64 = grant
        .days
        .iter()
        .zip(&grant.used_by_day)
        .filter(|(day, _)| **day >= begin)
        .map(|(_, used)| used)
        .sum();
    #[allow(clippy::cast_precision_loss)] // seconds
    let per_second = since.map(|since| used / (until - since) as f64);
    let (ends, ends_at) = match (state, per_second) {
        (State::Beyond, _) => (Ends::Already, None),
        (State::Within, Some(rate)) => {
            #[allow(clippy::cast_possible_truncation)] // saturates
            let at = until.saturating_add((grant.left / rate).ceil() as i64);
            if rate > 0.0 && at < grant.period_end {
                (Ends::At, Some(at))
            } else {
                (Ends::NotInThisPeriod, None)
            }
        }
        _ => (Ends::NotKnown, None),
    };
    let balance = grant.left - grant.borrowable;
    GrantRow {
        kind: grant.kind.clone(),
        name: grant.name.clone(),
        unit: format!("{}-hours", grant.unit),
        partitions: grant.partitions.clone(),
        state,
        since: Some(grant.changed).filter(|since| *since > 0),
        rule: grant.rule.clone(),
        beyond: grant.beyond.clone(),
        period: grant.period,
        periods: grant.periods,
        period_begin: grant.period_begin,
        period_end: grant.period_end,
        first: grant.first,
        end: grant.end,
        amount: hours(grant.amount),
        used_all: hours(grant.used_all),
        should_be: hours(grant.should_be),
        granted: hours(grant.granted),
        carried: hours(grant.carried),
        borrowed: hours((-balance).clamp(0.0, grant.borrowable.max(0.0))),
        used: hours(grant.used),
        left: hours(grant.left),
        running: grant.running,
        rate: per_second,
        ends,
        ends_at,
        next_line: Some(grant.next_line).filter(|next| *next > 0),
        counted_from: grant.begun,
        counted_until: until,
        corrected: hours(grant.corrected),
        corrected_until: Some(grant.corrected_until).filter(|until| *until > 0),
        factors: grant.factors,
        from: grant.place.clone(),
    }
}

impl GrantRow {
    fn title(&self, grant: &str) -> String {
        format!("{grant}: {}, {}", self.unit, self.state_in_words())
    }

    /// Whose it is, in words.
    pub fn whose(&self) -> String {
        let record = Grant {
            kind: self.kind.clone(),
            name: self.name.clone(),
            partitions: self.partitions.clone(),
            ..Grant::default()
        };
        key(&record).in_words()
    }

    /// Whether a line holds, and what was used of it is known.
    pub fn is_counted(&self) -> bool {
        self.period > 0 && self.state != State::Unknown
    }

    /// The part of this period that is over, and that of what may be used in it that is used, from 0 to 1.
    pub fn parts(&self) -> (f64, f64) {
        let usable = self.used + self.left;
        #[allow(clippy::cast_precision_loss)] // seconds
        let part = |of: i64, whole: i64| if whole > 0 { of as f64 / whole as f64 } else { 0.0 };
        let over = part(self.counted_until - self.period_begin, self.period_end - self.period_begin);
        let used = if usable > 0.0 { self.used / usable } else { 1.0 };
        (over.clamp(0.0, 1.0), used.clamp(0.0, 1.0))
    }

    /// How it stands, in words.
    pub fn state_in_words(&self) -> &'static str {
        self.state.words().1
    }

    /// Forty columns: what was used of what may be used in this period, and where it should be by now.
    fn bar(&self) -> String {
        const WIDTH: usize = 40;
        let (over, used) = self.parts();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // clamped
        let column = |part: f64| (part * WIDTH as f64).round() as usize;
        let mut bar: Vec<char> = (0..WIDTH).map(|at| if at < column(used) { '#' } else { '.' }).collect();
        if self.period_end > self.period_begin {
            bar[column(over).min(WIDTH - 1)] = '|';
        }
        bar.into_iter().collect()
    }

    fn sentences(&self) -> Vec<String> {
        if self.period == 0 {
            return vec![match self.next_line {
                Some(next) => format!("The next line begins on {}.", time(next)),
                None => "There is no later line.".to_owned(),
            }];
        }
        let mut text = format!(
            "Period {} of {}, from {} to {}: {} granted",
            self.period,
            self.periods,
            time(self.period_begin),
            time(self.period_end),
            number(self.granted)
        );
        if self.carried != 0.0 {
            let _ = write!(text, ", {} carried", number(self.carried));
        }
        if self.borrowed > 0.0 {
            let _ = write!(text, ", {} borrowed", number(self.borrowed));
        }
        let _ = write!(text, ", {} used, {} left.", number(self.used), number(self.left));
        let mut all = vec![text];
        all.push(format!(
            "In total, {} of {} are used; {} should be by now.",
            number(self.used_all),
            number(self.amount),
            number(self.should_be)
        ));
        let runs = if self.running > 0.0 {
            format!("Running jobs use {} an hour. ", number(self.running))
        } else {
            "No jobs are running. ".to_owned()
        };
        let rate = self.rate.map_or_else(String::new, |rate| {
            format!(" At the rate of the last seven days, {} an hour,", number(rate))
        });
        let ends = match (self.ends, self.ends_at) {
            (Ends::At, Some(at)) => format!("{} it runs out on {}.", rate.trim_start(), time(at)),
            (Ends::NotInThisPeriod, _) => format!("{} it does not run out in this period.", rate.trim_start()),
            (Ends::Already, _) => {
                let since = self.since.map_or_else(String::new, |since| format!(" since {}", time(since)));
                format!("It is used up for now{since}.")
            }
            _ => "When it runs out is not known yet.".to_owned(),
        };
        all.push(format!("{runs}{ends}"));
        all.push(format!("Rule: {}. {}", self.rule, self.then()));
        if let Some(until) = self.corrected_until {
            all.push(match self.corrected {
                0.0 => format!("slurmdbd agrees, up to {}.", time(until)),
                hours => format!(
                    "Compared with slurmdbd up to {}: {} hours were {} these numbers.",
                    time(until),
                    number(hours.abs()),
                    if hours > 0.0 { "added to" } else { "subtracted from" }
                ),
            });
        }
        if self.factors {
            all.push("Usage includes UsageFactor, Charge lines and MinimumCharge.".to_owned());
        }
        if self.counted_from > self.first {
            all.push(format!(
                "Usage is counted from {} on: earlier usage is included only if the line states it.",
                time(self.counted_from)
            ));
        }
        all
    }

    fn then(&self) -> &'static str {
        match self.beyond.as_str() {
            "block" => "When it is used up, jobs do not start.",
            "share" => "When it is used up, jobs have ordinary fair-share.",
            _ => "When it is used up, jobs come last.",
        }
    }
}

/// The most grants that are shown in full.
const MOST: usize = 10;

/// The columns for people.
const OVERVIEW: [&str; 7] = ["Kind", "Name", "Unit", "State", "Used", "Left", "RunsOut"];

/// The columns of the table.
const COLUMNS: &[Described] = &[
    ("Kind", "Account, User, Group, QOS or WCKey"),
    ("Name", "Its name"),
    ("Unit", "What is granted"),
    ("Partition", "The partitions that it is for; empty for all"),
    ("State", "within, beyond, unknown, outside, or none if jobs have no grant now"),
    ("Rule", "The rule, or the preset"),
    ("Beyond", "What happens to jobs beyond it"),
    ("Begin", "When this period begins"),
    ("End", "When it ends"),
    ("Granted", "What is granted for this period. All amounts are in hours of the unit"),
    ("Carried", "What came from the period before"),
    ("Borrowed", "What is borrowed from the next one"),
    ("Used", "What was used in this period"),
    ("Left", "What is left of it"),
    ("Running", "What running jobs use in an hour"),
    ("Amount", "All that is granted"),
    ("UsedAll", "What was used of it"),
    ("ShouldBe", "What should have been used by now"),
    ("RunsOut", "When it runs out at the rate of the last seven days"),
];

impl Show for GrantsAnswer {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let mut table = Table::of(COLUMNS);
        for row in self.grants.iter().flatten() {
            table.row(vec![
                row.kind.clone(),
                row.name.clone(),
                row.unit.clone(),
                row.partitions.join(","),
                row.state.words().0.to_owned(),
                row.rule.clone(),
                row.beyond.clone(),
                time(row.period_begin),
                time(row.period_end),
                number(row.granted),
                number(row.carried),
                number(row.borrowed),
                number(row.used),
                number(row.left),
                number(row.running),
                number(row.amount),
                number(row.used_all),
                number(row.should_be),
                row.ends_at.map_or_else(|| optional(None), time),
            ]);
        }
        let (mut table, text) = for_programs(table, printed, terminal)?;
        if let Some(text) = text {
            return Ok(text);
        }
        if printed.format.is_empty() {
            table.choose(&OVERVIEW.map(str::to_owned))?;
        }
        let mut page = Page::new(terminal);
        if !table.is_empty() {
            page.headline("State of the grants. Amounts are in hours of the unit.");
            page.ready("\n");
            page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
            page.ready("\n");
        }
        match self.grants.as_deref() {
            None => page.paragraph("Only the plugin knows the grants: run this where its snapshot is readable."),
            Some([]) => page.paragraph("There are no grants."),
            Some(all) if all.len() > MOST => {
                page.paragraph("Details of one grant: multifactor2 grants NAME");
            }
            Some(_) => (),
        }
        for row in self.grants.iter().flatten().filter(|_| self.grants.as_ref().is_some_and(|all| all.len() <= MOST)) {
            page.headline(&row.title(&row.whose()));
            if row.is_counted() {
                page.paragraph(&format!("[{}]", row.bar()));
            }
            if row.state != State::Unknown {
                row.sentences().iter().for_each(|sentence| page.paragraph(sentence));
            }
            page.ready("\n");
        }
        close(&mut page, about);
        Ok(page.finish())
    }
}

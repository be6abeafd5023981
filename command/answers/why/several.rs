//! Shows several jobs, one per row: the user's, or those of a list.

use schemars::JsonSchema;
use serde::Serialize;

use super::{of_job, not_waiting, ReasonKind, Term, Unknown, Why};
use crate::answers::{About, Answer};
use crate::error::Error;
use crate::input::texts::Texts;
use crate::model::{Addends, Model};
use crate::options::Printed;
use crate::output::numbers::count;
use crate::output::show::{close, for_programs, Paged, Show};
use crate::output::{Page, Table, Terminal};

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Several {
    /// Why places are not known; `None` if they are.
    pub unknown: Option<Unknown>,
    /// The jobs, in the order of their ids, or as they were asked for.
    pub jobs: Vec<OneOfSeveral>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OneOfSeveral {
    /// As squeue shows it.
    pub job: String,
    /// Its id.
    pub id: u32,
    /// What kind of reason dominates.
    pub kind: ReasonKind,
    /// Its place in the partition where it comes first, from 1; `None` if places are not known, or it has none.
    pub rank: Option<usize>,
    /// How many wait in that partition.
    pub of: Option<usize>,
    /// That partition.
    pub partition: Option<String>,
    /// Its priority; 0 if it is held.
    pub priority: u32,
    /// What that is the sum of.
    pub terms: Vec<Term>,
    /// Why it waits, as Slurm shows it.
    pub reason: String,
    /// The same in words.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
}

impl Answer for Several {
    const NAME: &'static str = "why-several";
}

/// Of jobs by name; all that wait in the snapshot and are of a user where one is named.
///
/// # Errors
/// A job is not known.
pub(super) fn several(
    model: &Model<'_>,
    texts: Option<&Texts>,
    names: &[String],
    user: Option<&str>,
) -> Result<Several, Error> {
    texts.map_or(Ok(()), |texts| not_waiting::answered(model, texts))?;
    let queue = model.queue();
    let mut jobs = Vec::new();
    for name in names {
        jobs.push(match model.job_called(name) {
            Some(job) => one(of_job(model, &queue, job)),
            None => match not_waiting::why(model, &queue, texts, name) {
                Ok(why) => one(why),
                Err(error) if names.len() == 1 || error.status() != 1 => return Err(error),
                Err(_) => OneOfSeveral::not_known(name),
            },
        });
    }
    let is_of = |job: &usize| user.is_some_and(|user| model.snapshot.jobs[*job].user == user);
    let mut own: Vec<usize> = (0..model.jobs.len()).filter(is_of).collect();
    own.sort_by_key(|job| model.snapshot.jobs[*job].id);
    jobs.extend(own.into_iter().map(|job| one(of_job(model, &queue, job))));
    Ok(Several { unknown: queue.err().map(|partial| partial.why), jobs })
}

impl OneOfSeveral {
    /// One that slurmctld does not know.
    fn not_known(name: &str) -> Self {
        Self {
            job: name.to_owned(),
            id: 0,
            kind: ReasonKind::NotKnown,
            rank: None,
            of: None,
            partition: None,
            priority: 0,
            terms: Vec::new(),
            reason: "-".to_owned(),
            sentence: "slurmctld does not know it: it has ended, never was, or is hidden from you.".to_owned(),
            remedy: format!("See 'sacct -j {name}'."),
        }
    }
}

fn one(why: Why) -> OneOfSeveral {
    let place = why.places.first();
    let sentence = match why.kind {
        ReasonKind::Runs | ReasonKind::Ended | ReasonKind::NotKnown => why.sentence.clone(),
        ReasonKind::SetByHand => "Its priority was set by hand.".to_owned(),
        ReasonKind::First => "It is first in its partition.".to_owned(),
        ReasonKind::Behind | ReasonKind::Waits => "It waits for its turn.".to_owned(),
        ReasonKind::Held | ReasonKind::NotEligible | ReasonKind::Obstacle => why.reason.sentence.clone(),
    };
    OneOfSeveral {
        rank: place.map(|place| place.rank),
        of: place.map(|place| place.of),
        partition: place.map(|place| place.partition.clone()),
        remedy: why.next.first().cloned().unwrap_or_default(),
        job: why.job,
        id: why.id,
        kind: why.kind,
        priority: why.priority,
        terms: why.terms,
        reason: why.reason.name,
        sentence,
    }
}

impl Several {
    fn table(&self) -> Table {
        let mut columns = vec!["Job", "Partition", "Place>", "Of>", "Priority>"];
        // `Addends::NAMES`, as columns of numbers.
        columns.extend(["AGE>", "ASSOC>", "FAIRSHARE>", "JOBSIZE>", "PARTITION>", "QOS>", "TRES>", "SITE>", "NICE>"]);
        columns.extend(["Reason", "What it means", "What to do"]);
        let mut table = Table::new(&columns);
        let number = |value: Option<usize>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        for job in &self.jobs {
            let partition = job.partition.clone().unwrap_or_else(|| "-".to_owned());
            let mut row =
                vec![job.job.clone(), partition, number(job.rank), number(job.of), job.priority.to_string()];
            row.extend(Addends::NAMES.iter().map(|name| {
                let term = job.terms.iter().find(|term| term.name == *name).filter(|term| term.product != 0.0);
                term.map_or_else(|| "-".to_owned(), |term| format!("{:.0}", term.product))
            }));
            row.extend([job.reason.clone(), job.sentence.clone(), job.remedy.clone()]);
            table.row(row);
        }
        table
    }
}

impl Show for Several {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let (table, text) = for_programs(self.table(), printed, terminal)?;
        Ok(text.unwrap_or_else(|| self.page(table, about, printed, terminal).finish()))
    }
}

impl Paged for Several {
    fn pages(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<Page, Error> {
        let (table, _) = for_programs(self.table(), printed, terminal)?;
        Ok(self.page(table, about, printed, terminal))
    }
}

impl Several {
    fn page(&self, table: Table, about: &About, printed: &Printed, terminal: Terminal) -> Page {
        let mut page = Page::new(terminal);
        if self.jobs.is_empty() {
            page.headline("None of your jobs waits.");
            page.about(&about.in_words());
            return page;
        }
        page.headline(&format!("{}. Higher priority comes first.", count(self.jobs.len(), "job", "jobs")));
        page.table(&table.without_unknown(), !printed.noheader);
        if let Some(unknown) = &self.unknown {
            page.paragraph(&format!("Places are not known: {}", unknown.sentence));
        }
        close(&mut page, about);
        page
    }
}

//! Puts an answer into words: the dominant reason, what else is worth knowing, what to do next.

use std::collections::BTreeMap;

use super::{competing, path, ReasonKind, QueuePlace, Why};
use crate::answers::association_name;
use crate::model::order::WholeQueue;
use crate::model::reasons::Reason;
use crate::model::{Addends, Model, Step};
use crate::output::numbers::{count, number, ordinal, span};

/// What its user can do where room is all that is missing.
const SMALLER: &str = "A shorter time limit or a smaller request can let it start in a gap.";

/// What its user can do where a cap keeps a job from starting.
const BELOW: &str = "Wait or request less: jobs that fit below the cap can start.";

impl Why {
    pub(super) fn dominant(&self, model: &Model<'_>, job: usize) -> String {
        let record = &model.snapshot.jobs[job];
        let Reason { sentence, .. } = &self.reason;
        match (self.kind, self.places.first()) {
            (ReasonKind::Held, _) => format!("Job {} is held, so it has no place in the queue. {sentence}", self.job),
            (ReasonKind::NotEligible, _) if record.eligible > model.at => format!(
                "Job {} may not start before {}. {sentence}",
                self.job,
                crate::output::numbers::time(record.eligible)
            ),
            (ReasonKind::NotEligible, _) => format!("Job {} is not in the queue yet. {sentence}", self.job),
            (ReasonKind::Obstacle, _) if model.jobs[job].is_stopped => {
                let cap = self.caps.iter().find(|cap| cap.stops);
                let grant = || self.grants.iter().find(|grant| grant.stops);
                let cap = cap
                    .map(|cap| format!("{}. {}", cap.in_words(), cap.when()))
                    .or_else(|| grant().map(|grant| format!("{}. {}", grant.in_words(), grant.when())))
                    .unwrap_or_else(|| "a cap that its administrator has set".to_owned());
                format!("Job {} does not start, because it is beyond {}.", self.job, cap.trim_end_matches('.'))
            }
            (ReasonKind::Obstacle, _) => {
                format!("A higher priority does not help job {}. {sentence}", self.job)
            }
            (ReasonKind::SetByHand, Some(place)) => format!(
                "The priority of job {} was set by hand and stays {}. It is {} of {} in partition {}.",
                self.job, place.priority, ordinal(place.rank), place.of, place.partition
            ),
            (ReasonKind::SetByHand, None) => format!(
                "The priority of job {} was set by hand and stays {}.{}",
                self.job, self.priority, self.no_place()
            ),
            (ReasonKind::Waits, _) => format!(
                "Job {} waits for its turn with priority {}.{}",
                self.job, self.priority, self.no_place()
            ),
            (ReasonKind::First, Some(place)) => {
                let place = self.places.iter().find(|place| place.rank == 1).unwrap_or(place);
                let sentence = match (self.waits_for_room(), place.competing) {
                    (false, _) => sentence.clone(),
                    (true, Some(0)) => {
                        "The scheduler considers it first: it starts as soon as there is room.".to_owned()
                    }
                    (true, Some(jobs)) => competing::sentence(jobs, &place.sharing),
                    (true, None) => format!(
                        "Ahead of it in the whole queue: {} of other partitions. Those whose partitions share nodes with {} can \
                         take these nodes first.",
                        count(place.elsewhere, "job", "jobs"),
                        place.partition
                    ),
                };
                format!("Job {} is first of {} in partition {}. {sentence}", self.job, place.of, place.partition)
            }
            (_, Some(place)) => {
                let mut text = format!(
                    "Job {} is {} of {} in partition {}",
                    self.job, ordinal(place.rank), place.of, place.partition
                );
                text += &self.who_is_before(model, job, place);
                text + "."
            }
            (_, None) => format!("Job {} is not in the queue. {sentence}", self.job),
        }
    }

    /// What to say where a place would stand.
    fn no_place(&self) -> String {
        let sentence = self.unknown.as_ref().map(|unknown| unknown.sentence.as_str());
        sentence.map_or_else(String::new, |sentence| format!(" Its place is not known: {sentence}"))
    }

    /// It is first, and Slurm's reason is that of an earlier look, when others were before it.
    fn waits_for_room(&self) -> bool {
        self.kind == ReasonKind::First && matches!(self.reason.name.as_str(), "Priority" | "None")
    }

    /// Whose the jobs before it are, and why those stand better.
    fn who_is_before(&self, model: &Model<'_>, job: usize, place: &QueuePlace) -> String {
        let Some(most) = place.ahead.first() else { return String::new() };
        let before = place.rank - 1;
        let mut text = if before == 1 {
            format!("; the one before it belongs to account {}", most.account)
        } else if most.jobs == before {
            let all = if before == 2 { "both".to_owned() } else { format!("all {before}") };
            format!("; {all} before it belong to account {}", most.account)
        } else if most.part < 0.1 {
            let accounts = count(place.ahead.len(), "account", "accounts");
            return format!(
                "; the {before} before it belong to {accounts}, each with less than a tenth of them"
            );
        } else {
            format!("; {} of the {before} before it belong to account {}", most.jobs, most.account)
        };
        if most.account == self.account {
            text += ", which is your own";
        } else if let Some(standing) = path::stands_better(model, (job, &place.partition), &most.account) {
            text += &standing;
        }
        text
    }

    pub(super) fn more(&self, model: &Model<'_>, job: usize) -> Vec<String> {
        let mut details = Vec::new();
        if let (Some(cost), Some(factor)) =
            (self.cost_of_own_usage.filter(|cost| *cost > 0.0005), self.fair_share)
        {
            let decay = match (&model.tree.windows, model.config.half_life) {
                (Some(windows), _) => format!(
                    " in {} of {}, each weighted {} of the next newer one,",
                    count(windows.depth(), "window", "windows"),
                    span(windows.length()),
                    number(windows.decay())
                ),
                (None, 0) => String::new(),
                (None, half_life) => format!(", which halves every {},", span(i64::from(half_life))),
            };
            let whose = model.jobs[job].association.map(|association| association_name(model, association));
            details.push(format!(
                "Usage of {}{decay} lowers the fair-share factor by {}, to {}.",
                whose.unwrap_or_default(),
                number(cost),
                number(factor)
            ));
        }
        details.extend(self.about_book(model));
        details.extend(self.about_closed(model, job));
        details.extend(self.about_caps(model, job));
        details.extend(self.about_grants(model, job));
        if self.kind == ReasonKind::Obstacle {
            details.extend(Some(self.no_place().trim().to_owned()).filter(|sentence| !sentence.is_empty()));
            for place in &self.places {
                details.push(format!(
                    "It is {} of {} in partition {}, with priority {}.",
                    ordinal(place.rank),
                    place.of,
                    place.partition,
                    place.priority
                ));
            }
        } else {
            for place in self.places.iter().skip(1) {
                details.push(format!(
                    "In partition {} it is {} of {}.",
                    place.partition,
                    ordinal(place.rank),
                    place.of
                ));
            }
        }
        if self.kind == ReasonKind::Behind {
            let first = self.places.first().and_then(|place| Some((place.competing?, &place.sharing)));
            details.extend(
                first.filter(|(jobs, _)| *jobs > 0).map(|(jobs, sharing)| competing::sentence(jobs, sharing)),
            );
        }
        let start = model.snapshot.jobs[job].start;
        if start > model.at && (self.unknown.is_some() || !self.places.is_empty()) {
            details.push(format!(
                "Backfill expects it to start at {}; every job that ends early or is submitted can change that.",
                crate::output::numbers::time(start)
            ));
        }
        details
    }

    /// Where only the place hinders the job: with whom it competes.
    fn about_closed(&self, model: &Model<'_>, job: usize) -> Option<String> {
        let record = &model.snapshot.jobs[job];
        let partition = self.places.first().map_or(&record.partition, |place| &place.partition);
        model.closed_partition(model.book_in(job, partition))?;
        Some(format!(
            "Fair-share ranks it only among jobs that partition {partition}, its nodes or a reservation keep from starting, so \
             their order is right once they can start."
        ))
    }

    /// The caps that the first sentence does not name.
    fn about_caps(&self, model: &Model<'_>, job: usize) -> Vec<String> {
        let is_stopped = model.jobs[job].is_stopped;
        let named = self.caps.iter().position(|cap| is_stopped && cap.stops);
        let others = self.caps.iter().enumerate().filter(|(at, _)| Some(*at) != named);
        let others = others.map(|(_, cap)| {
            let follows = if is_stopped { "It is also beyond" } else { "It comes last, because it is beyond" };
            format!("{follows} {}. {}", cap.in_words(), cap.when())
        });
        others.collect()
    }

    /// The grants that the first sentence does not name.
    fn about_grants(&self, model: &Model<'_>, job: usize) -> Vec<String> {
        let is_stopped = model.jobs[job].is_stopped;
        let by_cap = self.caps.iter().any(|cap| cap.stops);
        let named = self.grants.iter().position(|grant| is_stopped && !by_cap && grant.stops);
        let others = self.grants.iter().enumerate().filter(|(at, _)| Some(*at) != named);
        let others = others.map(|(_, grant)| {
            let follows = match (is_stopped, grant.is_last) {
                (true, _) => "It is also beyond",
                (false, true) => "It comes last, because it is beyond",
                (false, false) => "It gets no points from a grant, because it is beyond",
            };
            format!("{follows} {}. {}", grant.in_words(), grant.when())
        });
        others.collect()
    }

    /// Where usage is kept apart by partitions, which usage counts.
    fn about_book(&self, model: &Model<'_>) -> Option<String> {
        let book = self.book.as_ref()?;
        let lines = &model.config.settings.as_ref()?.books;
        let line = lines.iter().find(|line| line.name.eq_ignore_ascii_case(book));
        Some(match line {
            Some(line) => format!(
                "Fair-share is that of book {book}: only usage in {} {} counts.",
                if line.partitions.len() == 1 { "partition" } else { "partitions" },
                line.partitions.join(", ")
            ),
            None => "Fair-share is that of the default book: usage in partitions of other books does not count."
                .to_owned(),
        })
    }

    pub(super) fn what_next(&self, model: &Model<'_>, job: usize) -> Vec<String> {
        let mut next = Vec::new();
        let id = model.snapshot.jobs[job].id;
        if self.waits_for_room() {
            next.push(SMALLER.to_owned());
        } else if model.jobs[job].is_stopped {
            next.push(BELOW.to_owned());
        } else if !matches!(self.kind, ReasonKind::Behind | ReasonKind::Waits) && !self.reason.remedy.is_empty() {
            next.push(self.reason.remedy.replace("JOBID", &id.to_string()));
        }
        if matches!(self.kind, ReasonKind::Behind | ReasonKind::SetByHand | ReasonKind::Waits) {
            if model.snapshot.jobs[job].limit.is_none() {
                next.push(
                    "The job has no time limit. A limit close to its run time lets backfill start it in a gap: \
                     'scontrol update JobId=JOBID TimeLimit=T'."
                        .replace("JOBID", &id.to_string()),
                );
            } else {
                next.push(SMALLER.to_owned());
            }
            next.extend(self.places.first().map(|place| {
                format!("See who is before it with 'multifactor2 queue --partition {}'.", place.partition)
            }));
        }
        next
    }
}

/// What puts most of those before a place there.
pub(super) fn decides(model: &Model<'_>, queue: &WholeQueue, at: usize) -> Vec<String> {
    let (slot, before) = (&queue.slots[at], queue.before(model, at));
    let mut details = Vec::new();
    let mut whatever: BTreeMap<Step, usize> = BTreeMap::new();
    for step in before.iter().map(|other| model.compare_slots(other, slot).1) {
        if step < Step::Priority {
            *whatever.entry(step).or_default() += 1;
        }
    }
    for (step, jobs) in whatever {
        let jobs = count(jobs, "job is", "jobs are");
        details.push(format!("{jobs} before it regardless of priority: {}.", step.described()));
    }
    let own = model.addends_of(slot);
    let by_priority: Vec<[f64; 9]> = before
        .iter()
        .filter(|other| model.compare_slots(other, slot).1 == Step::Priority)
        .filter_map(|other| Some(model.addends_of(other)?.signed()))
        .collect();
    let Some(own) = own.map(|own| own.signed()).filter(|_| !by_priority.is_empty()) else { return details };
    #[allow(clippy::cast_precision_loss)] // a count of jobs
    let jobs = by_priority.len() as f64;
    let mean = |at: usize| by_priority.iter().map(|other| other[at] - own[at]).sum::<f64>() / jobs;
    let means: Vec<f64> = (0..9).map(mean).collect();
    let largest = (0..9).max_by(|a, b| means[*a].total_cmp(&means[*b])).filter(|at| means[*at] > 0.0);
    if let Some(largest) = largest {
        details.push(format!(
            "Jobs with a higher priority gain most from {}: on average {} more.",
            Addends::NAMES[largest],
            number(means[largest])
        ));
    }
    details
}

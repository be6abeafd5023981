//! The short answer that most users want: the reason, the number, the place, the addends, what to do. It fits in a dozen lines of a
//! terminal.

use std::fmt::Write as _;

use super::{QueuePlace, ReasonKind, Term, Why};
use crate::answers::About;
use crate::output::numbers::{count, ordinal};
use crate::output::{Page, Terminal};

/// How many limits are named.
const LIMITS: usize = 2;

/// How many partitions of a job are named.
const PLACES: usize = 2;

/// Columns of one line where the terminal has no end.
const LINE: usize = 100;

/// Shows it.
pub(super) fn show(why: &Why, about: &About, terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    page.headline(&why.sentence);
    why.places(&mut page);
    for limit in why.limits.iter().take(LIMITS) {
        page.paragraph(&format!("Limit {}.", limit.in_words()));
    }
    if why.limits.len() > LIMITS {
        page.paragraph(&format!("And {}.", count(why.limits.len() - LIMITS, "more limit", "more limits")));
    }
    if !why.terms.is_empty() {
        let columns = terminal.width.map_or(LINE, |columns| usize::from(columns).clamp(20, LINE));
        page.paragraph(&addends(why, columns));
    }
    if let Some(next) = why.next.first() {
        page.item(next);
    }
    let notes = about.hidden.len() + about.notes.len() + why.differences.len();
    let notes = match notes {
        0 => String::new(),
        some => format!(", with {} on unknown or differing numbers", count(some, "note", "notes")),
    };
    if !matches!(why.kind, ReasonKind::Runs | ReasonKind::Ended) {
        page.paragraph(&format!("Details{notes}: multifactor2 why --long {}", why.job));
    }
    page.finish()
}

impl Why {
    /// What the first sentence does not say of places.
    fn places(&self, page: &mut Page) {
        let one = |place: &QueuePlace| {
            format!("{} of {} in {}", ordinal(place.rank), place.of, place.partition)
        };
        // The first sentence has the place, or why there is none, but for who waits for something else.
        let in_sentence = usize::from(self.kind != ReasonKind::Obstacle);
        let more: Vec<String> = self.places.iter().skip(in_sentence).take(PLACES).map(one).collect();
        let left = self.places.len().saturating_sub(in_sentence + PLACES);
        if !more.is_empty() {
            let left = if left > 0 { format!(", and in {left} more") } else { String::new() };
            page.paragraph(&format!("Place: {}{left}.", more.join(", ")));
        }
        if let (ReasonKind::Obstacle, Some(unknown)) = (self.kind, &self.unknown) {
            page.paragraph(&format!("Place: not known, {}", unknown.sentence));
        }
        let competing = self.places.first().and_then(|place| place.competing).filter(|jobs| *jobs > 0);
        if let (ReasonKind::Behind, Some(jobs)) = (self.kind, competing) {
            page.paragraph(&format!(
                "{} of other partitions {} before it for nodes that it may use.",
                count(jobs, "job", "jobs"),
                if jobs == 1 { "stands" } else { "stand" }
            ));
        }
    }
}

/// One line: the largest addends, rounded, as many as there is room for, in the order of addition. No equals sign: what is rounded need
/// not add up.
fn addends(why: &Why, columns: usize) -> String {
    let mut terms: Vec<&Term> = why.terms.iter().filter(|term| term.product != 0.0).collect();
    let mut left = 0;
    loop {
        let line = line(why, &terms, left);
        if line.len() <= columns || terms.len() < 2 {
            return line;
        }
        let smallest = (0..terms.len()).min_by(|a, b| {
            terms[*a].product.abs().total_cmp(&terms[*b].product.abs())
        });
        terms.remove(smallest.unwrap_or_default());
        left += 1;
    }
}

fn line(why: &Why, terms: &[&Term], left: usize) -> String {
    let mut line = format!("Priority {}", why.priority);
    for (at, term) in terms.iter().enumerate() {
        let sign = match (at, term.product < 0.0) {
            (0, false) => ":",
            (0, true) => ": -",
            (_, false) => " +",
            (_, true) => " -",
        };
        let _ = write!(line, "{sign} {} {:.0}", term.name, term.product.abs());
    }
    if left > 0 {
        let _ = write!(line, " + {left} smaller");
    }
    if why.lacks.is_some() {
        line += " + an unknown part";
    }
    line
}

//! Shows why a job has its place: the reason first, then the sum, the path from the root, and what would help.

use crate::answers::why::{Lacks, Level, Term, Why};
use crate::algorithm::Algorithm;
use crate::answers::About;
use crate::error::Error;
use crate::model::{Believe, Difference};
use crate::options::Printed;
use crate::output::numbers::{addend, number, ordinal, percent, usage};
use crate::output::show::{close, optional, Paged, Show};
use crate::output::{Page, Table, Terminal};

impl Show for Why {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        self.pages(about, printed, terminal).map(Page::finish)
    }
}

impl Paged for Why {
    fn pages(&self, about: &About, _printed: &Printed, terminal: Terminal) -> Result<Page, Error> {
        let mut page = Page::new(terminal);
        page.headline(&self.sentence);
        self.details.iter().for_each(|detail| page.paragraph(detail));
        self.ahead(&mut page);
        if !self.terms.is_empty() {
            page.title(&match &self.lacks {
                None => format!("The priority {} is the sum of", self.priority),
                Some(_) => format!("What is known of the priority {}", self.priority),
            });
            page.table(&terms(&self.terms, self.lacks.as_ref()), true);
            for term in self.terms.iter().filter(|term| !term.of.is_empty() && term.product != 0.0) {
                page.item(&format!("{}: {}", term.name, term.of.join(", ")));
            }
        }
        if !self.path.is_empty() {
            page.title("From the root to the user");
            let is_classic = about.algorithm == Algorithm::Classic;
            page.table(&path(&self.path, is_classic), true);
            if self.path.iter().any(|level| level.window_usage.is_some()) {
                page.item("Usage is that of the share windows (TreeUsage=window), not RawUsage as in sshare.");
            }
            self.path.iter().filter_map(competitors).for_each(|line| page.item(&line));
        }
        if !self.levers.is_empty() {
            page.title("What would change the priority most");
            for lever in &self.levers {
                let place = lever.rank.map_or_else(String::new, |rank| {
                    format!(": {} in the partition, if no other priority changes meanwhile", ordinal(rank))
                });
                page.item(&format!("{} Priority + {}{place}.", lever.what, number(lever.gain)));
            }
        }
        if !self.next.is_empty() {
            page.title("What to do next");
            self.next.iter().for_each(|next| page.item(next));
        }
        differences(&mut page, &self.differences);
        close(&mut page, about);
        Ok(page)
    }
}

impl Why {
    fn ahead(&self, page: &mut Page) {
        let Some(place) = self.places.first().filter(|place| place.ahead.len() > 1) else { return };
        page.title(&format!("Before it in partition {}", place.partition));
        page.table(&crate::answers::queue::text::ahead(&place.ahead), true);
    }
}

fn terms(terms: &[Term], lacks: Option<&Lacks>) -> Table {
    let mut table = Table::new(&["Addend", "Factor>", "Weight>", "Product>", "Part>", "How"]);
    let mut sum = 0.0;
    for term in terms {
        sum += term.product;
        // What has no weight says nothing.
        if term.product == 0.0 && term.weight.is_none_or(|weight| weight == 0.0) {
            continue;
        }
        let how = if term.numbers.is_empty() {
            term.formula.clone()
        } else {
            format!("{} = {}", term.formula, term.numbers)
        };
        table.row(vec![
            term.name.clone(),
            optional(term.factor),
            optional(term.weight),
            addend(term.product),
            percent(term.part),
            how,
        ]);
    }
    if let Some(Lacks { amount, sentence }) = lacks {
        sum += amount;
        let how = format!("not known: {sentence}");
        table.row(vec!["-".to_owned(), String::new(), String::new(), addend(*amount), String::new(), how]);
    }
    table.row(vec![
        "Sum".to_owned(),
        String::new(),
        String::new(),
        addend(sum),
        String::new(),
        "rounded down, at least 1".to_owned(),
    ]);
    table
}

/// Under classic the factor follows from effective usage, elsewhere nothing does.
fn path(levels: &[Level], is_classic: bool) -> Table {
    let mut table = Table::new(&[
        "Level",
        "Shares>",
        "S>",
        "Usage>",
        "U>",
        "EffectvUsage>",
        "LevelFS>",
        "Tickets>",
        "Of level>",
        "Compete>",
    ]);
    for (depth, level) in levels.iter().enumerate() {
        let name = if level.user.is_empty() { &level.account } else { &level.user };
        let shares = match (level.shares, level.level_shares) {
            (None, _) => "parent".to_owned(),
            (Some(shares), Some(of)) => format!("{shares}/{of}"),
            (Some(shares), None) => shares.to_string(),
        };
        table.row(vec![
            format!("{}{name}", " ".repeat(depth)),
            if depth == 0 { String::new() } else { shares },
            number(level.shares_norm),
            usage(level.window_usage.unwrap_or(level.usage)),
            number(level.usage_norm),
            optional(Some(level.usage_effective).filter(|_| is_classic)),
            optional(level.level_fs),
            optional(level.tickets),
            level.level_share.map_or_else(|| "-".to_owned(), percent),
            level.competing.filter(|competing| *competing > 0).map_or_else(|| "-".to_owned(), |competing| competing.to_string()),
        ]);
    }
    table.without_unknown()
}

/// With whom a level is shared.
fn competitors(level: &Level) -> Option<String> {
    if level.competitors.is_empty() {
        return None;
    }
    let one = |other: &crate::answers::why::Competitor| {
        let name = if other.user.is_empty() { &other.account } else { &other.user };
        let level_fs = other.level_fs.map(|level_fs| format!("LevelFS {}", number(level_fs)));
        let tickets = other.tickets.map(|tickets| format!("tickets {}", number(tickets)));
        let known: Vec<String> = [level_fs, tickets].into_iter().flatten().collect();
        if known.is_empty() {
            // Classic fair-share has neither.
            return name.clone();
        }
        format!("{name} ({})", known.join(", "))
    };
    let named: Vec<String> = level.competitors.iter().map(one).collect();
    let name = if level.user.is_empty() { &level.account } else { &level.user };
    let more = level.competing.unwrap_or_default().saturating_sub(named.len() + 1);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{name} competes with {}{more}", named.join(", ")))
}

/// Where numbers differ from what Slurm shows.
pub(super) fn differences(page: &mut Page, differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    page.title("Where Slurm's numbers differ");
    for difference in differences {
        let place =
            difference.partition.as_ref().map_or_else(String::new, |name| format!(" in partition {name}"));
        let believe = match difference.believe {
            Believe::Shown => "Believe Slurm.",
            Believe::ComputedFromNextCycle => "Trust Slurm's number now and the computed one after that.",
        };
        page.item(&format!(
            "{}{place}: Slurm shows {}, the computed number is {}. {} {believe}",
            difference.what,
            addend(difference.shown),
            addend(difference.computed),
            difference.why
        ));
    }
}

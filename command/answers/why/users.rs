//! Compares two users, with or without jobs: which has the higher fair-share factor, where their paths from the root diverge, and when the
//! order turns.

use schemars::JsonSchema;
use serde::Serialize;

use super::compare::text::branch;
use super::{competitor, parting, Competitor};
use crate::answers::{association_name, recover, About, Answer};
use crate::error::Error;
use crate::model::Model;
use crate::options::Printed;
use crate::output::numbers::{number, span, time};
use crate::output::show::{close, Paged, Show};
use crate::output::{Page, Table, Terminal};
use crate::submission::associations_of;
use multifactor2_core::books::BookAt;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Users {
    /// The user with the higher factor, as user@account.
    pub first: String,
    /// The other.
    pub second: String,
    /// The factor of the next job of the first, from 0 to 1; `None` if it is not known.
    pub factor_first: Option<f64>,
    /// That of the other.
    pub factor_second: Option<f64>,
    /// The answer in plain language.
    pub sentence: String,
    /// The association above both at the first level at which they differ; empty if there is none.
    pub above: String,
    /// What is below it on the way to the first, and to the second.
    pub parts: Option<(Competitor, Competitor)>,
    /// In how many seconds the second has the higher factor, if its user runs nothing from now on and all others keep their usage; `None` where
    /// that is never, not before usage is reset, or not known.
    pub turns: Option<i64>,
    /// Remarks, and what is not known, one sentence each.
    pub remarks: Vec<String>,
}

impl Answer for Users {
    const NAME: &'static str = "why-users";
}

/// The place of USER, or USER@ACCOUNT.
fn place(model: &Model<'_>, who: &str) -> Result<usize, Error> {
    let (user, account) = who.split_once('@').map_or((who, None), |(user, account)| (user, Some(account)));
    let all = associations_of(model.snapshot, user)?;
    let fits: Vec<_> = all.iter().filter(|row| account.is_none_or(|account| row.account == account)).collect();
    let Some(chosen) = fits.first() else {
        return Err(format!("user {user} has no association with account {}", account.unwrap_or_default()).into());
    };
    if fits.iter().any(|row| row.account != chosen.account) {
        let mut accounts: Vec<String> = fits.iter().map(|row| format!("{user}@{}", row.account)).collect();
        accounts.dedup();
        return Err(format!("{user} is in several accounts: give one of {}", accounts.join(", ")).into());
    }
    // Beside those for single partitions there may be one for all others.
    let chosen = fits.iter().find(|row| row.partition.is_empty() || fits.len() == 1).ok_or_else(|| {
        format!("{who} has associations for several partitions, each with its own factor: see 'multifactor2 tree'")
    })?;
    model.tree.by_id(chosen.id).ok_or_else(|| format!("{who} is not in the visible part of the tree").into())
}

/// Answers it.
///
/// # Errors
/// There is no such user, or which of several associations is meant is not said.
pub(super) fn users(model: &Model<'_>, one: &str, other: &str) -> Result<Users, Error> {
    let (one, other) = (place(model, one)?, place(model, other)?);
    if one == other {
        return Err("both are the same user in the same account: give two".into());
    }
    let factor = |place: usize| model.standings[place].factor;
    let (first, second) = if factor(other) > factor(one) { (other, one) } else { (one, other) };
    let name = |place: usize| association_name(model, place);
    let (factor_first, factor_second) = (factor(first), factor(second));
    let mut users = Users {
        first: name(first),
        second: name(second),
        factor_first,
        factor_second,
        sentence: String::new(),
        above: String::new(),
        parts: None,
        turns: None,
        remarks: vec!["How long this has been so is not known: slurmctld keeps no history of usage.".to_owned()],
    };
    users.sentence = match factor_first.zip(factor_second) {
        Some((a, b)) if (a - b).abs() <= f64::EPSILON => {
            format!("The next job of {} and that of {} have the same fair-share factor, {}.", users.first, users.second, number(a))
        }
        Some((a, b)) => {
            format!("The next job of {} has the higher fair-share factor: {} against {} of {}.", users.first, number(a), number(b), users.second)
        }
        None => "Which of them has the higher fair-share factor is not known here.".to_owned(),
    };
    if let Some((above, a, b)) = parting(model, first, second) {
        users.above = name(above);
        users.parts = Some((competitor(model, a, BookAt::DEFAULT), competitor(model, b, BookAt::DEFAULT)));
    }
    users.look_ahead(model, first, second);
    Ok(users)
}

impl Users {
    /// When the second comes before the first.
    fn look_ahead(&mut self, model: &Model<'_>, first: usize, second: usize) {
        let nodes = model.tree.node(first).zip(model.tree.node(second));
        let differ = self.factor_first.zip(self.factor_second).is_some_and(|(a, b)| a > b);
        let Some((tree, (first, second))) = model.whole_tree().zip(nodes).filter(|_| model.shares.is_computed()) else {
            self.remarks.push("When this changes is not known: shares cannot be computed from what is visible here.".to_owned());
            return;
        };
        if !differ {
            return;
        }
        let reset = recover::Reset::next(model);
        self.remarks.extend(reset.map(recover::Reset::sentence));
        let windows = model.tree.windows.as_ref();
        if windows.is_some_and(|windows| !windows.are_known()) {
            self.remarks.push(format!("When this changes is not known: {}.", recover::UNTOLD));
            return;
        }
        if model.config.half_life == 0 && windows.is_none() {
            let or = reset.map_or("", |_| ", or when usage is reset");
            self.remarks.push(format!("PriorityDecayHalfLife is 0: usage does not decay, so this changes only if the first uses more{or}."));
            return;
        }
        let is_before = |after: &i64| reset.is_none_or(|reset| model.at.saturating_add(*after) < reset.at);
        self.turns = recover::turns(model, tree, first, second).filter(is_before);
        self.remarks.push(match self.turns {
            None if reset.is_some() => format!(
                "This does not change before that, even if {} runs nothing from now on and all others keep their usage. What \
                 follows is not computed.",
                self.second
            ),
            Some(after) => format!(
                "This changes in {}, at {}, if {} runs nothing from now on and all others keep their usage.",
                span(after),
                time(model.at.saturating_add(after)),
                self.second
            ),
            None => format!(
                "This does not change {}, even if {} runs nothing from now on and all others keep their usage.",
                match windows {
                    Some(windows) => format!("before the present {} windows expire", windows.depth()),
                    None => format!("within {} half-lives", recover::HALF_LIVES),
                },
                self.second
            ),
        });
        if let Some(windows) = windows {
            self.remarks.push(windows.described());
        }
        if !model.config.books.is_empty() {
            self.remarks.push("This is about the default book.".to_owned());
        }
    }
}

impl Show for Users {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        self.pages(about, printed, terminal).map(Page::finish)
    }
}

impl Paged for Users {
    fn pages(&self, about: &About, _printed: &Printed, terminal: Terminal) -> Result<Page, Error> {
        let mut page = Page::new(terminal);
        page.headline(&self.sentence);
        if let Some((first, second)) = &self.parts {
            page.title(&format!("The first level at which they differ, below {}", self.above));
            let mut table = Table::new(&["User", "Name", "S>", "U>", "LevelFS>", "Tickets>"]);
            table.row(branch(&self.first, first));
            table.row(branch(&self.second, second));
            page.table(&table.without_unknown(), true);
        }
        self.remarks.iter().for_each(|remark| page.paragraph(remark));
        close(&mut page, about);
        Ok(page)
    }
}

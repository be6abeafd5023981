//! The path from the root to an association, level by level, and where two paths diverge.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::finite;
use super::{has_tickets, named};
use crate::model::Model;
use crate::output::numbers::number;
use multifactor2_core::books::BookAt;

/// One level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// The id of the association.
    pub id: u32,
    /// Its account.
    pub account: String,
    /// Its user; empty for an account.
    pub user: String,
    /// Raw shares; `None` for `Fairshare=parent`.
    pub shares: Option<u32>,
    /// Raw shares of all that it competes with, itself among them; `None` where others may be hidden.
    pub level_shares: Option<u64>,
    /// S: its part of the whole cluster, from 0 to 1.
    pub shares_norm: f64,
    /// Raw usage.
    pub usage: f64,
    /// With `TreeUsage=window`, the usage for shares: the weighted usage of its windows, in seconds times billing.
    pub window_usage: Option<f64>,
    /// U: its part of all usage, from 0 to 1.
    pub usage_norm: f64,
    /// Effective usage.
    pub usage_effective: f64,
    /// F: above 1 it has used less than its share.
    pub level_fs: Option<f64>,
    /// Tickets.
    pub tickets: Option<f64>,
    /// The part of its parent's tickets, from 0 to 1.
    pub level_share: Option<f64>,
    /// How many compete on this level, itself among them where it does; `None` if not all jobs and associations are known.
    pub competing: Option<usize>,
    /// Those with the most tickets, without itself; with the highest F where there are no tickets.
    pub competitors: Vec<Competitor>,
}

/// Another association on a level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Competitor {
    /// Its account.
    pub account: String,
    /// Its user; empty for an account.
    pub user: String,
    /// S
    pub shares_norm: f64,
    /// U
    pub usage_norm: f64,
    /// F
    pub level_fs: Option<f64>,
    /// Tickets.
    pub tickets: Option<f64>,
}

/// How many competitors are named.
const NAMED: usize = 5;

/// All levels of an association.
pub fn of(model: &Model<'_>, association: usize, book: BookAt) -> Vec<Level> {
    model.tree.path(association).into_iter().map(|place| level(model, place, book)).collect()
}

fn level(model: &Model<'_>, place: usize, book: BookAt) -> Level {
    let standings = model.standings_in(book);
    let (association, standing) = (&model.snapshot.associations[place], &standings[place]);
    let siblings = model.tree.siblings(model.shares.in_book(book).shape(&model.tree), place);
    let about = &model.snapshot.about;
    let level_shares: u64 = siblings.iter().map(|other| u64::from(standings[*other].shares)).sum();
    let mut active: Vec<usize> = siblings.into_iter().filter(|other| standings[*other].active).collect();
    let competing = active.len();
    active.retain(|other| *other != place);
    let weight = |place: &usize| {
        let standing = &standings[*place];
        standing.tickets.filter(|_| has_tickets(model)).or(standing.level_fs).unwrap_or_default()
    };
    active.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    Level {
        id: association.id,
        account: association.account.clone(),
        user: association.user.clone(),
        shares: Some(standing.shares).filter(|shares| *shares != multifactor2_core::USE_PARENT),
        level_shares: Some(level_shares).filter(|_| !about.partial_tree),
        shares_norm: finite(standing.shares_norm),
        usage: finite(standing.usage),
        window_usage: model.tree.in_windows(place).map(finite),
        usage_norm: finite(standing.usage_norm),
        usage_effective: finite(standing.usage_effective),
        level_fs: standing.level_fs.filter(|value| value.is_finite()),
        tickets: standing.tickets,
        level_share: standing.level_share,
        competing: Some(competing).filter(|_| !about.partial_tree && !about.partial_queue),
        competitors: active.into_iter().take(NAMED).map(|place| competitor(model, place, book)).collect(),
    }
}

/// What another association brings.
pub fn competitor(model: &Model<'_>, place: usize, book: BookAt) -> Competitor {
    let (association, standing) = (&model.snapshot.associations[place], &model.standings_in(book)[place]);
    Competitor {
        account: association.account.clone(),
        user: association.user.clone(),
        shares_norm: finite(standing.shares_norm),
        usage_norm: finite(standing.usage_norm),
        level_fs: standing.level_fs.filter(|value| value.is_finite()),
        tickets: standing.tickets,
    }
}

/// Where the ways to two associations part: the one above both, and the two below it; `None` if one is the other, or is above it.
pub fn parting(model: &Model<'_>, a: usize, b: usize) -> Option<(usize, usize, usize)> {
    let (a, b) = (model.tree.path(a), model.tree.path(b));
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    Some((*a.get(same.checked_sub(1)?)?, *a.get(same)?, *b.get(same)?))
}

/// Why an account stands better than the branch of a job, where F says so.
pub fn stands_better(model: &Model<'_>, (job, partition): (usize, &str), account: &str) -> Option<String> {
    let own = model.jobs[job].association?;
    let is_account = |(_, association): &(usize, &multifactor2_snapshot::records::Association)| {
        association.account == account && association.user.is_empty()
    };
    let (other, _) = model.snapshot.associations.iter().enumerate().find(is_account)?;
    let (_, own, other) = parting(model, own, other)?;
    let standings = model.standings_in(model.book_in(job, partition));
    let (of_own, of_other) = (standings[own].level_fs?, standings[other].level_fs?);
    if of_other <= of_own {
        return None;
    }
    let whose = if model.snapshot.associations[other].account == account {
        "which".to_owned()
    } else {
        format!("whose {}", named(model, other))
    };
    let how = if of_other >= 1.0 { "is further below its share" } else { "is less far above its share" };
    let how = if of_own < 1.0 && of_other >= 1.0 { "is below its share" } else { how };
    Some(format!(
        ", {whose} {how} (LevelFS {} against {} of {})",
        number(of_other),
        number(of_own),
        named(model, own)
    ))
}

//! Sums the queue up by user, as `qstat -ext` and `mdiag -p` do.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{QueuePoints, QueueTickets};
use crate::answers::finite;
use crate::model::{Model, Slot};
use crate::output::numbers::{addend, percent};
use crate::output::show::optional;
use crate::output::Table;

/// What the waiting jobs of a user have together. A job in several partitions counts in the first of its rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OfUser {
    /// The user.
    pub user: String,
    /// Jobs, where all tasks of an array that wait together are one.
    pub jobs: usize,
    /// Their tickets; where tickets are not given to single jobs, those of the user's associations, each once. `None` if some are not known.
    pub tickets: Option<f64>,
    /// The part of the tickets of all users whose jobs wait, from 0 to 1; `None` if not all of them are known.
    pub tickets_part: Option<f64>,
    /// Their points, where the settings ask for some; `None` where those of some are not known.
    pub points: Option<QueuePoints>,
}

/// All users whose jobs are in the queue, by name. `is_all`: nobody's jobs are hidden.
pub(super) fn of_users(model: &Model<'_>, slots: &[Slot], is_all: bool) -> Vec<OfUser> {
    let mut users: BTreeMap<&str, OfUser> = BTreeMap::new();
    let (mut jobs, mut associations) = (HashSet::new(), HashSet::new());
    for slot in slots.iter().filter(|slot| jobs.insert(slot.job)) {
        let (job, of_job) = (model.job_of(slot), &model.jobs[slot.job]);
        let user = users.entry(&job.user).or_insert_with(|| OfUser {
            user: job.user.clone(),
            jobs: 0,
            tickets: Some(0.0),
            tickets_part: None,
            points: Some(QueuePoints::default()),
        });
        user.jobs += 1;
        let tickets = QueueTickets::of(model, slot).map(|tickets| {
            let book = model.book_in(slot.job, model.partition_of(slot));
            let is_of_job = tickets.overridden.is_some();
            let counts = is_of_job || associations.insert((of_job.association, book));
            if counts {
                tickets.total
            } else {
                0.0
            }
        });
        user.tickets = user.tickets.zip(tickets).map(|(sum, more)| sum + more);
        let points = of_job.points.as_ref().map(QueuePoints::of);
        user.points = user.points.zip(points).map(|(sum, more)| sum.and(&more));
    }
    let mut users: Vec<OfUser> = users.into_values().collect();
    let whole: Option<f64> = users.iter().map(|user| user.tickets).sum();
    for user in &mut users {
        let part = user.tickets.zip(whole.filter(|whole| is_all && *whole > 0.0));
        user.tickets_part = part.map(|(own, whole)| finite(own / whole));
    }
    users
}

/// The tables that go with groups of columns: tickets, and points by component as far as somebody has some of it.
pub(super) fn tables(users: &[OfUser], has_tickets: bool, has_points: bool) -> Vec<(&'static str, Table)> {
    let mut tables = Vec::new();
    if has_tickets {
        let mut table = Table::new(&["User", "Jobs>", "Tickets>", "Part>"]);
        for user in users {
            let part = user.tickets_part.map_or_else(|| optional(None), percent);
            table.row(vec![user.user.clone(), user.jobs.to_string(), optional(user.tickets), part]);
        }
        tables.push(("Tickets by user, of all their jobs in the queue", table));
    }
    if has_points {
        let parts = QueuePoints::NAMES.iter().enumerate().filter(|(at, _)| {
            let is_some = |user: &OfUser| user.points.is_some_and(|points| points.parts()[*at] != 0.0);
            users.iter().any(is_some)
        });
        let parts: Vec<(usize, &str)> = parts.map(|(at, name)| (at, *name)).collect();
        let mut names = vec!["User", "Jobs>", "Points>"];
        names.extend(parts.iter().map(|(_, name)| *name));
        let mut table = Table::new(&names);
        for user in users {
            let known = |find: &dyn Fn(&QueuePoints) -> String| user.points.as_ref().map_or_else(|| optional(None), find);
            let mut cells = vec![user.user.clone(), user.jobs.to_string(), known(&|points| points.total.to_string())];
            cells.extend(parts.iter().map(|(at, _)| known(&|points| addend(points.parts()[*at]))));
            table.row(cells);
        }
        tables.push(("Points by user, of all their jobs in the queue", table));
    }
    tables
}

//! The grants that a job exceeds: whose they are, since when, how much of each is used, and when that may be over.

use multifactor2_snapshot::records::Grant;
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::grants::key;
use crate::model::Model;
use crate::output::numbers::{number, time};

/// A grant that a job is beyond. Amounts are in hours of the unit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrantExceeded {
    /// Whose it is, such as `account climate`.
    pub of: String,
    /// The unit, such as `cpu`.
    pub unit: String,
    /// Since when, in seconds since 1970; `None` if that is not known.
    pub since: Option<i64>,
    /// What was used in the period; `None` if no line holds at the time.
    pub used: Option<f64>,
    /// What may be used in it.
    pub usable: Option<f64>,
    /// When the next period begins, or the next line; `None` if there is none.
    pub next: Option<i64>,
    /// The job does not start (`Beyond=block`).
    pub stops: bool,
    /// The job comes last (`Beyond=low`, and `block` where slurmctld cannot keep it from starting).
    pub is_last: bool,
}

/// Those of a job, by its place in the snapshot.
pub(super) fn of(model: &Model<'_>, job: usize) -> Vec<GrantExceeded> {
    model.jobs[job].grants.iter().map(|place| one(&model.snapshot.grants[*place])).collect()
}

fn one(grant: &Grant) -> GrantExceeded {
    let is_outside = grant.state == "outside";
    let next = if is_outside || grant.period == grant.periods { grant.next_line } else { grant.period_end };
    GrantExceeded {
        of: key(grant).in_words(),
        unit: grant.unit.clone(),
        since: Some(grant.changed).filter(|since| *since > 0),
        used: (!is_outside).then_some(grant.used / 3600.0),
        usable: (!is_outside).then_some(((grant.used + grant.left) / 3600.0).max(0.0)),
        next: Some(next).filter(|next| *next > 0),
        stops: grant.beyond == "block",
        is_last: grant.beyond != "share",
    }
}

impl GrantExceeded {
    /// In words, as what a job is beyond.
    pub fn in_words(&self) -> String {
        let (Some(used), Some(usable)) = (self.used, self.usable) else {
            return format!("the grant of {}: none of its lines is in force now", self.of);
        };
        let since = self.since.map_or_else(String::new, |since| format!(" since {}", time(since)));
        format!(
            "the grant of {}{since}: {} of {} {} hours of this period are used",
            self.of,
            number(used),
            number(usable),
            self.unit
        )
    }

    /// When it may be over, as a sentence.
    pub fn when(&self) -> String {
        match (self.next, self.used) {
            (Some(next), Some(_)) => format!("The next period begins on {}.", time(next)),
            (Some(next), None) => format!("The next one begins on {}.", time(next)),
            (None, _) => "There is no later one: only an administrator can grant more.".to_owned(),
        }
    }
}

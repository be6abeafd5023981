//! What the owners of windowed targets used in each window. `of_tree` reports the windows of a share tree in the same form.

use std::collections::HashMap;

use multifactor2_core::policy::points::{Listed, Whose};
use schemars::JsonSchema;
use serde::Serialize;

use super::{hours, name, of, Lack, Of};
use crate::answers::finite;
use crate::model::Model;

/// What was used in each window. Amounts are in hours of `TargetMetric`, those of the share tree of billing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Windows {
    /// When the current window begins, in seconds since 1970.
    pub begin: i64,
    /// `TargetWindow` or `TreeWindow`: seconds of each.
    pub length: i64,
    /// `TargetDepth` or `TreeDepth`: how many count.
    pub depth: usize,
    /// How many of them the snapshot has: older ones are only in the sums.
    pub told: usize,
    /// What each counts, the current one first: `TargetDecay` or `TreeDecay` to the power of its number. As many as anybody has used something in.
    pub factors: Vec<f64>,
    /// A row for each name whose targets use windows, or for each association.
    pub rows: Vec<WindowsRow>,
}

/// The usage of one name in each window.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WindowsRow {
    /// `User`, `Group`, `Account`, `Parent`, `QOS` or `Partition`; `Tree` for an association of the share tree.
    pub kind: String,
    /// The name, as in the rows of targets.
    pub name: String,
    /// The id of the association, with `Parent` and `Tree`.
    pub association: Option<u32>,
    /// What it is compared with: `all`, `available` or `siblings`.
    pub of: Of,
    /// What was used in each window, the current one first.
    pub used: Vec<f64>,
    /// What that is compared with.
    pub all: Vec<f64>,
    /// What counts of its usage: the sum over all windows, each times its factor.
    pub counts: f64,
    /// What counts of that which it is compared with.
    pub all_counts: f64,
    /// The one in percent of the other; `None` if that is 0.
    pub percent: Option<f64>,
}

impl WindowsRow {
    /// Whose it is, in words.
    pub fn whose(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// The usage of a window in percent of what it is compared with.
    pub fn percent_in(&self, age: usize) -> Option<f64> {
        let (used, all) = (self.used.get(age)?, self.all.get(age)?);
        (*all > 0.0).then(|| 100.0 * used / all)
    }
}

impl Windows {
    /// When a window begins.
    pub fn begin_of(&self, age: usize) -> i64 {
        let age = i64::try_from(age).unwrap_or(i64::MAX);
        self.begin.saturating_sub(age.saturating_mul(self.length))
    }
}

/// What a row is of: hours are compared with nothing, and shown next to all usage.
fn key(listed: &Listed) -> (Whose, Of) {
    let of = match of(listed).0 {
        Of::Hours => Of::All,
        of => of,
    };
    (listed.whose.clone(), of)
}

/// Those of what is listed.
///
/// # Errors
/// Why there is nothing, or nothing is known.
pub(super) fn windows(model: &Model<'_>, listed: &[Listed]) -> Result<Windows, Lack> {
    let in_windows: Vec<&Listed> = listed.iter().filter(|row| row.in_windows).collect();
    if in_windows.is_empty() {
        return Err(Lack::None(
            "None of the requested targets uses windows: set Window=yes for one, TargetUsage=window for all."
                .to_owned(),
        ));
    }
    let told = model.snapshot.windows.iter().find(|row| row.of == "all" && row.length > 0);
    let (Some(told), Some(settings)) = (told, &model.config.settings) else {
        return Err(Lack::NotKnown(
            "The usage of each window is not known: the snapshot lacks it. The sums of all windows are in --targets."
                .to_owned(),
        ));
    };
    let longest = model.snapshot.windows.iter().map(|row| row.amounts.len()).max().unwrap_or_default().max(1);
    let by_age: Vec<HashMap<(Whose, Of), (f64, f64)>> = (0..longest)
        .map(|age| {
            let rows = model.targets_in_window(age);
            let rows = rows.iter().filter(|row| row.in_windows);
            rows.map(|row| (key(row), (row.used, row.total))).collect()
        })
        .collect();
    let mut rows: Vec<WindowsRow> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for listed in in_windows {
        let key = key(listed);
        if !seen.insert(key.clone()) {
            continue;
        }
        let (name, association) = name(model, &listed.whose);
        let amounts: Vec<(f64, f64)> =
            by_age.iter().map(|of| of.get(&key).copied().unwrap_or_default()).collect();
        rows.push(WindowsRow {
            kind: listed.kind.to_string(),
            name,
            association,
            of: key.1,
            used: amounts.iter().map(|(used, _)| hours(*used)).collect(),
            all: amounts.iter().map(|(_, all)| hours(*all)).collect(),
            counts: hours(listed.used),
            all_counts: hours(listed.total),
            percent: listed.percent().map(|percent| finite(percent) + 0.0),
        });
    }
    let factors = std::iter::successors(Some(1.0), |factor| Some(factor * settings.target_decay));
    Ok(Windows {
        begin: told.begin,
        length: told.length,
        depth: usize::try_from(settings.target_depth).unwrap_or_default(),
        told: told.told as usize,
        factors: factors.take(longest).collect(),
        rows,
    })
}

//! Reads `sshare`: one line per association, parents first.

use multifactor2_core::USE_PARENT;
use slurm_text::lines::{is_of_cluster, number, text, whole, Unread};

use crate::input::commands::SHARE_COLUMNS;

/// What sshare says of an association.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Its id.
    pub id: u32,
    /// How many levels it is below the first that can be seen.
    pub depth: usize,
    /// Raw shares; `None` if there are none, as for the root.
    pub shares: Option<u32>,
    /// `NormShares`
    pub shares_norm: Option<f64>,
    /// `RawUsage`, in whole seconds.
    pub usage: u64,
    /// `NormUsage`
    pub usage_norm: Option<f64>,
    /// `EffectvUsage`
    pub usage_effective: Option<f64>,
    /// `FairShare`
    pub factor: Option<f64>,
    /// `LevelFS`; `None` for none, or no bound.
    pub level_fs: Option<f64>,
    /// Its user; empty for an account.
    pub user: String,
    /// Its partition; empty for all.
    pub partition: String,
    /// Its account.
    pub account: String,
}

/// All lines.
pub fn shares(text: &str) -> (Vec<Share>, Unread) {
    let mut unread = Unread::default();
    let mut rows = Vec::new();
    let heading = SHARE_COLUMNS.join("|");
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line == heading || is_of_cluster(line) {
            continue;
        }
        match share(line) {
            Some(row) => rows.push(row),
            None => unread.note(number),
        }
    }
    (rows, unread)
}

fn share(line: &str) -> Option<Share> {
    let cells: Vec<&str> = line.splitn(SHARE_COLUMNS.len(), '|').collect();
    let [id, shares, shares_norm, usage, usage_norm, effective, factor, level_fs, user, partition, account] =
        cells[..]
    else {
        return None;
    };
    Some(Share {
        id: whole(id)?,
        depth: account.len() - account.trim_start_matches(' ').len(),
        shares: if shares == "parent" { Some(USE_PARENT) } else { whole(shares) },
        shares_norm: number(shares_norm),
        usage: whole(usage)?,
        usage_norm: number(usage_norm),
        usage_effective: number(effective),
        factor: number(factor),
        level_fs: number(level_fs),
        user: text(user).to_owned(),
        partition: text(partition).to_owned(),
        account: account.trim_start_matches(' ').to_owned(),
    })
}

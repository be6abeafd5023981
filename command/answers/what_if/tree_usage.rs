//! Windows of the share tree (`TreeUsage=window`) in a changed snapshot, as the plugin has them at its first calculation after the change.

use std::collections::HashMap;

use multifactor2_core::rules::windows::{enter, usage, Windows};
use multifactor2_core::settings::Settings;
use multifactor2_snapshot::records::TreeWindow;

use super::apply::Changed;
use crate::error::Error;
use crate::model::{config, Model};

/// What can be said of usage in windows, with a change of who used how much.
pub(super) const ONLY_MORE: &str = "--usage: with TreeUsage=window shares use windows, not RawUsage: give 0, or additional usage \
 in the current window, such as ann@chem=+1000h";

impl Changed {
    /// Length, number and decay of the windows that shares use after the change.
    pub(super) fn tree_windows(&self) -> Option<(i64, usize, f64)> {
        config::written(&self.snapshot)?.ok().as_ref().and_then(Settings::tree_windows)
    }

    /// With other settings or another plugin, shares use other usage.
    pub(super) fn tree_usage(&mut self, model: &Model<'_>) -> Result<(), Error> {
        // Also where nobody told what was used in them.
        let before = config::written(model.snapshot).and_then(Result::ok).as_ref().and_then(Settings::tree_windows);
        match (before, self.tree_windows()) {
            (None, None) => (),
            #[allow(clippy::float_cmp)] // the same setting is the same number
            (Some(before), Some(after)) if before == after => (),
            (Some(_), None) => {
                self.snapshot.tree_windows.clear();
                self.snapshot.associations.iter_mut().for_each(|one| one.dominant = None);
                self.remarks.push("Shares no longer use windows of usage.".to_owned());
            }
            (None, Some(after)) => self.begin_windows(after),
            (Some(before), Some(after)) => self.other_windows(before, after)?,
        }
        Ok(())
    }

    /// `RawUsage` goes into the current window.
    fn begin_windows(&mut self, (length, depth, _): (i64, usize, f64)) {
        let newest = Windows::new(length, depth, self.snapshot.about.time).newest();
        self.snapshot.tree_windows.clear();
        for association in &mut self.snapshot.associations {
            association.dominant = Some(association.usage);
            let mut row = TreeWindow { association: association.id, amounts: vec![association.usage], ..TreeWindow::default() };
            if association.parent == 0 {
                (row.begin, row.length) = (newest.saturating_mul(length), length);
                row.told = u32::try_from(depth).unwrap_or(u32::MAX);
            }
            self.snapshot.tree_windows.push(row);
        }
        self.remarks.push(
            "TreeUsage=window starts with the present RawUsage in the current window. Its weight drops when the next window \
             begins: see later times with --at."
                .to_owned(),
        );
    }

    /// Amounts are spread evenly over the windows that take over.
    fn other_windows(
        &mut self,
        (length, depth, _): (i64, usize, f64),
        (new_length, new_depth, decay): (i64, usize, f64),
    ) -> Result<(), Error> {
        let rows = &mut self.snapshot.tree_windows;
        let root = rows.iter().find(|row| row.length == length);
        let (begin, told) = root.map_or((0, 0), |row| (row.begin, row.told as usize));
        let needed = if length == new_length { depth.min(new_depth) } else { depth };
        if told < needed {
            return Err(format!(
                "--conf: it changes TreeWindow, TreeDepth or TreeDecay, but the snapshot has {} of the {needed} windows needed to \
                 compute shares",
                if told == 0 { "none".to_owned() } else { format!("{told}") },
            )
            .into());
        }
        let until = self.snapshot.about.time.max(begin);
        let old = Windows::new(length, depth, begin);
        let new = old.replaced_by(new_length, new_depth, until);
        for row in rows.iter_mut() {
            row.amounts = old.rebin(&row.amounts, &new, until);
            if row.length > 0 {
                (row.begin, row.length) = (new.newest().saturating_mul(new.length()), new.length());
                row.told = u32::try_from(new.depth()).unwrap_or(u32::MAX);
            }
        }
        let counts: HashMap<u32, f64> =
            rows.iter().map(|row| (row.association, usage(&row.amounts, decay))).collect();
        for association in &mut self.snapshot.associations {
            association.dominant = Some(counts.get(&association.id).copied().unwrap_or_default());
        }
        if length != new_length {
            self.remarks.push("The usage of each window is spread evenly over its time and then divided among the new windows.".to_owned());
        }
        let span = |length: i64, depth: usize| i128::from(length) * depth as i128;
        if span(new_length, new_depth) > span(length, depth) {
            self.remarks.push(
                "Usage before the present windows is not kept: the oldest new windows are empty at first.".to_owned(),
            );
        }
        Ok(())
    }

    /// An association, and so all above it, used this much more in the current window.
    pub(super) fn add_to_window(&mut self, at: usize, more: f64) {
        for id in self.way_up(at) {
            let rows = &mut self.snapshot.tree_windows;
            let place = rows.iter().position(|row| row.association == id).unwrap_or_else(|| {
                rows.push(TreeWindow { association: id, ..TreeWindow::default() });
                rows.len() - 1
            });
            enter(&mut rows[place].amounts, 0, more);
        }
    }

    /// What an association has in windows is no part any more of what those above it have.
    pub(super) fn take_above_in_windows(&mut self, at: usize) {
        let way = self.way_up(at);
        let rows = &mut self.snapshot.tree_windows;
        let own = rows.iter().find(|row| way.first() == Some(&row.association));
        let Some(own) = own.map(|row| row.amounts.clone()) else { return };
        for row in rows.iter_mut().filter(|row| way[1..].contains(&row.association)) {
            for (amount, own) in row.amounts.iter_mut().zip(&own) {
                *amount = (*amount - own).max(0.0);
            }
        }
    }

    /// The ids of an association and of all above it.
    fn way_up(&self, at: usize) -> Vec<u32> {
        let all = &self.snapshot.associations;
        let parent = |one: &&multifactor2_snapshot::records::Association| {
            let parent = one.parent;
            all.iter().find(|above| parent != 0 && above.id == parent)
        };
        // No way is longer than there are associations.
        std::iter::successors(all.get(at), parent).take(all.len()).map(|one| one.id).collect()
    }
}

//! Lists the caps that a job exceeds, to explain why it waits.

use super::fair_share::{Ceiling, Rules, WINDOW};
use super::{requested, Ground, Points, PointsJob, TargetUsage};
use crate::rules::targets::{Cap, Totals};
use crate::settings::TargetKind;
use crate::tree::{Node, ShareTree};

/// A cap, and how far a job goes beyond it. Amounts are in seconds times `TargetMetric`.
#[derive(Clone, Debug, PartialEq)]
pub struct Beyond {
    /// Of what.
    pub kind: TargetKind,
    /// With `Target=Parent`, the account that has it.
    pub account: Option<Node>,
    /// The book whose usage it caps; `None` for all usage.
    pub book: Option<String>,
    /// What the line says.
    pub cap: Cap,
    /// Usage is counted in windows, not by half-life.
    pub in_windows: bool,
    /// Jobs beyond it do not start.
    pub stops: bool,
    /// What has been used.
    pub used: f64,
    /// How much the cap allows now.
    pub allowed: f64,
    /// What the job would use in all of its time limit.
    pub requested: f64,
}

impl Points {
    /// Those of a job, by the usage that was weighed last; of the accounts that it is in from the top down.
    pub fn beyond(&self, tree: &ShareTree, usage: [&TargetUsage; 2], job: &PointsJob<'_>) -> Vec<Beyond> {
        if !self.needs.caps {
            return Vec::new();
        }
        let (of_root, of_all) = (usage.map(TargetUsage::of_root), usage.map(TargetUsage::of_all));
        self.with(job, |_, ground| {
            let Ground { group, qos, partition, .. } = ground;
            let requested = requested(job);
            let mut beyond = Vec::new();
            let mut look = |kind, (account, book), rules: &Rules, used: [f64; 2], totals: &[Totals; 2]| {
                if let Some(Ceiling { cap, by, stops }) = rules.ceiling {
                    let (used, totals) = (used[by], totals[by]);
                    if requested > cap.room(used, totals) {
                        let allowed = cap.allowed(totals);
                        let in_windows = by == WINDOW;
                        beyond.push(Beyond {
                            kind,
                            account,
                            book: Option::<&str>::map(book, str::to_owned),
                            cap,
                            in_windows,
                            stops,
                            used,
                            allowed,
                            requested,
                        });
                    }
                }
            };
            let mut path: Vec<Node> = std::iter::successors(job.node, |node| tree.parent(*node)).collect();
            path.reverse();
            let book = self.books.get(usize::from(partition.book).wrapping_sub(1));
            let in_book = book.map(|book| (&book.associations, [&book.usage; 2], Some(book.name.as_str())));
            for (associations, usage, book) in
                [Some((&self.associations, usage, None)), in_book].into_iter().flatten()
            {
                let totals = usage.map(TargetUsage::of_root);
                let (user, account) = associations.objects_of(job.node, job.newcomer);
                look(TargetKind::User, (None, book), &user.rules, user.usage, &totals);
                look(TargetKind::Account, (None, book), &account.rules, account.usage, &totals);
                for node in &path {
                    let below = usage.map(|usage| usage.nodes.get(node.index()).copied().unwrap_or_default());
                    look(
                        TargetKind::Parent,
                        (Some(*node), book),
                        associations.parent_rules(*node),
                        below,
                        &totals,
                    );
                }
            }
            look(TargetKind::Group, (None, None), &group.rules, group.usage, &of_all);
            look(TargetKind::Qos, (None, None), &qos.rules, qos.usage, &of_root);
            look(TargetKind::Partition, (None, None), &partition.rules, partition.usage, &of_all);
            beyond
        })
    }
}

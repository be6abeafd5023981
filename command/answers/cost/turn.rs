//! When a job would have its turn in another account. The job is put there in the same cluster, and everything is computed as the next
//! calculation would.

use multifactor2_snapshot::records::{Association, Job};

use crate::model::order::visible;
use crate::model::{Model, Options};

/// Where a job would stand.
pub(super) struct Turn {
    /// The priority in its first partition.
    pub priority: u32,
    /// The place there, from 1, and how many wait there; `None` if the whole queue is not known.
    pub place: Option<(usize, usize)>,
}

/// A job, with its place in the snapshot where it waits already, if it were of each of these associations; `None` if it would not
/// compete.
pub(super) fn in_each(
    model: &Model<'_>,
    (job, place): (&Job, Option<usize>),
    associations: &[&Association],
) -> Vec<Option<Turn>> {
    let mut snapshot = model.snapshot.clone();
    let at = place.unwrap_or_else(|| {
        snapshot.jobs.push(job.clone());
        snapshot.jobs.len() - 1
    });
    let turn = |association: &&Association| {
        let moved = &mut snapshot.jobs[at];
        moved.account.clone_from(&association.account);
        moved.association = association.id;
        of(&Model::of(&snapshot, Options { at: Some(model.at), recompute: true }), at)
    };
    associations.iter().map(turn).collect()
}

fn of(there: &Model<'_>, job: usize) -> Option<Turn> {
    let queue = there.queue();
    let slot = visible(&queue).first_of(job)?;
    let place = queue.as_ref().ok().and_then(|queue| {
        let (at, _) = queue.places(job).next()?;
        Some((queue.before(there, at).len() + 1, queue.count_in(there, there.partition_of(slot))))
    });
    Some(Turn { priority: slot.priority, place })
}

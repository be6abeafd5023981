//! Collects which associations have waiting jobs, and in which books, job by job in a cycle.

use std::sync::Arc;

use multifactor2_core::books::{BookSet, ClosedPartitions};
use multifactor2_core::facts::{self, Obstacle};
use rustc_hash::FxHashMap;

use super::config::Config;
use crate::host::access::Open;
use crate::host::records::{Association, AssociationUsage, Job};
use crate::host::views;

/// What the shape of the tree depends on, for one association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Address of the record: its identity while it lives.
    pub address: usize,
    /// Address of the parent; 0 for none.
    pub parent: usize,
    pub facts: facts::Association,
}

impl Entry {
    /// Of a live association.
    pub fn of<A: Open>(association: Association<'_, A>) -> Self {
        let parent = association.usage().and_then(AssociationUsage::parent);
        Self {
            address: association.address(),
            parent: parent.map_or(0, Association::address),
            facts: views::association(association),
        }
    }
}

/// The entries of a list as it is read: mostly they are those of before, and then no second list is made.
#[derive(Debug)]
pub struct SeenEntries<'b> {
    before: &'b [Entry],
    /// How many have been read, as long as they are the same.
    same: usize,
    /// All, from the first one on that is another.
    changed: Option<Vec<Entry>>,
}

impl<'b> SeenEntries<'b> {
    /// None has been read.
    pub fn same_as(before: &'b [Entry]) -> Self {
        Self { before, same: 0, changed: None }
    }

    /// The next one.
    pub fn note(&mut self, entry: Entry) {
        match &mut self.changed {
            Some(all) => all.push(entry),
            None if self.before.get(self.same) == Some(&entry) => self.same += 1,
            None => {
                let mut all = self.before[..self.same].to_vec();
                all.push(entry);
                self.changed = Some(all);
            }
        }
    }

    /// The list, where it is another one than before.
    pub fn changed(self) -> Option<Vec<Entry>> {
        let is_shorter = self.same < self.before.len();
        self.changed.or_else(|| is_shorter.then(|| self.before[..self.same].to_vec()))
    }
}

/// Which associations have waiting jobs.
#[derive(Debug)]
pub struct Waiting {
    /// The associations that the flags were noted by.
    entries: Arc<Vec<Entry>>,
    /// The books in which there are some, by place.
    flags: Vec<BookSet>,
    /// Associations that are not in `entries`, by id and address; their places follow.
    strangers: Vec<(u32, usize)>,
    /// Their places by address.
    places: FxHashMap<usize, u32>,
    /// Where jobs wait that could start if their partition were open.
    pub closed: ClosedPartitions,
}

/// Which association is meant, among those of one [`Waiting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssocPlace(u32);

impl AssocPlace {
    /// No association.
    pub const NONE: Self = Self(u32::MAX);

    /// The one at a position among the entries.
    pub fn at(position: u32) -> Self {
        Self(position)
    }

    /// The position, beyond the entries for an association that they do not have.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Waiting {
    /// None has any yet but those that `flags` names.
    pub fn by(entries: &Arc<Vec<Entry>>, flags: Vec<BookSet>, closed: ClosedPartitions) -> Self {
        let entries = Arc::clone(entries);
        Self { entries, flags, strangers: Vec::new(), places: FxHashMap::default(), closed }
    }

    /// Whether places are positions in this list.
    pub fn is_by(&self, entries: &Arc<Vec<Entry>>) -> bool {
        Arc::ptr_eq(entries, &self.entries)
    }

    /// Notes a job that waits in some books.
    pub fn note(&mut self, place: AssocPlace, books: BookSet) {
        if let Some(flag) = self.flags.get_mut(place.index()) {
            *flag = flag.and(books);
        }
    }

    /// Whether some were noted in all of these books; true if nothing is to be noted.
    pub fn is_noted(&self, place: AssocPlace, books: BookSet) -> bool {
        self.flags.get(place.index()).is_none_or(|flag| flag.has_all(books))
    }

    /// All places, in their order.
    pub fn places(&self) -> impl Iterator<Item = AssocPlace> {
        (0..u32::try_from(self.flags.len()).unwrap_or(u32::MAX)).map(AssocPlace)
    }

    /// The place of an association that the entries do not have.
    pub fn place_of_stranger(&mut self, id: u32, address: usize) -> AssocPlace {
        let (flags, strangers) = (&mut self.flags, &mut self.strangers);
        AssocPlace(*self.places.entry(address).or_insert_with(|| {
            let place = u32::try_from(flags.len()).unwrap_or(u32::MAX);
            flags.push(BookSet::default());
            strangers.push((id, address));
            place
        }))
    }

    /// Id and address of an association.
    pub fn at(&self, place: AssocPlace) -> Option<(u32, usize)> {
        match place.index().checked_sub(self.entries.len()) {
            Some(at) => self.strangers.get(at).copied(),
            None => self.entries.get(place.index()).map(|entry| (entry.facts.id, entry.address)),
        }
    }

    /// The flags for a list of associations, which may be newer than the list that they were noted for. They are matched by id: slurmctld
    /// never gives an id twice, and records that were made anew keep theirs.
    pub fn flags_for(&self, entries: &Arc<Vec<Entry>>) -> Vec<BookSet> {
        if self.is_by(entries) {
            return self.flags[..entries.len()].to_vec();
        }
        let known = self.entries.iter().map(|entry| entry.facts.id);
        let all = known.chain(self.strangers.iter().map(|(id, _)| *id));
        let noted: FxHashMap<u32, BookSet> = all
            .zip(&self.flags)
            .filter(|(_, books)| **books != BookSet::default())
            .map(|(id, books)| (id, *books))
            .collect();
        entries.iter().map(|entry| noted.get(&entry.facts.id).copied().unwrap_or_default()).collect()
    }
}

/// Where a job waits, as far as it gives its user tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// Nowhere: it is held, at a limit, or its time has not come.
    #[default]
    No,
    /// In all of its partitions.
    Everywhere,
    /// In those of its partitions that start jobs, and before the closed doors of the others.
    WhereOpen,
    /// Before closed doors: nodes or a reservation keep it from starting.
    Closed,
    /// Nowhere: it is beyond a cap that keeps it from starting.
    Stopped,
}

impl Waits {
    /// It waits somewhere.
    pub fn is_some(self) -> bool {
        !matches!(self, Self::No | Self::Stopped)
    }
}

/// Where a job counts as waiting. It must be pending and, unless `ActiveJobs=pending`, eligible, not held, not completing and not running
/// on another cluster of the federation. With `ActiveJobs=startable` a job does not count if it waits for a reason that free nodes do not
/// help against. A job that only its place keeps from starting waits in a closed partition. For a job that `may_stop` it is not known yet
/// whether a cap keeps it from starting.
pub fn waits(config: &Config, job: Job<'_>, now: i64, may_stop: bool) -> Waits {
    let everywhere = |waits: bool| if waits { Waits::Everywhere } else { Waits::No };
    if config.counts_all_pending() {
        return everywhere(job.state().is_pending());
    }
    if !config.counts_startable_only() {
        return everywhere(is_eligible(job, now));
    }
    let waits = match job.obstacle() {
        // Whether it is stopped is said anew; what slurmctld says of that is older.
        Some(Obstacle::Threshold) if may_stop => Waits::WhereOpen,
        Some(Obstacle::Other | Obstacle::Threshold) => Waits::No,
        Some(Obstacle::Nodes | Obstacle::Reservation) => Waits::Closed,
        // What its partitions say is newer. Where they cannot be asked it is all there is.
        Some(Obstacle::Partition) if job.partition().is_some_and(|part| part.is_down().is_none()) => {
            Waits::Closed
        }
        Some(Obstacle::Partition) | None => Waits::WhereOpen,
    };
    // Until its reservation begins a job has no time from which on it is eligible.
    let is_reserved = || {
        let begin = job.details().map(|details| details.get(|d| d.begin_time));
        job.obstacle() == Some(Obstacle::Reservation) && is_free(job) && begin == Some(0)
    };
    if is_eligible(job, now) || is_reserved() {
        waits
    } else {
        Waits::No
    }
}

/// The same for a job that is set between two cycles. `was_closed`: the last cycle found it in a closed partition. A change clears the
/// reason, so that a change alone does not take a job out of there.
pub fn waits_still(config: &Config, job: Job<'_>, now: i64, (was_closed, may_stop): (bool, bool)) -> Waits {
    match waits(config, job, now, may_stop) {
        Waits::WhereOpen if was_closed && job.is_without_reason() => Waits::Closed,
        waits => waits,
    }
}

/// Whether a job waits that may start: pending, eligible, not held, not completing and not running on another cluster of the federation.
pub fn is_eligible(job: Job<'_>, now: i64) -> bool {
    let begin = || job.details().map_or(0, |details| details.get(|d| d.begin_time));
    is_free(job) && (1..=now).contains(&begin())
}

/// Pending, not held, not completing and not running on another cluster of the federation.
fn is_free(job: Job<'_>) -> bool {
    let state = job.state();
    state.is_pending() && !state.is_completing() && !state.is_revoked() && job.get(|job| job.priority) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(address: usize) -> Entry {
        let facts = facts::Association { id: 7, shares: 1, user: true };
        Entry { address, parent: 1, facts }
    }

    #[test]
    fn a_list_of_associations_is_new_where_one_came_went_or_changed() {
        let entries = |of: &[usize]| of.iter().copied().map(entry).collect::<Vec<_>>();
        let before = entries(&[1, 2, 3]);
        let read = |of: &[usize]| {
            let mut seen = SeenEntries::same_as(&before);
            for entry in entries(of) {
                seen.note(entry);
            }
            seen.changed()
        };
        assert_eq!(read(&[1, 2, 3]), None);
        for changed in [&[1, 2][..], &[1, 2, 3, 4], &[1, 5, 3], &[5, 1, 2, 3], &[2, 3], &[]] {
            assert_eq!(read(changed), Some(entries(changed)));
        }
        assert_eq!(SeenEntries::same_as(&[]).changed(), None);
    }
}

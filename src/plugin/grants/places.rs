//! Finds the grants that a job is in: the indexes of their sequences, by records.

use std::sync::Arc;

use multifactor2_core::rules::grants::{Scopes, DEEPEST};
use rustc_hash::FxHashMap;

use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Association, AssociationUsage, Job};

/// The sequences of jobs, while the locks are held: those of an association are found once.
#[derive(Debug, Default)]
pub struct Places {
    scopes: Arc<Scopes>,
    of_associations: FxHashMap<usize, Vec<u32>>,
}

impl Places {
    /// By these scopes.
    pub fn of(scopes: Arc<Scopes>) -> Self {
        Self { scopes, of_associations: FxHashMap::default() }
    }

    /// All places of a job. The locks have been held since this was made.
    pub fn all<A: Open, V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        places: &mut Vec<u32>,
    ) {
        places.clear();
        let scopes = &self.scopes;
        if let Some(association) = job.association(lock) {
            let of = self.of_associations.entry(association.address());
            places.extend(&*of.or_insert_with(|| of_association(scopes, association)));
        }
        add_others(scopes, job, places);
        if self.scopes.have_qos() {
            if let Some(qos) = job.qos(lock) {
                places.extend(self.scopes.of_qos(&qos.text(|qos| qos.name)));
            }
        }
    }
}

/// Sets of places by numbers, each set once. Number 0 has none.
#[derive(Debug)]
pub struct Sets {
    all: Vec<Vec<u32>>,
    numbers: FxHashMap<Vec<u32>, u32>,
}

impl Default for Sets {
    fn default() -> Self {
        Self { all: vec![Vec::new()], numbers: [(Vec::new(), 0)].into_iter().collect() }
    }
}

impl Sets {
    /// The number of a set.
    pub fn number(&mut self, set: &[u32]) -> u32 {
        if let Some(number) = self.numbers.get(set) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or_default();
        self.numbers.insert(set.to_vec(), number);
        self.all.push(set.to_vec());
        number
    }

    /// The set with a number.
    pub fn get(&self, number: u32) -> &[u32] {
        self.all.get(number as usize).map_or(&[], Vec::as_slice)
    }

    /// All, by their numbers.
    pub fn all(&self) -> impl Iterator<Item = &[u32]> {
        self.all.iter().map(Vec::as_slice)
    }
}

/// What jobs are in by their Unix group and their wckey: it is the same for most jobs of a user.
#[derive(Debug, Default)]
pub struct OtherPlaces {
    scopes: Arc<Scopes>,
    sets: Sets,
    of_job: Vec<u32>,
}

impl OtherPlaces {
    /// By these scopes.
    pub fn of(scopes: &Arc<Scopes>) -> Self {
        Self { scopes: Arc::clone(scopes), ..Self::default() }
    }

    /// The number of the set of a job.
    pub fn number(&mut self, job: Job<'_>) -> u32 {
        if !self.scopes.have_others() {
            return 0;
        }
        self.of_job.clear();
        add_others(&self.scopes, job, &mut self.of_job);
        self.sets.number(&self.of_job)
    }

    /// The set with a number.
    pub fn set(&self, number: u32) -> &[u32] {
        self.sets.get(number)
    }
}

/// Adds those of the Unix group and the wckey of a job, which are told in a release that was compared with its headers.
pub fn add_others<A: Open>(scopes: &Scopes, job: Job<'_, A>, places: &mut Vec<u32>) {
    if !job.host().verified {
        return;
    }
    if scopes.have_groups() {
        places.extend(scopes.of_group(Some(job.get(|job| job.group_id))));
    }
    if scopes.have_wckeys() {
        places.extend(scopes.of_wckey(&job.wckey()));
    }
}

/// Those of a user, of the account and of all above it.
fn of_association<A: Open>(scopes: &Scopes, association: Association<'_, A>) -> Vec<u32> {
    let up =
        std::iter::successors(Some(association), |below| below.usage().and_then(AssociationUsage::parent));
    let up = up.take(DEEPEST);
    let mut places = scopes.of_user(&association.text(|assoc| assoc.user)).to_vec();
    places.extend(scopes.of_path(up.map(|above| above.text(|assoc| assoc.acct).into_owned())));
    places
}

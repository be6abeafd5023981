//! Which grants a job is in, and how they stand, from a snapshot.

use std::collections::HashMap;

use multifactor2_core::rules::grants::{Effect, Effects, Filters, Granted, Key, Scopes};
use multifactor2_core::settings::{GrantBeyond, GrantKind};
use multifactor2_snapshot::records::{Grant, Job};
use multifactor2_snapshot::Snapshot;

use super::Tree;

/// Those of a snapshot, by their places in it.
#[derive(Debug, Default)]
pub(super) struct Grants {
    scopes: Scopes,
    effects: Effects,
    /// Those of an account and of all above it.
    of_accounts: HashMap<String, Vec<u32>>,
}

impl Grants {
    pub fn of(snapshot: &Snapshot, tree: &Tree) -> Self {
        if snapshot.grants.is_empty() {
            return Self::default();
        }
        let keys: Vec<Key> = snapshot.grants.iter().map(key).collect();
        let gid = |name: &str| {
            let is_group = |grant: &&Grant| grant.kind == GrantKind::Group.to_string() && grant.name == name;
            snapshot.grants.iter().find(is_group).and_then(|grant| grant.group)
        };
        let scopes = Scopes::of(keys.iter(), gid);
        let mut of_accounts: HashMap<String, Vec<u32>> = HashMap::new();
        for (place, association) in snapshot.associations.iter().enumerate() {
            if of_accounts.contains_key(&association.account) {
                continue;
            }
            let up = tree.path(place).into_iter().rev();
            let grants = scopes.of_path(up.map(|above| snapshot.associations[above].account.as_str()));
            of_accounts.insert(association.account.clone(), grants);
        }
        Self {
            effects: Effects::of(Filters::of(keys.iter()), snapshot.grants.iter().map(effect).collect()),
            scopes,
            of_accounts,
        }
    }

    /// Those of a job under a QOS.
    pub fn places(&self, job: &Job, qos: &str) -> impl Iterator<Item = u32> + '_ {
        let of_account = self.of_accounts.get(&job.account).map_or(&[][..], Vec::as_slice);
        let others = [
            self.scopes.of_user(&job.user),
            self.scopes.of_group(job.group),
            self.scopes.of_qos(qos),
            self.scopes.of_wckey(job.wckey.trim_start_matches('*')),
        ];
        of_account.iter().chain(others.into_iter().flatten()).copied()
    }

    /// What they do to a job in a partition, under a QOS.
    pub fn granted(&self, job: &Job, partition: &str, qos: &str) -> Granted {
        self.effects.granted(self.places(job, qos), partition)
    }
}

/// Whether jobs are beyond a grant.
pub fn is_beyond(grant: &Grant) -> bool {
    matches!(grant.state.as_str(), "beyond" | "outside")
}

fn effect(grant: &Grant) -> Effect {
    let beyond = GrantBeyond::read(&grant.beyond).unwrap_or(GrantBeyond::Low);
    match grant.state.as_str() {
        _ if is_beyond(grant) => Effect::Beyond(beyond),
        "within" => Effect::Within(grant.within),
        _ => Effect::Nothing,
    }
}

/// Whose it is.
pub fn key(grant: &Grant) -> Key {
    Key {
        kind: GrantKind::read(&grant.kind).unwrap_or(GrantKind::Account),
        name: grant.name.clone(),
        unit: grant.unit.clone(),
        partitions: (!grant.partitions.is_empty()).then(|| grant.partitions.clone()),
        book: (!grant.book.is_empty()).then(|| grant.book.clone()),
    }
}

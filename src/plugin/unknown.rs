//! Warns of names in lines of settings that nothing has. It is no error, because the name may exist tomorrow.

use std::collections::HashSet;
use std::sync::Arc;

use multifactor2_core::books;
use multifactor2_core::policy::pools::{Bearer, Named, Pools, NONE_OF_THAT_NAME};
use multifactor2_core::rules::charge_rules;
use multifactor2_core::settings::report::MAX_REPORTS;
use multifactor2_core::settings::{Charge, ChargeKind};
use tracing::warn;

use super::config::Config;
use super::origins::Origins;
use super::points::PointsState;
use super::Plugin;
use crate::faults;
use crate::host::locks::{Factors, Unlocked};

impl Plugin {
    /// Looks for them after every cycle, and warns of those that were not missing before.
    pub(super) fn warn_of_unknown(&self, unlocked: &mut Unlocked) {
        faults::point("unknown");
        let Some(config) = self.config() else { return };
        if self.has_looked(&config) {
            return;
        }
        let accounts = read_accounts(unlocked, &config);
        let known = |name: &str| accounts.is_empty() || accounts.contains(name);
        let of_lines: Vec<Named<'_>> = books::named(&config.settings, known)
            .into_iter()
            .chain(charge_rules::named(&config.settings, known))
            .collect();
        let bearers: Vec<Bearer> = {
            let origins = self.origins.lock();
            named(&origins).chain(of_lines.iter().cloned()).map(|named| named.of).collect()
        };
        if bearers.is_empty() {
            return;
        }
        let (partitions, all_qos) = read_names(unlocked, &bearers);
        let exists = |named: &Named<'_>| match named.of {
            Bearer::Association(exists) | Bearer::Group(exists) => exists,
            Bearer::Partition => partitions.is_empty() || partitions.contains(named.name),
            Bearer::Qos => all_qos.is_empty() || all_qos.contains(&named.name.to_ascii_lowercase()),
            Bearer::Job => true,
        };
        let by_associations = bearers
            .iter()
            .all(|bearer| matches!(bearer, Bearer::Association(_) | Bearer::Group(_) | Bearer::Job));
        let mut origins = self.origins.lock();
        let is_enough = by_associations && of_lines.is_empty() && origins.standing.pools().is_none();
        let looked_up = origins.points.as_ref().filter(|_| is_enough).map(|points| points.looked_up());
        origins.looked_up = looked_up.map(|looked_up| (Arc::clone(&config), looked_up));
        let missing = named(&origins).chain(of_lines).filter(|named| !exists(named));
        let lines: HashSet<String> = missing.map(|named| named.line()).collect();
        let before = std::mem::replace(&mut origins.unknown, lines.clone());
        drop(origins);
        let new: Vec<&String> = lines.difference(&before).collect();
        for line in new.iter().take(MAX_REPORTS) {
            warn!("{line}: {NONE_OF_THAT_NAME}");
        }
        if new.len() > MAX_REPORTS {
            warn!("{} more names in lines of multifactor2.conf do not exist", new.len() - MAX_REPORTS);
        }
    }

    /// Whether all names were looked up in the cycle before, and nothing has changed by which they are.
    fn has_looked(&self, config: &Arc<Config>) -> bool {
        let origins = self.origins.lock();
        match (&origins.looked_up, &origins.points) {
            (Some((of, looked_up)), Some(points)) => Arc::ptr_eq(of, config) && looked_up.is_of(points),
            _ => false,
        }
    }
}

/// The names in all lines.
fn named(origins: &Origins) -> impl Iterator<Item = Named<'_>> {
    let of_pools = origins.standing.pools().into_iter().flat_map(Pools::named);
    of_pools.chain(origins.points.as_deref().into_iter().flat_map(PointsState::named))
}

/// The names of accounts in small letters, where lines of books or charging name such; none where they do not, and no lock is taken.
fn read_accounts(unlocked: &mut Unlocked, config: &Config) -> HashSet<String> {
    let by_account = |line: &Charge| matches!(line.kind, ChargeKind::Account | ChargeKind::Parent);
    let mut accounts = HashSet::new();
    if config.fair_share && config.books.has_shares() || config.settings.charges.iter().any(by_account) {
        if let Some(list) = unlocked.associations::<Factors>().all() {
            list.for_each_ro(|association| {
                accounts.insert(association.text(|assoc| assoc.acct).to_lowercase());
            });
        }
    }
    accounts
}

/// The names of partitions and of QOS, in lower case, where lines name such; none where they do not, and no lock is taken.
fn read_names(unlocked: &mut Unlocked, named: &[Bearer]) -> (HashSet<String>, HashSet<String>) {
    let (mut partitions, mut all_qos) = (HashSet::new(), HashSet::new());
    if named.contains(&Bearer::Partition) {
        if let Some(list) = unlocked.jobs_read().all_partitions() {
            list.for_each_ro(|partition| {
                partitions.insert(partition.text(|part| part.name).into_owned());
            });
        }
    }
    if named.contains(&Bearer::Qos) {
        if let Some(list) = unlocked.associations::<Factors>().qos() {
            list.for_each_ro(|qos| {
                all_qos.insert(qos.text(|qos| qos.name).to_ascii_lowercase());
            });
        }
    }
    (partitions, all_qos)
}

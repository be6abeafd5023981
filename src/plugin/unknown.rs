//! Names in `Override=` and `Functional=` that nothing has: a warning, not an error, because it may exist tomorrow.

use std::collections::HashSet;

use multifactor2_core::policy::pools::Named;
use tracing::warn;

use super::Plugin;
use crate::faults;
use crate::host::locks::{Factors, Unlocked};

impl Plugin {
    /// Looks for them after every cycle, and warns of those that were not missing before.
    pub(super) fn warn_of_unknown(&self, unlocked: &mut Unlocked) {
        faults::point("unknown");
        if self.grants.lock().standing.pools().is_none() {
            return;
        }
        let jobs = unlocked.jobs_read();
        let lock = jobs.associations::<Factors>();
        let mut partitions = HashSet::new();
        if let Some(list) = jobs.all_partitions() {
            list.for_each_ro(|partition| {
                partitions.insert(partition.text(|part| part.name).into_owned());
            });
        }
        let mut all_qos = HashSet::new();
        if let Some(list) = lock.qos() {
            list.for_each_ro(|qos| {
                all_qos.insert(qos.text(|qos| qos.name).to_ascii_lowercase());
            });
        }
        let exists = |named: &Named<'_>| match named.kind.as_str() {
            "Partition" => partitions.is_empty() || partitions.contains(named.name),
            "QOS" => all_qos.is_empty() || all_qos.contains(&named.name.to_ascii_lowercase()),
            _ => named.exists.unwrap_or(true),
        };
        let mut grants = self.grants.lock();
        let Some(pools) = grants.standing.pools() else { return };
        let missing = pools.named().filter(|named| !exists(named));
        let lines: HashSet<String> = missing
            .map(|Named { place, setting, kind, name, .. }| format!("{place}: {setting}={kind} Name={name}"))
            .collect();
        let before = std::mem::replace(&mut grants.unknown, lines.clone());
        drop(grants);
        for line in lines.difference(&before) {
            warn!(
                "{line}: there is none of that name, so the line does nothing. Correct the name, or create it: it is looked for in \
                 every cycle"
            );
        }
    }
}

//! Reports configurations that work but are hardly meant, once in the log after a start or a reconfigure. Rules that need the configuration
//! alone are in `settings::advice` of the engine, which `multifactor2 check` uses too.

use std::sync::atomic::Ordering;

use multifactor2_core::settings::advice::{Grade, Thresholds};
use multifactor2_core::settings::ParentUsers;
use tracing::{info, warn};

use super::points::PointsState;
use super::Plugin;
use crate::faults;
use crate::host::locks::{Factors, Unlocked};
use crate::host::views;

/// The flag of a QOS without which slurmctld does not look at its `UsageThreshold`; the same bit in every release.
const ENFORCES_THRESHOLD: u32 = crate::host::constants::QOS_FLAG_ENFORCE_USAGE_THRES;

impl Plugin {
    /// Looks for them, unless that was done since the last start or reconfigure.
    pub(super) fn advise(&self, unlocked: &mut Unlocked) {
        if self.advised.swap(true, Ordering::Relaxed) {
            return;
        }
        faults::point("advise");
        let Some(config) = self.config() else { return };
        let advice = config.settings.advice(Some(&config.beside));
        for advice in advice.iter().filter(|advice| advice.grade != Grade::Unusual) {
            warn!("{advice}");
        }
        for name in self.own_usage.lacking() {
            warn!(
                "DominantTRES={name}: the cluster has no such TRES, so none of its usage counts: correct the name, \
                 or add the TRES to AccountingStorageTRES"
            );
        }
        for unit in self.grants.lacking() {
            warn!(
                "Unit={unit}-hours: the cluster has no such TRES, so none of its usage counts: correct the name, \
                 or add the TRES to AccountingStorageTRES"
            );
        }
        let lock = unlocked.associations::<Factors>();
        let origins = self.origins.lock();
        let standing = &origins.standing;
        if origins.points.as_deref().is_some_and(PointsState::lacks_metric) {
            warn!(
                "TargetMetric={}: the cluster has no such TRES, so targets see no usage: correct the name, or add \
                 the TRES to AccountingStorageTRES",
                config.settings.target_metric
            );
        }
        let split = config.settings.parent_users == ParentUsers::Split;
        if let Some(account) = standing.mixed_account(&lock).filter(|_| !split) {
            warn!(
                "account {account}, and perhaps others, has users with Fairshare=parent and users with their own \
                 shares: each of the former gets all of the account's tickets, while the latter divide them. Give \
                 all users the same kind of shares, or set ParentUsers=split"
            );
        }
        if standing.has_parent_users_under_root() {
            info!(
                "users with Fairshare=parent and no account with shares above them draw on the tickets of the \
                 whole cluster: without ParentUsers=split, each gets all of them and always has fair-share 1.0. \
                 Give these users shares, or move them into an account with shares"
            );
        }
        drop(origins);
        if config.settings.caps_stop() && !lock.host().verified {
            warn!(
                "Target lines with Block=yes stop no job in this Slurm release, which is newer than this build \
                 knows: jobs beyond a cap come last. Look for a newer slurm-multifactor2"
            );
        }
        let Some(list) = lock.qos() else { return };
        let mut thresholds = Thresholds::default();
        list.for_each_ro(|qos| {
            let is_enforced = qos.get(|qos| qos.flags) & ENFORCES_THRESHOLD != 0;
            let facts = views::qos(qos);
            let threshold = facts.has_threshold().then_some(facts.usage_threshold);
            thresholds.take(&qos.text(|qos| qos.name), is_enforced, threshold, config.caps_stop);
        });
        for advice in thresholds.advice() {
            warn!("{advice}");
        }
    }
}

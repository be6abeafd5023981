//! Configurations that work but hardly as meant: said once in the log after a start or a reconfigure.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use tracing::{info, warn};

use super::job::has_threshold;
use super::Plugin;
use crate::faults;
use crate::host::locks::{AssocLevels, Unlocked};

impl Plugin {
    /// Looks for them, unless that was done since the last start or reconfigure.
    pub(super) fn advise(&self, unlocked: &mut Unlocked) {
        if self.advised.swap(true, Ordering::Relaxed) {
            return;
        }
        faults::point("advise");
        let lock = unlocked.associations(AssocLevels::READ);
        if self.standing.lock().has_parent_users_under_root() {
            info!(
                "users with Fairshare=parent directly below the root draw on all tickets and always have fair-share 1.0: give \
                 them shares of their own, or put them into an account"
            );
        }
        let Some(list) = lock.qos() else { return };
        list.for_each_ro(|qos| {
            if has_threshold(qos) {
                warn!(
                    "QOS {} has a UsageThreshold: slurmctld compares it with the weighted fair-share factor of a job (the column \
                     FAIRSHARE of sprio), which is relative to the best waiting user here. It has little meaning: unset it",
                    qos.text(|qos| qos.name)
                );
            }
            ControlFlow::Continue(())
        });
    }
}

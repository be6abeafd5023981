//! The Unix groups that lines of points name: looked up on the decay thread, where nobody waits with a lock.

use std::collections::HashSet;
use std::sync::Arc;

use multifactor2_core::policy::points::Points;
use multifactor2_core::settings::Settings;
use tracing::warn;

use super::Groups;
use crate::host::groups::number_of;
use crate::host::locks::Unlocked;

/// See the module.
#[derive(Debug, Default)]
pub struct GroupFinder {
    /// Those that are known. Another one only where something is new.
    known: Arc<Groups>,
    /// Those that the system could not tell, as has been said.
    failed: HashSet<String>,
}

impl GroupFinder {
    /// Looks for all groups that are not known yet.
    pub fn find(&mut self, unlocked: &mut Unlocked, settings: &Settings) -> &Arc<Groups> {
        let Some(points) = Points::configured(settings) else { return &self.known };
        let mut found = Vec::new();
        for name in points.group_names().filter(|name| !self.known.contains_key(*name)) {
            match number_of(unlocked, name) {
                Ok(Some(number)) => found.push((name.to_owned(), number)),
                // That it is unknown is said with all names that are.
                Ok(None) => (),
                Err(problem) => {
                    if self.failed.insert(name.to_owned()) {
                        warn!(
                            "cannot look up the Unix group {name}: {problem}. Its lines count nothing until the next calculation that \
                             finds it: look after the name service of this host"
                        );
                    }
                }
            }
        }
        if !found.is_empty() {
            self.failed.retain(|name| !found.iter().any(|(known, _)| known == name));
            let known = self.known.iter().map(|(name, number)| (name.clone(), *number));
            self.known = Arc::new(known.chain(found).collect());
        }
        &self.known
    }
}

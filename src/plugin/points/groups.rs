//! The Unix groups that lines of points name: looked up on the decay thread, where nobody waits with a lock.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

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
    /// Looks for those of some groups that are not known yet. Where the thread `stops` the next one looks for the rest: slurmctld waits for this one,
    /// and a directory service that does not answer may take half a minute for each name.
    pub fn find<'n>(
        &mut self,
        unlocked: &mut Unlocked,
        names: impl Iterator<Item = &'n str>,
        stops: impl Fn() -> bool,
    ) -> &Arc<Groups> {
        self.find_with(names, stops, |name| number_of(unlocked, name))
    }

    fn find_with<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        stops: impl Fn() -> bool,
        mut number_of: impl FnMut(&str) -> io::Result<Option<u32>>,
    ) -> &Arc<Groups> {
        let mut found = Vec::new();
        let unknown = names.filter(|name| !self.known.contains_key(*name));
        for name in unknown.take_while(|_| !stops()) {
            match number_of(name) {
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use multifactor2_core::policy::points::Points;
    use multifactor2_core::settings::Settings;

    use super::*;

    #[test]
    fn a_thread_that_stops_asks_for_no_more_groups() {
        let settings = "Component=CRED Group=1\nCredential=Group Name=a,b,c,d Priority=1\n";
        let settings = Settings::parse(settings, "test").expect("right").settings;
        let points = Points::configured(&settings).expect("asked for");
        let mut finder = GroupFinder::default();
        let asked = Cell::new(0);
        let mut find = |last: u32| {
            let answer = |_: &str| {
                asked.set(asked.get() + 1);
                Ok(Some(asked.get()))
            };
            finder.find_with(points.group_names(), || asked.get() >= last, answer).len()
        };
        // Told to stop while it waits for the second.
        assert_eq!((find(2), asked.get()), (2, 2));
        assert_eq!((find(2), asked.get()), (2, 2));
        assert_eq!((find(9), asked.get()), (4, 4));
    }
}

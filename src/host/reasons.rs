//! Why slurmctld has left a job waiting, as far as it says that the job could not start even on an empty machine.
//!
//! One number means different things in different releases, so reasons go by their names in Slurm's headers: `build.rs`
//! generates the table from `slurm-headers/reasons.tsv`.

// SLURM_VERSION_NUMBER in the generated table reads best as it is.
#![allow(clippy::unreadable_literal)]

use super::layout::Release;

/// A name that has one number over a range of releases.
#[derive(Debug)]
pub struct Reason {
    name: &'static str,
    value: u32,
    /// The first release that has both.
    since: u32,
    /// The first one that has not.
    until: u32,
}

include!(concat!(env!("OUT_DIR"), "/reasons.rs"));

/// What a job waits for that free nodes do not help against: somebody, another job, a time, a limit, or a place that is closed.
const OBSTACLES: [&str; 16] = [
    "WAIT_ARRAY_TASK_LIMIT",
    "WAIT_DEPENDENCY",
    "WAIT_DEP_INVALID",
    "WAIT_HELD",
    "WAIT_HELD_USER",
    "WAIT_LICENSES",
    "WAIT_MAX_REQUEUE",
    "WAIT_NODE_NOT_AVAIL",
    "WAIT_PART_CONFIG",
    "WAIT_PART_DOWN",
    "WAIT_PART_INACTIVE",
    "WAIT_PART_NODE_LIMIT",
    "WAIT_PART_TIME_LIMIT",
    "WAIT_PN_MEM_LIMIT",
    "WAIT_RESERVATION",
    "WAIT_TIME",
];

/// Beginnings of the names of whole families: limits of associations and QOS, of which every release has more.
const FAMILIES: [&str; 5] = ["FAIL_", "WAIT_ACCOUNT", "WAIT_ASSOC_", "WAIT_QOS", "WAIT_RESV_"];

/// Whether a reason with this name is one.
fn is_obstacle(name: &str) -> bool {
    OBSTACLES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The numbers of these reasons in the running release.
#[derive(Debug)]
pub struct Obstacles(Vec<bool>);

impl Obstacles {
    /// In a release. One that is newer than all that were compared has the reasons of the newest before it.
    pub fn of(release: Release) -> Self {
        Self::choose(release, REASONS_BUILT_FOR)
    }

    fn choose(release: Release, built_for: Option<(u32, &[(&str, u32)])>) -> Self {
        let in_table = || {
            let rows = REASONS.iter().filter(|row| row.since <= release.0 && release.0 < row.until);
            rows.map(|row| (row.name, row.value)).collect::<Vec<_>>()
        };
        let own = built_for.filter(|(of, _)| *of == release.0);
        let reasons = own.map_or_else(in_table, |(_, reasons)| reasons.to_vec());
        let numbers: Vec<usize> = reasons
            .into_iter()
            .filter(|(name, _)| is_obstacle(name))
            .map(|(_, value)| value as usize)
            .collect();
        let mut flags = vec![false; numbers.iter().max().map_or(0, |most| most + 1)];
        for number in numbers {
            flags[number] = true;
        }
        Self(flags)
    }

    /// Whether a number is that of one; no number that is unknown is.
    pub fn has(&self, reason: u32) -> bool {
        usize::try_from(reason).ok().and_then(|at| self.0.get(at).copied()).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDEST: Release = Release::new(20, 11, 0);
    const NEWEST: Release = Release::new(26, 5, 5);

    #[test]
    fn every_name_in_the_list_is_one_of_slurms() {
        for name in OBSTACLES {
            assert!(REASONS.iter().any(|row| row.name == name), "{name}");
        }
        for family in FAMILIES {
            assert!(REASONS.iter().any(|row| row.name.starts_with(family)), "{family}");
        }
    }

    #[test]
    fn what_only_waits_for_its_turn_or_for_nodes_has_no_obstacle() {
        for release in [OLDEST, NEWEST] {
            let obstacles = Obstacles::of(release);
            // None, priority, resources, cleaning, prolog, burst buffer, federation; and numbers that nobody knows.
            for reason in [0, 1, 3, 35, 36, 73, 74, 180, 500, 0xffff_fffe, u32::MAX] {
                assert!(!obstacles.has(reason), "{reason} in {release}");
            }
            // Dependency, partition, held, time, associations, QOS, account.
            for reason in
                [2, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 30, 37, 38, 39, 53, 57, 71, 72, 75, 178, 182]
            {
                assert!(obstacles.has(reason), "{reason} in {release}");
            }
        }
    }

    #[test]
    fn a_number_means_what_it_means_in_the_running_release() {
        let has = |release, reason| Obstacles::of(release).has(reason);
        // A block system that is gone, then a failure.
        assert!(!has(Release::new(22, 5, 11), 33) && has(Release::new(23, 2, 0), 33));
        assert!(!has(Release::new(23, 11, 11), 201) && has(Release::new(24, 5, 0), 201));
        assert!(!has(Release::new(23, 2, 2), 199) && has(Release::new(23, 2, 3), 199));
        // Nodes that are powered up in turn, and ports of MPI.
        assert!(!has(NEWEST, 219) && !has(NEWEST, 220));
        assert_eq!(Obstacles::of(Release::new(26, 5, 200)).0, Obstacles::of(NEWEST).0);
    }

    #[test]
    fn a_build_for_one_source_tree_has_its_reasons_in_exactly_that_release() {
        let own: (u32, &[(&str, u32)]) = (NEWEST.0, &[("WAIT_HELD", 1), ("WAIT_PRIORITY", 8)]);
        let obstacles = Obstacles::choose(NEWEST, Some(own));
        assert!(obstacles.has(1) && !obstacles.has(8));
        let obstacles = Obstacles::choose(OLDEST, Some(own));
        assert!(!obstacles.has(1) && obstacles.has(8));
    }
}

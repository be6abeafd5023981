//! Tells from slurmctld's reason that a job could not start even on an empty machine, because of the job itself or of the place where it is
//! to run.
//!
//! One number means different things in different releases, so reasons are identified by their names in Slurm's headers: `build.rs`
//! generates the table from `slurm-headers/reasons.tsv`.

// SLURM_VERSION_NUMBER in the generated table reads best as it is.
#![allow(clippy::unreadable_literal)]

use multifactor2_core::facts::Obstacle;

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

/// That of the reason with this name.
fn obstacle(name: &str) -> Option<Obstacle> {
    match name {
        "WAIT_PART_DOWN" | "WAIT_PART_INACTIVE" => Some(Obstacle::Partition),
        "WAIT_NODE_NOT_AVAIL" => Some(Obstacle::Nodes),
        "WAIT_RESERVATION" => Some(Obstacle::Reservation),
        "WAIT_QOS_THRES" => Some(Obstacle::Threshold),
        _ if OBSTACLES.contains(&name) => Some(Obstacle::Other),
        _ if FAMILIES.iter().any(|family| name.starts_with(family)) => Some(Obstacle::Other),
        _ => None,
    }
}

/// The numbers of these reasons in the running release.
#[derive(Debug, PartialEq, Eq)]
pub struct Obstacles(Vec<Option<Obstacle>>);

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
        let known: Vec<(usize, Obstacle)> =
            reasons.into_iter().filter_map(|(name, value)| Some((value as usize, obstacle(name)?))).collect();
        let mut by_number = vec![None; known.iter().map(|(number, _)| number + 1).max().unwrap_or(0)];
        for (number, obstacle) in known {
            by_number[number] = Some(obstacle);
        }
        Self(by_number)
    }

    /// That of a number; a number that is unknown is none.
    pub fn of_reason(&self, reason: u32) -> Option<Obstacle> {
        usize::try_from(reason).ok().and_then(|at| self.0.get(at).copied()).flatten()
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
                assert_eq!(obstacles.of_reason(reason), None, "{reason} in {release}");
            }
            // Dependency, partition, held, time, associations, QOS, account.
            for reason in
                [2, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 30, 37, 38, 39, 53, 57, 71, 72, 75, 178, 182]
            {
                assert!(obstacles.of_reason(reason).is_some(), "{reason} in {release}");
            }
        }
    }

    #[test]
    fn a_number_means_what_it_means_in_the_running_release() {
        let has = |release, reason| Obstacles::of(release).of_reason(reason).is_some();
        // A block system that is gone, then a failure.
        assert!(!has(Release::new(22, 5, 11), 33) && has(Release::new(23, 2, 0), 33));
        assert!(!has(Release::new(23, 11, 11), 201) && has(Release::new(24, 5, 0), 201));
        assert!(!has(Release::new(23, 2, 2), 199) && has(Release::new(23, 2, 3), 199));
        // Nodes that are powered up in turn, and ports of MPI.
        assert!(!has(NEWEST, 219) && !has(NEWEST, 220));
        assert_eq!(Obstacles::of(Release::new(26, 5, 200)), Obstacles::of(NEWEST));
    }

    #[test]
    fn what_hinders_a_job_where_it_is_to_run_is_told_from_what_is_its_own() {
        use Obstacle::{Nodes, Other, Partition, Reservation};
        for release in [OLDEST, NEWEST] {
            let obstacles = Obstacles::of(release);
            // Down and inactive partitions, reservations, nodes; dependency, held, time, licences, a reservation that is gone.
            let expected = [(6, Partition), (7, Partition), (14, Reservation), (15, Nodes)];
            let others = [2, 8, 9, 10, 198].map(|reason| (reason, Other));
            for (reason, obstacle) in expected.into_iter().chain(others) {
                assert_eq!(obstacles.of_reason(reason), Some(obstacle), "{reason} in {release}");
            }
        }
    }

    #[test]
    fn a_build_for_one_source_tree_has_its_reasons_in_exactly_that_release() {
        let own: (u32, &[(&str, u32)]) = (NEWEST.0, &[("WAIT_HELD", 1), ("WAIT_PRIORITY", 8)]);
        let obstacles = Obstacles::choose(NEWEST, Some(own));
        assert!(obstacles.of_reason(1).is_some() && obstacles.of_reason(8).is_none());
        let obstacles = Obstacles::choose(OLDEST, Some(own));
        assert!(obstacles.of_reason(1).is_none() && obstacles.of_reason(8).is_some());
    }
}

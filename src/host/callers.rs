//! Which of Slurm's locks are held when it calls an export, and taken when the plugin calls it. The check of the lock order uses this, from
//! `slurm-headers/callers.tsv` and `callees.tsv`.

// SLURM_VERSION_NUMBER in the generated tables reads best as it is.
#![allow(clippy::unreadable_literal)]

use super::layout::Release;

/// Number of locks of slurmctld and of the association manager.
pub const LOCK_COUNT: usize = LOCKS.len();

/// A caller of an export, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The export.
    pub export: &'static str,
    /// `file.c:function` of Slurm.
    pub caller: &'static str,
    /// `SLURM_VERSION_NUMBER` of the first release of which this is true.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// For each of [`LOCKS`]: 0 not held, 1 for reading, 2 for writing.
    pub levels: [u8; LOCK_COUNT],
    /// Lists whose own lock is held, with the level.
    pub lists: &'static [(&'static str, u8)],
}

/// A function of the host, and what it takes inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Callee {
    /// The function.
    pub callee: &'static str,
    /// `always`, or under which condition, for example `mcs/account`.
    pub case: &'static str,
    /// `SLURM_VERSION_NUMBER` of the first release of which this is true.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// For each of [`LOCKS`]: 0 not taken, 1 for reading, 2 for writing.
    pub levels: [u8; LOCK_COUNT],
    /// Lists whose own lock is taken, with the level.
    pub lists: &'static [(&'static str, u8)],
}

include!(concat!(env!("OUT_DIR"), "/callers.rs"));

/// Everybody who calls an export in a release.
pub fn held(export: &str, release: Release) -> impl Iterator<Item = &'static Caller> + '_ {
    CALLERS.iter().filter(move |row| row.export == export && (row.first..=row.last).contains(&release.0))
}

/// What a function of the host takes in a release, in each of the cases.
pub fn taken(callee: &str, release: Release) -> impl Iterator<Item = &'static Callee> + '_ {
    CALLEES.iter().filter(move |row| row.callee == callee && (row.first..=row.last).contains(&release.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::layout::LAYOUTS;

    /// What is no function, and the locks themselves.
    const NOT_LISTED: [&str; 22] = [
        "acct_db_conn",
        "accounting_enforce",
        "active_node_record_count",
        "assoc_mgr_assoc_list",
        "assoc_mgr_lock",
        "assoc_mgr_qos_list",
        "assoc_mgr_user_list",
        "assoc_mgr_root_assoc",
        "assoc_mgr_tres_array",
        "assoc_mgr_tres_name_array",
        "assoc_mgr_unlock",
        "cluster_cpus",
        "ignore_state_errors",
        "job_list",
        "last_job_update",
        "last_part_update",
        "lock_slurmctld",
        "node_record_count",
        "part_list",
        "slurm_conf",
        "slurmctld_tres_cnt",
        "unlock_slurmctld",
    ];

    #[test]
    fn every_function_that_the_plugin_calls_says_what_it_takes() {
        for release in
            LAYOUTS.iter().flat_map(|layout| [layout.group.first, layout.group.verified]).map(Release)
        {
            for name in multifactor2_releases::symbols::required(release) {
                let listed = taken(name, release).next().is_some();
                assert_eq!(listed, !NOT_LISTED.contains(&name), "{name} in callees.tsv for {release}");
            }
        }
    }

    #[test]
    fn sprio_comes_with_the_lock_on_qos_since_23_02() {
        let qos = LOCKS.iter().position(|lock| *lock == "qos").unwrap();
        let of_qos = |release| {
            held("priority_p_get_priority_factors_list", release)
                .map(|row| row.levels[qos])
                .collect::<Vec<_>>()
        };
        assert_eq!(of_qos(Release::new(22, 5, 8)), [0]);
        assert_eq!(of_qos(Release::new(24, 11, 5)), [1]);
        assert_eq!(of_qos(Release::new(26, 5, 99)), [1], "a later micro release is as the newest known one");
    }

    #[test]
    fn mcs_account_takes_the_lock_on_associations() {
        let assoc = LOCKS.iter().position(|lock| *lock == "assoc").unwrap();
        let mut rows = taken("mcs_g_check_mcs_label", Release::new(26, 5, 0));
        assert!(rows.any(|row| row.case.starts_with("mcs/account") && row.levels[assoc] == 1));
    }
}

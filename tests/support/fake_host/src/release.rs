//! The releases that are pretended, and what a release is called and counted by.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use slurm_headers::{ReasonNumbers, Reasons, Table, Version};

/// A release.
pub const fn release(year: u8, month: u8, micro: u8) -> Version {
    Version { year, month, micro }
}

/// The table of layouts that the plugin was built with.
///
/// # Panics
/// Where it is damaged.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::committed().unwrap_or_else(|error| panic!("{error}")))
}

/// The reasons for which jobs wait in a release: numbers by the names of its headers.
///
/// # Panics
/// Where their table is damaged.
pub fn reasons(version: Version) -> ReasonNumbers {
    Reasons::committed().unwrap_or_else(|error| panic!("{error}")).of(version)
}

/// Micro releases, inside of a layout's range, at which something else changes: the last before and the first with it.
const GATES: [Version; 4] = [release(20, 11, 5), release(20, 11, 6), release(23, 11, 5), release(23, 11, 6)];

/// The first and the last known release of every layout, which includes those of every series, and those
/// around the changes in between.
pub fn all() -> Vec<Version> {
    let groups = table().groups.iter().flat_map(|group| [group.first, group.verified]);
    groups.chain(GATES).collect::<BTreeSet<_>>().into_iter().collect()
}

/// One release of every layout: the first.
pub fn one_of_each_layout() -> Vec<Version> {
    table().groups.iter().map(|group| group.first).collect()
}

/// What the release calls itself, which is another name where only its candidate is known.
///
/// # Panics
/// For a series that the table does not have.
pub fn name(version: Version) -> String {
    let table = table();
    let group = table.group_of(version).unwrap_or_else(|| panic!("{version} is of no known series"));
    let group = table.groups[group];
    if group.candidate.is_some() {
        group.compared()
    } else {
        version.to_string()
    }
}

/// `API_CURRENT` of 20.11; it grows by one with every series.
const FIRST_API: usize = 36;

/// What the release's library counts series with.
///
/// # Panics
/// For a series that the table does not have.
pub fn api(version: Version) -> usize {
    let series: BTreeSet<(u8, u8)> =
        table().groups.iter().map(|group| (group.first.year, group.first.month)).collect();
    let at = series.iter().position(|series| *series == (version.year, version.month));
    FIRST_API + at.unwrap_or_else(|| panic!("{version} is of no known series"))
}

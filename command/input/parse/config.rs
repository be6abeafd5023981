//! `scontrol show config`: a name, an equals sign, a value. Everything that is no such line is passed over.

use std::collections::BTreeMap;

use super::MOST_NAMES;

/// Parameters by name. A value that is not set (`(null)`) is there as an empty one.
pub fn parameters(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        let value = value.trim();
        is_name.then(|| (name.to_owned(), if value == "(null)" { String::new() } else { value.to_owned() }))
    });
    pairs.take(MOST_NAMES).collect()
}

/// When slurmctld was asked, in seconds since 1970.
pub fn time(text: &str) -> Option<i64> {
    let first = text.lines().find_map(|line| line.strip_prefix("Configuration data as of "))?;
    first.trim().parse().ok()
}

/// Year and month of slurmctld's release; 0 where it does not say.
pub fn release(text: &str) -> (u32, u32) {
    let version = text.lines().find_map(|line| line.strip_prefix("SLURM_VERSION")).unwrap_or_default();
    let mut parts = version.trim_start_matches([' ', '=']).split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

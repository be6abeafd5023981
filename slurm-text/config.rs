//! Reads `scontrol show config`: a name, an equals sign, a value. It skips every other line.

use std::collections::BTreeMap;

use crate::lines::{text, MOST_NAMES};

/// The longest value that is kept, in bytes.
const LONGEST: usize = 16_384;

/// Parameters by name. A value that is not set (`(null)`, `N/A`) is there as an empty one.
pub fn parameters(printed: &str) -> BTreeMap<String, String> {
    let pairs = printed.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), text(value));
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace) && !name.starts_with('#');
        (is_name && value.len() <= LONGEST).then(|| (name.to_owned(), value.to_owned()))
    });
    pairs.take(MOST_NAMES).collect()
}

/// The number of a user as `SlurmUser` is shown: `slurm(64030)`.
pub fn uid(user: &str) -> Option<u32> {
    user.rsplit_once('(')?.1.trim_end_matches(')').parse().ok()
}

/// When slurmctld was asked, in seconds since 1970.
pub fn time(printed: &str) -> Option<i64> {
    let first = printed.lines().find_map(|line| line.strip_prefix("Configuration data as of "))?;
    first.trim().parse().ok()
}

/// Year and month of slurmctld's release; 0 where it does not say.
pub fn release(printed: &str) -> (u32, u32) {
    let version = printed.lines().find_map(|line| line.strip_prefix("SLURM_VERSION")).unwrap_or_default();
    let mut parts = version.trim_start_matches([' ', '=']).split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_time_and_release() {
        let printed = "Configuration data as of 1767225600\nClusterName             = c\nPriorityParameters      = (null)\n\
             SLURM_VERSION           = 24.11.5\n# x = y\n\nSlurmctld(primary) at host is UP\nno name = x\n";
        let read = parameters(printed);
        let pairs: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("ClusterName", "c"), ("PriorityParameters", ""), ("SLURM_VERSION", "24.11.5")]);
        assert_eq!((time(printed), release(printed)), (Some(1_767_225_600), (24, 11)));
        assert_eq!((time(""), release("")), (None, (0, 0)));
        assert_eq!((uid("slurm(64030)"), uid("a(b)c(0)"), uid("slurm")), (Some(64_030), Some(0), None));
    }
}

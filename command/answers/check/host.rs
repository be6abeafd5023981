//! Where this machine keeps Slurm's configuration and plugins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use multifactor2_core::settings::files;
use multifactor2_core::settings::text::{Pair, Statement};

/// The slurm.conf of this machine.
pub fn slurm_conf() -> PathBuf {
    env::var_os("SLURM_CONF").map_or_else(|| PathBuf::from("/etc/slurm/slurm.conf"), PathBuf::from)
}

/// The multifactor2.conf of this machine, in the directory of slurm.conf.
pub fn multifactor2_conf() -> PathBuf {
    slurm_conf().with_file_name("multifactor2.conf")
}

/// The parameters of a slurm.conf and what it includes.
#[derive(Clone, Debug, Default)]
pub struct Written(BTreeMap<String, String>);

impl Written {
    /// Reads a file; `None` if it does not exist. Anything else in it is ignored.
    pub fn of(slurm_conf: &Path) -> Option<Self> {
        let mut parameters = BTreeMap::new();
        for pairs in files::read(slurm_conf)?.statements.into_iter().map(Statement::into_pairs) {
            // Lines of nodes and partitions have attributes of their own.
            let is_of_cluster = pairs.len() == 1 || !["NodeName", "PartitionName"].iter().any(|name| pairs[0].key.eq_ignore_ascii_case(name));
            for Pair { key, value, .. } in pairs.into_iter().filter(|_| is_of_cluster) {
                parameters.retain(|known: &String, _| !known.eq_ignore_ascii_case(&key));
                parameters.insert(key, value);
            }
        }
        Some(Self(parameters))
    }

    /// The last value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// All of them, by name.
    pub fn all(self) -> BTreeMap<String, String> {
        self.0
    }

    /// Whether this is a slurm.conf.
    pub fn is_slurm_conf(&self) -> bool {
        self.0.keys().any(|key| makes_slurm_conf(key))
    }
}

/// Whether a file with this parameter is a slurm.conf: nothing else has it.
pub fn makes_slurm_conf(key: &str) -> bool {
    ["ClusterName", "SlurmctldHost", "ControlMachine", "SlurmUser", "PriorityType", "StateSaveLocation"]
        .iter()
        .any(|name| key.eq_ignore_ascii_case(name))
}

/// The last value of a setting in slurm.conf and what it includes.
fn setting_of(slurm_conf: &Path, name: &str) -> Option<String> {
    Written::of(slurm_conf)?.get(name).map(str::to_owned)
}

/// Where the Slurm of this machine has its plugins: what slurmctld says, what slurm.conf says, else the first usual
/// directory that holds some, as in packaging/find-plugindir. Of several named ones the first that holds some.
pub fn plugin_directory() -> Option<PathBuf> {
    let shown = Command::new("timeout").args(["5", "scontrol", "show", "config"]).output().ok();
    let shown = shown.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let of_slurmctld = shown.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "PluginDir").then(|| value.trim().to_owned())
    });
    let named = of_slurmctld.or_else(|| setting_of(&slurm_conf(), "PluginDir")).unwrap_or_default();
    if let Some(found) = of_named(&named) {
        return Some(found);
    }
    let of_architecture = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let of_architecture =
        of_architecture.flat_map(|entry| ["slurm-wlm", "slurm"].map(|name| entry.path().join(name)));
    let usual = ["/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm", "/opt/slurm/lib/slurm"];
    let mut places = usual.map(PathBuf::from).into_iter().chain(of_architecture);
    places.find(|place| holds_some(place))
}

fn holds_some(directory: &Path) -> bool {
    directory.join("priority_basic.so").is_file()
}

/// Of directories with `:` between them the first that holds plugins of Slurm; the first of all where none does.
fn of_named(directories: &str) -> Option<PathBuf> {
    let named = || directories.split(':').filter(|directory| !directory.is_empty()).map(PathBuf::from);
    named().find(|directory| holds_some(directory)).or_else(|| named().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bug: a directory for our plugin alone, named before Slurm's, was said to have no plugins of Slurm.
    #[test]
    fn plugins_of_slurm_are_found_behind_a_directory_of_our_own() {
        let (own, slurms) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(slurms.path().join("priority_basic.so"), "").unwrap();
        let (own, slurms) = (own.path().display(), slurms.path().display());
        assert_eq!(of_named(&format!("{own}:{slurms}")), Some(PathBuf::from(slurms.to_string())));
        assert_eq!(of_named(&format!("{own}:")), Some(PathBuf::from(own.to_string())));
        assert_eq!(of_named(""), None);
    }
}

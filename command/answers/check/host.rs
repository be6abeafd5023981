//! Where this machine has Slurm's configuration and plugins.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use multifactor2_core::settings::files;
use multifactor2_core::settings::text::{Pair, Statement};

/// The slurm.conf of this machine.
pub fn slurm_conf() -> PathBuf {
    env::var_os("SLURM_CONF").map_or_else(|| PathBuf::from("/etc/slurm/slurm.conf"), PathBuf::from)
}

/// The multifactor2.conf of this machine, beside slurm.conf.
pub fn multifactor2_conf() -> PathBuf {
    slurm_conf().with_file_name("multifactor2.conf")
}

/// The last value of a setting in slurm.conf and what it includes. What else is there is not looked at.
pub fn setting_of(slurm_conf: &Path, name: &str) -> Option<String> {
    let pairs = files::read(slurm_conf)?.statements.into_iter().flat_map(|statement| match statement {
        Statement::Pairs { pairs, .. } => pairs,
        Statement::Include { .. } => Vec::new(),
    });
    pairs.filter(|Pair { key, .. }| key.eq_ignore_ascii_case(name)).last().map(|pair| pair.value)
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

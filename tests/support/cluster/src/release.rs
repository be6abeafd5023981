//! Which Slurm a cluster runs: the host's own packages, or another release in its root directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, ensure, Context, Result};
use slurm_headers::{Table, Version};

/// Where Slurm's programs are usually installed.
const PROGRAM_DIRECTORIES: [&str; 5] =
    ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/slurm/sbin"];

/// Where Slurm's plugins are usually installed.
const PLUGIN_DIRECTORIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu/slurm-wlm",
    "/usr/lib/aarch64-linux-gnu/slurm-wlm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
    "/opt/slurm/lib/slurm",
];

/// Where Debian puts the library that gives processes a private list of users.
const NSS_WRAPPER: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/libnss_wrapper.so", "/usr/lib/aarch64-linux-gnu/libnss_wrapper.so"];

/// An installed Slurm.
///
/// [`Release::host`] is what the machine has. For a Slurm in a root directory of its own, set
/// `prefix` to the command that enters it (for example `["chroot", "/srv/trixie"]`). There the
/// paths below are as seen from inside, and the directory for temporary files must be the same as outside,
/// because the cluster's files lie there. The database server is always the host's; it is reached
/// through a socket in the cluster's directory.
#[derive(Clone, Debug)]
pub struct Release {
    /// The version that `slurmctld -V` prints.
    pub version: Version,
    /// What comes before every Slurm command; empty for the host's.
    pub prefix: Vec<OsString>,
    /// Directories of the programs, tried in order.
    pub program_directories: Vec<PathBuf>,
    /// The stock plugins.
    pub plugin_directory: PathBuf,
    /// `libnss_wrapper.so`, which gives the processes the cluster's own users. `None` where the
    /// root's `/etc/passwd` has them already.
    pub nss_wrapper: Option<PathBuf>,
}

impl Release {
    /// The Slurm of this machine.
    ///
    /// # Errors
    /// If a part is missing, with the way to install it.
    pub fn host() -> Result<Self> {
        let existing = |paths: &[&str]| paths.iter().map(PathBuf::from).find(|path| path.exists());
        let plugin_directory = existing(&PLUGIN_DIRECTORIES)
            .context("Slurm's plugins are not installed; run tests/install-deps.sh")?;
        let nss_wrapper =
            existing(&NSS_WRAPPER).context("libnss_wrapper.so is missing; run tests/install-deps.sh")?;
        let mut release = Self {
            version: Version { year: 0, month: 0, micro: 0 },
            prefix: Vec::new(),
            program_directories: PROGRAM_DIRECTORIES.map(PathBuf::from).to_vec(),
            plugin_directory,
            nss_wrapper: Some(nss_wrapper),
        };
        release.version = release.ask_version()?;
        Ok(release)
    }

    /// The Slurm in a root directory of its own, which `prefix` followed by the root's path enters. In there
    /// the directory for temporary files, the processes and the network must be those of the machine.
    ///
    /// # Errors
    /// If a part is missing in the root, or its slurmctld does not run.
    pub fn in_root(root: &Path, prefix: &[&OsStr]) -> Result<Self> {
        let inside = |paths: &[&str]| {
            let found = paths.iter().find(|path| root.join(path.trim_start_matches('/')).exists());
            found.map(PathBuf::from)
        };
        let plugin_directory = inside(&PLUGIN_DIRECTORIES)
            .with_context(|| format!("{} has no Slurm plugins", root.display()))?;
        let mut release = Self {
            version: Version { year: 0, month: 0, micro: 0 },
            prefix: prefix.iter().copied().chain([root.as_os_str()]).map(OsStr::to_owned).collect(),
            program_directories: PROGRAM_DIRECTORIES.map(PathBuf::from).to_vec(),
            plugin_directory,
            nss_wrapper: inside(&NSS_WRAPPER),
        };
        release.version = release.ask_version()?;
        Ok(release)
    }

    /// A Slurm that was installed below a directory of its own (`configure --prefix`).
    ///
    /// # Errors
    /// If a part is missing there, or its slurmctld does not run.
    pub fn in_prefix(prefix: &Path) -> Result<Self> {
        let mut release = Self {
            program_directories: ["sbin", "bin"].map(|directory| prefix.join(directory)).to_vec(),
            plugin_directory: prefix.join("lib/slurm"),
            ..Self::host()?
        };
        release.version = release.ask_version()?;
        Ok(release)
    }

    /// The version that this release's slurmctld reports.
    ///
    /// # Errors
    /// If it does not run, or prints no version.
    pub fn ask_version(&self) -> Result<Version> {
        let output = self
            .command("slurmctld")
            .arg("-V")
            .output()
            .context("slurmctld does not run; is it installed (tests/install-deps.sh)?")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let word = text.split_whitespace().next_back().unwrap_or_default();
        Version::parse(word.split('-').next().unwrap_or_default())
            .with_context(|| format!("slurmctld -V printed '{}'", text.trim()))
    }

    /// The command that runs one of Slurm's programs.
    pub fn command(&self, program: &str) -> Command {
        let Some((first, rest)) = self.prefix.split_first() else {
            let found = self.program_directories.iter().map(|at| at.join(program)).find(|path| path.exists());
            return Command::new(found.unwrap_or_else(|| program.into()));
        };
        let mut command = Command::new(first);
        command.args(rest).arg(program);
        command
    }

    /// Whether a reconfigure is a new slurmctld (from 23.11 on), so that it can fail while the old one goes on.
    pub fn reconfigures_by_a_new_process(&self) -> bool {
        (self.version.year, self.version.month) >= (23, 11)
    }

    /// The root directory that it is installed in.
    pub fn root(&self) -> &Path {
        self.prefix.last().map_or(Path::new("/"), Path::new)
    }

    /// The file of a program, as seen from outside.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let outside = |at: &PathBuf| self.root().join(at.strip_prefix("/").unwrap_or(at)).join(name);
        self.program_directories.iter().map(outside).find(|path| path.exists())
    }

    /// The first 16-bit word of this release's state files: the protocol version.
    ///
    /// # Errors
    /// For a release that is not in the list of Slurm's releases.
    pub(crate) fn protocol(&self) -> Result<u16> {
        const MAJORS: [(u8, u8); 11] = [
            (20, 11),
            (21, 8),
            (22, 5),
            (23, 2),
            (23, 11),
            (24, 5),
            (24, 11),
            (25, 5),
            (25, 11),
            (26, 5),
            (26, 11),
        ];
        let major = (self.version.year, self.version.month);
        match (36_u16..).zip(MAJORS).find(|(_, known)| *known == major) {
            Some((number, _)) => Ok(number << 8),
            None => bail!("the protocol version of Slurm {} is not known", self.version),
        }
    }

    /// The candidate by which alone this release is known, and which the plugin serves only if it is asked to; `None` for others.
    ///
    /// # Errors
    /// Where the table of layouts is damaged.
    pub fn candidate(&self) -> Result<Option<String>> {
        let table = Table::committed()?;
        let group = table.group_of(self.version).map(|at| table.groups[at]);
        Ok(group.filter(|group| group.candidate.is_some()).map(slurm_headers::Group::compared))
    }

    /// The offset of `priority_calc_period` in `slurm_conf`.
    ///
    /// # Errors
    /// For a release whose layout is not known.
    pub fn calc_period_offset(&self) -> Result<usize> {
        let table = Table::committed()?;
        let group = table.groups.iter().rposition(|group| group.first <= self.version);
        let group = group.with_context(|| format!("Slurm {} is too old", self.version))?;
        let first = table.groups[group].first;
        ensure!(
            (first.year, first.month) == (self.version.year, self.version.month),
            "the layout of Slurm {} is not known",
            self.version
        );
        table
            .records
            .iter()
            .filter(|record| record.name == "conf")
            .flat_map(|record| &record.fields)
            .find(|field| field.rust_name() == "priority_calc_period")
            .and_then(|field| field.offsets[group])
            .context("layouts.tsv has no conf.priority_calc_period")
    }
}

/// The path of a program of the host that is not Slurm's; `/usr/sbin` is not in every user's `PATH`.
pub(crate) fn host_program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/bin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|path| Path::is_file(path))
        .with_context(|| format!("{name} is not installed; run tests/install-deps.sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str) -> Release {
        Release {
            version: Version::parse(version).unwrap(),
            prefix: Vec::new(),
            program_directories: Vec::new(),
            plugin_directory: PathBuf::new(),
            nss_wrapper: None,
        }
    }

    #[test]
    fn protocol_versions_count_the_major_releases() {
        assert_eq!(release("20.11.4").protocol().unwrap(), 36 << 8);
        assert_eq!(release("22.05.8").protocol().unwrap(), 38 << 8);
        assert_eq!(release("26.05.5").protocol().unwrap(), 45 << 8);
        assert!(release("27.05.0").protocol().is_err());
    }

    #[test]
    fn offsets_follow_the_group_of_the_release() {
        assert_eq!(release("20.11.4").calc_period_offset().unwrap(), 804);
        assert_eq!(release("21.08.8").calc_period_offset().unwrap(), 820);
        assert!(release("27.05.0").calc_period_offset().is_err());
    }
}

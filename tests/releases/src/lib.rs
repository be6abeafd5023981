//! The same plugin in real Slurm clusters of several releases.
//!
//! Each Debian suite has its own Slurm. A suite is installed once into a root directory ([`Suite::release`], by
//! `make-root`), and test clusters run in it, next to each other and to the machine's own Slurm,
//! with files and ports as everywhere (`enter`).

pub mod asked;
pub mod logged;
pub mod renumbered;
pub mod replayed;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{anyhow, ensure, Context, Result};
pub use slurm_testcluster::skip;
use slurm_testcluster::{Builder, Cluster, Release};

/// Suites of Debian that are tested, with the Slurm that each had when the tests were written.
pub const SUITES: [Suite; 4] = [BULLSEYE, BOOKWORM, TRIXIE, FORKY];

/// Debian 11, Slurm 20.11.4
pub const BULLSEYE: Suite = Suite { name: "bullseye", slurm: (20, 11), moves: false };
/// Debian 12, Slurm 22.05.8
pub const BOOKWORM: Suite = Suite { name: "bookworm", slurm: (22, 5), moves: false };
/// Debian 13, Slurm 24.11.5
pub const TRIXIE: Suite = Suite { name: "trixie", slurm: (24, 11), moves: false };
/// The next Debian, which moves; Slurm 26.05.5 at the time of writing
pub const FORKY: Suite = Suite { name: "forky", slurm: (26, 5), moves: true };

/// One test for each release, side by side, that calls a function with it: `bullseye`, `bookworm`, `trixie`, `forky`, and
/// `installed_in_prefixes` for those that the suites do not have ([`in_prefixes`]).
#[macro_export]
macro_rules! test_in_each_release {
    ($test:path) => {
        #[test]
        fn bullseye() {
            $crate::BULLSEYE.test($test);
        }

        #[test]
        fn bookworm() {
            $crate::BOOKWORM.test($test);
        }

        #[test]
        fn trixie() {
            $crate::TRIXIE.test($test);
        }

        #[test]
        fn forky() {
            $crate::FORKY.test($test);
        }

        #[test]
        fn installed_in_prefixes() {
            let releases = $crate::in_prefixes().unwrap();
            if releases.is_empty() {
                $crate::skip(
                    "installed_in_prefixes",
                    "MULTIFACTOR2_SLURM_PREFIXES names no Slurm built from source",
                );
            }
            releases.iter().for_each($test);
        }
    };
}

/// A suite of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name in the archive.
    pub name: &'static str,
    /// Year and month of its Slurm's major release.
    pub slurm: (u8, u8),
    /// It is not released yet, so its Slurm may become another one.
    pub moves: bool,
}

impl Suite {
    /// The Slurm of this suite, installed if it is not yet.
    ///
    /// `None` where that is not possible through no fault of the plugin: without root, or when a suite that moves has
    /// got a Slurm that this version of the project does not know. It is printed, and noted for the
    /// build to judge (`tests/allowed-skips`).
    ///
    /// # Errors
    /// If the root cannot be made, or has another Slurm than it should.
    pub fn release(self) -> Result<Option<Release>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(self.skip("releases-root", "it needs root, to change into another root directory"));
        }
        let release = Release::in_root(&self.root()?, &[here().join("enter").as_os_str()])?;
        let found = (release.version.year, release.version.month);
        if found == self.slurm {
            return Ok(Some(release));
        }
        ensure!(
            self.moves,
            "{} has Slurm {}, expected {:02}.{:02}",
            self.name,
            release.version,
            self.slurm.0,
            self.slurm.1
        );
        Ok(self.skip(
            "releases-forky",
            &format!(
                "Debian {} has got Slurm {}, which is newer than this version of the project; \
                 add it as docs/new-release.md says",
                self.name, release.version
            ),
        ))
    }

    /// Calls a test with the Slurm of this suite, where [`Suite::release`] has it.
    ///
    /// # Panics
    /// Where that fails, or the test does.
    pub fn test(self, test: impl FnOnce(&Release)) {
        if let Some(release) = self.release().unwrap() {
            test(&release);
        }
    }

    /// The root directory, made or brought up to date if need be. Concurrent callers wait for one.
    ///
    /// # Errors
    /// With what the script printed.
    pub fn root(self) -> Result<PathBuf> {
        let roots = std::env::var_os("MULTIFACTOR2_RELEASE_ROOTS");
        let root =
            roots.map_or_else(|| here().join("../../target/release-roots"), PathBuf::from).join(self.name);
        let output = Command::new(here().join("make-root"))
            .args([OsStr::new(self.name), root.as_os_str()])
            .output()
            .context("tests/releases/make-root does not start")?;
        ensure!(
            output.status.success(),
            "the root of Debian {} cannot be made:\n{}",
            self.name,
            String::from_utf8_lossy(&output.stderr)
        );
        root.canonicalize().context("the root of a suite")
    }

    fn skip(self, test: &str, why: &str) -> Option<Release> {
        slurm_testcluster::skip(test, &format!("{}: {why}", self.name));
        None
    }
}

/// The plugin, one file for all releases: that of `MULTIFACTOR2_RELEASE_PLUGIN`, or else `build-plugin` builds it.
///
/// # Errors
/// If it cannot be built.
pub fn plugin() -> Result<PathBuf> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    match std::env::var_os("MULTIFACTOR2_RELEASE_PLUGIN") {
        Some(path) => Ok(path.into()),
        None => built(&BUILT, &[]),
    }
}

/// The plugin with the feature `test-overrides`, for tests of what it does in a Slurm that it does not know.
///
/// # Errors
/// If it cannot be built.
pub fn pretending_plugin() -> Result<PathBuf> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    built(&BUILT, &["test-overrides"])
}

fn built(once: &OnceLock<std::result::Result<PathBuf, String>>, arguments: &[&str]) -> Result<PathBuf> {
    let built = once.get_or_init(|| {
        let mut command = Command::new(here().join("build-plugin"));
        let output = command.args(arguments).output().map_err(|error| error.to_string())?;
        match String::from_utf8_lossy(&output.stdout).lines().next() {
            Some(path) if output.status.success() => Ok(PathBuf::from(path)),
            _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    });
    built.clone().map_err(|why| anyhow!("the plugin cannot be built: {why}"))
}

/// A cluster of this release with the plugin, to be described further.
///
/// # Errors
/// If the environment does not say where the plugin is.
pub fn cluster(release: Release) -> Result<Builder> {
    Ok(Cluster::builder()
        .release(release)
        .plugin(plugin()?, "priority_multifactor2.so")
        .priority_type("priority/multifactor2")
        // What later releases do by default must be said in 20.11.
        .set("SelectTypeParameters", "CR_Core_Memory"))
}

/// Further releases, built from source: the directories in `MULTIFACTOR2_SLURM_PREFIXES`, separated by colons.
///
/// # Errors
/// If one has no Slurm.
pub fn in_prefixes() -> Result<Vec<Release>> {
    let prefixes = std::env::var_os("MULTIFACTOR2_SLURM_PREFIXES").unwrap_or_default();
    let named = std::env::split_paths(&prefixes).filter(|prefix| !prefix.as_os_str().is_empty());
    named.map(|prefix| Release::in_prefix(&prefix)).collect()
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

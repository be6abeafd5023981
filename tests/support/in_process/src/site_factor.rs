//! A site factor plugin to test with, since Slurm comes with none but `none`: compiled from `plugins/counting.c`.

use std::path::Path;

use tempfile::TempDir;

use crate::error::HostResult;
use crate::options::Options;
use crate::program::build_plugin;

/// Gives a job 111 at its submission, and a thousand more whenever it is asked again; gone when this is dropped.
#[derive(Debug)]
pub struct CountingSiteFactor(TempDir);

impl CountingSiteFactor {
    /// `PrioritySiteFactorPlugin`.
    pub const NAME: &str = "site_factor/counting";

    /// Compiles it.
    ///
    /// # Errors
    /// As [`build_plugin`].
    pub fn build() -> HostResult<Self> {
        let directory = tempfile::tempdir()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/counting.c");
        build_plugin(&source, &directory.path().join("site_factor_counting.so"))?;
        Ok(Self(directory))
    }

    /// Where it lies, for `PluginDir`.
    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// Lets a host use it.
    pub fn add_to(&self, options: &mut Options) {
        options.more_slurm_conf.push(format!("PrioritySiteFactorPlugin={}", Self::NAME));
        options.plugin_directories.push(self.directory().to_owned());
    }
}

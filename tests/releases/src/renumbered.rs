//! A Slurm that says it is another release: a real one of a suite, with the number exchanged.
//!
//! The exact release of a Slurm is one number, compiled into the loader in libslurmfull and into every plugin.
//! Exchanged in copies of these files, a release that has not been made yet can be run, and the plugin under test is the
//! one that is shipped: nothing in it pretends.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use slurm_testcluster::Release;

use crate::Suite;

/// The release as Slurm counts it, `major << 16 | minor << 8 | micro`.
pub fn number(major: u8, minor: u8, micro: u8) -> u32 {
    u32::from_be_bytes([0, major, minor, micro])
}

impl Suite {
    /// This suite's Slurm, whose loader and plugins say that they are `number`. `directory` is for the changed
    /// files; it is made anew. [`Release::version`] is still the real one, as `slurmctld -V` prints it.
    ///
    /// # Errors
    /// If the files are not as they are in every release so far.
    pub fn renumbered(self, number: u32, directory: &Path) -> Result<Option<Release>> {
        let Some(release) = self.release()? else { return Ok(None) };
        let root = self.root()?;
        let inside = &release.plugin_directory;
        let original = root.join(inside.strip_prefix("/").context("plugins are in a directory of the root")?);
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
        for entry in fs::read_dir(&original)? {
            let path = entry?.path();
            let name = path.file_name().context("an entry has a name")?;
            if path.extension().is_none_or(|extension| extension != "so") {
                continue;
            }
            let mut bytes = fs::read(&path)?;
            exchange(&mut bytes, release.version.number(), number, name == "libslurmfull.so")
                .with_context(|| path.display().to_string())?;
            fs::write(directory.join(name), bytes)?;
        }
        let mut bind = OsString::from("RELEASE_BIND=");
        bind.push(directory.canonicalize()?);
        bind.push(":");
        bind.push(inside);
        let prefix = ["env".into(), bind].into_iter().chain(release.prefix.iter().cloned()).collect();
        Ok(Some(Release { prefix, ..release }))
    }
}

/// Exchanges the number: in a plugin where it is data, `plugin_version`, and in the library where its loader's
/// instructions compare with it.
fn exchange(bytes: &mut [u8], old: u32, new: u32, library: bool) -> Result<()> {
    let file = object::File::parse(&*bytes)?;
    let mut places = Vec::new();
    if library {
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let (from, size) = section.file_range().context("instructions are in the file")?;
            let (from, size) = (usize::try_from(from)?, usize::try_from(size)?);
            let found = bytes[from..from + size].windows(4).enumerate();
            places.extend(found.filter(|(_, word)| *word == old.to_le_bytes()).map(|(at, _)| from + at));
        }
        // One comparison, or two where a plugin can also be looked at without loading it.
        ensure!((1..=2).contains(&places.len()), "the release is in {} instructions", places.len());
    } else if let Some(symbol) = file.dynamic_symbols().find(|symbol| symbol.name() == Ok("plugin_version")) {
        let section = symbol.section_index().context("plugin_version is defined")?;
        let section = file.section_by_index(section)?;
        let (from, _) = section.file_range().context("plugin_version is in the file")?;
        let at = usize::try_from(from + symbol.address() - section.address())?;
        // SPANK plugins say something else, which need not match.
        places.extend((bytes.get(at..at + 4) == Some(&old.to_le_bytes())).then_some(at));
    }
    for at in places {
        bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
    }
    Ok(())
}

//! Keeps what Slurm's commands printed, in memory or in a directory, so that live and offline answers use the same form.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::commands;
use super::Problem;
use crate::error::Error;
use crate::files::NewDirectory;

/// The most that is read of a command or a file, in bytes.
pub const MOST_BYTES: u64 = 1 << 30;

/// The file that says what a directory is.
const MANIFEST: &str = "manifest.json";
const FORMAT: &str = "multifactor2-commands";
const VERSION: u32 = 1;
/// The most that is read of it.
const MOST_OF_MANIFEST: u64 = 1 << 20;

/// Who asked what when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    format: String,
    version: u32,
    /// When Slurm was asked, in seconds since 1970.
    pub taken: i64,
    /// The uid that asked.
    pub uid: u32,
    /// The cluster that `-M` named.
    pub cluster: Option<String>,
    /// What stands between texts in the answer of squeue.
    pub mark: String,
    /// The version of this command.
    pub by: String,
    /// The jobs that were asked for; none for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// The user whose jobs were asked for; `None` for those of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What could not be had, by name, and why.
    pub failed: BTreeMap<String, String>,
}

/// What the commands printed, by the names in [`commands::NAMES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Who asked what when.
    pub manifest: Manifest,
    /// The texts.
    pub texts: BTreeMap<String, String>,
}

impl Manifest {
    /// Of now.
    pub fn new(taken: i64, uid: u32, cluster: Option<&str>, mark: &str) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            taken,
            uid,
            cluster: cluster.map(str::to_owned),
            mark: mark.to_owned(),
            by: env!("CARGO_PKG_VERSION").to_owned(),
            jobs: Vec::new(),
            user: None,
            failed: BTreeMap::new(),
        }
    }
}

impl Manifest {
    /// Whether only some jobs were asked for.
    pub fn is_of_some_jobs(&self) -> bool {
        !self.jobs.is_empty() || self.user.is_some()
    }
}

impl Texts {
    /// A text; empty for none.
    pub fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    /// Writes all of it to a directory that only its owner can read.
    ///
    /// # Errors
    /// If the directory has something in it already, or cannot be written.
    pub fn save(&self, directory: &Path) -> Result<(), Error> {
        let mut directory = NewDirectory::new(directory)?;
        for (name, text) in &self.texts {
            directory.write(&format!("{name}.txt"), text.as_bytes())?;
        }
        // Last: without it nothing of this is read.
        let manifest = serde_json::to_vec_pretty(&self.manifest).unwrap_or_default();
        directory.write(MANIFEST, &[&manifest[..], b"\n"].concat())?;
        directory.finish();
        Ok(())
    }

    /// Reads what [`Self::save`] wrote. The directory may come from anywhere.
    ///
    /// # Errors
    /// If it is no such directory.
    pub fn read(directory: &Path) -> Result<Self, Problem> {
        let path = directory.join(MANIFEST);
        let name = path.display();
        let bytes = read(&path, MOST_OF_MANIFEST)?;
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| {
            Problem::new(format!("{name}: {error}"), "give a directory that --save of this command made")
        })?;
        if manifest.format != FORMAT {
            let what = format!("{name}: this is not the answer of Slurm's commands");
            return Err(Problem::new(what, "give a directory that --save of this command made"));
        }
        if manifest.version != VERSION {
            let what = format!(
                "{name}: this is version {} of the format, and version {VERSION} can be read here",
                manifest.version
            );
            return Err(Problem::new(what, "use the command of the release that saved it"));
        }
        let mut texts = BTreeMap::new();
        for name in commands::NAMES {
            let path = directory.join(format!("{name}.txt"));
            if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                continue;
            }
            let text = String::from_utf8_lossy(&read(&path, MOST_BYTES)?).into_owned();
            texts.insert(name.to_owned(), text);
        }
        Ok(Self { manifest, texts })
    }
}

/// A regular file of at most `most` bytes.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Problem> {
    let fail = |error: io::Error| Problem::of_file(path, &error);
    // Not what would block, or never end.
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(Problem::new(format!("{}: this is no file", path.display()), "name a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(fail)?;
    if bytes.len() as u64 > most {
        let what = format!("{}: it is larger than {most} bytes", path.display());
        return Err(Problem::new(what, "check that this is the right file"));
    }
    Ok(bytes)
}

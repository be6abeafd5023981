//! Saves the last good settings in a file of the daemon, for the next process.
//!
//! A mistake in the configuration must not end a controller, and from Slurm 23.11 on every reconfigure is a new process. So the last good
//! settings are kept: in the syntax of `multifactor2.conf`, each with the place that it came from, between a first line with the version of
//! the format and a last line without which the file is incomplete.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use multifactor2_core::settings::{Loaded, Settings, PARAMETERS};

/// The name of the file, in the directory where the daemon keeps its state.
pub const NAME: &str = "multifactor2_settings";

/// Grows when an older build could not understand what is written.
const VERSION: u32 = 1;
const FIRST: &str = "# multifactor2_settings ";
const LAST: &str = "# end\n";

/// Bytes that the file may have: the settings with the place of each.
const MAX_BYTES: u64 = 64 << 20;

/// A file that is there and gives no settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    file: PathBuf,
    why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "cannot use the settings kept in {}: {}", self.file.display(), self.why)
    }
}

/// What the file holds of settings that were read from `configuration` and the host's parameters.
pub fn text(loaded: &Loaded, configuration: &Path) -> String {
    let path = configuration.display().to_string();
    format!(
        "{FIRST}{VERSION}: the last good settings of priority/multifactor2, from {PARAMETERS} and {}\n{}{LAST}",
        path.escape_debug(),
        loaded.written
    )
}

/// The settings that are kept in a file; `None` without a file.
///
/// # Errors
/// The file exists and cannot be used.
pub fn read(file: &Path) -> Result<Option<Settings>, Damage> {
    contents(file)?.map(|text| settings(file, &text)).transpose()
}

/// Keeps a [`text`] for the next process if it differs from the contents of the file. At no moment is the file incomplete. Returns what was
/// wrong with a file that has been replaced.
///
/// # Errors
/// What the file system said; the old file still exists then.
pub fn keep(file: &Path, text: &str) -> io::Result<Option<Damage>> {
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("the settings and their places have more than 64 MiB"));
    }
    let damage = match contents(file) {
        // What this build has made of good settings is good.
        Ok(Some(kept)) if kept == text => return Ok(None),
        Ok(Some(kept)) => settings(file, &kept).err(),
        Ok(None) => None,
        Err(damage) => Some(damage),
    };
    let new = file.with_extension("new");
    // Whatever a process that was killed has left there.
    let _ = fs::remove_file(&new);
    let written =
        File::options().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut target| {
            target.write_all(text.as_bytes())?;
            target.sync_all()?;
            fs::rename(&new, file)
        });
    if let Err(error) = written {
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    // The new name too, where the file system can: without it the file before is found after a crash.
    if let Some(directory) = file.parent().and_then(|directory| File::open(directory).ok()) {
        let _ = directory.sync_all();
    }
    Ok(damage)
}

fn settings(file: &Path, text: &str) -> Result<Settings, Damage> {
    parse(text, &file.display().to_string()).map_err(|why| Damage { file: file.to_owned(), why })
}

fn contents(file: &Path) -> Result<Option<String>, Damage> {
    let damage = |why: String| Damage { file: file.to_owned(), why };
    match fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() => return Err(damage("it is not a regular file".into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => (),
    }
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| damage(error.to_string()))?;
    String::from_utf8(bytes).map(Some).map_err(|_| damage("it is not text".into()))
}

/// Reads the text of such a file; `name` stands for it in messages.
///
/// # Errors
/// Why it gives no settings, as a phrase.
pub fn parse(text: &str, name: &str) -> Result<Settings, String> {
    let version = text.strip_prefix(FIRST).and_then(|rest| rest.split(':').next()?.parse::<u32>().ok());
    match version {
        Some(VERSION) if text.ends_with(&format!("\n{LAST}")) => {
            let loaded = Settings::parse(text, name);
            let first =
                |errors: &multifactor2_core::settings::Errors| errors.iter().next().map(ToString::to_string);
            loaded.map(|loaded| loaded.settings).map_err(|errors| first(&errors).unwrap_or_default())
        }
        Some(VERSION) => Err("its end is missing".into()),
        Some(newer) if newer > VERSION => {
            Err(format!("a newer slurm-multifactor2 wrote it (version {newer}, this one knows {VERSION})"))
        }
        _ => Err("its first line is not from slurm-multifactor2".into()),
    }
}

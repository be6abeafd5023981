//! Reads configuration files and what they include.
//!
//! An `Include` path is relative to the directory of the file that includes it. The daemon must survive whatever such a path names, so only
//! regular files of sensible size are opened: a FIFO would block it, a device would never end.

use super::report::{Error, Errors, Place};
use super::text::{parse_each, Document, Statement};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How deep files may include files.
pub const MAX_DEPTH: usize = 16;
/// How many files one configuration may read.
pub const MAX_FILES: usize = 256;
/// Bytes that all files of one configuration may have together.
pub const MAX_BYTES: u64 = 16 << 20;

/// Reads a file and everything that it includes into one document; `None` if the file does not exist.
///
/// What cannot be read is an error in the document, naming the line that includes it.
pub fn read(path: &Path) -> Option<Document> {
    let mut document = Document::default();
    let Document { statements, errors } = &mut document;
    let is_there = read_each(path, errors, &mut |statement| statements.push(statement));
    is_there.then_some(document)
}

/// The same, one statement after the other; false if the file does not exist.
pub(crate) fn read_each(path: &Path, errors: &mut Errors, take: &mut dyn FnMut(Statement)) -> bool {
    // Not `exists`: that is false for a dangling link and for an unreadable directory too.
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return false;
    }
    Reader { errors, take, open: Vec::new(), files: 0, bytes: 0 }.read(path, None);
    true
}

struct Reader<'r> {
    errors: &'r mut Errors,
    take: &'r mut dyn FnMut(Statement),
    /// The file being read and those that include it, in canonical form.
    open: Vec<PathBuf>,
    /// Files read so far.
    files: usize,
    /// Bytes read so far.
    bytes: u64,
}

impl Reader<'_> {
    /// Reads one file; `from` is the `Include` that asked for it, with its path as written.
    fn read(&mut self, path: &Path, from: Option<(Place, String)>) {
        let name = path.display().to_string();
        match self.text(path) {
            Ok((text, canonical)) => {
                self.files += 1;
                self.bytes += text.len() as u64;
                self.open.push(canonical);
                let mut errors = Errors::default();
                parse_each(&text, &name, &mut errors, &mut |statement| match statement {
                    Statement::Include { place, path: included } => {
                        let target = path.parent().unwrap_or(Path::new("")).join(&included);
                        self.read(&target, Some((place, included)));
                    }
                    pairs @ Statement::Pairs { .. } => (self.take)(pairs),
                });
                self.errors.append(errors);
                self.open.pop();
            }
            Err(Fault { line, allowed, advice }) => {
                // Damage inside a file is reported there, a file that cannot be read where it is included.
                let (place, key, value) = match from {
                    Some((place, written)) if line.is_none() => (place, "Include".into(), written),
                    _ => (Place { source: name.as_str().into(), line }, String::new(), name),
                };
                self.errors.push(Error { place, key, value, allowed: allowed.into(), advice });
            }
        }
    }

    fn text(&self, path: &Path) -> Result<(String, PathBuf), Fault> {
        let unreadable = |error: io::Error| Fault {
            line: None,
            allowed: "must be a file that SlurmUser can read",
            advice: format!("check {}: {error}", path.display()),
        };
        let fault = |allowed, advice: &str| Fault { line: None, allowed, advice: advice.into() };
        if self.open.len() > MAX_DEPTH || self.files >= MAX_FILES {
            return Err(fault("Include can go 16 levels deep, with 256 files in all", "include fewer files"));
        }
        let canonical = fs::canonicalize(path).map_err(unreadable)?;
        if self.open.contains(&canonical) {
            return Err(fault("a file cannot include itself", "remove this Include or the other"));
        }
        if !fs::metadata(&canonical).map_err(unreadable)?.is_file() {
            return Err(fault("must be a regular file", "name a file, not a directory or device"));
        }
        let mut bytes = Vec::new();
        let file = File::open(&canonical).map_err(unreadable)?;
        let room = MAX_BYTES - self.bytes;
        file.take(room + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > room {
            return Err(fault(
                "all files together can have at most 16 MiB",
                "check that this is the right file",
            ));
        }
        String::from_utf8(bytes).map(|text| (text, canonical)).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            Fault {
                line: Some(valid.split(|&byte| byte == b'\n').count()),
                allowed: "must be text in UTF-8",
                advice: "convert the file to UTF-8, or correct the line".into(),
            }
        })
    }
}

/// Why a file gave no text.
struct Fault {
    /// The line in the file itself, where that is known.
    line: Option<usize>,
    allowed: &'static str,
    advice: String,
}

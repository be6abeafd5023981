//! What is wrong, and the next step.

use std::fmt;
use std::io;
use std::path::Path;

/// Why there is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong: the file or command, and what it is about.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
    }

    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        let next = match error.kind() {
            io::ErrorKind::NotFound => "check the name",
            io::ErrorKind::PermissionDenied => {
                "ask its owner, or an administrator, for permission to read it"
            }
            _ => "check the file",
        };
        Self::new(format!("{}: {error}", path.display()), next)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.next)
    }
}

impl std::error::Error for Problem {}

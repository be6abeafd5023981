//! Why there is no answer, and the exit status for it.

use std::fmt;
use std::path::Path;

use crate::input::Problem;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What is asked cannot be: a name that is not there, a value that is not allowed.
    Question(String),
    /// There is nothing to answer from: Slurm does not answer, or a file cannot be read.
    Source(String),
    /// The answer, or what is to be kept, cannot be written.
    Output(String),
}

impl Error {
    /// A file or directory that cannot be written.
    pub(crate) fn of_output(path: &Path, error: &std::io::Error) -> Self {
        Self::Output(format!("{}: {error}", path.display()))
    }

    /// A file or directory that cannot be read.
    pub(crate) fn of_source(path: &Path, error: &impl fmt::Display) -> Self {
        Self::Source(format!("{}: {error}", path.display()))
    }

    /// With which status the program ends: the numbers of [`STATUS`].
    pub fn status(&self) -> u8 {
        match self {
            Self::Question(_) => 1,
            Self::Source(_) => 3,
            Self::Output(_) => 4,
        }
    }
}

/// What the help and the manual page say of the status.
pub const STATUS: &str = "\
Exit status:
  0    Success
  1    An option, a name, a value or a setting is wrong
  2    check found something wrong or without effect, with --strict also something unusual
  3    No data: Slurm does not answer, or a file cannot be read
  4    The output cannot be written
  130  Ctrl-C stopped replay; its report is partial";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (Self::Question(text) | Self::Source(text) | Self::Output(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::Question(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Self::Question(text.to_owned())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Source(problem.to_string())
    }
}

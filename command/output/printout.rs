//! What a run of the program prints, and its exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::escape;
use crate::error::Error;

/// What is printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printout {
    /// For standard output.
    pub out: String,
    /// For standard error.
    pub err: String,
    /// As [`crate::error::STATUS`] has it.
    pub status: u8,
}

impl Printout {
    /// Text for standard output.
    pub fn text(out: String) -> Self {
        Self { out, ..Self::default() }
    }

    /// Error messages, each on a separate line.
    pub fn failed<'m>(messages: impl IntoIterator<Item = &'m str>) -> Self {
        let line = |message| format!("multifactor2: {}\n", escape::terminal(message, false));
        Self { err: messages.into_iter().map(line).collect(), status: 1, ..Self::default() }
    }

    /// A value as JSON.
    ///
    /// # Errors
    /// It cannot be JSON.
    pub fn json(value: &impl Serialize) -> Result<Self, Error> {
        let text = escape::json(value)
            .map_err(|error| Error::Output(format!("the answer cannot be written as JSON: {error}")))?;
        Ok(Self::text(text))
    }

    /// Prints it, and gives the status. What cannot be written to standard output is an error, but for a pipe that is closed early, as by
    /// head.
    pub fn print(mut self) -> ExitCode {
        let written = io::stdout().write_all(self.out.as_bytes()).and_then(|()| io::stdout().flush());
        if let Some(error) = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
            let error = Error::Output(format!("standard output: {error}: check where it goes"));
            let failed = Self::failed([error.to_string().as_str()]);
            self = Self { err: self.err + &failed.err, status: error.status(), ..failed };
        }
        let _ = io::stderr().write_all(self.err.as_bytes());
        ExitCode::from(self.status)
    }
}

//! From the command line to what is printed.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use crate::answers::{Answer, Report};
use crate::cli::Cli;
use crate::error::Error;
use crate::model::Model;
use crate::options::{AsJson, Printed};
use crate::output::{escape, Show, Terminal};

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

    /// Messages of what is wrong, each on a line of its own.
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

    /// An answer about a cluster, in the form that is asked for.
    ///
    /// # Errors
    /// A column is asked for that there is not.
    pub fn of<A: Answer + Show>(
        model: &Model<'_>,
        answer: A,
        form: AsJson,
        printed: &Printed,
        terminal: Terminal,
    ) -> Result<Self, Error> {
        let report = Report::new(model, answer);
        if form.json {
            return Self::json(&report);
        }
        report.answer.show(&report.about, printed, terminal).map(Self::text)
    }
}

/// The program: answers its command line and prints it.
pub fn main() -> ExitCode {
    let result = run(std::env::args_os(), Terminal::of_stdout());
    // A pipe that is closed early, as by head, is no error.
    let _ = io::stdout().write_all(result.out.as_bytes()).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(result.err.as_bytes());
    ExitCode::from(result.status)
}

/// Answers a command line, of which the first word is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>, terminal: Terminal) -> Printout {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.first().map(Path::new).and_then(Path::file_name).is_some_and(|name| name == "swhy") {
        args.insert(1, "why".into());
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            return if error.use_stderr() {
                Printout { err: text, status: 1, ..Printout::default() }
            } else {
                Printout::text(text)
            };
        }
    };
    cli.question.ask(terminal).unwrap_or_else(|error| Printout {
        status: error.status(),
        ..Printout::failed([error.to_string().as_str()])
    })
}

//! From the command line to what is printed.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::output::{Printout, Terminal};

/// The program: answers its command line and prints it.
pub fn main() -> ExitCode {
    run(std::env::args_os(), Terminal::of_stdout()).print()
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

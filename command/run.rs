//! Takes a command line and produces what is printed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory, FromArgMatches};

use crate::answers::Question;
use crate::cli::Cli;
use crate::error::Error;
use crate::made;
use crate::output::{Printout, Terminal};

/// The program: answers its command line and prints it.
pub fn main() -> ExitCode {
    run(std::env::args_os(), Terminal::of_stdout()).print()
}

/// Writes manual pages, completions and schemas below DIR, for who packages the command
// None of what it writes has it: it is no question.
#[derive(Debug, Args)]
struct Generate {
    /// As it is to be below share
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

const GENERATE: &str = "generate";

enum Asked {
    Question(Question),
    Generate(Generate),
}

/// Answers a command line, of which the first word is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>, terminal: Terminal) -> Printout {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.first().map(Path::new).and_then(Path::file_name).is_some_and(|name| name == "swhy") {
        args.insert(1, "why".into());
    }
    let program = Cli::command().subcommand(Generate::augment_args(Command::new(GENERATE)).hide(true));
    let asked = program.try_get_matches_from(args).and_then(|matches| match matches.subcommand() {
        Some((GENERATE, matches)) => Generate::from_arg_matches(matches).map(Asked::Generate),
        _ => Cli::from_arg_matches(&matches).map(|cli| Asked::Question(cli.question)),
    });
    let answer = match asked {
        Ok(Asked::Question(question)) => question.ask(terminal),
        Ok(Asked::Generate(Generate { directory })) => made::generate(&directory)
            .map(|()| Printout::default())
            .map_err(|error| Error::of_output(&directory, &error)),
        Err(error) => {
            let text = error.render().to_string();
            return if error.use_stderr() {
                Printout { err: text, status: 1, ..Printout::default() }
            } else {
                Printout::text(text)
            };
        }
    };
    answer.unwrap_or_else(|error| Printout {
        status: error.status(),
        ..Printout::failed([error.to_string().as_str()])
    })
}

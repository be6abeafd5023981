//! The command `multifactor2`.

use std::io::{self, Write};
use std::process::ExitCode;

use multifactor2_command::check::doctor;
use multifactor2_command::output::Terminal;
use multifactor2_command::run;

fn main() -> ExitCode {
    if std::env::args_os().next().is_some_and(|program| doctor::is_called(&program)) {
        let arguments: Vec<String> =
            std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
        return doctor::run(&arguments);
    }
    let result = run::run(std::env::args_os(), Terminal::of_stdout());
    // A pipe that is closed early, as by head, is no error.
    let _ = io::stdout().write_all(result.out.as_bytes()).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(result.err.as_bytes());
    ExitCode::from(result.status)
}

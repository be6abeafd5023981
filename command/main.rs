//! The command `multifactor2`.

use std::process::ExitCode;

use multifactor2_command::answers::check::doctor;
use multifactor2_command::run;

fn main() -> ExitCode {
    if std::env::args_os().next().is_some_and(|program| doctor::is_called(&program)) {
        let arguments: Vec<String> =
            std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
        return doctor::run(&arguments);
    }
    run::main()
}

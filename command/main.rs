//! The command `multifactor2`.

use std::process::ExitCode;

fn main() -> ExitCode {
    multifactor2_command::run::main()
}

//! `multifactor2-doctor`, the old name of `multifactor2 check`, for one release.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    multifactor2_command::check::doctor::run(&arguments)
}

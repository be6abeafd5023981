//! `multifactor2` for tests that need the program itself, with a separate environment.

fn main() -> std::process::ExitCode {
    multifactor2_command::run::main()
}

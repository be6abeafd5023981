//! `multifactor2` for tests that need the program itself, with an environment of its own.

fn main() -> std::process::ExitCode {
    multifactor2_command::run::main()
}

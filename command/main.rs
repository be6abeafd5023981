//! The command `multifactor2`.

fn main() {}

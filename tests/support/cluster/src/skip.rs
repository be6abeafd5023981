//! Tests that cannot run say why, and are counted.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

/// Notes that a test, or a part of one, does not run here, in `target/skipped-tests`. Those that may are in `tests/allowed-skips`; the
/// continuous integration fails on any other.
///
/// # Panics
/// If that cannot be written: a skip must not be silent.
pub fn skip(test: &str, why: &str) {
    let line = format!("{test}: {why}\n");
    // Past the capture of a test's output.
    let _ = io::stderr().write_all(format!("SKIPPED {line}").as_bytes());
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/skipped-tests");
    let written = OpenOptions::new().create(true).append(true).open(list);
    written
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{list}: {error}"));
}

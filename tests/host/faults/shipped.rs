//! The plugin that is installed knows no faults.

use std::fs;

use crate::setup::plugin_with_faults;

const VARIABLE: &[u8] = b"MULTIFACTOR2_FAULTS";

fn names_the_variable(file: &std::path::Path) -> bool {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    bytes.windows(VARIABLE.len()).any(|window| window == VARIABLE)
}

#[test]
fn the_shipped_plugin_has_no_faults() {
    assert!(names_the_variable(&plugin_with_faults().unwrap()), "this test looks for the wrong thing");
    let shipped = std::env::var_os("MULTIFACTOR2_PLUGIN")
        .expect("MULTIFACTOR2_PLUGIN names the plugin as it is installed; run 'make test'");
    assert!(!names_the_variable(shipped.as_ref()));
}

//! Every export and every step has its point, and every point its test.

use std::collections::BTreeSet;

use multifactor2_fixtures::project::sources;

/// The names in `faults::point("…")`.
fn points(text: &str) -> impl Iterator<Item = &str> {
    text.split("faults::point(\"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// `init`, `fini` and the others, with their bodies: from one exported function to the next.
#[test]
fn every_export_has_a_point() {
    let text =
        sources("src").into_iter().find(|(_, text)| text.contains("#[no_mangle]")).expect("the exports").1;
    let mut functions = 0;
    for part in text.split("#[no_mangle]\npub ").skip(1).filter(|part| !part.starts_with("static")) {
        functions += 1;
        // The two of calc_fs_factor, one per architecture, share what is behind the first of them.
        let passed = points(part).next().is_some() || part.contains("calc_fs_factor(");
        assert!(passed, "no point in {part}");
    }
    assert!(functions >= 10, "{functions} exported functions");
}

#[test]
fn every_point_is_armed_by_a_test() {
    let sources = sources("src");
    let points: BTreeSet<&str> = sources.iter().flat_map(|(_, text)| points(text)).collect();
    assert!(points.len() > 25, "{points:?}");
    let tests = [
        include_str!("cycle.rs"),
        include_str!("exports.rs"),
        include_str!("grants.rs"),
        include_str!("kills.rs"),
        include_str!("own_usage.rs"),
        include_str!("snapshot.rs"),
    ]
    .concat();
    let armed =
        |point: &str| tests.contains(&format!("\"{point}\"")) || tests.contains(&format!("\"{point}:"));
    let forgotten: Vec<&str> = points.into_iter().filter(|point| !armed(point)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

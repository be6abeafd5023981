//! docs/points.md: its examples are settings, and mean what the page says.

use multifactor2_core::policy::points::Points;
use multifactor2_core::settings::Settings;

#[test]
fn every_example_is_read_without_a_warning() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/points.md")).unwrap();
    let mut examples: Vec<String> = vec![String::new()];
    for line in page.lines() {
        match line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase)) {
            Some(line) => examples.last_mut().unwrap().extend([line, "\n"]),
            None if examples.last().unwrap().is_empty() => (),
            None => examples.push(String::new()),
        }
    }
    let examples: Vec<String> = examples.into_iter().filter(|example| !example.is_empty()).collect();
    assert_eq!(examples.len(), 13, "{examples:#?}");
    for example in examples {
        let loaded = Settings::parse(&example, "docs/points.md").unwrap_or_else(|errors| panic!("{errors}"));
        // Windows and tickets need a target, which is in another example.
        if !example.starts_with("TargetUsage") {
            assert_eq!(loaded.warnings, [], "{example}");
            assert!(Points::configured(&loaded.settings).is_some(), "{example}");
        }
    }
}

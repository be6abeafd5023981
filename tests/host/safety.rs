//! `docs/safety.md` is complete: it names every file that has `unsafe` in it, and no other part of the plugin has any.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use multifactor2_fixtures::project::{read, sources};

/// Lines of code with the word in them, without comments, attributes and the names of lints.
fn has_unsafe(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    code.filter(|line| !line.trim_start().starts_with('#')).any(|line| line.contains("unsafe "))
}

#[test]
fn every_file_with_unsafe_is_in_the_inventory() {
    let page = read("docs/safety.md");
    let kinds =
        page.split("## By kind").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the table");
    let with_unsafe: BTreeSet<PathBuf> =
        sources("src").into_iter().filter(|(_, text)| has_unsafe(text)).map(|(path, _)| path).collect();
    assert!(with_unsafe.len() > 10, "{with_unsafe:?}");
    for path in with_unsafe {
        let allowed = path == Path::new("exports.rs") || path.starts_with("host");
        assert!(allowed, "unsafe outside exports.rs and host: {}", path.display());
        let name = path.strip_prefix("host").unwrap_or(&path).display().to_string();
        let name = if name == "mod.rs" { "host/mod.rs".to_owned() } else { name };
        assert!(kinds.contains(&format!("`{name}`")), "docs/safety.md does not list {name} by kind");
    }
}

#[test]
fn everything_but_exports_and_host_forbids_unsafe() {
    for root in ["core/lib.rs", "src/plugin/mod.rs"] {
        assert!(read(root).contains("#![forbid(unsafe_code)]"), "{root}");
    }
    let lints = read("Cargo.toml");
    for lint in ["unsafe_op_in_unsafe_fn = \"deny\"", "undocumented_unsafe_blocks = \"deny\""] {
        assert!(lints.contains(lint), "{lint}");
    }
}

//! What the commands of four releases have printed, recorded by `tests/releases/src/bin/record.rs`.
#![allow(dead_code)] // each test crate uses a part

use std::path::{Path, PathBuf};

use multifactor2_command::input::commands::CONFIG;
use multifactor2_command::input::texts::Texts;
use multifactor2_command::input::{assemble, Problem};
use multifactor2_fixtures::overlay::overlaid;
use multifactor2_snapshot::Snapshot;

/// The releases.
pub const RELEASES: [&str; 4] = ["20.11.4", "22.05.8", "24.11.5", "26.05.5"];

/// The directory of a release.
pub fn directory(release: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/command/recorded").join(release)
}

/// The texts of a case. Those that it is not about are those of root.
pub fn texts(release: &str, case: &str) -> Texts {
    let read = |case: &str| Texts::read(&directory(release).join(case)).unwrap();
    let (mut texts, first) = (read(case), read("multifactor2-root"));
    if let Ok(overlay) = std::fs::read_to_string(directory(release).join(case).join("config.overlay")) {
        texts.texts.insert(CONFIG.to_owned(), overlaid(&first.texts[CONFIG], &overlay));
    }
    for (name, text) in first.texts {
        if !texts.manifest.failed.contains_key(&name) {
            texts.texts.entry(name).or_insert(text);
        }
    }
    texts
}

/// The snapshot of a case.
pub fn snapshot(release: &str, case: &str) -> Snapshot {
    try_snapshot(release, case).unwrap()
}

/// The same, where it may fail.
pub fn try_snapshot(release: &str, case: &str) -> Result<Snapshot, Problem> {
    assemble(&texts(release, case), None)
}

/// The plugins of the Slurm that is installed here.
pub fn plugins() -> PathBuf {
    let find = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/find-plugindir");
    let output = std::process::Command::new(find).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.is_empty(), "no Slurm is installed; `make test` installs what tests need");
    PathBuf::from(text.trim())
}

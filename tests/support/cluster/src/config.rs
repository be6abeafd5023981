//! `slurm.conf`: settings that later ones replace, and lines for nodes and partitions.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Gives a file other contents at once: who reads it meanwhile finds the old ones or the new ones, whole. A slurmd that reads slurm.conf
/// for one reconfigure ends for good where it finds it empty, as the next change begins.
pub(crate) fn replace(file: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let new = file.with_extension("new");
    fs::write(&new, contents)
        .and_then(|()| fs::rename(&new, file))
        .with_context(|| format!("writing {}", file.display()))
}

/// The contents of a cluster's `slurm.conf`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    settings: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Config {
    /// Sets a value; the names are those of slurm.conf, in any case.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let known = self.settings.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match known {
            Some((_, old)) => value.clone_into(old),
            None => self.settings.push((name.to_owned(), value.to_owned())),
        }
    }

    /// The value of a setting, where it was set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Takes a setting out, so that Slurm's default counts.
    pub(crate) fn unset(&mut self, name: &str) {
        self.settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// Adds a line as it is, for example a partition.
    pub(crate) fn line(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    /// `other`'s settings replace, its lines follow.
    pub(crate) fn extend(&mut self, other: &Config) {
        for (name, value) in &other.settings {
            self.set(name, value);
        }
        self.lines.extend(other.lines.iter().cloned());
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.settings {
            let _ = writeln!(text, "{name}={value}");
        }
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// `targets::forky` lost both slurmds: it changed slurm.conf while they read it.
    #[test]
    fn a_file_that_is_replaced_is_never_half_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("slurm.conf");
        let texts = ["a", "b"].map(|letter| letter.repeat(1 << 16));
        replace(&file, &texts[0]).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for text in texts.iter().cycle().take(500) {
                    replace(&file, text).unwrap();
                }
                over.store(true, Ordering::Relaxed);
            });
            while !over.load(Ordering::Relaxed) {
                assert!(texts.contains(&fs::read_to_string(&file).unwrap()));
            }
        });
    }

    #[test]
    fn later_settings_replace_earlier_ones_in_any_case() {
        let mut config = Config::default();
        config.set("PriorityType", "priority/basic");
        config.set("SlurmUser", "root");
        config.line("NodeName=n1");
        config.set("prioritytype", "priority/multifactor");
        assert_eq!(config.text(), "PriorityType=priority/multifactor\nSlurmUser=root\nNodeName=n1\n");
        assert_eq!(config.get("PRIORITYTYPE"), Some("priority/multifactor"));
        config.unset("slurmuser");
        assert_eq!(config.text(), "PriorityType=priority/multifactor\nNodeName=n1\n");
    }
}

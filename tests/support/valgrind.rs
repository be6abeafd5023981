//! What valgrind writes with `--xml=yes`, as far as these tests need it.

use std::fs;
use std::path::Path;

/// How the loaded plugin is called in a frame.
const PLUGIN: &str = "priority_multifactor2.so";

/// The options that write such a report to a file. Definite and indirect losses are leaks; blocks that are still reachable
/// at the end are shown because some of ours always are, which proves that the plugin's frames are recognised.
pub fn options(report: &Path) -> Vec<String> {
    let mut options: Vec<String> = ["valgrind", "--tool=memcheck", "--xml=yes", "--num-callers=40"]
        .into_iter()
        .chain([
            "--leak-check=full",
            "--show-leak-kinds=all",
            "--keep-debuginfo=yes",
            "--child-silent-after-fork=yes",
        ])
        .map(str::to_owned)
        .collect();
    options.push(format!("--xml-file={}", report.display()));
    options
}

/// The errors of a finished run, one XML element each.
pub struct Report {
    errors: Vec<String>,
}

impl Report {
    /// Reads the report of a program that has ended.
    ///
    /// # Panics
    /// If it is not complete.
    pub fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(text.contains("<tool>memcheck</tool>"), "not a report of memcheck: {}", file.display());
        assert!(text.contains("<state>FINISHED</state>"), "valgrind has not finished: {}", file.display());
        let elements = text.split("<error>").skip(1);
        let errors = elements.map(|rest| rest.split("</error>").next().unwrap_or(rest).to_owned()).collect();
        Self { errors }
    }

    /// Everything that went through the plugin and is wrong.
    ///
    /// Blocks of Slurm's allocator are not: a pointer to one points behind its header, so whatever Slurm holds at its end
    /// is "possibly lost" to valgrind.
    ///
    /// # Panics
    /// If the plugin is in no frame at all: then valgrind has not seen it, and finding nothing means nothing.
    pub fn of_the_plugin(&self) -> Vec<&str> {
        let with_plugin: Vec<&str> =
            self.errors.iter().map(String::as_str).filter(|error| error.contains(PLUGIN)).collect();
        assert!(!with_plugin.is_empty(), "valgrind has seen no frame of {PLUGIN}");
        let harmless = ["<kind>Leak_StillReachable</kind>", "<kind>Leak_PossiblyLost</kind>"];
        with_plugin.into_iter().filter(|error| !harmless.iter().any(|kind| error.contains(kind))).collect()
    }

    /// All reports but leaks, whoever is to blame.
    pub fn accesses(&self) -> Vec<&str> {
        self.errors.iter().map(String::as_str).filter(|error| !error.contains("<kind>Leak_")).collect()
    }
}

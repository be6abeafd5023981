//! What is made from the program, and the examples in its help.

use std::fs;
use std::path::Path;

use multifactor2_command::{cli::Cli, made};

use crate::outputs::{answered, Sample};

#[test]
fn what_is_made_from_the_command_is_as_in_the_project() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, text) in made::files().unwrap() {
        let found = fs::read_to_string(root.join(&path)).unwrap_or_default();
        assert!(found == text, "{path} is not what the command says now: run 'make docs'");
    }
}

#[test]
fn every_example_in_the_help_works() {
    use clap::CommandFactory;
    let sample = Sample::new(&crate::site::example());
    let site = crate::replay::Site::new();
    let mut examples = 0;
    for question in Cli::command().get_subcommands() {
        let help = question.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines().filter_map(|line| line.trim().strip_prefix("multifactor2 ")) {
            // Those of replay are about files.
            let words = shlex::split(line).unwrap().into_iter().map(|word| match word.as_str() {
                "sacct.txt" | "multifactor2.conf" => site.path(&word).display().to_string(),
                _ => word,
            });
            let words: Vec<String> = words.collect();
            let printed = sample.ask(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(answered(&printed), "multifactor2 {line}: {}", printed.err);
            examples += 1;
        }
    }
    assert!(examples > 8, "{examples}");
}

//! What is made from the program itself: schemas of answers, manual pages, completions. `make docs` writes them, a test compares them.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use schemars::JsonSchema;

use crate::answers::{
    compare::Compare, cost::Cost, queue::Queue, recover::Recover, settings::Settings, tree::Tree,
    what_if::WhatIf, why::Why, Answer, Report,
};
use crate::check;
use crate::cli::Cli;

/// All files, with their paths in the project.
///
/// # Errors
/// Memory is exhausted: they are written to it.
pub fn files() -> std::io::Result<Vec<(String, String)>> {
    let mut files = vec![
        schema::<check::Report>(),
        schema::<Compare>(),
        schema::<Cost>(),
        schema::<Queue>(),
        schema::<Recover>(),
        schema::<Settings>(),
        schema::<Tree>(),
        schema::<WhatIf>(),
        schema::<Why>(),
    ];
    let mut command = Cli::command();
    command.build();
    files.push(manual(&command, "multifactor2")?);
    for question in command.get_subcommands() {
        let name = format!("multifactor2-{}", question.get_name());
        files.push(manual(question, &name)?);
    }
    for (shell, file) in [
        (Shell::Bash, "multifactor2.bash"),
        (Shell::Zsh, "_multifactor2"),
        (Shell::Fish, "multifactor2.fish"),
    ] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "multifactor2", &mut text);
        files.push((format!("packaging/completions/{file}"), readable(&text)));
    }
    Ok(files)
}

/// The schema of an answer with what it is about.
fn schema<A: Answer + JsonSchema>() -> (String, String) {
    let schema = schemars::schema_for!(Report<A>);
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    (format!("docs/schema/{}.json", A::NAME), text)
}

fn manual(command: &Command, name: &str) -> std::io::Result<(String, String)> {
    let mut text = Vec::new();
    Man::new(command.clone()).title(name.to_uppercase()).section("1").render(&mut text)?;
    Ok((format!("packaging/man/{name}.1"), readable(&text)))
}

/// Without blanks at the ends of lines.
fn readable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

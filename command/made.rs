//! What is made from the program itself: schemas of answers, manual pages, completions. `make docs` writes them, a test compares them.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::roff::{roman, Roff};
use clap_mangen::Man;
use schemars::JsonSchema;

use crate::answers::{
    compare::Compare, cost::Cost, metrics, migrate, queue::Queue, recover::Recover, replay,
    settings::Settings, tree::Tree, what_if::WhatIf, why::Why, Answer, Bare, Report,
};
use crate::check;
use crate::cli::Cli;

/// All files, with their paths in the project.
///
/// # Errors
/// Memory is exhausted: they are written to it.
pub fn files() -> std::io::Result<Vec<(String, String)>> {
    let mut files = vec![
        schema::<Report<check::Report>, check::Report>(),
        schema::<Report<Compare>, Compare>(),
        schema::<Report<Cost>, Cost>(),
        schema::<Report<metrics::Answer>, metrics::Answer>(),
        schema::<Bare<migrate::Answer>, migrate::Answer>(),
        schema::<Report<Queue>, Queue>(),
        schema::<Report<Recover>, Recover>(),
        schema::<Report<Settings>, Settings>(),
        schema::<Report<Tree>, Tree>(),
        schema::<Report<WhatIf>, WhatIf>(),
        schema::<Report<Why>, Why>(),
    ];
    files.push(schema_of::<replay::Document>(replay::NAME));
    let mut command = Cli::command();
    command.build();
    let pages: Vec<String> = command.get_subcommands().map(page).collect();
    files.push(manual(&command, NAME, &pages)?);
    for question in command.get_subcommands() {
        files.push(manual(question, &page(question), &[NAME.to_owned()])?);
        if question.get_name() == "why" {
            files.push((format!("packaging/man/{SHORT}.1"), format!(".so man1/{}.1\n", page(question))));
            files.extend(completions(question.clone().name(SHORT).bin_name(SHORT), SHORT));
        }
    }
    files.extend(completions(Cli::command(), NAME));
    Ok(files)
}

const NAME: &str = "multifactor2";
/// What stands for `multifactor2 why`.
const SHORT: &str = "swhy";

/// What the manual page of a question is called.
fn page(question: &Command) -> String {
    format!("{NAME}-{}", question.get_name())
}

/// For each shell, under the name by which that shell looks for it.
fn completions(mut command: Command, name: &str) -> [(String, String); 3] {
    let files = [
        (Shell::Bash, format!("bash/{name}")),
        (Shell::Zsh, format!("zsh/_{name}")),
        (Shell::Fish, format!("fish/{name}.fish")),
    ];
    files.map(|(shell, file)| {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, name, &mut text);
        (format!("packaging/completions/{file}"), readable(&text))
    })
}

/// The schema of an answer with what it is about.
fn schema<R: JsonSchema, A: Answer>() -> (String, String) {
    schema_of::<R>(A::NAME)
}

fn schema_of<D: JsonSchema>(name: &str) -> (String, String) {
    let schema = schemars::schema_for!(D);
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    (format!("docs/schema/{name}.json"), text)
}

/// A manual page. What help says behind the options are sections of it: examples, and what is before them.
fn manual(command: &Command, name: &str, related: &[String]) -> std::io::Result<(String, String)> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (notes, examples) = help.split_once("Examples:\n").unwrap_or((&help, ""));
    let source = format!("{NAME} {}", env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    let man = Man::new(command.clone()).title(name.to_uppercase()).section("1").source(source);
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    let mut roff = Roff::new();
    for (title, lines) in [("NOTES", notes), ("EXAMPLES", examples)] {
        if !lines.trim().is_empty() {
            roff.control("SH", [title]);
            for line in lines.trim_end().lines() {
                roff.text([roman(line)]).control(if line.is_empty() { "sp" } else { "br" }, []);
            }
        }
    }
    let related: Vec<String> = related.iter().map(|name| format!("{name}(1)")).collect();
    roff.control("SH", ["SEE ALSO"]).text([roman(related.join(", "))]);
    roff.to_writer(&mut text)?;
    Ok((format!("packaging/man/{name}.1"), readable(&text)))
}

/// Without blanks at the ends of lines.
fn readable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

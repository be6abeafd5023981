//! Generates files from the program itself: manual pages, completions, schemas of answers, and the table of docs/command.md. The build
//! makes all but the table (`multifactor2 generate DIR`), and they are installed below share.

use std::path::Path;
use std::{fs, io};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::roff::{bold, roman, Roff};
use clap_mangen::Man;

use crate::answers::Question;
use crate::cli::Cli;
use crate::output::Described;

/// Writes all that is installed with the command, as it is to be below share: a directory for each of man, bash, zsh, fish, and schemas.
///
/// # Errors
/// A file cannot be written.
pub fn generate(share: &Path) -> io::Result<()> {
    for (name, text) in files()? {
        let path = share.join(name);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// The files, with their paths below share.
fn files() -> io::Result<Vec<(String, String)>> {
    let schemas = Question::schemas().into_iter();
    let mut files: Vec<(String, String)> =
        schemas.map(|schema| (format!("{SCHEMAS}/{}.json", schema.name), schema.text)).collect();
    let mut command = Cli::command();
    command.build();
    let pages: Vec<String> = command.get_subcommands().map(page).collect();
    files.push(manual(&command, NAME, &[], &pages)?);
    for (question, columns) in command.get_subcommands().zip(Question::COLUMNS) {
        files.push(manual(question, &page(question), columns, &[NAME.to_owned()])?);
        if question.get_name() == "why" {
            files.push((format!("{MANUAL}/{SHORT}.1"), format!(".so man1/{}.1\n", page(question))));
            files.extend(completions(question.clone().name(SHORT).bin_name(SHORT), SHORT));
        }
    }
    files.extend(completions(Cli::command(), NAME));
    Ok(files)
}

/// docs/command.md with the table of questions as it is now; `root` is the project's directory.
///
/// # Errors
/// The page cannot be read, or lacks the place for its table.
pub fn page_of_questions(root: &Path) -> io::Result<(&'static str, String)> {
    let text = fs::read_to_string(root.join(PAGE))?;
    let with_table = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{BEGIN}{}{END}{after}", table(&Cli::command())))
    });
    Ok((PAGE, with_table.ok_or_else(|| io::Error::other(format!("{PAGE} lacks {BEGIN}")))?))
}

/// The page with the table of questions, and where the table is.
const PAGE: &str = "docs/command.md";
const BEGIN: &str = "<!-- begin subcommands: made by \"make docs\" from command/answers -->\n";
const END: &str = "<!-- end subcommands -->\n";

fn table(command: &Command) -> String {
    let questions = command.get_subcommands().zip(Question::ANSWERS);
    let rows = questions.map(|(question, (answers, example))| {
        format!("| `{}` | {answers} | `{example}` |\n", question.get_name())
    });
    ["| subcommand | answers | example |\n|---|---|---|\n".to_owned()].into_iter().chain(rows).collect()
}

const NAME: &str = "multifactor2";
/// What stands for `multifactor2 why`.
const SHORT: &str = "swhy";
/// Where manual pages and schemas are, below share. Help names the second.
const MANUAL: &str = "man/man1";
const SCHEMAS: &str = "slurm-multifactor2/schema";

/// What the manual page of a question is called.
fn page(question: &Command) -> String {
    format!("{NAME}-{}", question.get_name())
}

/// For each shell, under the name by which that shell looks for it.
fn completions(mut command: Command, name: &str) -> [(String, String); 3] {
    let files = [
        (Shell::Bash, format!("bash-completion/completions/{name}")),
        (Shell::Zsh, format!("zsh/site-functions/_{name}")),
        (Shell::Fish, format!("fish/vendor_completions.d/{name}.fish")),
    ];
    files.map(|(shell, file)| {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, name, &mut text);
        (file, readable(&text))
    })
}

/// A manual page. What help says behind the options are sections of it: examples, and what is before them.
fn manual(
    command: &Command,
    name: &str,
    columns: &[&[Described]],
    related: &[String],
) -> io::Result<(String, String)> {
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
    if !columns.is_empty() {
        roff.control("SH", ["COLUMNS"]);
    }
    for (name, meaning) in columns.iter().copied().flatten() {
        roff.control("TP", []).text([bold(name.trim_end_matches('>'))]).text([roman(format!("{meaning}."))]);
    }
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
    Ok((format!("{MANUAL}/{name}.1"), readable(&text)))
}

/// Without blanks at the ends of lines.
fn readable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

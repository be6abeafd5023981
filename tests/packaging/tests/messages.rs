//! What the documentation says about messages is what the plugin says: every message that README.md and the manual page
//! quote is in the source, and every error and warning of the source is in both.
//!
//! Texts are compared piece by piece, between the parts that vary: `…`, numbers and words such as FILE in the
//! documentation, `{…}` in the source. Of each piece three words in a row must be found, for a sentence of the source may be put
//! together from several.

use std::fs;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(top().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Blanks and line ends as one blank each.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The source as one line: strings that continue on the next line are joined, comments are left out.
fn source() -> String {
    let mut text = String::new();
    let mut open = vec![top().join("src")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let file = fs::read_to_string(path).unwrap();
                for line in file.lines().filter(|line| !line.trim_start().starts_with("//")) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    flat(&text.replace("\\\n", ""))
}

/// Words of the documentation that stand for something else. Names that the source writes as `{}` are among them.
fn varies(word: &str) -> bool {
    const NAMES: [&str; 13] = [
        "NAME",
        "NAMES",
        "FILE",
        "KEY",
        "VALUE",
        "LINE",
        "TEXT",
        "PATH",
        "OWNER",
        "PLACE",
        "PriorityWeightAge",
        "priority_last_decay_ran",
        "slurm-multifactor2",
    ];
    (word.len() == 1 && word != "a")
        || NAMES.contains(&word)
        || word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

/// The fixed pieces of a documented message.
fn pieces(message: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        if token == "…" || is_word(first) && varies(token.trim_end_matches('.')) {
            pieces.push(String::new());
        } else {
            pieces.last_mut().unwrap().push_str(token);
        }
    }
    pieces
}

/// Whether of each piece with three words some three in a row are in the text.
fn known(pieces: &[String], text: &str) -> bool {
    pieces.iter().all(|piece| {
        let words: Vec<&str> = piece.split_whitespace().collect();
        let letters = piece.chars().filter(char::is_ascii_alphabetic).count();
        let mut threes = words.windows(3);
        letters < 12 || words.len() < 3 || threes.any(|three| text.contains(&three.join(" ")))
    })
}

/// The messages in the first column of README's tables.
fn messages_of_the_readme() -> Vec<String> {
    let text = read("README.md");
    let section = text.split_once("## What the messages mean").unwrap().1.split_once("\n## ").unwrap().0;
    let cells =
        section.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").next().unwrap());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    quoted.collect()
}

/// The manual page without markup.
fn manual() -> String {
    let page = read("packaging/man/priority_multifactor2.8");
    let mut text =
        page.replace("\\&...", "…").replace("\\-", "-").replace("\"\"", "\"").replace("\\(mu", "×");
    for font in ["\\fB", "\\fI", "\\fR", ".B ", ".I ", ".BR ", ".IR ", ".BI "] {
        text = text.replace(font, "");
    }
    flat(&text)
}

/// The messages in the manual page's diagnostics.
fn messages_of_the_manual() -> Vec<String> {
    let page = read("packaging/man/priority_multifactor2.8");
    let section = page.split_once(".SH DIAGNOSTICS").unwrap().1.split_once(".SH FILES").unwrap().0;
    let lines = section.lines().filter_map(|line| line.strip_prefix(".B \"")?.strip_suffix('"'));
    lines.map(|line| line.replace("\\&...", "…").replace("\\-", "-").replace("\"\"", "\\\"")).collect()
}

#[test]
fn quoted_messages_exist() {
    let source = source();
    let mut missing = Vec::new();
    for (place, messages) in [("README.md", messages_of_the_readme()), ("manual", messages_of_the_manual())] {
        assert!(messages.len() > 20, "{place} has {} messages", messages.len());
        for message in messages {
            if !known(&pieces(message.trim_start_matches("warning: ")), &source) {
                missing.push(format!("{place}: the plugin does not say '{message}'"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The texts of `error!` and `warn!` in the source.
fn logged() -> Vec<String> {
    let source = source();
    let mut texts = Vec::new();
    for call in ["error!(", "warn!("] {
        for (at, _) in source.match_indices(call) {
            let arguments = source[at + call.len()..].trim_start();
            if let Some(literal) = arguments.strip_prefix('"') {
                texts.push(literal[..literal.find('"').unwrap()].to_owned());
            }
        }
    }
    texts
}

/// Whether three words in a row of the text are in the documentation. Texts of fewer words pass other messages on.
fn is_explained(text: &str, documentation: &str) -> bool {
    let fixed = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, fixed)| fixed));
    let threes: Vec<String> = fixed
        .flat_map(|piece| {
            let words: Vec<&str> = piece.split_whitespace().collect();
            words.windows(3).map(|three| three.join(" ")).collect::<Vec<_>>()
        })
        .collect();
    threes.is_empty() || threes.iter().any(|three| documentation.contains(three))
}

#[test]
fn every_error_and_warning_is_explained() {
    let logged = logged();
    assert!(logged.len() > 12, "{logged:?}");
    for (place, documentation) in [("README.md", flat(&read("README.md"))), ("the manual page", manual())] {
        let missing: Vec<_> = logged.iter().filter(|text| !is_explained(text, &documentation)).collect();
        assert!(missing.is_empty(), "{place} does not explain {missing:#?}");
    }
}

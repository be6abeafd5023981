//! Renders the generated parts of pages: settings from their table, the manual page's diagnostics from docs/messages.md.
//!
//! The text between two marks of a page is generated as a whole. A test compares the pages with it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use multifactor2_core::settings::schema::{Absent, Setting};
use multifactor2_core::settings::since::SINCE;
use multifactor2_core::settings::value::Kind;
use multifactor2_core::settings::SETTINGS;

/// Columns of a comment in the example file.
const WIDTH: usize = 100;

/// A page: its path, how it is, and how it should be.
pub type Page = (&'static str, String, String);

/// Every page that has a part made here.
///
/// # Errors
/// A page cannot be read, or has lost its marks.
pub fn pages(top: &Path) -> Result<Vec<Page>, String> {
    let messages = read(top, "docs/messages.md")?;
    let parts: [(&'static str, &str, String); 4] = [
        ("docs/settings.md", "settings", markdown(SETTINGS)),
        ("packaging/multifactor2.conf.example", "settings", example(SETTINGS)),
        ("packaging/man/priority_multifactor2.8", "settings", manual(SETTINGS)),
        ("packaging/man/priority_multifactor2.8", "diagnostics", diagnostics(&messages)?),
    ];
    let mut pages: Vec<Page> = Vec::new();
    for (path, name, part) in parts {
        if pages.last().is_none_or(|page| page.0 != path) {
            let text = read(top, path)?;
            pages.push((path, text.clone(), text));
        }
        if let Some((path, _, after)) = pages.last_mut() {
            *after = replaced(after, name, &part).ok_or_else(|| format!("{path} has no marks for {name}"))?;
        }
    }
    Ok(pages)
}

fn read(top: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(top.join(path)).map_err(|error| format!("{path}: {error}"))
}

/// A text with another part between the line that holds `begin NAME` and the one that holds `end NAME`.
pub fn replaced(text: &str, name: &str, part: &str) -> Option<String> {
    let line_with = |mark: &str, from: usize| {
        let at = from + text[from..].find(mark)?;
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        Some((start, end))
    };
    let (_, begin) = line_with(&format!("begin {name}"), 0)?;
    let (end, _) = line_with(&format!("end {name}"), begin)?;
    Some(format!("{}{part}{}", &text[..begin], &text[end..]))
}

/// Headings of docs/settings.md, each with the setting that is the first below it.
pub const GROUPS: [(&str, &str); 7] = [
    ("ActiveJobs", "Shares and usage"),
    ("TicketsShare", "Ticket policies"),
    ("Dilution", "Dilution"),
    ("Component", "Points"),
    ("Charge", "Charging"),
    ("UsageMeasure", "What counts as usage"),
    ("Snapshot", "Snapshots"),
];

/// A heading for each setting of docs/settings.md, in groups; the attributes of a block are a list below it.
pub fn markdown(table: &[Setting]) -> String {
    let mut text = String::new();
    for setting in table {
        if let Some((_, title)) = GROUPS.iter().find(|(first, _)| *first == setting.name) {
            let _ = write!(text, "\n## {title}\n");
        }
        markdown_entry(&mut text, setting);
    }
    text + "\n"
}

fn markdown_entry(text: &mut String, setting: &Setting) {
    let name = setting.name;
    let _ = write!(text, "\n### `{name}`\n\n{}\n", setting.meaning);
    if let Kind::Choice(words) = setting.kind {
        text.push('\n');
        for word in words {
            let later = since(&format!("{name}={}", word.text));
            let _ = writeln!(text, "- `{}`: {}{later}", word.text, word.meaning);
        }
    }
    let allowed = match setting.kind {
        Kind::Choice(words) => {
            words.iter().map(|word| format!("`{}`", word.text)).collect::<Vec<_>>().join(", ")
        }
        _ => brief(setting),
    };
    let _ = write!(text, "\nAllowed: {allowed}.");
    let example = match setting.absent {
        Absent::Default(default) => {
            let _ = write!(text, " Default: `{default}`.");
            // It would only repeat the heading and the default.
            setting.attributes.is_some()
        }
        Absent::Unset | Absent::Error => true,
    };
    if setting.attributes.is_some() {
        text.push_str(" Only in `multifactor2.conf`.");
    }
    let _ = writeln!(text, "{}", since(name));
    if example {
        let _ = write!(text, "\n    {}\n", line(setting));
    }
    let attributes: Vec<&Setting> = described(setting).collect();
    for group in attributes.chunk_by(|one, next| one.with == next.with) {
        markdown_attributes(text, name, group);
    }
}

/// Attributes that go with all lines of a block, or with those of one word. What is alike for all of the latter is said once.
fn markdown_attributes(text: &mut String, block: &str, group: &[&Setting]) {
    let mut alike = String::new();
    if let Some((with, first)) = group.first().and_then(|first| first.with.map(|with| (with, first))) {
        alike = facts(first);
        let _ = write!(text, "\nOnly with `{with}`, each {alike}:\n\n");
    } else {
        text.push_str("\nAttributes:\n\n");
    }
    for attribute in group {
        let name = attribute.name;
        let facts = facts(attribute);
        let facts = if facts.is_empty() || facts == alike { String::new() } else { format!(" ({facts})") };
        let later = since(&format!("{block}.{name}"));
        let _ = writeln!(text, "- `{name}`{facts}: {}{later}", attribute.meaning);
        if let Kind::Choice(words) = attribute.kind {
            for word in words {
                let _ = writeln!(text, "  - `{}`: {}", word.text, word.meaning);
            }
        }
    }
}

/// The version that brought a setting, `Setting.Attribute` or `Setting=word`, as a sentence; nothing where it is not listed.
fn since(key: &str) -> String {
    let listed = SINCE.iter().find(|(_, keys)| keys.contains(&key));
    listed.map(|(version, _)| format!(" Since {version}.")).unwrap_or_default()
}

/// What an attribute may be, and its default. The words of a choice are listed below it.
fn facts(attribute: &Setting) -> String {
    let allowed = match attribute.kind {
        Kind::Choice(_) => None,
        _ => Some(brief(attribute)),
    };
    let default = match attribute.absent {
        Absent::Default(text) => Some(format!("default `{text}`")),
        Absent::Unset => None,
        Absent::Error => Some("required".into()),
    };
    allowed.into_iter().chain(default).collect::<Vec<_>>().join(", ")
}

/// What may be written, where docs/settings.md explains the notation for all settings at once.
fn brief(setting: &Setting) -> String {
    match setting.kind {
        Kind::YesNo => "yes or no".into(),
        Kind::Duration => "a time".into(),
        Kind::PositiveDuration => "a time above 0".into(),
        Kind::Date | Kind::EndDate => "a date".into(),
        Kind::Names => "names".into(),
        _ => setting.kind.allowed(),
    }
}

/// An example: the default of a plain setting, or a line with the attributes that fit.
fn line(setting: &Setting) -> String {
    let mut line = format!("{}={}", setting.name, setting.example);
    for attribute in described(setting) {
        let goes = attribute.with.is_none_or(|with| with == setting.example);
        if goes && !attribute.example.is_empty() {
            let _ = write!(line, " {}={}", attribute.name, attribute.example);
        }
    }
    line
}

/// The attributes of a block that the pages describe.
fn described(setting: &Setting) -> impl Iterator<Item = &Setting> {
    setting.attributes.unwrap_or_default().iter().filter(|attribute| attribute.is_described)
}

/// The example file behind its introduction: every setting with its default, commented out.
pub fn example(table: &[Setting]) -> String {
    let mut text = String::new();
    for setting in table {
        text.push('\n');
        comment(&mut text, "# ", "# ", &setting.meaning.replace('`', ""));
        if let Kind::Choice(words) = setting.kind {
            let width = words.iter().map(|word| word.text.len()).max().unwrap_or_default();
            for word in words {
                let first = format!("#   {:width$}  ", word.text);
                let rest = format!("#   {:width$}  ", "");
                comment(&mut text, &first, &rest, &word.meaning.replace('`', ""));
            }
        } else {
            comment(&mut text, "# ", "# ", &sentence(setting));
        }
        for attribute in described(setting) {
            comment(
                &mut text,
                &format!("#   {}  ", attribute.name),
                "#     ",
                &format!("{} {}", attribute.meaning.replace('`', ""), sentence(attribute)),
            );
        }
        let _ = writeln!(text, "#{}", line(setting));
    }
    text.push('\n');
    text
}

/// What is allowed and what holds otherwise: `Allowed: a number of 0 or more. Default: 1.`
fn sentence(setting: &Setting) -> String {
    let default = match setting.absent {
        Absent::Default(text) => format!(" Default: {text}."),
        Absent::Unset => String::new(),
        Absent::Error => " Required.".into(),
    };
    let with = setting.with.map(|with| format!(" Only with {with}.")).unwrap_or_default();
    format!("Allowed: {}.{default}{with}", setting.kind.allowed())
}

fn comment(text: &mut String, first: &str, rest: &str, words: &str) {
    let mut line = first.to_owned();
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            rest.clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The entries of the manual page.
pub fn manual(table: &[Setting]) -> String {
    let mut text = String::new();
    for setting in table {
        manual_entry(&mut text, setting);
        if setting.attributes.is_some() {
            text.push_str(".RS\n");
            for attribute in described(setting) {
                manual_entry(&mut text, attribute);
            }
            text.push_str(".RE\n");
        }
    }
    text
}

fn manual_entry(text: &mut String, setting: &Setting) {
    let values = match setting.kind {
        Kind::Choice(words) => words.iter().map(|word| word.text).collect::<Vec<_>>().join(" | "),
        Kind::Integer { .. } | Kind::Decimal { .. } | Kind::PositiveDecimal | Kind::ZeroOrDecimal { .. } => {
            "\\fInumber\\fP".into()
        }
        Kind::YesNo => "yes | no".into(),
        Kind::Duration | Kind::PositiveDuration => "\\fItime\\fP".into(),
        Kind::Date | Kind::EndDate => "\\fIdate\\fP".into(),
        Kind::Names => "\\fIname\\fP[,...]".into(),
        Kind::Weights { .. } => "\\fIname\\fP:\\fInumber\\fP[,...]".into(),
        Kind::Text { .. } => "\\fItext\\fP".into(),
    };
    let _ = write!(text, ".TP\n.BR {} = {values}\n{}", setting.name, roff(setting.meaning));
    if let Kind::Choice(words) = setting.kind {
        text.push_str(".RS\n");
        for word in words {
            let _ = write!(text, ".TP\n.B {}\n{}", word.text, roff(word.meaning));
            if setting.absent == Absent::Default(word.text) {
                text.push_str("This is the default.\n");
            }
        }
        text.push_str(".RE\n");
    } else {
        text.push_str(&roff(&sentence(setting)));
    }
}

/// Words for a manual page, a sentence a line. What stands between backquotes is bold.
fn roff(words: &str) -> String {
    let mut line = String::new();
    for (at, part) in words.split('`').enumerate() {
        let part = part.replace('\\', "\\e").replace('-', "\\-").replace('…', "\\&...");
        if at % 2 == 1 {
            let _ = write!(line, "\\fB{part}\\fR");
        } else {
            line.push_str(&part);
        }
    }
    let mut text = String::new();
    let words: Vec<&str> = line.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        // A dot or an apostrophe at the beginning of a line would be a request.
        let begins = text.is_empty() || text.ends_with('\n');
        text.push_str(if begins && word.starts_with(['.', '\'']) { "\\&" } else { "" });
        text.push_str(word);
        let ends = word.trim_end_matches(')').ends_with(['.', '?']) && !word.ends_with("...");
        text.push(if ends || at + 1 == words.len() { '\n' } else { ' ' });
    }
    text
}

/// The entries of docs/messages.md for the manual page: everything from its first second-level heading to the heading
/// that says the rest is not in the manual.
///
/// # Errors
/// The page is not made of headings, messages as indented lines, and paragraphs.
pub fn diagnostics(page: &str) -> Result<String, String> {
    let (_, page) = page.split_once("<!-- begin manual -->\n").ok_or("docs/messages.md: no begin manual")?;
    let (page, _) = page.split_once("<!-- end manual -->\n").ok_or("docs/messages.md: no end manual")?;
    let mut text = String::new();
    let mut messages = 0;
    // Whether the paragraph before was a message, and whether any entry has begun.
    let (mut behind_message, mut in_entry) = (false, false);
    for paragraph in page.split("\n\n").map(str::trim_end).filter(|paragraph| !paragraph.trim().is_empty()) {
        let paragraph = paragraph.trim_start_matches('\n');
        if let Some(title) = paragraph.strip_prefix("## ") {
            let _ = writeln!(text, ".SS {title}");
            (behind_message, in_entry) = (false, false);
        } else if paragraph.starts_with("    ") {
            // A message a paragraph; further ones of the same entry follow at once.
            let message = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
            let tag = if behind_message { "TQ" } else { "TP" };
            let message = message.replace('\\', "\\e").replace('-', "\\-").replace('"', "\"\"");
            let _ = write!(text, ".{tag}\n.B \"{}\"\n", message.replace('…', "\\&..."));
            messages += 1;
            (behind_message, in_entry) = (true, true);
        } else {
            if !behind_message {
                text.push_str(if in_entry { ".IP\n" } else { ".PP\n" });
            }
            text.push_str(&roff(&unlinked(paragraph)));
            behind_message = false;
        }
    }
    if messages == 0 {
        return Err("docs/messages.md has no messages".into());
    }
    Ok(text)
}

/// `[text](address)` as `text`.
fn unlinked(paragraph: &str) -> String {
    let mut text = String::new();
    let mut rest = paragraph;
    while let Some((before, after)) = rest.split_once("](") {
        let (before, name) = before.rsplit_once('[').unwrap_or((before, ""));
        text.push_str(before);
        text.push_str(name);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

//! Collects a trace on a live cluster: it runs the commands that `--how` prints, each into its file, and fetches jobs month by month.
//!
//! A month is exported whole or not at all, and a second export fetches what is missing. Jobs are read line by line and compressed, so that
//! memory does not grow with them. Users choose the text of `SubmitLine`: any characters, including bars and line breaks. So sacct
//! separates columns with a random text that nobody can have written, and only a dependency is kept of `SubmitLine`.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Command;

use flate2::write::GzEncoder;
use flate2::Compression;
use multifactor2_replay::trace::directory::{TraceFile, FILES, TRANSACTIONS};
use multifactor2_replay::trace::COLUMNS;

use super::months::{self, Month};
use super::pseudonyms::Pseudonyms;
use crate::error::Error;
use crate::files;
use crate::input::accounting::{first_lines, plain, Sacct};
use crate::progress::Progress;

/// The dates in the commands that are printed.
const DATES: &str = "start=2024-01-01";

/// What an export has done: it makes a directory one that a second export may go on with.
const DONE: &str = "export.txt";

/// What is not read yet: a later version that knows limits and single nodes can replay an export of today.
const LATER: [&str; 5] = ["ReqMem", "NodeList", "QOSREQ", "Restarts", "ReqReservation"];

/// What it is made into.
const SUBMIT_LINE: &str = "SubmitLine";
const DEPENDENCY: &str = "Dependency";

/// Collects it in a directory, which is new, empty, or of an earlier export. Returns what to do with it.
///
/// # Errors
/// The directory cannot be used, or there are no jobs: what the command said.
pub fn export(directory: &Path, start: &str, end: &str, anonymise: bool) -> Result<String, Error> {
    let now = jiff::Timestamp::now().as_second();
    let time = |option: &str, text: &str| {
        months::time(text, now).ok_or_else(|| {
            Error::from(format!("{option} {text:?}: give a date such as 2024-01-31, now, or now-30days"))
        })
    };
    let (start, end) = (time("--start", start)?, time("--end", end)?);
    if start >= end {
        return Err("--start must be before --end: correct one of them".into());
    }
    let shown = directory.display();
    fs::create_dir_all(directory).map_err(|error| Error::of_output(directory, &error))?;
    let done = earlier(directory)?;
    if anonymise && !done.is_empty() {
        return Err(Error::Output(format!(
            "{shown}: it already has an export, and names can only be replaced in a single run; give a new directory"
        )));
    }
    let mut pseudonyms = anonymise.then(Pseudonyms::default);
    let progress = Progress::begin();
    let mut told = String::new();
    let months = months::between(start, end);
    let columns = columns()?;
    for (number, month) in (1..).zip(&months) {
        if done.iter().any(|line| *line == month.line()) && directory.join(month.file()).is_file() {
            continue;
        }
        progress.step(format!("Month {number} of {}: {}", months.len(), month.file()));
        jobs(directory, month, &columns, pseudonyms.as_mut())?;
        remember(directory, month)?;
    }
    told.push_str(&[&months.iter().map(Month::file).collect::<Vec<_>>().join(", "), ": jobs\n"].concat());
    // The dump says the same as the table of associations, and needs the name of the cluster. Jobs are there.
    let others = FILES[1..].iter().filter(|file| !file.command.starts_with("sacctmgr dump"));
    for TraceFile { name, command, gives } in others {
        if anonymise && *name == TRANSACTIONS {
            told.push_str(&[name, ": left out, because it contains names\n"].concat());
            continue;
        }
        progress.step(format!("Asking for {name}"));
        let command = command.replace(DATES, &format!("start={}", months::shown(start)));
        match collect(&command) {
            Ok(text) => {
                let text = match &mut pseudonyms {
                    Some(pseudonyms) => pseudonyms.of(name, &text),
                    None => text,
                };
                files::write(&directory.join(name), text.as_bytes(), None)?;
                told.push_str(&[name, ": ", gives, "\n"].concat());
            }
            // Without them it can be told what is missing.
            Err(why) => told.push_str(
                &[name, ": missing, so the replay lacks ", gives, ": ", &why.to_string(), "\n"]
                    .concat(),
            ),
        }
    }
    drop(progress);
    Ok(format!("{told}\nNow: multifactor2 replay {shown} --policy fair-tree --policy multifactor2\n"))
}

/// The months that an earlier export has collected in a directory.
fn earlier(directory: &Path) -> Result<Vec<String>, Error> {
    if let Ok(text) = fs::read_to_string(directory.join(DONE)) {
        return Ok(text.lines().map(str::to_owned).collect());
    }
    let mut entries = fs::read_dir(directory).map_err(|error| Error::of_output(directory, &error))?;
    if entries.next().is_some() {
        return Err(Error::Output(format!(
            "{}: it is not empty and has no {DONE} of an earlier export; give a new directory",
            directory.display()
        )));
    }
    Ok(Vec::new())
}

/// Notes that a month is there. The same month up to another day is collected anew.
fn remember(directory: &Path, month: &Month) -> Result<(), Error> {
    let path = directory.join(DONE);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let lines = before.lines().filter(|line| !line.starts_with(&format!("{} ", month.file())));
    let text: String = lines.map(|line| format!("{line}\n")).chain([format!("{}\n", month.line())]).collect();
    files::write(&path, text.as_bytes(), None)
}

/// The columns that are asked for: those of a trace that this sacct has. The last has no text of users.
fn columns() -> Result<Vec<&'static str>, Error> {
    let known = collect("sacct --helpformat")?;
    let known: Vec<&str> = known.split_ascii_whitespace().collect();
    let wanted = COLUMNS.iter().map(|(name, _)| if *name == DEPENDENCY { SUBMIT_LINE } else { name }).chain(LATER);
    let has = |name: &&str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut columns: Vec<&'static str> = wanted.filter(has).filter(|name| *name != "State").collect();
    columns.push("State");
    Ok(columns)
}

/// The jobs of a month, in a file that is complete when it gets its name.
fn jobs(
    directory: &Path,
    month: &Month,
    columns: &[&str],
    pseudonyms: Option<&mut Pseudonyms>,
) -> Result<(), Error> {
    let arguments = ["-S", &months::shown(month.from), "-E", &months::shown(month.until)];
    let mut sacct = Sacct::start(arguments, columns)?;
    let mut failed = None;
    let written = files::write_with(&directory.join(month.file()), None, |file| {
        let count = compress(file, &mut sacct, columns, pseudonyms)?;
        let ended = sacct.end();
        if count == 0 || ended.is_err() {
            let why = ended.err().unwrap_or_else(|| "it failed and said nothing".to_owned());
            failed = Some(format!("sacct of {}: {why}", month.file()));
            // So that no file is left of a month that is not whole.
            return Err(io::Error::other("sacct failed"));
        }
        Ok(())
    });
    failed.map_or(written, |why| Err(Error::Source(why)))
}

/// Writes records compressed, without what users could have written into them. How many there were, the header among them.
fn compress(
    file: &mut dyn Write,
    sacct: &mut Sacct,
    columns: &[&str],
    mut pseudonyms: Option<&mut Pseudonyms>,
) -> io::Result<u64> {
    let mut file = GzEncoder::new(BufWriter::new(file), Compression::default());
    let mut count = 0;
    while let Some(cells) = sacct.record()? {
        let is_header = count == 0;
        count += 1;
        let cells = cells.iter().zip(columns).map(|(cell, column)| match (*column, is_header) {
            (SUBMIT_LINE, true) => DEPENDENCY.to_owned(),
            (_, true) => (*column).to_owned(),
            (SUBMIT_LINE, false) => dependency(cell),
            (_, false) => match &mut pseudonyms {
                Some(pseudonyms) => clean(&pseudonyms.field("sacct.txt", column, cell)),
                None => clean(cell),
            },
        });
        writeln!(file, "{}", cells.collect::<Vec<_>>().join("|"))?;
    }
    file.finish()?.flush()?;
    Ok(count)
}

/// A cell without bars and control characters.
fn clean(cell: &str) -> String {
    let plain = |letter: char| match letter {
        '|' => '/',
        letter if letter.is_control() => '?',
        letter => letter,
    };
    cell.chars().map(plain).collect()
}

/// What a submission depends on, of the line of its command: letters of a dependency only; empty for none.
fn dependency(line: &str) -> String {
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let value = match word {
            "-d" | "--dependency" => words.next(),
            _ => word
                .strip_prefix("--dependency=")
                .or_else(|| word.strip_prefix("-d").filter(|rest| rest.contains(':') || *rest == "singleton")),
        };
        if let Some(value) = value {
            let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || ":,?_+".contains(*letter);
            return value.chars().filter(is_plain).take(200).collect();
        }
    }
    String::new()
}

/// What a command prints.
fn collect(command: &str) -> Result<String, Error> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    plain(&mut shell);
    let output = shell.output().map_err(|error| Error::Source(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let said = if said.is_empty() { "it failed and said nothing".to_owned() } else { first_lines(&said) };
        return Err(Error::Source(format!("{}: {said}", command.split(" -").next().unwrap_or_default())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_submission_only_its_dependency_is_kept() {
        for (line, kept) in [
            ("sbatch -d afterok:12 x.sh", "afterok:12"),
            ("sbatch --dependency=afterany:1:2?singleton secret.sh", "afterany:1:2?singleton"),
            ("sbatch --dependency singleton", "singleton"),
            ("sbatch -dafterok:7 x", "afterok:7"),
            ("sbatch -D /home/ada x.sh", ""),
            ("sbatch --dependency=a|b\u{1b}", "ab"),
            ("", ""),
        ] {
            assert_eq!(dependency(line), kept, "{line}");
        }
    }
}

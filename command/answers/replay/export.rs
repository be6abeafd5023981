//! Collects a trace on a live cluster: the commands that `--how` prints, each into its file.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use multifactor2_replay::trace::directory::{TraceFile, FILES};

use super::pseudonyms::Pseudonyms;
use crate::error::Error;
use crate::files;

/// The dates in the command that is printed.
const DATES: &str = "-S 2024-01-01 -E now";

/// Collects it in a directory, which must not be there yet or be empty. Returns what to do with it.
///
/// # Errors
/// The directory cannot be used, or there are no jobs: what the command said.
pub fn export(directory: &Path, start: &str, end: &str, anonymise: bool) -> Result<String, Error> {
    for (option, text) in [("--start", start), ("--end", end)] {
        let is_time = |character: char| character.is_ascii_alphanumeric() || ":-+/.".contains(character);
        if text.is_empty() || !text.chars().all(is_time) {
            return Err(format!(
                "{option} {text:?}: give a time as sacct takes it, such as 2024-01-31 or now-30days"
            )
            .into());
        }
    }
    let shown = directory.display();
    fs::create_dir_all(directory).map_err(|error| Error::of_output(directory, &error))?;
    let mut entries = fs::read_dir(directory).map_err(|error| Error::of_output(directory, &error))?;
    if entries.next().is_some() {
        return Err(Error::Output(format!(
            "{shown}: there is something in it already; give a new directory"
        )));
    }
    let mut pseudonyms = anonymise.then(Pseudonyms::default);
    let mut told = String::new();
    // The dump says the same as the table of associations, and needs the name of the cluster.
    let files = FILES.iter().filter(|file| !file.command.starts_with("sacctmgr dump"));
    for TraceFile { name, command, gives } in files {
        let command = command.replace(DATES, &format!("-S {start} -E {end}"));
        match collect(&command) {
            Ok(text) => {
                let text = match &mut pseudonyms {
                    Some(pseudonyms) => pseudonyms.of(name, &text),
                    None => text,
                };
                let path = directory.join(name);
                files::write(&path, text.as_bytes(), None)?;
                told.push_str(&[name, ": ", gives, "\n"].concat());
            }
            // Without jobs there is nothing to replay. Without the others it can be told what is missing.
            Err(why) if *name == FILES[0].name => return Err(Error::Source(format!("{command}: {why}"))),
            Err(why) => told.push_str(
                &[name, ": not there, so the replay goes without ", gives, ": ", &why.to_string(), "\n"]
                    .concat(),
            ),
        }
    }
    Ok(format!("{told}\nNow: multifactor2 replay {shown} --policy fair-tree --policy multifactor2\n"))
}

/// What a command prints.
fn collect(command: &str) -> Result<String, Error> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).env("LC_ALL", "C").env("TZ", "UTC");
    for (name, _) in std::env::vars_os() {
        let is_misleading = |name: &str| {
            ["SACCT_", "SACCTMGR_", "SCONTROL_", "SLURM_CLUSTERS"].iter().any(|of| name.starts_with(of))
        };
        if name.to_str().is_some_and(is_misleading) {
            shell.env_remove(&name);
        }
    }
    let output = shell.output().map_err(|error| Error::Source(error.to_string()))?;
    let said: Vec<String> =
        String::from_utf8_lossy(&output.stderr).lines().take(3).map(|line| line.trim().to_owned()).collect();
    if !output.status.success() {
        let said = if said.is_empty() { "it failed and said nothing".to_owned() } else { said.join("; ") };
        return Err(Error::Source(said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

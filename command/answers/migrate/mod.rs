//! `multifactor2 migrate`: translates a configuration of Maui, Moab, Grid Engine or stock Slurm into lines for multifactor2.conf and
//! slurm.conf and commands of sacctmgr, with a note for everything that has no counterpart. The lines match docs/coming-from.md, and the
//! reasons in notes are read from that page.
//!
//! [`maui`] reads maui.cfg and moab.cfg, [`grid_engine`] what `qconf` printed, [`slurm`] a slurm.conf of the stock plugin. All of them
//! write a [`draft`]. The input may be anything, and names in it may be hostile. The plugin can read every line that is written, and a
//! shell takes no name for a command.

mod accounts;
mod draft;
mod grid_engine;
mod maui;
mod page;
mod slurm;

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use multifactor2_core::settings::{Error, Errors, Place};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer as _, Ask, Bare};
use crate::input;
use crate::options::AsJson;
use crate::output::numbers::number;
use crate::output::{Printout, Schema, Terminal};
pub(super) use draft::quoted;
use draft::Draft;
pub use draft::{DraftLine, Note, Use};
pub use page::Why;
pub use slurm::FirstDay;

/// Our own scheduler, with its own plugin.
const SLURM: &str = "Slurm";

/// The most bytes that a file may have.
pub const MOST_BYTES: u64 = 4 << 20;

/// What the help says of the directory.
const HELP: &str = "\
FROM is a file of Maui or Moab, a slurm.conf with priority/multifactor, or a directory of qconf output from Grid Engine with:
  ssconf   qconf -ssconf
  sstree   qconf -sstree
  suser    for user in $(qconf -suserl); do qconf -suser \"$user\"; done
  sprj     for project in $(qconf -sprjl); do qconf -sprj \"$project\"; done
  su       for set in $(qconf -sul); do qconf -su \"$set\"; done
  sconf    qconf -sconf
One of them is enough, and FROM can be a single one. Parameters without a line are listed with the reason. Values that cannot be \
read are listed and left out. migrate changes nothing and asks no cluster.

Exit status: 0, or 1 if FROM cannot be read.

Examples:
  multifactor2 migrate maui.cfg
  multifactor2 migrate --moab site.cfg
  multifactor2 migrate qconf
  multifactor2 migrate new/slurm.conf --snapshot stock
  multifactor2 migrate maui.cfg --json";

/// Translate priority parameters of Maui, Moab, Grid Engine or priority/multifactor into lines for multifactor2.conf, slurm.conf and sacctmgr
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// maui.cfg, moab.cfg, slurm.conf, a file of qconf output, or a directory of such files
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// Read the file as Moab's; the default if its name begins with "moab"
    #[arg(long)]
    pub moab: bool,
    /// With a slurm.conf: a --save directory or snapshot of the present cluster, to show which users rise and fall on the first day
    #[arg(long, value_name = "PATH")]
    pub snapshot: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)] // it would be shown
    pub form: AsJson,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "lines for multifactor2.conf, slurm.conf and sacctmgr from maui.cfg, moab.cfg, a stock slurm.conf and what `qconf` prints \
         ([coming-from.md](coming-from.md))";
    const EXAMPLE: &'static str = "multifactor2 migrate maui.cfg";

    fn schemas() -> Vec<Schema> {
        vec![Schema::of::<Bare<MigrateAnswer>>(MigrateAnswer::NAME, MigrateAnswer::VERSION)]
    }

    fn ask(&self, _: Terminal) -> Result<Printout, crate::error::Error> {
        let mut answer = match run(self) {
            Ok(answer) => answer,
            Err(errors) => return Ok(Printout::failed(errors.to_string().lines())),
        };
        if let Some(path) = &self.snapshot {
            if answer.scheduler != SLURM {
                return Err("--snapshot: only for a slurm.conf, because other schedulers have other queues".into());
            }
            slurm::first_day(&mut answer, &input::read(path, None)?)?;
        }
        if self.form.json {
            return Printout::json(&Bare::new(answer));
        }
        Ok(Printout::text(answer.to_string()))
    }
}

/// What the configuration is here.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MigrateAnswer {
    /// `Maui`, `Moab`, `Grid Engine` or `Slurm`.
    pub scheduler: &'static str,
    /// Lines of multifactor2.conf.
    pub multifactor2_conf: Vec<DraftLine>,
    /// Lines of slurm.conf.
    pub slurm_conf: Vec<DraftLine>,
    /// Commands of sacctmgr.
    pub sacctmgr: Vec<DraftLine>,
    /// What has no line, and why.
    pub notes: Vec<Note>,
    /// From stock Slurm, if a snapshot was given: which users rise and fall.
    pub first_day: Option<FirstDay>,
}

/// Reads what `options` name and translates it.
///
/// # Errors
/// A file cannot be read. What is wrong in one is a note.
pub fn run(options: &Arguments) -> Result<MigrateAnswer, Errors> {
    let path = &options.from;
    let name = path.display().to_string();
    if fs::metadata(path).is_ok_and(|data| data.is_dir()) {
        let mut texts = Vec::new();
        for file in grid_engine::FILES {
            let path = path.join(file);
            // Not `exists`: a file that cannot be seen is an error.
            if fs::symlink_metadata(&path).is_ok() {
                texts.push((file, path.display().to_string(), read(&path)?));
            }
        }
        if texts.is_empty() {
            let allowed =
                format!("must be a directory with at least one of {}", grid_engine::FILES.join(", "));
            return Err(problem(
                &name,
                &name,
                allowed,
                "save there what qconf prints: see --help".into(),
            ));
        }
        return Ok(of_grid_engine(&texts));
    }
    // A file that cannot be read is said to below.
    if let Some(draft) = fs::metadata(path).is_ok_and(|data| data.is_file()).then(|| slurm::translate(path)).flatten() {
        return Ok(finished(SLURM, draft));
    }
    let is_moab =
        path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().starts_with("moab"));
    let text = read(path)?;
    if let Some(file) = grid_engine::file_of(&text).filter(|_| !options.moab) {
        return Ok(of_grid_engine(&[(file, name, text)]));
    }
    Ok(of_maui(&name, &text, options.moab || is_moab))
}

/// Translates the text of maui.cfg, or of moab.cfg. `name` stands for it in messages.
pub fn of_maui(name: &str, text: &str, is_moab: bool) -> MigrateAnswer {
    finished(if is_moab { "Moab" } else { "Maui" }, maui::translate(&Arc::from(name), text, is_moab))
}

/// Translates outputs of qconf: of each what it is called in the help, what messages call it, and its text.
pub fn of_grid_engine(texts: &[(&str, String, String)]) -> MigrateAnswer {
    finished("Grid Engine", grid_engine::translate(texts))
}

fn finished(scheduler: &'static str, mut draft: Draft) -> MigrateAnswer {
    MigrateAnswer {
        scheduler,
        multifactor2_conf: std::mem::take(&mut draft.ours.all),
        slurm_conf: draft.slurm_lines(),
        sacctmgr: draft.sacctmgr.all,
        notes: draft.notes,
        first_day: None,
    }
}

fn problem(source: &str, value: &str, allowed: impl Into<String>, advice: String) -> Errors {
    let place = Place { source: source.into(), line: None };
    let mut errors = Errors::default();
    errors.push(Error { place, key: String::new(), value: value.into(), allowed: allowed.into(), advice });
    errors
}

fn read(path: &Path) -> Result<String, Errors> {
    let name = path.display().to_string();
    let refused = |error: std::io::Error| {
        problem(&name, &name, "must be a file that you can read", format!("check it: {error}"))
    };
    // A FIFO would block, a device never end.
    if !fs::metadata(path).map_err(refused)?.is_file() {
        return Err(problem(&name, &name, "must be a regular file", "name a file".into()));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(refused)?;
    if bytes.len() as u64 > MOST_BYTES {
        let allowed = "a file can have at most 4 MiB";
        return Err(problem(&name, &name, allowed, "check that this is the right file".into()));
    }
    // Old files are often in Latin-1. What is not UTF-8 becomes U+FFFD, and stays in comments mostly.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl super::Answer for MigrateAnswer {
    const NAME: &'static str = "migrate";
    const VERSION: u32 = 2;
}

impl MigrateAnswer {
    /// The lines of multifactor2.conf alone, as they can be read.
    pub fn settings(&self) -> String {
        let lines = self.multifactor2_conf.iter().filter(|line| line.how == Use::Take);
        lines.map(|line| line.text.clone() + "\n").collect()
    }
}

impl fmt::Display for MigrateAnswer {
    /// Lines for two files, with comments, notes, and commands, which are last. Whatever a name is, it does nothing where they are pasted.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let part = |f: &mut fmt::Formatter, title: &str, lines: &[DraftLine], is_shell: bool| {
            writeln!(f, "# {title}")?;
            if lines.is_empty() {
                writeln!(f, "# nothing")?;
            }
            let mut above: &[String] = &[];
            for line in lines {
                // Lines that came of the same need it once.
                let from = if line.from == above { &[] } else { line.from.as_slice() };
                above = &line.from;
                for from in from.iter().filter(|_| !is_shell) {
                    writeln!(f, "# {}", comment(from))?;
                }
                if !line.remark.is_empty() {
                    let remark = if is_shell { harmless(&line.remark) } else { comment(&line.remark) };
                    writeln!(f, "# {remark}")?;
                }
                match line.how {
                    Use::Take => writeln!(f, "{}", line.text)?,
                    Use::Instead => writeln!(f, "# or: {}", line.text)?,
                    Use::AddTo => writeln!(f, "# add to the existing line: {}", comment(&line.text))?,
                }
            }
            writeln!(f)
        };
        part(f, "multifactor2.conf", &self.multifactor2_conf, false)?;
        part(f, "slurm.conf", &self.slurm_conf, false)?;
        writeln!(f, "# without a line")?;
        let of = |why| self.notes.iter().filter(move |note| note.why == why);
        for (why, title) in [
            (Why::Unreadable, "left out because it cannot be read"),
            (Why::ByHand, "to be done by hand"),
            (Why::Impossible, "a priority plugin cannot do it"),
            (Why::NotYet, "not built yet"),
            (Why::Nothing, "nothing to write"),
            (Why::Unknown, "unknown: not about priorities, or misspelt"),
        ] {
            if of(why).next().is_some() {
                writeln!(f, "# {title}:")?;
            }
            for note in of(why) {
                let remark = if why == Why::Unknown { "" } else { note.remark.as_str() };
                let end = if remark.is_empty() { "" } else { ": " };
                writeln!(f, "#   {}{end}{}", comment(&note.from), comment(remark))?;
            }
        }
        writeln!(f)?;
        if let Some(day) = &self.first_day {
            writeln!(f, "# the first day, from the snapshot")?;
            writeln!(f, "PriorityWeightFairshare={}", day.weight)?;
            let moved = day.moved.map_or_else(|| "not known".to_owned(), |moved| moved.to_string());
            let tau = day.tau.map_or_else(|| "not known".to_owned(), number);
            writeln!(f, "#   places of {} that move: {moved}; Kendall's tau of both orders: {tau}", day.jobs)?;
            for (users, verb) in [(&day.rise, "rises"), (&day.fall, "falls")] {
                for user in users {
                    let (mean, jobs) = (number(user.mean.abs()), user.places);
                    writeln!(f, "#   {} {verb} by {mean} places on average, of {jobs} jobs", comment(&user.name))?;
                }
            }
            for remark in &day.remarks {
                writeln!(f, "#   {}", comment(remark))?;
            }
            writeln!(f)?;
        }
        part(f, "commands for an administrator of accounts", &self.sacctmgr, true)
    }
}

/// A text as a comment: on one line, and without a backslash at its end, which would continue it.
fn comment(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|letter| {
            if crate::output::escape::is_treacherous(letter) {
                letter.escape_unicode().to_string()
            } else {
                letter.to_string()
            }
        })
        .collect();
    if shown.ends_with('\\') {
        shown.push('.');
    }
    shown
}

/// A text as a comment among commands. Some shells have no comments at their prompt: nothing in it may mean something to one.
pub(super) fn harmless(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || " _.,:+/=@%-".contains(letter);
    text.chars().filter(|letter| plain(*letter)).collect()
}

//! Loads settings, and keeps the last good ones.

use super::files;
use super::report::{Errors, Warning};
use super::schema::Checker;
use super::table::{Settings, SETTINGS};
use super::text;
use super::together::check_together;
use std::path::Path;

/// How messages name `PriorityParameters=` of slurm.conf.
pub const PARAMETERS: &str = "PriorityParameters";

/// Good settings, as they are used and as they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What holds.
    pub settings: Settings,
    /// The merged result in the syntax of the file, one setting a line, each with its place in a comment.
    pub written: String,
    /// What is odd.
    pub warnings: Vec<Warning>,
    /// Whether there is a file, and something in it.
    pub file: FileFound,
}

/// What there is of a configuration file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileFound {
    /// No such file.
    #[default]
    Missing,
    /// It has no setting, and includes none.
    Empty,
    /// It has settings.
    Used,
}

impl Settings {
    /// Reads the value of `PriorityParameters=`, then `file` where it exists; the file wins.
    ///
    /// # Errors
    /// Everything wrong with both, and with what the file includes. A file that is there but unreadable is an error.
    pub fn load(priority_parameters: Option<&str>, file: &Path) -> Result<Loaded, Errors> {
        let mut checker = Checker::new(SETTINGS);
        let parameters = text::parse_list(priority_parameters.unwrap_or_default(), PARAMETERS);
        parameters.statements.into_iter().for_each(|statement| checker.take(statement));
        let (mut errors, mut found) = (parameters.errors, FileFound::Empty);
        let is_there = files::read_each(file, &mut errors, &mut |statement| {
            found = FileFound::Used;
            checker.take(statement);
        });
        if !is_there {
            found = FileFound::Missing;
        }
        Settings::from_checker(checker, errors, found)
    }

    /// Reads a configuration text without touching a file; `name` stands for it in messages.
    ///
    /// # Errors
    /// Everything wrong with the text; an `Include` too.
    pub fn parse(text: &str, name: &str) -> Result<Loaded, Errors> {
        let (mut checker, mut errors) = (Checker::new(SETTINGS), Errors::default());
        text::parse_each(text, name, &mut errors, &mut |statement| checker.take(statement));
        Settings::from_checker(checker, errors, FileFound::Missing)
    }

    /// `syntax` are the errors of what the checker could not take.
    fn from_checker(checker: Checker, syntax: Errors, file: FileFound) -> Result<Loaded, Errors> {
        let (entries, mut warnings) = checker.finish(syntax)?;
        let settings = Settings::from(&entries);
        let (errors, odd) = check_together(&entries, &settings);
        if !errors.is_empty() {
            return Err(errors);
        }
        warnings.extend(odd);
        Ok(Loaded { settings, written: entries.to_string(), warnings, file })
    }
}

/// What becomes of a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The new settings hold.
    Fresh(Loaded),
    /// The new ones are bad: the last good settings, given here, go on.
    Kept(Settings, Errors),
    /// The new ones are bad and there never were good ones: the daemon must not start.
    Refused(Errors),
}

/// Remembers the last good settings, over any number of init and fini.
///
/// A daemon that has once had good settings must survive when they become bad: from 23.11 on every reconfigure is a start, and refusing it
/// would end the controller. [`SettingsKeeper::remember`] takes the settings of an earlier process.
#[derive(Debug, Default)]
pub struct SettingsKeeper {
    good: Option<Settings>,
}

impl SettingsKeeper {
    /// A process that has not loaded anything yet.
    pub const fn new() -> Self {
        SettingsKeeper { good: None }
    }

    /// The last good settings.
    pub fn current(&self) -> Option<&Settings> {
        self.good.as_ref()
    }

    /// Takes over the last good settings of an earlier process.
    pub fn remember(&mut self, good: Settings) {
        self.good = Some(good);
    }

    /// Decides what becomes of a load, and remembers the settings if they are good.
    pub fn reload(&mut self, loaded: Result<Loaded, Errors>) -> Outcome {
        match (loaded, &self.good) {
            (Ok(loaded), _) => {
                self.good = Some(loaded.settings.clone());
                Outcome::Fresh(loaded)
            }
            (Err(errors), Some(good)) => Outcome::Kept(good.clone(), errors),
            (Err(errors), None) => Outcome::Refused(errors),
        }
    }
}

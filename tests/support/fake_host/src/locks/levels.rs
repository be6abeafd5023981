//! The names of the locks, and how they are held.

use std::fmt;

use crate::fail;

/// Names of the locks, in slurmctld's order: its own, the association manager's, and what is taken last. "texts" is the mutex under
/// which slurmctld replaces the texts of its configuration.
pub const NAMES: [&str; 15] = [
    "conf",
    "job",
    "node",
    "part",
    "fed",
    "select",
    "assoc",
    "file",
    "qos",
    "res",
    "tres",
    "user",
    "wckey",
    "state files",
    "texts",
];

pub(super) const COUNT: usize = NAMES.len();

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Not at all.
    #[default]
    None,
    /// With others.
    Read,
    /// Alone.
    Write,
}

impl Level {
    pub(super) fn of(number: u32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Read,
            2 => Self::Write,
            other => fail(&format!("lock level {other}: there are 0, 1 and 2")),
        }
    }

    pub(super) fn letter(self) -> &'static str {
        ["-", "r", "w"][self as usize]
    }
}

/// Some locks and how they are held or asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels(pub(super) [Level; COUNT]);

impl Levels {
    /// From words such as `job:w node:r qos:r`, as they are written by `Display`.
    ///
    /// # Panics
    /// Where that is no lock or no level.
    pub fn parse(text: &str) -> Self {
        let mut levels = Self::default();
        for word in text.split_whitespace() {
            let (name, level) =
                word.split_once(':').unwrap_or_else(|| panic!("'{word}' is no lock and level"));
            let at =
                NAMES.iter().position(|known| *known == name).unwrap_or_else(|| panic!("no lock '{name}'"));
            levels.0[at] = match level {
                "r" => Level::Read,
                "w" => Level::Write,
                other => panic!("'{other}' is no level"),
            };
        }
        levels
    }

    /// The level of one lock.
    ///
    /// # Panics
    /// For a name that no lock has.
    pub fn of(&self, name: &str) -> Level {
        self.0[NAMES.iter().position(|known| *known == name).expect("the name of a lock")]
    }

    pub(super) fn each(self) -> impl Iterator<Item = (usize, Level)> {
        self.0.into_iter().enumerate().filter(|(_, level)| *level != Level::None)
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.each().map(|(at, level)| format!("{}:{}", NAMES[at], level.letter())).collect();
        f.write_str(&words.join(" "))
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

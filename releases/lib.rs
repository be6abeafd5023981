//! Which releases of Slurm there are, how one is told, and what the plugin needs of it.
//!
//! The plugin asks the process that it is in, and the command the files of a Slurm that does not run; both decide by the same rules.

pub mod choice;
pub mod symbols;

use std::fmt;

pub use choice::{
    choose, newest, Choice, Evidence, Landmark, Mismatch, Stranger, ACCEPTED, LANDMARKS, MAJORS,
};

/// The releases that share a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// `SLURM_VERSION_NUMBER` of the first release with this layout.
    pub first: u32,
    /// The newest release whose headers were compared with the table.
    pub verified: u32,
    /// The number of the release candidate whose layout this is, where the release itself is not known yet.
    pub candidate: Option<u8>,
}

impl Group {
    /// The first release, or its candidate, as Slurm calls itself: `26.11.0-0rc1`.
    pub fn name(self) -> String {
        named(Release(self.first), self.candidate)
    }
}

/// A release, or one of its candidates, as Slurm calls itself.
pub fn named(release: Release, candidate: Option<u8>) -> String {
    candidate.map_or_else(|| release.to_string(), |number| format!("{release}-0rc{number}"))
}

/// Writes a `SLURM_VERSION_NUMBER` the way Slurm does, for example `24.11.5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u32);

impl Release {
    /// A release by its parts.
    pub const fn new(year: u32, month: u32, micro: u32) -> Self {
        Self(year << 16 | month << 8 | micro)
    }

    /// Year and month without the micro release.
    pub const fn major(self) -> u32 {
        self.0 >> 8
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}.{:02}.{}", self.0 >> 16, self.0 >> 8 & 0xff, self.0 & 0xff)
    }
}

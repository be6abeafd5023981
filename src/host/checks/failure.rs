//! Every way into the passive state, and every refusal that a self-check makes in init: one enumeration, with what can cause
//! each.
//!
//! No check rests on what somebody can write through Slurm: letters of names, comments, keys, amounts. So no user, coordinator or
//! operator is among the causes, and the type has none: a new check has to name its causes.

use std::fmt;

use crate::host::layout::Release;
use crate::host::Host;

/// What can cause a failure. Nothing that is done through Slurm's commands or protocol can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Slurm was built from other sources than the release's, or is a release that this build does not know.
    Build,
    /// Something has overwritten memory in slurmctld.
    Memory,
    /// A connection to slurmdbd that comes back and breaks off again, twice at the moment of a calculation, before any job was seen
    /// with a good pointer.
    Connection,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Build => "a Slurm built from other sources",
            Self::Memory => "overwritten memory in slurmctld",
            Self::Connection => "a connection to slurmdbd that keeps breaking off",
        })
    }
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// `slurm_conf` has another size, by the symbol table.
    Configuration {
        /// Bytes that it has.
        found: usize,
        /// Bytes that the layout says.
        expected: usize,
    },
    /// `slurm_conf.priority_type` is not the plugin that slurmctld has loaded.
    PluginType,
    /// The root association is not called root, which nobody can change.
    RootName,
    /// A pointer does not lead to a block of Slurm's allocator.
    NoBlock(&'static str),
    /// A record has another size.
    Size {
        /// Which record.
        what: &'static str,
        /// Bytes that it has.
        found: usize,
        /// Bytes that the layout says.
        expected: usize,
    },
    /// A record does not begin with its number.
    Magic {
        /// Which record.
        what: &'static str,
        /// What it begins with.
        found: u32,
        /// The number in Slurm's headers.
        expected: u32,
    },
    /// `find_job_record` has another job for the id of one in the list.
    NotById,
    /// No text ends in the block that a pointer to one leads to.
    NoText(&'static str),
    /// A pointer to a list does not lead to one.
    NoList(&'static str),
    /// A pointer to an array leads to a smaller block.
    NoArray(&'static str, usize),
    /// Several jobs have something that cannot be, and none has it right.
    NoneRight(&'static str),
    /// Ids of most records of a list are 0 or the same.
    Ids(&'static str),
    /// No association has a parent.
    NoParents,
    /// The parent of an association is not in the list of associations.
    StrangeParent,
    /// slurmctld has answered a question about a record of the plugin's own otherwise than the layout says.
    Answer(String),
    /// slurmctld tells its clients another value of a live record than the one that is where the layout says.
    Told(String),
}

impl Found {
    /// What can cause it.
    pub fn causes(&self) -> &'static [Cause] {
        match self {
            Self::Configuration { .. } | Self::PluginType | Self::Answer(_) | Self::Told(_) => {
                &[Cause::Build]
            }
            Self::NoneRight(_) => &[Cause::Build, Cause::Connection],
            Self::RootName
            | Self::NoBlock(_)
            | Self::Size { .. }
            | Self::Magic { .. }
            | Self::NotById
            | Self::NoText(_)
            | Self::NoList(_)
            | Self::NoArray(..)
            | Self::Ids(_)
            | Self::NoParents
            | Self::StrangeParent => &[Cause::Build, Cause::Memory],
        }
    }

    /// Whether it says something of slurmctld as a whole; else of one record, of which several must fail.
    pub fn is_general(&self) -> bool {
        match self {
            Self::Configuration { .. }
            | Self::PluginType
            | Self::RootName
            | Self::NoneRight(_)
            | Self::Ids(_)
            | Self::NoParents
            | Self::Answer(_) => true,
            Self::NoBlock(_)
            | Self::Size { .. }
            | Self::Magic { .. }
            | Self::NotById
            | Self::NoText(_)
            | Self::NoList(_)
            | Self::NoArray(..)
            | Self::StrangeParent
            | Self::Told(_) => false,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration { found, expected } => {
                write!(f, "slurm_conf has {found} bytes, {expected} expected")
            }
            Self::PluginType => {
                f.write_str("slurm_conf.priority_type does not read back as priority/multifactor2")
            }
            Self::RootName => f.write_str("the root association is not called root"),
            Self::NoBlock(what) => write!(f, "{what} is not a block that Slurm allocated"),
            Self::Size { what, found, expected } => {
                write!(f, "{what} has {found} bytes, {expected} expected")
            }
            Self::Magic { what, found, expected } => {
                write!(f, "{what} begins with {found:#x}, {expected:#x} expected")
            }
            Self::NotById => f.write_str("a job is not found by its id"),
            Self::NoText(what) => write!(f, "{what} is not a string"),
            Self::NoList(what) => write!(f, "{what} are not in a list"),
            Self::NoArray(what, 0) => write!(f, "{what} are not in an array"),
            Self::NoArray(what, count) => write!(f, "{what} are not in an array of {count}"),
            Self::NoneRight(what) => write!(f, "no job has {what} that can be valid"),
            Self::Ids(what) => write!(f, "most {what} have an impossible id"),
            Self::NoParents => f.write_str("no association has a parent"),
            Self::StrangeParent => f.write_str("an association's parent is not one of the associations"),
            Self::Answer(what) | Self::Told(what) => f.write_str(what),
        }
    }
}

impl From<String> for Found {
    fn from(what: String) -> Self {
        Self::Answer(what)
    }
}

/// Something that does not look as the layout says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The release that runs.
    release: Release,
    /// The first release of the layout that was chosen for it.
    layout: Release,
    /// The layout was compared with the headers of that release.
    verified: bool,
    /// Which check failed, and what was found.
    pub found: Found,
    /// How many records of a list have failed in this way.
    pub records: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release, layout, found, .. } = self;
        write!(
            f,
            "this slurmctld does not match the layout of Slurm {layout} chosen for release {release}: {found}. "
        )?;
        if self.verified {
            f.write_str(
                "It was probably built from patched sources. Build this plugin with SLURM_SRC=/path/to/those/sources, or set \
                 PriorityType=priority/multifactor",
            )
        } else {
            write!(
                f,
                "This build does not know Slurm {release}. Look for a newer slurm-multifactor2, build this one with \
                 SLURM_SRC=/path/to/slurm-{release}, or set PriorityType=priority/multifactor"
            )
        }
    }
}

/// What was found in `host`, in one record.
pub(super) fn failure(host: &Host, found: impl Into<Found>) -> Failure {
    Failure {
        release: host.release,
        layout: Release(host.layout.group.first),
        verified: host.verified,
        found: found.into(),
        records: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each variant, with the name that docs/safety.md has for it.
    fn all() -> Vec<(&'static str, Found)> {
        let what = "a record";
        let all = [
            Found::Configuration { found: 1, expected: 2 },
            Found::PluginType,
            Found::RootName,
            Found::NoBlock(what),
            Found::Size { what, found: 1, expected: 2 },
            Found::Magic { what, found: 1, expected: 2 },
            Found::NotById,
            Found::NoText(what),
            Found::NoList(what),
            Found::NoArray(what, 3),
            Found::NoneRight(what),
            Found::Ids(what),
            Found::NoParents,
            Found::StrangeParent,
            Found::Answer(what.to_owned()),
            Found::Told(what.to_owned()),
        ];
        let name = |found: &Found| match found {
            Found::Configuration { .. } => "Configuration",
            Found::PluginType => "PluginType",
            Found::RootName => "RootName",
            Found::NoBlock(_) => "NoBlock",
            Found::Size { .. } => "Size",
            Found::Magic { .. } => "Magic",
            Found::NotById => "NotById",
            Found::NoText(_) => "NoText",
            Found::NoList(_) => "NoList",
            Found::NoArray(..) => "NoArray",
            Found::NoneRight(_) => "NoneRight",
            Found::Ids(_) => "Ids",
            Found::NoParents => "NoParents",
            Found::StrangeParent => "StrangeParent",
            Found::Answer(_) => "Answer",
            Found::Told(_) => "Told",
        };
        all.into_iter().map(|found| (name(&found), found)).collect()
    }

    #[test]
    fn the_page_lists_every_way_into_the_passive_state_with_who_can_bring_it_about() {
        let page = include_str!("../../../docs/safety.md");
        let rows: Vec<(&str, &str)> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
            .filter(|(name, _)| all().iter().any(|(known, _)| known == name))
            .collect();
        let expected: Vec<&str> = all().iter().map(|(name, _)| *name).collect();
        assert_eq!(rows.iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
        for ((name, rest), (_, found)) in rows.into_iter().zip(all()) {
            let causes: Vec<String> = found.causes().iter().map(ToString::to_string).collect();
            assert!(rest.contains(&format!("| {} |", causes.join("; "))), "{name}: {causes:?} in {rest}");
        }
    }
}

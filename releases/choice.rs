//! Which release something is, by all that it shows of it.

use std::ffi::CStr;
use std::fmt;

use crate::symbols::{V23_02, V23_11_6, V24_05};
use crate::{Group, Release};

/// What the process shows of its release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// `plugin_version` of a plugin of the host.
    pub plugin_version: Option<Release>,
    /// `slurm_api_version()`, whose upper half counts major releases.
    pub api_version: u32,
    /// Functions that came or went with a release: name, first or first-without, whether new, whether found. Empty outside
    /// slurmctld, where a program may have no more of Slurm than it uses.
    pub landmarks: Vec<Landmark>,
    /// The name of a program that has names of slurmctld's and is not slurmctld.
    pub stranger: Option<String>,
}

/// A function whose presence tells releases apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landmark {
    /// Its name.
    pub name: &'static str,
    /// The release that added or dropped it.
    pub release: Release,
    /// True where that release added it.
    pub added: bool,
    /// True where the process has it.
    pub found: bool,
}

/// `API_CURRENT` of 20.11, the first supported release; it grows by one with every major release.
const FIRST_API: u32 = 36;
/// The major releases in order.
pub const MAJORS: [Release; 10] = [
    Release::new(20, 11, 0),
    Release::new(21, 8, 0),
    Release::new(22, 5, 0),
    Release::new(23, 2, 0),
    Release::new(23, 11, 0),
    Release::new(24, 5, 0),
    Release::new(24, 11, 0),
    Release::new(25, 5, 0),
    Release::new(25, 11, 0),
    Release::new(26, 5, 0),
];

/// Functions that came or went with a release: name, that release, true where it added them.
pub const LANDMARKS: [(&CStr, Release, bool); 5] = [
    (c"priority_g_recover", V23_02, true),
    (c"priority_g_thread_start", V23_11_6, true),
    (c"priority_g_calc_fs_factor", Release::new(25, 11, 0), false),
    (c"part_list_to_xstr", V24_05, true),
    (c"threadpool_create", Release::new(26, 5, 0), true),
];

impl Evidence {
    /// What a Slurm that does not run shows: the version of its plugins, and where there is a slurmctld which functions
    /// its files have. Its API number is in none of them; it is taken to be the right one.
    pub fn of_files(plugin_version: Release, slurmctld: Option<&dyn Fn(&str) -> bool>) -> Self {
        let at = MAJORS.iter().position(|major| major.major() == plugin_version.major());
        let api_version = at.and_then(|at| u32::try_from(at).ok()).map_or(0, |at| (FIRST_API + at) << 16);
        Self {
            plugin_version: Some(plugin_version),
            api_version,
            landmarks: slurmctld.map_or_else(Vec::new, |has| landmarks(|name| name.to_str().is_ok_and(has))),
            stranger: None,
        }
    }
}

/// What is there of [`LANDMARKS`].
pub fn landmarks(found: impl Fn(&CStr) -> bool) -> Vec<Landmark> {
    LANDMARKS
        .iter()
        .map(|(name, release, added)| Landmark {
            name: name.to_str().unwrap_or(""),
            release: *release,
            added: *added,
            found: found(name),
        })
        .collect()
}

/// Releases with one layout that fit, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The release.
    pub release: Release,
    /// Those that it is one of.
    pub group: Group,
    /// False for a micro release newer than the headers that the table was compared with.
    pub verified: bool,
}

/// Why no layout fits. Its text says what was found, what is supported and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The process does not tell its release.
    Unknown {
        /// `slurm_api_version()`
        api_version: u32,
    },
    /// A major release that no table describes.
    Unsupported(Release),
    /// The release claims one thing, the process shows another.
    Contradiction {
        /// The release claimed.
        release: Release,
        /// What contradicts it.
        evidence: String,
        /// The program, where that is not slurmctld.
        stranger: Option<String>,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let supported = format!("this file supports 20.11 to {}", newest_series());
        match self {
            Self::Unknown { api_version } => write!(
                f,
                "cannot tell the running Slurm release (API {}): no plugin of the host is loaded and none lies beside \
                 libslurmfull.so; {supported}. Install Slurm's own plugins, or see PluginDir in slurm.conf",
                api_version >> 16
            ),
            Self::Unsupported(release) => write!(
                f,
                "Slurm {release} is not supported; {supported}. Install a newer slurm-multifactor2, or build one for it \
                 with SLURM_SRC=/path/to/slurm-{release}, or set PriorityType=priority/multifactor"
            ),
            Self::Contradiction { release, evidence, stranger: None } => write!(
                f,
                "the process says Slurm {release}, but {evidence}; {supported}. PluginDir in slurm.conf probably mixes \
                 two Slurm installations: let it name the running one's directory"
            ),
            Self::Contradiction { release, evidence, stranger: Some(program) } => {
                write!(f, "the process says Slurm {release}, but {evidence}. {}", Stranger(program))
            }
        }
    }
}

/// What to do about a program that looks like slurmctld, and is another.
#[derive(Debug)]
pub struct Stranger<'a>(pub &'a str);

impl fmt::Display for Stranger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} has names of slurmctld's, but is another program; priority/multifactor2 works in slurmctld and sshare only. \
             Give this program a slurm.conf with PriorityType=priority/multifactor",
            self.0
        )
    }
}

fn newest_series() -> String {
    let newest = MAJORS[MAJORS.len() - 1];
    format!("{:02}.{:02}", newest.0 >> 16, newest.0 >> 8 & 0xff)
}

/// Chooses among groups of releases, oldest first, for what is shown. Pure: every case has a test.
///
/// # Errors
/// Why none fits.
pub fn choose(evidence: &Evidence, groups: &[Group]) -> Result<Choice, Mismatch> {
    let by_api = (evidence.api_version >> 16)
        .checked_sub(FIRST_API)
        .and_then(|at| MAJORS.get(usize::try_from(at).ok()?).copied());
    let Some(release) = evidence.plugin_version else {
        return Err(Mismatch::Unknown { api_version: evidence.api_version });
    };
    if !MAJORS.iter().any(|known| known.major() == release.major()) {
        return Err(Mismatch::Unsupported(release));
    }
    let contradiction =
        |what| Err(Mismatch::Contradiction { release, evidence: what, stranger: evidence.stranger.clone() });
    if by_api.map(Release::major) != Some(release.major()) {
        return contradiction(format!("its library has API {}", evidence.api_version >> 16));
    }
    for landmark in &evidence.landmarks {
        let expected = (release >= landmark.release) == landmark.added;
        if expected != landmark.found {
            let has = if landmark.found { "has" } else { "lacks" };
            return contradiction(format!("it {has} {}", landmark.name));
        }
    }
    let group =
        groups.iter().rev().find(|group| group.first <= release.0).ok_or(Mismatch::Unsupported(release))?;
    Ok(Choice { release, group: *group, verified: release.0 <= group.verified })
}

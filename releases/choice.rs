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
    /// The number of the release candidate that Slurm calls itself. It is in no number, so it is looked for only where the
    /// table has a candidate's layout for the release.
    pub candidate: Option<u8>,
    /// Which candidate may be served, as [`ACCEPTED`] has it.
    pub accepted: Option<String>,
}

/// The variable of slurmctld's environment that names a release candidate, such as `26.11.0-0rc1`, which may be served
/// though its layout is provisional.
pub const ACCEPTED: &str = "MULTIFACTOR2_CANDIDATE";

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
pub const MAJORS: [Release; 11] = [
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
    Release::new(26, 11, 0),
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
            ..Self::default()
        }
    }
}

/// Whether a file, slurmctld or libslurmfull, has a name of a candidate as a text. What Slurm calls itself is in both.
pub fn names_candidate(file: &[u8], name: &str) -> bool {
    let text = format!("{name}\0");
    file.windows(text.len()).any(|bytes| bytes == text.as_bytes())
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
        /// The newest release that is supported.
        newest: Release,
    },
    /// A major release that no table describes.
    Unsupported {
        /// The release.
        release: Release,
        /// The newest release that is supported.
        newest: Release,
    },
    /// A release of which only the layout of a candidate is known.
    Provisional {
        /// The release.
        release: Release,
        /// The candidate that runs, as it calls itself, where it is the one that is known.
        runs: Option<String>,
        /// The candidate that is known.
        known: String,
        /// The newest release that is supported.
        newest: Release,
    },
    /// The release claims one thing, the process shows another.
    Contradiction {
        /// The release claimed.
        release: Release,
        /// What contradicts it.
        evidence: String,
        /// The program, where that is not slurmctld.
        stranger: Option<String>,
        /// The newest release that is supported.
        newest: Release,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { api_version, newest } => write!(
                f,
                "cannot tell which Slurm release is running (API {}): none of Slurm's own plugins is loaded, and \
                 none is next to libslurmfull.so; {}. Install Slurm's own plugins, or check PluginDir in \
                 slurm.conf",
                api_version >> 16,
                Supported(*newest)
            ),
            Self::Unsupported { release, newest } => write!(
                f,
                "Slurm {release} is not supported; {}. Install a newer slurm-multifactor2, or build one for it \
                 with SLURM_SRC=/path/to/slurm-{release}, or set PriorityType=priority/multifactor",
                Supported(*newest)
            ),
            Self::Provisional { release, runs: None, known, newest } => write!(
                f,
                "Slurm {release} is not supported; slurm-multifactor2 {VERSION} knows only its release candidate \
                 {known}, and {}. Install a slurm-multifactor2 newer than {VERSION}, or build one for it with \
                 SLURM_SRC=/path/to/slurm-{release}, or set PriorityType=priority/multifactor",
                Supported(*newest)
            ),
            Self::Provisional { runs: Some(runs), newest, .. } => write!(
                f,
                "Slurm {runs} is a release candidate, whose records may still change; {}. A slurm-multifactor2 newer than \
                 {VERSION} will support the release. Set PriorityType=priority/multifactor, or on a test system start \
                 slurmctld with {ACCEPTED}={runs} in its environment",
                Supported(*newest)
            ),
            Self::Contradiction { release, evidence, stranger: None, newest } => write!(
                f,
                "the process says that it is Slurm {release}, but {evidence}; {}. PluginDir in slurm.conf probably \
                 mixes two Slurm installations: set it to the directory of the running one",
                Supported(*newest)
            ),
            Self::Contradiction { release, evidence, stranger: Some(program), .. } => {
                write!(f, "the process says that it is Slurm {release}, but {evidence}. {}", Stranger(program))
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
            "{} has symbols of slurmctld, but is another program; priority/multifactor2 works only in slurmctld \
             and sshare. Give this program a slurm.conf with PriorityType=priority/multifactor",
            self.0
        )
    }
}

/// This version of the plugin, and of the command.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The series that are supported, by the newest release that is.
struct Supported(Release);

impl fmt::Display for Supported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Release(newest) = self.0;
        write!(f, "this file supports 20.11 to {:02}.{:02}", newest >> 16, newest >> 8 & 0xff)
    }
}

/// The newest release of the table, without what is known of candidates.
pub fn newest(groups: &[Group]) -> Release {
    let released = groups.iter().rev().find(|group| group.candidate.is_none());
    released.map_or(Release(0), |group| Release(group.verified))
}

/// Chooses among groups of releases, oldest first, for what is shown. Pure: every case has a test.
///
/// # Errors
/// Why none fits.
pub fn choose(evidence: &Evidence, groups: &[Group]) -> Result<Choice, Mismatch> {
    let newest = newest(groups);
    let by_api = (evidence.api_version >> 16)
        .checked_sub(FIRST_API)
        .and_then(|at| MAJORS.get(usize::try_from(at).ok()?).copied());
    let Some(release) = evidence.plugin_version else {
        return Err(Mismatch::Unknown { api_version: evidence.api_version, newest });
    };
    if !MAJORS.iter().any(|known| known.major() == release.major()) {
        return Err(Mismatch::Unsupported { release, newest });
    }
    let contradiction = |what| {
        let stranger = evidence.stranger.clone();
        Err(Mismatch::Contradiction { release, evidence: what, stranger, newest })
    };
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
    let group = groups.iter().rev().find(|group| group.first <= release.0);
    let group = group.ok_or(Mismatch::Unsupported { release, newest })?;
    if group.candidate.is_some() && !may_be_served(evidence, *group) {
        let known = group.name();
        let runs = (evidence.candidate == group.candidate).then(|| known.clone());
        return Err(Mismatch::Provisional { release, runs, known, newest });
    }
    Ok(Choice { release, group: *group, verified: release.0 <= group.verified })
}

/// Whether a candidate's layout is the running one, and the administrator has asked for it. Outside slurmctld nothing is read.
fn may_be_served(evidence: &Evidence, candidate: Group) -> bool {
    let is_it = evidence.candidate == candidate.candidate;
    evidence.landmarks.is_empty() || is_it && evidence.accepted.as_ref() == Some(&candidate.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series with a release, and one with a candidate.
    const GROUPS: [Group; 2] = [
        Group { first: Release::new(26, 5, 0).0, verified: Release::new(26, 5, 3).0, candidate: None },
        Group { first: Release::new(26, 11, 0).0, verified: Release::new(26, 11, 0).0, candidate: Some(2) },
    ];

    /// A slurmctld of 26.11 that is this candidate, with this in its environment.
    fn slurmctld(micro: u32, candidate: Option<u8>, accepted: &str) -> Evidence {
        let release = Release::new(26, 11, micro);
        let has = |name: &str| name != "priority_g_calc_fs_factor";
        let accepted = Some(accepted.to_owned());
        Evidence { candidate, accepted, ..Evidence::of_files(release, Some(&has)) }
    }

    fn refusal(evidence: &Evidence) -> String {
        choose(evidence, &GROUPS).unwrap_err().to_string()
    }

    #[test]
    fn a_candidate_is_served_where_slurmctld_is_that_one_and_its_environment_names_it() {
        let found = choose(&slurmctld(0, Some(2), "26.11.0-0rc2"), &GROUPS).unwrap();
        assert_eq!((found.group, found.verified), (GROUPS[1], true));
    }

    #[test]
    fn the_candidate_is_refused_unless_its_own_name_is_in_the_environment() {
        for accepted in ["", "1", "26.11.0", "26.11.0-0rc1", "26.11.0-0rc22"] {
            let text = refusal(&slurmctld(0, Some(2), accepted));
            assert!(text.starts_with("Slurm 26.11.0-0rc2 is a release candidate"), "{accepted}: {text}");
            assert!(text.contains("MULTIFACTOR2_CANDIDATE=26.11.0-0rc2"), "{text}");
            assert!(text.contains(&format!("newer than {VERSION} will support the release")), "{text}");
            assert!(text.contains("20.11 to 26.05") && text.contains("priority/multifactor,"), "{text}");
        }
    }

    /// What was put into the environment for the candidate does not let the release start, nor another candidate.
    #[test]
    fn the_release_is_refused_whatever_the_environment_says() {
        for (micro, candidate) in [(0, None), (0, Some(1)), (0, Some(3)), (1, None)] {
            let text = refusal(&slurmctld(micro, candidate, "26.11.0-0rc2"));
            assert!(text.starts_with(&format!("Slurm 26.11.{micro} is not supported")), "{text}");
            assert!(text.contains("knows only its release candidate 26.11.0-0rc2"), "{text}");
            assert!(text.contains(&format!("Install a slurm-multifactor2 newer than {VERSION}")), "{text}");
            assert!(!text.contains("MULTIFACTOR2_CANDIDATE"), "{text}");
        }
    }

    #[test]
    fn sshare_of_a_candidate_loads_it_as_nothing_is_read_there() {
        assert!(choose(&Evidence::of_files(Release::new(26, 11, 0), None), &GROUPS).is_ok());
    }

    #[test]
    fn a_candidate_is_known_by_its_whole_name() {
        for (file, expected) in [
            (&b"x\x0026.11.0-0rc2\0y"[..], true),
            (b"slurm 26.11.0-0rc2\0", true),
            (b"26.11.0-0rc22\0", false),
            (b"26.11.0\0", false),
        ] {
            assert_eq!(names_candidate(file, "26.11.0-0rc2"), expected, "{}", file.escape_ascii());
        }
    }
}

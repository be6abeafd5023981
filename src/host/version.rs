//! Finds out which Slurm has loaded us, and whether we know its records.
//!
//! Slurm exports its major release (`slurm_api_version`) but not the micro release, and its loader wants our `plugin_version` to equal
//! both. Plugins that the host has already loaded passed that check, so their `plugin_version` is the number. If none is loaded yet, a
//! stock plugin next to libslurmfull is read. Everything found is cross-checked with functions that came or went with a release.
//!
//! A release candidate has the number of its release. Only its name, a text in its library, shows that it is a candidate.

use std::ffi::{c_long, c_void};

use multifactor2_releases::choice::{landmarks, names_candidate};
pub use multifactor2_releases::{Evidence, Landmark, Mismatch, Stranger, ACCEPTED, LANDMARKS};

use super::layout::{Group, Layout, Release, BUILT_FOR, LAYOUTS};
use super::loaded;
use super::symbols::find;

/// A layout that fits, and how sure that is.
#[derive(Debug, Clone, Copy)]
pub struct Match {
    /// The running release.
    pub release: Release,
    /// Its layout.
    pub layout: &'static Layout,
    /// False for a micro release newer than the headers that the table was compared with.
    pub verified: bool,
}

/// Chooses the layout for what the process shows; that of the source tree that this build was made for comes first, in
/// exactly its release, and where that was a candidate in exactly that one.
///
/// # Errors
/// Why none fits.
pub fn choose(evidence: &Evidence) -> Result<Match, Mismatch> {
    let found = choose_from(evidence, BUILT_FOR.as_ref());
    #[cfg(feature = "test-overrides")]
    let found = found.map(|found| Match { layout: super::test_overrides::layout(found.layout), ..found });
    found
}

fn choose_from(evidence: &Evidence, built_for: Option<&'static Layout>) -> Result<Match, Mismatch> {
    if let Some(release) = evidence.plugin_version {
        let fits = |layout: &&Layout| {
            let group = layout.group;
            group.first == release.0 && (group.candidate.is_none() || group.candidate == evidence.candidate)
        };
        if let Some(layout) = built_for.filter(fits) {
            return Ok(Match { release, layout, verified: true });
        }
    }
    let groups: Vec<Group> = LAYOUTS.iter().map(|layout| layout.group).collect();
    let found = multifactor2_releases::choose(evidence, &groups)?;
    let layout = LAYOUTS.iter().find(|layout| layout.group == found.group);
    let newest = multifactor2_releases::newest(&groups);
    let layout = layout.ok_or(Mismatch::Unsupported { release: found.release, newest })?;
    Ok(Match { release: found.release, layout, verified: found.verified })
}

/// Looks at the process. `None` outside Slurm (no `slurm_api_version`).
pub fn gather() -> Option<Evidence> {
    let function = find(c"slurm_api_version");
    if function.is_null() {
        return None;
    }
    // SAFETY: `long slurm_api_version(void)` in every release.
    let api_version =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_long>(function)() };
    let plugin_version = loaded::plugin_version().or_else(|| loaded::plugin_version_beside(function));
    #[cfg(feature = "test-overrides")]
    let plugin_version = super::test_overrides::release().or(plugin_version);
    Some(Evidence {
        plugin_version,
        api_version: u32::try_from(api_version).unwrap_or(0),
        landmarks: if super::in_slurmctld() { landmarks(|name| !find(name).is_null()) } else { Vec::new() },
        stranger: stranger(),
        candidate: plugin_version.and_then(|release| candidate(release, function)),
        accepted: std::env::var(ACCEPTED).ok(),
    })
}

/// The candidate that this Slurm is, of those whose layout is known. `of_library`: an address in libslurmfull, or in slurmctld
/// where that has all of it. The file is read only in a release that is known by a candidate.
fn candidate(release: Release, of_library: *mut c_void) -> Option<u8> {
    let known = LAYOUTS.iter().chain(BUILT_FOR.as_ref()).map(|layout| layout.group);
    let mut known = known.filter(|group| group.candidate.is_some() && group.first == release.0).peekable();
    known.peek()?;
    let file = std::fs::read(loaded::object_of(of_library)?).ok()?;
    known.find(|group| names_candidate(&file, &group.name()))?.candidate
}

/// The name of this program, where it has names of slurmctld's and is not slurmctld: tests of Slurm's own are such.
pub fn stranger() -> Option<String> {
    let name = std::env::current_exe().ok()?.file_name()?.to_string_lossy().into_owned();
    (super::in_slurmctld() && !name.contains("slurmctld")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::symbols::V23_02;
    use super::*;
    use multifactor2_releases::MAJORS;

    fn evidence(release: Release, api: u32) -> Evidence {
        let landmark =
            |name, at: Release, added| Landmark { name, release: at, added, found: (release >= at) == added };
        Evidence {
            plugin_version: Some(release),
            api_version: api << 16,
            landmarks: vec![
                landmark("priority_g_recover", V23_02, true),
                landmark("priority_g_calc_fs_factor", Release::new(25, 11, 0), false),
            ],
            ..Evidence::default()
        }
    }

    #[test]
    fn the_table_and_the_majors_name_the_same_series() {
        for layout in LAYOUTS {
            let first = Release(layout.group.first);
            assert!(MAJORS.iter().any(|major| major.major() == first.major()), "MAJORS lacks {first}");
        }
        for major in MAJORS {
            let known = LAYOUTS.iter().any(|layout| Release(layout.group.first).major() == major.major());
            assert!(known, "the table lacks {major}");
        }
    }

    #[test]
    fn every_surveyed_release_gets_its_group() {
        for (release, api, group) in [
            ("20.11.0", 36, "20.11.0"),
            ("20.11.9", 36, "20.11.0"),
            ("23.02.2", 39, "23.02.0"),
            ("23.02.3", 39, "23.02.3"),
            ("24.11.0", 42, "24.11.0"),
            ("24.11.3", 42, "24.11.1"),
            ("24.11.5", 42, "24.11.4"),
            ("26.05.3", 45, "26.05.0"),
        ] {
            let release = parse(release);
            let found = choose(&evidence(release, api)).unwrap();
            assert_eq!(found.layout.group.first, parse(group).0, "{release}");
            assert!(found.verified);
        }
    }

    #[test]
    fn an_unknown_micro_release_gets_the_newest_layout_of_its_major() {
        let found = choose(&evidence(Release::new(26, 5, 77), 45)).unwrap();
        assert_eq!(found.layout.group.first, Release::new(26, 5, 5).0);
        assert!(!found.verified);
        let found = choose(&evidence(Release::new(23, 2, 99), 39)).unwrap();
        assert_eq!(found.layout.group.first, Release::new(23, 2, 3).0);
        assert!(!found.verified);
    }

    #[test]
    fn an_unknown_major_release_is_refused_and_says_what_to_do() {
        for release in [Release::new(99, 11, 0), Release::new(20, 2, 7), Release::new(23, 5, 0)] {
            let error = choose(&evidence(release, 46)).unwrap_err();
            assert!(matches!(error, Mismatch::Unsupported { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("20.11 to 26.05") && text.contains("SLURM_SRC="), "{text}");
        }
    }

    #[test]
    fn a_build_for_one_source_tree_serves_exactly_that_release() {
        let own = &LAYOUTS[0];
        let exact = evidence(Release(own.group.first), 36);
        assert!(choose_from(&exact, Some(own)).unwrap().verified);
        let other = evidence(Release::new(26, 5, 3), 45);
        assert_eq!(choose_from(&other, Some(own)).unwrap().layout.group.first, Release::new(26, 5, 0).0);
    }

    #[test]
    fn contradictions_are_refused() {
        let mut wrong_api = evidence(Release::new(22, 5, 8), 39);
        assert!(matches!(choose(&wrong_api), Err(Mismatch::Contradiction { .. })));
        wrong_api.api_version = 38 << 16;
        wrong_api.landmarks[0].found = true;
        let error = choose(&wrong_api).unwrap_err().to_string();
        assert!(error.contains("has priority_g_recover"), "{error}");
        assert!(error.contains("PluginDir"), "{error}");
        wrong_api.stranger = Some("test24.1.prog".into());
        let error = choose(&wrong_api).unwrap_err().to_string();
        assert!(error.contains("test24.1.prog has symbols of slurmctld, but is another program"), "{error}");
        assert!(!error.contains("PluginDir"), "{error}");
        let silent = Evidence { plugin_version: None, ..evidence(Release::new(22, 5, 8), 38) };
        let error = choose(&silent).unwrap_err();
        assert!(
            matches!(error, Mismatch::Unknown { api_version, .. } if api_version == 38 << 16),
            "{error:?}"
        );
    }

    fn parse(text: &str) -> Release {
        let mut parts = text.split('.').map(|part| part.parse().unwrap());
        Release::new(parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap())
    }
}

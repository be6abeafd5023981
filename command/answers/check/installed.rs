//! Checks from the files of a Slurm installation whether this release of the plugin supports it. It only reads them.
//!
//! The data of Slurm's plugins name the release. The symbol tables of slurmctld and libslurmfull show what the plugin could look up. The
//! layout of records shows only in a running slurmctld, so the result for an unknown micro release is never certain.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use multifactor2_releases::choice::names_candidate;
use multifactor2_releases::{choose, symbols, Choice, Evidence, Group, Release};
use object::{Object, ObjectSection, ObjectSymbol};
use slurm_headers::{Table, Version};

use crate::error::Error;

/// Whether a Slurm is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Certainly.
    Yes,
    /// It is newer than what this build knows of its series.
    NotCertain,
    /// slurmctld would not start.
    No,
}

/// The same in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is.
    pub supported: Support,
    /// The answer.
    pub text: String,
}

/// The groups of releases that have one layout of records each.
fn groups() -> Vec<Group> {
    let number =
        |version: Version| Release::new(version.year.into(), version.month.into(), version.micro.into()).0;
    // It is compiled in, and tests read it.
    let table = Table::committed().map(|table| table.groups).unwrap_or_default();
    let group = |group: &slurm_headers::Group| Group {
        first: number(group.first),
        verified: number(group.verified),
        candidate: group.candidate,
    };
    table.iter().map(group).collect()
}

/// The newest release whose headers were compared with the table.
pub fn newest() -> Release {
    multifactor2_releases::newest(&groups())
}

/// Examines the files of a Slurm without running them. Without a name, slurmctld is the one next to the plugins.
///
/// # Errors
/// If the files cannot be examined.
pub fn examine(slurmctld: Option<&Path>, plugins: &Path) -> Result<Verdict, Error> {
    let no = |text: String| Ok(Verdict { supported: Support::No, text: format!("NOT SUPPORTED: {text}") });
    let release = match plugin_releases(plugins)?.as_slice() {
        [] => return Err(Error::Source(format!("{} has no plugins of Slurm", plugins.display()))),
        [release] => *release,
        several => {
            let releases: Vec<String> = several.iter().map(Release::to_string).collect();
            return no(format!(
                "{} mixes plugins of Slurm {}; remove what the old installation left",
                plugins.display(),
                releases.join(" and ")
            ));
        }
    };
    let Some(slurmctld) = slurmctld.map(Path::to_owned).or_else(|| beside(plugins)) else {
        return Ok(for_sshare(release, plugins));
    };
    let program = fs::read(&slurmctld).map_err(|error| Error::of_source(&slurmctld, &error))?;
    let mut names = exports(&slurmctld)?;
    // With a static libslurm everything is in slurmctld itself.
    let library = plugins.join("libslurmfull.so");
    if library.is_file() {
        names.extend(exports(&library)?);
    }
    let groups = groups();
    let is_candidate = |group: &&Group| {
        group.candidate.is_some() && group.first == release.0 && names_candidate(&program, &group.name())
    };
    let candidate = groups.iter().find(is_candidate).and_then(|group| group.candidate);
    if candidate.is_none() && !says(&program, release) {
        return no(format!(
            "{} is not the slurmctld of Slurm {release}, but {} is for that release",
            slurmctld.display(),
            plugins.display()
        ));
    }
    let evidence = Evidence { candidate, ..Evidence::of_files(release, Some(&|name| names.contains(name))) };
    let found = match choose(&evidence, &groups) {
        Ok(found) => found,
        Err(mismatch) => return no(mismatch.to_string()),
    };
    let missing: Vec<&str> =
        symbols::required(release).into_iter().filter(|name| !names.contains(*name)).collect();
    if !missing.is_empty() {
        return no(format!("slurmctld {release} ({}) lacks {}", slurmctld.display(), missing.join(", ")));
    }
    Ok(verdict(found))
}

/// Whether a program has the release as a separate text, like the message with which slurmctld starts: `21.08.8`, or `21.08.8-2` if Slurm
/// was released again.
fn says(program: &[u8], release: Release) -> bool {
    let text = format!("\0{release}");
    let digits = |rest: &[u8]| rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    program.windows(text.len()).enumerate().any(|(at, bytes)| {
        bytes == text.as_bytes()
            && match &program[at + text.len()..] {
                [b'-', rest @ ..] => digits(rest) > 0 && rest.get(digits(rest)) == Some(&0),
                rest => rest.first() == Some(&0),
            }
    })
}

/// Where there is no slurmctld: sshare needs a plugin for its release, and nothing of slurmctld's.
fn for_sshare(release: Release, plugins: &Path) -> Verdict {
    match choose(&Evidence::of_files(release, None), &groups()) {
        Ok(found) => Verdict {
            supported: Support::Yes,
            text: format!(
                "SUPPORTED: sshare of Slurm {}; {} has no slurmctld next to it",
                found.release,
                plugins.display()
            ),
        },
        Err(mismatch) => Verdict { supported: Support::No, text: format!("NOT SUPPORTED: {mismatch}") },
    }
}

fn verdict(found: Choice) -> Verdict {
    let group = found.group;
    let (first, verified) = (Release(group.first), Release(group.verified));
    if found.verified {
        let text = format!("SUPPORTED: Slurm {}, layout {first} to {verified}", found.release);
        return Verdict { supported: Support::Yes, text };
    }
    let text = format!(
        "NOT CERTAIN: Slurm {} is newer than the last release of its series that this build knows ({verified}). The plugin will \
         use the layout of {first} and check each kind of record before it writes. If one differs, it orders jobs by submission \
         and writes nothing. Look for a newer slurm-multifactor2, or try it on a test system first",
        found.release
    );
    Verdict { supported: Support::NotCertain, text }
}

/// The releases that the plugins of a directory are for; ours names none.
fn plugin_releases(directory: &Path) -> Result<Vec<Release>, Error> {
    let entries = fs::read_dir(directory).map_err(|error| Error::of_source(directory, &error))?;
    let mut found = BTreeSet::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "so") {
            // What is no ELF file is no plugin.
            found.extend(fs::read(&path).ok().and_then(|data| plugin_release(&data)));
        }
    }
    Ok(found.into_iter().map(Release).collect())
}

/// `plugin_version` in the data of a plugin whose version slurmctld checks.
fn plugin_release(data: &[u8]) -> Option<u32> {
    let file = object::File::parse(data).ok()?;
    let bytes = |name: &str, size: u64| {
        let symbol =
            file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name) && symbol.is_definition())?;
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        section.data_range(symbol.address(), size).ok()?.map(<[u8]>::to_vec)
    };
    let kind = bytes("plugin_type", 6)?;
    if kind.starts_with(b"spank") {
        return None;
    }
    let version = u32::from_le_bytes(bytes("plugin_version", 4)?.try_into().ok()?) & 0xff_ffff;
    (version != 0).then_some(version)
}

/// The slurmctld of an installation whose plugins are in `PREFIX/lib/slurm` or a directory like that.
fn beside(plugins: &Path) -> Option<PathBuf> {
    // What lies in / is no installation of its own.
    let above = plugins.ancestors().skip(1).filter(|directory| *directory != Path::new("/"));
    let mut places = above.flat_map(|directory| {
        ["sbin/slurmctld", "sbin/slurmctld-wlm", "bin/slurmctld"].map(|place| directory.join(place))
    });
    places.find(|place| place.is_file())
}

/// The names that an executable or library exports.
fn exports(path: &Path) -> Result<BTreeSet<String>, Error> {
    let data = fs::read(path).map_err(|error| Error::of_source(path, &error))?;
    let file = object::File::parse(&*data).map_err(|error| Error::of_source(path, &error))?;
    let names = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
    let names: BTreeSet<String> = names.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect();
    if names.is_empty() {
        return Err(format!("{} exports nothing; is it the program itself?", path.display()).into());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_releases_are_supported_and_unknown_micros_are_not_certain() {
        let newest = newest().0;
        let found = |release| {
            let release = Release(release);
            let has = |name: &str| match name {
                "priority_g_calc_fs_factor" => release < Release::new(25, 11, 0),
                "part_list_to_xstr" | "threadpool_create" => release >= Release::new(24, 5, 0),
                _ => true,
            };
            verdict(choose(&Evidence::of_files(release, Some(&has)), &groups()).unwrap())
        };
        assert_eq!(found(newest).supported, Support::Yes);
        let later = found(newest + 50);
        assert!(later.supported == Support::NotCertain && later.text.starts_with("NOT CERTAIN"), "{}", later.text);
    }

    #[test]
    fn a_release_that_was_made_again_is_that_release() {
        let release = Release::new(21, 8, 8);
        for (program, expected) in [
            (&b"x\x0021.08.8\0y"[..], true),
            (b"\x0021.08.8-2\0", true),
            (b"\x0021.08.8", false),
            (b"\x0021.08.8-\0", false),
            (b"\x0021.08.8-2", false),
            (b"\x0021.08.8-0rc1\0", false),
            (b"\x0021.08.80\0", false),
            (b"\x0021.08.7-2\0", false),
            (b"slurm 21.08.8\0", false),
        ] {
            assert_eq!(says(program, release), expected, "{}", program.escape_ascii());
        }
    }

    #[test]
    fn a_micro_release_that_is_not_known_is_good_enough_for_sshare() {
        let newest = newest();
        for (release, supported) in
            [(newest, Support::Yes), (Release(newest.0 + 50), Support::Yes), (Release::new(99, 5, 0), Support::No)]
        {
            let verdict = for_sshare(release, Path::new("plugins"));
            assert_eq!(verdict.supported, supported, "{}", verdict.text);
        }
    }
}

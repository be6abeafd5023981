//! Says before an update of Slurm whether this build of the plugin supports the new one.
//!
//! The new Slurm's files are only read, never run: the release is in the data of its plugins, and what the plugin
//! would look up is in the symbol tables of slurmctld and libslurmfull. Only records cannot be
//! looked at without running: an unknown micro release is therefore never certain.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use object::{Object, ObjectSection, ObjectSymbol};
use priority_multifactor2::host::layout::Release;
use priority_multifactor2::host::symbols::Symbols;
use priority_multifactor2::host::version::{choose, Evidence, Match};

const USAGE: &str = "\
usage: multifactor2-doctor [SLURMCTLD] PLUGINDIR

Says whether this build of priority/multifactor2 supports a Slurm, from its files, which are not run.

  PLUGINDIR  the new Slurm's plugin directory (PluginDir in 'scontrol show config')
  SLURMCTLD  the new slurmctld; default: the one that is installed beside PLUGINDIR, or in PATH's place there

exit status: 0 supported; 1 not supported, or not certain before it runs; 2 the files cannot be examined";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["-V" | "--version"] => {
            println!("{}", priority_multifactor2::VERSION);
            ExitCode::SUCCESS
        }
        [first, ..] if first.starts_with('-') => refuse(&format!("unknown option '{first}'\n\n{USAGE}")),
        [plugins] => report(None, Path::new(plugins)),
        [slurmctld, plugins] => report(Some(Path::new(slurmctld)), Path::new(plugins)),
        _ => refuse(USAGE),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("multifactor2-doctor: {why}");
    ExitCode::from(2)
}

fn report(slurmctld: Option<&Path>, plugins: &Path) -> ExitCode {
    match examine(slurmctld, plugins) {
        Ok(verdict) => {
            println!("{}", verdict.text);
            ExitCode::from(u8::from(!verdict.supported))
        }
        Err(why) => refuse(&why),
    }
}

struct Verdict {
    supported: bool,
    text: String,
}

fn examine(slurmctld: Option<&Path>, plugins: &Path) -> Result<Verdict, String> {
    let no = |text: String| Ok(Verdict { supported: false, text: format!("NOT SUPPORTED: {text}") });
    let release = match plugin_releases(plugins)?.as_slice() {
        [] => return Err(format!("{} has no plugins of Slurm", plugins.display())),
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
    let slurmctld = slurmctld.map_or_else(|| beside(plugins), Path::to_owned);
    let program = fs::read(&slurmctld).map_err(|error| format!("{}: {error}", slurmctld.display()))?;
    let mut names = exports(&slurmctld)?;
    // The message with which it starts has the release as a text of its own.
    let release_text = format!("\0{release}\0");
    if !program.windows(release_text.len()).any(|bytes| bytes == release_text.as_bytes()) {
        return no(format!(
            "{} is not the slurmctld of Slurm {release}, for which {} is",
            slurmctld.display(),
            plugins.display()
        ));
    }
    // With a static libslurm everything is in slurmctld itself.
    let library = plugins.join("libslurmfull.so");
    let library = if library.is_file() { Some(library) } else { None };
    if let Some(library) = &library {
        names.extend(exports(library)?);
    }

    let found = match choose(&Evidence::of_files(release, |name| names.contains(name))) {
        Ok(found) => found,
        Err(mismatch) => return no(mismatch.to_string()),
    };
    let missing: Vec<&str> =
        Symbols::required(release).into_iter().filter(|name| !names.contains(*name)).collect();
    if !missing.is_empty() {
        return no(format!("slurmctld {release} ({}) lacks {}", slurmctld.display(), missing.join(", ")));
    }
    Ok(verdict(found))
}

fn verdict(found: Match) -> Verdict {
    let group = found.layout.group;
    let (first, verified) = (Release(group.first), Release(group.verified));
    if found.verified {
        let text = format!("SUPPORTED: Slurm {}, layout {first} to {verified}", found.release);
        return Verdict { supported: true, text };
    }
    let text = format!(
        "NOT CERTAIN: Slurm {} is newer than what this build knows of its series (to {verified}). It will use the \
         layout of {first}, and check each kind of record before it writes; where one differs, jobs are ordered by submission \
         and nothing is written. Look for a newer slurm-multifactor2, or try it on a test system first",
        found.release
    );
    Verdict { supported: false, text }
}

/// The releases that the plugins of a directory are for; ours has none of its own.
fn plugin_releases(directory: &Path) -> Result<Vec<Release>, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
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
fn beside(plugins: &Path) -> PathBuf {
    let above = plugins.ancestors().skip(1);
    let places = above.flat_map(|directory| {
        ["sbin/slurmctld", "sbin/slurmctld-wlm", "bin/slurmctld"].map(|place| directory.join(place))
    });
    let found = places.into_iter().find(|place| place.is_file());
    found.unwrap_or_else(|| PathBuf::from("/usr/sbin/slurmctld"))
}

/// The names that an executable or library exports.
fn exports(path: &Path) -> Result<BTreeSet<String>, String> {
    let data = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file = object::File::parse(&*data).map_err(|error| format!("{}: {error}", path.display()))?;
    let names = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
    let names: BTreeSet<String> = names.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect();
    if names.is_empty() {
        return Err(format!("{} exports nothing; is it the program itself?", path.display()));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use priority_multifactor2::host::layout::LAYOUTS;

    #[test]
    fn known_releases_are_supported_and_unknown_micros_are_not_certain() {
        let newest = LAYOUTS.last().unwrap().group.verified;
        let found = |release| {
            let release = Release(release);
            let has = |name: &str| match name {
                "priority_g_calc_fs_factor" => release < Release::new(25, 11, 0),
                "part_list_to_xstr" | "threadpool_create" => release >= Release::new(24, 5, 0),
                _ => true,
            };
            verdict(choose(&Evidence::of_files(release, has)).unwrap())
        };
        assert!(found(newest).supported);
        let later = found(newest + 50);
        assert!(!later.supported && later.text.starts_with("NOT CERTAIN"), "{}", later.text);
    }
}

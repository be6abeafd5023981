//! Says before an update of Slurm whether this build of the plugin supports the new one, and of a `multifactor2.conf` whether
//! slurmctld will take it.
//!
//! The new Slurm's files are only read, never run: the release is in the data of its plugins, and what the plugin
//! would look up is in the symbol tables of slurmctld and libslurmfull. Only records cannot be
//! looked at without running: an unknown micro release is therefore never certain.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use multifactor2_core::settings::files;
use multifactor2_core::settings::text::{Pair, Statement};
use multifactor2_core::settings::Settings;
use object::{Object, ObjectSection, ObjectSymbol};
use priority_multifactor2::host::layout::Release;
use priority_multifactor2::host::symbols::Symbols;
use priority_multifactor2::host::version::{choose, Evidence, Match};

const USAGE: &str = "\
usage: multifactor2-doctor [[SLURMCTLD] PLUGINDIR]
       multifactor2-doctor --check-conf [FILE]

Says whether this build of priority/multifactor2 supports a Slurm, from its files, which are not run.

  PLUGINDIR  the new Slurm's plugin directory; default: that of the Slurm that is installed
  SLURMCTLD  the new slurmctld; default: the one that is installed beside PLUGINDIR. Where there is none, as on a
             login node, what sshare needs is looked at

exit status: 0 supported; 1 not supported, or not certain before it runs; 2 the files cannot be examined

  --check-conf  check the settings in FILE before slurmctld reads them; default: multifactor2.conf beside slurm.conf
                (of SLURM_CONF, else in /etc/slurm), with PriorityParameters of that slurm.conf

exit status: 0 good; 1 bad";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["-V" | "--version"] => {
            println!("{}", priority_multifactor2::identity::VERSION);
            ExitCode::SUCCESS
        }
        ["--check-conf", files @ ..] => check_conf(files),
        [first, ..] if first.starts_with('-') => refuse(&format!("unknown option '{first}'\n\n{USAGE}")),
        [] => match plugin_directory() {
            Some(plugins) => report(None, &plugins),
            None => refuse(
                "no plugin directory of Slurm found here: name it, see PluginDir in 'scontrol show config'",
            ),
        },
        [plugins] => report(None, Path::new(plugins)),
        [slurmctld, plugins] => report(Some(Path::new(slurmctld)), Path::new(plugins)),
        _ => refuse(USAGE),
    }
}

fn say(what: &str) {
    eprintln!("multifactor2-doctor: {what}");
}

fn refuse(why: &str) -> ExitCode {
    say(why);
    ExitCode::from(2)
}

/// Does as `nginx -t`: what is wrong and a last line with the result on stderr; 0 where slurmctld will take the file, else 1,
/// also for wrong arguments.
fn check_conf(arguments: &[&str]) -> ExitCode {
    let slurm_conf = slurm_conf();
    let (file, parameters) = match arguments {
        [] => {
            if let Err(error) = fs::read(&slurm_conf) {
                say(&format!("{}: {error}; PriorityParameters is not checked", slurm_conf.display()));
            }
            (slurm_conf.with_file_name("multifactor2.conf"), setting_of(&slurm_conf, "PriorityParameters"))
        }
        [file] if !file.starts_with('-') => (PathBuf::from(file), None),
        _ => {
            say(USAGE);
            return ExitCode::FAILURE;
        }
    };
    let name = file.display();
    // slurmctld can do without the file, but who names one wants that one checked.
    let there = fs::metadata(&file);
    if let ([_], Err(error)) = (arguments, &there) {
        say(&format!("{name}: {error}"));
        say(&format!("{name}: bad"));
        return ExitCode::FAILURE;
    }
    match Settings::load(parameters.as_deref(), &file) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
            let absent = if there.is_ok() {
                ""
            } else {
                " (there is none: every setting not named in slurm.conf has its default)"
            };
            say(&format!("{name}: ok{absent}"));
            ExitCode::SUCCESS
        }
        Err(errors) => {
            errors.to_string().lines().for_each(say);
            say(&format!("{name}: bad"));
            ExitCode::FAILURE
        }
    }
}

/// The slurm.conf of this machine.
fn slurm_conf() -> PathBuf {
    env::var_os("SLURM_CONF").map_or_else(|| PathBuf::from("/etc/slurm/slurm.conf"), PathBuf::from)
}

/// The last value of a setting in slurm.conf and what it includes. What else is there is not looked at.
fn setting_of(slurm_conf: &Path, name: &str) -> Option<String> {
    let pairs = files::read(slurm_conf)?.statements.into_iter().flat_map(|statement| match statement {
        Statement::Pairs { pairs, .. } => pairs,
        Statement::Include { .. } => Vec::new(),
    });
    pairs.filter(|Pair { key, .. }| key.eq_ignore_ascii_case(name)).last().map(|pair| pair.value)
}

/// Where the Slurm of this machine has its plugins: what slurmctld says, what slurm.conf says, else the first usual
/// directory that holds some, as in packaging/find-plugindir. The first of several.
fn plugin_directory() -> Option<PathBuf> {
    let shown = Command::new("timeout").args(["5", "scontrol", "show", "config"]).output().ok();
    let shown = shown.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let of_slurmctld = shown.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "PluginDir").then(|| value.trim().to_owned())
    });
    let named = of_slurmctld.or_else(|| setting_of(&slurm_conf(), "PluginDir"));
    let first = named.as_deref().and_then(|directories| directories.split(':').next());
    if let Some(first) = first.filter(|first| !first.is_empty()) {
        return Some(PathBuf::from(first));
    }
    let of_architecture = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let of_architecture =
        of_architecture.flat_map(|entry| ["slurm-wlm", "slurm"].map(|name| entry.path().join(name)));
    let usual = ["/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm", "/opt/slurm/lib/slurm"];
    let mut places = usual.map(PathBuf::from).into_iter().chain(of_architecture);
    places.find(|place| place.join("priority_basic.so").is_file())
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
    let Some(slurmctld) = slurmctld.map(Path::to_owned).or_else(|| beside(plugins)) else {
        return Ok(for_sshare(release, plugins));
    };
    let program = fs::read(&slurmctld).map_err(|error| format!("{}: {error}", slurmctld.display()))?;
    let mut names = exports(&slurmctld)?;
    if !says(&program, release) {
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

    let found = match choose(&Evidence::of_files(release, Some(&|name| names.contains(name)))) {
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

/// Whether a program has the release as a text of its own, as the message with which slurmctld starts: `21.08.8`, or
/// `21.08.8-2` where Slurm was released again.
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
    match choose(&Evidence::of_files(release, None)) {
        Ok(found) => Verdict {
            supported: true,
            text: format!(
                "SUPPORTED: sshare of Slurm {}; {} has no slurmctld beside it",
                found.release,
                plugins.display()
            ),
        },
        Err(mismatch) => Verdict { supported: false, text: format!("NOT SUPPORTED: {mismatch}") },
    }
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
fn beside(plugins: &Path) -> Option<PathBuf> {
    // What lies in / is no installation of its own.
    let above = plugins.ancestors().skip(1).filter(|directory| *directory != Path::new("/"));
    let mut places = above.flat_map(|directory| {
        ["sbin/slurmctld", "sbin/slurmctld-wlm", "bin/slurmctld"].map(|place| directory.join(place))
    });
    places.find(|place| place.is_file())
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
    use priority_multifactor2::host::version::newest;

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
            verdict(choose(&Evidence::of_files(release, Some(&has))).unwrap())
        };
        assert!(found(newest).supported);
        let later = found(newest + 50);
        assert!(!later.supported && later.text.starts_with("NOT CERTAIN"), "{}", later.text);
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
            [(newest, true), (Release(newest.0 + 50), true), (Release::new(99, 5, 0), false)]
        {
            let verdict = for_sshare(release, Path::new("plugins"));
            assert_eq!(verdict.supported, supported, "{}", verdict.text);
        }
    }
}

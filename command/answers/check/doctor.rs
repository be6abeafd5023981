//! `multifactor2-doctor`: the old name, with its options, its words and its exit codes.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use multifactor2_core::settings::Settings;

use super::host::{plugin_directory, setting_of, slurm_conf};
use super::installed::examine;

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

/// The name that it had, and has for one more release.
pub const NAME: &str = "multifactor2-doctor";

/// Whether the program was called by the old name.
pub fn is_called(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == NAME)
}

/// What `multifactor2-doctor` does with these arguments.
pub fn run(arguments: &[String]) -> ExitCode {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["-V" | "--version"] => {
            println!("{}", concat!("slurm-multifactor2 ", env!("CARGO_PKG_VERSION")));
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

fn report(slurmctld: Option<&Path>, plugins: &Path) -> ExitCode {
    match examine(slurmctld, plugins) {
        Ok(verdict) => {
            println!("{}", verdict.text);
            ExitCode::from(u8::from(!verdict.supported))
        }
        Err(why) => refuse(&why.to_string()),
    }
}

//! Compares the files of this host with slurmctld: another slurm.conf, a missing plugin, a missing directory.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use multifactor2_core::settings::advice::Advice;
use multifactor2_core::settings::enforced::in_full;
use multifactor2_core::settings::Settings;
use multifactor2_snapshot::Snapshot;
use slurm_text::Parameters;

use super::findings::{is_ours, weight, WEIGHTS};
use super::host::Written;
use crate::input::tells_flags_apart;

/// The file of the plugin.
const PLUGIN: &str = "priority_multifactor2.so";

/// Flags of `PriorityFlags`, each by itself.
const FLAGS: [&str; 7] = [
    "ACCRUE_ALWAYS",
    "SMALL_RELATIVE_TO_TIME",
    "CALCULATE_RUNNING",
    "INCR_ONLY",
    "MAX_TRES",
    "MAX_TRES_GRES",
    "DEPTH_OBLIVIOUS",
];

/// Up to 25.11.0 slurmctld shows all of them where it has one.
const NO_NORMAL: [&str; 4] = ["NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES"];

/// Other parameters that Slurm's commands and this one use: lengths of time, then texts.
const TIMES: [&str; 3] = ["PriorityDecayHalfLife", "PriorityCalcPeriod", "PriorityMaxAge"];
const TEXTS: [&str; 9] = [
    "ClusterName",
    "PriorityType",
    "PriorityParameters",
    "PriorityUsageResetPeriod",
    "PriorityWeightTRES",
    "AccountingStorageEnforce",
    "PreemptType",
    "PrivateData",
    "SchedulerType",
];

/// Where slurm.conf of this host differs from what slurmctld uses; `local` is the output of `sprio -w`, which divides by these weights.
pub fn other_slurm_conf(snapshot: &Snapshot, local: &str, written: Option<&Written>) -> Vec<Advice> {
    let mut found: Vec<Advice> = other_weights(snapshot, local);
    let Some(written) = written else { return found };
    let mut say = |name: &str, here: &str, there: &str| {
        found.push(Advice::wrong(format!(
            "this host's slurm.conf has {name}={here}, but slurmctld uses {there}: commands on this host use the former. If the \
             file is newer, run 'scontrol reconfigure' (for PriorityType restart slurmctld); otherwise copy the controller's \
             slurm.conf"
        )));
    };
    let shown = |name: &str| snapshot.parameter(name).map(slurm_text::lines::text);
    for name in TIMES {
        if let (Some(here), Some(there)) = (written.get(name), shown(name)) {
            if seconds(here) != seconds(there) {
                say(name, here, there);
            }
        }
    }
    for name in TEXTS {
        if let (Some(here), Some(there)) = (written.get(name), shown(name)) {
            let is_same = match name {
                "AccountingStorageEnforce" => in_full(here) == in_full(there),
                "PrivateData" => private(here) == private(there),
                _ => is_same_list(here, there),
            };
            if !is_same {
                say(name, here, if there.is_empty() { "none" } else { there });
            }
        }
    }
    if let (Some(here), Some(there)) = (written.get("PriorityFlags"), shown("PriorityFlags")) {
        let flags = |text: &str| {
            let parameters = Parameters::new(|name: &str| Some(text).filter(|_| name == "PriorityFlags"));
            let mut flags = FLAGS.map(|flag| parameters.has_flag(flag)).to_vec();
            let of_normal = NO_NORMAL.map(|flag| parameters.has_flag(flag));
            if tells_flags_apart(snapshot) {
                flags.extend(of_normal);
            } else {
                flags.push(of_normal.contains(&true));
            }
            // One stands for the other, and slurmctld shows both.
            flags.push(parameters.has_flag("NO_FAIR_TREE") || parameters.has_flag("DEPTH_OBLIVIOUS"));
            flags
        };
        if flags(here) != flags(there) {
            say("PriorityFlags", here, if there.is_empty() { "none" } else { there });
        }
    }
    found
}

fn seconds(text: &str) -> Option<u64> {
    slurm_text::durations::Grammar::Conf.read(text).map(|length| length.seconds().unwrap_or(u64::MAX))
}

/// What is private, of the words of slurm.conf: slurmctld takes `job` for `jobs`, and shows what `all` is.
fn private(text: &str) -> Vec<&'static str> {
    const KINDS: [&str; 8] = ["account", "event", "job", "node", "partition", "reservation", "usage", "user"];
    let text = text.to_ascii_lowercase();
    KINDS.into_iter().filter(|kind| text.contains(kind) || text.contains("all")).collect()
}

/// Lists are the same in any order and case, and so is a text of one word.
fn is_same_list(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        let words = text.split(',').map(|word| word.trim().to_lowercase());
        let mut words: Vec<String> = words.filter(|word| !word.is_empty() && word != "none" && word != "preempt/none").collect();
        words.sort_unstable();
        words
    };
    let short = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    // `priority/basic` and `basic` are one plugin from 23.02 on.
    words(one) == words(other) || short(one).eq_ignore_ascii_case(&short(other))
}

fn other_weights(snapshot: &Snapshot, local: &str) -> Vec<Advice> {
    let here: HashMap<&str, u64> = WEIGHTS
        .iter()
        .zip(local.trim().split('|'))
        .filter_map(|(name, value)| Some((*name, value.trim().parse().ok()?)))
        .collect();
    let mut found = Vec::new();
    for name in WEIGHTS {
        let controllers = weight(snapshot, name);
        if let Some(own) = here.get(name).filter(|own| **own != controllers) {
            found.push(Advice::wrong(format!(
                "this host's slurm.conf has {name}={own}, but slurmctld uses {controllers}: 'sprio -n' and 'sprio -w' show wrong \
                 numbers here. Copy the controller's slurm.conf"
            )));
        }
    }
    found
}

/// Our settings where the plugin does not run.
pub(super) fn idle_settings(snapshot: &Snapshot, file: &Path) -> Option<Advice> {
    let is_another = !is_ours(snapshot) && !snapshot.about.priority_type.is_empty();
    (is_another && file.is_file()).then(|| {
        Advice::without_effect(format!(
            "{} exists, but PriorityType={} does not read it: set PriorityType=priority/multifactor2, or remove the file",
            file.display(),
            snapshot.about.priority_type
        ))
    })
}

/// The plugin in a `PluginDir` of this host: slurmctld needs it, and from 23.02 on sshare.
pub fn plugin_is_there(snapshot: &Snapshot) -> Option<Advice> {
    let directories = snapshot.parameter("PluginDir").filter(|_| is_ours(snapshot))?;
    let is_there = directories.split(':').any(|directory| Path::new(directory).join(PLUGIN).is_file());
    (!is_there).then(|| {
        Advice::wrong(format!(
            "{PLUGIN} is not in {directories} on this host: without it no slurmctld starts, and from 23.02 on sshare does not \
             work. Install slurm-multifactor2 here too"
        ))
    })
}

/// Whether `SlurmUser` can write a file of the settings.
pub(super) enum DirectoryHere {
    /// It can.
    Good,
    /// It cannot: why, and what to do.
    Bad(Advice),
    /// That cannot be told from here.
    NotKnown(String),
}

/// The directory of a snapshot; `owner` is the uid of `SlurmUser`, where it is known.
pub(super) fn directory_of(setting: &str, file: &str, owner: Option<u32>) -> DirectoryHere {
    let directory = Path::new(file).parent().unwrap_or(Path::new("/"));
    let name = directory.display();
    let Ok(found) = fs::metadata(directory) else {
        return DirectoryHere::NotKnown(format!("{setting}={file}: this host has no directory {name}; the controller must have it"));
    };
    let Some(owner) = owner else {
        return DirectoryHere::NotKnown(format!("{setting}={file}: SlurmUser is not known here"));
    };
    let mode = found.mode();
    let may = found.is_dir() && (owner == 0 || found.uid() == owner && mode & 0o300 == 0o300 || mode & 0o003 == 0o003);
    if may {
        return DirectoryHere::Good;
    }
    if found.is_dir() && mode & 0o030 == 0o030 && found.uid() != owner {
        return DirectoryHere::NotKnown(format!("{setting}={file}: not known whether SlurmUser is in the group of {name}"));
    }
    DirectoryHere::Bad(Advice::without_effect(format!(
        "{setting}={file}: SlurmUser cannot write to {name}, so the file is not written. Use a directory that SlurmUser owns, such as \
         /var/lib/slurm-multifactor2"
    )))
}

/// The files that settings ask for.
pub(super) fn files_of(settings: &Settings) -> Vec<(&'static str, &str)> {
    let all = [("Snapshot", settings.snapshot_file()), ("SnapshotPublic", settings.public_file())];
    all.into_iter().filter_map(|(setting, file)| Some((setting, file?))).collect()
}

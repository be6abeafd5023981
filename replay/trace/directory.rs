//! Reads a directory with outputs of several commands, one file each, and reports which are missing.

use std::fs;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::problems::Problems;
use super::{associations, cluster, events, jobs, limits, open, pieces, slurm_conf, text, TraceError, SACCT};
use crate::workload::{Builder, Workload};

/// A file of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// Its name in the directory; `.gz` may follow.
    pub name: &'static str,
    /// The command whose output it is.
    pub command: &'static str,
    /// What it is needed for.
    pub gives: &'static str,
}

/// All of them.
pub const FILES: [TraceFile; 11] = [
    TraceFile { name: JOBS, command: SACCT, gives: "jobs" },
    TraceFile {
        name: ASSOCIATIONS,
        command: "sacctmgr -P show assoc format=Cluster,Account,User,Partition,Share,ParentName cluster=$(scontrol show config | awk '/^ClusterName/ {print $3}')",
        gives: "accounts and shares",
    },
    TraceFile { name: DUMP, command: "sacctmgr dump CLUSTER file=sacctmgr-dump.txt", gives: "the same, in another format" },
    TraceFile {
        name: QOS,
        // Slurm 20.11 has no LimitFactor.
        command: "f=Name,Priority,UsageFactor,Flags,GrpJobs,GrpTRES,MaxJobsPU,MaxJobsPA,MaxTRESPU,MaxTRESPA; sacctmgr -P show qos format=$f,LimitFactor 2>/dev/null || sacctmgr -P show qos format=$f", gives: "priorities of QOS, and their limits" },
    TraceFile { name: CONFIG, command: "scontrol show config", gives: "weights, half-life, SchedulerParameters" },
    TraceFile { name: PARTITIONS, command: "scontrol show partition", gives: "the machine" },
    TraceFile { name: NODES, command: "scontrol show node", gives: "which nodes partitions share" },
    TraceFile {
        name: EVENTS,
        command: "SLURM_TIME_FORMAT=%s sacctmgr -P show event start=2024-01-01 format=Cluster,NodeName,Start,End,State,TRES",
        gives: "outages of nodes, which may explain waits",
    },
    TraceFile {
        name: TRANSACTIONS,
        command: "SLURM_TIME_FORMAT=%s sacctmgr -P show transactions start=2024-01-01 format=TimeStamp,Action,Info",
        gives: "dates of changed limits",
    },
    TraceFile {
        name: LIMITS,
        command: "sacctmgr -P show assoc withdeleted format=Cluster,Account,User,Partition,GrpJobs,GrpTRES,MaxJobs,MaxTRES",
        gives: "limits of associations, including deleted ones",
    },
    TraceFile {
        name: RESERVATIONS,
        command: "SLURM_TIME_FORMAT=%s sacctmgr -P show reservation start=2024-01-01 format=Cluster,Name,TRES,Start,End,NodeNames",
        gives: "nodes that were reserved",
    },
];

const JOBS: &str = "sacct.txt";
const ASSOCIATIONS: &str = "associations.txt";
const DUMP: &str = "sacctmgr-dump.txt";
/// `sacctmgr -P show qos`
pub const QOS: &str = "qos.txt";
/// `scontrol show config`
pub const CONFIG: &str = "config.txt";
/// `scontrol show partition`
pub const PARTITIONS: &str = "partitions.txt";
/// `scontrol show node`
pub const NODES: &str = "nodes.txt";
/// `sacctmgr -P show assoc withdeleted`
const LIMITS: &str = "limits.txt";
/// `sacctmgr -P show reservation`
const RESERVATIONS: &str = "reservations.txt";
/// `sacctmgr -P show event`
pub const EVENTS: &str = "events.txt";
/// `sacctmgr -P show transactions`
pub const TRANSACTIONS: &str = "transactions.txt";
/// Counts where outputs of scontrol are not there.
const SLURM_CONF: &str = "slurm.conf";

/// The file of a name, as it is or compressed.
fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    [directory.join(name), directory.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// Reads a directory.
pub(super) fn read(directory: &Path) -> Result<Workload, TraceError> {
    let shown = directory.display().to_string();
    let io = |path: &Path| {
        let file = path.display().to_string();
        move |error| TraceError::Io { file, error }
    };
    let months = months(directory);
    let single = find(directory, JOBS).or_else(|| only_swf(directory));
    let mut builder = match (&single, months.is_empty()) {
        (Some(path), true) => jobs(open(path).map_err(io(path))?, &path.display().to_string())?,
        (None, false) => pieces(&months)?,
        (Some(_), false) => {
            return Err(TraceError::Foreign {
                file: shown,
                why: format!("both {JOBS} and monthly files have jobs. Remove one of the two"),
            })
        }
        (None, true) => {
            return Err(TraceError::Foreign {
                file: shown,
                why: format!(
                    "the directory has neither {JOBS} nor sacct-YEAR-MONTH.txt. 'multifactor2 replay --how' lists the files"
                ),
            })
        }
    };
    if builder.count() == 0 {
        let problems = Box::new(std::mem::take(&mut builder.problems));
        return Err(TraceError::NoJobs { file: builder.source, problems });
    }
    let optional = |name: &str| -> Result<Option<(String, String)>, TraceError> {
        let Some(path) = find(directory, name) else { return Ok(None) };
        let text = text(&path).map_err(io(&path))?;
        Ok(Some((path.display().to_string(), text)))
    };
    let listed = optional(ASSOCIATIONS)?.map_or_else(|| optional(DUMP), |found| Ok(Some(found)))?;
    let mut problems = Problems::default();
    if let Some((file, text)) = listed {
        let listed = associations::parse(&text, &file, &mut problems);
        let listed = listed.map_err(|why| TraceError::Foreign { file: shown, why })?;
        builder.list(listed);
    }
    match optional(QOS)? {
        Some((file, text)) => builder.set_qos(associations::qos(&text, &file, &mut problems)),
        None => builder.miss(QOS, "all QOS have the same priority"),
    }
    let limits = optional(LIMITS)?
        .map_or_else(Vec::new, |(file, text)| limits::associations(&text, &file, &mut problems));
    let (config, partitions) = (optional(CONFIG)?, optional(PARTITIONS)?);
    let of_file = if config.is_none() || partitions.is_none() {
        slurm_conf::read(&directory.join(SLURM_CONF), &mut problems)
    } else {
        None
    };
    match (config, &of_file) {
        (Some((_, text)), _) => builder.set_config(Config::parse(&text)),
        (None, Some(site)) => builder.set_config(site.config.clone().unwrap_or_default()),
        (None, None) => builder.miss(
            CONFIG,
            "only fair-share has a weight, usage has a half-life of 7 days, and the scheduler uses its defaults",
        ),
    }
    builder.problems.append(problems);
    let nodes = optional(NODES)?;
    let (events, transactions) = (optional(EVENTS)?, optional(TRANSACTIONS)?);
    let reservations = optional(RESERVATIONS)?;
    let told =
        partitions.as_ref().map_or_else(Vec::new, |(_, text)| slurm_text::partitions::partitions(text).0);
    match (partitions, of_file.and_then(|site| site.machine)) {
        (None, Some(machine)) => builder.set_machine(machine),
        (partitions, _) => set_machine(&mut builder, partitions, nodes),
    }
    let mut workload = builder.finish();
    let (first, last) = workload.jobs.iter().fold((i64::MAX, i64::MIN), |(first, last), job| {
        (first.min(job.submit), last.max(job.submit).max(job.start))
    });
    workload.limits = limits;
    workload.has_events = events.is_some();
    if let Some((_, text)) = events {
        workload.away = events::away(&text, last);
        workload.outages = events::of_partitions(&workload.away, &told);
    }
    if let Some((_, text)) = reservations {
        workload.reservations = events::reservations(&text);
    }
    if let Some((_, text)) = transactions {
        workload.changed_limits = events::changed_limits(&text, first, last);
    }
    Ok(workload)
}

fn set_machine(builder: &mut Builder, partitions: Option<(String, String)>, nodes: Option<(String, String)>) {
    let nodes = nodes.map(|(_, text)| text);
    let machine = partitions.and_then(|(_, text)| cluster::machine(&text, nodes.as_deref()));
    match machine.filter(|(machine, _)| machine.check().is_ok()) {
        Some((machine, may_share)) => {
            if may_share {
                builder.miss(NODES, "partitions share nodes only if they name the same nodes");
            }
            builder.set_machine(machine);
        }
        None if builder.lacks_machine() => builder.miss(
            PARTITIONS,
            "the machine has as many CPUs as were ever in use at one time, which may be too few: give --procs or --partition",
        ),
        None => (),
    }
}

/// The files of months that `--export` writes, in their order.
fn months(directory: &Path) -> Vec<PathBuf> {
    let is_month = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let month = name.strip_prefix("sacct-").and_then(|rest| rest.strip_suffix(".txt"));
        month.is_some_and(|month| {
            month.len() == 7 && month.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        })
    };
    let files =
        fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = files.filter(is_month).collect();
    found.sort();
    found
}

/// The one file in the Standard Workload Format, where there is one.
fn only_swf(directory: &Path) -> Option<PathBuf> {
    let is_swf = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name.strip_suffix(".gz").unwrap_or(&name).rsplit('.').next() == Some("swf")
    };
    let files = fs::read_dir(directory).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = files.filter(is_swf).take(2).collect();
    if found.len() == 1 {
        found.pop()
    } else {
        None
    }
}

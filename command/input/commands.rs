//! The six commands of Slurm that a snapshot takes, and their output formats.
//!
//! Each runs once. They print text, because it is the same from 20.11 to 26.05, and JSON is not. Numbers come first, and what users choose
//! comes last: an account or a wckey may contain any character, even a line break. So these stand between marks that nobody can know in
//! advance.
//!
//! Each is needed. Only `sshare` has factors to six places. Only `show assoc_mgr` has parents, raw usage to two places, and who is an
//! operator. Only `squeue` has the jobs that sprio does not show. Only `sprio` has addends. `show config` and `show partition` have the
//! rest.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::texts::Manifest;

/// One command and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What the text is called in a saved directory.
    pub name: &'static str,
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// `scontrol show config`
pub const CONFIG: &str = "config";
/// `scontrol show partition`
pub const PARTITIONS: &str = "partitions";
/// `scontrol show assoc_mgr`
pub const ASSOCIATIONS: &str = "associations";
/// `sshare`
pub const SHARES: &str = "shares";
/// `squeue`
pub const QUEUE: &str = "queue";
/// `sprio`
pub const PRIORITIES: &str = "priorities";
/// `sacctmgr show qos`
pub const QOS: &str = "qos";
/// `sprio -w`
pub const LOCAL_WEIGHTS: &str = "local-weights";

/// All texts that a saved directory can have.
pub const NAMES: [&str; 8] =
    [CONFIG, PARTITIONS, ASSOCIATIONS, SHARES, QUEUE, PRIORITIES, QOS, LOCAL_WEIGHTS];

/// Columns of `sshare`. Names of accounts keep the blanks that show how deep they are.
pub(crate) const SHARE_COLUMNS: [&str; 11] = [
    "ID",
    "RawShares",
    "NormShares",
    "RawUsage",
    "NormUsage",
    "EffectvUsage",
    "FairShare",
    "LevelFS",
    "User",
    "Partition",
    "Account",
];

/// Columns of `squeue` that nobody can choose freely.
pub(crate) const JOB_NUMBERS: [&str; 19] = [
    "JobID",
    "ArrayJobID",
    "HetJobID",
    "AssocID",
    "GroupID",
    "StateCompact",
    "PriorityLong",
    "SubmitTime",
    "EligibleTime",
    "AccrueTime",
    "StartTime",
    "TimeLimit",
    "NumNodes",
    "NumCPUs",
    "MinCPUs",
    "MinTmpDisk",
    "Nice",
    "ArrayTaskID",
    "tres-alloc",
];

/// Columns of `squeue` that are text.
pub(crate) const JOB_TEXTS: [&str; 7] =
    ["UserName", "Partition", "QOS", "Reservation", "Reason", "Account", "wckey"];

/// States of jobs that wait, are held, run or are suspended.
const STATES: &str = "PD,CF,R,S,SO,RQ,RH,RF,SE";

/// Letters of `sprio`: the job and its addends, weighted and in parts of the weight; last the partition.
pub(crate) const PRIORITY_LETTERS: [char; 18] =
    ['i', 'Y', 'y', 'S', 'A', 'a', 'B', 'b', 'F', 'f', 'J', 'j', 'P', 'p', 'Q', 'q', 'N', 'T'];

/// Columns of `sacctmgr show qos`; the name comes last.
const QOS_COLUMNS: [&str; 6] = ["id", "priority", "usagefactor", "usagethreshold", "flags", "preempt"];

/// A mark that nobody could know before, for [`calls`].
pub fn mark() -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut left = RandomState::new().build_hasher().finish();
    let mut mark = String::from("|");
    for _ in 0..6 {
        mark.push(char::from(DIGITS[usize::try_from(left % 36).unwrap_or_default()]));
        left /= 36;
    }
    mark + "|"
}

/// The first question, whose answer says which release it is.
pub fn config(cluster: Option<&str>) -> Call {
    of(cluster, call(CONFIG, "scontrol", &["show", "config"]))
}

/// The others that every answer but `cost` and `check` needs: of all jobs and users, or of these.
pub fn calls(cluster: Option<&str>, jobs: &[u32], users: &[String]) -> Vec<Call> {
    vec![partitions(cluster), associations(cluster, users), shares(cluster), priorities(cluster, jobs)]
}

/// Shares and usage of all associations.
pub fn shares(cluster: Option<&str>) -> Call {
    of(cluster, call(SHARES, "sshare", &["-a", "-P", "-o", &SHARE_COLUMNS.join(",")]))
}

/// Accounts, users and QOS; of users these only, where some are named.
pub fn associations(cluster: Option<&str>, users: &[String]) -> Call {
    let mut call = call(ASSOCIATIONS, "scontrol", &["-o", "show", "assoc_mgr", "flags=users,assoc,qos"]);
    let mut users = users.to_owned();
    users.sort_unstable();
    users.dedup();
    // scontrol would take one with a comma for two.
    if !users.is_empty() && !users.iter().any(|name| name.is_empty() || name.contains(',')) {
        call.arguments.push(format!("users={}", users.join(",")));
    }
    of(cluster, call)
}

/// The partitions with their nodes.
pub fn partitions(cluster: Option<&str>) -> Call {
    of(cluster, call(PARTITIONS, "scontrol", &["-a", "-o", "show", "partition"]))
}

/// Jobs that wait or run; only some, and in whatever state, where the manifest says so.
pub fn queue(cluster: Option<&str>, manifest: &Manifest, release: (u32, u32)) -> Call {
    let Manifest { mark, jobs, user, .. } = manifest;
    let numbers = JOB_NUMBERS.map(|column| format!("{column}:|"));
    let texts = JOB_TEXTS.map(|column| format!("{column}:{mark}"));
    let columns = format!("{},{}", numbers.join(","), texts.join(","));
    // Of jobs that are named, all states: one that has ended is an answer, too.
    let (columns, states) =
        if manifest.is_of_some_jobs() { (format!("EndTime:|,{columns}"), "all") } else { (columns, STATES) };
    // From 23.02 on squeue puts tasks that have a record of their own, and another priority, into the line of their array. The one
    // way to see them is to see every task.
    let queue = if release < (23, 2) { "-ha" } else { "-har" };
    let mut call = call(QUEUE, "squeue", &[queue, "-t", states, "-O", &columns]);
    if !jobs.is_empty() {
        call.arguments.extend(["-j".to_owned(), jobs.join(",")]);
    }
    call.arguments.extend(user.iter().flat_map(|user| ["-u".to_owned(), user.clone()]));
    of(cluster, call)
}

/// More jobs than these are not named: it would be too long for a command line.
const MOST_NAMED: usize = 1000;

/// The addends of all jobs that compete, or of these.
pub fn priorities(cluster: Option<&str>, jobs: &[u32]) -> Call {
    let letters = PRIORITY_LETTERS.map(|letter| format!("%{letter}|")).concat() + "%r";
    let mut call = call(PRIORITIES, "sprio", &["-h", "-o", &letters]);
    if (1..=MOST_NAMED).contains(&jobs.len()) {
        let ids: Vec<String> = jobs.iter().map(u32::to_string).collect();
        call.arguments.extend(["-j".to_owned(), ids.join(",")]);
    }
    of(cluster, call)
}

/// `UsageFactor`, flags and the like, which slurmdbd alone tells.
pub fn qos(release: (u32, u32)) -> Call {
    let mut columns = QOS_COLUMNS.to_vec();
    if release >= (21, 8) {
        columns.push("limitfactor");
    }
    columns.push("name");
    let format = format!("format={}", columns.join(","));
    call(QOS, "sacctmgr", &["-P", "show", "qos", &format])
}

/// The weights of this host's slurm.conf. `PRIORITIES` are parts of these.
pub fn local_weights() -> Call {
    call(LOCAL_WEIGHTS, "sprio", &["-w", "-h", "-o", "%A|%B|%F|%J|%P|%Q|%T"])
}

/// A command under a name.
pub fn call(name: &'static str, program: &'static str, arguments: &[&str]) -> Call {
    Call { name, program, arguments: arguments.iter().map(|&argument| argument.to_owned()).collect() }
}

fn of(cluster: Option<&str>, mut call: Call) -> Call {
    if let Some(cluster) = cluster {
        call.arguments.splice(0..0, ["-M".to_owned(), cluster.to_owned()]);
    }
    call
}

/// Variables that would change what the commands print.
pub(crate) fn is_misleading(variable: &str) -> bool {
    const PREFIXES: [&str; 5] = ["SQUEUE_", "SPRIO_", "SSHARE_", "SCONTROL_", "SACCTMGR_"];
    const NAMES: [&str; 4] = ["SLURM_CLUSTERS", "SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN", "SLURM_JSON"];
    PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
        || NAMES.contains(&variable)
        || variable.starts_with("LC_")
        || variable == "LANG"
        || variable == "LANGUAGE"
}

/// Variables that every command gets.
pub const ENVIRONMENT: [(&str, &str); 5] = [
    ("SLURM_TIME_FORMAT", "%s"),
    // All tasks of an array, not the first 64 characters of them.
    ("SLURM_BITSTR_LEN", "0"),
    // Tasks with a record of their own on a line of their own, as sprio has them; up to 22.05.
    ("SQUEUE_ARRAY_UNIQUE", "1"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

//! Translates limits of credentials and of tree nodes into limits of sacctmgr.

use std::collections::HashMap;

use crate::answers::migrate::draft::{is_name_of_sacctmgr, Draft, Item, Use};
use crate::answers::migrate::page::Why;

/// Who has a limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Account(String),
    /// A user, in one account or in all.
    User(String, Option<String>),
    Qos(String),
    Partition(String),
    Group,
    /// Each user, or each account.
    Each(&'static str),
}

/// One limit as sacctmgr has it: its name, the TRES where it is one of TRES, and the value.
type Limit = (&'static str, &'static str, String);

/// Limits in the order of their holders.
#[derive(Default)]
pub(super) struct Limits {
    all: Vec<(Holder, Vec<(Limit, Item)>)>,
    at: HashMap<Holder, usize>,
}

/// Whether an attribute is a limit.
pub(super) fn is_known(attribute: &str) -> bool {
    KINDS.iter().any(|kind| kind.theirs == attribute)
}

/// A limit there, and its names here: of an association or QOS as a whole, of a user's association, and of each user and account
/// under a QOS.
struct KindOfLimit {
    theirs: &'static str,
    group: &'static str,
    own: &'static str,
    per_user: &'static str,
    per_account: &'static str,
    tres: &'static str,
    unit: Unit,
}

#[derive(Clone, Copy)]
enum Unit {
    Count,
    Megabytes,
    Seconds,
    /// Seconds of processors, which Slurm counts in minutes.
    ProcessorSeconds,
}

const fn kind(theirs: &'static str, names: [&'static str; 4], tres: &'static str, unit: Unit) -> KindOfLimit {
    let [group, own, per_user, per_account] = names;
    KindOfLimit { theirs, group, own, per_user, per_account, tres, unit }
}

const TRES: [&str; 4] = ["GrpTRES", "GrpTRES", "MaxTRESPerUser", "MaxTRESPerAccount"];

const KINDS: [KindOfLimit; 8] = [
    kind("MAXJOB", ["GrpJobs", "MaxJobs", "MaxJobsPerUser", "MaxJobsPerAccount"], "", Unit::Count),
    kind(
        "MAXSUBMITJOBS",
        ["GrpSubmitJobs", "MaxSubmitJobs", "MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount"],
        "",
        Unit::Count,
    ),
    kind("MAXPROC", TRES, "cpu", Unit::Count),
    kind("MAXNODE", TRES, "node", Unit::Count),
    kind("MAXMEM", TRES, "mem", Unit::Megabytes),
    kind(
        "MAXPS",
        ["GrpTRESRunMins", "GrpTRESRunMins", "MaxTRESRunMinsPerUser", "MaxTRESRunMinsPerAccount"],
        "cpu",
        Unit::ProcessorSeconds,
    ),
    kind("MAXWC", ["MaxWall"; 4], "", Unit::Seconds),
    kind(
        "MAXIJOB",
        ["GrpJobsAccrue", "MaxJobsAccrue", "MaxJobsAccruePerUser", "MaxJobsAccruePerAccount"],
        "",
        Unit::Count,
    ),
];

impl Limits {
    /// Takes a limit. `per` is what stands in brackets behind its name.
    pub fn take(&mut self, holder: Holder, attribute: &str, per: &str, item: &Item, draft: &mut Draft) {
        let Some(kind) = KINDS.iter().find(|kind| kind.theirs == attribute) else { return };
        if holder == Holder::Group {
            draft.page(&["GROUPCFG", "MAXJOB"], item);
            return;
        }
        let name = match (&holder, per) {
            (Holder::User(..), "") => kind.own,
            (Holder::Each("User"), "") | (Holder::Qos(_) | Holder::Partition(_), "USER") => kind.per_user,
            (Holder::Each(_), "") | (Holder::Qos(_) | Holder::Partition(_), "ACCOUNT" | "ACCT") => {
                kind.per_account
            }
            (_, "") => kind.group,
            _ => {
                draft.note(
                    Why::ByHand,
                    "For a QOS, Slurm has this limit only per user and per account.",
                    &[item],
                );
                return;
            }
        };
        // Soft and hard limit; Slurm has the hard one.
        let hard = item.value.rsplit(',').next().unwrap_or_default().to_owned();
        if item.value.contains(',') {
            draft.note(Why::Nothing, "Slurm has no soft limits: the hard one was taken.", &[item]);
        }
        let hard = Item { value: hard, ..item.clone() };
        let value = match kind.unit {
            Unit::Count => {
                draft.integer(&hard, &hard.value, 0, 2_000_000_000).map(|number| number.to_string())
            }
            Unit::Megabytes => draft.integer(&hard, &hard.value, 0, 1 << 40).map(memory),
            Unit::ProcessorSeconds => {
                draft.integer(&hard, &hard.value, 0, 1 << 50).map(|number| (number / 60).to_string())
            }
            Unit::Seconds => super::text::seconds(&hard, draft).map(wall),
        };
        let Some(value) = value else { return };
        let limit = ((name, kind.tres, value), item.clone());
        let at = *self.at.entry(holder.clone()).or_insert(self.all.len());
        if at == self.all.len() {
            self.all.push((holder, Vec::new()));
        }
        // The last one counts.
        let limits = &mut self.all[at].1;
        limits.retain(|((known, tres, _), _)| (*known, *tres) != (limit.0 .0, limit.0 .1));
        limits.push(limit);
    }

    /// Writes a command for each holder.
    pub fn write(&self, draft: &mut Draft) {
        for (holder, limits) in &self.all {
            let from: Vec<&Item> = limits.iter().map(|(_, item)| item).collect();
            let mut words: Vec<String> = Vec::new();
            for ((name, tres, value), _) in limits {
                let prefix = format!("{name}=");
                match words.iter_mut().find(|word| !tres.is_empty() && word.starts_with(&prefix)) {
                    Some(word) => *word = format!("{word},{tres}={value}"),
                    None if tres.is_empty() => words.push(format!("{prefix}{value}")),
                    None => words.push(format!("{prefix}{tres}={value}")),
                }
            }
            let mut remark = "";
            let (mut command, is_added): (Vec<&str>, bool) = match holder {
                Holder::Account(name) => (vec!["modify", "account", name, "set"], false),
                Holder::User(name, None) => {
                    remark = "In each account of the user.";
                    (vec!["modify", "user", name, "set"], false)
                }
                Holder::User(name, Some(_)) => (vec!["modify", "user", name, "where"], false),
                Holder::Qos(name) => (vec!["modify", "qos", name, "set"], false),
                Holder::Partition(name) => (vec!["add", "qos", name], true),
                Holder::Each(_) => {
                    remark = "For the QOS that jobs have by default.";
                    (vec!["modify", "qos", "normal", "set"], false)
                }
                Holder::Group => continue,
            };
            let name = command[2];
            if !is_name_of_sacctmgr(name) || name == "*" {
                draft.note(
                    Why::ByHand,
                    "sacctmgr does not read this as a name: set the limit by hand.",
                    &from,
                );
                continue;
            }
            let account;
            if let Holder::User(_, Some(name)) = holder {
                account = format!("Account={name}");
                command.extend([account.as_str(), "set"]);
            }
            command.extend(words.iter().map(String::as_str));
            draft.sacctmgr(Use::Take, &command, remark, &from);
            if is_added {
                draft.partition(
                    name,
                    &format!("QOS={name}"),
                    "A Slurm partition gets its limits from its QOS.",
                    &from,
                );
            }
            draft.slurm_list("AccountingStorageEnforce", "limits", "", &from);
        }
    }
}

/// Megabytes with the largest unit that needs no fraction.
fn memory(megabytes: i64) -> String {
    match megabytes {
        number if number > 0 && number % (1 << 20) == 0 => format!("{}T", number >> 20),
        number if number > 0 && number % (1 << 10) == 0 => format!("{}G", number >> 10),
        number => format!("{number}M"),
    }
}

/// A time limit, as short as Slurm reads it; Slurm's are in minutes.
fn wall(seconds: u64) -> String {
    let minutes = seconds.div_ceil(60);
    match (minutes / 1440, minutes % 1440) {
        (days, 0) if days > 0 => format!("{days}-0"),
        (days, rest) if days > 0 => format!("{days}-{:02}:{:02}:00", rest / 60, rest % 60),
        _ => minutes.to_string(),
    }
}

//! A job that could be submitted: the options of sbatch(1), and the record that slurmctld would have of it.

use clap::{Args, Parser};
use multifactor2_snapshot::records::{Association, Job, Partition};
use multifactor2_snapshot::Snapshot;
use slurm_text::durations::{Grammar, Length};

use crate::error::Error;
use crate::model::billing;

/// Options of sbatch that decide about priority and cost, with the same letters.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOptions {
    /// The account to charge
    #[arg(short = 'A', long, value_name = "ACCOUNT", help_heading = "Options of sbatch")]
    pub account: Option<String>,
    /// The partition, or several separated by commas
    #[arg(
        short = 'p',
        long = "partition",
        value_name = "PARTITIONS",
        value_delimiter = ',',
        help_heading = "Options of sbatch"
    )]
    pub partitions: Vec<String>,
    /// The QOS
    #[arg(short = 'q', long, value_name = "QOS", help_heading = "Options of sbatch")]
    pub qos: Option<String>,
    /// The number of tasks [default: one per node]
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=MOST), help_heading = "Options of sbatch")]
    pub ntasks: Option<u32>,
    /// CPUs per task
    #[arg(short = 'c', long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=MOST), help_heading = "Options of sbatch")]
    pub cpus_per_task: Option<u32>,
    /// The number of nodes; of a range such as 2-4 the minimum
    #[arg(short = 'N', long, value_name = "NUMBER", value_parser = nodes, help_heading = "Options of sbatch")]
    pub nodes: Option<u32>,
    /// Memory per node, with unit K, M, G or T [default: M]
    #[arg(long, value_name = "SIZE", value_parser = megabytes, help_heading = "Options of sbatch")]
    pub mem: Option<u64>,
    /// Generic resources per node, such as gpu:4 or gpu:a100:2
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = gres, help_heading = "Options of sbatch")]
    pub gres: Vec<Gres>,
    /// GPUs for the whole job, such as 4 or a100:2
    #[arg(short = 'G', long, value_name = "LIST", value_delimiter = ',', value_parser = gpus, help_heading = "Options of sbatch")]
    pub gpus: Vec<Gres>,
    /// The time limit: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED
    #[arg(short = 't', long, value_name = "TIME", value_parser = minutes, help_heading = "Options of sbatch")]
    pub time: Option<u32>,
}

/// So many GRES, of a type where one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gres {
    name: String,
    kind: Option<String>,
    count: u64,
}

/// The most tasks, CPUs or nodes that are taken.
const MOST: i64 = 100_000_000;

/// `UNLIMITED`, as Slurm stores it.
const UNLIMITED: u32 = u32::MAX;

/// The options alone, as they stand in quotes behind `--submit`.
#[derive(Parser)]
#[command(name = "--submit", no_binary_name = true, disable_help_flag = true)]
struct SbatchLine {
    #[command(flatten)]
    options: JobOptions,
}

impl std::str::FromStr for JobOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words = shlex::split(text).ok_or("a quote is open, or a backslash is the last character")?;
        let line = SbatchLine::try_parse_from(words).map_err(|error| {
            let error = error.to_string();
            let first = error.lines().next().unwrap_or_default().trim_start_matches("error: ");
            format!("{first}; supported sbatch options: -A -p -q -n -c -N --mem --gres -G -t")
        })?;
        Ok(line.options)
    }
}

fn nodes(text: &str) -> Result<u32, Error> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse::<u32>()) {
        (Ok(least), Ok(most)) if least >= 1 && least <= most && i64::from(most) <= MOST => Ok(least),
        _ => Err("give a number of at least 1, or a range such as 2-4".into()),
    }
}

fn megabytes(text: &str) -> Result<u64, Error> {
    const ALLOWED: &str =
        "give a whole number of at least 1 with unit K, M, G or T, such as 4G; the default unit is M";
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_uppercase();
    let number: u64 = number.parse().map_err(|_| ALLOWED)?;
    let factor = match unit.trim_end_matches('B') {
        "K" => return Ok(number.div_ceil(1024)).and_then(not_all),
        "" | "M" => 1,
        "G" => 1 << 10,
        "T" => 1 << 20,
        _ => return Err(ALLOWED.into()),
    };
    number.checked_mul(factor).filter(|memory| *memory < 1 << 50).ok_or(ALLOWED.into()).and_then(not_all)
}

fn not_all(memory: u64) -> Result<u64, Error> {
    if memory == 0 {
        return Err("0 means all memory of a node, which is not known here: give an amount".into());
    }
    Ok(memory)
}

fn gres(text: &str) -> Result<Gres, Error> {
    let text = text.trim_start_matches("gres/").trim_start_matches("gres:");
    let (name, rest) = text.split_once([':', '=']).unwrap_or((text, "1"));
    let of_type = typed(rest).filter(|_| !name.is_empty());
    let (kind, count) = of_type.ok_or("give a name, an optional type and a number, such as gpu:4")?;
    Ok(Gres { name: name.to_owned(), kind, count })
}

fn gpus(text: &str) -> Result<Gres, Error> {
    let (kind, count) = typed(text).ok_or("give an optional type and a number, such as a100:2")?;
    Ok(Gres { name: "gpu".to_owned(), kind, count })
}

/// `4`, `a100` or `a100:4`.
fn typed(text: &str) -> Option<(Option<String>, u64)> {
    if text.starts_with([':', '=']) {
        return None;
    }
    let count = |text: &str| text.parse::<u32>().ok().map(u64::from);
    match text.split_once([':', '=']) {
        Some((kind, number)) => count(number).map(|count| (Some(kind.to_owned()), count)),
        None if text.starts_with(|first: char| first.is_ascii_digit()) => Some((None, count(text)?)),
        None if !text.is_empty() && text.chars().all(|one| one.is_alphanumeric() || one == '_') => {
            Some((Some(text.to_owned()), 1))
        }
        None => None,
    }
}

/// A time limit as `sbatch --time` takes it, in minutes; the largest number for none.
///
/// # Errors
/// It is no time.
pub fn minutes(text: &str) -> Result<u32, Error> {
    if ["-1", "0"].contains(&text) {
        return Ok(UNLIMITED);
    }
    match Grammar::Conf.read(text) {
        Some(Length::Unlimited) => Ok(UNLIMITED),
        Some(Length::Seconds(seconds)) => u32::try_from(seconds.div_ceil(60))
            .ok()
            .filter(|minutes| i64::from(*minutes) <= MOST)
            .ok_or_else(|| "this is too long: give UNLIMITED".into()),
        _ => Err("give minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED".into()),
    }
}

/// A job as slurmctld would have it, and what had to be assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// Its record.
    pub job: Job,
    /// What was not given and could not be known, one sentence each.
    pub assumed: Vec<String>,
}

impl JobOptions {
    /// The record of the job, submitted by a user at a time.
    ///
    /// # Errors
    /// There is no such user, account, partition, QOS or GRES, or which one is meant cannot be known.
    pub fn job(&self, snapshot: &Snapshot, user: &str, at: i64) -> Result<Submission, Error> {
        let mut assumed = Vec::new();
        let partitions = self.partitions_of(snapshot)?;
        let partition = partitions[0];
        let association = self.association(snapshot, user, &partition.name)?;
        let qos = self.qos_of(snapshot, &mut assumed)?;
        let nodes = self.nodes.unwrap_or(1);
        let tasks = self.ntasks.unwrap_or(nodes);
        // sbatch takes no more nodes than tasks.
        let nodes = nodes.min(tasks);
        let cpus = tasks.saturating_mul(self.cpus_per_task.unwrap_or(1));
        let tres = self.tres(snapshot, partition, (nodes, cpus), &mut assumed);
        if self.time.is_none() && partition.default_time.is_none() {
            assumed.push(format!(
                "No time limit is given and no DefaultTime of partition {} is known here, so its MaxTime applies.",
                partition.name
            ));
        }
        let names = || partitions.iter().map(|partition| partition.name.clone()).collect();
        let job = Job {
            id: snapshot.jobs.iter().map(|job| job.id).max().unwrap_or(0).saturating_add(1),
            association: association.id,
            user: association.user.clone(),
            account: association.account.clone(),
            partition: partition.name.clone(),
            partitions: if partitions.len() > 1 { names() } else { Vec::new() },
            qos,
            reason: "None".to_owned(),
            // Anything but held.
            priority: 1,
            competes: true,
            submit: at,
            eligible: at,
            accrue: at,
            limit: self.time.or(partition.default_time),
            nodes,
            cpus,
            size_cpus: cpus,
            tres,
            ..Job::default()
        };
        Ok(Submission { job, assumed })
    }

    fn partitions_of<'s>(&self, snapshot: &'s Snapshot) -> Result<Vec<&'s Partition>, Error> {
        match (self.partitions.as_slice(), snapshot.partitions.as_slice()) {
            (_, []) => Err("no partition is visible here".into()),
            ([], [only]) => Ok(vec![only]),
            ([], all) => {
                let default = all.iter().find(|partition| partition.is_default).map(|default| vec![default]);
                default.ok_or_else(|| {
                    format!(
                        "the default partition is not known here: give one of {} with -p",
                        partitions(snapshot)
                    )
                    .into()
                })
            }
            (names, _) => names.iter().map(|name| partition_named(snapshot, name)).collect(),
        }
    }

    /// The association of the user in the account, of the partition where there is one for it.
    fn association<'s>(
        &self,
        snapshot: &'s Snapshot,
        user: &str,
        partition: &str,
    ) -> Result<&'s Association, Error> {
        let of_user: Vec<&Association> = associations_of(snapshot, user)?;
        let given = self.account.as_deref().or_else(|| default_account(&of_user));
        let account = given.ok_or_else(|| {
            let accounts = accounts(&of_user);
            format!("the default account of {user} is not known here: give one of {accounts} with -A")
        })?;
        association_in(snapshot, user, account, partition)
    }

    fn qos_of(&self, snapshot: &Snapshot, assumed: &mut Vec<String>) -> Result<String, Error> {
        match &self.qos {
            Some(name) => is_qos(snapshot, name).map(|()| name.clone()),
            None if snapshot.qos.iter().any(|qos| qos.name == "normal") => {
                if snapshot.qos.len() > 1 {
                    assumed.push(
                        "No QOS is given, so 'normal' is assumed: the association's default QOS is not known here."
                            .to_owned(),
                    );
                }
                Ok("normal".to_owned())
            }
            None => {
                assumed.push("No QOS is given, so none is assumed.".to_owned());
                Ok(String::new())
            }
        }
    }

    /// What it asks for, by the positions of the TRES.
    fn tres(
        &self,
        snapshot: &Snapshot,
        partition: &Partition,
        (nodes, cpus): (u32, u32),
        assumed: &mut Vec<String>,
    ) -> Vec<u64> {
        let mut amounts = vec![0_u64; snapshot.tres.len()];
        let find = |name: &str| snapshot.tres.iter().position(|tres| tres.name.eq_ignore_ascii_case(name));
        let mut set = |name: &str, amount: u64| {
            if let Some(at) = find(name) {
                amounts[at] = amounts[at].saturating_add(amount);
            }
        };
        set("cpu", u64::from(cpus));
        set("node", u64::from(nodes));
        match self.mem.or_else(|| default_memory(snapshot, nodes, cpus)) {
            Some(of_node) => set("mem", of_node.saturating_mul(u64::from(nodes))),
            None => assumed.push(
                "No memory is given and the default is not known here, so none is assumed: give --mem."
                    .to_owned(),
            ),
        }
        let of_nodes = self.gres.iter().map(|gres| (gres, u64::from(nodes)));
        let of_job = self.gpus.iter().map(|gres| (gres, 1));
        for (gres, times) in of_nodes.chain(of_job) {
            let general = format!("gres/{}", gres.name);
            let typed = gres.kind.as_ref().map(|kind| format!("{general}:{kind}"));
            let names: Vec<&str> = [Some(general.as_str()), typed.as_deref()].into_iter().flatten().collect();
            if names.iter().all(|name| find(name).is_none()) {
                assumed.push(format!(
                    "{} is not in AccountingStorageTRES, so it is ignored.",
                    names[names.len() - 1]
                ));
            }
            for name in names {
                set(name, gres.count.saturating_mul(times));
            }
        }
        billing::write(snapshot, Some(partition), &mut amounts);
        amounts
    }
}

fn partitions(snapshot: &Snapshot) -> String {
    snapshot.partitions.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The partition of a name.
///
/// # Errors
/// No partition has that name.
pub fn partition_named<'s>(snapshot: &'s Snapshot, name: &str) -> Result<&'s Partition, Error> {
    let found = snapshot.partitions.iter().find(|partition| partition.name == name);
    found.ok_or_else(|| format!("there is no partition {name}: give one of {}", partitions(snapshot)).into())
}

/// Checks that a QOS of a name exists, if any can be seen.
///
/// # Errors
/// No QOS has that name.
pub fn is_qos(snapshot: &Snapshot, name: &str) -> Result<(), Error> {
    if snapshot.qos.is_empty() || snapshot.qos.iter().any(|qos| qos.name == name) {
        return Ok(());
    }
    let known: Vec<&str> = snapshot.qos.iter().map(|qos| qos.name.as_str()).collect();
    Err(format!("there is no QOS {name}: give one of {}", known.join(", ")).into())
}

/// `DefMemPerNode` or `DefMemPerCPU` of slurm.conf, in MB for each node.
fn default_memory(snapshot: &Snapshot, nodes: u32, cpus: u32) -> Option<u64> {
    let read = |name: &str| snapshot.parameter(name)?.trim().parse::<u64>().ok();
    let of_node = read("DefMemPerNode");
    of_node.or_else(|| Some(read("DefMemPerCPU")?.saturating_mul(u64::from(cpus)) / u64::from(nodes.max(1))))
}

/// The account of a user who names none, by its associations: the only one, or the default; `None` if that is not known.
pub fn default_account<'s>(of_user: &[&'s Association]) -> Option<&'s str> {
    let first = of_user.first()?.account.as_str();
    let default = || of_user.iter().find(|one| one.is_default).map(|one| one.account.as_str());
    if of_user.iter().all(|one| one.account == first) {
        Some(first)
    } else {
        default()
    }
}

/// The names of accounts, each once.
fn accounts(of_user: &[&Association]) -> String {
    let mut accounts: Vec<&str> = of_user.iter().map(|one| one.account.as_str()).collect();
    accounts.sort_unstable();
    accounts.dedup();
    accounts.join(", ")
}

/// The association of a user in an account, for the partition if one exists for it.
///
/// # Errors
/// There is no association.
pub fn association_in<'s>(
    snapshot: &'s Snapshot,
    user: &str,
    account: &str,
    partition: &str,
) -> Result<&'s Association, Error> {
    let of_user: Vec<&Association> = associations_of(snapshot, user)?;
    let fits = |one: &&&Association| {
        one.account == account && (one.partition.is_empty() || one.partition == partition)
    };
    let best = of_user.iter().filter(fits).max_by_key(|one| !one.partition.is_empty());
    best.copied().ok_or_else(|| {
        let accounts = accounts(&of_user);
        format!("{user} has no association with account {account} in partition {partition}: give one of {accounts}").into()
    })
}

/// The associations of a user.
///
/// # Errors
/// There are no associations.
pub fn associations_of<'s>(snapshot: &'s Snapshot, user: &str) -> Result<Vec<&'s Association>, Error> {
    let found: Vec<&Association> = snapshot
        .associations
        .iter()
        .filter(|association| !user.is_empty() && association.user == user)
        .collect();
    if found.is_empty() {
        let hint = if snapshot.about.partial_tree { ", or its associations are hidden from you" } else { "" };
        return Err(format!("there is no user {user} here{hint}: see 'multifactor2 tree'").into());
    }
    Ok(found)
}

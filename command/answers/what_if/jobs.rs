//! Changes waiting jobs, as `scontrol update`, `hold` and `release` would.

use std::str::FromStr;

use multifactor2_snapshot::records::Job;

use super::apply::Changed;
use crate::answers::queue::no_such_job;
use crate::error::Error;
use crate::model::billing;
use crate::model::Model;
use crate::submission::{association_in, is_qos, minutes, partition_named};

/// What is to be different of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobChange {
    /// As squeue shows it; an array by its number is all of its tasks that wait.
    pub job: String,
    /// What, in the order in which it is given.
    pub to: Vec<JobValue>,
}

/// One thing of a job, as scontrol(1) calls it.
#[derive(Clone, Debug, PartialEq)]
pub enum JobValue {
    /// `QOS=`
    Qos(String),
    /// `Partition=`, one or several
    Partition(Vec<String>),
    /// `Account=`
    Account(String),
    /// `Nice=`
    Nice(i64),
    /// `NumCPUs=`
    Cpus(u32),
    /// `NumNodes=`
    Nodes(u32),
    /// `TimeLimit=`, in minutes
    TimeLimit(u32),
    /// `hold`
    Hold,
    /// `release`
    Release,
}

const ALLOWED: &str = "give a job and its changes, such as \"1001 QOS=high\"; changes are QOS=, Partition=, Account=, \
                       Nice=, NumCPUs=, NumNodes=, TimeLimit=, hold and release";

impl FromStr for JobChange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut words = text.split_whitespace();
        let job = words.next().ok_or(ALLOWED)?.to_owned();
        let to = words.map(JobValue::from_str).collect::<Result<Vec<_>, _>>()?;
        if to.is_empty() || job.contains('=') {
            return Err(ALLOWED.into());
        }
        Ok(Self { job, to })
    }
}

impl FromStr for JobValue {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let bad = |allowed: &str| Error::Question(format!("{word}: {allowed}"));
        let Some((name, value)) = word.split_once('=') else {
            return match word.to_ascii_lowercase().as_str() {
                "hold" => Ok(Self::Hold),
                "release" => Ok(Self::Release),
                _ => Err(bad(ALLOWED)),
            };
        };
        let number = || {
            let number = value.parse::<u32>().ok().filter(|number| (1..=100_000_000).contains(number));
            number.ok_or_else(|| bad("give a whole number from 1 to 100000000"))
        };
        match name.to_ascii_lowercase().as_str() {
            "qos" if !value.is_empty() => Ok(Self::Qos(value.to_owned())),
            "partition" if !value.is_empty() => Ok(Self::Partition(value.split(',').map(str::to_owned).collect())),
            "account" if !value.is_empty() => Ok(Self::Account(value.to_owned())),
            "nice" => {
                let nice = value.parse::<i64>().ok().filter(|nice| (-2_147_483_645..=2_147_483_645).contains(nice));
                nice.map(Self::Nice).ok_or_else(|| bad("give a whole number from -2147483645 to 2147483645"))
            }
            "numcpus" => Ok(Self::Cpus(number()?)),
            "numnodes" => Ok(Self::Nodes(number()?)),
            "timelimit" => minutes(value).map(Self::TimeLimit),
            _ => Err(bad(ALLOWED)),
        }
    }
}

impl JobChange {
    /// Whether it may change any user's tickets.
    pub fn is_about_fair_share(&self) -> bool {
        let is = |value: &JobValue| matches!(value, JobValue::Account(_) | JobValue::Hold | JobValue::Release);
        self.to.iter().any(is)
    }
}

/// The records of a job, or of all tasks of an array that wait.
fn records(model: &Model<'_>, name: &str) -> Result<Vec<usize>, Error> {
    if let Ok(array) = name.parse::<u32>() {
        let jobs = model.snapshot.jobs.iter().enumerate();
        let of_array: Vec<usize> = jobs.filter(|(_, job)| job.array_job == array && array != 0).map(|(at, _)| at).collect();
        if !of_array.is_empty() {
            return Ok(of_array);
        }
    }
    Ok(vec![model.job_called(name).ok_or_else(|| no_such_job(name))?])
}

impl Changed {
    /// Changes a job, or each of an array.
    pub(super) fn job(&mut self, model: &Model<'_>, change: &JobChange) -> Result<(), Error> {
        for value in &change.to {
            let mut before = String::new();
            for at in records(model, &change.job)? {
                let old = self.job_value(model, at, value)?;
                if before.is_empty() {
                    before = old;
                }
            }
            self.said.push(format!("Job {}: {before}.", change.job));
        }
        Ok(())
    }

    /// Changes one record; what is said of it.
    fn job_value(&mut self, model: &Model<'_>, at: usize, value: &JobValue) -> Result<String, Error> {
        let id = self.snapshot.jobs[at].id;
        match value {
            JobValue::Qos(name) => {
                let snapshot = &mut self.snapshot;
                is_qos(snapshot, name)?;
                let old = std::mem::replace(&mut snapshot.jobs[at].qos, name.clone());
                if snapshot.entries.iter().any(|entry| entry.job == id && entry.qos != old) {
                    return Err(format!("job {id} has several QOS: it is ambiguous which one {name} replaces").into());
                }
                snapshot.entries.iter_mut().filter(|entry| entry.job == id).for_each(|entry| entry.qos.clone_from(name));
                Ok(format!("QOS {name}, not {old}"))
            }
            JobValue::Partition(names) => {
                for name in names {
                    partition_named(&self.snapshot, name)?;
                }
                let job = &mut self.snapshot.jobs[at];
                let old = if job.partitions.is_empty() { job.partition.clone() } else { job.partitions.join(",") };
                job.partition.clone_from(&names[0]);
                job.partitions = if names.len() > 1 { names.clone() } else { Vec::new() };
                self.snapshot.entries.retain(|entry| entry.job != id);
                self.bill(at);
                Ok(format!("partition {}, not {old}", names.join(",")))
            }
            JobValue::Account(account) => {
                let job = &self.snapshot.jobs[at];
                let association = association_in(&self.snapshot, &job.user, account, &job.partition)?.id;
                let job = &mut self.snapshot.jobs[at];
                job.association = association;
                let old = std::mem::replace(&mut job.account, account.clone());
                Ok(format!("account {account}, not {old}"))
            }
            JobValue::Nice(nice) => {
                let old = std::mem::replace(&mut self.snapshot.jobs[at].nice, *nice);
                Ok(format!("nice value {nice}, not {old}"))
            }
            JobValue::Cpus(cpus) => {
                let job = &mut self.snapshot.jobs[at];
                let old = std::mem::replace(&mut job.cpus, *cpus);
                job.size_cpus = *cpus;
                self.tres(at, "cpu", u64::from(*cpus));
                Ok(format!("{cpus} CPUs, not {old}"))
            }
            JobValue::Nodes(nodes) => {
                let old = std::mem::replace(&mut self.snapshot.jobs[at].nodes, *nodes);
                self.tres(at, "node", u64::from(*nodes));
                Ok(format!("{nodes} nodes, not {old}; its CPUs and memory stay"))
            }
            JobValue::TimeLimit(minutes) => {
                let job = &mut self.snapshot.jobs[at];
                let old = job.limit.replace(*minutes).map_or_else(|| "that of the partition".to_owned(), |old| old.to_string());
                Ok(format!("a time limit of {minutes} minutes, not {old}"))
            }
            JobValue::Hold => {
                let job = &mut self.snapshot.jobs[at];
                (job.priority, job.competes, job.direct) = (0, false, false);
                Ok("it is held".to_owned())
            }
            JobValue::Release => {
                released(&mut self.snapshot.jobs[at], model.at);
                Ok("it is released".to_owned())
            }
        }
    }

    /// Another amount of a TRES, and what that is billed.
    fn tres(&mut self, at: usize, name: &str, amount: u64) {
        let place = self.snapshot.tres.iter().position(|tres| tres.name == name);
        if let Some(count) = place.and_then(|place| self.snapshot.jobs[at].tres.get_mut(place)) {
            *count = amount;
        }
        self.bill(at);
    }

    fn bill(&mut self, at: usize) {
        let mut tres = std::mem::take(&mut self.snapshot.jobs[at].tres);
        let name = &self.snapshot.jobs[at].partition;
        let partition = self.snapshot.partitions.iter().find(|partition| partition.name == *name);
        billing::write(&self.snapshot, partition, &mut tres);
        self.snapshot.jobs[at].tres = tres;
    }
}

/// As `scontrol release` does: factors again, from now on where it has not waited yet.
fn released(job: &mut Job, at: i64) {
    (job.direct, job.competes) = (false, true);
    job.priority = job.priority.max(1);
    if job.accrue == 0 {
        job.accrue = at;
    }
    if job.eligible == 0 {
        job.eligible = at;
    }
}

//! What the host answers: records of `key=value` words, with numbers in exact hexadecimal.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use crate::error::Error;
use crate::extended::Extended;

/// One data line of a reply: its kind and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// First word of the line.
    pub kind: String,
    values: BTreeMap<String, String>,
}

impl Record {
    pub(crate) fn parse(line: &str) -> Self {
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or_default().to_owned();
        let values = words
            .filter_map(|word| word.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Self { kind, values }
    }

    /// The text of a value; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    /// A value as a number.
    ///
    /// # Errors
    /// If it is missing or no such number.
    pub fn get<T: FromStr>(&self, key: &str) -> Result<T, Error> {
        let text = self.text(key);
        text.parse().map_err(|_| Error::Protocol(format!("{} has {key}='{text}'", self.kind)))
    }

    /// A list of numbers; empty if the value is.
    ///
    /// # Errors
    /// If a part is no such number.
    pub fn list<T: FromStr>(&self, key: &str) -> Result<Vec<T>, Error> {
        let text = self.text(key);
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts
            .map(|part| {
                part.parse().map_err(|_| Error::Protocol(format!("{} has {key}='{text}'", self.kind)))
            })
            .collect()
    }

    /// A floating-point value of `double` type.
    ///
    /// # Errors
    /// If it is missing or no number.
    pub fn double(&self, key: &str) -> Result<f64, Error> {
        self.get::<Extended>(key).map(Extended::to_f64)
    }
}

/// An association as it is in memory.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct AssociationRecord {
    pub id: u32,
    pub parent: u32,
    pub uid: u32,
    pub account: String,
    pub user: String,
    pub shares_raw: u32,
    pub level_shares: u32,
    pub usage_raw: Extended,
    pub usage_norm: Extended,
    pub usage_efctv: Extended,
    pub shares_norm: f64,
    pub fs_factor: f64,
    pub level_fs: Extended,
    pub priority_norm: f64,
    pub grp_used_wall: f64,
    pub usage_tres_raw: Vec<Extended>,
    pub run_secs: Vec<u64>,
    /// Usage of this record's own jobs; the same as its usage for users, none for an account without deleted users.
    pub leaf: Option<(Extended, f64, Vec<Extended>)>,
}

impl TryFrom<&Record> for AssociationRecord {
    type Error = Error;

    fn try_from(record: &Record) -> Result<Self, Error> {
        let leaf = if record.text("leaf_usage_raw").is_empty() {
            None
        } else {
            Some((
                record.get("leaf_usage_raw")?,
                record.double("leaf_grp_used_wall")?,
                record.list("leaf_usage_tres_raw")?,
            ))
        };
        Ok(Self {
            id: record.get("id")?,
            parent: record.get("parent")?,
            uid: record.get("uid")?,
            account: record.text("acct").to_owned(),
            user: record.text("user").to_owned(),
            shares_raw: record.get("shares")?,
            level_shares: record.get("level_shares")?,
            usage_raw: record.get("usage_raw")?,
            usage_norm: record.get("usage_norm")?,
            usage_efctv: record.get("usage_efctv")?,
            shares_norm: record.double("shares_norm")?,
            fs_factor: record.double("fs_factor")?,
            level_fs: record.get("level_fs")?,
            priority_norm: record.double("priority_norm")?,
            grp_used_wall: record.double("grp_used_wall")?,
            usage_tres_raw: record.list("usage_tres_raw")?,
            run_secs: record.list("run_secs")?,
            leaf,
        })
    }
}

/// A QOS as it is in memory.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct QosRecord {
    pub id: u32,
    pub name: String,
    pub norm_priority: f64,
    pub usage_raw: Extended,
    pub grp_used_wall: f64,
    pub usage_tres_raw: Vec<Extended>,
    pub run_secs: Vec<u64>,
}

impl TryFrom<&Record> for QosRecord {
    type Error = Error;

    fn try_from(record: &Record) -> Result<Self, Error> {
        Ok(Self {
            id: record.get("id")?,
            name: record.text("name").to_owned(),
            norm_priority: record.double("norm_priority")?,
            usage_raw: record.get("usage_raw")?,
            grp_used_wall: record.double("grp_used_wall")?,
            usage_tres_raw: record.list("usage_tres_raw")?,
            run_secs: record.list("run_secs")?,
        })
    }
}

/// Weighted factors of a job's priority.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct Factors {
    pub age: f64,
    pub association: f64,
    pub fairshare: f64,
    pub job_size: f64,
    pub partition: f64,
    pub qos: f64,
    /// With Slurm's offset of 2^31.
    pub site: u32,
    /// With Slurm's offset of 2^31.
    pub nice: u32,
    pub tres: Vec<Extended>,
    pub tres_weights: Vec<Extended>,
}

impl Factors {
    fn read(record: &Record) -> Result<Option<Self>, Error> {
        if record.text("age").is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            age: record.double("age")?,
            association: record.double("assoc")?,
            fairshare: record.double("fs")?,
            job_size: record.double("js")?,
            partition: record.double("part")?,
            qos: record.double("qos")?,
            site: record.get("site")?,
            nice: record.get("nice")?,
            tres: record.list("tres")?,
            tres_weights: record.list("tres_weights")?,
        }))
    }
}

/// A job as it is in memory.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct JobRecord {
    pub id: u32,
    pub state: u32,
    pub priority: u32,
    pub direct_set_priority: bool,
    pub end_time_expected: i64,
    pub billable_tres: f64,
    /// One priority per partition, for jobs of several.
    pub priority_array: Vec<u32>,
    /// None if the plugin has not computed any yet.
    pub factors: Option<Factors>,
}

impl TryFrom<&Record> for JobRecord {
    type Error = Error;

    fn try_from(record: &Record) -> Result<Self, Error> {
        Ok(Self {
            id: record.get("id")?,
            state: record.get("state")?,
            priority: record.get("priority")?,
            direct_set_priority: record.get::<u32>("direct_set_prio")? != 0,
            end_time_expected: record.get("end_time_exp")?,
            billable_tres: record.double("billable_tres")?,
            priority_array: record.list("priority_array")?,
            factors: Factors::read(record)?,
        })
    }
}

/// One line of `sprio`: what the plugin hands out.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct FactorsObject {
    pub job_id: u32,
    pub user_id: u32,
    pub partition: String,
    pub direct_priority: f64,
    pub factors: Factors,
}

impl TryFrom<&Record> for FactorsObject {
    type Error = Error;

    fn try_from(record: &Record) -> Result<Self, Error> {
        Ok(Self {
            job_id: record.get("id")?,
            user_id: record.get("user_id")?,
            partition: record.text("partition").to_owned(),
            direct_priority: record.double("direct_prio")?,
            factors: Factors::read(record)?
                .ok_or_else(|| Error::Protocol("a factors object without factors".to_owned()))?,
        })
    }
}

/// Everything that a plugin may have written.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Snapshot {
    pub jobs: Vec<JobRecord>,
    pub associations: Vec<AssociationRecord>,
    pub qos: Vec<QosRecord>,
    pub last_job_update: i64,
}

/// How often and how long one lock was held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockStatistic {
    /// Whether by the decay thread, or by any other.
    pub decay_thread: bool,
    /// `job`, `assoc_mgr.assoc`, …
    pub name: String,
    /// Write lock, or read lock.
    pub write: bool,
    /// Times.
    pub count: u64,
    /// Wall-clock time in all.
    pub total: Duration,
    /// Longest time.
    pub longest: Duration,
}

impl TryFrom<&Record> for LockStatistic {
    type Error = Error;

    fn try_from(record: &Record) -> Result<Self, Error> {
        Ok(Self {
            decay_thread: record.text("thread") == "decay",
            name: record.text("name").to_owned(),
            write: record.text("level") == "write",
            count: record.get("count")?,
            total: Duration::from_nanos(record.get("total_ns")?),
            longest: Duration::from_nanos(record.get("longest_ns")?),
        })
    }
}

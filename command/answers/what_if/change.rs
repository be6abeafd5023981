//! What should differ: the options of `multifactor2 what-if` as values.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use multifactor2_core::settings::value::{Kind, Value};
use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::records::Setting;

use super::added::{NewAccount, NewUser};
use super::jobs::JobChange;
use crate::error::Error;
use crate::output::numbers;
use crate::submission::JobOptions;

/// The changes that are asked about. All of them hold together.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[allow(clippy::doc_markdown)] // shown as help
pub struct Changes {
    /// Change shares, such as chem=30, ann@chem=5 or chem=parent
    #[arg(long, value_name = "WHO=SHARES", value_delimiter = ',', help_heading = "Changes")]
    pub shares: Vec<ShareChange>,
    /// Change usage, such as ann@chem=0, ann@chem=+1000h or chem=0; in seconds, or with suffix m, h or d
    #[arg(long, value_name = "WHO=USAGE", value_delimiter = ',', help_heading = "Changes")]
    pub usage: Vec<UsageChange>,
    /// Add an account, such as chem2=30, or chem2=30@science below account science
    #[arg(long, value_name = "NAME=SHARES[@PARENT]", value_delimiter = ',', help_heading = "Changes")]
    pub new_account: Vec<NewAccount>,
    /// Add a user to an account, such as ann@chem=5
    #[arg(long, value_name = "USER@ACCOUNT=SHARES", value_delimiter = ',', help_heading = "Changes")]
    pub new_user: Vec<NewUser>,
    /// Change a waiting job: its id and words of scontrol update in quotes, such as "1001 QOS=high Nice=100"; QOS, Partition,
    /// Account, Nice, NumCPUs, NumNodes, TimeLimit, hold and release
    #[arg(long = "job", value_name = "JOB CHANGES", help_heading = "Changes")]
    pub jobs: Vec<JobChange>,
    /// Change the half-life of usage, such as 14-0; this affects only future decay, so give --at as well
    #[arg(long, value_name = "TIME", value_parser = half_life, help_heading = "Changes")]
    pub half_life: Option<u32>,
    /// Change weights, such as fairshare=50000,age=1000: age, assoc, fairshare, jobsize, partition, qos or a TRES
    #[arg(long = "weight", value_name = "NAME=WEIGHT", value_delimiter = ',', help_heading = "Changes")]
    pub weights: Vec<Weight>,
    /// Change the plugin: stock (with Fair Tree), classic (stock with NO_FAIR_TREE), or multifactor2 with the settings of --conf, else
    /// of PriorityParameters
    #[arg(long, value_name = "PLUGIN", hide_possible_values = true, help_heading = "Changes")]
    pub plugin: Option<Plugin>,
    /// Add a job as if submitted: sbatch options in quotes, such as "-A chem -p gpu --gres=gpu:4 -t 1-0"
    #[arg(long = "submit", value_name = "OPTIONS", help_heading = "Changes", allow_hyphen_values = true)]
    pub submissions: Vec<JobOptions>,
    /// The submitting user [default: you]
    #[arg(long = "as", value_name = "USER", requires = "submissions", help_heading = "Changes")]
    pub submitter: Option<String>,
    /// Remove an account and all below it, with their jobs and usage
    #[arg(
        long = "without-account",
        value_name = "ACCOUNTS",
        value_delimiter = ',',
        help_heading = "Changes"
    )]
    pub without: Vec<String>,
    /// Other settings of ours.
    #[arg(skip)]
    pub settings: Option<Settings>,
}

impl Changes {
    /// Whether nothing is to be different.
    pub fn is_empty(&self) -> bool {
        *self == Self { submitter: self.submitter.clone(), ..Self::default() }
    }
}

/// The settings of another multifactor2.conf.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name of the file.
    pub file: String,
    /// What it and `PriorityParameters` say.
    pub lines: Vec<Setting>,
}

/// An account, or a user in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// Empty for the account itself.
    pub user: String,
    /// The account.
    pub account: String,
}

impl FromStr for Who {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (user, account) = text.split_once('@').unwrap_or(("", text));
        if account.is_empty() || text.starts_with('@') {
            return Err("give an account, or a user and an account such as ann@chem".into());
        }
        Ok(Self { user: user.to_owned(), account: account.to_owned() })
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.user.as_str() {
            "" => write!(f, "account {}", self.account),
            user => write!(f, "user {user} in {}", self.account),
        }
    }
}

/// Other shares of all associations of an account or a user in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareChange {
    /// Whose.
    pub who: Who,
    /// [`USE_PARENT`] for `parent`.
    pub shares: u32,
}

impl FromStr for ShareChange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const ALLOWED: &str = "give an account or user and its shares, such as chem=30, ann@chem=5 or chem=parent";
        let (who, shares) = text.rsplit_once('=').ok_or(ALLOWED)?;
        let shares = if shares.eq_ignore_ascii_case("parent") {
            USE_PARENT
        } else {
            shares.parse().ok().filter(|shares| *shares < USE_PARENT).ok_or(ALLOWED)?
        };
        Ok(Self { who: who.parse()?, shares })
    }
}

/// Other usage of an account or a user in it.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageChange {
    /// Whose.
    pub who: Who,
    /// How much.
    pub amount: Amount,
}

/// Usage, in seconds times billing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So much.
    Is(f64),
    /// So much more; less where it is negative.
    More(f64),
}

impl FromStr for UsageChange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const ALLOWED: &str =
            "give a user or account and its usage, such as ann@chem=0 or ann@chem=+1000h; units are s, m, h and d";
        let (who, amount) = text.rsplit_once('=').ok_or(ALLOWED)?;
        let (number, seconds) = match amount.char_indices().next_back().ok_or(ALLOWED)? {
            (at, 's') => (&amount[..at], 1.0),
            (at, 'm') => (&amount[..at], 60.0),
            (at, 'h') => (&amount[..at], 3600.0),
            (at, 'd') => (&amount[..at], 86_400.0),
            _ => (amount, 1.0),
        };
        let number: f64 = number.parse().map_err(|_| ALLOWED)?;
        let usage = number * seconds;
        if !usage.is_finite() || usage.abs() > MOST_USAGE {
            return Err(ALLOWED.into());
        }
        let amount = if amount.starts_with(['+', '-']) { Amount::More(usage) } else { Amount::Is(usage) };
        Ok(Self { who: who.parse()?, amount })
    }
}

/// More than a machine of a billion CPUs in a hundred years.
const MOST_USAGE: f64 = 1e20;

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Self::Is(usage) => f.write_str(&numbers::usage(usage)),
            Self::More(more) if more < 0.0 => write!(f, "{} less", numbers::usage(-more)),
            Self::More(more) => write!(f, "{} more", numbers::usage(more)),
        }
    }
}

/// A weight of slurm.conf.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// What it is of.
    pub of: Weighted,
    /// From 0 to 4294967295; of a TRES any number that is not negative.
    pub weight: f64,
}

/// What has a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weighted {
    /// The name of the parameter behind `PriorityWeight`.
    Factor(&'static str),
    /// One of `PriorityWeightTRES`.
    Tres(String),
}

const FACTORS: [&str; 6] = ["Age", "Assoc", "FairShare", "JobSize", "Partition", "QOS"];

impl FromStr for Weight {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = FACTORS.join(", ");
        let bad = || {
            format!("give a name and a weight from 0 to 4294967295, such as fairshare=50000; known names are {known} \
                     and the TRES of the cluster")
        };
        let (name, weight) = text.split_once('=').ok_or_else(bad)?;
        let factor = FACTORS.iter().find(|factor| factor.eq_ignore_ascii_case(name));
        let of =
            factor.map_or_else(|| Weighted::Tres(name.to_ascii_lowercase()), |name| Weighted::Factor(name));
        let weight = match of {
            Weighted::Factor(_) => weight.parse::<u32>().ok().map(f64::from),
            Weighted::Tres(_) => {
                weight.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0)
            }
        };
        Ok(Self { of, weight: weight.ok_or_else(bad)? })
    }
}

/// A plugin, with its algorithm where it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plugin {
    /// priority/multifactor with Fair Tree
    #[value(alias = "fair-tree")]
    Stock,
    /// priority/multifactor with `PriorityFlags=NO_FAIR_TREE`
    Classic,
    /// priority/multifactor2; its settings are those of --conf, else of `PriorityParameters`
    Multifactor2,
}

fn half_life(text: &str) -> Result<u32, Error> {
    match Kind::Duration.read(text) {
        Some(Value::Duration(seconds)) => u32::try_from(seconds).map_err(|_| "this is too long".into()),
        _ => Err("give a time such as 14-0 for fourteen days, or 0 for no decay".into()),
    }
}

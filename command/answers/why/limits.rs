//! The limit that holds a job: where it is set, how much of it is used, and who uses most.

use multifactor2_snapshot::records::{Association, Job};
use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::limits::{field, Field, Per};

use super::named;
use crate::input::commands;
use crate::input::parse::associations::{self, User};
use crate::input::parse::limits::{self, Amount, Amounts, Limits, OfQos};
use crate::input::texts::Texts;
use crate::model::Model;
use crate::output::numbers::number;

/// A limit that is set, of the kind that Slurm's reason names.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LimitInForce {
    /// Whose it is, such as `account chem` or `QOS high for user ada`.
    pub of: String,
    /// As `scontrol show assoc_mgr` calls it, such as `MaxJobs` or `GrpTRES=cpu`.
    pub name: String,
    /// How much there may be; memory in MB.
    pub limit: f64,
    /// How much is used; `None` for a limit of a single job.
    pub used: Option<f64>,
    /// The largest users of it, at most five; empty if unknown.
    pub most: Vec<UsedBy>,
}

/// A part of what is used.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsedBy {
    /// Who.
    pub name: String,
    /// How much.
    pub used: f64,
}

/// How many are named.
const NAMED: usize = 5;

impl LimitInForce {
    /// In words.
    pub fn in_words(&self) -> String {
        let used = self.used.map_or_else(String::new, |used| format!(", {} used", number(used)));
        let most: Vec<String> =
            self.most.iter().map(|by| format!("{} {}", by.name, number(by.used))).collect();
        let most = if most.is_empty() { String::new() } else { format!("; most by {}", most.join(", ")) };
        format!("{} of {}: {}{used}{most}", self.name, self.of, number(self.limit))
    }
}

/// The limits that a field may mean, from the root down, of what can be seen; `None` if nobody told limits.
fn of(model: &Model<'_>, texts: &Texts, job: usize, field: &Field) -> Option<Vec<LimitInForce>> {
    let text = texts.texts.get(commands::ASSOCIATIONS)?;
    let told = limits::limits(text);
    let mut found = Vec::new();
    if field.is_of_qos {
        let record = &model.snapshot.jobs[job];
        let partition = model.snapshot.partitions.iter().find(|partition| partition.name == record.partition);
        let names = [Some(&record.qos), partition.map(|partition| &partition.qos)];
        let users = associations::all(text).users;
        for name in names.into_iter().flatten() {
            if let Some(qos) = told.qos.get(name) {
                of_qos(model, &mut found, field, record, (name, qos), &users);
            }
        }
    } else {
        let path = model.jobs[job].association.map(|association| model.tree.path(association)).unwrap_or_default();
        for place in path {
            let id = model.snapshot.associations[place].id;
            if let Some(amounts) = told.associations.get(&id) {
                add(&mut found, field, &named(model, place), amounts, |key| below(model, &told, id, key));
            }
        }
    }
    Some(found)
}

/// Those of a QOS that a job counts for.
fn of_qos(
    model: &Model<'_>,
    found: &mut Vec<LimitInForce>,
    field: &Field,
    job: &Job,
    (name, qos): (&str, &OfQos),
    users: &[User],
) {
    let (whose, amounts) = match field.per {
        Per::All => (String::new(), Some(&qos.all)),
        Per::User => {
            let uid = users.iter().find(|user| user.name == job.user).map(|user| user.uid);
            (format!(" for user {}", job.user), uid.and_then(|uid| qos.users.get(&uid)))
        }
        Per::Account => {
            // A name that reads as another account's limit brings one that is no account.
            let is_account = |name: &String| model.snapshot.associations.iter().any(|row| row.account == *name);
            let amounts = qos.accounts.get(&job.account).filter(|_| qos.accounts.keys().all(is_account));
            (format!(" for account {}", job.account), amounts)
        }
    };
    let by_user = |key: &str| {
        let key = per_user(key);
        let one = |(uid, amounts): (&u32, &Amounts)| {
            let user = users.iter().find(|user| user.uid == *uid);
            let name = user.map_or_else(|| uid.to_string(), |user| user.name.clone());
            Some(UsedBy { name, used: amounts.get(&key)?.1? })
        };
        qos.users.iter().filter_map(one).collect()
    };
    if let Some(amounts) = amounts {
        add(found, field, &format!("QOS {name}{whose}"), amounts, |key| match field.per {
            Per::All => by_user(key),
            Per::User | Per::Account => Vec::new(),
        });
    }
}

/// The field of a user for one of all: `MaxJobsPU` for `GrpJobs`, `MaxTRESPU=cpu` for `GrpTRES=cpu`.
fn per_user(key: &str) -> String {
    let (name, tres) = key.split_once('=').map_or((key, None), |(name, tres)| (name, Some(tres)));
    let name = format!("{}PU", name.replacen("Grp", "Max", 1));
    tres.map_or(name.clone(), |tres| format!("{name}={tres}"))
}

fn add(
    found: &mut Vec<LimitInForce>,
    field: &Field,
    of: &str,
    amounts: &Amounts,
    most: impl Fn(&str) -> Vec<UsedBy>,
) {
    for (key, (limit, used)) in amounts.iter().filter(|(key, _)| field.has(key)) {
        let Some(limit) = *limit else { continue };
        let mut most: Vec<UsedBy> = most(key).into_iter().filter(|by| by.used > 0.0).collect();
        most.sort_by(|a, b| b.used.total_cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
        most.truncate(NAMED);
        found.push(LimitInForce { of: of.to_owned(), name: key.clone(), limit, used: *used, most });
    }
}

/// What those right below an association use; none if not all of them are told.
fn below(model: &Model<'_>, told: &Limits, id: u32, key: &str) -> Vec<UsedBy> {
    let all = model.snapshot.associations.iter().zip(0..).filter(|(row, _)| row.parent == id);
    let one = |(row, place): (&Association, usize)| {
        let (_, used): &Amount = told.associations.get(&row.id)?.get(key)?;
        Some(UsedBy { name: named(model, place), used: (*used)? })
    };
    all.map(one).collect::<Option<Vec<_>>>().unwrap_or_default()
}

impl super::Why {
    /// Says of the limit that the reason names, if it names one, where it is set and how much of it is used.
    pub(super) fn look_at_limits(&mut self, model: &Model<'_>, texts: Option<&Texts>, job: usize) {
        let Some(field) = field(&model.snapshot.jobs[job].reason) else { return };
        let Some(limits) = texts.and_then(|texts| of(model, texts, job, &field)) else {
            self.details.push("The limit and its usage are not known: Slurm was not asked or did not answer.".to_owned());
            return;
        };
        let may_hide = !field.is_of_qos && model.snapshot.about.partial_tree;
        match (limits.is_empty(), may_hide) {
            (true, true) => self.details.push(format!(
                "The limit is one of {} or an account above, which PrivateData=usage hides.",
                self.account
            )),
            (true, false) => self.details.push("'scontrol show assoc_mgr' shows no limit of that kind now.".to_owned()),
            (false, true) => self.details.push("Limits of accounts above may be hidden.".to_owned()),
            (false, false) => {}
        }
        self.details.extend(limits.iter().map(|limit| format!("{}.", limit.in_words())));
        self.limits = limits;
    }
}

//! Finds the limits that would hold a job in an account, or reject it there, given the usage that `scontrol show assoc_mgr` reports now.
//!
//! The rules are those of `acct_policy_job_runnable_pre_select` and `acct_policy_job_runnable_post_select` in
//! `src/slurmctld/acct_policy.c`. The first QOS that sets a limit overrides the second, and both override the associations. Limits per job
//! and per user apply only at the user's association, which inherits those of the accounts above. Group limits on nodes are left out: a
//! node that the group already uses counts once, and nobody knows which nodes a job will get.

use std::collections::HashSet;

use multifactor2_core::settings::enforced::in_full;
use multifactor2_snapshot::records::Job;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::why::named;
use crate::input::commands;
use crate::input::parse::limits::{self, Amounts, Limits, OfQos};
use crate::input::parse::{associations, qos};
use crate::input::texts::Texts;
use crate::model::Model;
use crate::output::numbers::number;

/// A limit that the job would reach or go beyond.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reached {
    /// Whose it is, such as `account chem` or `QOS high for user ada`.
    pub of: String,
    /// As `scontrol show assoc_mgr` calls it, such as `MaxJobs` or `GrpTRES=cpu`.
    pub name: String,
    /// How much there may be; memory in MB, times in minutes.
    pub limit: f64,
    /// How much is used; `None` for a limit of a single job.
    pub used: Option<f64>,
    /// How much the job asks for of it; 1 of a limit on jobs.
    pub asked: f64,
}

impl Reached {
    /// Jobs beyond it are not taken, instead of held.
    pub(super) fn is_of_submission(&self) -> bool {
        self.name.contains("SubmitJobs")
    }

    /// In words.
    pub fn in_words(&self) -> String {
        let used = self.used.map_or_else(String::new, |used| format!(", {} used", number(used)));
        format!("{} of {}: {}{used}, {} asked for", self.name, self.of, number(self.limit), number(self.asked))
    }
}

/// What a job asks for, as limits count it.
pub(super) struct Asked<'a> {
    pub job: &'a Job,
    pub billing: f64,
    /// Its time limit; `None` if it has none.
    pub seconds: Option<u64>,
    /// `UsageFactor` of its QOS.
    pub usage_factor: f64,
    /// It is counted already, as it is submitted.
    pub is_submitted: bool,
}

/// What Slurm tells of limits, as far as it counts for one job.
pub(super) struct Told<'m> {
    model: &'m Model<'m>,
    limits: Limits,
    uid: Option<u32>,
    /// QOS in the order in which they count.
    qos: Vec<String>,
    /// `LimitFactor` of the first QOS that has one.
    factor: f64,
    /// Times count times `UsageFactor`.
    is_usage_factor_safe: bool,
    /// A job starts only if all of it fits.
    is_safe: bool,
}

/// What can be said of limits here.
pub(super) enum Known<'m> {
    /// slurmctld enforces none.
    NotEnforced,
    /// This is not known, so neither are limits.
    Not(&'static str),
    /// They are told.
    Told(Box<Told<'m>>),
}

/// What is told of those that count for a job.
pub(super) fn told<'m>(model: &'m Model<'m>, texts: Option<&Texts>, job: &Job) -> Known<'m> {
    let enforced = in_full(model.snapshot.parameter("AccountingStorageEnforce").unwrap_or_default());
    let is_safe = enforced.contains("safe");
    if !enforced.contains("limits") {
        return Known::NotEnforced;
    }
    let Some(text) = texts.and_then(|texts| texts.texts.get(commands::ASSOCIATIONS)) else {
        return Known::Not("'scontrol show assoc_mgr' was not asked or did not answer");
    };
    let (declared, _) = qos::qos(texts.map_or("", |texts| texts.text(commands::QOS)));
    let partition = model.snapshot.partitions.iter().find(|partition| partition.name == job.partition);
    let mut names = vec![job.qos.clone()];
    names.extend(partition.map(|partition| partition.qos.clone()));
    names.retain(|name| !name.is_empty());
    names.dedup();
    let find = |name: &String| declared.iter().find(|qos| qos.name == *name);
    let Some(own) = names.iter().map(find).collect::<Option<Vec<_>>>() else {
        return Known::Not("sacctmgr does not show the flags of the QOS");
    };
    let has_flag = |of: &qos::Declared, flag: &str| of.flags.iter().any(|one| one.eq_ignore_ascii_case(flag));
    if own.iter().any(|qos| has_flag(qos, "Relative")) {
        return Known::Not("limits of a QOS with the flag Relative are percentages of the cluster");
    }
    let first = own.first().filter(|_| !job.qos.is_empty());
    let is_usage_factor_safe = first.is_some_and(|qos| has_flag(qos, "UsageFactorSafe"));
    if !first.is_some_and(|qos| has_flag(qos, "OverPartQOS")) {
        names.reverse();
    }
    let factor = names.iter().filter_map(find).find_map(|qos| qos.limit_factor).unwrap_or(1.0);
    let users = associations::all(text).users;
    let uid = users.iter().find(|user| user.name == job.user).map(|user| user.uid);
    let limits = limits::limits(text);
    Known::Told(Box::new(Told { model, limits, uid, qos: names, factor, is_usage_factor_safe, is_safe }))
}

impl Told<'_> {
    /// Those that a job would reach in an association of its user; `None` if none of those that can be seen is, and others may be hidden.
    pub(super) fn reached(&self, association: u32, asked: &Asked<'_>) -> Option<Vec<Reached>> {
        let place = self.model.tree.by_id(association)?;
        let account = &self.model.snapshot.associations[place].account;
        let mut reached = Looked { told: self, asked, set: HashSet::new(), found: Vec::new() };
        let mut knows_jobs_of_one = true;
        for name in &self.qos {
            let qos = self.limits.qos.get(name)?;
            reached.look(&format!("QOS {name}"), &qos.all, 1.0, |_| true);
            let (by_account, by_user) = (self.by_account(qos, account), self.by_user(qos));
            knows_jobs_of_one &= by_account.is_some() && by_user.is_some();
            reached.look(
                &format!("QOS {name} for account {account}"),
                &by_account.unwrap_or_default(),
                1.0,
                |_| true,
            );
            let user = format!("QOS {name} for user {}", asked.job.user);
            reached.look(&user, &by_user.unwrap_or_default(), 1.0, |_| true);
        }
        if reached.set.contains("MaxJobsPU") || reached.set.contains("MaxJobsPA") || !knows_jobs_of_one {
            // A limit of a QOS stands before it, or may stand before it.
            reached.set.insert("MaxJobs".to_owned());
        }
        for place in self.model.tree.path(place).into_iter().rev() {
            let row = &self.model.snapshot.associations[place];
            let amounts = self.limits.associations.get(&row.id)?;
            let is_of_user = row.id == association;
            let counts = |key: &str| is_of_user || key.starts_with("Grp");
            reached.look(&named(self.model, place), amounts, self.factor, counts);
        }
        let may_hide = self.model.snapshot.about.partial_tree;
        Some(reached.found).filter(|found| !found.is_empty() || !may_hide)
    }

    /// Limits of each user and what this one uses: nothing, where only others are told. `None` if nobody is.
    fn by_user(&self, qos: &OfQos) -> Option<Amounts> {
        let own = self.uid.and_then(|uid| qos.users.get(&uid));
        own.cloned().or_else(|| qos.users.values().next().map(unused))
    }

    /// The same of accounts. A name that reads as another account's limit brings one that is no account.
    fn by_account(&self, qos: &OfQos, account: &str) -> Option<Amounts> {
        let is_account = |name: &String| self.model.snapshot.associations.iter().any(|row| row.account == *name);
        if !qos.accounts.keys().all(is_account) {
            return None;
        }
        qos.accounts.get(account).cloned().or_else(|| qos.accounts.values().next().map(unused))
    }
}

/// The same limits with nothing used.
fn unused(amounts: &Amounts) -> Amounts {
    amounts.iter().map(|(key, (limit, used))| (key.clone(), (*limit, used.map(|_| 0.0)))).collect()
}

/// What was found so far.
struct Looked<'t, 'a> {
    told: &'t Told<'t>,
    asked: &'t Asked<'a>,
    /// The limits that a QOS has set, which count instead of later ones.
    set: HashSet<String>,
    found: Vec<Reached>,
}

impl Looked<'_, '_> {
    fn look(&mut self, of: &str, amounts: &Amounts, factor: f64, counts: impl Fn(&str) -> bool) {
        let is_qos = of.starts_with("QOS ");
        for (key, (limit, used)) in amounts {
            let Some(limit) = limit.filter(|_| counts(key) && !self.set.contains(key)) else { continue };
            if is_qos {
                self.set.insert(key.clone());
            }
            let is_scaled = factor > 0.0 && (key.starts_with("GrpTRES=") || key.starts_with("MaxTRESPJ="));
            let limit = if is_scaled { (limit * factor).trunc() } else { limit };
            let running = key.strip_prefix("GrpTRESMins=").and_then(|tres| {
                let (_, used) = amounts.get(&format!("GrpTRESRunMins={tres}"))?;
                *used
            });
            if let Some(asked) = self.goes_beyond(key, limit, *used, running) {
                self.found.push(Reached { of: of.to_owned(), name: key.clone(), limit, used: *used, asked });
            }
        }
    }

    /// How much the job asks for of a limit, where that is too much. `running`: what running jobs may still use of it.
    fn goes_beyond(&self, key: &str, limit: f64, used: Option<f64>, running: Option<f64>) -> Option<f64> {
        let (name, tres) = key.split_once('=').map_or((key, None), |(name, tres)| (name, Some(tres)));
        let is_safe = self.told.is_safe;
        // A QOS that counts nothing is counted nothing.
        let is_free = self.asked.usage_factor == 0.0 && name.contains("Mins");
        let (used, running) = if is_free { (used.map(|_| 0.0), None) } else { (used, running) };
        match name {
            "GrpJobs" | "MaxJobs" | "MaxJobsPU" | "MaxJobsPA" => Some(1.0).filter(|_| used >= Some(limit)),
            "GrpSubmitJobs" | "MaxSubmitJobs" | "MaxSubmitJobsPU" | "MaxSubmitJobsPA" => {
                Some(1.0).filter(|_| !self.asked.is_submitted && used >= Some(limit))
            }
            "GrpWall" => {
                let (used, asked) = (used?.trunc(), self.minutes().unwrap_or(0.0));
                Some(asked).filter(|_| used >= limit || is_safe && used + asked > limit)
            }
            "MaxWallPJ" => self.minutes().filter(|asked| *asked > limit),
            "GrpTRES" | "MaxTRESPU" | "MaxTRESPA" if tres != Some("node") => {
                self.count(tres?).filter(|asked| *asked > 0.0 && used.is_some_and(|used| used + asked > limit))
            }
            "MaxTRESPJ" => self.count(tres?).filter(|asked| *asked > limit),
            "MaxTRESPN" => {
                let nodes = self.count("node").filter(|nodes| *nodes > 0.0)?;
                self.count(tres?).map(|asked| (asked / nodes).trunc()).filter(|asked| *asked > limit)
            }
            "MaxTRESMinsPJ" => self.product(tres?).filter(|asked| *asked > limit),
            "GrpTRESRunMins" | "MaxTRESRunMinsPU" | "MaxTRESRunMinsPA" => {
                self.product(tres?).filter(|asked| *asked > 0.0 && used.is_some_and(|used| used + asked > limit))
            }
            "GrpTRESMins" => {
                let (asked, used) = (self.product(tres?).filter(|asked| *asked > 0.0)?, used?.trunc());
                let fits = !is_safe || asked + used + running.unwrap_or(0.0) <= limit;
                Some(asked).filter(|_| used >= limit || !fits)
            }
            _ => None,
        }
    }

    /// How much it asks for of a TRES; `None` if that is not known.
    fn count(&self, name: &str) -> Option<f64> {
        if name == "billing" {
            return Some(self.asked.billing.trunc());
        }
        let snapshot = self.told.model.snapshot;
        let place = snapshot.tres.iter().position(|tres| tres.name == name)?;
        #[allow(clippy::cast_precision_loss)] // counts and MB
        self.asked.job.tres.get(place).map(|count| *count as f64)
    }

    fn minutes(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss)] // minutes
        let minutes = self.asked.seconds.map(|seconds| (seconds / 60) as f64)?;
        Some(if self.told.is_usage_factor_safe { (minutes * self.asked.usage_factor).trunc() } else { minutes })
    }

    fn product(&self, tres: &str) -> Option<f64> {
        self.count(tres).zip(self.minutes()).map(|(count, minutes)| count * minutes)
    }
}

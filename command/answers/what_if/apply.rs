//! Applies changes to a snapshot: the result is what slurmctld would have after sacctmgr(1) or with another slurm.conf.

use std::collections::HashSet;

use multifactor2_core::policy::points::{Parts, Points};
use multifactor2_core::settings::{UsageMeasure, PARAMETERS};
use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::records::{Association, Setting};
use multifactor2_snapshot::Snapshot;

use super::jobs::JobChange;
use super::tree_usage::ONLY_MORE;
use super::change::{Amount, Changes, Plugin, ShareChange, UsageChange, Weight, Weighted, Who};
use crate::error::Error;
use crate::input;
use crate::model::{lacks_size, Algorithm, Model};
use crate::output::numbers;

/// A changed snapshot.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// It.
    pub snapshot: Snapshot,
    /// What is different, one sentence each.
    pub said: Vec<String>,
    /// What cannot be known of it, one sentence each.
    pub remarks: Vec<String>,
    /// The ids of the jobs that were added.
    pub submitted: Vec<u32>,
}

/// What an addend is multiplied with that Slurm shows under an old weight; `None` if it shows none.
fn ratio(old: f64, new: f64) -> Option<f64> {
    if old > 0.0 {
        return Some(new / old);
    }
    (old != 0.0 || new <= 0.0).then_some(0.0)
}

/// What to say where partitions overlap in a way that the cluster's size cannot be told from.
const NO_SIZE: &str = "the size of the cluster is not known here";
const SIZE_FROM: &str = "use a snapshot of the plugin with --from, or let the administrator set SnapshotPublic";

/// Applies changes to the snapshot of a model. Their order makes no difference.
///
/// # Errors
/// Somebody or something that is named is not there, or what the change is about is not known.
pub fn apply(model: &Model<'_>, changes: &Changes) -> Result<Changed, Error> {
    let mut edited = Changed { snapshot: model.snapshot.clone(), ..Changed::default() };
    edited.plugin(model, changes)?;
    edited.check_fair_share(model, changes)?;
    if changes.plugin.is_some() || changes.settings.is_some() {
        edited.tree_usage(model)?;
    }
    if let Some(seconds) = changes.half_life {
        edited.half_life(model, seconds);
    }
    for weight in &changes.weights {
        edited.weight(model, weight)?;
    }
    for account in &changes.new_account {
        edited.new_account(account)?;
    }
    for user in &changes.new_user {
        edited.new_user(user)?;
    }
    for share in &changes.shares {
        edited.shares(share)?;
    }
    for usage in &changes.usage {
        edited.usage(model, usage)?;
    }
    for job in &changes.jobs {
        edited.job(model, job)?;
    }
    for options in &changes.submissions {
        let user = changes.submitter.as_deref().unwrap_or_default();
        let submission = options.job(&edited.snapshot, user, model.at)?;
        let mut job = submission.job;
        if lacks_size(model.snapshot) && edited.weight_of("PriorityWeightJobSize") > 0.0 {
            return Err(format!("--submit: {NO_SIZE}, so JOBSIZE of a new job cannot be computed: {SIZE_FROM}").into());
        }
        if !model.shares.is_computed() {
            // What the next job of the user would get, as sshare shows it.
            let factor = edited.snapshot.associations.iter().find(|one| one.id == job.association);
            if let Some(factor) = factor.and_then(|association| association.factor) {
                job.fair_share = factor * f64::from(model.config.factors.weights.fair_share);
                job.is_computed = true;
            }
        }
        edited.said.push(format!(
            "{} submits job {} to account {}, partition {}.",
            job.user, job.id, job.account, job.partition
        ));
        edited.remarks.extend(submission.assumed);
        edited.submitted.push(job.id);
        edited.snapshot.jobs.push(job);
    }
    for account in &changes.without {
        edited.without(account)?;
    }
    Ok(edited)
}

impl Changed {
    fn set_parameter(&mut self, name: &str, value: String) {
        let known = self.snapshot.parameters.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
        self.snapshot.parameters.insert(known.unwrap_or_else(|| name.to_owned()), value);
    }

    fn plugin(&mut self, model: &Model<'_>, changes: &Changes) -> Result<(), Error> {
        if let Some(plugin) = changes.plugin {
            let kind = match plugin {
                Plugin::Multifactor2 => "priority/multifactor2",
                Plugin::Stock | Plugin::Classic => "priority/multifactor",
            };
            kind.clone_into(&mut self.snapshot.about.priority_type);
            self.set_parameter("PriorityType", kind.to_owned());
            if plugin != Plugin::Multifactor2 {
                self.flags(plugin == Plugin::Classic);
                self.without_points(model);
            }
            self.said.push(format!(
                "The plugin is {}.",
                match plugin {
                    Plugin::Multifactor2 => Algorithm::Multifactor2,
                    Plugin::Stock => Algorithm::FairTree,
                    Plugin::Classic => Algorithm::Classic,
                }
                .described()
            ));
        }
        let is_ours = self.snapshot.about.priority_type == "priority/multifactor2";
        match &changes.settings {
            Some(_) if !is_ours => {
                return Err("--conf: only priority/multifactor2 reads multifactor2.conf: give --plugin multifactor2 as well".into());
            }
            Some(settings) => {
                self.said.push(format!("The settings are those of {}.", settings.file));
                self.points_may_be_told_apart(model);
                self.snapshot.settings = Some(settings.lines.clone());
            }
            None if is_ours && model.config.algorithm != Algorithm::Multifactor2 => {
                self.remarks.push(
                    "The settings of multifactor2 are PriorityParameters and the defaults: give others with --conf."
                        .to_owned(),
                );
                self.points_may_be_told_apart(model);
                self.snapshot.settings = Some(of_parameters(&self.snapshot)?);
            }
            None => (),
        }
        Ok(())
    }

    fn flags(&mut self, is_classic: bool) {
        const ENDS_FAIR_TREE: [&str; 2] = ["NO_FAIR_TREE", "DEPTH_OBLIVIOUS"];
        let flags = self.snapshot.parameter("PriorityFlags").unwrap_or_default();
        let mut flags: Vec<&str> =
            flags.split(',').map(str::trim).filter(|flag| !matches!(*flag, "" | "(null)")).collect();
        let ends = |flag: &&str| ENDS_FAIR_TREE.iter().any(|known| flag.eq_ignore_ascii_case(known));
        if !is_classic {
            flags.retain(|flag| !ends(flag));
        } else if !flags.iter().any(ends) {
            flags.push(ENDS_FAIR_TREE[0]);
        }
        let flags = flags.join(",");
        self.set_parameter("PriorityFlags", flags);
    }

    /// Stock has none.
    fn without_points(&mut self, model: &Model<'_>) {
        let (told_apart, asked_for) = (self.has_points(), gives_points(model));
        if !told_apart && asked_for != Some(false) && model.config.algorithm == Algorithm::Multifactor2 {
            self.remarks.push(
                "Slurm's commands show points and site factor as one number, so SITE stays as it is. A snapshot of the plugin has both."
                    .to_owned(),
            );
        }
        self.snapshot.settings = None;
        for job in &mut self.snapshot.jobs {
            job.points.clear();
            job.tickets.clear();
        }
        for entry in &mut self.snapshot.entries {
            entry.points = 0.0;
        }
    }

    fn has_points(&self) -> bool {
        self.snapshot.jobs.iter().any(|job| !job.points.is_empty())
    }

    /// Where nothing gives points, SITE is the site factor alone.
    fn points_may_be_told_apart(&mut self, model: &Model<'_>) {
        if !self.has_points() && gives_points(model) == Some(false) {
            for job in &mut self.snapshot.jobs {
                job.points = vec![0.0; Parts::default().by_word().count() + 1];
            }
        }
    }

    /// What shares, usage and accounts do can only be told where fair-share is computed.
    fn check_fair_share(&self, model: &Model<'_>, changes: &Changes) -> Result<(), Error> {
        let is_about_fair_share = !changes.shares.is_empty()
            || !changes.usage.is_empty()
            || !changes.new_account.is_empty()
            || !changes.new_user.is_empty()
            || changes.jobs.iter().any(JobChange::is_about_fair_share)
            || !changes.without.is_empty()
            || changes.plugin.is_some()
            || changes.settings.is_some();
        if !is_about_fair_share {
            return Ok(());
        }
        if model.whole_tree().is_none() {
            return Err("only some associations are visible, so the effect on fair-share cannot be computed: ask as an operator, or \
                        use a snapshot of the plugin with --from".into());
        }
        if self.snapshot.about.priority_type == "priority/multifactor2" && self.snapshot.settings.is_none() {
            return Err("the settings of multifactor2 are not known, so the effect on FAIRSHARE and SITE cannot be computed: give \
                        multifactor2.conf with --conf, or a snapshot of the plugin with --from".into());
        }
        Ok(())
    }

    fn half_life(&mut self, model: &Model<'_>, seconds: u32) {
        self.set_parameter("PriorityDecayHalfLife", numbers::span(seconds.into()));
        let now = match seconds {
            0 => "usage does not decay".to_owned(),
            seconds => format!("usage halves every {}", numbers::span(seconds.into())),
        };
        self.said.push(format!("From now on {now}."));
        if self.tree_windows().is_some() {
            self.remarks.push("Shares use windows (TreeUsage=window): this changes only RawUsage.".to_owned());
            return;
        }
        let mut remark = "Present usage stays: only its future decay changes.".to_owned();
        if model.at <= model.snapshot.about.time {
            remark += " So nothing changes yet; see later times with --at, such as --at +14-0.";
        }
        self.remarks.push(remark);
    }

    fn weight(&mut self, model: &Model<'_>, change: &Weight) -> Result<(), Error> {
        let weight = change.weight;
        match &change.of {
            Weighted::Factor(name) => {
                let parameter = format!("PriorityWeight{name}");
                let old = self.weight_of(&parameter);
                if *name == "FairShare" && !model.shares.is_computed() {
                    self.scale_fair_share(old, weight)?;
                }
                if *name == "JobSize" && lacks_size(model.snapshot) {
                    self.scale_job_size(old, weight)?;
                }
                self.set_parameter(&parameter, format!("{weight:.0}"));
                self.said.push(format!("{parameter} is {weight}, not {old}."));
            }
            Weighted::Tres(name) => {
                let known =
                    || self.snapshot.tres.iter().map(|tres| tres.name.clone()).collect::<Vec<_>>().join(", ");
                let at = self.snapshot.tres.iter().position(|tres| tres.name.eq_ignore_ascii_case(name));
                let at = at.ok_or_else(|| {
                    format!(
                        "--weight {name}: no such factor or TRES; TRES are {}",
                        known()
                    )
                })?;
                if !self.snapshot.jobs.is_empty() && self.snapshot.jobs.iter().all(|job| job.tres.is_empty())
                {
                    return Err(format!("--weight {name}: the TRES that jobs request are not known here: use a snapshot of the \
                     plugin with --from").into());
                }
                let old = self.snapshot.tres[at].weight.replace(weight).unwrap_or(0.0);
                self.said.push(format!(
                    "The weight of {} in PriorityWeightTRES is {weight}, not {old}.",
                    self.snapshot.tres[at].name
                ));
            }
        }
        Ok(())
    }

    /// A weight of slurm.conf; 0 if it is not set.
    fn weight_of(&self, parameter: &str) -> f64 {
        self.snapshot.parameter(parameter).and_then(|weight| weight.trim().parse().ok()).unwrap_or(0.0)
    }

    /// Fair-share is what Slurm shows: the factor stays, the weight is another.
    fn scale_fair_share(&mut self, old: f64, weight: f64) -> Result<(), Error> {
        let by = ratio(old, weight).ok_or(
            "--weight fairshare: the fair-share factors cannot be computed here, and Slurm does not show them while the weight is 0: use \
             a snapshot of the plugin with --from",
        )?;
        self.snapshot.jobs.iter_mut().for_each(|job| job.fair_share *= by);
        self.snapshot.entries.iter_mut().for_each(|entry| entry.fair_share *= by);
        Ok(())
    }

    /// The same of the size of jobs, where that of the cluster is not known.
    fn scale_job_size(&mut self, old: f64, weight: f64) -> Result<(), Error> {
        let by = ratio(old, weight).ok_or_else(|| {
            format!("--weight jobsize: {NO_SIZE}, and Slurm does not show JOBSIZE while its weight is 0: {SIZE_FROM}")
        })?;
        self.snapshot.jobs.iter_mut().for_each(|job| job.job_size *= by);
        Ok(())
    }

    pub(super) fn find(&self, who: &Who) -> Result<Vec<usize>, Error> {
        let is_meant = |one: &Association| one.user == who.user && one.account == who.account;
        let all = self.snapshot.associations.iter().enumerate();
        let found: Vec<usize> = all.filter(|(_, one)| is_meant(one)).map(|(at, _)| at).collect();
        if found.is_empty() {
            return Err(format!("there is no {who} here: see 'multifactor2 tree'").into());
        }
        Ok(found)
    }

    fn shares(&mut self, change: &ShareChange) -> Result<(), Error> {
        for at in self.find(&change.who)? {
            let association = &mut self.snapshot.associations[at];
            if association.parent == 0 {
                return Err(format!("--shares: {} is the root, which has no siblings to share with", change.who).into());
            }
            let old = std::mem::replace(&mut association.shares, change.shares);
            let word = |shares| if shares == USE_PARENT { "parent".to_owned() } else { format!("{shares}") };
            self.said.push(format!(
                "The shares of {} are {}, not {}.",
                change.who,
                word(change.shares),
                word(old)
            ));
        }
        Ok(())
    }

    fn usage(&mut self, model: &Model<'_>, change: &UsageChange) -> Result<(), Error> {
        let UsageChange { who, amount } = change;
        let is_reset = *amount == Amount::Is(0.0);
        if who.user.is_empty() && !is_reset {
            return Err(format!(
                "--usage: the usage of {who} comes from its users: name a user, or give 0"
            )
            .into());
        }
        let is_dominant =
            model.config.settings.as_ref().is_some_and(|ours| ours.usage_measure == UsageMeasure::Dominant);
        if is_dominant && !is_reset {
            return Err(
                "--usage: with UsageMeasure=dominant usage depends on the TRES of the jobs: give 0"
                    .into(),
            );
        }
        let in_windows = self.tree_windows().is_some();
        if in_windows && !is_reset && !matches!(amount, Amount::More(more) if *more >= 0.0) {
            return Err(ONLY_MORE.into());
        }
        let all = self.find(who)?;
        if all.len() > 1 && !is_reset {
            return Err(format!(
                "--usage: {who} has associations for several partitions: give 0"
            )
            .into());
        }
        for at in all {
            let association = &self.snapshot.associations[at];
            let (old, dominant) = (association.usage, association.dominant.unwrap_or_default());
            let more = match amount {
                Amount::Is(usage) => usage - old,
                Amount::More(more) => more.max(-old),
            };
            // Nothing is nothing in each book.
            let is_reset = is_reset || !in_windows && old + more <= 0.0;
            if !is_reset && association.dominant.is_some_and(|of_default| of_default + more < 0.0) {
                return Err(format!(
                    "--usage: only {} of the usage of {who} is in the default book: subtract at most that, or give 0",
                    numbers::usage(dominant)
                ).into());
            }
            if is_reset {
                self.take_above_in_books(at);
                self.take_above_in_windows(at);
                for below in self.below(at) {
                    let association = &mut self.snapshot.associations[below];
                    association.usage = 0.0;
                    association.dominant = association.dominant.map(|_| 0.0);
                    let id = association.id;
                    self.take_from_books(id);
                    self.snapshot.tree_windows.iter_mut().filter(|row| row.association == id).for_each(|row| row.amounts.clear());
                }
            } else {
                if in_windows {
                    self.add_to_window(at, more);
                }
                let association = &mut self.snapshot.associations[at];
                association.usage = old + more;
                // In the default book, or the current window.
                association.dominant = association.dominant.map(|dominant| dominant + more);
            }
            self.add_above(at, more, if is_reset { -dominant } else { more });
            self.said.push(format!("The usage of {who} is {amount}; it is {} now.", numbers::usage(old)));
        }
        let counts_itself = model.config.settings.as_ref().and_then(Points::configured);
        if counts_itself.is_some_and(|points| points.needs().targets) {
            self.remarks
                .push("Usage for targets stays: the plugin counts it separately.".to_owned());
        }
        Ok(())
    }

    /// An association and all below it.
    fn below(&self, top: usize) -> Vec<usize> {
        let all = &self.snapshot.associations;
        let mut ids: HashSet<u32> = [all[top].id].into();
        let mut found = vec![top];
        // In any order, so until there are no more.
        loop {
            let more = all.iter().enumerate().filter(|(at, one)| {
                *at != top && one.parent != 0 && ids.contains(&one.parent) && !ids.contains(&one.id)
            });
            let more: Vec<usize> = more.map(|(at, _)| at).collect();
            if more.is_empty() {
                return found;
            }
            ids.extend(more.iter().map(|at| all[*at].id));
            found.extend(more);
        }
    }

    /// Adds usage to all above an association.
    fn add_above(&mut self, at: usize, more: f64, more_dominant: f64) {
        let mut parent = self.snapshot.associations[at].parent;
        // No way is longer than there are associations.
        for _ in 0..self.snapshot.associations.len() {
            let Some(above) =
                self.snapshot.associations.iter_mut().find(|one| parent != 0 && one.id == parent)
            else {
                return;
            };
            above.usage = (above.usage + more).max(0.0);
            above.dominant = above.dominant.map(|dominant| (dominant + more_dominant).max(0.0));
            parent = above.parent;
        }
    }

    fn without(&mut self, account: &str) -> Result<(), Error> {
        let who = Who { user: String::new(), account: account.to_owned() };
        let top = self.find(&who)?[0];
        let association = &self.snapshot.associations[top];
        if association.parent == 0 {
            return Err(
                format!("--without-account: {account} is the root and cannot be removed").into()
            );
        }
        let (usage, dominant) = (association.usage, association.dominant.unwrap_or_default());
        let gone: HashSet<u32> =
            self.below(top).into_iter().map(|at| self.snapshot.associations[at].id).collect();
        self.add_above(top, -usage, -dominant);
        self.take_above_in_books(top);
        self.take_above_in_windows(top);
        let snapshot = &mut self.snapshot;
        snapshot.associations.retain(|one| !gone.contains(&one.id));
        let jobs = snapshot.jobs.len();
        snapshot.jobs.retain(|job| !gone.contains(&job.association));
        let jobs = jobs - snapshot.jobs.len();
        let left: HashSet<u32> = snapshot.jobs.iter().map(|job| job.id).collect();
        snapshot.entries.retain(|entry| left.contains(&entry.job));
        snapshot.running.retain(|running| !gone.contains(&running.association));
        snapshot.book_associations.retain(|one| !gone.contains(&one.association));
        snapshot.tree_windows.retain(|row| !gone.contains(&row.association));
        snapshot.usage.retain(|usage| {
            usage.of != "association" || !usage.key.parse().is_ok_and(|id| gone.contains(&id))
        });
        self.submitted.retain(|id| left.contains(id));
        self.said.push(format!(
            "Account {account} is removed, with {}, {} and {} of usage.",
            numbers::count(gone.len(), "association", "associations"),
            numbers::count(jobs, "waiting job", "waiting jobs"),
            numbers::usage(usage)
        ));
        Ok(())
    }
}

/// Whether the settings in force give points; `None` if they are not known.
fn gives_points(model: &Model<'_>) -> Option<bool> {
    if model.config.algorithm != Algorithm::Multifactor2 {
        return Some(false);
    }
    model.config.settings.as_ref().map(|settings| Points::configured(settings).is_some())
}

/// The settings that `PriorityParameters` has.
fn of_parameters(snapshot: &Snapshot) -> Result<Vec<Setting>, Error> {
    let parameters = input::parameters(snapshot);
    let settings = input::settings(None, parameters)?;
    match settings {
        None if !parameters.trim().is_empty() => {
            Err(format!("the settings in {PARAMETERS} cannot be read: give others with --conf").into())
        }
        settings => Ok(settings.unwrap_or_default()),
    }
}

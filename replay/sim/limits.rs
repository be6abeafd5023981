//! Limits of associations and QOS on running jobs, as `acct_policy.c` of Slurm 20.11 to 26.05 checks them before a job starts.
//!
//! A job counts for its association and all above it, for its QOS and for that of its partition. Each QOS counts it in all, for its user
//! and for its account. The QOS of the partition comes first, unless the job's QOS has `OverPartQOS`. A limit of the first replaces the
//! same limit of the second, and both replace that of associations (`qos_out_ptr` in `_qos_job_runnable_pre_select`). `MaxJobs` of an
//! association does not apply if a QOS has `MaxJobsPU` or `MaxJobsPA`.
//!
//! A job that a limit holds back reserves nothing: both schedulers go on with the next.

use rustc_hash::{FxHashMap, FxHashSet};
use slurm_text::limits::field;

use super::Scheduler;
use crate::workload::{Limit, Machine, QosLimits, Setup, Workload};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Jobs,
    Cpus,
    Memory,
    Nodes,
    Billing,
    /// By place in [`crate::workload::Gres::kinds`].
    Gres(u16),
}

/// Whose jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Whose {
    /// Of an association, and of all below it.
    Association(u32),
    /// Of a QOS.
    Qos(u16),
    /// Of a user in a QOS.
    User(u16, u32),
    /// Of an account in a QOS.
    Account(u16, u32),
}

/// A limit that holds for a kind of jobs.
#[derive(Clone, Debug)]
struct Rule {
    counter: usize,
    of: Of,
    most: u64,
    /// As `scontrol show assoc_mgr` calls it: `GrpTRES=cpu`.
    name: String,
    is_of_qos: bool,
}

/// Jobs for which the same limits hold.
type Key = (u32, u16, u16);

#[derive(Clone, Debug, Default)]
struct Class {
    rules: Vec<Rule>,
    /// Counters that go up while a job runs.
    counted: Vec<(usize, Of)>,
}

/// All limits, and what runs.
#[derive(Debug)]
pub struct Limits<'s> {
    setup: &'s Setup<'s>,
    classes: FxHashMap<Key, Class>,
    used: Vec<u64>,
}

impl<'s> Limits<'s> {
    /// Those that slurmctld enforces; `None` where there are none.
    pub fn new(setup: &'s Setup<'s>, scheduler: &Scheduler) -> Option<Self> {
        let workload = setup.workload;
        if !are_followed(workload, scheduler) {
            return None;
        }
        let mut makes =
            Makes { setup, associations: of_associations(workload), counters: FxHashMap::default() };
        let mut classes = FxHashMap::default();
        for (at, job) in (0..).zip(&workload.jobs) {
            for partition in setup.partitions(at) {
                let key = (job.association, job.qos, *partition);
                classes.entry(key).or_insert_with(|| makes.class(key));
            }
        }
        Some(Self { setup, classes, used: vec![0; makes.counters.len()] })
    }

    /// Whether a limit on the number of jobs holds a job back. Slurm looks at these before it looks for nodes.
    pub fn holds_by_jobs(&self, job: u32, partition: u16) -> bool {
        let rules = &self.class(job, partition).rules;
        rules.iter().any(|rule| rule.of == Of::Jobs && self.is_over(rule, 1))
    }

    /// Whether a limit holds a job back.
    pub fn holds(&self, job: u32, partition: u16) -> bool {
        let rules = &self.class(job, partition).rules;
        rules.iter().any(|rule| self.is_over(rule, amount(self.setup, rule.of, job, partition)))
    }

    /// A recorded job that is larger than the limit of today ran nevertheless: it takes all of it.
    fn is_over(&self, rule: &Rule, wanted: u64) -> bool {
        wanted > 0 && self.used[rule.counter] > rule.most.saturating_sub(wanted)
    }

    /// A job starts.
    pub fn begin(&mut self, job: u32, partition: u16) {
        let Some(class) = self.classes.get(&self.key(job, partition)) else { return };
        for (counter, of) in &class.counted {
            self.used[*counter] += amount(self.setup, *of, job, partition);
        }
    }

    /// It ends.
    pub fn end(&mut self, job: u32, partition: u16) {
        let Some(class) = self.classes.get(&self.key(job, partition)) else { return };
        for (counter, of) in &class.counted {
            self.used[*counter] -= amount(self.setup, *of, job, partition);
        }
    }

    /// Whether the limit that a reason means is one that holds for a job in one of its partitions.
    fn explains(&self, job: u32, reason: &str) -> bool {
        let Some(field) = field(reason) else { return false };
        self.setup.partitions(job).iter().any(|partition| {
            let rules = &self.class(job, *partition).rules;
            rules.iter().any(|rule| rule.is_of_qos == field.is_of_qos && field.has(&rule.name))
        })
    }

    fn key(&self, job: u32, partition: u16) -> Key {
        let job = self.setup.job(job);
        (job.association, job.qos, partition)
    }

    fn class(&self, job: u32, partition: u16) -> &Class {
        &self.classes[&self.key(job, partition)]
    }
}

/// What a job has of something while it runs.
fn amount(setup: &Setup<'_>, of: Of, job: u32, partition: u16) -> u64 {
    let recorded = setup.job(job);
    match of {
        Of::Jobs => 1,
        Of::Cpus => setup.cpus(job, partition).into(),
        Of::Memory => recorded.memory,
        Of::Nodes => recorded.nodes.max(1).into(),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // as slurmctld does
        Of::Billing => setup.billing(job, partition) as u64,
        Of::Gres(kind) => {
            let set = setup.workload.gres.set(recorded.gres);
            set.iter().find(|(of, _)| *of == kind).map_or(0, |(_, count)| u64::from(*count))
        }
    }
}

/// Finds which limits hold for which jobs.
struct Makes<'s> {
    setup: &'s Setup<'s>,
    /// By association: of all below it, and of a user's own jobs.
    associations: FxHashMap<u32, (Limit, Option<u32>)>,
    counters: FxHashMap<(Whose, Of), usize>,
}

impl Makes<'_> {
    fn class(&mut self, (association, qos, partition): Key) -> Class {
        let (setup, workload) = (self.setup, self.setup.workload);
        let (mut class, mut seen) = (Class::default(), FxHashSet::default());
        let of_partition = &setup.machine.partitions[usize::from(partition)].qos;
        let place = workload.qos.iter().position(|of| !of_partition.is_empty() && of.name == *of_partition);
        let of_partition = place.and_then(|place| u16::try_from(place).ok());
        let limits = |place: u16| workload.qos.get(usize::from(place)).and_then(|of| of.limits.as_ref());
        let is_over = limits(qos).is_some_and(|limits| limits.over_partition);
        let order = if is_over { [Some(qos), of_partition] } else { [of_partition, Some(qos)] };
        let of_job = &workload.associations[association as usize];
        let mut factor = None;
        for (at, place) in order.into_iter().enumerate() {
            let Some(place) = place.filter(|place| at == 0 || order[0] != Some(*place)) else { continue };
            let Some(of) = limits(place).filter(|limits| !limits.is_relative) else { continue };
            factor = factor.or(of.factor);
            let user = of_job.user.unwrap_or_default();
            for (whose, jobs, tres, limit) in [
                (Whose::Qos(place), "GrpJobs", "GrpTRES", &of.all),
                (Whose::Account(place, of_job.account), "MaxJobsPA", "MaxTRESPA", &of.per_account),
                (Whose::User(place, user), "MaxJobsPU", "MaxTRESPU", &of.per_user),
            ] {
                let mut add = |name: String, of: Of, most: u64| {
                    let counter = self.counter(&mut class, whose, of);
                    if seen.insert(name.clone()) {
                        class.rules.push(Rule { counter, of, most, name, is_of_qos: true });
                    }
                };
                limit.jobs.into_iter().for_each(|most| add(jobs.to_owned(), Of::Jobs, most.into()));
                for (of, name, most) in counted(setup, partition, limit, None) {
                    add(format!("{tres}={name}"), of, most);
                }
            }
        }
        let has_jobs_of_qos = seen.contains("MaxJobsPU") || seen.contains("MaxJobsPA");
        let mut above = Some(association);
        while let Some(place) = above {
            above = workload.associations[place as usize].parent;
            let Some((all, max_jobs)) = self.associations.get(&place).cloned() else { continue };
            let mut add = |name: String, of: Of, most: u64, holds: bool| {
                let counter = self.counter(&mut class, Whose::Association(place), of);
                if holds {
                    class.rules.push(Rule { counter, of, most, name, is_of_qos: false });
                }
            };
            let holds = |name: &str| !seen.contains(name);
            if let Some(most) = all.jobs {
                add("GrpJobs".to_owned(), Of::Jobs, most.into(), holds("GrpJobs"));
            }
            if let Some(most) = max_jobs.filter(|_| place == association) {
                add("MaxJobs".to_owned(), Of::Jobs, most.into(), !has_jobs_of_qos);
            }
            for (of, name, most) in counted(setup, partition, &all, factor) {
                let name = format!("GrpTRES={name}");
                let is_held = holds(&name);
                add(name, of, most, is_held);
            }
        }
        class
    }

    /// The counter of some jobs, which goes up while jobs of the class run.
    fn counter(&mut self, class: &mut Class, whose: Whose, of: Of) -> usize {
        let next = self.counters.len();
        let counter = *self.counters.entry((whose, of)).or_insert(next);
        if !class.counted.contains(&(counter, of)) {
            class.counted.push((counter, of));
        }
        counter
    }
}

/// The TRES of a limit that a replay can count in a partition. Nodes count where jobs have them whole: else two jobs of one user may share one.
fn counted<'l>(
    setup: &'l Setup<'_>,
    partition: u16,
    limit: &'l Limit,
    factor: Option<f64>,
) -> impl Iterator<Item = (Of, &'l str, u64)> + 'l {
    limit.tres.iter().filter_map(move |(name, most)| {
        let partition = &setup.machine.partitions[usize::from(partition)];
        let of = of_tres(setup.workload, name).filter(|of| *of != Of::Nodes || partition.exclusive)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        // as slurmctld does
        let most = factor.map_or(*most, |factor| (*most as f64 * factor) as u64);
        Some((of, name.as_str(), most))
    })
}

/// What of a job a TRES is.
fn of_tres(workload: &Workload, name: &str) -> Option<Of> {
    match name {
        "cpu" => Some(Of::Cpus),
        "mem" => Some(Of::Memory),
        "node" => Some(Of::Nodes),
        "billing" => Some(Of::Billing),
        // What no job has needs no counter.
        name => {
            let kind = workload.gres.kinds.find(name.strip_prefix("gres/")?)?;
            u16::try_from(kind).ok().map(Of::Gres)
        }
    }
}

/// Whether there are limits that a replay under a scheduler follows.
fn are_followed(workload: &Workload, scheduler: &Scheduler) -> bool {
    let has_some = !workload.limits.is_empty() || workload.qos.iter().any(has_limits);
    let may = matches!(scheduler, Scheduler::Slurm(parameters) if !parameters.stops_at_limits);
    has_some && may && are_enforced(workload)
}

/// What of limits a replay does not follow, though it follows others.
pub fn left_out(workload: &Workload, machine: &Machine, scheduler: &Scheduler) -> Vec<String> {
    if !are_followed(workload, scheduler) {
        return Vec::new();
    }
    let mut left_out = Vec::new();
    let has_shared = machine.partitions.iter().any(|partition| !partition.exclusive);
    let mut note = |whose: String, key: &str, limit: &Limit| {
        for (name, most) in &limit.tres {
            match of_tres(workload, name) {
                Some(Of::Nodes) if has_shared => {
                    left_out.push(format!("{key}=node={most} of {whose} where jobs share nodes"));
                }
                // No job has any.
                None if name.starts_with("gres/") => (),
                None => left_out.push(format!("{key}={name}={most} of {whose}")),
                Some(_) => (),
            }
        }
    };
    for qos in &workload.qos {
        let Some(of) = &qos.limits else { continue };
        note(format!("QOS {}", qos.name), "GrpTRES", &of.all);
        note(format!("QOS {}", qos.name), "MaxTRESPA", &of.per_account);
        note(format!("QOS {}", qos.name), "MaxTRESPU", &of.per_user);
    }
    for of in &workload.limits {
        note(format!("association {} {}", of.account, of.user).trim_end().to_owned(), "GrpTRES", &of.all);
    }
    let relative = workload.qos.iter().filter(|qos| qos.limits.as_ref().is_some_and(|of| of.is_relative));
    left_out.extend(relative.map(|qos| format!("limits of QOS {} in percent (Relative)", qos.name)));
    let of_partitions = workload.limits.iter().filter(|of| !of.partition.is_empty()).count();
    if of_partitions > 0 {
        left_out.push(format!("limits of {of_partitions} associations for one partition"));
    }
    left_out
}

fn has_limits(qos: &crate::workload::Qos) -> bool {
    qos.limits.as_ref().is_some_and(|QosLimits { all, per_user, per_account, .. }| {
        [all, per_user, per_account].iter().any(|limit| !limit.is_none())
    })
}

/// Whether slurmctld enforces limits. Where nobody tells, it does if a job waited for one.
fn are_enforced(workload: &Workload) -> bool {
    match workload.config.get("AccountingStorageEnforce") {
        Some(words) => {
            let words = words.to_ascii_lowercase();
            ["limits", "safe", "all"].iter().any(|word| words.split(',').any(|of| of.trim() == *word))
        }
        None => workload.reasons.iter().any(|reason| field(reason).is_some()),
    }
}

/// The limits of associations by their places. `MaxJobs` of an account applies to each user below it who has none.
fn of_associations(workload: &Workload) -> FxHashMap<u32, (Limit, Option<u32>)> {
    let mut listed: FxHashMap<(&str, &str), (Limit, Option<u32>)> = FxHashMap::default();
    for of in workload.limits.iter().filter(|of| of.partition.is_empty()) {
        // Of an association that was deleted and made again the last row counts.
        listed.insert((&of.account, &of.user), (of.all.clone(), of.max_jobs));
    }
    let mut found: FxHashMap<u32, (Limit, Option<u32>)> = FxHashMap::default();
    // Parents come before their children.
    for (place, of) in (0_u32..).zip(&workload.associations) {
        let user = of.user.map_or("", |user| workload.users.name(user));
        let own = listed.get(&(workload.accounts.name(of.account), user)).cloned();
        let (all, max_jobs) = own.unwrap_or_default();
        let above = of.parent.and_then(|above| found.get(&above)).and_then(|(_, max_jobs)| *max_jobs);
        let limits = (all, max_jobs.or(above));
        if limits != (Limit::default(), None) {
            found.insert(place, limits);
        }
    }
    found
}

/// Jobs whose last reason is a limit that a replay follows.
#[derive(Clone, Debug, Default)]
pub struct Explained(FxHashSet<(u32, u16, u16, u16)>);

impl Explained {
    /// By the limits that hold. None where a limit was changed meanwhile: those of another time are not known.
    pub fn new(limits: &Limits<'_>) -> Self {
        let workload = limits.setup.workload;
        let mut explained = FxHashSet::default();
        if !workload.changed_limits.is_empty() {
            return Self::default();
        }
        let mut known = FxHashSet::default();
        for (at, job) in (0..).zip(&workload.jobs) {
            let key = (job.association, job.qos, job.partitions, job.reason);
            if known.insert(key) && limits.explains(at, workload.reasons.name(job.reason.into())) {
                explained.insert(key);
            }
        }
        Self(explained)
    }

    /// Whether a job is one of them.
    pub fn has(&self, job: &crate::workload::Job) -> bool {
        self.0.contains(&(job.association, job.qos, job.partitions, job.reason))
    }
}

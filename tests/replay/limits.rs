//! Limits on running jobs: the replay against their rules, written once more as plainly as can be, and what a report says of them.

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{Parameters, Scheduler, Treatments};
use multifactor2_replay::trace::reasons::Treatment;
use multifactor2_replay::workload::{Limit, ListedLimits, Machine, Qos, QosLimits, Workload};
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{jobs, machine, outcome, workload};
use crate::slow_model::slow_with;

/// Jobs and CPUs, 0 for no limit.
type Numbers = (u8, u8);

/// Of a QOS: all, per account, per user, and whether it comes before that of the partition.
type OfQos = (Numbers, Numbers, Numbers, bool);

/// Of an association: all below, and each user's jobs.
type OfAssociation = (Numbers, u8);

fn limit((jobs, cpus): Numbers) -> Limit {
    Limit {
        jobs: (jobs > 0).then_some(jobs.into()),
        tres: (cpus > 0).then(|| ("cpu".to_owned(), cpus.into())).into_iter().collect(),
    }
}

fn of_qos((all, account, user, over): OfQos) -> QosLimits {
    QosLimits {
        all: limit(all),
        per_account: limit(account),
        per_user: limit(user),
        over_partition: over,
        ..QosLimits::default()
    }
}

/// The rules as `acct_policy.c` has them: the first QOS that has a limit, else all associations that do.
struct Rules<'w> {
    workload: &'w Workload,
    of_partition: OfQos,
    of_job: OfQos,
    /// The root, x, y, and the user a of x.
    associations: [OfAssociation; 4],
}

impl Rules<'_> {
    fn account(&self, job: usize) -> &str {
        self.workload.accounts.name(self.workload.account(&self.workload.jobs[job]))
    }

    fn user(&self, job: usize) -> &str {
        self.workload.users.name(self.workload.user(&self.workload.jobs[job]))
    }

    fn is_held(&self, job: usize, running: &[usize]) -> bool {
        let cpus = |jobs: &[usize]| jobs.iter().map(|job| self.workload.jobs[*job].cpus).sum::<u32>();
        let own = cpus(&[job]);
        let order =
            if self.of_job.3 { [self.of_job, self.of_partition] } else { [self.of_partition, self.of_job] };
        let has = |pick: &dyn Fn(&OfQos) -> u8| order.iter().map(pick).find(|most| *most > 0);
        // All jobs have both QOS.
        let all = running.to_vec();
        let of = |pick: &dyn Fn(usize) -> bool| -> Vec<usize> {
            running.iter().copied().filter(|at| pick(*at)).collect()
        };
        let of_account = of(&|at| self.account(at) == self.account(job));
        let of_user = of(&|at| self.user(at) == self.user(job));
        let too_many = |most: Option<u8>, jobs: &[usize]| most.is_some_and(|most| jobs.len() >= most.into());
        // A job that is larger than a limit takes all of it.
        let too_much = |most: Option<u8>, jobs: &[usize]| {
            most.is_some_and(|most| cpus(jobs) + own.min(most.into()) > most.into())
        };
        let (grp_jobs, grp_cpus) = (has(&|of| of.0 .0), has(&|of| of.0 .1));
        let (of_accounts, of_users) = (has(&|of| of.1 .0), has(&|of| of.2 .0));
        if too_many(grp_jobs, &all)
            || too_much(grp_cpus, &all)
            || too_many(of_accounts, &of_account)
            || too_much(has(&|of| of.1 .1), &of_account)
            || too_many(of_users, &of_user)
            || too_much(has(&|of| of.2 .1), &of_user)
        {
            return true;
        }
        let [root, x, y, a] = self.associations;
        let some = |most: u8| Some(most).filter(|most| *most > 0);
        let is_a = self.user(job) == "a" && self.account(job) == "x";
        let account = if self.account(job) == "x" { x } else { y };
        let mut above = vec![(root, all), (account, of_account)];
        if is_a {
            above.push((a, of_user.clone()));
        }
        if grp_jobs.is_none() && above.iter().any(|(of, jobs)| too_many(some(of.0 .0), jobs)) {
            return true;
        }
        if grp_cpus.is_none() && above.iter().any(|(of, jobs)| too_much(some(of.0 .1), jobs)) {
            return true;
        }
        let max_jobs = above.iter().rev().find_map(|(of, _)| some(of.1));
        of_accounts.is_none() && of_users.is_none() && too_many(max_jobs, &of_user)
    }
}

fn numbers() -> impl Strategy<Value = Numbers> {
    // Most limits are none, so that those behind them count.
    let few = prop_oneof![3 => Just(0_u8), 1 => 1_u8..5];
    let cpus = prop_oneof![3 => Just(0_u8), 1 => 4_u8..16];
    (few, cpus)
}

#[test]
fn the_replay_follows_the_rules() {
    let of_qos_made = || (numbers(), numbers(), numbers(), any::<bool>());
    let association = || (numbers(), prop_oneof![3 => Just(0_u8), 1 => 1_u8..4]);
    let associations = [association(), association(), association(), association()];
    let limits = (of_qos_made(), of_qos_made(), associations);
    check(150, &(jobs(30), limits), |(mut made, (of_partition, of_job, associations))| {
        for job in &mut made {
            job.1 = job.1.max(1);
            // Users a to e: of them a, c, e are in x.
            job.4 %= 5;
        }
        let mut workload = workload(&made, &[("AccountingStorageEnforce", "associations,limits")]);
        let named = |name: &str, of| Qos { limits: Some(of_qos(of)), ..Qos::named(name) };
        workload.qos[0] = named("", of_job);
        workload.qos.push(named("part", of_partition));
        let places = [("root", ""), ("x", ""), ("y", ""), ("x", "a")];
        let listed = places.iter().zip(associations).map(|((account, user), (all, most))| ListedLimits {
            account: (*account).to_owned(),
            user: (*user).to_owned(),
            all: limit(all),
            max_jobs: (most > 0).then_some(most.into()),
            ..ListedLimits::default()
        });
        workload.limits = listed.collect();
        let mut machine = machine(false);
        "part".clone_into(&mut machine.partitions[0].qos);
        let parameters = Parameters { bf_interval: 7, sched_interval: Some(20), ..Parameters::default() };
        let fast = outcome(&workload, &machine, Scheduler::Slurm(parameters.clone()), &Policy::Fifo);
        let rules = Rules { workload: &workload, of_partition, of_job, associations };
        let slow = slow_with(&workload, 16, parameters, &|job, running| rules.is_held(job, running));
        prop_assert_eq!(fast.starts, slow);
        Ok(())
    });
}

/// Ten jobs of a user at one time, of which one may run.
fn limited() -> (Workload, Machine) {
    let mut workload = workload(&[(0, 3, 3, 1, 0, 0); 10], &[]);
    let limits = QosLimits { per_user: limit((1, 0)), ..QosLimits::default() };
    workload.qos[0].limits = Some(limits);
    let reason = workload.reasons.intern("QOSMaxJobsPerUserLimit");
    for job in &mut workload.jobs {
        job.reason = u16::try_from(reason).unwrap();
    }
    (workload, machine(false))
}

#[test]
fn a_reason_is_replayed_only_where_its_limit_is_known_and_holds() {
    let scheduler = Scheduler::Slurm(Parameters::default());
    let treatment = |workload: &Workload, machine: &Machine, scheduler: &Scheduler| {
        Treatments::new(workload, machine, scheduler).reason(&workload.jobs[0])
    };
    let (workload, machine) = limited();
    assert_eq!(treatment(&workload, &machine, &scheduler), Treatment::Replayed);
    let starts = outcome(&workload, &machine, scheduler.clone(), &Policy::Fifo).starts;
    assert!(starts.windows(2).all(|pair| pair[1] >= pair[0] + 60), "{starts:?}");
    // Another kind of limit, none that is told, one that was another meanwhile, one that nobody enforces, another scheduler.
    let mut other = workload.clone();
    other.qos[0].limits = Some(QosLimits { per_user: limit((0, 4)), ..QosLimits::default() });
    assert_eq!(treatment(&other, &machine, &scheduler), Treatment::LeftOut);
    other.qos[0].limits = None;
    assert_eq!(treatment(&other, &machine, &scheduler), Treatment::LeftOut);
    let mut changed = workload.clone();
    changed.changed_limits.push("2026-01-01: Modify QOS changed max_jobs_per_user".to_owned());
    assert_eq!(treatment(&changed, &machine, &scheduler), Treatment::LeftOut);
    let mut free = workload.clone();
    free.config.set("AccountingStorageEnforce", "associations");
    assert_eq!(treatment(&free, &machine, &scheduler), Treatment::LeftOut);
    let stops = Scheduler::Slurm(Parameters::parse("assoc_limit_stop"));
    for other in [Scheduler::Easy, stops] {
        assert_eq!(treatment(&workload, &machine, &other), Treatment::LeftOut);
        let starts = outcome(&workload, &machine, other, &Policy::Fifo).starts;
        assert!(starts.iter().all(|start| *start < starts[0] + 60), "it is not followed: {starts:?}");
    }
}

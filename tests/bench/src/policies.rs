//! What the settings of multifactor2.conf cost: ours with some of them beside ours without any, in hosts that are filled alike and
//! take turns.

use std::path::Path;

use anyhow::{Context, Result};
use slurm_inproc::{Host, Options, Plugin};

use crate::compare::{held, milliseconds, next_cycle, per_job};
use crate::hosts::fill_pending;
use crate::process::memory;
use crate::report::Report;
use crate::samples::{Beside, Row, Samples, Scene};

/// Associations, with ten to an account.
pub const A_THOUSAND_USERS: u32 = 1122;

/// Most that a cycle may cost with settings, as a multiple of one without.
const GOAL_CYCLE: f64 = 3.0;
const GOAL_FREE: f64 = 1.2;
const GOAL_JOB_LOCK: f64 = 1.2;

/// Jobs that come after a cycle, to be submitted.
const NEW_JOBS: u32 = 10_000;

/// Some settings.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What they are called.
    pub name: &'static str,
    /// multifactor2.conf.
    pub file: String,
    /// Largest part of a cycle without them that was aimed at.
    pub goal: f64,
}

/// Those that are measured; some accounts and users have override tickets.
pub fn policies(accounts: &[String], users: &[String]) -> Vec<Policy> {
    let everything = format!(
        "Dilution=tree\nTicketsFunctional=10000\nFunctional=User Name=* Shares=RawShares\n\
         Override=Account Name={} Tickets=500\nOverride=User Name={} Tickets=50\n",
        accounts.join(","),
        users.join(",")
    );
    let policy = |name, file: &str, goal| Policy { name, file: file.to_owned(), goal };
    vec![
        policy("standing", "Distribution=standing\n", GOAL_FREE),
        policy("strict", "Distribution=strict\n", GOAL_FREE),
        policy("Dilution=user", "Dilution=user\n", GOAL_CYCLE),
        policy("tree + O + F", &everything, GOAL_CYCLE),
    ]
}

/// A host with the plugin, with or without settings.
struct Side {
    /// Its place in the report.
    number: usize,
    policy: Policy,
    host: Host,
    /// Bytes before the plugin was there.
    before: f64,
    cycle: Samples,
    job_lock: Samples,
    job_lock_longest: Samples,
    association_lock: Samples,
    list: Samples,
    known: Samples,
    new: Samples,
    memory: Samples,
}

impl Side {
    fn start(number: usize, policy: Policy, plugin: Plugin, scene: &Scene) -> Result<Self> {
        let mut options = Options::new(plugin);
        options.files = vec![("multifactor2.conf".to_owned(), policy.file.clone())];
        let mut host = Host::start(&options)?;
        fill_pending(&mut host, scene)?;
        let before = memory(host.process())?.now;
        host.check_locks(false)?;
        host.init().with_context(|| policy.file.clone())?;
        for _ in 0..2 {
            next_cycle(&mut host)?;
        }
        let none = Samples::default;
        Ok(Self {
            number,
            policy,
            host,
            before,
            cycle: none(),
            job_lock: none(),
            job_lock_longest: none(),
            association_lock: none(),
            list: none(),
            known: none(),
            new: none(),
            memory: none(),
        })
    }

    fn hold(&mut self) -> Result<()> {
        let [job, association] = held(&mut self.host)?;
        self.job_lock.push(job.0);
        self.job_lock_longest.push(job.1);
        self.association_lock.push(association.0);
        Ok(())
    }

    /// Every measure, with its unit and what was aimed at.
    fn measures(&self) -> [(&'static str, &'static str, &Samples, Option<f64>); 8] {
        [
            ("cycle, CPU", "ms", &self.cycle, Some(self.policy.goal)),
            ("job write lock held", "ms", &self.job_lock, Some(GOAL_JOB_LOCK)),
            ("job write lock, longest", "ms", &self.job_lock_longest, Some(GOAL_JOB_LOCK)),
            ("association write lock held", "ms", &self.association_lock, None),
            ("list for sprio, per job", "ns", &self.list, None),
            ("priority_p_set, job of the last cycle", "ns", &self.known, None),
            ("priority_p_set, new job", "ns", &self.new, None),
            ("memory kept per job", "B", &self.memory, None),
        ]
    }
}

/// Names of accounts and users that the hosts have.
fn names(scene: &Scene) -> (Vec<String>, Vec<String>) {
    let accounts = (scene.associations - 1) / 10;
    ((2..7).map(|id| format!("a{id}")).collect(), (2..22).map(|id| format!("u{}", accounts + id)).collect())
}

/// All settings; an `older` build of the plugin without settings as well, where there is one.
pub fn pending(scene: &Scene, older: Option<&Path>, rounds: usize, report: &mut Report) -> Result<()> {
    let ours = Plugin::multifactor2()?;
    let plain = |name| Policy { name, file: String::new(), goal: GOAL_FREE };
    let mut sides = vec![Side::start(0, plain(""), ours.clone(), scene)?];
    if let Some(older) = older {
        let older = Plugin::of(&ours.priority_type, older);
        sides.push(Side::start(1, plain("older build"), older, scene)?);
    }
    let (accounts, users) = names(scene);
    for policy in policies(&accounts, &users) {
        sides.push(Side::start(sides.len(), policy, ours.clone(), scene)?);
    }
    // Who comes after whom makes a fifth of a difference, so every round has an order of its own.
    let mut random = fastrand::Rng::with_seed(3);
    let mut shuffled = |sides: &mut Vec<Side>| random.shuffle(sides);
    for _ in 0..rounds {
        shuffled(&mut sides);
        for side in &mut sides {
            side.cycle.push(milliseconds(next_cycle(&mut side.host)?.cpu));
        }
    }
    for side in &mut sides {
        side.memory.push((memory(side.host.process())?.now - side.before) / f64::from(scene.jobs));
        side.host.check_locks(true)?;
    }
    for _ in 0..rounds {
        shuffled(&mut sides);
        sides.iter_mut().try_for_each(Side::hold)?;
    }
    for side in &mut sides {
        side.host.check_locks(false)?;
    }
    for _ in 0..rounds {
        shuffled(&mut sides);
        for side in &mut sides {
            side.list.push(per_job(&side.host.bench_factors()?));
        }
    }
    for _ in 0..rounds {
        shuffled(&mut sides);
        for side in &mut sides {
            side.known.push(per_job(&side.host.bench_set(1, false)?));
        }
    }
    for side in &mut sides {
        next_cycle(&mut side.host)?;
        side.host.bulk_jobs(scene.jobs + 1, NEW_JOBS.into(), 11, scene.heap == "scattered")?;
    }
    for _ in 0..rounds {
        shuffled(&mut sides);
        for side in &mut sides {
            side.new.push(per_job(&side.host.bench_set_after(scene.jobs, 1)?));
        }
    }
    sides.sort_by_key(|side| side.number);
    let (plain, others) = sides.split_first().context("the first has no settings")?;
    for other in others {
        for ((measure, unit, without, _), (_, _, with, goal)) in plain.measures().iter().zip(other.measures())
        {
            report.add(Row {
                measure,
                scene: scene.clone(),
                unit,
                beside: Beside::Plain(other.policy.name),
                stock: (*without).clone(),
                ours: with.clone(),
                floor: None,
                goal,
            });
        }
    }
    for side in sides {
        side.host.quit()?;
    }
    Ok(())
}

//! What the settings of multifactor2.conf cost: ours with some of them against ours without any, with the same
//! jobs.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use multifactor2_core::rules::grants::ledger::Ledger;
use slurm_inproc::{Host, Options, Plugin};

use crate::compare::{held, milliseconds, next_cycle, per_job};
use crate::hosts::{deep_names, fill_granted, fill_pending, fill_running};
use crate::process::memory;
use crate::report::Report;
use crate::samples::{Beside, MeasureRow, Samples, Scene};

/// Associations, with ten to an account.
pub const A_THOUSAND_USERS: u32 = 1122;

/// Most that a cycle should cost with settings, as a multiple of one without.
const GOAL_FREE: f64 = 1.0;
const GOAL_DILUTION: f64 = 1.3;
const GOAL_POOLS: f64 = 1.6;
const GOAL_POINTS: f64 = 1.6;
const GOAL_BOOKS: f64 = 1.3;

/// The same of the locks, of charging, and of a submission.
const GOAL_JOB_LOCK: f64 = 1.2;
const GOAL_CHARGING: f64 = 1.3;
const GOAL_SET: f64 = 1.5;

/// Three partitions, each with a book of its own, one of these with shares of its own.
pub const PARTITIONS: [&str; 3] = ["batch", "fast", "debug"];
const BOOKS: &str = "Book=fast Partitions=fast\nBook=debug Partitions=debug\nBook=batch Partitions=batch Shares=a2:5,a3:3,*:1\n";

/// Ten charge rules of every kind, and a minimum.
const CHARGES: &str = "Charge=Partition Name=fast Factor=0.5\nCharge=Partition Name=debug Factor=2\n\
                       Charge=QOS Name=normal Factor=0.9\nCharge=QOS Name=q1 Factor=1.1 Scope=limits\n\
                       Charge=Reservation Name=workshop Factor=0\nCharge=WCKey Name=urgent Factor=2\n\
                       Charge=Account Name=a2,a3 Factor=0.5\nCharge=Parent Name=a4 Factor=0.8\n\
                       Charge=Parent Name=a5,a6 Factor=1.25\nCharge=Requeued Factor=0.5\nMinimumCharge=10:00\n";

/// Jobs that come after a cycle, to be submitted.
const NEW_JOBS: u32 = 500;

/// What rows are called that compare an older build with this one.
pub const OLDER: &str = "older build : this";

const FILE: &str = "multifactor2.conf";

/// Some settings.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What they are called.
    pub name: &'static str,
    /// multifactor2.conf.
    pub file: String,
    /// Largest part of a cycle without them that was aimed at.
    pub goal: f64,
    /// The same of a submission.
    pub goal_set: Option<f64>,
}

/// Those that are measured; some accounts and users have override tickets.
pub fn policies(accounts: &[String], users: &[String]) -> Vec<Policy> {
    let everything = format!(
        "Dilution=tree\nTicketsFunctional=10000\nFunctional=User Name=* Shares=RawShares\n\
         Override=Account Name={} Tickets=500\nOverride=User Name={} Tickets=50\n",
        accounts.join(","),
        users.join(",")
    );
    let policy =
        |name, file: &str, goal| Policy { name, file: file.to_owned(), goal, goal_set: Some(GOAL_SET) };
    vec![
        policy("standing", "Distribution=standing\n", GOAL_FREE),
        policy("strict", "Distribution=strict\n", GOAL_FREE),
        policy("Dilution=user", "Dilution=user\n", GOAL_DILUTION),
        policy("tree + O + F", &everything, GOAL_POOLS),
        policy("points", &points(accounts, users), GOAL_POINTS),
        policy("3 books", BOOKS, GOAL_BOOKS),
    ]
}

/// Ten charge rules with a minimum, three books and the dominant share of four TRES: what running jobs are charged by.
pub fn charging() -> Policy {
    let file = format!("{CHARGES}{BOOKS}UsageMeasure=dominant\nDominantTRES=cpu,mem,node,gres/gpu\n");
    Policy { name: "charges + books + dominant", file, goal: GOAL_BOOKS, goal_set: None }
}

/// All components of points, and ten targets.
fn points(accounts: &[String], users: &[String]) -> String {
    let mut file = String::from(
        "Component=CRED User=1 Group=1 Account=1 Parent=1 QOS=1 Class=1\n\
         Component=FS FSUser=10 FSGroup=10 FSAccount=10 FSParent=1 FSQOS=10 FSClass=10\n\
         Component=RES Node=1 Proc=1 Mem=0.01 Disk=0.001 PS=0.001 PE=1 WallTime=0.001\n\
         Component=SERV QueueTime=1 XFactor=100 XFactorCap=50 XFMinLimit=00:10:00 Bypass=1\n\
         Component=TARGET TargetQueueTime=1000 TargetXFactor=1000\n\
         Component=USAGE Consumed=1\n\
         Service=QOS Name=* TargetQueueTime=01:00:00 TargetXFactor=3 QueueTimeWeight=1\n\
         Credential=User Name=* Priority=100000\nCredential=Group Name=0,100 Priority=5\n\
         Target=Group Name=* Percent=10\nTarget=QOS Name=* Percent=50\nTarget=Partition Name=* Percent=50 Type=ceiling\n\
         Target=User Name=* Percent=1 Type=floor\nTarget=Parent Name=* Percent=20 Window=yes\n\
         Target=Account Name=* Percent=90 Type=cap\n",
    );
    for (name, percent) in accounts.iter().zip(1..=2) {
        let _ = writeln!(file, "Target=Account Name={name} Percent={percent}");
    }
    for (name, percent) in users.iter().zip(1..=2) {
        let _ = writeln!(file, "Target=User Name={name} Percent={percent}");
    }
    file
}

/// Samples of some settings.
#[derive(Debug)]
struct Side {
    policy: Policy,
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
    fn new(policy: Policy) -> Self {
        let none = Samples::default;
        Self {
            policy,
            cycle: none(),
            job_lock: none(),
            job_lock_longest: none(),
            association_lock: none(),
            list: none(),
            known: none(),
            new: none(),
            memory: none(),
        }
    }

    /// Takes one sample of everything but memory, on a host with so many jobs, in which the plugin has passed its first cycles. Then it
    /// has [`NEW_JOBS`] more.
    fn measure(&mut self, host: &mut Host, jobs: u32) -> Result<()> {
        self.cycle.push(milliseconds(next_cycle(host)?.cpu));
        host.check_locks(true)?;
        let [job, association] = held(host)?;
        host.check_locks(false)?;
        self.job_lock.push(job.0);
        self.job_lock_longest.push(job.1);
        self.association_lock.push(association.0);
        // Before submissions store the factors.
        self.list.push(per_job(&host.bench_factors()?));
        self.known.push(per_job(&host.bench_set(1, false)?));
        host.bulk_jobs(jobs + 1, NEW_JOBS.into(), jobs.into(), false)?;
        self.new.push(per_job(&host.bench_set_after(jobs, 1)?));
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
            ("priority_p_set, job of the last cycle", "ns", &self.known, self.policy.goal_set),
            ("priority_p_set, new job", "ns", &self.new, self.policy.goal_set),
            ("memory kept per job", "B", &self.memory, None),
        ]
    }

    /// Adds rows of these settings beside others.
    fn report(&self, without: &Self, scene: &Scene, report: &mut Report) {
        let without = without.measures();
        for ((measure, unit, ours, goal), (_, _, without, _)) in self.measures().into_iter().zip(without) {
            if ours.count() > 0 {
                report.add(MeasureRow {
                    measure,
                    scene: scene.clone(),
                    unit,
                    beside: Beside::Plain(self.policy.name),
                    stock: without.clone(),
                    ours: ours.clone(),
                    goal,
                });
            }
        }
    }
}

/// Those of a host with the plugin and this multifactor2.conf.
pub fn options(plugin: &Plugin, file: &str) -> Options {
    let mut options = Options::new(plugin.clone());
    options.files = vec![(FILE.to_owned(), file.to_owned())];
    options
}

/// No settings.
fn plain(name: &'static str) -> Policy {
    Policy { name, file: String::new(), goal: GOAL_FREE, goal_set: None }
}

/// A host with jobs and the plugin, not loaded yet.
fn start(plugin: &Plugin, policy: &Policy, scene: &Scene) -> Result<Host> {
    let mut host = Host::start(&options(plugin, &policy.file))?;
    fill_pending(&mut host, scene)?;
    host.check_locks(false)?;
    Ok(host)
}

/// Loads the plugin and lets its first cycles pass.
fn load(host: &mut Host) -> Result<()> {
    host.init()?;
    next_cycle(host)?;
    next_cycle(host)?;
    Ok(())
}

/// Names of accounts and users that the hosts have.
pub fn names(scene: &Scene) -> (Vec<String>, Vec<String>) {
    let accounts = (scene.associations - 1) / 10;
    ((2..7).map(|id| format!("a{id}")).collect(), (2..22).map(|id| format!("u{}", accounts + id)).collect())
}

/// All settings.
///
/// They take turns in one host, where each loads the plugin anew: two hosts differ by a third in their times, by where their memory is.
pub fn pending(scene: &Scene, rounds: usize, report: &mut Report) -> Result<()> {
    let plugin = Plugin::multifactor2()?;
    let (accounts, users) = names(scene);
    let mut sides: Vec<Side> =
        std::iter::once(plain("")).chain(policies(&accounts, &users)).map(Side::new).collect();
    for side in &mut sides {
        let mut host = start(&plugin, &side.policy, scene)?;
        let before = memory(host.process())?.now;
        load(&mut host).with_context(|| side.policy.file.clone())?;
        side.memory.push((memory(host.process())?.now - before) / f64::from(scene.jobs));
        host.quit()?;
    }
    let mut host = start(&plugin, &plain(""), scene)?;
    let mut jobs = scene.jobs;
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..rounds {
        let mut order: Vec<&mut Side> = sides.iter_mut().collect();
        random.shuffle(&mut order);
        for side in order {
            fs::write(host.directory().join(FILE), &side.policy.file)?;
            load(&mut host)?;
            side.measure(&mut host, jobs)?;
            host.fini()?;
            jobs += NEW_JOBS;
        }
    }
    host.quit()?;
    let (without, others) = sides.split_first().context("the first has no settings")?;
    for side in others {
        side.report(without, scene, report);
    }
    Ok(())
}

/// Cycles in which running jobs are charged: ten charge rules, three books and the dominant share of four TRES, beside no settings.
pub fn running(scene: &Scene, rounds: usize, report: &mut Report) -> Result<()> {
    let policy = charging();
    let name = policy.name;
    let (mut before, mut now) = (Side::new(plain("")), Side::new(policy));
    let mut host = Host::start(&Options::new(Plugin::multifactor2()?))?;
    fill_running(&mut host, scene, &PARTITIONS)?;
    host.check_locks(false)?;
    for round in 0..rounds {
        let mut order = [&mut before, &mut now];
        order.rotate_left(round % 2);
        for side in order {
            fs::write(host.directory().join(FILE), &side.policy.file)?;
            load(&mut host)?;
            side.cycle.push(milliseconds(next_cycle(&mut host)?.cpu));
            host.check_locks(true)?;
            let [job, association] = held(&mut host)?;
            host.check_locks(false)?;
            side.job_lock.push(job.0);
            side.association_lock.push(association.0);
            host.fini()?;
        }
    }
    host.quit()?;
    for (measure, before, now, goal) in [
        ("cycle with running jobs, CPU", before.cycle, now.cycle, Some(GOAL_BOOKS)),
        ("running: job write lock held", before.job_lock, now.job_lock, Some(GOAL_CHARGING)),
        ("running: association write lock held", before.association_lock, now.association_lock, None),
    ] {
        report.add(MeasureRow {
            measure,
            scene: scene.clone(),
            unit: "ms",
            beside: Beside::Plain(name),
            stock: before,
            ours: now,
            goal,
        });
    }
    Ok(())
}

/// So many grants of twelve months: of accounts of three levels, and of users.
const GRANTS: usize = 5000;

/// The most that they may cost.
const GOAL_GRANTS: f64 = 1.05;
const GOAL_LEDGER_KB: f64 = 2000.0;
const GOAL_SAVE: f64 = 20.0;

fn grants(associations: u32) -> String {
    let (accounts, users) = deep_names(associations);
    let names = accounts.iter().map(|name| ("Account", name)).chain(users.iter().map(|name| ("User", name)));
    let mut file = String::new();
    for (kind, name) in names.take(GRANTS) {
        let _ = writeln!(
            file,
            "Grant={kind} Name={name} Amount=5000 Unit=cpu-hours From=2033-01-01 Until=2033-12-31 Preset=jsc"
        );
    }
    file
}

/// Grants: a cycle with them beside one without settings, and beside one with points of which no line is for anybody; the size of their file, and how long it
/// takes to write it.
pub fn granted(scene: &Scene, rounds: usize, report: &mut Report) -> Result<()> {
    let policy = |name, file: &str| Policy {
        name,
        file: file.to_owned(),
        goal: GOAL_GRANTS,
        goal_set: Some(GOAL_SET),
    };
    let mut sides = [
        Side::new(plain("")),
        Side::new(policy(
            "a line of points",
            "Component=CRED User=1\nCredential=User Name=nobody Priority=1\n",
        )),
        Side::new(policy("5,000 grants", &grants(scene.associations))),
    ];
    let mut host = Host::start(&options(&Plugin::multifactor2()?, ""))?;
    fill_granted(&mut host, scene)?;
    host.check_locks(false)?;
    let file = host.directory().join("state/multifactor2_grants");
    let (mut size, mut save) = (Samples::default(), Samples::default());
    let mut jobs = scene.jobs;
    for round in 0..rounds {
        for place in 0..sides.len() {
            let at = (place + round) % sides.len();
            fs::write(host.directory().join(FILE), &sides[at].policy.file)?;
            load(&mut host)?;
            sides[at].measure(&mut host, jobs)?;
            if file.exists() {
                let text = fs::read(&file)?;
                #[allow(clippy::cast_precision_loss)] // small
                size.push(text.len() as f64 / 1e3);
                save.push(milliseconds(saving(&file, &text)?));
                fs::remove_file(&file)?;
            }
            host.fini()?;
            jobs += NEW_JOBS;
        }
    }
    host.quit()?;
    let [none, points, granted] = &sides;
    points.report(none, scene, report);
    granted.report(none, scene, report);
    let beside = Side {
        policy: Policy { name: "5,000 grants beside a line of points", ..granted.policy.clone() },
        ..Side::new(plain(""))
    };
    Side { cycle: granted.cycle.clone(), known: granted.known.clone(), new: granted.new.clone(), ..beside }
        .report(points, scene, report);
    report.note(format!(
        "5,000 grants of twelve months: {:.0} kB in their file (goal {GOAL_LEDGER_KB:.0}), written with fsync in {:.1} ms (goal {GOAL_SAVE:.0})",
        size.median(),
        save.median()
    ));
    Ok(())
}

/// How long the same file takes to be written as the plugin does it: the text is made, the file is written, and put in the place of the one before.
fn saving(file: &Path, text: &[u8]) -> Result<Duration> {
    let ledger = Ledger::parse(std::str::from_utf8(text)?).map_err(anyhow::Error::msg)?;
    let beside = file.with_extension("bench");
    let begin = Instant::now();
    let text = ledger.text();
    let mut written = fs::File::create(&beside)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&beside, file.with_extension("bench-there"))?;
    Ok(begin.elapsed())
}

/// Without settings, beside an older build of the plugin: in many hosts, as these differ.
pub fn older(scene: &Scene, library: &Path, rounds: usize, report: &mut Report) -> Result<()> {
    let ours = Plugin::multifactor2()?;
    let theirs = Plugin::of(&ours.priority_type, library);
    let (mut before, mut now) = (Side::new(plain("")), Side::new(plain(OLDER)));
    for round in 0..rounds {
        let mut order = [(&mut before, &theirs), (&mut now, &ours)];
        order.rotate_left(round % 2);
        for (side, plugin) in order {
            let mut host = start(plugin, &side.policy, scene)?;
            load(&mut host)?;
            side.measure(&mut host, scene.jobs)?;
            host.quit()?;
        }
    }
    now.report(&before, scene, report);
    Ok(())
}

//! What is measured in a live slurmctld: the decay thread's processor time per cycle, and `sprio` as a whole
//! command. Stock and ours start in turn from the same saved state.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job};

use crate::policies::{policies, A_THOUSAND_USERS, OLDER};
use crate::process::DecayThread;
use crate::report::Report;
use crate::samples::{Beside, MeasureRow, Samples, Scene};

/// Seconds between two cycles.
const PERIOD: u32 = 1;

/// Between two cycles: none began for so long, and the last one is over.
const QUIET: Duration = Duration::from_millis(PERIOD as u64 * 500);

/// Between two looks at the state file.
const LOOK: Duration = Duration::from_millis(5);

/// The longest wait for [`QUIET`].
const LONGEST: Duration = Duration::from_secs(150);
/// Users who have jobs.
pub const SUBMITTERS: u32 = 100;
/// The same where settings are measured, and with 10,000 associations.
pub const MANY_SUBMITTERS: u32 = 1000;
/// Users per account.
const USERS: u32 = 9;

const GOAL_CYCLE: f64 = 3.0;
const GOAL_SPRIO: f64 = 1.0;

fn tree(associations: u32) -> Accounts {
    let accounts = (associations - 2) / (USERS + 1);
    (0..accounts).fold(Accounts::new(), |tree, account| {
        let empty = Account::new(format!("a{account}"), 1 + account % 7);
        let users = (0..USERS).map(|user| (format!("u{account}x{user}"), 1 + user % 5));
        tree.account(users.fold(empty, |account, (user, shares)| account.user(user, shares)))
    })
}

/// The machine's own Slurm with the plugin.
pub fn own(plugin: &Path) -> Builder {
    Cluster::builder().plugin(plugin, "priority_multifactor2.so")
}

/// A cluster with so many pending jobs, each with a record of its own; slurmctld has saved its state and stopped.
pub fn prepare(builder: Builder, scene: &Scene, submitters: u32) -> Result<Cluster> {
    let mut cluster = builder
        .accounts(&tree(scene.associations))
        .set("MaxJobCount", "200000")
        .set("MaxArraySize", "50000")
        .set("MessageTimeout", "60")
        // No node registers, so that no job starts. But each is seen by the scheduler, as only then it gains age.
        .set("SchedulerParameters", "defer,sched_interval=5,bf_interval=3600")
        .set("PriorityDecayHalfLife", "7-0")
        // Per second what PriorityWeightAge=1000 gives in the usual five minutes: as many priorities change.
        .set("PriorityWeightAge", "300000")
        .set("PriorityWeightJobSize", "1000")
        .set("PriorityWeightPartition", "1000")
        .set("PriorityWeightQOS", "1000")
        .start()?;
    let each = scene.jobs / submitters;
    let accounts = (scene.associations - 2) / (USERS + 1);
    for submitter in 0..submitters {
        let (account, user) = (submitter % accounts, submitter / accounts);
        let job = Job::new(format!("u{account}x{user}")).account(&format!("a{account}"));
        let id = cluster.submit(&job.arg(format!("--array=1-{each}")))?;
        cluster.scontrol(&["update", &format!("jobid={id}_[1-{}]", each - 1), "nice=1"])?;
    }
    cluster.wait_for("all jobs to gain age", Duration::from_secs(300), |cluster| {
        let ages = cluster.sprio(&["-h", "-o", "%A"])?;
        let gaining = ages.lines().filter(|age| age.trim() != "0").count();
        Ok((gaining >= scene.jobs as usize).then_some(()))
    })?;
    cluster.stop_controller()?;
    // Then it does not disturb.
    cluster.set("SchedulerParameters", "defer,sched_interval=3600,bf_interval=3600")?;
    copy(&cluster.directory().join("state"), &cluster.directory().join("saved"))?;
    Ok(cluster)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Samples of one plugin.
#[derive(Debug, Default)]
struct Side {
    cycle: Samples,
    sprio: Samples,
}

impl Side {
    /// Starts slurmctld from the saved state, measures some cycles and commands, and stops it.
    fn measure(&mut self, cluster: &mut Cluster, priority: &str, jobs: u32, rounds: usize) -> Result<()> {
        let state = cluster.directory().join("state");
        fs::remove_dir_all(&state)?;
        copy(&cluster.directory().join("saved"), &state)?;
        cluster.set("PriorityType", priority)?;
        cluster.start_controller()?;
        let thread = DecayThread::of(cluster.controller_pid()?).with_context(|| priority.to_owned())?;
        let file = state.join("priority_last_decay_ran");
        let written = || fs::metadata(&file).and_then(|file| file.modified()).ok();
        // The state file is written once per cycle, at its begin or end. Where locks or the disk delay one, the next follows at once: the time is read between
        // cycles, and divided by how many there were.
        let after_cycles = || -> Result<(Duration, u32)> {
            let (start, mut seen, mut cycles, mut changed) = (Instant::now(), written(), 0, Instant::now());
            while cycles == 0 || changed.elapsed() < QUIET {
                ensure!(start.elapsed() < LONGEST, "no {QUIET:?} without a decay cycle within {LONGEST:?}");
                sleep(LOOK);
                // Stock removes the file before it gives the new one its name: without one, nothing is known.
                let now = written();
                if now.is_some() && now != seen {
                    (seen, changed) = (now, Instant::now());
                    cycles += 1;
                }
            }
            Ok((thread.cpu()?, cycles))
        };
        after_cycles()?;
        let (mut last, _) = after_cycles()?;
        for _ in 0..rounds {
            let (now, cycles) = after_cycles()?;
            self.cycle.push(now.saturating_sub(last).as_secs_f64() * 1e3 / f64::from(cycles));
            last = now;
        }
        for _ in 0..rounds {
            let start = Instant::now();
            let text = cluster.sprio(&["-h"])?;
            self.sprio.push(start.elapsed().as_secs_f64() * 1e3);
            let lines = text.lines().count();
            ensure!(lines >= jobs as usize, "sprio shows {lines} of {jobs} jobs under {priority}");
        }
        cluster.stop_controller()
    }
}

/// Measures with and without TRES weights, also an `older` build of the plugin where there is one. `times`: how often each plugin is started; `rounds`: samples per start.
pub fn live(
    builder: Builder,
    (scene, submitters): (&Scene, u32),
    (plugin, older): (&Path, Option<&Path>),
    (times, rounds): (usize, usize),
    report: &mut Report,
) -> Result<()> {
    let mut cluster = prepare(builder.cycle_seconds(Some(PERIOD)), scene, submitters)?;
    report.note(format!(
        "{}, {} associations: Slurm {}, jobs of {submitters} users",
        scene.heap,
        scene.associations,
        cluster.release().version
    ));
    let installed = cluster.directory().join("plugins/priority_multifactor2.so");
    for tres in [false, true] {
        let scene = Scene { tres, ..scene.clone() };
        if tres {
            cluster.set("PriorityWeightTRES", "cpu=1000,mem=10,node=100")?;
        }
        let (mut stock, mut ours, mut before) = (Side::default(), Side::default(), Side::default());
        for _ in 0..times {
            stock.measure(&mut cluster, "priority/multifactor", scene.jobs, rounds)?;
            ours.measure(&mut cluster, "priority/multifactor2", scene.jobs, rounds)?;
            if let Some(older) = older {
                fs::copy(older, &installed)?;
                before.measure(&mut cluster, "priority/multifactor2", scene.jobs, rounds)?;
                fs::copy(plugin, &installed)?;
            }
        }
        if older.is_some() {
            report.add(MeasureRow {
                measure: "decay thread per cycle, CPU",
                scene: scene.clone(),
                unit: "ms",
                beside: Beside::Plain(OLDER),
                stock: before.cycle,
                ours: ours.cycle.clone(),
                goal: None,
            });
        }
        let row = |measure, stock, ours, goal| MeasureRow {
            measure,
            scene: scene.clone(),
            unit: "ms",
            beside: Beside::Stock,
            stock,
            ours,
            goal: Some(goal),
        };
        report.add(row("decay thread per cycle, CPU", stock.cycle, ours.cycle, GOAL_CYCLE));
        report.add(row("sprio of all jobs, wall", stock.sprio, ours.sprio, GOAL_SPRIO));
    }
    Ok(())
}

/// Measures ours with settings beside ours without.
pub fn live_policies(
    jobs: u32,
    plugin: &Path,
    times: usize,
    rounds: usize,
    report: &mut Report,
) -> Result<()> {
    let scene = Scene { jobs, associations: A_THOUSAND_USERS, tres: false, heap: "live" };
    let mut cluster = prepare(own(plugin).cycle_seconds(Some(PERIOD)), &scene, MANY_SUBMITTERS)?;
    let accounts: Vec<String> = (0..5).map(|account| format!("a{account}")).collect();
    let users: Vec<String> = (0..20).map(|account| format!("u{account}x0")).collect();
    let policies = policies(&accounts, &users);
    let mut plain = Side::default();
    let mut sides: Vec<Side> = policies.iter().map(|_| Side::default()).collect();
    let file = cluster.directory().join("multifactor2.conf");
    for _ in 0..times {
        fs::write(&file, "")?;
        plain.measure(&mut cluster, "priority/multifactor2", jobs, rounds)?;
        for (policy, side) in policies.iter().zip(&mut sides) {
            fs::write(&file, &policy.file)?;
            side.measure(&mut cluster, "priority/multifactor2", jobs, rounds)?;
        }
    }
    for (policy, side) in policies.iter().zip(sides) {
        let row = |measure, without: &Samples, with, goal| MeasureRow {
            measure,
            scene: scene.clone(),
            unit: "ms",
            beside: Beside::Plain(policy.name),
            stock: without.clone(),
            ours: with,
            goal,
        };
        report.add(row("decay thread per cycle, CPU", &plain.cycle, side.cycle, Some(policy.goal)));
        report.add(row("sprio of all jobs, wall", &plain.sprio, side.sprio, None));
    }
    Ok(())
}

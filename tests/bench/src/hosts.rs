//! In-process hosts with many jobs: one for the stock plugin, one for ours, filled alike.

use anyhow::{Context, Result};
use slurm_inproc::{
    state, Association, AssociationUsage, Conf, Extended, Host, Job, Options, Partition, Plugin, Qos,
    QosUsage,
};

use crate::samples::Scene;

/// Seconds that pass between two cycles, Slurm's default `PriorityCalcPeriod`.
pub const PERIOD: i64 = 300;

const FAIR_TREE: u16 = 0x20;
const WEEK: u32 = 604_800;
/// `AccountingStorageEnforce=associations,limits`.
const ENFORCE_LIMITS: u16 = 3;
/// Arrays that tasks are split off from, where the ids are to be in another order than the list.
const ARRAYS: u32 = 100;
const NOW: i64 = 2_000_000_000;
/// Users per account.
const USERS: u32 = 9;
/// Levels of accounts below the root where running jobs are charged: with the root and the user six records.
const LEVELS: u32 = 4;

/// The two hosts that are compared.
#[derive(Debug)]
pub struct Pair {
    /// With the stock plugin.
    pub stock: Host,
    /// With ours.
    pub ours: Host,
}

impl Pair {
    /// Two hosts with pending jobs; the plugins are not loaded yet.
    pub fn pending(scene: &Scene) -> Result<Self> {
        Self::of(|host| fill_pending(host, scene))
    }

    /// Two hosts with running jobs of ten TRES, in a deep tree, with limits enforced.
    pub fn running(scene: &Scene) -> Result<Self> {
        Self::of(|host| fill_running(host, scene, &["batch"]))
    }

    fn of(fill: impl Fn(&mut Host) -> Result<()>) -> Result<Self> {
        let start = |plugin| {
            let mut host = Host::start(&Options::new(plugin))?;
            fill(&mut host)?;
            Ok::<_, anyhow::Error>(host)
        };
        let ours = Plugin::multifactor2()?;
        Ok(Self {
            stock: start(Plugin::stock()).context("the host of the stock plugin")?,
            ours: start(ours)?,
        })
    }

    /// The same for both, stock first.
    pub fn both<T>(&mut self, mut what: impl FnMut(&mut Host) -> Result<T>) -> Result<(T, T)> {
        Ok((what(&mut self.stock)?, what(&mut self.ours)?))
    }

    /// Ends both.
    pub fn quit(self) -> Result<()> {
        self.stock.quit()?;
        self.ours.quit()?;
        Ok(())
    }
}

/// Settings, tree and pending jobs.
pub fn fill_pending(host: &mut Host, scene: &Scene) -> Result<()> {
    fill(host, scene, tree(scene.associations))?;
    if scene.heap == "arrays" {
        return Ok(host.bulk_tasks(scene.jobs.into(), ARRAYS)?);
    }
    Ok(host.bulk_jobs(1, scene.jobs.into(), 7, scene.heap == "scattered")?)
}

/// Settings, a deep tree, and running jobs of ten TRES in these partitions, with limits enforced.
pub fn fill_running(host: &mut Host, scene: &Scene, partitions: &[&str]) -> Result<()> {
    host.configure(&Conf::new().enforce(ENFORCE_LIMITS))?;
    host.add_tres(1001, "gres", "gpu")?;
    host.add_tres(1002, "license", "solver")?;
    let tree = deep_tree(scene.associations);
    let users: Vec<u32> = (1..).zip(&tree).filter(|(_, (_, user))| *user).map(|(id, _)| id).collect();
    fill(host, scene, tree)?;
    let promised = users.iter().map(|user| AssociationUsage::new(*user).run_secs(run_seconds(1)));
    host.usage(&promised.collect::<Vec<_>>())?;
    host.qos_usage(&QosUsage::new(1_u32).run_secs(run_seconds(1000)))?;
    let jobs = (1..=scene.jobs).zip(users.iter().cycle()).zip(partitions.iter().cycle());
    let jobs = jobs.map(|((id, user), partition)| running_job(id, *user, partition));
    Ok(host.jobs(&jobs.collect::<Vec<_>>())?)
}

/// Pending jobs, and a fiftieth as many that run, in a deep tree with limits enforced.
pub fn fill_granted(host: &mut Host, scene: &Scene) -> Result<()> {
    let running = scene.jobs / 50;
    fill_running(host, &Scene { jobs: running, ..scene.clone() }, &["batch"])?;
    Ok(host.bulk_jobs(running + 1, (scene.jobs - running).into(), 7, false)?)
}

/// The names of the accounts of the upper three levels below the root of the deep tree, and of its users.
pub fn deep_names(associations: u32) -> (Vec<String>, Vec<String>) {
    let (mut accounts, mut users) = (Vec::new(), Vec::new());
    let mut level = 0;
    for (id, (parent, is_user)) in (1_u32..).zip(deep_tree(associations)).skip(1) {
        level = if parent == 1 { 1 } else { level + 1 };
        if is_user {
            users.push(format!("u{id}"));
        } else if level <= 3 {
            accounts.push(format!("a{id}"));
        }
    }
    (accounts, users)
}

/// Parent, and whether it is a user, of associations 1 (the root), 2, …: a tenth accounts, the others users.
fn tree(associations: u32) -> Vec<(u32, bool)> {
    let accounts = (associations - 1) / (USERS + 1);
    let root = std::iter::once((0, false));
    let users = associations - 1 - accounts;
    root.chain((0..accounts).map(|_| (1, false)))
        .chain((0..users).map(|user| (2 + user % accounts.max(1), true)))
        .collect()
}

/// The same with chains of accounts.
fn deep_tree(associations: u32) -> Vec<(u32, bool)> {
    let mut tree = vec![(0, false)];
    while tree.len() < associations as usize {
        for level in 0..LEVELS {
            let parent = if level == 0 { 1 } else { last(&tree) };
            tree.push((parent, false));
        }
        let account = last(&tree);
        tree.extend((0..USERS).map(|_| (account, true)));
    }
    tree
}

/// The id of the last association.
fn last(tree: &[(u32, bool)]) -> u32 {
    u32::try_from(tree.len()).unwrap_or(u32::MAX)
}

/// Settings, tree, usage, QOS and partitions.
fn fill(host: &mut Host, scene: &Scene, tree: Vec<(u32, bool)>) -> Result<()> {
    let mut conf = Conf::new()
        .weight_age(1000_u32)
        .weight_fairshare(100_000_u32)
        .weight_job_size(1000_u32)
        .weight_partition(1000_u32)
        .weight_qos(1000_u32)
        .max_age(WEEK)
        .decay_half_life(WEEK)
        .flags(FAIR_TREE)
        .cluster_cpus(10_000_u32)
        .nodes(100_u32);
    if scene.tres {
        conf = conf.weight_tres("cpu=1000,mem=10,node=100");
    }
    host.configure(&conf)?;
    for id in 1..=3_u32 {
        host.qos(&Qos::new(id).name(format!("qos{id}")).priority(10 * id))?;
    }
    for (name, factor) in [("batch", 10_u16), ("fast", 20), ("debug", 30)] {
        host.partition(&Partition::new(name).factor(factor).max_time(1_000_000_u32).tres([
            (1, 10_000),
            (2, 1_000_000),
            (4, 100),
        ]))?;
    }
    let mut random = fastrand::Rng::with_seed(5);
    let (mut records, mut usage) = (Vec::new(), Vec::new());
    for (id, (parent, user)) in (1_u32..).zip(tree) {
        let record = Association::new(id).shares(random.u32(1..8));
        records.push(match (parent, user) {
            (0, _) => Association::new(id).account("root"),
            (_, false) => record.parent(parent).account(format!("a{id}")),
            (_, true) => {
                usage.push(AssociationUsage::new(id).raw(Extended::from(random.f64() * 1e6)));
                record.parent(parent).account(format!("a{parent}")).user(format!("u{id}")).uid(1000 + id)
            }
        });
    }
    host.associations(&records)?;
    Ok(host.usage(&usage)?)
}

/// Seconds that the limits count as promised to running jobs, enough for all that is charged here.
fn run_seconds(times: u64) -> Vec<(u32, u64)> {
    (1..=8).chain([1001, 1002]).map(|tres| (tres, times * 1_000_000_000_000)).collect()
}

fn running_job(id: u32, user: u32, partition: &str) -> Job {
    let cpus = 1 + u64::from(id % 64);
    let tres = (1..=8).chain([1001, 1002]).map(|tres| (tres, cpus * (1 + u64::from(tres % 3))));
    Job::new(id)
        .association(user)
        .user_id(1000 + user)
        .qos(1_u32)
        .partitions([partition.to_owned()])
        .state(state::RUNNING)
        .priority(1_u32)
        .submit_time(NOW - 7200)
        .begin_time(NOW - 7200)
        .accrue_time(NOW - 7200)
        .start_time(NOW - 3600)
        .end_time(NOW + 10_000_000)
        .end_time_expected(NOW + 10_000_000)
        .time_limit(200_000_u32)
        .total_cpus(u32::try_from(cpus).unwrap_or(1))
        .total_nodes(1_u32)
        .tres_requested(tres.clone().collect::<Vec<_>>())
        .tres_allocated(tres.collect::<Vec<_>>())
}

//! Random settings, trees, usage and jobs, against the independent model of points: what sprio shows, at a cycle and when jobs are set.
//!
//! Usage that slurmctld does not have, of groups and partitions, in windows or of another TRES, is for `own_usage`; how often jobs were
//! overtaken, for `bypass`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use fastrand::Rng;
use multifactor2_fixtures::points_model::cases::{case, ModelCase, ACCOUNTS, GROUPS, PARTITIONS, QOS, USERS};
use multifactor2_fixtures::points_model::{
    points, ModelAmount, ModelCluster, ModelJob, ModelKind, ModelLimit, ModelSettings, ModelType,
};
use multifactor2_fixtures::random;
use slurm_inproc::{state, Association, Conf, Host, HostResult, Job, Nice, Partition, Qos};

use super::groups::wrapped;
use super::{entries, use_up};
use crate::setup::{options, FAIR_TREE, NOW, USE_PARENT};

const CASES: usize = 60;

/// TRES by their ids.
const TRES: [(&str, u32); 9] = [
    ("cpu", 1),
    ("mem", 2),
    ("energy", 3),
    ("node", 4),
    ("billing", 5),
    ("fs/disk", 6),
    ("gres/gpu", 1001),
    ("gres/gpu:a100", 1002),
    ("license/matlab", 1003),
];

/// A case of what this host can do.
fn possible(random: &mut Rng) -> ModelCase {
    let mut case = case(random);
    let settings = &mut case.settings;
    settings.windowed = false;
    "billing".clone_into(&mut settings.metric);
    settings.targets.retain(|line| {
        !matches!(line.kind, ModelKind::Group | ModelKind::Partition)
            && !matches!(line.amount, ModelAmount::Available(_))
    });
    settings.targets.iter_mut().for_each(|line| line.window = None);
    // The model's strangers are nowhere in the tree. Here they are newcomers, who stand in it where their account does.
    let in_tree =
        settings.targets.iter().any(|line| line.kind == ModelKind::Parent && line.r#type != ModelType::Cap);
    for job in &mut case.jobs {
        job.bypass = 0;
        if job.user == "ghost" {
            job.association = None;
        }
        if !case.cluster.calculate_running {
            job.now = job.started.take().unwrap_or(job.now);
        }
    }
    case.jobs.retain(|job| !job.direct && !job.held && (job.association.is_some() || !in_tree));
    case
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole numbers
fn whole(number: f64) -> u64 {
    number as u64
}

fn minutes(limit: Option<ModelLimit>) -> u32 {
    match limit {
        None => 0xffff_fffe,
        Some(ModelLimit::Unlimited) => u32::MAX,
        Some(ModelLimit::Minutes(minutes)) => minutes,
    }
}

fn id(at: usize) -> u32 {
    u32::try_from(at).expect("a small case") + 1
}

fn uid(user: &str) -> u32 {
    2000 + USERS.iter().position(|name| *name == user).map_or(99, id)
}

fn association(cluster: &ModelCluster, at: usize) -> Association {
    let node = &cluster.nodes[at];
    let new = Association::new(id(at)).shares(node.shares.unwrap_or(USE_PARENT));
    match node.parent {
        None => new.account("root"),
        Some(parent) if node.user => {
            let account = cluster.nodes[parent].name.clone();
            new.parent(id(parent)).account(account).user(node.name.clone()).uid(uid(&node.name))
        }
        Some(parent) => new.parent(id(parent)).account(node.name.clone()),
    }
}

fn start(case: &ModelCase, groups: &std::path::Path) -> HostResult<Host> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), case.settings.to_string())];
    options.wrapper = wrapped(groups);
    let mut host = Host::start(&options)?;
    let running = slurm_inproc::constants::PRIORITY_FLAGS_CALCULATE_RUNNING;
    let flags = FAIR_TREE | if case.cluster.calculate_running { running } else { 0 };
    host.configure(&Conf::new().flags(flags).decay_half_life(0_u32))?;
    for (name, id) in TRES.iter().filter(|(_, id)| *id > 1000) {
        let (kind, name) = name.split_once('/').expect("a name");
        host.add_tres(*id, kind, name)?;
    }
    let total = |(name, id): &(&str, u32)| {
        let total = case.cluster.totals.get(*name).copied().unwrap_or(0.0);
        (*id, whole(total))
    };
    host.tres_totals(&TRES.iter().map(total).collect::<Vec<_>>())?;
    for (at, name) in QOS.iter().enumerate() {
        host.qos(&Qos::new(id(at)).name(*name))?;
    }
    let nodes = 0..case.cluster.nodes.len();
    host.associations(&nodes.clone().map(|at| association(&case.cluster, at)).collect::<Vec<_>>())?;
    for name in PARTITIONS {
        let limit = minutes(case.cluster.max_times.get(name).copied());
        host.partition(&Partition::new(name).max_time(if limit == 0xffff_fffe { u32::MAX } else { limit }))?;
    }
    let raw = |at: usize| case.cluster.charged.nodes[at].first().copied().unwrap_or(0.0);
    let of_qos = |(at, name): (usize, &&str)| {
        let used = case.cluster.charged.qos.get(*name).and_then(|windows| windows.first());
        (id(at), used.copied().unwrap_or(0.0))
    };
    use_up(
        &mut host,
        &nodes.map(|at| (id(at), raw(at))).collect::<Vec<_>>(),
        &QOS.iter().enumerate().map(of_qos).collect::<Vec<_>>(),
    )?;
    Ok(host)
}

/// A job of the model as a record. Its times are moved to the clock of the host.
fn record(number: u32, of: &ModelJob, partitions: &[&str], ghost: u32) -> Job {
    let at = |time: i64| NOW - (of.now - time);
    let tres = |name: &str| TRES.iter().find(|(tres, _)| *tres == name).expect("a TRES").1;
    let mut names = vec![of.partition.clone()];
    names.extend(partitions.iter().filter(|name| **name != of.partition).map(|name| (*name).to_owned()));
    let job = Job::new(number)
        .association(of.association.map_or(ghost, id))
        .user_id(uid(&of.user))
        .group_id(of.gid)
        .qos(id(QOS.iter().position(|name| *name == of.qos).expect("a QOS")))
        .partitions(names)
        .priority(1_u32)
        .site_factor(Nice(of.site_factor))
        .submit_time(NOW - 1)
        .begin_time(NOW - 1)
        .accrue_time(if of.accrue == 0 { 0 } else { at(of.accrue) })
        .time_limit(minutes(of.limit))
        .tmp_disk(u32::try_from(whole(of.tmp_disk)).expect("small"))
        // Nothing is charged for it.
        .billable_tres(0.0)
        .tres_requested(of.request.iter().map(|(name, n)| (tres(name), whole(*n))).collect::<Vec<_>>());
    match of.started {
        None => job,
        Some(started) => job.state(state::RUNNING).start_time(at(started)).end_time_expected(NOW + 1_000_000),
    }
}

/// Everything in a case that differs from the model.
fn differences(
    host: &mut Host,
    case: &ModelCase,
    jobs: &[(u32, &ModelJob)],
    what: &str,
) -> HostResult<String> {
    let mut text = String::new();
    for (number, of) in jobs {
        let mut first = None;
        for (partition, site) in entries(host, *number)? {
            let of = ModelJob { partition: partition.clone(), ..(*of).clone() };
            let expected = points(&case.settings, &case.cluster, &of);
            first = first.or(Some(site));
            if site != expected.site && !expected.agrees(site - of.site_factor) {
                let _ = writeln!(text, "{what}: SITE {site} in {partition}: {expected:?}\nof {of:?}");
            }
        }
        let priority = i64::from(host.dump_job(*number)?.priority);
        if Some(priority) != first.map(|site| site.max(1)) {
            let _ = writeln!(text, "{what}: job {number}: priority {priority}, SITE {first:?}");
        }
    }
    Ok(text)
}

fn check(random: &mut Rng, case: &ModelCase, groups: &std::path::Path) -> HostResult<String> {
    let mut host = start(case, groups)?;
    // Jobs of somebody who is not in the tree come later, with associations of their own.
    let mut ghosts: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, at) in
        case.jobs.iter().filter(|job| job.association.is_none()).map(|job| &*job.account).zip(0..)
    {
        ghosts.entry(name).or_insert(id(case.cluster.nodes.len()) + at);
    }
    let (mut known, mut new) = (Vec::new(), Vec::new());
    let mut records = BTreeMap::new();
    for (at, job) in case.jobs.iter().enumerate() {
        let several: &[&str] = if job.started.is_none() && random.bool() { &PARTITIONS } else { &[] };
        let ghost = ghosts.get(&*job.account).copied().unwrap_or(0);
        records.insert(id(at), record(id(at), job, several, ghost));
        if job.association.is_some() { &mut known } else { &mut new }.push((id(at), job));
    }
    host.jobs(&known.iter().map(|(number, _)| records[number].clone()).collect::<Vec<_>>())?;
    host.init()?;
    let mut text = differences(&mut host, case, &known, "cycle")?;
    let ghost = |(account, ghost): (&&str, &u32)| {
        let account = case.cluster.account(account).expect("an account");
        let name = case.cluster.nodes[account].name.clone();
        Association::new(*ghost).parent(id(account)).account(name).user("ghost").uid(uid("ghost"))
    };
    host.associations(&ghosts.iter().map(ghost).collect::<Vec<_>>())?;
    host.jobs(&new.iter().map(|(number, _)| records[number].clone()).collect::<Vec<_>>())?;
    known.append(&mut new);
    for (number, _) in &known {
        host.set_priority(*number)?;
    }
    text += &differences(&mut host, case, &known, "set")?;
    let log = host.quit()?;
    if log.contains("error: priority/multifactor2") && !log.contains("exceeds 32 bits") {
        text += &log;
    }
    Ok(text)
}

#[test]
fn random_cases_are_as_the_model_has_them() -> HostResult<()> {
    assert_eq!(ACCOUNTS.len(), 6);
    let directory = tempfile::tempdir()?;
    let groups = directory.path().join("group");
    let lines = GROUPS.map(|(name, gid)| format!("{name}:x:{gid}:\n"));
    fs::write(&groups, lines.concat())?;
    let mut random = random();
    let mut asked = 0;
    for number in 0..CASES {
        let case = possible(&mut random);
        let without = ModelSettings { components: Vec::new(), ..case.settings.clone() };
        asked += usize::from(without.to_string() != case.settings.to_string());
        let text = check(&mut random, &case, &groups)?;
        assert!(text.is_empty(), "case {number}:\n{}\n{text}\nin {:#?}", case.settings, case.cluster);
    }
    assert!(asked > CASES / 2, "only {asked} of {CASES} cases ask for points");
    Ok(())
}

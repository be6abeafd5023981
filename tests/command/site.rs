//! Snapshots made by hand and by chance, for the tests and for `command/examples/large.rs`.

#![allow(dead_code)] // each user needs another part
#![allow(clippy::assigning_clones)] // shorter

use multifactor2_fixtures::example::TREE;
use multifactor2_snapshot::records::{
    Association, Entry, Grant, Job, Partition, Qos, Running, Setting, Tres, Usage,
};
use multifactor2_snapshot::Snapshot;

/// A directory with a command `id` that says that somebody else asks, as the first of `PATH`.
pub fn path_as(user: &str, directory: &std::path::Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let id = directory.join("id");
    std::fs::write(&id, format!("#!/bin/sh\necho {user}\n")).unwrap();
    std::fs::set_permissions(&id, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", directory.display())
}

/// A grant of the account c, of which three quarters of March 2027 are used.
pub fn grant() -> Grant {
    Grant {
        kind: "Account".to_owned(),
        name: "c".to_owned(),
        unit: "cpu".to_owned(),
        state: "within".to_owned(),
        beyond: "low".to_owned(),
        within: 1000.0,
        changed: TIME - 900_000,
        next_change: TIME + 1_000_000,
        first: TIME - 3_000_000,
        end: TIME + 9_000_000,
        rule: "carry".to_owned(),
        place: "multifactor2.conf line 3".to_owned(),
        amount: 3600.0 * 1200.0,
        used_all: 3600.0 * 240.0,
        should_be: 3600.0 * 150.0,
        period: 2,
        periods: 12,
        period_begin: TIME - 1_000_000,
        period_end: TIME + 1_000_000,
        granted: 3600.0 * 100.0,
        carried: 3600.0 * 60.0,
        borrowable: 3600.0 * 20.0,
        used: 3600.0 * 135.0,
        left: 3600.0 * 45.0,
        running: 4.0,
        begun: TIME - 3_000_000,
        counted_until: TIME,
        days: vec![TIME - 600_000, TIME - 300_000],
        used_by_day: vec![3600.0 * 60.0, 3600.0 * 65.0],
        ..Grant::default()
    }
}

/// When the snapshots were taken.
pub const TIME: i64 = 1_800_000_000;

/// A cluster with two partitions and two QOS, and nobody in it.
pub fn empty() -> Snapshot {
    let mut snapshot = Snapshot { settings: Some(Vec::new()), ..Snapshot::default() };
    let about = &mut snapshot.about;
    (about.time, about.taken) = (TIME, TIME + 1);
    about.cluster = "pages".to_owned();
    about.release = "24.11.5".to_owned();
    about.priority_type = "priority/multifactor2".to_owned();
    about.plugin = "0.1.0".to_owned();
    about.source = "plugin".to_owned();
    (about.cpus, about.nodes) = (64, 4);
    for (name, value) in [
        ("AccountingStorageType", "accounting_storage/slurmdbd"),
        ("PreemptType", "preempt/none"),
        ("PriorityCalcPeriod", "00:05:00"),
        ("PriorityDecayHalfLife", "7-00:00:00"),
        ("PriorityFlags", ""),
        ("PriorityMaxAge", "7-00:00:00"),
        ("PriorityParameters", "(null)"),
        ("PriorityWeightAge", "1000"),
        ("PriorityWeightFairShare", "10000"),
        ("PriorityWeightJobSize", "0"),
        ("PriorityWeightPartition", "1000"),
        ("PriorityWeightQOS", "2000"),
        ("SchedulerParameters", "(null)"),
        ("TCPTimeout", "2 sec"),
    ] {
        snapshot.parameters.insert(name.to_owned(), value.to_owned());
    }
    for (name, count) in [("cpu", 64), ("mem", 256_000), ("energy", 0), ("node", 4), ("billing", 64)] {
        snapshot.tres.push(Tres { name: name.to_owned(), count, weight: None });
    }
    for (name, tier, job_factor) in [("main", 1, 10), ("gpu", 1, 5)] {
        snapshot.partitions.push(Partition {
            name: name.to_owned(),
            tier,
            job_factor,
            job_factor_norm: f64::from(job_factor) / 10.0,
            state: "UP".to_owned(),
            tres: vec![64, 256_000, 0, 4, 64],
            ..Partition::default()
        });
    }
    for (id, name, priority) in [(1, "normal", 0), (2, "high", 50)] {
        snapshot.qos.push(Qos {
            id,
            name: name.to_owned(),
            priority,
            priority_norm: f64::from(priority) / 50.0,
            usage_factor: 1.0,
            ..Qos::default()
        });
    }
    snapshot
}

/// The documented example: its tree, and a job of each user that waits there.
pub fn example() -> Snapshot {
    let mut snapshot = empty();
    for (id, row) in (1..).zip(&TREE) {
        snapshot.associations.push(Association {
            id,
            parent: if id == 1 { 0 } else { u32::try_from(row.parent).unwrap() + 1 },
            account: row.account.to_owned(),
            user: row.user.to_owned(),
            shares: row.shares,
            usage: row.usage * 36_000.0,
            ..Association::default()
        });
    }
    let waiting = snapshot.associations.iter().zip(&TREE).filter(|(_, row)| row.waiting);
    let jobs: Vec<Job> = (1001..).zip(waiting).map(|(id, (association, _))| job(id, association)).collect();
    snapshot.jobs = jobs;
    show(&mut snapshot);
    snapshot
}

/// A job of a user: in partition `main`, one CPU, waiting for a tenth of `PriorityMaxAge`.
pub fn job(id: u32, association: &Association) -> Job {
    Job {
        id,
        association: association.id,
        user: association.user.clone(),
        account: association.account.clone(),
        partition: "main".to_owned(),
        qos: "normal".to_owned(),
        reason: "Priority".to_owned(),
        priority: 1,
        competes: true,
        submit: TIME - 60_480,
        eligible: TIME - 60_480,
        accrue: TIME - 60_480,
        limit: Some(60),
        nodes: 1,
        cpus: 1,
        size_cpus: 1,
        tres: vec![1, 1000, 0, 1, 1],
        is_computed: true,
        ..Job::default()
    }
}

/// Makes Slurm show what is computed, as it does right after a cycle.
pub fn show(snapshot: &mut Snapshot) {
    use multifactor2_command::model::{Model, Options};
    let model = Model::of(snapshot, Options { recompute: true, ..Options::default() });
    let mut jobs = snapshot.jobs.clone();
    let mut entries: Vec<Entry> = Vec::new();
    for (job, rank) in jobs.iter_mut().zip(&model.jobs) {
        job.competes = rank.competes;
        if let Some((addends, priority)) = rank.computed {
            job.priority = priority;
            (job.age, job.assoc, job.fair_share) = (addends.age, addends.assoc, addends.fair_share);
            (job.job_size, job.partition_addend) = (addends.job_size, addends.partition);
            (job.qos_addend, job.tres_addend) = (addends.qos, addends.tres);
            if let Some(points) = rank.points {
                let parts = [points.cred, points.fs, points.res, points.serv, points.target, points.usage];
                job.points = parts.into_iter().chain([f64::from(points.total)]).collect();
            }
        }
        for entry in &rank.entries {
            let (addends, priority) = entry.computed.unwrap_or_default();
            entries.push(Entry {
                job: job.id,
                partition: entry.partition.clone(),
                qos: entry.qos.clone(),
                priority,
                fair_share: addends.fair_share,
                partition_addend: addends.partition,
                qos_addend: addends.qos,
                tres_addend: addends.tres,
                #[allow(clippy::cast_precision_loss)]
                points: addends.site - job.site as f64,
            });
        }
    }
    let standings = model.standings.clone();
    (snapshot.jobs, snapshot.entries) = (jobs, entries);
    for (association, standing) in snapshot.associations.iter_mut().zip(standings) {
        association.shares_norm = standing.shares_norm;
        association.usage_norm = standing.usage_norm;
        association.usage_effective = standing.usage_effective;
        association.level_fs = standing.level_fs;
        association.factor = standing.factor;
        association.tickets = standing.tickets;
        association.active = Some(standing.active);
    }
}

/// Adds a setting of ours.
pub fn set(snapshot: &mut Snapshot, line: &str) {
    let from =
        format!("/etc/slurm/multifactor2.conf line {}", snapshot.settings.as_ref().map_or(0, Vec::len) + 1);
    snapshot.settings.get_or_insert_with(Vec::new).push(Setting { line: line.to_owned(), from });
}

/// What a random cluster has.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Accounts and users.
    pub associations: u32,
    /// Waiting jobs.
    pub jobs: u32,
}

/// A cluster by chance, with jobs of all kinds.
pub fn random(size: Size, seed: u64) -> Snapshot {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut snapshot = empty();
    let accounts = (size.associations / 10).max(1);
    snapshot.associations.push(Association {
        id: 1,
        account: "root".to_owned(),
        shares: 1,
        ..Association::default()
    });
    for id in 2..=size.associations.max(2) {
        let is_account = id <= accounts + 1;
        let parent = rng.u32(1..=(id - 1).min(accounts + 1));
        let account = if is_account {
            format!("a{id}")
        } else {
            snapshot.associations[parent as usize - 1].account.clone()
        };
        let shares = if rng.u8(0..20) == 0 { 0x7FFF_FFFF } else { rng.u32(0..100) };
        snapshot.associations.push(Association {
            id,
            parent,
            account,
            user: if is_account { String::new() } else { format!("u{}", rng.u32(0..size.associations)) },
            shares,
            usage: if rng.bool() { 0.0 } else { rng.f64() * 1e6 },
            priority: rng.u32(0..3),
            priority_norm: rng.f64(),
            ..Association::default()
        });
    }
    for at in (1..snapshot.associations.len()).rev() {
        let (usage, parent) = (snapshot.associations[at].usage, snapshot.associations[at].parent);
        snapshot.associations[parent as usize - 1].usage += usage;
    }
    let users: Vec<usize> =
        (0..snapshot.associations.len()).filter(|at| !snapshot.associations[*at].user.is_empty()).collect();
    for id in 1..=size.jobs {
        let Some(user) = users.get(rng.usize(0..users.len().max(1))) else { break };
        let job = random_job(&mut rng, id, &snapshot.associations[*user]);
        snapshot.jobs.push(job);
    }
    for user in users.iter().take(users.len() / 3) {
        snapshot.running.push(Running {
            association: snapshot.associations[*user].id,
            partition: "main".to_owned(),
            qos: "normal".to_owned(),
            count: rng.u32(1..50),
            size: rng.f64() * 100.0,
            ..Running::default()
        });
    }
    snapshot.usage.push(Usage {
        model: "halflife".to_owned(),
        of: "all".to_owned(),
        amount: 1e6,
        ..Usage::default()
    });
    show(&mut snapshot);
    snapshot
}

fn random_job(rng: &mut fastrand::Rng, id: u32, association: &Association) -> Job {
    let mut job = job(id, association);
    let waited = i64::from(rng.u32(0..1_000_000));
    (job.submit, job.eligible, job.accrue) = (TIME - waited, TIME - waited, TIME - waited);
    job.cpus = rng.u32(1..128);
    job.size_cpus = job.cpus;
    job.nodes = rng.u32(1..5);
    job.tres = vec![u64::from(job.cpus), 1000, 0, u64::from(job.nodes), u64::from(job.cpus)];
    job.nice = if rng.u8(0..10) == 0 { i64::from(rng.i32(-100..100)) } else { 0 };
    job.partition = ["main", "gpu"][rng.usize(0..2)].to_owned();
    job.qos = ["normal", "high"][rng.usize(0..2)].to_owned();
    match rng.u8(0..30) {
        0 => (job.priority, job.competes, job.is_computed) = (0, false, false),
        1 => (job.eligible, job.accrue, job.competes) = (0, 0, false),
        2 => (job.eligible, job.accrue, job.competes) = (TIME + 3600, 0, false),
        3 => (job.direct, job.priority, job.is_computed) = (true, rng.u32(1..1_000_000), false),
        4 => job.partitions = vec!["main".to_owned(), "gpu".to_owned()],
        5 => job.reservation = "week".to_owned(),
        6 => (job.array_job, job.array_tasks) = (id, format!("[{}-{}%2]", rng.u32(0..5), rng.u32(5..50))),
        7 => (job.array_job, job.array_tasks) = (id.saturating_sub(1).max(1), rng.u32(0..5).to_string()),
        8 => job.het_job = id.saturating_sub(rng.u32(0..2)).max(1),
        9 => job.limit = None,
        _ => (),
    }
    job.reason =
        ["Priority", "Resources", "AssocGrpCpuLimit", "None", "Whatever"][rng.usize(0..5)].to_owned();
    job
}

//! Turns what was gathered into the records of a file, without any lock.

use std::io::{self, Write};

use multifactor2_accounting::sums::WindowAmounts;
use multifactor2_core::factors::{unshift, Evaluation};
use multifactor2_core::policy::points::{Ranges, TargetUsage};
use multifactor2_core::seldom;
use multifactor2_snapshot::format::Writer;
use multifactor2_snapshot::records::{
    About, Association, Book, BookAssociation, Entry, Grant, Group, Job, Parameter, Partition, Qos, Running,
    Setting, TreeWindow, Tres, Usage, Window,
};

use super::gather::{Gathered, More, Waiting, NONE};
use crate::host::constants::NICE_OFFSET;
use crate::identity::{PRIORITY_TYPE, VERSION};
use crate::plugin::standing::Shown;

/// Writes the file.
///
/// # Errors
/// Those of `out`.
pub fn write(gathered: &Gathered, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::begin(out)?;
    writer.all([about(gathered)])?;
    writer.all(
        gathered
            .told
            .parameters
            .iter()
            .map(|(name, value)| Parameter { name: name.clone(), value: value.clone() }),
    )?;
    writer.heading::<Setting>()?;
    gathered.told.settings.iter().try_for_each(|setting| writer.record(setting))?;
    writer.all(tres(gathered))?;
    writer.all::<Partition>(&gathered.partitions)?;
    writer.all::<Qos>(&gathered.qos)?;
    writer.all(associations(gathered))?;
    writer.all(books(gathered))?;
    writer.all(in_books(gathered))?;
    write_jobs(gathered, &mut writer)?;
    writer.all::<Entry>(&gathered.entries)?;
    writer.all(running(gathered))?;
    writer.all(usage(gathered))?;
    writer.all(windows(gathered))?;
    writer.all(tree_windows(gathered))?;
    writer.all(groups(gathered))?;
    writer.all::<Grant>(&gathered.grants)?;
    writer.end().map(drop)
}

pub(super) fn about(gathered: &Gathered) -> About {
    let Gathered { host, told, times: [time, taken], .. } = gathered;
    let mut hidden = Vec::new();
    if !host.verified {
        hidden.push(
            "Reservations, wckeys, Unix groups, temporary disk and the cluster's name are left out: this Slurm \
             release is newer than the plugin knows."
                .to_owned(),
        );
    }
    if !gathered.has_partitions {
        hidden.push("Partitions are left out: this Slurm release does not provide them.".to_owned());
    }
    About {
        time: *time,
        taken: *taken,
        cluster: told.cluster.clone(),
        release: host.release.to_string(),
        priority_type: PRIORITY_TYPE.to_string_lossy().into_owned(),
        plugin: VERSION.to_owned(),
        source: "plugin".to_owned(),
        hidden,
        partial_tree: false,
        partial_queue: false,
        queue_unknown: String::new(),
        queue_because: String::new(),
        // Slurm keeps it as bits by QOS, in a field that no layout here has.
        knows_preemption: false,
        asked: 0,
        only_jobs: false,
        withheld: 0,
        cpus: host.cluster_cpus(),
        nodes: host.node_count(),
    }
}

pub(super) fn tres(gathered: &Gathered) -> impl Iterator<Item = Tres> + '_ {
    gathered.totals.iter().enumerate().map(|(at, total)| Tres {
        name: if total.name.is_empty() {
            total.kind.clone()
        } else {
            format!("{}/{}", total.kind, total.name)
        },
        count: total.count,
        weight: gathered
            .tres_weights
            .as_ref()
            .and_then(|weights| weights.get(at))
            .copied()
            .filter(|weight| *weight != 0.0),
    })
}

fn associations(gathered: &Gathered) -> impl Iterator<Item = Association> + '_ {
    let name = |number| gathered.names.name(number).to_owned();
    gathered.standing.held().into_iter().filter_map(move |held| {
        // Gone since the cycle.
        let record = gathered.associations.get(&held.id)?;
        let numbers = held.numbers;
        Some(Association {
            id: held.id,
            parent: record.parent,
            account: name(record.account),
            user: name(record.user),
            partition: name(record.partition),
            shares: record.shares,
            priority: record.priority,
            priority_norm: record.priority_norm,
            usage: held.usage,
            dominant: held.dominant,
            shares_norm: numbers.shares_norm,
            usage_norm: numbers.usage_norm,
            usage_effective: numbers.usage_effective,
            level_fs: Some(numbers.level_fs),
            factor: numbers.factor,
            tickets: Some(numbers.tickets),
            active: Some(numbers.active),
            // Commands alone ask for it.
            is_default: false,
        })
    })
}

fn books(gathered: &Gathered) -> impl Iterator<Item = Book> + '_ {
    gathered.standing.named_books().map(|(_, name, partitions, max_tickets)| Book {
        name: name.to_owned(),
        partitions: partitions.to_vec(),
        max_tickets,
    })
}

/// Those that have used something in a book, or wait in it.
fn in_books(gathered: &Gathered) -> impl Iterator<Item = BookAssociation> + '_ {
    gathered.standing.named_books().flat_map(move |(book, name, ..)| {
        let held = gathered.standing.held_in(book);
        held.filter_map(move |(id, Shown { numbers, usage, .. })| {
            let usage = usage.unwrap_or_default();
            let is_there = gathered.associations.contains_key(&id) && (usage > 0.0 || numbers.active);
            is_there.then(|| BookAssociation {
                book: name.to_owned(),
                association: id,
                usage,
                shares_norm: numbers.shares_norm,
                factor: numbers.factor,
                tickets: numbers.tickets,
                active: numbers.active,
            })
        })
    })
}

fn groups(gathered: &Gathered) -> Vec<Group> {
    let groups = gathered.points.iter().flat_map(|points| points.groups());
    let mut all: Vec<Group> = groups.map(|(name, id)| Group { name: name.to_owned(), id }).collect();
    seldom::sort_by(&mut all, |a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    all
}

/// Puts a name where the one of the job before was.
fn put(place: &mut String, name: &str) {
    place.clear();
    place.push_str(name);
}

fn write_jobs(gathered: &Gathered, writer: &mut Writer<&mut dyn Write>) -> io::Result<()> {
    if gathered.jobs.is_empty() {
        return Ok(());
    }
    writer.heading::<Job>()?;
    let (mut record, mut next) = (Job::default(), 0);
    let count = gathered.totals.len();
    for (at, job) in gathered.jobs.iter().enumerate() {
        fill(&mut record, gathered, job, &mut next);
        let tres = &gathered.tres[at * count..(at + 1) * count];
        let length = tres.iter().rposition(|amount| *amount != 0).map_or(0, |last| last + 1);
        record.tres.clear();
        record.tres.extend_from_slice(&tres[..length]);
        writer.record(&record)?;
    }
    Ok(())
}

/// All of a job but its TRES.
fn fill(record: &mut Job, gathered: &Gathered, job: &Waiting, next: &mut usize) {
    let names = &gathered.names;
    let association = gathered.associations.get(&job.association);
    put(&mut record.user, association.map_or("", |association| names.name(association.user)));
    put(&mut record.account, names.name(association.map_or(job.account, |association| association.account)));
    put(&mut record.partition, names.name(job.partition));
    put(&mut record.qos, names.name(job.qos));
    put(&mut record.wckey, names.name(job.wckey));
    put(&mut record.reservation, names.name(job.reservation));
    put(&mut record.reason, gathered.reasons.get(&job.reason).map_or("", String::as_str));
    record.array_tasks.clear();
    if let Some(task) = job.array.and_then(|(_, task)| task) {
        record.array_tasks.push_str(&task.to_string());
    }
    let none = More::default();
    let more = gathered.more.get(&job.id).unwrap_or(&none);
    record.partitions.clear();
    record.partitions.extend(more.partitions.iter().map(|number| names.name(*number).to_owned()));
    let own_site = unshift(job.site);
    let of_cycle = || gathered.drafts.as_ref()?.evaluation_after(next, job.id, &gathered.standing);
    let is_priced = !job.direct && job.priority != 0;
    let evaluation = more.set.or_else(of_cycle).filter(|_| is_priced);
    let Evaluation { age, assoc, fair_share, job_size, partition, qos, tres, site, .. } =
        evaluation.unwrap_or_default();
    record.points.clear();
    if let Some(points) = more.points.filter(|_| evaluation.is_some()) {
        let total = unshift(site) - own_site;
        record.points.extend(points.by_word().map(|(_, part)| part).chain([total]));
    }
    record.tickets.clear();
    let of_cycle = || gathered.drafts.as_ref()?.tickets_of(job.id);
    let tickets = if more.set.is_some() { more.tickets } else { of_cycle() };
    if let Some(tickets) = tickets {
        record.tickets.extend([tickets.overridden, tickets.functional, tickets.share_tree]);
    }
    record.id = job.id;
    record.array_job = job.array.map_or(0, |(array, _)| array);
    record.het_job = job.het_job;
    record.association = job.association;
    record.group = job.group.filter(|group| *group != NONE);
    record.priority = job.priority;
    record.direct = job.direct;
    record.competes = job.competes;
    record.stopped = job.is_stopped;
    record.is_computed = evaluation.is_some();
    (record.submit, record.eligible, record.accrue) =
        job.times.map_or((0, 0, 0), |times| (times.submit, times.begin, times.accrue));
    record.start = job.start;
    record.limit = job.own_limit();
    (record.nodes, record.cpus, record.size_cpus) = (job.nodes, job.cpus, job.size_cpus);
    record.tmp_disk = job.tmp_disk;
    record.nice = shifted(job.nice);
    record.site = shifted(job.site);
    (record.age, record.assoc, record.fair_share, record.job_size) = (age, assoc, fair_share, job_size);
    (record.partition_addend, record.qos_addend, record.tres_addend) = (partition, qos, tres);
    record.bypass = gathered.points.as_ref().map_or(0, |points| points.bypass(job.id));
    record.own_tickets = job.own_tickets;
    (record.restarts, record.deadline) = (job.course.restarts, job.course.deadline);
}

/// A number that Slurm stores with an offset; 0 is one that was never stored.
fn shifted(stored: u32) -> i64 {
    if stored == 0 {
        0
    } else {
        i64::from(stored) - i64::from(NICE_OFFSET)
    }
}

fn running(gathered: &Gathered) -> Vec<Running> {
    let name = |number| gathered.names.name(number).to_owned();
    let mut all: Vec<Running> = gathered
        .running
        .iter()
        .map(|((association, partition, qos, wckey, own_tickets), together)| Running {
            association: *association,
            partition: name(*partition),
            qos: name(*qos),
            wckey: name(*wckey),
            own_tickets: *own_tickets,
            count: together.count,
            size: together.size,
            tres: together.tres.clone(),
            billing: together.billing(),
        })
        .collect();
    seldom::sort_by(&mut all, |a, b| {
        let key = |of: &Running| (of.association, of.own_tickets);
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.partition, &a.qos, &a.wckey).cmp(&(&b.partition, &b.qos, &b.wckey)))
    });
    all
}

fn usage(gathered: &Gathered) -> Vec<Usage> {
    let mut all = Vec::new();
    let Some(points) = &gathered.points else { return all };
    for ((of, key), step) in points.kept_steps().into_iter().flatten() {
        #[allow(clippy::cast_precision_loss)] // far below
        all.push(Usage { model: "step".to_owned(), of, key, amount: step as f64 });
    }
    for (of, key, amount) in points.ranges().map(Ranges::numbers).into_iter().flatten() {
        all.push(Usage { model: "range".to_owned(), of, key: key.to_owned(), amount });
    }
    for (user, percent) in points.accuracies() {
        let (model, of) = ("accuracy".to_owned(), "user".to_owned());
        all.push(Usage { model, of, key: user.to_owned(), amount: percent });
    }
    let (kinds, tree) = points.target_usage();
    for (model, TargetUsage { nodes, qos, groups, partitions, all: of_all, capacity }) in kinds {
        let mut add = |of: &str, key: String, amount: f64| {
            all.push(Usage { model: model.clone(), of: of.to_owned(), key, amount });
        };
        let mut ids: Vec<u32> = gathered.associations.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let amount = gathered.standing.node_in(tree, id).and_then(|node| nodes.get(node.index()));
            if let Some(amount) = amount {
                add("association", id.to_string(), *amount);
            }
        }
        for (of, sums) in [("qos", qos), ("group", groups)] {
            let mut sums: Vec<_> = sums.iter().collect();
            seldom::sort_by_key(&mut sums, |(id, _)| **id);
            for (id, amount) in sums {
                add(of, id.to_string(), *amount);
            }
        }
        let mut sums: Vec<_> = partitions.iter().collect();
        seldom::sort_by(&mut sums, |(a, _), (b, _)| a.cmp(b));
        for (name, amount) in sums {
            add("partition", name.clone(), *amount);
        }
        add("all", String::new(), *of_all);
        add("available", String::new(), *capacity);
    }
    all
}

/// What was billed in each window of the share tree.
fn tree_windows(gathered: &Gathered) -> Vec<TreeWindow> {
    let Some(WindowAmounts { begin, length, told, associations, of_tree, .. }) = &gathered.tree_windows
    else {
        return Vec::new();
    };
    let mut ids: Vec<u32> = gathered.associations.keys().copied().collect();
    ids.sort_unstable();
    let each = ids.into_iter().filter_map(|association| {
        let of =
            |amounts: &[f64]| TreeWindow { association, amounts: amounts.to_vec(), ..TreeWindow::default() };
        if gathered.associations[&association].parent == 0 {
            // With what associations have used that are gone.
            let told = u32::try_from(*told).unwrap_or(u32::MAX);
            return Some(TreeWindow { begin: *begin, length: *length, told, ..of(of_tree) });
        }
        associations.get(&association).filter(|amounts| !amounts.is_empty()).map(|amounts| of(amounts))
    });
    each.collect()
}

/// What was used in each window: of associations in the tree that the usage is of.
fn windows(gathered: &Gathered) -> Vec<Window> {
    let mut all = Vec::new();
    let (Some(points), Some(amounts)) = (&gathered.points, &gathered.windows) else { return all };
    let WindowAmounts {
        begin,
        length,
        told,
        associations,
        of_tree,
        qos,
        groups,
        partitions,
        all: of_all,
        capacity,
    } = amounts;
    let mut add = |of: &str, key: String, amounts: &[f64]| {
        let amounts = amounts.to_vec();
        all.push(Window { of: of.to_owned(), key, amounts, ..Window::default() });
    };
    let (_, tree) = points.target_usage();
    let mut ids: Vec<u32> = gathered.associations.keys().copied().collect();
    ids.sort_unstable();
    for id in ids {
        let Some(node) = gathered.standing.node_in(tree, id) else { continue };
        // As in the usage: with what associations have used that are gone.
        let own = if node.index() == 0 { Some(of_tree) } else { associations.get(&id) };
        if let Some(amounts) = own.filter(|amounts| !amounts.is_empty()) {
            add("association", id.to_string(), amounts);
        }
    }
    for (of, by_id) in [("qos", qos), ("group", groups)] {
        let mut by_id: Vec<_> = by_id.iter().filter(|(_, amounts)| !amounts.is_empty()).collect();
        seldom::sort_by_key(&mut by_id, |(id, _)| **id);
        for (id, amounts) in by_id {
            add(of, id.to_string(), amounts);
        }
    }
    let mut by_name: Vec<_> = partitions.iter().filter(|(_, amounts)| !amounts.is_empty()).collect();
    seldom::sort_by(&mut by_name, |(a, _), (b, _)| a.cmp(b));
    for (name, amounts) in by_name {
        add("partition", name.clone(), amounts);
    }
    add("available", String::new(), capacity);
    let told = u32::try_from(*told).unwrap_or(u32::MAX);
    let (of, amounts) = ("all".to_owned(), of_all.clone());
    all.push(Window { of, key: String::new(), amounts, begin: *begin, length: *length, told });
    all
}

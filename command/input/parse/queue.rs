//! Reads `squeue`: one record per job or array task. Numbers are in cells. Texts, which users may choose, are between marks.

use slurm_text::durations::{Grammar, Length};
use slurm_text::lines::{self, is_of_cluster, whole, Unread};
use slurm_text::tres;

use super::time;
use crate::input::commands::{JOB_NUMBERS, JOB_TEXTS};
use crate::input::texts::Manifest;
use crate::model::is_named;

/// What squeue says of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: u32,
    /// The id of its array; 0 for none.
    pub array: u32,
    /// Its tasks.
    pub tasks: String,
    /// The id of the leader of its heterogeneous job; 0 for none.
    pub het: u32,
    /// The id of its association; 0 if that is not known.
    pub association: u32,
    /// Its Unix group.
    pub group: Option<u32>,
    /// Its state, short.
    pub state: String,
    /// Its priority.
    pub priority: u32,
    /// When it was submitted.
    pub submit: i64,
    /// Since when it is eligible.
    pub eligible: i64,
    /// When it has ended, or is to end; 0 if that was not asked.
    pub end: i64,
    /// Since when it gains age.
    pub accrue: i64,
    /// When it is expected to start, or has started.
    pub start: i64,
    /// Time limit in minutes.
    pub limit: Option<u32>,
    /// Nodes, at least.
    pub nodes: u32,
    /// CPUs of the record.
    pub cpus: u32,
    /// CPUs on each node, at least.
    pub cpus_of_node: u32,
    /// MB of temporary disk.
    pub tmp_disk: u32,
    /// Nice value.
    pub nice: i64,
    /// What it asks for, or has.
    pub tres: Vec<(String, u64)>,
    /// Its user.
    pub user: String,
    /// Its partitions.
    pub partitions: Vec<String>,
    /// Its QOS.
    pub qos: String,
    /// Its reservation.
    pub reservation: String,
    /// Why it waits.
    pub reason: String,
    /// Its account.
    pub account: String,
    /// Its wckey.
    pub wckey: String,
}

impl Listed {
    /// Whether it is what a user writes: `123`, also of an array; `123_4`, `123_[5-9%2]`, `123+1`.
    pub fn is_called(&self, name: &str) -> bool {
        let number = |text: &str| text.parse::<u32>().ok();
        if let Some((leader, offset)) = name.split_once('+') {
            let id = number(leader).zip(number(offset)).and_then(|(id, part)| id.checked_add(part));
            return id == Some(self.id);
        }
        let Some((array, tasks)) = name.split_once('_') else {
            return number(name).is_some_and(|id| self.id == id || self.array == id);
        };
        number(array) == Some(self.array) && is_named(&self.tasks, tasks)
    }
}

/// All records. Lines of tasks with one job id are one record.
pub fn jobs(text: &str, manifest: &Manifest) -> (Vec<Listed>, Unread) {
    let (mark, has_end) = (&*manifest.mark, manifest.is_of_some_jobs());
    let mut unread = Unread::default();
    let mut jobs: Vec<Listed> = Vec::new();
    if mark.is_empty() {
        return (jobs, unread);
    }
    let end = format!("{mark}\n");
    let mut tasks: Vec<u32> = Vec::new();
    for (record, number) in text.split_inclusive(&*end).zip(1..) {
        let Some(job) = record.strip_suffix(&*end).and_then(|record| listed(record, mark, has_end)) else {
            if !record.trim().is_empty() && !is_of_cluster(record) {
                unread.note(number);
            }
            continue;
        };
        let last = jobs
            .last_mut()
            .filter(|last| last.id == job.id && last.array == job.array && last.state == job.state);
        match (last, whole(&job.tasks)) {
            (Some(_), Some(task)) if job.array != 0 => tasks.push(task),
            (_, task) => {
                finish(&mut jobs, &mut tasks);
                tasks.extend(task);
                jobs.push(job);
            }
        }
    }
    finish(&mut jobs, &mut tasks);
    (jobs, unread)
}

/// Gives the last job the tasks that its lines have.
fn finish(jobs: &mut [Listed], tasks: &mut Vec<u32>) {
    if let (Some(job), true) = (jobs.last_mut(), tasks.len() > 1) {
        job.tasks = ranges(tasks);
    }
    tasks.clear();
}

/// `1-3,7`
fn ranges(tasks: &mut [u32]) -> String {
    tasks.sort_unstable();
    let mut text = String::new();
    let mut rest = &*tasks;
    while let Some(first) = rest.first() {
        let after = rest.windows(2).take_while(|pair| pair[0].checked_add(1) == Some(pair[1])).count();
        let part = if after == 0 { first.to_string() } else { format!("{first}-{}", rest[after]) };
        if !text.is_empty() {
            text.push(',');
        }
        text += &part;
        rest = &rest[after + 1..];
    }
    text
}

fn listed(record: &str, mark: &str, has_end: bool) -> Option<Listed> {
    let record =
        record.split_once('\n').filter(|(line, _)| is_of_cluster(line)).map_or(record, |(_, rest)| rest);
    let mut cells = record.splitn(JOB_NUMBERS.len() + usize::from(has_end) + 1, '|');
    let mut cell = || cells.next();
    let end = if has_end { time(cell()?) } else { 0 };
    let (id, array, het, association, group) = (cell()?, cell()?, cell()?, cell()?, cell()?);
    let (state, priority, submit, eligible, accrue) = (cell()?, cell()?, cell()?, cell()?, cell()?);
    let (start, limit, nodes, cpus, cpus_of_node) = (cell()?, cell()?, cell()?, cell()?, cell()?);
    let (tmp_disk, nice, tasks, has) = (cell()?, cell()?, cell()?, cell()?);
    let texts: Vec<&str> = cell()?.splitn(JOB_TEXTS.len(), mark).collect();
    let [user, partitions, qos, reservation, reason, account, wckey] = texts[..] else { return None };
    let text = |text: &str| lines::text(text).to_owned();
    let tasks = text(tasks);
    Some(Listed {
        id: whole(id)?,
        array: if tasks.is_empty() { 0 } else { whole(array)? },
        tasks,
        het: whole(het).unwrap_or(0),
        association: whole(association).unwrap_or(0),
        group: whole(group),
        state: state.to_owned(),
        end,
        priority: whole(priority)?,
        submit: time(submit),
        eligible: time(eligible),
        accrue: time(accrue),
        start: time(start),
        limit: Grammar::Limit.read(limit.trim()).and_then(Length::minutes),
        // `1-4` where more would do.
        nodes: whole(nodes.split('-').next().unwrap_or_default())?,
        cpus: whole(cpus.split('-').next().unwrap_or_default())?,
        cpus_of_node: whole(cpus_of_node).unwrap_or(1),
        tmp_disk: whole(tmp_disk).unwrap_or(0),
        nice: whole(nice).unwrap_or(0),
        tres: tres::list(has).into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        user: text(user),
        partitions: partitions.split(',').map(str::to_owned).collect(),
        qos: text(qos),
        reservation: text(reservation),
        reason: text(reason),
        account: text(account),
        wckey: text(wckey),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_in_a_row_are_a_range() {
        assert_eq!(ranges(&mut [5, 1, 2, 3, 9]), "1-3,5,9");
        assert_eq!(ranges(&mut [u32::MAX]), u32::MAX.to_string());
    }
}

//! Reads `sprio`: one line for each partition of each competing job. Addends are rounded; as fractions of the weight they have seven
//! places.

use slurm_text::lines::{is_of_cluster, number, whole, Unread};
use slurm_text::tres;

use crate::input::commands::PRIORITY_LETTERS;

/// What sprio says of a job in a partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// The job.
    pub id: u32,
    /// Its priority there.
    pub priority: u32,
    /// Its priority was set directly.
    pub direct: bool,
    /// SITE
    pub site: f64,
    /// AGE, and the same in parts of the weight that this host's slurm.conf has.
    pub age: (f64, f64),
    /// ASSOC
    pub assoc: (f64, f64),
    /// FAIRSHARE
    pub fair_share: (f64, f64),
    /// JOBSIZE
    pub job_size: (f64, f64),
    /// PARTITION
    pub partition_addend: (f64, f64),
    /// QOS
    pub qos: (f64, f64),
    /// NICE
    pub nice: i64,
    /// The sum of TRES.
    pub tres: f64,
    /// The partition.
    pub partition: String,
}

/// All lines.
pub fn sums(text: &str) -> (Vec<Sum>, Unread) {
    let mut unread = Unread::default();
    let mut rows = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() || is_of_cluster(line) || line.starts_with("Unable to find jobs") {
            continue;
        }
        match sum(line) {
            Some(row) => rows.push(row),
            None => unread.note(number),
        }
    }
    (rows, unread)
}

/// A part of a weight. sprio of 20.11 divides by it also where it is 0, and prints `-nan`.
fn part(text: &str) -> Option<f64> {
    let is_none = matches!(text.trim(), "nan" | "-nan" | "inf" | "-inf");
    if is_none {
        Some(0.0)
    } else {
        number(text)
    }
}

fn sum(line: &str) -> Option<Sum> {
    let cells: Vec<&str> = line.splitn(PRIORITY_LETTERS.len() + 1, '|').collect();
    let [id, priority, norm, site, rest @ ..] = &cells[..] else { return None };
    let [age, age_norm, assoc, assoc_norm, fair_share, fair_share_norm, rest @ ..] = rest else {
        return None;
    };
    let [job_size, job_size_norm, partition, partition_norm, qos, qos_norm, nice, by_tres, name] = rest
    else {
        return None;
    };
    let pair = |addend: &str, norm: &str| Some((number(addend)?, part(norm)?));
    #[allow(clippy::cast_precision_loss)] // as sprio has it
    let by_tres = tres::list(by_tres).into_iter().map(|(_, addend)| addend as f64).sum();
    Some(Sum {
        id: whole(id)?,
        priority: u32::try_from(whole::<i64>(priority)?.max(0)).unwrap_or(u32::MAX),
        // Otherwise it is in parts of the highest priority that there can be.
        direct: number(norm)? >= 1.0,
        site: number(site)?,
        age: pair(age, age_norm)?,
        assoc: pair(assoc, assoc_norm)?,
        fair_share: pair(fair_share, fair_share_norm)?,
        job_size: pair(job_size, job_size_norm)?,
        partition_addend: pair(partition, partition_norm)?,
        qos: pair(qos, qos_norm)?,
        nice: whole(nice)?,
        tres: by_tres,
        partition: name.trim().to_owned(),
    })
}

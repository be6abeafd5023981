//! `sacctmgr show qos`: what slurmctld does not tell of QOS.

use slurm_text::lines::{is_of_cluster, number, whole, Unread};

/// A QOS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// Its id.
    pub id: u32,
    /// Its priority.
    pub priority: u32,
    /// `UsageFactor`
    pub usage_factor: f64,
    /// `UsageThreshold`, where it is set.
    pub usage_threshold: Option<f64>,
    /// Flags
    pub flags: Vec<String>,
    /// Its name.
    pub name: String,
}

/// All lines.
pub fn qos(text: &str) -> (Vec<Declared>, Unread) {
    let mut unread = Unread::default();
    let mut rows = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() || line.starts_with("ID|") || is_of_cluster(line) {
            continue;
        }
        match declared(line) {
            Some(row) => rows.push(row),
            None => unread.note(number),
        }
    }
    (rows, unread)
}

fn declared(line: &str) -> Option<Declared> {
    let cells: Vec<&str> = line.splitn(6, '|').collect();
    let [id, priority, factor, threshold, flags, name] = cells[..] else { return None };
    let flags = flags.split(',').map(str::trim).filter(|flag| !flag.is_empty());
    Some(Declared {
        id: whole(id)?,
        priority: whole(priority).unwrap_or(0),
        usage_factor: number(factor).unwrap_or(1.0),
        usage_threshold: number(threshold),
        flags: flags.map(str::to_owned).collect(),
        name: name.to_owned(),
    })
}

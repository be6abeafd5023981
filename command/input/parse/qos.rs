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
    /// The QOS whose jobs it may preempt; `None` where that was not asked.
    pub preempt: Option<Vec<String>>,
    /// Its name.
    pub name: String,
}

/// All lines.
pub fn qos(text: &str) -> (Vec<Declared>, Unread) {
    let mut unread = Unread::default();
    let mut rows = Vec::new();
    // What earlier versions of this command saved has no such column.
    let mut has_preempt = false;
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("ID|") {
            has_preempt = line.contains("|Preempt|");
            continue;
        }
        if line.trim().is_empty() || is_of_cluster(line) {
            continue;
        }
        match declared(line, has_preempt) {
            Some(row) => rows.push(row),
            None => unread.note(number),
        }
    }
    (rows, unread)
}

fn declared(line: &str, has_preempt: bool) -> Option<Declared> {
    let mut cells = line.splitn(if has_preempt { 7 } else { 6 }, '|');
    let mut cell = || cells.next();
    let (id, priority, factor, threshold, flags) = (cell()?, cell()?, cell()?, cell()?, cell()?);
    let preempt = if has_preempt { Some(cell()?) } else { None };
    let name = cell()?;
    let words = |list: &str| {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    Some(Declared {
        id: whole(id)?,
        priority: whole(priority).unwrap_or(0),
        usage_factor: number(factor).unwrap_or(1.0),
        usage_threshold: number(threshold),
        flags: words(flags),
        preempt: preempt.map(words),
        name: name.to_owned(),
    })
}

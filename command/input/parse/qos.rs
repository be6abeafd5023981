//! Reads `sacctmgr show qos`, for what slurmctld does not report of QOS.

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
    /// The QOS whose jobs it may preempt; `None` if that was not asked.
    pub preempt: Option<Vec<String>>,
    /// `LimitFactor`, where it is set and the release has it.
    pub limit_factor: Option<f64>,
    /// Its name.
    pub name: String,
}

/// All lines.
pub fn qos(text: &str) -> (Vec<Declared>, Unread) {
    let mut unread = Unread::default();
    let mut rows = Vec::new();
    // Earlier releases have fewer columns, and so has what earlier versions of this command saved.
    let mut columns: Vec<&str> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("ID|") {
            columns = line.split('|').collect();
            continue;
        }
        if line.trim().is_empty() || is_of_cluster(line) {
            continue;
        }
        match declared(line, &columns) {
            Some(row) => rows.push(row),
            None => unread.note(number),
        }
    }
    (rows, unread)
}

/// The name is the last column, and may have any character in it.
fn declared(line: &str, columns: &[&str]) -> Option<Declared> {
    let cells: Vec<&str> = line.splitn(columns.len(), '|').collect();
    if cells.len() != columns.len() {
        return None;
    }
    let cell = |name: &str| columns.iter().position(|column| *column == name).map(|place| cells[place]);
    let words = |list: &str| {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    Some(Declared {
        id: whole(cell("ID")?)?,
        priority: whole(cell("Priority")?).unwrap_or(0),
        usage_factor: number(cell("UsageFactor")?).unwrap_or(1.0),
        usage_threshold: number(cell("UsageThres")?),
        flags: words(cell("Flags")?),
        preempt: cell("Preempt").map(words),
        limit_factor: cell("LimitFactor").and_then(number),
        name: (*cells.last()?).to_owned(),
    })
}

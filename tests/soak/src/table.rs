//! The results of all parts, a row for each release.

use std::fmt;

/// One release.
#[derive(Debug, Clone, Default)]
pub struct ReleaseRow {
    /// The release.
    pub release: String,
    /// Kills that slurmctld came back from.
    pub kills: u32,
    /// Kills after which the backup took over and gave back.
    pub takeovers: u32,
    /// Requests that clients made.
    pub requests: u64,
    /// Reconfigures that worked, and that failed.
    pub reconfigures: (u32, u32),
    /// How often slurmctld ended by itself.
    pub deaths: u32,
    /// How often somebody was not answered, or no cycle ended, for half a minute.
    pub hangs: u32,
    /// How often the plugin gave up writing.
    pub passive: u32,
    /// CPU seconds that jobs used and were not charged for, and that they were charged for and did not use.
    pub usage: (f64, f64),
    /// Error lines of the plugin.
    pub complaints: u32,
    /// KiB of heap between the third and the last quarter of the load.
    pub memory: i64,
    /// Parts that did not hold what they must.
    pub failed: Vec<String>,
}

const COLUMNS: [&str; 13] = [
    "Slurm",
    "kills",
    "takeovers",
    "requests",
    "reconf good",
    "failed",
    "deaths",
    "hangs",
    "passive",
    "lost s",
    "doubled s",
    "complaints",
    "heap KiB",
];

impl ReleaseRow {
    /// What the log says in error lines of the plugin.
    pub fn complain(&mut self, complaints: &[String]) {
        self.complaints += u32::try_from(complaints.len()).unwrap_or(u32::MAX);
        let passive = complaints.iter().filter(|line| line.contains("nothing is written")).count();
        self.passive += u32::try_from(passive).unwrap_or(u32::MAX);
    }

    /// What a job used and what it was charged, which may differ by so much for other reasons.
    pub fn used(&mut self, (used, charged): (f64, f64), slack: f64) {
        self.usage.0 += (used - charged - slack).max(0.0);
        self.usage.1 += (charged - used - slack).max(0.0);
    }

    fn cells(&self) -> [String; 13] {
        [
            self.release.clone(),
            self.kills.to_string(),
            self.takeovers.to_string(),
            self.requests.to_string(),
            self.reconfigures.0.to_string(),
            self.reconfigures.1.to_string(),
            self.deaths.to_string(),
            self.hangs.to_string(),
            self.passive.to_string(),
            format!("{:.0}", self.usage.0),
            format!("{:.0}", self.usage.1),
            self.complaints.to_string(),
            format!("{:+}", self.memory),
        ]
    }
}

/// The rows.
#[derive(Debug)]
pub struct Table(pub Vec<ReleaseRow>);

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = self.0.iter().map(ReleaseRow::cells).collect();
        write!(f, "{}", aligned(COLUMNS, &rows))?;
        for row in self.0.iter().filter(|row| !row.failed.is_empty()) {
            writeln!(f, "{} FAILED: {}", row.release, row.failed.join(", "))?;
        }
        Ok(())
    }
}

/// The columns' names and the rows below each other.
pub fn aligned<const N: usize>(names: [&str; N], rows: &[[String; N]]) -> String {
    let all: Vec<_> = std::iter::once(names.map(str::to_owned)).chain(rows.iter().cloned()).collect();
    let widths: [usize; N] =
        std::array::from_fn(|at| all.iter().map(|row| row[at].len()).max().unwrap_or_default());
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{ReleaseRow, Table};

    #[test]
    fn a_row_counts_what_is_lost_doubled_and_passive() {
        let mut row = ReleaseRow { release: "24.11.5".to_owned(), ..ReleaseRow::default() };
        row.used((100.0, 90.0), 5.0);
        row.used((100.0, 103.0), 5.0);
        row.used((10.0, 20.0), 5.0);
        row.complain(&["error: Until then jobs are ordered by submission and nothing is written".to_owned()]);
        assert_eq!((row.usage, row.passive, row.complaints), ((5.0, 5.0), 1, 1));
        row.failed.push("kills".to_owned());
        let text = Table(vec![row]).to_string();
        assert!(
            text.contains("24.11.5") && text.contains("FAILED: kills") && text.lines().count() == 3,
            "{text}"
        );
    }
}

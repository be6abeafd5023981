//! Reads a record of sacct as a finished job.
//!
//! The wait is Start − Eligible, as in `multifactor2 replay` and in sacct's own Planned. No priority shortens what comes before, such as
//! `--begin`, a dependency or a hold. Each run of a requeued job counts as a job. So does each part of a resized or heterogeneous one, and
//! each task of an array.

use slurm_text::dates;

/// What is asked of sacct. The last has no text of users.
pub const COLUMNS: [&str; 11] = [
    "JobIDRaw", "AssocID", "Eligible", "Start", "End", "ElapsedRaw", "CPUTimeRAW", "TimelimitRaw", "User", "Account", "AllocTRES",
];

/// The place of User among them.
pub const USER: usize = 8;

/// A job that has started and finished. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<'r> {
    /// The id of its association; 0 for none.
    pub association: u32,
    /// Its user.
    pub user: &'r str,
    /// Its account.
    pub account: &'r str,
    /// Start − Eligible, 0 where it could start only later.
    pub wait: u32,
    /// How long it ran, without the time in which it was suspended.
    pub run: u64,
    /// Its CPUs times that.
    pub cpu_seconds: u64,
    /// Its time limit; `None` if it had none of its own.
    pub limit: Option<u64>,
}

/// What a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'r> {
    /// A job that finished in the time that is asked for.
    Finished(Job<'r>),
    /// It ended in that time, and had never started.
    NeverStarted,
    /// It goes on, or ended at another time.
    Elsewhere,
    /// What cannot be.
    Impossible(String),
}

/// Those of which nothing can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many.
    pub count: u64,
    /// What is wrong with the first.
    pub first: Option<String>,
}

impl Found {
    /// Counts one.
    pub fn note(&mut self, why: String) {
        self.count += 1;
        self.first.get_or_insert(why);
    }
}

/// What a record is, where jobs that ended from one time up to before another are asked for.
pub fn outcome<'r>(cells: &[&'r str; 11], between: (i64, i64)) -> Outcome<'r> {
    let id = cells[0];
    read(cells, between).unwrap_or_else(|what| Outcome::Impossible(format!("job {id}: {what}")))
}

fn read<'r>(cells: &[&'r str; 11], (from, until): (i64, i64)) -> Result<Outcome<'r>, String> {
    let &[_, association, eligible, start, end, run, cpu_seconds, limit, user, account, allocated] = cells;
    let time = |name: &str, text: &str| dates::time(text).map_err(|_| format!("{name} is {text:?}"));
    let number = |name: &str, text: &str| text.parse::<u64>().map_err(|_| format!("{name} is {text:?}"));
    let Some(end) = time("End", end)?.filter(|end| (from..until).contains(end)) else { return Ok(Outcome::Elsewhere) };
    let run = number("ElapsedRaw", run)?;
    // Older releases note the time of the cancellation as Start.
    let start = time("Start", start)?.filter(|_| run > 0 || !allocated.trim().is_empty());
    let Some(start) = start else { return Ok(Outcome::NeverStarted) };
    if end < start {
        return Err(format!("Start is {start}, and End {end}"));
    }
    let eligible = time("Eligible", eligible)?.ok_or("Eligible is not known")?;
    let wait = u32::try_from((start - eligible).max(0)).map_err(|_| format!("Eligible is {eligible}"))?;
    Ok(Outcome::Finished(Job {
        association: association.parse().unwrap_or_default(),
        user,
        account,
        wait,
        run,
        cpu_seconds: number("CPUTimeRAW", cpu_seconds)?,
        // Minutes, UNLIMITED or Partition_Limit.
        limit: limit.parse::<u64>().ok().filter(|minutes| *minutes > 0).map(|minutes| minutes.saturating_mul(60)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [&str; 11] = ["7", "12", "100", "160", "260", "90", "180", "2", "ada", "physics", "cpu=2"];

    fn with(at: usize, cell: &'static str) -> Outcome<'static> {
        let mut cells = GOOD;
        cells[at] = cell;
        outcome(&cells, (200, 300))
    }

    #[test]
    fn a_record_is_a_job_that_finished_then() {
        let job = Job {
            association: 12,
            user: "ada",
            account: "physics",
            wait: 60,
            run: 90,
            cpu_seconds: 180,
            limit: Some(120),
        };
        assert_eq!(outcome(&GOOD, (200, 300)), Outcome::Finished(job.clone()));
        for limit in ["UNLIMITED", "Partition_Limit", ""] {
            assert_eq!(with(7, limit), Outcome::Finished(Job { limit: None, ..job.clone() }), "{limit}");
        }
        assert_eq!(with(2, "170"), Outcome::Finished(Job { wait: 0, ..job.clone() }));
        assert_eq!(with(1, ""), Outcome::Finished(Job { association: 0, ..job }));
        assert_eq!(with(10, ""), outcome(&GOOD, (200, 300)), "it has run");
        for (end, is_in) in [("199", false), ("200", true), ("299", true), ("300", false), ("Unknown", false)] {
            assert_eq!(matches!(with(4, end), Outcome::Finished(_)), is_in, "{end}");
        }
    }

    #[test]
    fn what_never_started_and_what_cannot_be_is_no_job() {
        for start in ["None", "Unknown"] {
            assert_eq!(with(3, start), Outcome::NeverStarted, "{start}");
        }
        let mut cancelled = GOOD;
        (cancelled[5], cancelled[6], cancelled[10]) = ("0", "0", "");
        assert_eq!(outcome(&cancelled, (200, 300)), Outcome::NeverStarted);
        // It ran for less than a second.
        cancelled[10] = "cpu=2";
        assert!(matches!(outcome(&cancelled, (200, 300)), Outcome::Finished(Job { run: 0, .. })));
        for (at, cell) in [(2, "Unknown"), (2, "soon"), (3, "261"), (4, "x"), (5, "-1"), (6, "")] {
            let Outcome::Impossible(why) = with(at, cell) else { panic!("{at}: {cell}") };
            assert!(why.starts_with("job 7: "), "{why}");
        }
    }
}

//! The results of the series, and what must hold.

use std::fmt;

use anyhow::{ensure, Result};
use slurm_testcluster::Mode;

use super::USERS;
use crate::deaths::Death;
use crate::watchdog::Hang;

/// Where slurmctld also hangs under stock: the old process waits for an answer of slurmdbd, and no priority plugin is loaded yet.
const REGISTERS: &str = "clusteracct_storage_p_register_ctld";

/// One series.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// How slurmctld is started.
    pub mode: Mode,
    /// Whether associations, limits and QOS are enforced.
    pub enforced: bool,
    /// Reconfigures that are to fail.
    pub times: u32,
}

/// What came of it under one plugin.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Reconfigures that worked, and that failed.
    pub reconfigures: (u32, u32),
    /// How slurmctld ended, each time.
    pub deaths: Vec<Death>,
    /// How it hung, each time; it is killed then.
    pub hangs: Vec<Hang>,
    /// Answers that clients were given.
    pub answered: u64,
    /// What the jobs of [`USERS`] used by the records, and what `sshare` says.
    pub usage: [(f64, f64); 2],
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
}

impl Summary {
    /// How often slurmctld ended on purpose, and how often it crashed.
    pub fn ends(&self) -> (usize, usize) {
        let refusals = self.deaths.iter().filter(|death| death.is_a_refusal()).count();
        (refusals, self.deaths.len() - refusals)
    }

    /// How often the plugin gave up writing.
    pub fn passive(&self) -> usize {
        self.complaints.iter().filter(|line| line.contains("nothing is written")).count()
    }
}

/// What came of one series.
#[derive(Debug)]
pub struct Outcome {
    /// It.
    pub series: Series,
    /// Under the plugin that is tested.
    pub ours: Summary,
    /// Under Slurm's own.
    pub stock: Summary,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (plugin, summary) in [("ours", &self.ours), ("stock", &self.stock)] {
            let (good, failed) = summary.reconfigures;
            let (gave_up, crashed) = summary.ends();
            let [long, short] = summary.usage;
            writeln!(
                f,
                "{plugin}: {failed} failed, {good} worked; {gave_up} ends, {crashed} crashes, {} hangs, {} complaints, {} \
                 answers; used {:.0} and {:.0} s, charged {:.0} and {:.0} s",
                summary.hangs.len(),
                summary.complaints.len(),
                summary.answered,
                long.0,
                short.0,
                long.1,
                short.1
            )?;
            let hangs = summary.hangs.iter().map(Hang::to_string);
            let mut told: Vec<String> = summary.deaths.iter().map(Death::to_string).chain(hangs).collect();
            told.dedup();
            told.iter().try_for_each(|what| writeln!(f, "{plugin}: {what}"))?;
        }
        Ok(())
    }
}

/// The names of what [`Outcome::rows`] gives.
pub const COLUMNS: [&str; 13] = [
    "Slurm",
    "started",
    "enforced",
    "plugin",
    "failed",
    "good",
    "ends",
    "crashes",
    "hangs",
    "passive",
    "answers",
    "used s",
    "charged s",
];

impl Outcome {
    /// A row of a table for each plugin.
    pub fn rows(&self, release: &str) -> [[String; 13]; 2] {
        [("ours", &self.ours), ("stock", &self.stock)].map(|(plugin, summary)| {
            let Series { mode, enforced, .. } = self.series;
            let started = if mode == Mode::Daemon { "daemon" } else { mode.option() };
            let ((good, failed), (ends, crashes)) = (summary.reconfigures, summary.ends());
            let [long, short] = summary.usage;
            [
                release.to_owned(),
                started.to_owned(),
                if enforced { "yes" } else { "no" }.to_owned(),
                plugin.to_owned(),
                failed.to_string(),
                good.to_string(),
                ends.to_string(),
                crashes.to_string(),
                summary.hangs.len().to_string(),
                summary.passive().to_string(),
                summary.answered.to_string(),
                format!("{:.0} + {:.0}", long.0, short.0),
                format!("{:.0} + {:.0}", long.1, short.1),
            ]
        })
    }
}

/// What must hold: ours lives wherever stock lives, and charges all that is used.
///
/// # Errors
/// What does not.
pub fn check(outcome: &Outcome) -> Result<()> {
    let Outcome { series, ours, stock } = outcome;
    let ((ends, crashes), (their_ends, _)) = (ours.ends(), stock.ends());
    let unexcused: Vec<&Death> = ours.deaths.iter().filter(|death| !death.is_slurms(&stock.deaths)).collect();
    ensure!(unexcused.is_empty() && ends <= their_ends, "stock lives on: {unexcused:?}\n{outcome}");
    let hangs = ours.hangs.iter().filter(|hang| !hang.stacks.contains(REGISTERS)).count();
    ensure!(hangs == 0, "{outcome}");
    ensure!(ours.complaints.is_empty(), "{outcome}\n{}", ours.complaints.join("\n"));
    ensure!(ours.reconfigures.0 > 0, "none worked: {outcome}");
    for ((user, cpus), (used, charged)) in USERS.into_iter().zip(ours.usage) {
        // Without limits Slurm does not report the end of a job, and its last cycle is lost.
        let jobs = if user == "long" { 1 } else { series.times + 1 };
        let lost = if series.enforced { 0.5 } else { f64::from(2 * cpus * jobs) };
        let right = charged <= used + 0.5 && charged >= used - lost && used > 0.0;
        ensure!(right || crashes > 0, "{user} used {used} s and was charged {charged} s: {outcome}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check, Outcome, Series, Summary};
    use crate::watchdog::Hang;
    use slurm_testcluster::Mode;

    fn outcome(change: impl FnOnce(&mut Summary)) -> Outcome {
        let good =
            Summary { reconfigures: (1, 20), usage: [(90.0, 90.0), (40.0, 40.0)], ..Summary::default() };
        let mut ours = good.clone();
        change(&mut ours);
        let series = Series { mode: Mode::Systemd, enforced: true, times: 20 };
        Outcome { series, ours, stock: good }
    }

    fn hang(stacks: &str) -> Hang {
        Hang { who: "sprio was not answered".to_owned(), stacks: stacks.to_owned() }
    }

    #[test]
    fn what_is_charged_must_have_been_used_and_none_may_be_lost() {
        assert!(check(&outcome(|_| ())).is_ok());
        for usage in [(90.0, 88.0), (90.0, 92.0), (90.0, f64::NAN), (f64::NAN, 90.0), (0.0, 0.0)] {
            assert!(check(&outcome(|ours| ours.usage[0] = usage)).is_err(), "{usage:?}");
        }
    }

    #[test]
    fn only_the_hang_that_stock_has_too_is_slurms() {
        let waits = "poll\ndbd_conn_send_recv_direct\nclusteracct_storage_p_register_ctld\nmain";
        assert!(check(&outcome(|ours| ours.hangs.push(hang(waits)))).is_ok());
        assert!(check(&outcome(|ours| ours.hangs.push(hang("pthread_rwlock_wrlock")))).is_err());
        assert!(check(&outcome(|ours| ours.complaints.push("nothing is written".to_owned()))).is_err());
    }
}

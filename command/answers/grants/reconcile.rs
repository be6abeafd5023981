//! `multifactor2 grants --reconcile`: compares the usage of grants in slurmdbd with what the plugin has counted. It leaves any difference
//! in a file for the plugin.
//!
//! It reads the ledger that the plugin has saved, not a snapshot. What is in that file can no longer be lost, so a correction never
//! includes usage that a kill has erased. The same file has the borders of periods and the history of the account tree. So the clock of
//! this host does not matter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use multifactor2_core::rules::grants::correction::{Compared, Correction, EXTENSION};
use multifactor2_core::rules::grants::ledger::{Ledger, FILE};
use multifactor2_core::rules::grants::Key;
use schemars::JsonSchema;
use serde::Serialize;

use super::sums::{asked, spans, Asked, Question, SacctRun, Sums};
use crate::answers::replay::months::shown;
use crate::answers::{Answer, Bare};
use crate::error::Error;
use crate::files;
use crate::input::accounting::{self, lacks_jobs, OfSlurmdbd};
use crate::input::ask::{own_uid, refused, Until};
use crate::input::commands::{self, Call};
use crate::options::Printed;
use crate::output::numbers::{number, time};
use crate::output::{Described, Form, Page, Printout, Table, Terminal};
use crate::progress::Progress;

/// By then slurmctld has told slurmdbd what happened.
const SETTLED: i64 = 60;

/// The columns that are asked for. The last has no text of users.
const COLUMNS: [&str; 11] = [
    "JobIDRaw", "Start", "ElapsedRaw", "GID", "User", "Account", "Partition", "QOS", "WCKey", "AllocTRES", "State",
];

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reconciled {
    /// Up to when both have counted, in seconds since 1970.
    pub until: i64,
    /// Where the correction is for the plugin; `None` if nothing was to be written.
    pub file: Option<PathBuf>,
    /// Each period that was compared.
    pub periods: Vec<PeriodRow>,
    /// What cannot be compared, one sentence each.
    pub remarks: Vec<String>,
}

impl Answer for Reconciled {
    const NAME: &'static str = "reconcile";
}

/// A period. Amounts are in hours of the unit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PeriodRow {
    /// Whose grant it is: `account climate`.
    pub grant: String,
    /// The unit, such as `cpu-hours`.
    pub unit: String,
    /// The number of the period, from 1 on.
    pub period: usize,
    /// From when on it was compared.
    pub from: i64,
    /// Until when.
    pub until: i64,
    /// What the plugin has counted.
    pub counted: f64,
    /// What the accounting has.
    pub accounted: f64,
    /// What is added to what the plugin counts from now on; negative where it is taken off.
    pub difference: f64,
}

/// Compares, and writes unless it is only to be shown.
///
/// # Errors
/// It may not, or something does not answer, or numbers are not settled: what to do.
pub fn reconcile(all: bool, dry_run: bool, timeout: u64) -> Result<Reconciled, Error> {
    let progress = Progress::begin();
    let run = |call: &Call| -> Result<String, Error> {
        let answer = Until::within(Duration::from_secs(timeout)).run(call)?;
        if answer.is_good {
            return Ok(answer.text);
        }
        Err(refused(call, &answer.said).into())
    };
    progress.step("Asking scontrol");
    let config = slurm_text::config::parameters(&run(&commands::config(None))?);
    let file = permitted(&config, own_uid())?;
    let ledger = read(&file)?;
    wait_for(ledger.since + SETTLED, &progress);
    progress.step("Asking squeue, sdiag and sacctmgr");
    let running = running(&run(&commands::call("squeue", "squeue", &["-h", "-a", "-t", "R,S,CG,CF,SO", "-o", "%A"]))?);
    queue_is_empty(&run(&commands::call("sdiag", "sdiag", &[]))?)?;
    let OfSlurmdbd { purged, .. } =
        OfSlurmdbd::read(&run(&commands::call("sacctmgr", "sacctmgr", &["show", "config"]))?, now());
    let Question { mut asked, gone, with_factors } = asked(&ledger, all, purged);
    let mut remarks: Vec<String> = Vec::new();
    if !with_factors.is_empty() {
        let grants: Vec<String> = with_factors.iter().map(Key::in_words).collect();
        let grants = grants.join(", ");
        if with_factors.len() == ledger.accounts.iter().count() {
            return Err(Error::Question(format!(
                "--reconcile: all grants have Factors=yes, and slurmdbd does not store the factors that jobs were charged with: \
                 {grants}. Write their usage on their lines, with Used and UsedUntil"
            )));
        }
        remarks.push(format!(
            "slurmdbd does not store the factors that jobs were charged with, so grants with Factors=yes stay unchanged: {grants}."
        ));
    }
    if !gone.is_empty() {
        let periods: Vec<String> =
            gone.iter().map(|gone| format!("{} of {}", gone.period, gone.key.in_words())).collect();
        remarks.push(format!(
            "PurgeJobAfter in slurmdbd.conf may have removed jobs of some periods, which stay unchanged: {}.",
            periods.join(", ")
        ));
    }
    remarks.extend(ledger.lineage.moves().map(|(account, parent, at)| {
        format!("Account {account} was moved below {parent} on {}: its earlier usage counts for the accounts that were above it.", time(at))
    }));
    let mut rows = Rows { ledger: &ledger, running, runaways: BTreeSet::new(), unclear: BTreeSet::new() };
    let suspended = rows.suspended(&progress)?;
    let spans = spans(&asked, &ledger.lineage.changes());
    let mut left_out = BTreeSet::new();
    for (number, span) in (1..).zip(&spans) {
        progress.step(format!("Asking sacct, {number} of {}", spans.len()));
        rows.add(&mut asked, *span, &suspended, &mut left_out)?;
    }
    remarks.extend(rows.remarks());
    let asked: Vec<Asked> =
        asked.into_iter().enumerate().filter(|(place, _)| !left_out.contains(place)).map(|(_, one)| one).collect();
    let correction = correction(&ledger, &asked);
    let written = (!dry_run && !correction.periods.is_empty()).then(|| file.with_extension(EXTENSION));
    if let Some(path) = &written {
        write(path, &file, &correction.text())?;
    }
    Ok(Reconciled {
        until: ledger.since,
        file: written,
        periods: asked.iter().map(PeriodRow::of).collect(),
        remarks,
    })
}

impl PeriodRow {
    fn of(asked: &Asked) -> Self {
        #[allow(clippy::cast_precision_loss)] // shown only
        let hours = |amount: i128| amount as f64 / 3600.0;
        Self {
            grant: asked.key.in_words(),
            unit: format!("{}-hours", asked.key.unit),
            period: asked.period,
            from: asked.from,
            until: asked.until,
            counted: hours(asked.counted),
            accounted: hours(asked.accounted),
            difference: hours(asked.accounted - asked.counted),
        }
    }
}

fn correction(ledger: &Ledger, asked: &[Asked]) -> Correction {
    let periods = asked.iter().map(|one| {
        let compared = Compared { counted: one.counted, accounted: one.accounted };
        ((one.line.clone(), one.period), compared)
    });
    Correction { id: ledger.id, at: ledger.since, periods: periods.collect() }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

/// Who may, on a cluster whose accounting has all jobs: the file of the ledger.
fn permitted(config: &BTreeMap<String, String>, uid: u32) -> Result<PathBuf, Error> {
    let value = |name: &str| config.get(name).map(String::as_str).unwrap_or_default();
    let user = value("SlurmUser");
    if uid != 0 && slurm_text::config::uid(user) != Some(uid) {
        return Err(Error::Question(format!(
            "--reconcile is for root and SlurmUser, {user}: it writes into StateSaveLocation; run it as one of them"
        )));
    }
    if let Some(why) = lacks_jobs(config) {
        return Err(Error::Question(format!("--reconcile: {why}")));
    }
    Ok(Path::new(value("StateSaveLocation")).join(FILE))
}

fn read(file: &Path) -> Result<Ledger, Error> {
    let text = fs::read_to_string(file).map_err(|error| {
        let next = match error.kind() {
            io::ErrorKind::NotFound => {
                "run this on the controller, with Grant lines in multifactor2.conf, once a calculation has run"
            }
            _ => "run this as root or SlurmUser",
        };
        Error::Source(format!("{}: {error}: {next}", file.display()))
    })?;
    Ledger::parse(&text).map_err(|why| Error::Source(format!("{}: {why}: see slurmctld.log", file.display())))
}

/// Waits until slurmdbd has had the time to be told.
fn wait_for(time: i64, progress: &Progress) {
    while now() < time {
        progress.step(format!("Waiting for slurmdbd, {} s", time - now()));
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The ids of jobs that slurmctld has as running.
fn running(text: &str) -> BTreeSet<u32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn queue_is_empty(text: &str) -> Result<(), Error> {
    let size = text.lines().find_map(|line| line.trim().strip_prefix("DBD Agent queue size:")?.trim().parse::<u64>().ok());
    match size {
        Some(0) => Ok(()),
        Some(count) => Err(Error::Source(format!(
            "slurmdbd has not yet received {count} messages from slurmctld: see whether it runs, and try again when sdiag shows \
             'DBD Agent queue size: 0'"
        ))),
        None => Err(Error::Source("sdiag does not show the DBD Agent queue size: see whether sdiag works here".to_owned())),
    }
}

/// What is found in the rows of sacct.
struct Rows<'l> {
    ledger: &'l Ledger,
    running: BTreeSet<u32>,
    /// Jobs that slurmdbd has as running, and slurmctld does not know.
    runaways: BTreeSet<u32>,
    /// Suspended jobs of which it is not known since when.
    unclear: BTreeSet<u32>,
}

impl Rows<'_> {
    /// Since when jobs are suspended that are so now. Slurm's accounting does not take that off while it lasts; the plugin knows how long they have run.
    fn suspended(&mut self, progress: &Progress) -> Result<BTreeMap<u32, i64>, Error> {
        let until = self.ledger.since;
        let marks = &self.ledger.marks;
        let Some(first) = marks.values().map(|mark| mark.started).min() else { return Ok(BTreeMap::new()) };
        progress.step("Asking sacct for suspended jobs");
        let mut found: BTreeMap<u32, (i64, bool)> = BTreeMap::new();
        let ids: Vec<String> = marks.keys().map(u32::to_string).collect();
        each((first, until), &["-j", &ids.join(",")], |row, state, start| {
            let mark = marks.get(&row.id).filter(|mark| mark.started <= start && mark.at == until);
            if mark.is_some() {
                let (seconds, is_suspended) = found.entry(row.id).or_default();
                *seconds += row.seconds;
                *is_suspended |= state == "SUSPENDED";
            }
        })?;
        let mut since = BTreeMap::new();
        for (id, (seconds, _)) in found.into_iter().filter(|(_, (_, is_suspended))| *is_suspended) {
            let too_many = seconds - marks[&id].ran;
            if too_many < 0 {
                self.unclear.insert(id);
            } else {
                since.insert(id, until - too_many);
            }
        }
        Ok(since)
    }

    fn add(
        &mut self,
        asked: &mut [Asked],
        (from, until): (i64, i64),
        suspended: &BTreeMap<u32, i64>,
        left_out: &mut BTreeSet<usize>,
    ) -> Result<(), Error> {
        let Self { ledger, running, runaways, unclear } = self;
        let mut sums = Sums::new(ledger, asked, (from, until));
        each((from, until), &[], |mut row, state, _| {
            let goes_on = matches!(state, "RUNNING" | "SUSPENDED");
            if goes_on && !running.contains(&row.id) {
                if row.seconds > 0 {
                    runaways.insert(row.id);
                }
                return;
            }
            if state == "SUSPENDED" {
                let since = suspended.get(&row.id).copied().unwrap_or(until);
                row.seconds -= (until - since.max(from)).clamp(0, row.seconds);
            }
            let places = sums.add(asked, &row);
            if state == "SUSPENDED" && unclear.contains(&row.id) {
                left_out.extend(places);
            }
        })
    }

    fn remarks(self) -> Vec<String> {
        let list = |ids: Vec<String>| ids.join(", ");
        let mut remarks = Vec::new();
        if !self.runaways.is_empty() {
            remarks.push(format!(
                "slurmdbd lists running jobs that slurmctld does not know; they are not counted: {}. Fix them with 'sacctmgr show \
                 runawayjobs' and try again.",
                list(self.runaways.iter().map(u32::to_string).collect())
            ));
        }
        if !self.unclear.is_empty() {
            remarks.push(format!(
                "The suspension time of suspended jobs is not known, so periods in which they ran stay unchanged: {}.",
                list(self.unclear.iter().map(u32::to_string).collect())
            ));
        }
        remarks
    }
}

/// Each row of sacct between two times: with its state, and when it started, as far as that is within. Of a federation, what ran here only.
fn each(
    (from, until): (i64, i64),
    more: &[&str],
    mut row: impl FnMut(SacctRun<'_>, &str, i64),
) -> Result<(), Error> {
    let between = ["--local", "-T", "-S", &shown(from), "-E", &shown(until)];
    accounting::each(between.iter().chain(more), &COLUMNS, |cells| {
        let [id, start, seconds, gid, user, account, partition, qos, wckey, tres, state] = cells;
        let id = id.parse().map_err(|_| format!("{id:?} is no id of a job"))?;
        let seconds = seconds.parse().map_err(|_| format!("{seconds:?} are no seconds"))?;
        // "CANCELLED by 1000"
        let state = state.split(' ').next().unwrap_or_default();
        let start = start.parse().unwrap_or_default();
        let gid = gid.parse().ok();
        row(SacctRun { id, seconds, user, account, partition, qos, wckey, gid, tres }, state, start);
        Ok(())
    })
}

/// Writes the file next to the ledger, with the ledger's owner if root does it, readable by nobody else.
fn write(path: &Path, ledger: &Path, text: &str) -> Result<(), Error> {
    let failed = |error: io::Error| Error::of_output(path, &error);
    let owner = if own_uid() == 0 { Some(fs::metadata(ledger).map_err(failed)?) } else { None };
    files::replace_private(path, text.as_bytes(), owner.map(|owner| (owner.uid(), owner.gid())))?;
    fs::File::open(path.parent().unwrap_or(Path::new("/"))).and_then(|directory| directory.sync_all()).map_err(failed)
}

/// The columns of the table.
pub const TABLE: &[Described] = &[
    ("Grant", "Whose it is"),
    ("Unit", "What is granted"),
    ("Period", "The number of the period"),
    ("Begin", "From when on it was compared"),
    ("End", "Until when"),
    ("Counted", "What the plugin has counted, in hours of the unit"),
    ("Accounted", "What the accounting has"),
    ("Difference", "What is added to what the plugin counts"),
];

/// Shows it.
///
/// # Errors
/// A column is asked for that there is not.
pub fn show(answer: Reconciled, json: bool, printed: &Printed, terminal: Terminal) -> Result<Printout, Error> {
    if json {
        return Printout::json(&Bare::new(answer));
    }
    let terminal = printed.on(terminal);
    let mut table = Table::of(TABLE);
    for period in &answer.periods {
        table.row(vec![
            period.grant.clone(),
            period.unit.clone(),
            period.period.to_string(),
            time(period.from),
            time(period.until),
            number(period.counted),
            number(period.accounted),
            number(period.difference),
        ]);
    }
    let (table, text) = crate::output::show::for_programs(table, printed, terminal)?;
    if let Some(text) = text {
        return Ok(Printout::text(text));
    }
    let mut page = Page::new(terminal);
    page.headline(&format!("Grants according to slurmdbd until {}, in hours of the unit", time(answer.until)));
    page.ready("\n");
    if !table.is_empty() {
        page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
        page.ready("\n");
    }
    answer.remarks.iter().for_each(|remark| page.warning(remark));
    page.paragraph(&match &answer.file {
        Some(file) => format!("The plugin applies it at its next calculation: {}.", file.display()),
        None => "Nothing was written.".to_owned(),
    });
    Ok(Printout::text(page.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_come_to_slurmdbd_is_waited_for() {
        assert!(queue_is_empty("Agent queue size:     7\nDBD Agent queue size: 0\n").is_ok());
        assert!(queue_is_empty("DBD Agent queue size: 12\n").unwrap_err().to_string().contains("12 messages"));
        assert!(queue_is_empty("").is_err());
    }

    #[test]
    fn who_may_write_where_the_plugin_reads() {
        let config = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut good = config(&[
            ("SlurmUser", "slurm(64030)"),
            ("AccountingStorageType", "accounting_storage/slurmdbd"),
            ("AccountingStorageEnforce", "associations,limits"),
            ("StateSaveLocation", "/var/spool/slurmctld"),
        ]);
        for uid in [0, 64_030] {
            assert_eq!(permitted(&good, uid), Ok(PathBuf::from("/var/spool/slurmctld/multifactor2_grants")));
        }
        assert!(permitted(&good, 1000).unwrap_err().to_string().contains("slurm(64030)"));
        good.insert("AccountingStorageEnforce".to_owned(), "limits,nojobs".to_owned());
        assert!(permitted(&good, 0).unwrap_err().to_string().contains("nojobs"));
        good.insert("AccountingStorageType".to_owned(), "(null)".to_owned());
        assert!(permitted(&good, 0).is_err());
    }
}

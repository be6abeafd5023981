//! Reads jobs from sacct record by record, so that memory does not grow with them.
//!
//! Users choose the text of some columns: any characters, including bars and line breaks. So sacct separates columns with a random text
//! that nobody can have written. The last column requested has no text of users.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use jiff::{Timestamp, ToSpan as _};

use crate::error::Error;

/// A longer record is no job.
const LONGEST: usize = 1 << 20;

/// All jobs of all users, each run of a job by itself and no steps; times are seconds since 1970.
pub struct Sacct {
    child: Child,
    records: Records<BufReader<ChildStdout>>,
    said: Option<JoinHandle<String>>,
}

impl Sacct {
    /// Asks for these columns. The first record is the header.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn start(
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        columns: &[&str],
    ) -> Result<Self, Error> {
        let delimiter = format!("\u{1f}{:016x}\u{1f}", fastrand::u64(..));
        let mut command = Command::new("sacct");
        command
            .args(["-a", "-D", "-X", "-P", "--noconvert"])
            .arg(format!("--delimiter={delimiter}"))
            .args(arguments)
            .args(["-o", &columns.join(",")])
            .env("SLURM_TIME_FORMAT", "%s");
        plain(&mut command);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::Source(format!("sacct: {error}")))?;
        let (Some(out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Error::Source("sacct: it has no output".to_owned()));
        };
        // What it says is short; whoever says more than a pipe holds must not stop it.
        let said = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = err.by_ref().take(1 << 16).read_to_end(&mut text);
            let _ = io::copy(&mut err, &mut io::sink());
            String::from_utf8_lossy(&text).into_owned()
        });
        let records = Records::new(BufReader::new(out), delimiter, columns.len());
        Ok(Self { child, records, said: Some(said) })
    }

    /// The next record; one that is too long, or cut off, is left out.
    ///
    /// # Errors
    /// The pipe cannot be read.
    pub fn record(&mut self) -> io::Result<Option<Vec<&str>>> {
        self.records.next()
    }

    /// Waits for its end, once all is read.
    ///
    /// # Errors
    /// It failed: what it said.
    pub fn end(&mut self) -> Result<(), String> {
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        match said.trim() {
            _ if status.success() => Ok(()),
            "" => Err("it failed and said nothing".to_owned()),
            said => Err(first_lines(said)),
        }
    }
}

/// Each record but the header, until one is refused: what is wrong with it.
///
/// # Errors
/// sacct cannot be run or fails, or not all of what it printed are records; or one is refused.
pub fn each<const N: usize>(
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    columns: &[&str; N],
    mut take: impl FnMut([&str; N]) -> Result<(), String>,
) -> Result<(), Error> {
    let failed = |why: String| Error::Source(format!("sacct: {why}"));
    let mut sacct = Sacct::start(arguments, columns)?;
    let mut has_header = false;
    while let Some(cells) = sacct.record().map_err(|error| failed(error.to_string()))? {
        if std::mem::replace(&mut has_header, true) {
            let cells = cells.try_into().map_err(|_| failed("a row has other columns".to_owned()))?;
            take(cells).map_err(failed)?;
        }
    }
    sacct.end().map_err(failed)?;
    if !has_header || sacct.records.left_out > 0 {
        return Err(failed(
            "what it printed is cut off, or no answer: see whether sacct works here".to_owned(),
        ));
    }
    Ok(())
}

/// Why slurmdbd has no jobs, by the answer of `scontrol show config`; `None` if it has them.
pub fn lacks_jobs(config: &BTreeMap<String, String>) -> Option<&'static str> {
    let value = |name: &str| config.get(name).map(String::as_str).unwrap_or_default();
    if value("AccountingStorageType") != "accounting_storage/slurmdbd" {
        return Some("AccountingStorageType in slurm.conf is not accounting_storage/slurmdbd, so there is no accounting to ask");
    }
    let has_none =
        value("AccountingStorageEnforce").split(',').any(|word| word.eq_ignore_ascii_case("nojobs"));
    has_none.then_some("AccountingStorageEnforce in slurm.conf has nojobs, so slurmdbd has no jobs")
}

/// What `sacctmgr show config` says of slurmdbd, behind what it says of this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfSlurmdbd {
    /// `PrivateData` has `jobs`; `None` if it does not say. That of 26.05 has there what slurm.conf of this host says.
    pub hides_jobs: Option<bool>,
    /// Before when jobs may have been purged (`PurgeJobAfter`), in seconds since 1970; `None` for never.
    pub purged: Option<i64>,
}

impl OfSlurmdbd {
    /// Of what it prints at a time.
    pub fn read(text: &str, now: i64) -> Self {
        // Both have their PrivateData.
        let own = text.split_once("\nSlurmDBD configuration").map_or("", |(_, own)| own);
        let value = |name: &str| {
            let mut pairs = own.lines().filter_map(|line| line.split_once('='));
            pairs.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
        };
        // Its own storage is a database.
        let is_own = value("StorageType").is_some_and(|storage| storage != "accounting_storage/slurmdbd");
        let list = value("PrivateData").filter(|_| is_own);
        let hides_jobs = list.map(|list| list.split(',').any(|word| word.trim() == "jobs"));
        Self { hides_jobs, purged: value("PurgeJobAfter").and_then(|value| before(value, now)) }
    }
}

/// A time before now: `36 hours*`, `30 days`, `12 months`.
fn before(value: &str, now: i64) -> Option<i64> {
    let mut words = value.split_ascii_whitespace();
    let count: i64 = words.next()?.trim_end_matches('*').parse().ok()?;
    let span = match words.next()?.trim_end_matches('*') {
        "hours" => count.hours(),
        "days" => (count * 24).hours(),
        _ => count.months(),
    };
    let now = Timestamp::from_second(now).ok()?.to_zoned(jiff::tz::TimeZone::UTC);
    now.checked_sub(span).ok().map(|time| time.timestamp().as_second())
}

impl Drop for Sacct {
    fn drop(&mut self) {
        // Nobody reads it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The records of sacct: as many cells as there are columns, whatever ends of lines are in them.
struct Records<R> {
    reader: R,
    delimiter: String,
    columns: usize,
    record: String,
    /// How many were too long or cut off.
    left_out: u64,
}

impl<R: BufRead> Records<R> {
    fn new(reader: R, delimiter: String, columns: usize) -> Self {
        Self { reader, delimiter, columns, record: String::new(), left_out: 0 }
    }

    /// The next one; one that is too long, or cut off, is left out.
    fn next(&mut self) -> io::Result<Option<Vec<&str>>> {
        self.record.clear();
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.reader.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
                self.left_out += u64::from(!self.record.is_empty());
                self.record.clear();
                return Ok(None);
            }
            self.record.push_str(&String::from_utf8_lossy(&line));
            let cells = self.record.matches(&self.delimiter).count() + 1;
            if cells == self.columns && self.record.ends_with('\n') {
                break;
            }
            if cells > self.columns || self.record.len() > LONGEST {
                self.left_out += 1;
                self.record.clear();
            }
        }
        Ok(Some(self.record.trim_end_matches(['\n', '\r']).split(&self.delimiter).collect()))
    }
}

/// A command that says the same whatever the user has set.
pub fn plain(command: &mut Command) {
    command.stdin(Stdio::null()).env("LC_ALL", "C").env("TZ", "UTC");
    for (name, _) in std::env::vars_os() {
        let is_misleading = |name: &str| {
            ["SACCT_", "SACCTMGR_", "SCONTROL_", "SLURM_CLUSTERS"].iter().any(|of| name.starts_with(of))
        };
        if name.to_str().is_some_and(is_misleading) {
            command.env_remove(&name);
        }
    }
}

/// The beginning of what a command said, in one line.
pub fn first_lines(text: &str) -> String {
    text.lines().take(3).map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user's submission cannot be taken for another job, nor for another column.
    #[test]
    fn what_users_write_divides_nothing() {
        let text = "JobIDRaw#x#SubmitLine#x#State\n1#x#sbatch --wrap=a|b\n2|ada|x\n#x#COMPLETED\n3#x##x#FAILED\n4#x#cut";
        let mut records = Records::new(text.as_bytes(), "#x#".to_owned(), 3);
        let mut found = Vec::new();
        while let Some(cells) = records.next().unwrap() {
            found.push(cells.join(" , "));
        }
        assert_eq!(
            found,
            [
                "JobIDRaw , SubmitLine , State",
                "1 , sbatch --wrap=a|b\n2|ada|x\n , COMPLETED",
                "3 ,  , FAILED"
            ]
        );
        assert_eq!(records.left_out, 1);
        assert!(records.next().unwrap().is_none() && records.left_out == 1);
    }

    #[test]
    fn what_slurmdbd_says_of_itself_is_not_what_slurm_conf_says() {
        // 2027-03-31 00:00:00
        let now = 1_806_451_200;
        for (lines, hides_jobs, purged) in [
            ("PrivateData = none\nPurgeJobAfter          = 36 hours*", Some(false), Some(36 * 3600)),
            ("PrivateData = accounts,jobs\nPurgeJobAfter = 30 days", Some(true), Some(30 * 86_400)),
            // 28 February
            ("PurgeJobAfter          = 1 months*", None, Some(31 * 86_400)),
            (
                "PrivateData = events\nPurgeJobAfter          = NONE\nPurgeResvAfter = 1 days",
                Some(false),
                None,
            ),
            ("", None, None),
        ] {
            let text =
                format!("PrivateData = jobs\nSLURM_VERSION = x\n\nSlurmDBD configuration:\n{lines}\nStorageType = accounting_storage/mysql\n");
            let due = OfSlurmdbd { hides_jobs, purged: purged.map(|before| now - before) };
            assert_eq!(OfSlurmdbd::read(&text, now), due, "{lines}");
        }
    }
}

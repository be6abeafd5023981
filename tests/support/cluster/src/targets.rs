//! Our own sums of usage, for targets, in a cluster: what their file says, what slurmdbd's records give, and what slurmctld's usage is.
//!
//! The file is read here by what is documented of it, not by the code that writes it.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{bail, ensure, Context, Result};

use crate::{parse_rows, Cluster, JobId};

/// A machine that does something else, and a slurmctld of 24.11 that answers after five seconds only.
pub const WAIT: Duration = Duration::from_secs(120);

/// Seconds since 1970.
///
/// # Panics
/// Before 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("a time")
}

/// Whose usage it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Everybody's, whatever is reset.
    All,
    /// That of the jobs of a user in an account, or, without a user, what an account has of its own.
    Association(String, String),
    /// A QOS, by its id in the file and by its name here.
    Qos(String),
    /// A Unix group.
    Group(u32),
    /// A partition.
    Partition(String),
}

impl Owner {
    /// A user in an account.
    pub fn user(account: &str, user: &str) -> Self {
        Self::Association(account.to_owned(), user.to_owned())
    }
}

/// Usage, in seconds times the metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// What decays.
    pub halflife: f64,
    /// The current window first.
    pub windows: Vec<f64>,
}

impl Usage {
    /// That of all windows.
    pub fn in_windows(&self) -> f64 {
        self.windows.iter().sum()
    }

    /// Each window counts as a part of the next younger one.
    pub fn decayed(&self, decay: f64) -> f64 {
        self.windows.iter().rev().fold(0.0, |older, amount| amount + decay * older)
    }

    fn add(&mut self, age: usize, amount: f64) {
        if self.windows.len() <= age {
            self.windows.resize(age + 1, 0.0);
        }
        self.windows[age] += amount;
    }

    fn is_near(&self, other: &Self) -> bool {
        let window = |usage: &Self, age: usize| usage.windows.get(age).copied().unwrap_or(0.0);
        let ages = 0..self.windows.len().max(other.windows.len());
        is_near(self.halflife, other.halflife)
            && ages.into_iter().all(|age| is_near(window(self, age), window(other, age)))
    }
}

/// Both are sums of whole seconds times whole numbers, where nothing decays.
fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs() + 1e-6
}

/// Usage by who has it.
pub type Sums = BTreeMap<Owner, Usage>;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Up to when everything is counted.
    pub since: i64,
    /// `billing` or a TRES.
    pub metric: String,
    /// Whether sums that decay are kept.
    pub halflife: bool,
    /// Length and number of windows, and the number of the current one.
    pub windows: Option<(i64, usize, i64)>,
    /// What the cluster could have given.
    pub capacity: Usage,
    /// Usage, of associations without what is below them.
    pub sums: Sums,
    /// Account and user by id.
    pub ids: BTreeMap<u32, (String, String)>,
    /// Jobs that have ended since.
    pub ended: usize,
}

impl Saved {
    /// What the file of a cluster says.
    ///
    /// # Errors
    /// If there is none, or it is not as documented.
    pub fn read(cluster: &Cluster) -> Result<Self> {
        let text = fs::read_to_string(cluster.directory().join("state").join(FILE)).context(FILE)?;
        Self::parse(&text).with_context(|| format!("{FILE}:\n{text}"))
    }

    /// That of a cycle that began after this call.
    ///
    /// # Errors
    /// If there is none in time.
    pub fn next(cluster: &Cluster) -> Result<Self> {
        let asked = now();
        cluster.wait_for("sums of a new cycle", WAIT, |cluster| {
            Ok(Self::read(cluster).ok().filter(|saved| saved.since > asked))
        })
    }

    /// What somebody has used; nothing where the file does not know of them.
    pub fn of(&self, owner: &Owner) -> Usage {
        self.sums.get(owner).cloned().unwrap_or_default()
    }

    /// What the jobs of several owners have used.
    pub fn halflife_of(&self, matches: impl Fn(&Owner) -> bool) -> f64 {
        self.sums.iter().filter(|(owner, _)| matches(owner)).map(|(_, usage)| usage.halflife).sum()
    }

    fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        ensure!(lines.next() == Some("multifactor2_usage 1"), "its first line");
        ensure!(text.ends_with("\nend\n"), "its end");
        let mut saved = Self::default();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let sum = |from: usize| -> Result<Usage> {
                let numbers: Vec<f64> =
                    words[from..].iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
                let (halflife, windows) = numbers.split_first().context("no sum")?;
                Ok(Usage { halflife: *halflife, windows: windows.to_vec() })
            };
            let name = |word: &str| if word == "%" { String::new() } else { word.to_owned() };
            let (owner, usage) = match words[..] {
                ["since", time, _] => {
                    saved.since = time.parse()?;
                    continue;
                }
                ["recipe", metric, halflife, length, depth, newest] => {
                    (saved.metric, saved.halflife) = (metric.to_owned(), halflife == "yes");
                    saved.windows = if length == "-" {
                        None
                    } else {
                        Some((length.parse()?, depth.parse()?, newest.parse()?))
                    };
                    continue;
                }
                ["capacity", ..] => {
                    saved.capacity = sum(1)?;
                    continue;
                }
                ["ended", ..] => {
                    saved.ended += 1;
                    continue;
                }
                ["end"] => continue,
                ["all", ..] => (Owner::All, sum(1)?),
                ["association", id, _, _, account, user, _, ..] => {
                    saved.ids.insert(id.parse()?, (name(account), name(user)));
                    (Owner::Association(name(account), name(user)), sum(7)?)
                }
                ["qos", _, _, _, qos, ..] => (Owner::Qos(name(qos)), sum(5)?),
                ["group", gid, ..] => (Owner::Group(gid.parse()?), sum(2)?),
                ["partition", partition, ..] => (Owner::Partition(name(partition)), sum(2)?),
                _ => bail!("the line '{line}'"),
            };
            ensure!(saved.sums.insert(owner, usage).is_none(), "twice: '{line}'");
        }
        Ok(saved)
    }
}

/// The name of the file.
pub const FILE: &str = "multifactor2_usage";

/// A job as slurmdbd knows it.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its number.
    pub job: JobId,
    /// Whom it counts for.
    pub owners: Vec<Owner>,
    /// CPUs.
    pub cpus: f64,
    /// When it started and ended.
    pub time: (i64, i64),
}

/// The jobs that have run; `None` while one of them has no end.
///
/// # Errors
/// If sacct fails.
pub fn records(cluster: &Cluster) -> Result<Option<Vec<Ran>>> {
    let columns = "jobid,account,user,qos,gid,partition,alloccpus,start,end";
    let call = cluster.command("sacct").args(["-a", "-D", "-X", "-P", "-S", "now-1day", "-o", columns]);
    let text = call.env("SLURM_TIME_FORMAT", "%s").text()?;
    parse_rows(&text)
        .iter()
        .map(|row| {
            let Ok(end) = row.text("End").parse() else { return Ok(None) };
            let owners = vec![
                Owner::All,
                Owner::user(row.text("Account"), row.text("User")),
                Owner::Qos(row.text("QOS").to_owned()),
                Owner::Group(row.text("GID").parse()?),
                Owner::Partition(row.text("Partition").to_owned()),
            ];
            let start = row.text("Start").parse().unwrap_or(end);
            Ok(Some(Ran {
                job: row.text("JobID").parse()?,
                owners,
                cpus: row.number("AllocCPUS")?,
                time: (start, end),
            }))
        })
        .collect()
}

/// The jobs that have run, once all are over, these among them.
///
/// # Errors
/// If they are not in time.
pub fn wait_records(cluster: &Cluster, jobs: &[JobId]) -> Result<Vec<Ran>> {
    cluster.wait_for("the ends of all jobs in the records", WAIT, |cluster| {
        let has = |records: &Vec<Ran>| jobs.iter().all(|job| records.iter().any(|ran| ran.job == *job));
        Ok(records(cluster)?.filter(has))
    })
}

/// When a job started, as slurmctld believes.
///
/// # Errors
/// If it does not know the job.
pub fn start_of(cluster: &Cluster, job: JobId) -> Result<i64> {
    let show = cluster.command("squeue").args(["-h", "-o", "%S", "-j", &job.to_string()]);
    let text = show.env("SLURM_TIME_FORMAT", "%s").text()?;
    text.trim().parse().with_context(|| format!("job {job} started at '{}'", text.trim()))
}

/// What jobs give in windows of a length, and without decay.
pub fn expected(records: &[Ran], (length, depth, newest): (i64, usize, i64)) -> Sums {
    let mut sums = Sums::new();
    for Ran { owners, cpus, time: (start, end), .. } in records {
        let seconds =
            |begin: i64, until: i64| f64::from(i32::try_from((until - begin).max(0)).unwrap_or(i32::MAX));
        for owner in owners {
            let usage = sums.entry(owner.clone()).or_default();
            usage.halflife += cpus * seconds(*start, *end);
            for (age, window) in (0..depth).zip((0..=newest).rev()) {
                let begin = window * length;
                let ran = seconds((*start).max(begin), (*end).min(begin + length));
                if ran > 0.0 {
                    usage.add(age, cpus * ran);
                }
            }
        }
    }
    sums
}

/// Where the file differs from what is due; `leave` names who is not looked at. Who has no usage need not be there.
pub fn differences(saved: &Saved, due: &Sums, leave: impl Fn(&Owner) -> bool) -> Vec<String> {
    let mut owners: Vec<&Owner> = saved.sums.keys().chain(due.keys()).filter(|owner| !leave(owner)).collect();
    owners.sort();
    owners.dedup();
    let mut found = Vec::new();
    for owner in owners {
        let (mut ours, mut due) = (saved.of(owner), due.get(owner).cloned().unwrap_or_default());
        if !saved.halflife {
            due.halflife = 0.0;
        }
        for usage in [&mut ours, &mut due] {
            while usage.windows.last() == Some(&0.0) {
                usage.windows.pop();
            }
        }
        if !ours.is_near(&due) {
            found.push(format!("{owner:?}: {ours:?} instead of {due:?}"));
        }
    }
    found
}

/// Fails unless the sums are what jobs have used that are over, in each window.
///
/// # Panics
/// With what differs.
#[track_caller]
pub fn assert_records(cluster: &Cluster, records: &[Ran], leave: impl Fn(&Owner) -> bool) -> Saved {
    let saved = Saved::next(cluster).unwrap();
    let windows = saved.windows.expect("windows are kept");
    let found = differences(&saved, &expected(records, windows), leave);
    assert!(
        found.is_empty() && saved.ended == 0,
        "Slurm {}: {found:#?}\n{saved:?}\n{records:?}",
        cluster.release().version
    );
    saved
}

/// slurmctld's raw usage: of associations with all that is below them, and of QOS.
///
/// # Errors
/// If scontrol fails.
pub fn raw_usage(cluster: &Cluster) -> Result<BTreeMap<Owner, f64>> {
    let text = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc,qos"])?;
    let (mut owner, mut found) = (None, BTreeMap::new());
    for line in text.lines() {
        let words: BTreeMap<&str, &str> =
            line.split_whitespace().filter_map(|word| word.split_once('=')).collect();
        let name =
            |key: &str| words.get(key).map(|name| name.split('(').next().unwrap_or_default().to_owned());
        if let (Some(account), Some(user)) = (name("Account"), name("UserName")) {
            owner = Some(Owner::Association(account, user));
        } else if let Some(qos) = name("QOS").filter(|_| line.starts_with("QOS=")) {
            owner = Some(Owner::Qos(qos));
        }
        let usage = words.get("UsageRaw").or_else(|| words.get("UsageRaw/Norm/Efctv"));
        if let (Some(owner), Some(usage)) = (&owner, usage) {
            let usage = usage.split('/').next().unwrap_or_default();
            found.entry(owner.clone()).or_insert(usage.parse()?);
        }
    }
    Ok(found)
}

/// Waits for a moment between two cycles in which the half-life sums are slurmctld's raw usage; `above` has the accounts above each
/// account, itself included.
///
/// # Errors
/// With what differed last.
pub fn wait_same_as_slurmctld(cluster: &Cluster, above: &[(&str, &[&str])]) -> Result<Saved> {
    let mut differs = Vec::new();
    let mut equal = |cluster: &Cluster| {
        let Ok(before) = Saved::read(cluster) else { return Ok(None) };
        let raw = raw_usage(cluster)?;
        let after = Saved::read(cluster)?;
        if before != after {
            return Ok(None);
        }
        let ours = |owner: &Owner| match owner {
            Owner::Association(account, user) if user.is_empty() => after.halflife_of(|below| {
                let Owner::Association(of, _) = below else { return false };
                let path = above.iter().find(|(name, _)| name == of).map_or(&[][..], |(_, path)| path);
                account == "root" || of == account || path.contains(&account.as_str())
            }),
            owner => after.of(owner).halflife,
        };
        // As many digits as scontrol prints.
        differs = raw
            .iter()
            .map(|(owner, raw)| (owner, *raw, ours(owner)))
            .filter(|(_, raw, ours)| (raw - ours).abs() > 1e-6 * raw + 0.006)
            .map(|(owner, raw, ours)| format!("{owner:?}: {ours}, slurmctld has {raw}"))
            .collect();
        Ok((differs.is_empty() && raw.len() > 1).then_some(after))
    };
    let found = cluster.wait_for("sums that are slurmctld's usage", WAIT / 2, &mut equal);
    found.with_context(|| format!("{differs:#?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_split_at_the_boundaries_of_windows() {
        let ran = |cpus: f64, start, end| Ran { job: 1, owners: vec![Owner::All], cpus, time: (start, end) };
        let records = [ran(2.0, 95, 212), ran(1.0, 205, 206), ran(1.0, 5, 6)];
        let sums = expected(&records, (100, 3, 2));
        let due = Usage { halflife: 236.0, windows: vec![25.0, 200.0, 11.0] };
        assert_eq!(sums[&Owner::All], due);
        assert!((due.decayed(0.5) - 127.75).abs() < 1e-9);
    }

    #[test]
    fn the_file_is_read_as_documented() {
        let text =
            "multifactor2_usage 1\nsince 1000 0\nrecipe cpu yes 100 4 10\nall 5.0 1.0 4.0\ncapacity 0.0\n\
                    association 3 2 5.0 physics ada % 5.0 1.0 4.0\nqos 1 5.0 yes normal 5.0\ngroup 7 5.0\n\
                    partition main 5.0\nended 1 2 3 4.0 5.0 6.0 3 1 - 7 main\nend\n";
        let saved = Saved::parse(text).unwrap();
        assert_eq!((saved.since, saved.windows, saved.ended), (1000, Some((100, 4, 10)), 1));
        let ada = Usage { halflife: 5.0, windows: vec![1.0, 4.0] };
        assert_eq!(saved.of(&Owner::user("physics", "ada")), ada);
        assert_eq!(saved.ids[&3], ("physics".to_owned(), "ada".to_owned()));
        assert!(Saved::parse(&text.replace("end\n", "")).is_err());
    }
}

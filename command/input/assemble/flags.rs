//! Finds out which of the four `NO_NORMAL_*` flags are set. Up to Slurm 25.11.0, `scontrol show config` prints `NO_NORMAL_ALL` if any of
//! them is (`priority_flags_string` in `src/common/slurm_protocol_defs.c`). The factors of jobs tell which.

use multifactor2_core::factors::Weights;
use multifactor2_snapshot::records::Job;
use multifactor2_snapshot::Snapshot;
use slurm_text::Parameters;

/// The first release that prints each of them.
const PRINTS_EACH: (u16, u16, u16) = (25, 11, 1);

/// How far an addend may be from what it is computed as, in parts of it: sprio rounds.
const NEAR: f64 = 1e-4;

const ALL: &str = "NO_NORMAL_ALL";

/// A factor as computed under the flag, as computed without it, and as shown.
type Seen = (f64, f64, f64);

/// Writes the flags that jobs show in place of `NO_NORMAL_ALL`; says where none shows it.
pub(super) fn tell_apart(snapshot: &mut Snapshot, hidden: &mut Vec<String>) {
    let written = snapshot.parameter("PriorityFlags").unwrap_or_default().to_owned();
    let is_all = |flag: &str| flag.trim().eq_ignore_ascii_case(ALL);
    if tells_flags_apart(snapshot) || !written.split(',').any(is_all) {
        return;
    }
    let kinds = [
        ("NO_NORMAL_ASSOC", "ASSOC", by(associations(snapshot))),
        ("NO_NORMAL_PART", "PARTITION", by(partitions(snapshot))),
        ("NO_NORMAL_QOS", "QOS", by(qos(snapshot))),
        ("NO_NORMAL_TRES", "TRES", by(tres(snapshot))),
    ];
    let mut flags: Vec<String> = written.split(',').filter(|flag| !is_all(flag)).map(str::to_owned).collect();
    let mut unknown = Vec::new();
    for (flag, factor, is_set) in kinds {
        match is_set {
            Found::Set | Found::NoWeight => flags.push(flag.to_owned()),
            Found::NotSet => (),
            Found::NotShown => {
                flags.push(flag.to_owned());
                unknown.push(factor);
            }
        }
    }
    if !unknown.is_empty() {
        hidden.push(format!(
            "This release shows PriorityFlags={ALL} if any of its four flags is set, and no job shows whether {} is \
             normalised: it is assumed not to be.",
            unknown.join(", ")
        ));
    }
    let name = snapshot.parameters.keys().find(|name| name.eq_ignore_ascii_case("PriorityFlags")).cloned();
    snapshot.parameters.extend(name.map(|name| (name, flags.join(","))));
}

/// Whether the release prints each of the flags by itself.
pub fn tells_flags_apart(snapshot: &Snapshot) -> bool {
    release(snapshot) >= PRINTS_EACH
}

fn release(snapshot: &Snapshot) -> (u16, u16, u16) {
    let mut parts = snapshot.about.release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

/// What the jobs of a factor show of its flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Set,
    NotSet,
    NotShown,
    /// Nothing goes by it.
    NoWeight,
}

/// The first job that shows it decides; `None` for a factor without a weight.
fn by(seen: Option<Vec<Seen>>) -> Found {
    let Some(seen) = seen else { return Found::NoWeight };
    let is = |shown: f64, computed: f64| (shown - computed).abs() <= (NEAR * computed.abs()).max(1.0);
    let one = |(plain, norm, shown): Seen| match (is(shown, plain), is(shown, norm)) {
        (true, false) => Some(Found::Set),
        (false, true) => Some(Found::NotSet),
        _ => None,
    };
    seen.into_iter().find_map(one).unwrap_or(Found::NotShown)
}

fn weight(snapshot: &Snapshot, pick: fn(&Weights) -> u32) -> Option<f64> {
    let weights = Parameters::new(|name: &str| snapshot.parameter(name)).weights();
    Some(f64::from(pick(&weights))).filter(|weight| *weight > 0.0)
}

/// What jobs have of a factor that does not depend on the partition.
fn of_jobs(snapshot: &Snapshot, one: impl Fn(&Job) -> Option<Seen>) -> Vec<Seen> {
    snapshot.jobs.iter().filter(|job| job.is_computed).filter_map(one).collect()
}

fn associations(snapshot: &Snapshot) -> Option<Vec<Seen>> {
    let weight = weight(snapshot, |weights| weights.assoc)?;
    Some(of_jobs(snapshot, |job| {
        let row = snapshot.associations.iter().find(|row| row.id == job.association)?;
        Some((weight * f64::from(row.priority), weight * row.priority_norm, job.assoc))
    }))
}

fn partitions(snapshot: &Snapshot) -> Option<Vec<Seen>> {
    let weight = weight(snapshot, |weights| weights.partition)?;
    let one = |(name, shown): (&String, f64)| {
        let row = snapshot.partitions.iter().find(|row| row.name == *name)?;
        Some((weight * f64::from(row.job_factor), weight * row.job_factor_norm, shown))
    };
    let jobs = snapshot.jobs.iter().filter(|job| job.is_computed && job.partitions.is_empty());
    let entries = snapshot.entries.iter().map(|entry| (&entry.partition, entry.partition_addend));
    Some(jobs.map(|job| (&job.partition, job.partition_addend)).chain(entries).filter_map(one).collect())
}

fn qos(snapshot: &Snapshot) -> Option<Vec<Seen>> {
    let weight = weight(snapshot, |weights| weights.qos)?;
    Some(of_jobs(snapshot, |job| {
        let row = snapshot.qos.iter().find(|row| row.name == job.qos)?;
        Some((weight * f64::from(row.priority), weight * row.priority_norm, job.qos_addend))
    }))
}

fn tres(snapshot: &Snapshot) -> Option<Vec<Seen>> {
    snapshot.tres.iter().any(|tres| tres.weight.is_some_and(|weight| weight != 0.0)).then_some(())?;
    #[allow(clippy::cast_precision_loss)] // counts, and MB
    let one = |job: &Job| {
        let partition = snapshot.partitions.iter().find(|row| row.name == job.partition)?;
        let (mut plain, mut norm) = (0.0, 0.0);
        for ((tres, asked), there) in snapshot.tres.iter().zip(&job.tres).zip(&partition.tres) {
            let value = tres.weight.unwrap_or_default() * *asked as f64;
            plain += value;
            norm += if *there == 0 { 0.0 } else { value / *there as f64 };
        }
        Some((plain, norm, job.tres_addend))
    };
    let jobs = snapshot.jobs.iter().filter(|job| job.is_computed && job.partitions.is_empty());
    Some(jobs.filter_map(one).collect())
}

#[cfg(test)]
mod tests {
    use multifactor2_snapshot::records::{Partition, Qos};

    use super::*;

    fn shown(release: &str, flags: &str, addends: (f64, f64)) -> (String, Vec<String>) {
        let mut snapshot = Snapshot::default();
        release.clone_into(&mut snapshot.about.release);
        for (name, value) in
            [("PriorityFlags", flags), ("PriorityWeightPartition", "1000"), ("PriorityWeightQOS", "2000")]
        {
            snapshot.parameters.insert(name.to_owned(), value.to_owned());
        }
        let partition = |name: &str, job_factor: u32| Partition {
            name: name.to_owned(),
            job_factor,
            job_factor_norm: f64::from(job_factor) / 10.0,
            ..Partition::default()
        };
        snapshot.partitions = vec![partition("main", 5), partition("other", 10)];
        snapshot.qos.push(Qos {
            name: "high".to_owned(),
            priority: 50,
            priority_norm: 1.0,
            ..Qos::default()
        });
        snapshot.jobs.push(Job {
            partition: "main".to_owned(),
            qos: "high".to_owned(),
            is_computed: true,
            partition_addend: addends.0,
            qos_addend: addends.1,
            ..Job::default()
        });
        let mut hidden = Vec::new();
        tell_apart(&mut snapshot, &mut hidden);
        (snapshot.parameter("PriorityFlags").unwrap().to_owned(), hidden)
    }

    /// Bug: what-if took all factors for not normalised where one was.
    #[test]
    fn jobs_show_which_factors_are_normalised() {
        // Nothing has an ASSOC or a TRES that counts, so these flags change nothing.
        let (flags, hidden) = shown("22.05.8", "MAX_TRES,NO_NORMAL_ALL", (500.0, 100_000.0));
        assert_eq!(
            (flags.as_str(), hidden.len()),
            ("MAX_TRES,NO_NORMAL_ASSOC,NO_NORMAL_QOS,NO_NORMAL_TRES", 0)
        );
        let (flags, hidden) = shown("25.11.0", "NO_NORMAL_ALL", (5000.0, 2000.0));
        assert_eq!((flags.as_str(), hidden.len()), ("NO_NORMAL_ASSOC,NO_NORMAL_PART,NO_NORMAL_TRES", 0));
        let (flags, hidden) = shown("20.11.4", "NO_NORMAL_ALL", (0.0, 2000.0));
        assert!(
            flags.contains("NO_NORMAL_PART") && hidden[0].contains("whether PARTITION is normalised"),
            "{hidden:?}"
        );
        for (release, flags) in
            [("25.11.1", "NO_NORMAL_ALL"), ("26.05.5", "NO_NORMAL_ALL"), ("22.05.8", "NO_NORMAL_QOS")]
        {
            assert_eq!(shown(release, flags, (500.0, 2000.0)), (flags.to_owned(), Vec::new()));
        }
    }
}

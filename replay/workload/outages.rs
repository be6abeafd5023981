//! Outages: times at which a tenth of a partition's CPUs or more could not be used, from the node events of `sacctmgr show event`.

use super::{Job, Workload, NO_TIME};

/// Parts of a partition's CPUs that make an outage.
pub const LEAST_PART: f64 = 0.1;

/// Seconds of a wait that fall into one, at least.
pub const LEAST_SECONDS: i64 = 3600;

/// Nodes of a partition were away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The partition.
    pub partition: String,
    /// From when on.
    pub from: i64,
    /// Until when.
    pub until: i64,
}

/// When a node was away, and its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAway {
    /// The node.
    pub node: String,
    /// From when on.
    pub from: i64,
    /// Until when.
    pub until: i64,
    /// Its CPUs.
    pub cpus: u32,
}

/// Nodes that were kept for some jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// From when on.
    pub from: i64,
    /// Until when.
    pub until: i64,
    /// Its nodes.
    pub nodes: Vec<String>,
}

/// The outages of a partition with this number of CPUs, from the times at which its nodes were away.
pub fn outages(partition: &str, cpus: u64, away: &[NodeAway]) -> Vec<Outage> {
    let mut changes: Vec<(i64, i64)> = Vec::new();
    for event in away.iter().filter(|event| event.until > event.from) {
        changes.push((event.from, i64::from(event.cpus)));
        changes.push((event.until, -i64::from(event.cpus)));
    }
    changes.sort_unstable();
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // CPUs of a partition
    let least = ((cpus as f64 * LEAST_PART).ceil() as i64).max(1);
    let (mut now, mut since, mut found) = (0, None, Vec::new());
    for (time, change) in changes {
        now += change;
        match since {
            None if now >= least => since = Some(time),
            Some(from) if now < least => {
                since = None;
                if time > from {
                    found.push(Outage { partition: partition.to_owned(), from, until: time });
                }
            }
            _ => (),
        }
    }
    found
}

impl Workload {
    /// Whether an hour or more of the recorded wait of a job fell into an outage of one of its partitions.
    pub fn meets_outage(&self, job: &Job) -> bool {
        if self.outages.is_empty() || job.start == NO_TIME {
            return false;
        }
        let set = &self.partition_sets[usize::from(job.partitions)];
        self.outages.iter().any(|outage| {
            job.start.min(outage.until) - job.eligible.max(outage.from) >= LEAST_SECONDS
                && set.iter().any(|name| self.partitions.name(u32::from(*name)) == outage.partition)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_a_tenth_of_the_cpus() {
        let away = |from, until, cpus| NodeAway { node: "n".to_owned(), from, until, cpus };
        let found =
            outages("p", 100, &[away(0, 100, 5), away(50, 200, 5), away(150, 300, 4), away(400, 400, 90)]);
        assert_eq!(found, [Outage { partition: "p".to_owned(), from: 50, until: 100 }]);
        let found = outages("p", 100, &[away(0, 100, 10), away(100, 200, 10)]);
        let times: Vec<(i64, i64)> = found.iter().map(|outage| (outage.from, outage.until)).collect();
        assert!(times == [(0, 200)] || times == [(0, 100), (100, 200)], "{times:?}");
    }
}

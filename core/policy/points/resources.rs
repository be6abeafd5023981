//! RES: what a job requests (Maui Administrator's Guide, 5.1.2.3).

use super::terms::{amount, Terms};
use super::{Component, Ground, Needs};
use crate::settings::{self, Settings};

/// RES on one line: Node Proc Mem Swap Disk PS PE `WallTime`.
#[derive(Clone, Debug)]
pub(super) struct Resources(Terms<8>);

impl Component for Resources {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([
            line.node,
            line.proc,
            line.mem,
            line.swap,
            line.disk,
            line.ps,
            line.pe,
            line.wall_time,
        ]))
    }

    fn needs(&self, _settings: &Settings) -> Needs {
        let counts = |parts: &[usize]| parts.iter().any(|part| self.0.counts(*part));
        Needs {
            resources: counts(&[0, 1, 2, 5]),
            disk: counts(&[4]),
            limit: counts(&[5, 7]),
            equivalents: counts(&[6]),
            ..Needs::default()
        }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let request = &ground.job.request;
        let (cpus, limit) = (amount(request.cpus), amount(ground.job.limit));
        self.0.sum([
            amount(request.nodes),
            cpus,
            amount(request.memory),
            // Slurm knows no swap space.
            0.0,
            amount(request.disk),
            cpus * limit,
            amount(request.equivalents),
            limit,
        ])
    }
}

/// PE: the largest part that a job requests of any resource of the cluster, times the processors of the cluster (Maui Administrator's
/// Guide, 3.2.1.7: max(procs/P, mem/M, ...) · P). `parts` are requests and totals, each pair in one unit. A resource that the cluster lacks
/// does not count. A job with a quarter of the processors and half the memory of 128 processors has 64.
pub fn processor_equivalents(parts: impl IntoIterator<Item = (f64, f64)>, processors: f64) -> f64 {
    let parts = parts.into_iter().filter(|(_, total)| *total > 0.0);
    let largest = parts.map(|(request, total)| amount(request) / total).fold(0.0, f64::max);
    amount(largest * amount(processors))
}

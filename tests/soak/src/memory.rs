//! Whether slurmctld's memory grows.
//!
//! Single samples say little: the queue goes up and down, and the C library keeps what was freed in an arena per thread, so that
//! what is resident grows in steps of megabytes long after the last byte was leaked. So both are sampled every second, the
//! medians of quarters are compared, and what is in use on the heap decides.

use std::fmt;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use slurm_testcluster::Cluster;

/// One sample per second, in KiB.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    resident: Vec<u64>,
    heap: Vec<u64>,
    /// In use before the load, and when everything has been cancelled and purged.
    pub idle: (u64, u64),
}

impl Memory {
    /// Takes a sample.
    ///
    /// # Errors
    /// If slurmctld does not run.
    pub fn sample(&mut self, cluster: &Cluster) -> Result<()> {
        let status = fs::read_to_string(format!("/proc/{}/status", cluster.controller_pid()?))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        self.resident.push(line.trim().trim_end_matches("kB").trim().parse()?);
        self.heap.push(cluster.heap_in_use()? / 1024);
        Ok(())
    }

    /// KiB by which the last quarter uses more than the third.
    pub fn growth(&self) -> i64 {
        let [.., third, fourth] = quarters(&self.heap);
        i64::try_from(fourth).unwrap_or(i64::MAX) - i64::try_from(third).unwrap_or(i64::MAX)
    }

    /// What is in use does not grow over the second half by more than a tenth: under stock's plugin the medians of two quarters
    /// differ by up to a fifth, but those of the second half by less than a twentieth.
    pub fn is_flat(&self) -> bool {
        let [.., third, fourth] = quarters(&self.heap);
        fourth <= third + third / 10 + 128
    }

    /// So many requests have left no more than slurmctld itself keeps, which is about 30 bytes of each with stock's plugin.
    pub fn is_given_back(&self, requests: u64) -> bool {
        self.idle.1 <= self.idle.0 + 512 * 1024 + 64 * requests
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "medians of quarters of {} samples, KiB: heap in use {:?}, resident {:?}; idle before and after: {} and {}",
            self.heap.len(),
            quarters(&self.heap),
            quarters(&self.resident),
            self.idle.0 / 1024,
            self.idle.1 / 1024
        )
    }
}

/// Bytes in use when ended jobs have been purged: the least of some seconds, as messages to slurmdbd come and go.
///
/// # Errors
/// If slurmctld does not run.
pub fn settled(cluster: &Cluster) -> Result<u64> {
    sleep(Duration::from_secs(5));
    let mut least = u64::MAX;
    for _ in 0..5 {
        sleep(Duration::from_secs(1));
        least = least.min(cluster.heap_in_use()?);
    }
    Ok(least)
}

/// The median of each quarter.
fn quarters(samples: &[u64]) -> [u64; 4] {
    let mut medians = [0; 4];
    let length = samples.len().div_ceil(4).max(1);
    for (median, quarter) in medians.iter_mut().zip(samples.chunks(length)) {
        let mut sorted = quarter.to_vec();
        sorted.sort_unstable();
        *median = sorted[sorted.len() / 2];
    }
    medians
}

#[cfg(test)]
mod tests {
    use super::Memory;

    fn memory(heap: impl Iterator<Item = u64>) -> Memory {
        Memory { heap: heap.collect(), ..Memory::default() }
    }

    #[test]
    fn a_leak_is_seen_and_a_busy_queue_is_not() {
        assert!(!memory((0..600).map(|second| 2_000 + second * 10)).is_flat());
        assert!(memory((0..600).map(|second| 2_000 + second % 97 * 30)).is_flat());
        // One step is no leak if it was in the first half, and one peak is none at all.
        assert!(memory((0..600).map(|second| if second < 250 { 2_000 } else { 2_500 })).is_flat());
        assert!(memory((0..600).map(|second| if second == 550 { 9_000 } else { 2_000 })).is_flat());
    }
}

//! Accounts, each with all below it: shares, usage, and how long their jobs waited.

use multifactor2_core::ShareTree;
use multifactor2_replay::measures::{Counted, Fairness};
use multifactor2_replay::sim::Outcome;
use multifactor2_replay::workload::{Association, ROOT};
use multifactor2_replay::Workload;

use super::Account;

/// In percent.
const QUANTILES: [usize; 7] = [0, 5, 25, 50, 75, 95, 100];

/// What an account has so far.
#[derive(Default)]
struct Sums {
    got: f64,
    entitled: f64,
    waits: Vec<f64>,
    area: f64,
}

/// The account that an association is of, or that is above it: their places, up to but without the root.
fn path(workload: &Workload, place: u32) -> impl Iterator<Item = usize> + '_ {
    let above = |place: &u32| workload.associations[*place as usize].parent;
    let places = std::iter::successors(Some(place), above).take_while(|place| *place != ROOT);
    places.filter(|place| workload.associations[*place as usize].user.is_none()).map(|place| place as usize)
}

/// Shortfall of the accounts directly below the root over all contended time, from 0 to 1: what went to others than those who were
/// entitled to it.
pub fn shortfall(accounts: &[Account]) -> f64 {
    let top = accounts.iter().filter(|account| account.parent.is_empty());
    top.map(|account| (account.entitled - account.usage).max(0.0)).sum()
}

/// All accounts with jobs, and all directly below the root.
#[allow(clippy::cast_precision_loss)] // seconds and counts of jobs
pub fn accounts(workload: &Workload, outcome: &Outcome, fairness: &Fairness, counted: &Counted) -> Vec<Account> {
    let tree = ShareTree::build(&workload.node_specs());
    let mut sums: Vec<Sums> = workload.associations.iter().map(|_| Sums::default()).collect();
    for (place, (got, entitled)) in (0..).zip(fairness.got.iter().zip(&fairness.entitled)) {
        for account in path(workload, place) {
            sums[account].got += got;
            sums[account].entitled += entitled;
        }
    }
    let jobs = workload.jobs.iter().zip(&outcome.starts).zip(&counted.jobs);
    for ((job, start), _) in jobs.filter(|(_, counts)| **counts) {
        for account in path(workload, job.association) {
            sums[account].waits.push((start - job.eligible) as f64);
            sums[account].area += Workload::cpu_seconds(job) as f64;
        }
    }
    let all = |of: &[f64]| of.iter().sum::<f64>();
    let (got, entitled) = (all(&fairness.got), all(&fairness.entitled));
    let part = |of: f64, all: f64| if all > 0.0 { of / all } else { 0.0 };
    let name = |of: &Association| workload.accounts.name(of.account).to_owned();
    let mut accounts = Vec::new();
    for (place, of) in (0_u32..).zip(&workload.associations) {
        let Some(parent) = of.parent.filter(|_| of.user.is_none()) else { continue };
        let own = &mut sums[place as usize];
        if own.waits.is_empty() && parent != ROOT {
            continue;
        }
        own.waits.sort_unstable_by(f64::total_cmp);
        let count = own.waits.len();
        let wait: f64 = own.waits.iter().sum();
        let quantile = |percent: usize| {
            own.waits.get((count * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
        };
        accounts.push(Account {
            name: name(of),
            parent: if parent == ROOT {
                String::new()
            } else {
                name(&workload.associations[parent as usize])
            },
            depth: path(workload, place).count(),
            share: tree.position(place as usize).map_or(0.0, |node| tree.shares_norm(node)),
            usage: part(own.got, got),
            entitled: part(own.entitled, entitled),
            jobs: count,
            mean_wait: part(wait, count as f64),
            wait_quantiles: QUANTILES.map(quantile),
            normalised: part(wait, own.area),
            lag: fairness.accounts.iter().position(|of| *of == place).map(|at| fairness.max_lag[at]),
        });
    }
    accounts
}

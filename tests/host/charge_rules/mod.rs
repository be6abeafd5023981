//! Charge rules and `MinimumCharge`: exact amounts for each kind and scope, and the same bits as stock where no rule fits.
//!
//! Usage does not decay here but where a test says so, and four processors are billed 4 a second.

#![allow(clippy::float_cmp)] // whole numbers, and products of powers of two

mod against_model;
mod books;
mod hours;
mod minimum;
mod own_usage;
mod rules;
mod run_seconds;
mod runs;
mod stock;
mod tiny;
mod wckeys;

use slurm_inproc::{AssociationUsage, Conf, Host, HostResult, Job, QosUsage};

use crate::charges::{running, Charged};
use crate::settings::write_file;
use crate::setup::{fill, ours};

/// `AccountingStorageEnforce=wckeys`, beside others.
const WCKEYS: u16 = 4;
/// What each user and QOS has of run seconds of each TRES before a job gives any back.
const RUN_SECONDS: u64 = 100_000_000_000;
/// Users, and a QOS.
const ALICE: u32 = 4;
const CAROL: u32 = 6;
const NORMAL: u32 = 1;
/// Positions of TRES.
const CPU: usize = 0;
const MEM: usize = 1;

/// A host with settings, before init.
fn begin(settings: &str, enforce: u16) -> HostResult<Host> {
    let mut host = ours()?;
    prepare(&mut host, settings, enforce)?;
    Ok(host)
}

fn prepare(host: &mut Host, settings: &str, enforce: u16) -> HostResult<()> {
    fill(host)?;
    write_file(host, settings)?;
    host.configure(&Conf::new().decay_half_life(0_u32).enforce(enforce))?;
    let run_seconds = || [1, 2, 4, 5].map(|tres| (tres, RUN_SECONDS));
    // Accounts have those of all below them.
    for id in 4..=6_u32 {
        host.usage(&[AssociationUsage::new(id).run_secs(run_seconds())])?;
    }
    for id in 1..=5_u32 {
        host.qos_usage(&QosUsage::new(id).run_secs(run_seconds()))?;
    }
    Ok(())
}

/// A reconfigure of 22.05, which counts anew what jobs have reserved: of each user all but what ended jobs have given back.
fn reconfigure(host: &mut Host, given_back: impl Fn(u32) -> u64) -> HostResult<()> {
    host.renew_partitions()?;
    for id in 4..=6_u32 {
        let left = RUN_SECONDS - given_back(id);
        host.usage(&[AssociationUsage::new(id)
            .run_secs([1, 2, 4, 5].map(|tres| (tres, left)))
            .mode("only")])?;
    }
    host.reconfigure(true)
}

/// Raw usage, wall time, usage of a TRES, run seconds given back of a TRES.
#[derive(Debug, PartialEq)]
struct Sums {
    raw: f64,
    wall: f64,
    cpu: f64,
    memory: f64,
    back: u64,
}

fn users_below(association: u32) -> u64 {
    match association {
        1 => 3,
        2 => 2,
        _ => 1,
    }
}

/// What an association has.
fn of(host: &mut Host, id: u32) -> HostResult<Sums> {
    let found = Charged::read(host)?.associations.into_iter().find(|a| a.id == id).expect("is there");
    Ok(Sums {
        raw: found.raw.to_f64(),
        wall: found.wall,
        cpu: found.tres[CPU].to_f64(),
        memory: found.tres[MEM].to_f64(),
        back: users_below(id) * RUN_SECONDS - found.run_seconds[CPU],
    })
}

/// What a QOS has.
fn of_qos(host: &mut Host, id: u32) -> HostResult<Sums> {
    let found = Charged::read(host)?.qos.into_iter().find(|qos| qos.id == id).expect("is there");
    Ok(Sums {
        raw: found.usage_raw.to_f64(),
        wall: found.grp_used_wall,
        cpu: found.usage_tres_raw[CPU].to_f64(),
        memory: found.usage_tres_raw[MEM].to_f64(),
        back: RUN_SECONDS - found.run_secs[CPU],
    })
}

/// What a job of four processors has after some seconds, where limits count by one factor and raw usage by another.
fn ran(seconds: f64, raw: f64, limits: f64) -> Sums {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole numbers
    let back = (seconds * limits * 4.0) as u64;
    Sums {
        raw: seconds * raw * 4.0,
        wall: seconds * limits,
        cpu: seconds * limits * 4.0,
        memory: seconds * limits * 8192.0,
        back,
    }
}

/// A job of alice's with something of everything that rules go by.
fn of_all_kinds(id: u32) -> Job {
    running(id).wckey("*secret").reservations("maintenance").reservation("maintenance")
}

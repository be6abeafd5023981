//! `make soak`: the long tests, and a summary of counts.
//!
//!     soak [kills] [minutes of load] [stock]

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{ensure, Result};
use slurm_soak::outages::{self, Away};
use slurm_soak::{kills, leaks, load, seed, takeovers, Plugin};

/// Requests of each kind whose traces on the heap are measured.
const LEAK_REQUESTS: u32 = 300;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (kill, minutes) = (number(200), number(10));
    let stock = arguments.next().is_some_and(|text| text == "stock");
    let plugin = match Plugin::built() {
        Ok(plugin) if stock => plugin.stock(),
        Ok(plugin) => plugin,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let seed = seed();
    let time = Duration::from_secs(60) * minutes;
    // A fifth of the load's time for each, but not less than it takes to say something.
    let away = (time / 5).max(Duration::from_secs(5));
    let takeovers = (kill / 40).max(1);
    let mut passed = true;
    let mut part = |name: &str, outcome: Result<()>| match outcome {
        Ok(()) => println!("{name}: passed"),
        Err(error) => {
            println!("{name}: FAILED: {error:#}");
            passed = false;
        }
    };
    part("kills", check(kills::run(&plugin, kill, seed), "kills", stock, kills::check));
    // One per cluster: with either plugin, a backup that takes over a second time may not give back within a minute.
    for turn in 0..takeovers {
        let run = takeovers::run(&plugin, 1, seed + u64::from(turn));
        part("takeovers", check(run, "takeovers", stock, takeovers::check));
    }
    for (name, what) in [("slurmdbd away", Away::Slurmdbd), ("database away", Away::Database)] {
        part(name, check(outages::run(&plugin, what, away), name, stock, outages::check));
    }
    part("load", check(load::run(&plugin, time, seed), "load", stock, load::check));
    part("leaks", leaks::run(&plugin, LEAK_REQUESTS).and_then(|ours| compare_leaks(&ours, stock)));
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints what came of a part; for our plugin it must hold.
fn check<T: Display>(run: Result<T>, name: &str, stock: bool, holds: fn(&T) -> Result<()>) -> Result<()> {
    let summary = run?;
    println!("{name}: {summary}");
    if stock {
        Ok(())
    } else {
        holds(&summary)
    }
}

/// What a request leaves is compared with what it leaves under Slurm's own plugin.
fn compare_leaks(ours: &leaks::Summary, stock: bool) -> Result<()> {
    println!("leaks: {ours}");
    if stock {
        return Ok(());
    }
    let theirs = leaks::run(&Plugin::built()?.stock(), LEAK_REQUESTS)?;
    println!("leaks under stock: {theirs}");
    let beyond = ours.beyond(&theirs);
    ensure!(beyond.is_empty(), "more than stock leaves: {beyond:?}");
    Ok(())
}

//! `make soak`: the long tests, and a summary of counts.
//!
//!     soak [kills] [minutes of load] [stock]

use std::process::ExitCode;
use std::time::Duration;

use slurm_soak::{kills, load, Plugin};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (kill, minutes) = (number(200), number(10));
    let stock = arguments.next().is_some_and(|text| text == "stock");
    let plugin = match Plugin::built() {
        _ if stock => Plugin::Stock,
        Ok(plugin) => plugin,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let killed = kills::run(&plugin, kill, seed).and_then(|summary| {
        println!("kills: {summary}");
        if stock {
            Ok(())
        } else {
            kills::check(&summary)
        }
    });
    let loaded = load::run(&plugin, Duration::from_secs(60) * minutes, seed).and_then(|summary| {
        println!("load: {summary}");
        load::check(&summary)
    });
    let mut code = ExitCode::SUCCESS;
    for (name, result) in [("kills", killed), ("load", loaded)] {
        match result {
            Ok(()) => println!("{name}: passed"),
            Err(error) => {
                println!("{name}: FAILED: {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

//! Replays a trace under one scheduler and policy in a few lines: `cargo run --release -p multifactor2-replay --example replay -- TRACE
//! [SCHEDULER] [POLICY]`. The command `multifactor2 replay` is the real thing.

use std::path::Path;

use multifactor2_replay::measures::{summary, Counted};
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Plan, Scheduler};
use multifactor2_replay::trace;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which trace?")?;
    let scheduler = arguments.next().unwrap_or_else(|| "easy".to_owned());
    let policy = Policy::named(&arguments.next().unwrap_or_else(|| "fifo".to_owned()))?;
    let workload = trace::read(Path::new(&path))?;
    print!("{}", workload.problems);
    for missing in &workload.missing {
        println!("without {}: {}", missing.what, missing.so);
    }
    let machine = workload.machine_or_observed().ok_or("the machine is not known")?;
    let scheduler = Scheduler::named(&scheduler, &workload.config)?;
    let plan = Plan { workload: &workload, machine: &machine, scheduler, policy: &policy };
    let outcome = simulate(&plan)?;
    let found = summary(&workload, &machine, &outcome, &Counted::of(&workload, &[&outcome], i64::MIN));
    println!("{} jobs on {} CPUs, utilisation {:.3}", workload.jobs.len(), machine.cpus(), found.utilisation);
    println!(
        "wait {:?}\nflow {:?}\nbounded slowdown {:?}",
        found.all.wait, found.all.flow, found.all.slowdown
    );
    Ok(())
}

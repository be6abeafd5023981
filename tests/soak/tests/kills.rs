//! The short form of the kills in `make soak`.

use slurm_soak::{kills, seed, Plugin};

#[test]
fn usage_is_never_counted_twice_and_running_jobs_lose_none() {
    let summary = kills::run(&Plugin::built().unwrap(), 10, seed()).unwrap();
    println!("{summary}");
    kills::check(&summary).unwrap();
}

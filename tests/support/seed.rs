//! Where random tests begin: a seed that is printed, and taken back from the environment.
//!
//! Every test that uses randomness, by proptest or otherwise, begins with [`seed`]. A test that failed prints what it printed, so
//! `MULTIFACTOR2_SEED=<that number> cargo test <that test>` does the same again.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// The variable.
const VARIABLE: &str = "MULTIFACTOR2_SEED";

/// The seed of the calling test.
///
/// # Panics
/// If the variable holds no number.
pub fn seed() -> u64 {
    let given = std::env::var(VARIABLE).ok();
    let seed = given.map_or_else(
        || RandomState::new().hash_one(std::process::id()),
        |text| {
            text.parse().unwrap_or_else(|_| panic!("{VARIABLE}={text} is not a number from 0 to 2^64 - 1"))
        },
    );
    println!("{}: {VARIABLE}={seed}", std::thread::current().name().unwrap_or("main"));
    seed
}

//! `make figures`: draws the pictures of the documentation. What they show is simulated by the code of the tests, with the arithmetic
//! that the plugin has.

mod picture;
#[path = "../../../tests/core/simulation.rs"]
mod simulation;

use std::path::Path;
use std::process::ExitCode;

use simulation::{orders, run, scenes};

fn main() -> ExitCode {
    let rows = scenes().map(|scene| {
        let careers = orders().map(|(_, order)| run(&scene.tree, &order, 1.0));
        (scene, careers)
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(picture::FILE);
    match std::fs::write(path, picture::draw(&rows)) {
        Ok(()) => {
            println!("{}: drawn", picture::FILE);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", picture::FILE);
            ExitCode::FAILURE
        }
    }
}

//! Generates Slurm's constants for the tests from the table that is compared with Slurm's headers.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let directory = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set; run this through cargo")?;
    let source = slurm_headers::constants_source(&slurm_headers::constants()?);
    fs::write(Path::new(&directory).join("constants.rs"), source)?;
    Ok(())
}

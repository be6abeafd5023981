//! Compiles the C shim and generates the record layouts from `slurm-headers/layouts.tsv`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use slurm_headers::{rust_source, Table};

fn main() -> Result<(), Box<dyn Error>> {
    write_layouts()?;
    compile_shim();
    Ok(())
}

fn write_layouts() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=slurm-headers/layouts.tsv");
    let out = PathBuf::from(env::var("OUT_DIR")?).join("layouts.rs");
    fs::write(out, rust_source(&Table::committed()?))?;
    Ok(())
}

fn compile_shim() {
    println!("cargo:rerun-if-changed=include/shim.h");
    println!("cargo:rerun-if-changed=src/host/shim.c");
    cc::Build::new()
        .file("src/host/shim.c")
        .include("include")
        .std("c11")
        .warnings(true)
        .extra_warnings(true)
        .compile("multifactor2_shim");
    // A plugin that used thread-locals must not be unmapped while one of its threads may live, and
    // slurmctld loads it again after a failed reconfigure.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

//! Compiles the C shim, and generates what the plugin knows of Slurm from the committed tables: record layouts, constants and
//! locks. Where `SLURM_SRC` names a Slurm source tree, that tree's layout is added to them (`BUILT_FOR`), for sites whose Slurm
//! is patched or newer than the table.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use slurm_headers::{Headers, LockTable, Reasons, Table};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match generate_layouts().and_then(|()| generate_locks()) {
        Ok(()) => {
            compile_shim();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What Rust cannot say of Slurm's C interface. `cc` reports a failure itself.
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

/// Writes a file into `$OUT_DIR`.
fn write(name: &str, source: &str) -> Outcome<()> {
    let directory = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set; run this through cargo")?;
    let path = PathBuf::from(directory).join(name);
    fs::write(&path, source).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Writes `layouts.rs`, `reasons.rs` and `constants.rs`.
fn generate_layouts() -> Outcome<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SLURM_SRC");
    let table = Table::committed()?;
    let built_for = match env::var_os("SLURM_SRC").filter(|path| !path.is_empty()) {
        Some(tree) => Some(source_tree_headers(&table, Path::new(&tree))?),
        None => None,
    };
    let source =
        slurm_headers::rust_source_built_for(&table, built_for.as_ref().map(|headers| &headers.column));
    write("layouts.rs", &source)?;
    let reasons_built_for = built_for.as_ref().map(|headers| (headers.column.version, &headers.reasons));
    write("reasons.rs", &slurm_headers::reasons_source(&Reasons::committed()?, reasons_built_for))?;
    write("constants.rs", &slurm_headers::constants_source(&slurm_headers::constants()?))
}

/// Writes `$OUT_DIR/callers.rs`: which locks Slurm holds where it calls the plugin, and takes where the plugin calls it.
fn generate_locks() -> Outcome<()> {
    let source = slurm_headers::rust_source_of_locks(
        &Table::committed()?,
        &LockTable::callers()?,
        &LockTable::callees()?,
    );
    write("callers.rs", &source)
}

/// The layout and reasons of the tree that `SLURM_SRC` names. A relative path is one from the top directory,
/// which is where cargo runs build scripts.
#[cfg(feature = "slurm-src")]
fn source_tree_headers(table: &Table, path: &Path) -> Outcome<Headers> {
    for variable in ["LIBCLANG_PATH", "LLVM_CONFIG_PATH", "BINDGEN_EXTRA_CLANG_ARGS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let tree = slurm_headers::Tree::open(path).map_err(|error| format!("SLURM_SRC: {error}"))?;
    for part in ["META", "slurm", "src"] {
        println!("cargo:rerun-if-changed={}", tree.root().join(part).display());
    }
    let headers = tree.headers(table).map_err(|error| format!("SLURM_SRC={}: {error}", path.display()))?;
    println!(
        "cargo:warning=built for Slurm {} in {}, besides the releases of the table",
        tree.name(),
        path.display()
    );
    Ok(headers)
}

#[cfg(not(feature = "slurm-src"))]
fn source_tree_headers(_: &Table, path: &Path) -> Outcome<Headers> {
    let path = path.display();
    Err(format!(
        "SLURM_SRC={path} asks for that tree's layout, but this build cannot read trees. Build with \
         `make SLURM_SRC={path}`, or `cargo build --features slurm-src`; or unset SLURM_SRC, which is not needed \
         for the releases of slurm-headers/layouts.tsv"
    )
    .into())
}

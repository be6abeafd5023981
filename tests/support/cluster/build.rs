//! Compiles `preload.c` into a shared object that needs no particular C library, so that the same
//! bytes can be preloaded into the Slurm of an older or newer distribution.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=preload.c");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let compiler = cc::Build::new().get_compiler();
    let status = compiler
        .to_command()
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-nostdlib", "preload.c", "-o"])
        .arg(Path::new(&out).join("preload.so"))
        .status()
        .expect("the C compiler starts (Debian: apt-get install gcc libc6-dev)");
    assert!(status.success(), "preload.c does not compile: {status}");
}

//! Compiles `preload.c` and `slow.c` into shared objects that need no particular C library, so that the same
//! bytes can be preloaded into the Slurm of an older or newer distribution.

use std::env;
use std::path::Path;

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let compiler = cc::Build::new().get_compiler();
    for name in ["preload", "slow"] {
        let source = format!("{name}.c");
        println!("cargo:rerun-if-changed={source}");
        let status = compiler
            .to_command()
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-nostdlib", &source, "-o"])
            .arg(Path::new(&out).join(format!("{name}.so")))
            .status()
            .expect("the C compiler starts (Debian: apt-get install gcc libc6-dev)");
        assert!(status.success(), "{source} does not compile: {status}");
    }
}

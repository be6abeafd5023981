//! The shared object as the dynamic loader and Slurm's loader see it: what it exports and needs, and which release it
//! says it serves in processes of every kind. No Slurm is needed for this; the processes are made up.

mod object_file;
mod processes;
mod releases;

use std::path::PathBuf;

/// The plugin under test.
fn plugin() -> PathBuf {
    let plugin =
        slurm_inproc::Plugin::multifactor2().unwrap_or_else(|error| panic!("{error}; or run `make test`"));
    let library = plugin.library.expect("a plugin of ours is a file");
    library.canonicalize().unwrap_or_else(|error| panic!("{}: {error}; run `make test`", library.display()))
}

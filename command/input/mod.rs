//! Where a snapshot comes from: Slurm's commands asked once, the files that `--save` kept of these, or a file of the plugin.

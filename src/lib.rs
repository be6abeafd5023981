//! Slurm's `priority/multifactor2`.

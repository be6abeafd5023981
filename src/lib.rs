//! Slurm's `priority/multifactor2`.

pub mod conf;

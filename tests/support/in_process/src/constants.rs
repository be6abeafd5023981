//! Numbers of Slurm's headers, generated from `slurm-headers/constants.tsv`.

#![allow(clippy::unreadable_literal)]

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

//! The shared object as the dynamic loader and Slurm's loader see it: what it exports and needs, and which release it
//! says it serves in processes of every kind. No Slurm is needed for this; the processes are made up.

mod object_file;
mod processes;
mod releases;

//! Everything that turns Slurm's output into a snapshot, by what real commands of four releases have printed.

#[path = "recorded.rs"]
mod recorded;

#[path = "input/asking.rs"]
mod asking;
#[path = "input/files.rs"]
mod files;
#[path = "input/hostile.rs"]
mod hostile;
#[path = "input/queue.rs"]
mod queue;
#[path = "input/sight.rs"]
mod sight;
#[path = "input/tree.rs"]
mod tree;

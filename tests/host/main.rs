//! The plugin in the in-process host: the real libslurmfull, a clock that stands still, lock rules that are checked on
//! every call, and the stock plugin for everything that must be the same to the last bit.

mod active_jobs;
mod advice;
mod between_cycles;
mod books;
mod changes;
mod charge_rules;
mod charges;
mod charging;
mod closed;
mod differences;
mod example;
mod explanations;
mod factors;
mod grants;
mod kept_settings;
mod life;
mod meanwhile;
mod passive;
mod plain;
mod points;
mod pools;
mod random_charging;
mod random_jobs;
mod random_trees;
mod roster;
mod run_seconds;
mod security;
mod settings;
mod setup;
mod site_factor;
mod snapshot;
mod state_file;
mod surroundings;
mod tree;
mod variety;

//! The plugin in real daemons of the installed Slurm: the documented numbers as `sshare` and `sprio` show
//! them, the plugin's life in slurmctld, and equality with stock `priority/multifactor` in everything that is not
//! fair-share. `docs/parity.md` says which test proves what.

mod coming_from;
mod commands;
mod differential;
mod example;
mod factors;
mod going_back;
mod lifetime;
mod loading;
mod points;
mod policies;
mod private;
mod reconfigure;
mod schedule;
mod scheduled;
mod site_factor;
mod support;
mod trees;
mod usage;
mod valgrind;

//! The plugin and the command in real clusters. All in one program, because clusters mostly wait, and the tests of one program run side by
//! side: `make test` runs the oldest and the newest release, `make test-releases` (feature `full`) all of them.

mod shared;

mod books;
mod charging;
#[cfg(feature = "full")]
mod check;
mod closed;
mod command;
#[cfg(feature = "full")]
mod decisions;
mod dominant;
mod equal;
mod forecast;
mod grants;
mod hostile;
#[cfg(feature = "full")]
mod limits;
mod live;
mod lost;
mod once;
mod points;
mod policies;
#[cfg(feature = "full")]
mod preemption;
#[cfg(feature = "full")]
mod replay;
mod rows;
mod settings;
mod shown_targets;
mod slow_directory;
mod slow_disk;
mod snapshot;
mod stale;
mod startable;
mod stock;
mod stopping;
#[cfg(feature = "full")]
mod takeover;
mod targets;
mod tree_windows;
mod twins;
mod waits;
mod what_if;

//! The plugin in a slurmctld of every release: each layout, each signature, each change between releases.

mod charging;
mod fairshare;
mod life;
mod locking;
mod priorities;
mod setup;
mod several;
mod sprio;
mod usage;

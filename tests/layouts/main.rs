//! The plugin in a slurmctld of every release: each layout, each signature, each change between releases.

mod active_jobs;
mod advice;
mod charge_rules;
mod charging;
mod entries;
mod fairshare;
mod hostile;
mod job_texts;
mod life;
mod loading;
mod locking;
mod moved;
mod passive;
mod points;
mod pools;
mod priorities;
mod requests;
mod setup;
mod several;
mod shifted;
mod snapshot;
mod sprio;
mod sprio_visibility;
mod stopping;
mod unknown_micro;
mod usage;

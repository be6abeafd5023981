//! Start, end, and what releases want at which of them.

use std::time::Duration;

use slurm_fakehost::{all, callers, in_releases, release, table, Slurmctld};

use crate::entries::ids;
use crate::setup::{end, fill};

#[test]
fn the_layout_of_the_release_is_chosen_and_nothing_is_written_at_the_start() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        let (loaded, changed) = slurmctld.changes(Slurmctld::load);
        loaded.unwrap();
        // Before, the thread is at work already.
        if slurmctld.since(23, 11, 6) {
            assert!(changed.is_empty(), "{changed:?}");
        }
        let table = table();
        let group = table.groups[table.group_of(slurmctld.release).unwrap()];
        let line = match group.candidate {
            None => format!("in Slurm {}, layout {} to {}", slurmctld.release, group.first, group.verified),
            Some(_) => format!("in Slurm {}, whose layout is provisional", group.compared()),
        };
        assert!(slurmctld.log().contains(&line), "no '{line}' in\n{}", slurmctld.log());
        end(slurmctld);
    });
}

#[test]
fn a_micro_release_that_is_not_known_yet_gets_the_newest_layout_of_its_series_and_a_warning() {
    let newer = [20, 21, 22, 23, 24, 25, 26].map(|year| {
        let released = table().groups.iter().filter(|group| group.candidate.is_none());
        let of_year = released.map(|group| group.verified).filter(|verified| verified.year == year);
        let last = of_year.max().unwrap();
        release(last.year, last.month, 99)
    });
    in_releases(&newer, |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        let warning = format!("in Slurm {}, which is newer than this build knows", slurmctld.release);
        assert!(slurmctld.log().contains(&warning), "{}", slurmctld.log());
        assert_eq!(slurmctld.set_priority(0, job), 250);
        end(slurmctld);
    });
}

/// A backup of 23.02.7 that took over died now and then: no lock held the decay thread back, which asked `set_job_prio` about a job of ours
/// before slurmctld had looked up what that calls.
#[test]
fn nothing_that_calls_us_is_asked_before_slurmctld_has_looked_us_up() {
    in_releases(&all(), |slurmctld| {
        let callers = callers::of("init", slurmctld.release);
        let free =
            callers.iter().find(|caller| caller.locks.is_empty() && !caller.name.starts_with("sshare"));
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        if let Some(caller) = free {
            slurmctld.from(caller);
        }
        slurmctld.load_slowly(Duration::from_millis(200)).unwrap();
        slurmctld.recover();
        slurmctld.thread_start();
        slurmctld.await_cycle();
        assert_ne!(job.get::<u32>("priority"), 0);
        end(slurmctld);
    });
}

#[test]
fn the_thread_starts_where_the_release_starts_it_and_init_works_again_after_fini() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        for _ in 0..2 {
            slurmctld.load().unwrap();
            assert_eq!(slurmctld.has_decay_thread(), !slurmctld.since(23, 11, 6));
            slurmctld.recover();
            slurmctld.thread_start();
            slurmctld.await_cycle();
            assert!(slurmctld.has_decay_thread());
            slurmctld.cycle();
            slurmctld.fini();
            assert!(!slurmctld.has_decay_thread());
        }
        slurmctld.assert_nothing_leaks();
    });
}

#[test]
fn without_a_database_initial_priorities_are_set_where_the_release_sets_them() {
    in_releases(&all(), |slurmctld| {
        slurmctld.without_database().configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        let held = slurmctld.add_job(&cluster.waiting(102));
        held.set("priority", 0_u32);
        slurmctld.load().unwrap();
        let in_init = !slurmctld.since(23, 2, 0);
        assert_eq!(job.get::<u32>("priority"), if in_init { 250 } else { 1 });
        slurmctld.recover();
        assert_eq!(job.get::<u32>("priority"), 250);
        slurmctld.thread_start();
        assert_eq!(slurmctld.has_decay_thread(), slurmctld.since(23, 11, 6));
        if slurmctld.has_decay_thread() {
            slurmctld.await_cycle();
        }
        assert_eq!(held.get::<u32>("priority"), 0);
        end(slurmctld);
    });
}

/// Up to 22.05 slurmctld loads jobs before it can be asked about records, and sprio showed none of them.
#[test]
fn without_a_database_sprio_shows_the_jobs_that_were_there_at_the_start() {
    in_releases(&all(), |slurmctld| {
        slurmctld.without_database().configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.load().unwrap();
        slurmctld.recover();
        assert_eq!(ids(slurmctld, 0), [101]);
        end(slurmctld);
    });
}

#[test]
fn with_a_database_recover_sets_nothing() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        let ((), changed) = slurmctld.changes(|slurmctld| {
            // The thread of older releases sets priorities on its own.
            if slurmctld.since(23, 11, 6) {
                slurmctld.load().unwrap();
                slurmctld.recover();
            }
        });
        assert!(changed.is_empty(), "{changed:?}");
    });
}

#[test]
fn the_site_factor_plugin_is_started_told_and_stopped_as_the_release_does() {
    in_releases(&all(), |slurmctld| {
        slurmctld.conf_text("site_factor_plugin", "site_factor/example");
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        slurmctld.load().unwrap();
        slurmctld.thread_start();
        slurmctld.await_cycle();
        assert_eq!(slurmctld.take_calls(), ["site_factor_init"]);
        slurmctld.set_priority(0, job);
        assert_eq!(slurmctld.take_calls(), ["site_factor_g_set 101"]);
        slurmctld.reconfigure(false);
        let told = slurmctld.take_calls();
        assert_eq!(told.is_empty(), slurmctld.since(24, 5, 0), "{told:?}");
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_eq!(slurmctld.take_calls(), ["site_factor_g_update"]);
        slurmctld.fini();
        assert_eq!(slurmctld.take_calls(), ["site_factor_fini"]);
        slurmctld.assert_nothing_leaks();
    });
}

#[test]
fn a_site_factor_plugin_that_does_not_start_is_a_refusal_from_23_02_3_on() {
    in_releases(&all(), |slurmctld| {
        fill(slurmctld);
        slurmctld.site_factor_fails();
        let loaded = slurmctld.load();
        assert_eq!(loaded.is_err(), slurmctld.since(23, 2, 3), "{loaded:?}");
        if let Err(why) = loaded {
            assert!(why.contains("the site factor plugin cannot be started"), "{why}");
        } else {
            slurmctld.thread_start();
            slurmctld.await_cycle();
            end(slurmctld);
        }
    });
}

#[test]
fn cycles_and_a_new_start_at_the_same_second_change_nothing() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_age", 1000_u32).configure("priority_weight_fs", 1000_u32);
        slurmctld.configure("priority_decay_hl", 604_800_u32);
        let cluster = fill(slurmctld);
        for id in 101..104 {
            slurmctld.add_job(&cluster.waiting(id));
        }
        slurmctld.begin();
        let ((), changed) = slurmctld.changes(|slurmctld| {
            for _ in 0..3 {
                slurmctld.cycle();
            }
            slurmctld.fini();
            slurmctld.begin();
        });
        assert!(changed.is_empty(), "{changed:?}");
        end(slurmctld);
    });
}

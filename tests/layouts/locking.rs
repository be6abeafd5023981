//! Which locks the plugin asks for, under which it touches what, and from wherever it is called.

use std::collections::BTreeSet;

use slurm_fakehost::{all, callers, in_releases, locks, memory, Job, Mcs, Record, Slurmctld};

use crate::setup::{end, fill, Cluster};

/// Everything that a cycle can do is done: there are decay, a site factor plugin, running and waiting jobs.
fn busy(slurmctld: &mut Slurmctld) -> (Cluster, Record, Record) {
    slurmctld.set("accounting_enforce", 2_u16);
    slurmctld.configure("priority_weight_fs", 1000_u32).configure("priority_weight_age", 86_400_u32);
    slurmctld.configure("priority_weight_qos", 1000_u32).configure("priority_weight_part", 1000_u32);
    slurmctld.configure("priority_weight_assoc", 1000_u32).weigh_tres(&[1.0]);
    slurmctld.conf_text("site_factor_plugin", "site_factor/example");
    let cluster = fill(slurmctld);
    let waiting =
        slurmctld.add_job(&Job { partitions: vec![cluster.batch, cluster.fast], ..cluster.waiting(101) });
    let running = slurmctld.add_job(&cluster.running(102, 600));
    (cluster, waiting, running)
}

fn asked() -> BTreeSet<String> {
    locks::take_trace().into_iter().map(|(_, levels)| levels).collect()
}

fn set(levels: &[&str]) -> BTreeSet<String> {
    levels.iter().map(|levels| (*levels).to_owned()).collect()
}

/// The table of docs/cycle.md, "One cycle". A higher level than is needed makes others wait, a lower one is found by the
/// processor in all tests.
#[test]
fn a_cycle_asks_for_the_locks_of_its_phases() {
    in_releases(&all(), |slurmctld| {
        busy(slurmctld);
        slurmctld.begin();
        asked();
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_eq!(
            asked(),
            set(&[
                "state files:w",
                "assoc:w qos:w tres:r",
                "job:r node:r part:r",
                "job:w node:r part:r",
                // Read jobs; read shares and usage; write priorities, and explain them.
                "assoc:r qos:r",
                "assoc:r",
                "assoc:r qos:r tres:r",
                "assoc:w",
            ])
        );
        end(slurmctld);
    });
}

#[test]
fn each_export_asks_for_no_more_than_it_needs() {
    in_releases(&all(), |slurmctld| {
        let (cluster, waiting, running) = busy(slurmctld);
        slurmctld.load().unwrap();
        let in_init: BTreeSet<String> = locks::take_trace()
            .into_iter()
            .filter_map(|(by, levels)| (by == "init").then_some(levels))
            .collect();
        assert_eq!(
            in_init,
            set(&["assoc:w", "state files:w", "texts:w"]),
            "nothing of slurmctld's, which its caller holds"
        );
        slurmctld.recover();
        slurmctld.thread_start();
        slurmctld.await_cycle();
        asked();
        slurmctld.ask_priority(0, waiting);
        assert_eq!(asked(), set(&["assoc:r qos:r"]));
        slurmctld.job_end(running);
        assert_eq!(asked(), set(&["assoc:w qos:w tres:r"]));
        slurmctld.set_assoc_usage(cluster.alice);
        assert_eq!(asked(), set(&[]));
        slurmctld.reconfigure(false);
        assert_eq!(asked(), set(&["texts:w"]));
        end(slurmctld);
    });
}

/// Up to 22.05 slurmctld may read slurm.conf anew, which frees its texts, while it tells the plugin of the time before: of SIGHUP
/// and `scontrol reconfigure` one does not wait for the other. In the fake host the processor finds who reads a text without the mutex.
#[test]
fn texts_of_slurm_conf_are_copied_under_its_own_mutex() {
    in_releases(&all(), |slurmctld| {
        let (_, waiting, _) = busy(slurmctld);
        slurmctld.begin();
        let copied = || asked().contains("texts:w");
        assert!(copied(), "at the start");
        slurmctld.ask_priority(0, waiting);
        slurmctld.advance(300);
        slurmctld.cycle();
        assert!(!copied(), "settings are read when slurmctld says so");
        let recounted = !slurmctld.since(23, 11, 0);
        slurmctld.reconfigure(recounted);
        assert!(copied(), "at a reconfigure");
        end(slurmctld);
    });
}

/// Its caller holds the QOS lock from 23.02 on: who takes the association lock there waits for one who waits for the QOS.
#[test]
fn answering_sprio_takes_nothing_that_comes_before_what_its_caller_holds() {
    in_releases(&all(), |slurmctld| {
        busy(slurmctld);
        slurmctld.begin();
        asked();
        assert_eq!(slurmctld.factors(None, 0, |_| ()).len(), 2);
        let own = asked();
        if slurmctld.since(23, 2, 0) {
            assert_eq!(own, set(&[]));
        } else {
            assert!(!own.iter().any(|levels| levels.contains(":w") || levels.contains("assoc")), "{own:?}");
        }
        end(slurmctld);
    });
}

/// mcs/account asks the association manager, under its lock.
#[test]
fn private_data_with_mcs_account_is_answered_without_the_association_lock() {
    in_releases(&all(), |slurmctld| {
        // Associations are enforced.
        slurmctld.set("accounting_enforce", 1_u16).configure("private_data", 1_u16).mcs(Mcs::Account);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&Job { mcs_label: Some("physics"), ..cluster.waiting(101) });
        slurmctld.add_job(&Job { mcs_label: Some("chemistry"), user_id: 7, ..cluster.waiting(102) });
        slurmctld.begin();
        for (uid, seen) in [(1004, 1), (1005, 1), (1006, 1), (7, 1), (8, 0), (0, 2)] {
            assert_eq!(slurmctld.factors(None, uid, |_| ()).len(), seen, "user {uid}");
        }
        end(slurmctld);
    });
}

/// Who asks about a user then makes slurmctld load them all, under other locks.
#[test]
fn private_data_without_users_cannot_hang_sprio() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("private_data", 1_u16).without_users();
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        for (uid, seen) in [(1004, 1), (1005, 0), (0, 1)] {
            assert_eq!(slurmctld.factors(None, uid, |_| ()).len(), seen, "user {uid}");
        }
        end(slurmctld);
    });
}

#[test]
fn every_caller_of_an_export_with_what_it_holds_can_make_the_call() {
    in_releases(&all(), |slurmctld| {
        let (cluster, waiting, _) = busy(slurmctld);
        slurmctld.begin();
        let expected = slurmctld.ask_priority(0, waiting);
        for caller in callers::different("priority_p_set", slurmctld.release) {
            assert_eq!(slurmctld.from(&caller).ask_priority(0, waiting), expected, "{caller:?}");
        }
        for (id, caller) in (200..).zip(callers::different("priority_p_job_end", slurmctld.release)) {
            let running = slurmctld.add_job(&cluster.running(id, 600));
            slurmctld.from(&caller).job_end(running);
            assert_eq!(running.get::<i64>("end_time_exp"), crate::setup::END_CHARGED, "{caller:?}");
        }
        for caller in callers::different("priority_p_set_assoc_usage", slurmctld.release) {
            slurmctld.from(&caller).set_assoc_usage(cluster.alice);
        }
        end(slurmctld);
        // A backup controller that takes over holds other locks.
        for caller in callers::different("init", slurmctld.release) {
            slurmctld.from(&caller).load().unwrap();
            slurmctld.recover();
            slurmctld.thread_start();
            slurmctld.await_cycle();
            slurmctld.fini();
        }
    });
}

/// Writing without the lock is found in every test; here reading, too.
#[test]
fn nothing_is_read_without_its_lock() {
    in_releases(&all(), |slurmctld| {
        let (cluster, waiting, running) = busy(slurmctld);
        slurmctld.configure("priority_reset_period", 2_u16).configure("private_data", 1_u16);
        slurmctld.load().unwrap();
        // In older releases the thread has begun before.
        if !slurmctld.since(23, 11, 6) {
            slurmctld.await_cycle();
        }
        memory::watch_reads();
        slurmctld.recover();
        slurmctld.thread_start();
        slurmctld.await_cycle();
        for _ in 0..3 {
            slurmctld.advance(43_200);
            slurmctld.cycle();
        }
        assert!(waiting.get::<u32>("priority") > 43_200, "the cycles were left out:\n{}", slurmctld.log());
        slurmctld.ask_priority(0, waiting);
        slurmctld.factors(None, 1006, |_| ());
        slurmctld.factors(None, 0, |_| ());
        slurmctld.set_assoc_usage(cluster.alice);
        slurmctld.job_end(running);
        slurmctld.advance(300);
        slurmctld.cycle();
        slurmctld.fini();
    });
}

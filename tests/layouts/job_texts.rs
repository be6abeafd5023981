//! Texts of a job that are whatever somebody wrote, its wckey and the administrator's comment: none of them stops the plugin, but a
//! pointer that leads to no text does.

use slurm_fakehost::{all, in_releases, Job};

use crate::setup::{end, fill};

#[test]
fn whatever_is_written_there_is_a_text() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let long: &'static str = "x".repeat(100_000).leak();
        let cluster = fill(slurmctld);
        for (id, text) in (101..).zip(["", "a", "*a", "line\nline", "\x01\x7f", "\u{fc}", long]) {
            slurmctld.add_job(&Job { wckey: Some(text), admin_comment: Some(text), ..cluster.waiting(id) });
        }
        slurmctld.begin();
        assert!((101..108).all(|id| slurmctld.job(id).get::<u32>("priority") == 250), "{}", slurmctld.log());
        end(slurmctld);
    });
}

#[test]
fn a_pointer_that_leads_to_no_text_stops_all_writing() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let text = Some("a text");
        let job = slurmctld.add_job(&Job { wckey: text, admin_comment: text, ..cluster.waiting(101) });
        for field in ["wckey", "admin_comment"] {
            let pointer: *mut u8 = job.get(field);
            for nothing in [0x1000, pointer as usize + 8, usize::MAX - 4096] {
                job.put_decoy(field, nothing as *mut u8);
                slurmctld.expect_error("does not match the layout");
                let ((), changed) = slurmctld.changes(|slurmctld| {
                    slurmctld.begin();
                    slurmctld.fini();
                });
                assert!(changed.is_empty(), "{field}: {changed:?}");
            }
            job.put_decoy(field, pointer);
        }
        slurmctld.begin();
        assert_eq!(job.get::<u32>("priority"), 250);
        end(slurmctld);
    });
}

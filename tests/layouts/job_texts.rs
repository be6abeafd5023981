//! Texts of a job that are whatever somebody wrote, its wckey, the administrator's comment and perhaps its account: none of them stops
//! the plugin, but a pointer that leads to no text does.

use slurm_fakehost::{all, in_releases, Job};

use crate::setup::{end, fill};

#[test]
fn whatever_is_written_there_is_a_text() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let long: &'static str = "x".repeat(100_000).leak();
        let cluster = fill(slurmctld);
        // Of each kind of job the first three are looked at.
        for (id, text) in (101..).zip(["line\nline", "\x01\x7f", long, "\u{fc}", "", "a", "*a"]) {
            let texts = Job { wckey: Some(text), admin_comment: Some(text), ..cluster.waiting(id) };
            slurmctld.add_job(&texts);
            // Where accounting does not know the user and slurmctld does not mind, the account and what follows from it are the user's word, too.
            slurmctld.add_job(&Job {
                id: id + 100,
                association: None,
                account: text,
                mcs_label: Some(text),
                ..texts
            });
        }
        slurmctld.begin();
        let priority = |id| slurmctld.job(id).get::<u32>("priority");
        assert!((101..108).all(|id| priority(id) == 250 && priority(id + 100) == 250), "{}", slurmctld.log());
        end(slurmctld);
    });
}

#[test]
fn a_pointer_that_leads_to_no_text_stops_all_writing() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let text = Some("a text");
        let texts = Job { wckey: text, admin_comment: text, mcs_label: text, ..cluster.waiting(101) };
        let job = slurmctld.add_job(&texts);
        for field in ["wckey", "admin_comment", "mcs_label", "account"] {
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

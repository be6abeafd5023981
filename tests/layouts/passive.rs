//! Records that are larger than the table has them, as patched sources make them: nothing is written, one line says why, jobs stay in
//! order; or the start is refused.

use slurm_fakehost::{all, in_releases, layout, pad, Job, Partition, Slurmctld};

use crate::setup::{end, fill, usage};

const ADVICE: &str = "It was probably built from patched sources. Build this plugin with SLURM_SRC=";

/// What the plugin says of a record with eight bytes more.
fn message(kind: &str) -> String {
    let size = layout().record(kind).size;
    format!("has {} bytes, {size} expected", size + 8)
}

/// Everything that happens to a plugin, with one job that has a record of another size.
fn live(slurmctld: &mut Slurmctld, kind: &'static str) {
    slurmctld.configure("priority_weight_age", 1000_u32).configure("priority_weight_fs", 1000_u32);
    slurmctld.configure("priority_decay_hl", 604_800_u32);
    let cluster = fill(slurmctld);
    usage(cluster.alice).set_ld("usage_raw", 1000.0);
    pad(kind, 8);
    let patched = slurmctld.add_partition(&Partition { name: "patched", ..Partition::default() });
    let job = slurmctld.add_job(&Job { partitions: vec![patched], ..cluster.waiting(101) });
    slurmctld.expect_error(&message(kind));
    let ((), changed) = slurmctld.changes(|slurmctld| {
        slurmctld.begin();
        for _ in 0..2 {
            slurmctld.advance(86_400);
            slurmctld.cycle();
            slurmctld.job_end(job);
            slurmctld.reconfigure(false);
        }
        assert_eq!([1000, 999, 1].map(|last| slurmctld.ask_priority(last, job)), [999, 998, 1]);
    });
    assert!(changed.is_empty(), "{kind}: {changed:?}");
    let log = slurmctld.log();
    let said: Vec<&str> = log.lines().filter(|line| line.contains(&message(kind))).collect();
    let [line] = said[..] else { panic!("one line: {log}") };
    assert!(line.contains(ADVICE), "{line}");
    assert!(line.contains("jobs are ordered by submission and nothing is written"), "{line}");
    end(slurmctld);
}

/// Associations are not among them: their size is checked at the start, with the root's.
#[test]
fn a_record_of_another_size_stops_all_writing_with_one_line() {
    in_releases(&all(), |slurmctld| live(slurmctld, "job"));
    in_releases(&all(), |slurmctld| live(slurmctld, "details"));
    in_releases(&all(), |slurmctld| live(slurmctld, "part"));
}

#[test]
fn a_root_association_of_another_size_refuses_the_start() {
    in_releases(&all(), |slurmctld| {
        pad("assoc", 8);
        fill(slurmctld);
        let refused = slurmctld.load().unwrap_err();
        for part in ["the root association ", &message("assoc"), ADVICE] {
            assert!(refused.contains(part), "no '{part}' in {refused}");
        }
    });
}

#[test]
fn the_checks_are_made_again_after_fini_and_init() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        pad("job", 8);
        let larger = slurmctld.add_job(&cluster.waiting(101));
        slurmctld.expect_error(&message("job"));
        slurmctld.begin();
        assert_eq!(larger.get::<u32>("priority"), 1);
        slurmctld.fini();
        slurmctld.purge(101);
        pad("job", 0);
        let usual = slurmctld.add_job(&cluster.waiting(102));
        slurmctld.begin();
        assert_eq!(usual.get::<u32>("priority"), 250);
        end(slurmctld);
    });
}

//! Records that are not as the table has them, as patched sources make them: calculations are left out, then nothing is written any
//! more until slurmctld starts again, and no priority is lost by it; or the start is refused.

use slurm_fakehost::{
    all, in_releases, in_shifted_layouts, layout, one_of_each_layout, pad, Association, Job, Partition,
    Record, Shift, Slurmctld, NO_VAL,
};

use crate::setup::{assert_near, end, fill, usage, Cluster};

const ADVICE: &str = "It was probably built from patched sources. Build this plugin with SLURM_SRC=";
const LEFT_OUT: &str = "This calculation of priorities is skipped";
const PASSIVE: &str = "The plugin is passive until slurmctld starts again";
/// Not what a plugin computes.
const DIRECT: u32 = 4242;

/// What the plugin says of a record with eight bytes more.
fn message(kind: &str) -> String {
    let size = layout().record(kind).size;
    format!("has {} bytes, {size} expected", size + 8)
}

fn count(slurmctld: &Slurmctld, text: &str) -> usize {
    slurmctld.log().lines().filter(|line| line.contains(text)).count()
}

/// Three jobs in several partitions, which no other job is, whose records, or those that they lead to, are larger.
fn three_larger(slurmctld: &mut Slurmctld, cluster: &Cluster, kind: &'static str, first: u32) -> Vec<Record> {
    pad(kind, 8);
    let patched = slurmctld.add_partition(&Partition { name: "patched", ..Partition::default() });
    (first..first + 3)
        .map(|id| slurmctld.add_job(&Job { partitions: vec![patched, cluster.batch], ..cluster.waiting(id) }))
        .collect()
}

/// Everything that happens to a plugin, with jobs whose records have another size.
fn live(slurmctld: &mut Slurmctld, kind: &'static str) {
    slurmctld.configure("priority_weight_age", 1000_u32).configure("priority_weight_fs", 1000_u32);
    slurmctld.configure("priority_decay_hl", 604_800_u32);
    let cluster = fill(slurmctld);
    usage(cluster.alice).set_ld("usage_raw", 1000.0);
    let jobs = three_larger(slurmctld, &cluster, kind, 101);
    slurmctld.expect_error(&message(kind));
    let ((), changed) = slurmctld.changes(|slurmctld| {
        slurmctld.begin();
        assert_eq!((count(slurmctld, LEFT_OUT), count(slurmctld, PASSIVE)), (1, 0));
        for _ in 0..2 {
            slurmctld.advance(300);
            slurmctld.cycle();
            slurmctld.job_end(jobs[0]);
            slurmctld.reconfigure(false);
        }
    });
    assert!(changed.is_empty(), "{kind}: {changed:?}");
    let log = slurmctld.log();
    for text in [LEFT_OUT, PASSIVE] {
        let said: Vec<&str> = log.lines().filter(|line| line.contains(text)).collect();
        let [line] = said[..] else { panic!("one line with '{text}': {log}") };
        assert!(line.contains(ADVICE) && line.contains(&message(kind)), "{line}");
    }
    keeps_priorities(slurmctld, jobs[0], kind != "job");
    end(slurmctld);
}

/// slurmctld asks about a new job, behind a change of one that is not held, and for one that is released. `readable` where the job's
/// own record is as the layout says.
fn keeps_priorities(slurmctld: &mut Slurmctld, job: Record, readable: bool) {
    let ask = |slurmctld: &mut Slurmctld, last: u32, number: u32, direct: u16| {
        job.set("priority", number).set("direct_set_prio", direct);
        slurmctld.ask_priority(last, job)
    };
    // A new job, then a change of it.
    assert_eq!(ask(slurmctld, 1000, NO_VAL, 0), 999);
    assert_eq!(ask(slurmctld, 900, 999, 0), 999);
    // The administrator's number, and another change behind it.
    let direct = if readable { DIRECT } else { 999 };
    assert_eq!([ask(slurmctld, 900, DIRECT, 1), ask(slurmctld, 800, DIRECT, 1)], [direct; 2]);
    // One that is held and loses its nodes; one that is released.
    assert_eq!(ask(slurmctld, 700, 0, 1), if readable { 0 } else { direct });
    assert_eq!(ask(slurmctld, 700, 0, 0), if readable { 699 } else { direct });
    assert!(ask(slurmctld, 1, 0, 0) != 0, "1 is the lowest");
}

/// Associations are not among them: their size is checked at the start, with the root's.
#[test]
fn several_records_of_another_size_stop_all_writing_and_one_line_an_hour_says_so() {
    in_releases(&all(), |slurmctld| live(slurmctld, "job"));
    in_releases(&all(), |slurmctld| live(slurmctld, "details"));
    in_releases(&all(), |slurmctld| live(slurmctld, "part"));
}

/// Three patched trees: a grown record is above; here an `int` before the priority, and a pointer elsewhere.
#[test]
fn in_a_patched_slurm_that_keeps_its_sizes_a_hold_and_a_direct_priority_stay() {
    let shifts = |_: &_| {
        [("job", "priority", 4), ("job", "details", 8), ("job", "assoc_ptr", 8)]
            .map(|(record, field, bytes)| Shift { record, field, bytes })
            .into()
    };
    in_shifted_layouts(&one_of_each_layout(), shifts, |slurmctld, shift| {
        slurmctld.configure("priority_weight_age", 1000_u32);
        let cluster = fill(slurmctld);
        let jobs: Vec<Record> = (101..105).map(|id| slurmctld.add_job(&cluster.waiting(id))).collect();
        for job in &jobs {
            // What lies there is something else.
            match shift.field {
                "priority" => drop(job.put_decoy("priority", 1_795_000_000_u32)),
                field => drop(job.put_decoy(field, cluster.batch.address)),
            }
        }
        slurmctld.expect_error("does not match the layout");
        slurmctld.begin();
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_eq!(count(slurmctld, PASSIVE), 1, "{}", slurmctld.log());
        for job in jobs {
            keeps_priorities(slurmctld, job, shift.field != "priority");
        }
    });
}

#[test]
fn where_no_job_can_be_read_each_gets_the_last_number_that_a_calculation_or_an_answer_has_given_it() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let first = slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        let second = slurmctld.add_job(&cluster.waiting(102));
        assert_eq!(slurmctld.ask_priority(5000, second), 250);
        let larger = three_larger(slurmctld, &cluster, "job", 103);
        slurmctld.expect_error(&message("job"));
        for job in &larger {
            assert_eq!(slurmctld.ask_priority(700, *job), 699, "it is not known yet");
        }
        for _ in 0..2 {
            slurmctld.advance(300);
            slurmctld.cycle();
        }
        assert_eq!(count(slurmctld, PASSIVE), 1, "{}", slurmctld.log());
        for job in [first, second] {
            job.set("priority", DIRECT).set("direct_set_prio", 1_u16);
            assert_eq!(slurmctld.ask_priority(600, job), 250, "as it was written or answered");
        }
        assert_eq!(slurmctld.ask_priority(600, larger[0]), 699, "as it was answered");
        let new = slurmctld.add_job(&cluster.waiting(110));
        assert_eq!(slurmctld.ask_priority(600, new), 599);
        end(slurmctld);
    });
}

/// Memory that was overwritten, perhaps: two records are not several, however long they stay.
#[test]
fn one_or_two_bad_records_leave_calculations_out_and_when_they_are_gone_all_time_is_charged() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32).configure("priority_weight_fs", 1000_u32);
        slurmctld.configure("priority_decay_hl", 0_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.running(102, 60));
        slurmctld.begin();
        let before = usage(cluster.alice).get_ld("usage_raw");
        let bad = [103, 104].map(|id| slurmctld.add_job(&cluster.waiting(id)).set("magic", 0x0bad_cafe_u32));
        slurmctld.expect_error("begins with 0xbadcafe");
        let ((), changed) = slurmctld.changes(|slurmctld| {
            assert_eq!(slurmctld.ask_priority(500, bad[0]), 499, "it is new");
            for _ in 0..15 {
                slurmctld.advance(300);
                slurmctld.cycle();
            }
        });
        assert!(changed.is_empty(), "{changed:?}");
        assert_eq!((count(slurmctld, LEFT_OUT), count(slurmctld, PASSIVE)), (2, 0), "once an hour");
        for (id, job) in [103, 104].into_iter().zip(bad) {
            job.set("magic", 0xf0b7_392c_u32);
            slurmctld.purge(id);
        }
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_eq!(count(slurmctld, "slurmctld's records are as expected again"), 1);
        let since = usage(cluster.alice).get_ld("usage_raw") - before;
        // What a second of it costs.
        assert_near(since, 16.0 * 300.0 * 4.0, "charged");
        end(slurmctld);
    });
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
        let larger = three_larger(slurmctld, &cluster, "job", 101);
        slurmctld.expect_error(&message("job"));
        slurmctld.begin();
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_eq!((larger[0].get::<u32>("priority"), count(slurmctld, PASSIVE)), (1, 1));
        slurmctld.fini();
        (101..104).for_each(|id| slurmctld.purge(id));
        pad("job", 0);
        let usual = slurmctld.add_job(&cluster.waiting(105));
        slurmctld.begin();
        assert_eq!(usual.get::<u32>("priority"), 250);
        end(slurmctld);
    });
}

/// slurmdbd may do that, and it is no patched Slurm.
#[test]
fn an_association_that_is_there_twice_is_told_and_stops_nothing() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_association(&Association {
            id: 4,
            parent: Some(cluster.physics),
            account: "physics",
            user: Some("alice"),
            ..Association::default()
        });
        let job = slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_eq!(job.get::<u32>("priority"), 250);
        assert_eq!(count(slurmctld, "the association 4 exists twice"), 1, "{}", slurmctld.log());
        end(slurmctld);
    });
}

//! A micro release that is newer than the table: what slurmctld itself shows to be right works, and nothing is written where it does not.

use slurm_fakehost::{
    in_releases, in_shifted_layouts, layout, release, set_lowest_priority, Job, Layout, Qos, Record, Shift,
    Slurmctld, Version,
};

use crate::entries::entries;
use crate::setup::{end, fill, Cluster};
use crate::several::array;

const ONE_PRIORITY: &str = "a job in several partitions or QOS has one priority";

/// Of each series in which slurmctld tells of priorities by partition.
const TELLING: [Version; 5] =
    [release(24, 5, 99), release(24, 11, 99), release(25, 5, 99), release(25, 11, 99), release(26, 5, 99)];
const SILENT: [Version; 4] =
    [release(20, 11, 99), release(21, 8, 99), release(22, 5, 99), release(23, 11, 99)];

fn in_three(cluster: &Cluster) -> Job {
    Job { partitions: vec![cluster.batch, cluster.fast, cluster.long], ..cluster.waiting(101) }
}

fn begin(slurmctld: &mut Slurmctld) -> Record {
    slurmctld.configure("priority_weight_part", 1000_u32);
    let cluster = fill(slurmctld);
    let job = slurmctld.add_job(&in_three(&cluster));
    slurmctld.begin();
    job
}

#[test]
fn a_job_in_several_partitions_has_a_priority_for_each_where_slurmctld_tells_them() {
    in_releases(&TELLING, |slurmctld| {
        let job = begin(slurmctld);
        assert_eq!(array(job).expect("an array").0, [1000, 500, 250]);
        assert_eq!(
            job.follow("prio_mult", "prio_mult").unwrap().text("priority_array_names"),
            "fast,long,batch"
        );
        assert!(!slurmctld.log().contains(ONE_PRIORITY), "{}", slurmctld.log());
        end(slurmctld);
    });
}

#[test]
fn a_job_in_several_qos_alone_has_a_priority_for_each() {
    in_releases(&TELLING[1..], |slurmctld| {
        slurmctld.configure("priority_weight_qos", 1000_u32);
        let cluster = fill(slurmctld);
        let low = slurmctld.add_qos(&Qos { id: 8, name: "low", priority: (5, 0.125), ..Qos::default() });
        let job = slurmctld.add_job(&Job {
            partitions: vec![cluster.batch],
            qos: vec![cluster.high, low],
            ..cluster.waiting(101)
        });
        slurmctld.begin();
        assert_eq!(array(job).expect("an array").0, [1000, 125]);
        end(slurmctld);
    });
}

#[test]
fn it_has_one_where_slurmctld_does_not_tell_and_one_line_says_so() {
    in_releases(&SILENT, |slurmctld| {
        let job = begin(slurmctld);
        slurmctld.cycle();
        assert!(job.get::<*mut u8>("priority_array").is_null());
        assert_eq!(job.get::<u32>("priority"), 250, "that of its first partition");
        let log = slurmctld.log();
        assert_eq!(log.matches(ONE_PRIORITY).count(), 1, "{log}");
        end(slurmctld);
    });
}

/// Elsewhere by one field, in either direction.
fn moved_pointer(_: &Layout) -> Vec<Shift> {
    [-8, 8].map(|bytes| Shift { record: "job", field: "prio_mult", bytes }).into()
}

#[test]
fn it_has_one_where_slurmctld_keeps_them_elsewhere() {
    in_shifted_layouts(&TELLING, moved_pointer, |slurmctld, shift| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&in_three(&cluster));
        let at_table = layout().field("job", "prio_mult").expect("there").offset;
        // SAFETY: inside the record.
        let pointer = || unsafe { job.address.add(at_table).cast::<usize>().read_unaligned() };
        // Whatever slurmctld has there may be null.
        job.put_decoy("prio_mult", std::ptr::null_mut::<u8>());
        slurmctld.begin();
        assert_eq!(pointer(), 0, "nothing of ours is left, {shift:?}");
        let log = slurmctld.log();
        assert!(log.contains(ONE_PRIORITY), "{log}");
    });
}

#[test]
fn sprio_has_an_entry_for_each_partition() {
    let newer = [&SILENT[..], &TELLING].concat();
    in_releases(&newer, |slurmctld| {
        begin(slurmctld);
        let mut parts: Vec<String> = entries(slurmctld, 0).into_iter().map(|entry| entry.partition).collect();
        parts.sort();
        assert_eq!(parts, ["batch", "fast", "long"]);
        end(slurmctld);
    });
}

/// The question about direct priorities has one effect, and waits where it could have none.
#[test]
fn the_lowest_priority_that_slurmctld_knows_of_goes_down_by_one_and_never_below_0() {
    in_releases(&[release(20, 11, 9), release(22, 5, 8), release(26, 5, 5)], |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        set_lowest_priority(0);
        slurmctld.begin();
        assert_eq!(set_lowest_priority(70_000), 0);
        // The next job is as good to ask with.
        slurmctld.add_job(&cluster.running(102, 60));
        slurmctld.cycle();
        let job = slurmctld.add_job(&Job { id: 103, direct: true, ..in_three(&cluster) });
        slurmctld.ask_priority(70_000, job);
        assert_eq!(set_lowest_priority(70_000), 69_999);
        end(slurmctld);
    });
}

//! `priority_p_set` for jobs in several partitions and QOS: where the numbers are, how many, and each of them.

use slurm_fakehost::{all, in_releases, lists, memory, Job, Qos, Record, Slurmctld};

use crate::setup::{assert_changed, end, fill, flags, Cluster, NOW};

/// A job of several partitions, not in the order of their tiers.
fn in_three(cluster: &Cluster) -> Job {
    Job { partitions: vec![cluster.batch, cluster.fast, cluster.long], ..cluster.waiting(101) }
}

/// The array and its bytes, where there is one.
pub fn array(job: Record) -> Option<(Vec<u32>, usize)> {
    let (holder, field) = if job.has("priority_array") {
        (job, "priority_array")
    } else {
        (job.follow(prio_mult(job), "prio_mult")?, "priority_array")
    };
    let address: *mut u8 = holder.get(field);
    if address.is_null() {
        return None;
    }
    let size = memory::block(address).expect("a block of the allocator").size;
    Some((holder.array(field, size / 4), size))
}

fn prio_mult(job: Record) -> &'static str {
    assert!(job.has("prio_mult"), "a release has the one or the other");
    "prio_mult"
}

fn names(list: *mut u8) -> Vec<String> {
    lists::elements(list).into_iter().map(|address| Record { kind: "part", address }.text("name")).collect()
}

fn weigh(slurmctld: &mut Slurmctld, partition: u32, qos: u32) {
    slurmctld.configure("priority_weight_part", partition).configure("priority_weight_qos", qos);
    if slurmctld.plugin.is_loaded() {
        slurmctld.reconfigure(false);
    }
}

#[test]
fn a_job_in_several_partitions_has_a_priority_for_each_by_tier() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld, 1000, 0);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&in_three(&cluster));
        slurmctld.begin();
        // What the cycle has made is as good; here it is made anew, at a submission.
        slurmctld.purge(101);
        let job_again = slurmctld.add_job(&in_three(&cluster));
        assert_ne!(job, job_again);
        let job = job_again;
        let (priority, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
        assert_eq!(priority, 250, "that of the partition of the record");
        assert_eq!(names(job.get("part_ptr_list")), ["fast", "long", "batch"]);
        let (numbers, bytes) = array(job).expect("an array");
        assert_eq!(numbers[..3], [1000, 500, 250]);
        if slurmctld.since(24, 5, 0) {
            assert_eq!(bytes, 12, "slurmctld copies it by its size");
            let several = job.follow("prio_mult", "prio_mult").unwrap();
            assert_eq!(memory::block(several.address).unwrap().size, 24);
            assert_eq!(several.get::<i64>("last_update"), NOW);
            assert_eq!(several.text("priority_array_names"), "fast,long,batch");
            assert_changed(
                &changed,
                &[
                    "job 101: job.prio_mult",
                    "new array of 1 * 24 bytes",
                    "new array of 3 * 4 bytes",
                    "new names of partitions from the host",
                ],
            );
        } else {
            assert_eq!(bytes, 16, "one more than there are partitions");
            assert_changed(&changed, &["job 101: job.priority_array", "new array of 4 * 4 bytes"]);
        }
        // A second time nothing is made and nothing moves.
        let (_, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
        assert_changed(&changed, &[]);
        end(slurmctld);
    });
}

#[test]
fn a_cycle_writes_the_array_too() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld, 1000, 0);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&in_three(&cluster));
        slurmctld.begin();
        assert_eq!(array(job).unwrap().0[..3], [1000, 500, 250]);
        weigh(slurmctld, 2000, 0);
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert_eq!(array(job).unwrap().0[..3], [2000, 1000, 500]);
        let bytes = if slurmctld.since(24, 5, 0) { "array of 3 * 4 bytes" } else { "array of 4 * 4 bytes" };
        assert!(changed.contains(bytes) && changed.contains("job 101: job.priority"), "{changed:?}");
        end(slurmctld);
    });
}

#[test]
fn partitions_times_qos_partition_by_partition() {
    in_releases(&since_24_11(), |slurmctld| {
        weigh(slurmctld, 1000, 100_000);
        let cluster = fill(slurmctld);
        let plain = slurmctld.add_qos(&Qos { id: 8, name: "plain", priority: (0, 0.125), ..Qos::default() });
        let qos = vec![cluster.high, cluster.normal, plain];
        let job = slurmctld.add_job(&Job { qos, ..in_three(&cluster) });
        let only_qos =
            slurmctld.add_job(&Job { id: 102, partitions: vec![cluster.batch], ..of(&cluster, 102) });
        slurmctld.begin();
        // A QOS without a priority has that of the job.
        let expected: Vec<u32> = [1000, 500, 250]
            .into_iter()
            .flat_map(|partition| [100_000, 25_000, 100_000].map(|qos| partition + qos))
            .collect();
        assert_eq!(array(job), Some((expected, 9 * 4)));
        assert_eq!(array(only_qos), Some((vec![100_250, 25_250], 2 * 4)));
        let several = only_qos.follow("prio_mult", "prio_mult").unwrap();
        assert_eq!(several.text("priority_array_names"), "", "there is no list of partitions");
        end(slurmctld);
    });
}

fn of(cluster: &Cluster, id: u32) -> Job {
    Job { qos: vec![cluster.high, cluster.normal], ..cluster.waiting(id) }
}

fn since_24_11() -> Vec<slurm_fakehost::Version> {
    all().into_iter().filter(|release| *release >= slurm_fakehost::release(24, 11, 0)).collect()
}

#[test]
fn the_array_grows_with_the_lists_and_goes_with_them() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld, 1000, 0);
        let cluster = fill(slurmctld);
        let job =
            slurmctld.add_job(&Job { partitions: vec![cluster.fast, cluster.batch], ..cluster.waiting(101) });
        slurmctld.begin();
        assert_eq!(array(job).unwrap().0[..2], [1000, 250]);
        // Two more: beyond the one that older releases have to spare.
        let list: *mut u8 = job.get("part_ptr_list");
        lists::push(list, cluster.long.address);
        lists::push(list, cluster.long.address);
        if slurmctld.since(24, 11, 0) {
            // Kept sorted by the host.
            lists::remove(list, cluster.batch.address);
            lists::push(list, cluster.batch.address);
        }
        slurmctld.ask_priority(0, job);
        let (numbers, bytes) = array(job).unwrap();
        assert_eq!(numbers[..4], [1000, 500, 500, 250]);
        assert_eq!(bytes, if slurmctld.since(24, 5, 0) { 16 } else { 20 });
        // Back to one partition.
        lists::destroy(list);
        job.set("part_ptr_list", std::ptr::null_mut::<u8>());
        let (priority, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
        assert_eq!(priority, 1000);
        if slurmctld.since(24, 5, 0) {
            assert!(job.get::<*mut u8>("prio_mult").is_null());
            assert_changed(
                &changed,
                &[
                    "job 101: job.prio_mult",
                    "freed array of 1 * 24 bytes",
                    "freed array of 4 * 4 bytes",
                    "freed names of partitions from the host",
                ],
            );
        } else {
            assert_changed(&changed, &[]);
        }
        end(slurmctld);
    });
}

#[test]
fn a_partition_that_changed_renews_the_array_from_24_05_on() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld, 1000, 0);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&in_three(&cluster));
        slurmctld.begin();
        let now = slurmctld.advance(60);
        slurmctld.set("last_part_update", NOW + 30);
        let (_, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
        assert_eq!(array(job).unwrap().0[..3], [1000, 500, 250]);
        if slurmctld.since(24, 5, 0) {
            assert!(changed.contains("new array of 3 * 4 bytes"), "{changed:?}");
            assert_eq!(job.follow("prio_mult", "prio_mult").unwrap().get::<i64>("last_update"), now);
        } else {
            assert_changed(&changed, &[]);
        }
        end(slurmctld);
    });
}

#[test]
fn under_incr_only_no_number_of_the_array_falls() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld, 1000, 0);
        slurmctld.configure("priority_flags", flags::INCR_ONLY);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&in_three(&cluster));
        slurmctld.begin();
        for (weight, expected) in
            [(500, [1000, 500, 250]), (2000, [2000, 1000, 500]), (100, [2000, 1000, 500])]
        {
            weigh(slurmctld, weight, 0);
            slurmctld.advance(300);
            slurmctld.cycle();
            assert_eq!(array(job).unwrap().0[..3], expected);
            assert_eq!(job.get::<u32>("priority"), expected[2]);
        }
        end(slurmctld);
    });
}

#[test]
fn tres_count_in_each_partition() {
    in_releases(&all(), |slurmctld| {
        slurmctld.weigh_tres(&[1000.0]);
        let cluster = fill(slurmctld);
        // 4 CPUs of 100, 40 and 20.
        let job = slurmctld.add_job(&in_three(&cluster));
        slurmctld.begin();
        assert_eq!(slurmctld.ask_priority(0, job), 40);
        assert_eq!(array(job).unwrap().0[..3], [100, 200, 40]);
        end(slurmctld);
    });
}

//! What points need to know of jobs and of the cluster, read as the plugin reads it: in every layout, under the locks that protect it.

use std::sync::mpsc;

use multifactor2_core::facts::{Course, Request, TresTotal, UNLIMITED};
use priority_multifactor2::host::checks::Failure;
use priority_multifactor2::host::locks::{spawn, Explained, Unlocked};
use priority_multifactor2::host::views::{self, Wanted};
use priority_multifactor2::host::{groups, Host};
use slurm_fakehost::locks::call;
use slurm_fakehost::memory::{self, Arena};
use slurm_fakehost::{
    all, in_releases, in_shifted_layouts, one_of_each_layout, release, Job, Partition, Shift, Slurmctld,
    NO_VAL,
};

use crate::setup::{fill, NOW};

/// `INFINITE`
const INFINITE: u32 = u32::MAX;
/// `JOB_SUSPENDED`, and the flag `JOB_COMPLETING`.
const SUSPENDED: u32 = 2;
const COMPLETING: u32 = 0x8000;

/// What a thread of the plugin's finds, with the fake slurmctld watching for what it touches without a lock.
fn in_thread<T: Send + 'static>(body: impl FnOnce(&mut Unlocked) -> T + Send + 'static) -> T {
    let host = Host::establish().unwrap_or_else(|error| panic!("{error}"));
    memory::watch_reads();
    call("a thread of the test", "", None, || {
        let (sender, answer) = mpsc::channel();
        let thread = spawn(host, "reader", move |mut unlocked| {
            let _ = sender.send(body(&mut unlocked));
        });
        thread.expect("a thread").join().expect("no panic");
        answer.recv().expect("an answer")
    })
}

/// A request that has outlived its record.
#[derive(Debug, PartialEq)]
struct Known {
    request: Request<'static>,
    tres: Vec<u64>,
}

fn requests(ids: &'static [u32]) -> Vec<Option<Known>> {
    in_thread(|unlocked| {
        let jobs = unlocked.jobs_read();
        let found: Vec<_> = ids.iter().map(|id| jobs.job(*id).expect("the job")).collect();
        let wanted = Wanted {
            size: false,
            tres: false,
            reason: false,
            tickets: false,
            resources: false,
            points: true,
        };
        let mut known = Vec::new();
        views::evaluated_jobs(jobs.host(), wanted).walk(&found, |_, job| {
            known.push(views::request(job, true).map(|request| Known {
                tres: request.tres.to_vec(),
                request: Request { tres: &[], ..request },
            }));
        });
        known
    })
}

fn totals() -> Result<Vec<TresTotal>, Failure> {
    in_thread(|unlocked| unlocked.associations::<Explained>().tres_totals())
}

/// The job of [`add_job`], as it must be read.
fn expected() -> Request<'static> {
    Request {
        nodes: 3,
        cpus: 12,
        memory: 24_000,
        tmp_disk: 512,
        tres: &[],
        group: Some(4321),
        limit: 5400,
        accrue_time: NOW - 100,
        submit_time: NOW - 300,
        start_time: NOW + 500,
        holds: false,
        course: Course { restarts: 3, deadline: NOW + 7200, nice: -7, suspended: false },
    }
}

const TRES: [u64; 5] = [12, 24_000, u64::MAX - 2, 3, 20];

fn add_job(spec: &Job) -> Job {
    Job {
        group_id: 4321,
        tmp_disk: 512,
        limit: 90,
        waits: (NOW - 300, NOW - 200, NOW - 100),
        times: (NOW + 500, 0, 0),
        requested: TRES.to_vec(),
        restarts: 3,
        deadline: NOW + 7200,
        nice: -7,
        ..spec.clone()
    }
}

#[test]
fn a_job_says_what_it_asks_for() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        let endless = slurmctld.add_partition(&Partition {
            name: "endless",
            max_time: INFINITE,
            ..Partition::default()
        });
        let job = |id| add_job(&cluster.waiting(id));
        for spec in [
            job(101),
            Job { limit: NO_VAL, ..job(102) },
            Job { limit: INFINITE, ..job(103) },
            Job { limit: NO_VAL, partitions: vec![endless], ..job(104) },
            Job { limit: NO_VAL, partitions: vec![], ..job(105) },
            Job { without_details: true, ..job(106) },
            Job { state: SUSPENDED, ..job(107) },
            Job { state: 1 | COMPLETING, ..job(108) },
            Job { requested: vec![u64::MAX, u64::MAX - 1, 0, u64::MAX - 2, 0], ..job(109) },
            Job { limit: INFINITE - 2, tmp_disk: u32::MAX, group_id: u32::MAX, ..job(110) },
        ] {
            slurmctld.add_job(&spec);
        }
        let day = 86_400;
        let with = |request: Request<'static>| Some(Known { request, tres: TRES.to_vec() });
        let course = expected().course;
        let found = requests(&[101, 102, 103, 104, 105, 106, 107, 108, 109, 110]);
        assert_eq!(found[0], with(expected()));
        assert_eq!(found[1], with(Request { limit: day, ..expected() }), "that of the partition");
        for unlimited in &found[2..5] {
            assert_eq!(*unlimited, with(Request { limit: UNLIMITED, ..expected() }));
        }
        assert_eq!(found[5], None, "the details are gone");
        assert_eq!(
            found[6],
            with(Request { holds: true, course: Course { suspended: true, ..course }, ..expected() })
        );
        assert_eq!(found[7], with(expected()), "it gives back what it had");
        let nothing = found[8].as_ref().expect("a request");
        assert_eq!((nothing.request.nodes, nothing.request.cpus, nothing.request.memory), (0, 0, 0));
        let largest =
            Request { limit: 60 * (1 << 32) - 180, tmp_disk: u32::MAX, group: Some(u32::MAX), ..expected() };
        assert_eq!(found[9], with(largest));
    });
}

#[test]
fn a_job_whose_tres_were_not_counted_asks_for_none() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&add_job(&cluster.waiting(101)));
        job.set("tres_req_cnt", std::ptr::null_mut::<u8>());
        let request = Request { nodes: 0, cpus: 0, memory: 0, ..expected() };
        assert_eq!(requests(&[101]), [Some(Known { request, tres: Vec::new() })]);
    });
}

#[test]
fn in_a_release_that_was_not_compared_group_disk_requeues_and_deadline_are_not_told() {
    in_releases(&[release(22, 5, 99), release(24, 11, 99), release(26, 5, 99)], |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&add_job(&cluster.waiting(101)));
        let course = Course { restarts: 0, deadline: 0, ..expected().course };
        let request = Request { group: None, tmp_disk: 0, course, ..expected() };
        assert_eq!(requests(&[101]), [Some(Known { request, tres: TRES.to_vec() })]);
    });
}

fn total(kind: &str, name: &str, count: u64) -> TresTotal {
    TresTotal { kind: kind.to_owned(), name: name.to_owned(), count }
}

fn name_tres(slurmctld: &mut Slurmctld) {
    slurmctld.tres_names(&["cpu", "mem", "gres/gpu", "gres/gpu:a100", "fs/lustre/home"]);
    slurmctld.tres_totals(&[200, 1 << 40, 16, 0, u64::MAX]);
}

#[test]
fn the_cluster_says_how_much_it_has_of_each_tres() {
    in_releases(&all(), |slurmctld| {
        name_tres(slurmctld);
        let mut all = vec![
            total("cpu", "", 200),
            total("mem", "", 1 << 40),
            total("gres", "gpu", 16),
            total("gres", "gpu:a100", 0),
            total("fs", "lustre/home", u64::MAX),
        ];
        let (found, changed) = slurmctld.changes(|_| totals());
        assert_eq!(found.as_ref(), Ok(&all));
        assert!(changed.is_empty(), "{changed:?}");

        // The database has taken some away; slurmctld's own number of them stays.
        slurmctld.set("slurmctld_tres_cnt", 7_i32);
        assert_eq!(totals(), Ok(all.clone()));
        // And some were added.
        slurmctld.set("slurmctld_tres_cnt", 3_i32);
        all.truncate(3);
        assert_eq!(totals(), Ok(all));
        slurmctld.set("assoc_mgr_tres_array", std::ptr::null_mut::<u8>());
        assert_eq!(totals(), Ok(Vec::new()));
    });
}

#[test]
fn what_is_no_record_of_a_tres_is_an_error() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        name_tres(slurmctld);
        let array: *mut *mut u8 = slurmctld.get("assoc_mgr_tres_array");
        let text = memory::text(Arena::Common, "a text", "shorter");
        for nothing in [std::ptr::null_mut(), 0x1000 as *mut u8, text, usize::MAX as *mut u8] {
            slurmctld.tres_names(&["cpu", "mem"]);
            let array: *mut *mut u8 = slurmctld.get("assoc_mgr_tres_array");
            // SAFETY: of two.
            unsafe { array.add(1).write(nothing) };
            let why = totals().unwrap_err().to_string();
            assert!(why.contains("does not match the layout") && why.contains("a TRES"), "{why}");
        }
        slurmctld.set("assoc_mgr_tres_array", array.wrapping_byte_add(4));
        let why = totals().unwrap_err().to_string();
        assert!(why.contains("the TRES are not in an array"), "{why}");
    });
}

#[test]
fn a_count_that_was_moved_is_missed() {
    in_shifted_layouts(
        &one_of_each_layout(),
        |_| [-16, -8, 8, 16, 24].map(|bytes| Shift { record: "tres", field: "count", bytes }).into(),
        |slurmctld, _| {
            name_tres(slurmctld);
            let why = totals().unwrap_err().to_string();
            assert!(why.contains("slurmctld keeps the count of a TRES elsewhere"), "{why}");
        },
    );
}

#[test]
fn a_tres_of_another_size_is_an_error() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        slurm_fakehost::pad("tres", 8);
        name_tres(slurmctld);
        let why = totals().unwrap_err().to_string();
        assert!(why.contains("a TRES has 56 bytes, 48 expected"), "{why}");
    });
}

#[test]
fn a_group_is_found_with_no_lock_held() {
    in_releases(&[release(22, 5, 8)], |_slurmctld| {
        let find = |name: &'static str| in_thread(move |unlocked| groups::number_of(unlocked, name));
        assert_eq!(find("root").expect("the system's groups"), Some(0));
        assert_eq!(find("17").expect("a number"), Some(17));
        assert_eq!(find("no such group").expect("an answer"), None);
    });
}

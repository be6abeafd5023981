//! What accountings of real sites have in them: one test a row, each with the line and what is done with it.

use multifactor2_replay::sim::{Parameters, Scheduler, Treatments};
use multifactor2_replay::trace::parse;
use multifactor2_replay::trace::problems::ProblemKind;
use multifactor2_replay::trace::reasons::Treatment;
use multifactor2_replay::workload::{Fact, Machine, NO_TIME};
use multifactor2_replay::Workload;

const COLUMNS: &str =
    "Cluster|JobIDRaw|User|Account|Partition|Submit|Eligible|Start|End|Timelimit|AllocTRES|State|Reason|Flags";

const NOON: i64 = 1_706_702_400;

/// A line of sacct; times in seconds after noon, empty ones are `Unknown`.
fn line(id: u32, partition: &str, times: [Option<i64>; 4], tres: &str, state: &str) -> String {
    let shown = times.map(|time| time.map_or_else(|| "Unknown".to_owned(), |time| (NOON + time).to_string()));
    format!("one|{id}|ada|bio|{partition}|{}|01:00:00|{tres}|{state}|Priority|SchedMain\n", shown.join("|"))
}

/// A job that was submitted at noon, could start a minute later, started two minutes later and ran ten minutes.
fn plain(id: u32) -> String {
    line(id, "main", [Some(0), Some(60), Some(120), Some(720)], "cpu=4", "COMPLETED")
}

/// One good job, then the lines from line 3 on.
fn read(lines: &str) -> Workload {
    parse(format!("{COLUMNS}\n{}{lines}", plain(1)).as_bytes(), "sacct.txt").unwrap()
}

/// So many jobs are replayed, and the problem is told with this text.
#[track_caller]
fn told(workload: &Workload, jobs: usize, kind: ProblemKind, count: u64, first: &str) {
    assert_eq!(workload.jobs.len(), jobs, "{}", workload.problems);
    assert_eq!(workload.problems.of(kind), count, "{}", workload.problems);
    let text = workload.problems.to_string();
    assert!(text.contains(first), "{first:?} is not in {text}");
}

#[test]
fn a_job_that_ends_before_it_starts_is_skipped() {
    let workload = read(&line(2, "main", [Some(0), Some(0), Some(100), Some(50)], "cpu=4", "FAILED"));
    told(
        &workload,
        1,
        ProblemKind::EndBeforeStart,
        1,
        "sacct.txt, line 3: job 2: from 1706702500 to 1706702450",
    );
}

#[test]
fn a_job_that_starts_before_it_is_submitted_is_replayed_without_its_start() {
    let workload = read(&line(2, "main", [Some(100), Some(100), Some(50), Some(650)], "cpu=4", "COMPLETED"));
    told(
        &workload,
        2,
        ProblemKind::StartBeforeSubmit,
        1,
        "sacct.txt, line 3: job 2: submitted 1706702500, started 1706702450",
    );
    let job = workload.jobs.iter().find(|job| job.id == 2).unwrap();
    assert_eq!((job.start, job.run), (NO_TIME, 600));
    assert_eq!(workload.problems.skipped(), 0);
}

#[test]
fn a_submission_before_1990_or_in_the_future_is_skipped() {
    let early = line(2, "main", [Some(-1_100_000_000), Some(0), Some(100), Some(700)], "cpu=4", "COMPLETED");
    let late = line(3, "main", [Some(3_000_000_000); 4], "cpu=4", "COMPLETED");
    let workload = read(&(early + &late));
    told(&workload, 1, ProblemKind::ImpossibleTime, 2, "sacct.txt, line 3: job 2: Submit is 606702400");
    assert!(
        workload.problems.to_string().contains("line 4: job 3: Submit is 4706702400"),
        "{}",
        workload.problems
    );
}

#[test]
fn a_duplicate_is_skipped_wherever_it_stands() {
    let workload = read(&(plain(2) + &plain(3) + &plain(2)));
    told(&workload, 3, ProblemKind::Duplicate, 1, "sacct.txt, line 5: job 2");
}

/// Exports of months overlap: the first has the job running, the second has its end.
#[test]
fn of_a_job_that_ran_between_two_exports_the_end_counts() {
    let running = line(2, "main", [Some(0), Some(60), Some(120), None], "cpu=4", "RUNNING");
    let workload = read(&(running + &plain(3) + &plain(2)));
    told(&workload, 3, ProblemKind::Duplicate, 1, "sacct.txt, line 5: job 2");
    assert_eq!(workload.jobs.iter().map(|job| job.run).collect::<Vec<_>>(), [600; 3]);
}

/// The same where the first export has it waiting: it is none that never started.
#[test]
fn a_job_that_waited_at_the_end_of_an_export_has_started_in_the_next() {
    let waiting = line(2, "main", [Some(0), Some(60), None, None], "", "PENDING");
    let other = line(3, "main", [Some(0), Some(60), None, None], "", "PENDING");
    let workload = read(&(waiting + &other + &plain(2)));
    told(&workload, 2, ProblemKind::NeverStarted, 1, "sacct.txt, line 4: job 3 (PENDING)");
}

#[test]
fn gpus_are_counted_by_type_where_there_is_no_sum() {
    let of = |tres: &str| {
        read(&line(2, "main", [Some(1), Some(60), Some(120), Some(720)], tres, "COMPLETED")).jobs[1].gpus
    };
    assert_eq!(of("cpu=4,gres/gpu:a100=2,gres/gpu:h100=1"), 3);
    assert_eq!(of("cpu=4,gres/gpu=2,gres/gpu:a100=2"), 2);
}

#[test]
fn jobs_of_a_partition_that_is_gone_are_named() {
    let times = [Some(0), Some(60), Some(120), Some(3720)];
    let mut workload = read(
        &(line(2, "old", times, "cpu=4", "COMPLETED")
            + &line(3, "old", times, "cpu=4", "COMPLETED")
            + &line(4, "old,main", times, "cpu=4", "COMPLETED")),
    );
    let mut machine = Machine::default();
    machine.add_partition("main=8").unwrap();
    machine.add_partition("big=64").unwrap();
    workload.leave_out_gone(&machine);
    told(
        &workload,
        2,
        ProblemKind::GonePartition,
        2,
        "sacct.txt, line 3: partition old: 2 jobs, 8 CPU hours",
    );
    // One partition takes all jobs.
    let mut workload = read(&line(2, "old", times, "cpu=4", "COMPLETED"));
    workload.leave_out_gone(&Machine::of_procs(8));
    assert_eq!(workload.jobs.len(), 2);
}

#[test]
fn of_two_clusters_in_a_file_the_first_is_replayed() {
    let workload = read(&plain(2).replace("one|", "two|"));
    told(
        &workload,
        1,
        ProblemKind::OtherCluster,
        1,
        "sacct.txt, line 3: job 2 of two; those of one are replayed",
    );
}

#[test]
fn reason_flags_and_line_of_a_job_are_kept() {
    let workload = read(&plain(2));
    let job = workload.jobs[1];
    assert_eq!(
        (job.line, workload.reasons.name(u32::from(job.reason)), workload.flags.name(u32::from(job.flags))),
        (3, "Priority", "SchedMain")
    );
}

/// Parts of heterogeneous jobs and preemptions are counted, as no replay follows them.
#[test]
fn what_no_replay_follows_is_counted() {
    let times = [Some(0), Some(0), Some(100), Some(700)];
    let with_id = |line: String, id: &str| format!("{}|{id}\n", line.trim_end());
    let lines = [
        with_id(plain(1), "1"),
        with_id(line(2, "main", times, "cpu=4", "PREEMPTED"), "2"),
        with_id(line(3, "main", times, "cpu=4", "COMPLETED"), "2+1"),
    ];
    let text = format!("{COLUMNS}|JobID\n{}", lines.concat());
    let workload = parse(text.as_bytes(), "sacct.txt").unwrap();
    let has = |fact: Fact| workload.jobs.iter().filter(|job| job.facts.has(fact)).count();
    assert_eq!(
        (workload.jobs.len(), has(Fact::Preempted), has(Fact::Het)),
        (3, 1, 1),
        "{:?}",
        workload.problems
    );
    let machine = Machine::of_procs(8);
    let scheduler = Scheduler::Slurm(Parameters::default());
    let treatments = Treatments::new(&workload, &machine, &scheduler);
    assert_eq!([Fact::Preempted, Fact::Het].map(|fact| treatments.fact(fact)), [Treatment::LeftOut; 2]);
}

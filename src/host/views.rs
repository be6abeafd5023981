//! Reads facts from records, and declares once which fields each takes. The same declaration tells a walk what to fetch in advance.

use multifactor2_accounting::charge::JobTimes;
use multifactor2_core::factors::NICE_OFFSET;
use multifactor2_core::facts::{
    self, Association as AssociationFacts, Course, Job as JobFacts, JobSize, Request, UNLIMITED,
};

use super::access::Open;
use super::constants::{INFINITE, TRES_ARRAY_CPU, TRES_ARRAY_MEM, TRES_ARRAY_NODE};
use super::layout::{AssocLayout, JobLayout};
use super::long_double;
use super::prefetch::Touched;
use super::records::{Job, JobState, Partition, Qos, Record};
use super::Host;

/// Declares a function that reads facts from a record, and one that adds what it touches to a [`Touched`]. Facts `behind` a pointer are in
/// the record that it leads to; without one there are no facts. A `computed` one is not fetched ahead.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $vis:vis $read:ident, $touch:ident: $layout:ident of $kind:ident => $facts:ident {
            $($fact:ident: $field:ident $(=> $convert:expr)?,)*
        }
    ) => {
        $(#[$doc])*
        $vis fn $read<A: Open>(record: Record<'_, $layout, A>) -> $facts {
            $facts { $($fact: view!(@value record.get(|record| record.$field) $(, $convert)?),)* }
        }

        fn $touch(host: &Host, touched: &mut Touched) {
            let layout = &host.layout.$kind;
            $(touched.field(layout.$field);)*
        }
    };
    (
        $(#[$doc:meta])*
        $vis:vis $read:ident, $touch:ident: $layout:ident of $kind:ident => $facts:ident $(<$lifetime:lifetime>)? {
            $($fact:ident: $field:ident $(=> $convert:expr)?,)*
        }
        behind $pointer:ident of $inner:ident {
            $($inner_fact:ident: $inner_field:ident,)*
        }
        $(computed { $($computed:ident: $value:expr,)* })?
    ) => {
        $(#[$doc])*
        $vis fn $read<A: Open>(record: Record<'_, $layout, A>) -> Option<$facts $(<$lifetime>)?> {
            let $pointer = record.$pointer()?;
            Some($facts {
                $($fact: view!(@value record.get(|record| record.$field) $(, $convert)?),)*
                $($inner_fact: $pointer.get(|inner| inner.$inner_field),)*
                $($($computed: $value(record.read_only()),)*)?
            })
        }

        fn $touch(host: &Host, touched: &mut Touched) {
            let layout = &host.layout.$kind;
            $(touched.field(layout.$field);)*
            $(touched.behind(&[layout.$pointer.offset()], host.layout.$inner.$inner_field);)*
        }
    };
    (@value $value:expr) => { $value };
    (@value $value:expr, $convert:expr) => { $convert($value) };
}

view! {
    /// What a priority needs of every job; `None` where slurmctld has dropped its details.
    pub job, touch_job: JobLayout of job => JobFacts {
        id: job_id,
        priority: priority,
        direct: direct_set_prio => |set| set != 0,
        site: site_factor,
    }
    behind details of details {
        nice: nice,
        accrue_time: accrue_time,
    }
}

view! {
    /// The size of a job.
    pub size, touch_size: JobLayout of job => JobSize {
        total_cpus: total_cpus,
        time_limit: time_limit,
    }
    behind details of details {
        max_cpus: max_cpus,
        min_cpus: min_cpus,
        min_nodes: min_nodes,
    }
    computed {
        partition_max_time: |job: Job<'_>| job.partition().map(|part| part.get(|part| part.max_time)),
    }
}

view! {
    /// The times of a job that is charged.
    pub times, touch_times: JobLayout of job => JobTimes {
        start: start_time,
        end: end_time,
        expected_end: end_time_exp,
        limit: time_limit,
        over: job_state => |state| {
            let state = JobState(state);
            state.is_finished() || state.is_completing() || state.is_resizing()
        },
    }
}

view! {
    /// As the record has it, also where nothing says that it is right.
    recorded_request, touch_request: JobLayout of job => Request<'_> {
        group: group_id => Some,
        start_time: start_time,
        holds: job_state => |state| JobState(state).holds_resources(),
    }
    behind details of details {
        tmp_disk: pn_min_tmp_disk,
        accrue_time: accrue_time,
        submit_time: submit_time,
    }
    computed {
        course: |_: Job<'_>| Course::default(),
        nodes: |job: Job<'_>| requested(job, TRES_ARRAY_NODE),
        cpus: |job: Job<'_>| requested(job, TRES_ARRAY_CPU),
        memory: |job: Job<'_>| requested(job, TRES_ARRAY_MEM),
        tres: all_requested,
        limit: |job: Job<'_>| seconds_of_limit(job.limit_in_minutes()),
    }
}

fn seconds_of_limit(minutes: u32) -> u64 {
    match minutes {
        INFINITE => UNLIMITED,
        minutes => 60 * u64::from(minutes),
    }
}

/// The longest time limit of a partition in seconds, for a job that has no limit.
pub fn limit_of(partition: Partition<'_>) -> u64 {
    seconds_of_limit(partition.get(|part| part.max_time))
}

fn all_requested(job: Job<'_>) -> &[u64] {
    job.tres_requested().unwrap_or_default()
}

fn requested(job: Job<'_>, at: usize) -> u64 {
    all_requested(job).get(at).copied().map_or(0, facts::amount)
}

/// What a job asks for, and since when it waits or runs; `None` where slurmctld has dropped its details. With `course` also what has become of
/// it. Its group, its temporary disk, its deadline and how often it was requeued are told only in a release that was compared with its headers.
pub fn request<A: Open>(job: Job<'_, A>, course: bool) -> Option<Request<'_>> {
    let request = recorded_request(job)?;
    let request = if course { Request { course: course_of(job), ..request } } else { request };
    if job.host().verified {
        return Some(request);
    }
    let course = Course { restarts: 0, deadline: 0, ..request.course };
    Some(Request { group: None, tmp_disk: 0, course, ..request })
}

fn course_of<A: Open>(job: Job<'_, A>) -> Course {
    let nice = job.details().map_or(NICE_OFFSET, |details| details.get(|details| details.nice));
    Course {
        restarts: job.get(|job| job.restart_cnt).into(),
        deadline: job.get(|job| job.deadline),
        nice: i64::from(nice) - i64::from(NICE_OFFSET),
        suspended: job.state().is_suspended(),
    }
}

view! {
    /// An association, as the share tree sees it.
    pub association, touch_association: AssocLayout of assoc => AssociationFacts {
        id: id,
        shares: shares_raw,
        user: user => |user: *mut u8| !user.is_null(),
    }
}

/// A partition.
pub fn partition(partition: Partition<'_>) -> facts::Partition {
    facts::Partition {
        priority_job_factor: u32::from(partition.get(|part| part.priority_job_factor)),
        norm_priority: partition.get(|part| part.norm_priority),
    }
}

/// A QOS.
pub fn qos<A: Open>(qos: Qos<'_, A>) -> facts::Qos {
    facts::Qos {
        priority: qos.get(|qos| qos.priority),
        norm_priority: qos.usage().map_or(0.0, |usage| usage.get(|u| u.norm_priority)),
        usage_threshold: qos.get(|qos| qos.usage_thres),
    }
}

/// The TRES of a job, in a partition.
pub fn tres<'a, A: Open>(job: Job<'a, A>, partition: Option<Partition<'a>>) -> facts::Tres<'a> {
    facts::Tres {
        allocated: job.tres_allocated(),
        requested: job.tres_requested(),
        of_partition: partition.and_then(Partition::tres),
    }
}

/// What a walk over jobs touches that looks only whether they are there.
pub fn job_id(host: &Host) -> Touched {
    let mut touched = Touched::new();
    touched.field(host.layout.job.job_id);
    touched
}

/// What is read of every job that its priority may not need.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is another part of the record
pub struct Wanted {
    /// Its size has a weight.
    pub size: bool,
    /// TRES have weights.
    pub tres: bool,
    /// Why it waits.
    pub reason: bool,
    /// It has separate tickets.
    pub tickets: bool,
    /// These depend on what it requests or has.
    pub resources: bool,
    /// It gets points, for what it asks for and has waited.
    pub points: bool,
}

/// What a walk over jobs touches that reads all that their priorities need.
pub fn evaluated_jobs(host: &Host, wanted: Wanted) -> Touched {
    let Wanted { size, tres, reason, tickets, resources, points } = wanted;
    let layout = &host.layout.job;
    let mut touched = Touched::new();
    touch_job(host, &mut touched);
    if size {
        touch_size(host, &mut touched);
    }
    if tickets {
        touched.field(layout.het_job_id).behind(&[layout.details.offset()], host.layout.details.begin_time);
    }
    if resources {
        touched.field(layout.time_limit).field(layout.end_time);
    }
    if points {
        touch_request(host, &mut touched);
        touched.field(layout.time_limit);
    }
    let allocated = (tres || resources).then_some(layout.tres_alloc_cnt);
    let requested = (tres || resources || points).then_some(layout.tres_req_cnt);
    for counts in [allocated, requested].into_iter().flatten() {
        touched.tres(&[counts.offset()], host.tres_count(), size_of::<u64>());
    }
    if reason {
        touched.field(layout.state_reason);
    }
    // Who is meant, and what tells jobs of one kind from those of another.
    touched.field(layout.job_state).field(layout.assoc_ptr).field(layout.assoc_id);
    touched.field(layout.part_ptr).field(layout.part_ptr_list).field(layout.qos_ptr);
    touched
}

/// What a submission reads of most jobs.
pub fn submitted_job(host: &Host) -> Touched {
    let none =
        Wanted { size: false, tres: false, reason: false, tickets: false, resources: false, points: false };
    evaluated_jobs(host, Wanted { size: true, ..none })
}

/// What a walk over jobs touches that reads all that a snapshot has.
pub fn jobs_of_snapshot(host: &Host) -> Touched {
    let all = Wanted { size: true, tres: true, reason: true, tickets: true, resources: true, points: true };
    let layout = &host.layout.job;
    let mut touched = evaluated_jobs(host, all);
    touched.field(layout.array_job_id).field(layout.resv_name).field(layout.wckey).field(layout.start_time);
    touched.behind(&[layout.details.offset()], host.layout.details.submit_time);
    touched
}

/// What a walk over jobs touches that writes priorities.
pub fn written_jobs(host: &Host) -> Touched {
    let layout = &host.layout.job;
    let mut touched = Touched::new();
    touched.field(layout.job_id).field(layout.job_state).field(layout.priority).field(layout.direct_set_prio);
    touched
}

/// What a walk touches that charges running jobs, and what leads from there up the tree; with `own` also what our own sums of usage need.
pub fn charged_jobs(host: &Host, own: bool) -> Touched {
    let layout = &host.layout;
    let mut touched = Touched::new();
    touch_times(host, &mut touched);
    touched.field(layout.job.job_id).field(layout.job.qos_ptr).field(layout.job.part_ptr);
    if own {
        touched.field(layout.job.group_id);
    }
    touched.tres(&[layout.job.tres_alloc_cnt.offset()], host.tres_count(), size_of::<u64>());
    let usage = [layout.job.assoc_ptr.offset(), layout.assoc.usage.offset()];
    touched.behind(&usage, layout.assoc_usage.parent_assoc_ptr).may_be_stale(layout.job.assoc_ptr);
    touched
}

/// What a walk over associations touches that reads shares and usage.
pub fn shares_and_usage(host: &Host) -> Touched {
    let usage = [host.layout.assoc.usage.offset()];
    let mut touched = Touched::new();
    touch_association(host, &mut touched);
    touched.behind(&usage, host.layout.assoc_usage.parent_assoc_ptr);
    touched.behind(&usage, host.layout.assoc_usage.usage_raw);
    touched
}

/// What a walk over associations touches that writes what `sshare` shows.
pub fn shown_associations(host: &Host) -> Touched {
    let (path, usage) = ([host.layout.assoc.usage.offset()], &host.layout.assoc_usage);
    let mut touched = Touched::new();
    touched.field(host.layout.assoc.id);
    touched.behind(&path, usage.shares_norm).behind(&path, usage.fs_factor);
    for shown in [usage.usage_norm, usage.usage_efctv, usage.level_fs] {
        touched.behind(&path, shown);
    }
    touched
}

/// What a walk over associations touches that decays their usage.
pub fn decayed_associations(host: &Host) -> Touched {
    let mut touched = usage(host);
    if let Some(leaf) = host.layout.assoc.leaf_usage {
        touched.field(leaf);
    }
    touched
}

/// What a walk over associations touches that posts charges.
pub fn posted_associations(host: &Host) -> Touched {
    let path = [host.layout.assoc.usage.offset(), host.layout.assoc_usage.grp_used_tres_run_secs.offset()];
    let mut touched = usage(host);
    touched.tres(&path, host.tres_count(), size_of::<u64>());
    touched
}

/// Usage of associations, in all of its forms.
fn usage(host: &Host) -> Touched {
    let (path, usage) = ([host.layout.assoc.usage.offset()], &host.layout.assoc_usage);
    let mut touched = Touched::new();
    touched.behind(&path, usage.usage_raw).behind(&path, usage.grp_used_wall);
    touched.tres(&[path[0], usage.usage_tres_raw.offset()], host.tres_count(), long_double::BYTES);
    touched
}

//! Turns the records of a snapshot into the facts of jobs that the engine takes.

use std::collections::HashMap;

use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::factors::NICE_OFFSET;
use multifactor2_core::facts::{
    self, Course, Job as JobFacts, JobSize, Obstacle, Request, Tres as TresFacts, NO_VAL, UNLIMITED,
};
use multifactor2_core::policy::pools::{JobNames, SizeFacts};
use multifactor2_core::settings::{value::Date, ActiveJobs, Settings};
use multifactor2_snapshot::records::{Job, Partition, Qos, Running};
use multifactor2_snapshot::Snapshot;
use slurm_text::dates::{self, TimeZone};

use super::closed::Closed;
use super::points::Book;
use super::reasons::obstacle;
use super::{Config, Tree};

/// A limit that is none, as Slurm stores it.
const INFINITE: u32 = u32::MAX;

/// What facts are read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks<'m> {
    pub snapshot: &'m Snapshot,
    pub config: &'m Config,
    pub tree: &'m Tree,
    pub at: i64,
    /// Who competes is worked out anew.
    pub anew: bool,
    /// Where hindered jobs wait.
    pub closed: &'m Closed,
    /// What gives points, where they are computed here.
    pub points: Option<&'m Book>,
}

/// Records by their names.
#[derive(Debug)]
pub(super) struct ByName<'m> {
    partitions: HashMap<&'m str, &'m Partition>,
    qos: HashMap<&'m str, &'m Qos>,
}

impl<'m> ByName<'m> {
    pub fn of(snapshot: &'m Snapshot) -> Self {
        Self {
            partitions: snapshot
                .partitions
                .iter()
                .map(|partition| (partition.name.as_str(), partition))
                .collect(),
            qos: snapshot.qos.iter().map(|qos| (qos.name.as_str(), qos)).collect(),
        }
    }

    pub fn partition(&self, name: &str) -> Option<&'m Partition> {
        self.partitions.get(name).copied()
    }

    pub fn qos(&self, name: &str) -> Option<&'m Qos> {
        self.qos.get(name).copied()
    }
}

/// A site factor or nice value as the engine takes it.
pub(super) fn shifted(value: i64) -> u32 {
    let value = value.clamp(-i64::from(i32::MAX), i64::from(i32::MAX));
    u32::try_from(value + i64::from(NICE_OFFSET)).unwrap_or(NICE_OFFSET)
}

impl<'m> Looks<'m> {
    /// Whether each job takes part in the competition.
    pub fn who_competes(&self) -> Vec<bool> {
        self.snapshot.jobs.iter().map(|job| self.competes(job)).collect()
    }

    /// Whether a cap keeps a job from starting: worked out anew, as the plugin told, or by what slurmctld says that it waits for.
    pub fn is_stopped(&self, job: &Job) -> bool {
        match self.points {
            Some(points) if self.anew => points.is_stopped(self, job),
            _ if self.snapshot.about.source == "plugin" => job.stopped,
            _ => {
                let stops = self.config.settings.as_ref().is_some_and(Settings::caps_stop);
                stops && obstacle(&job.reason) == Some(Obstacle::Threshold)
            }
        }
    }

    fn competes(&self, job: &Job) -> bool {
        if self.is_stopped(job) {
            return false;
        }
        if self.anew {
            return self.takes_part(job, self.is_eligible(job));
        }
        // Its time comes until then.
        let begins = job.eligible > self.snapshot.about.time && job.eligible <= self.at;
        let competes = job.competes || begins && job.priority != 0;
        // sprio shows who is eligible, a snapshot of the plugin says who takes part.
        if matches!(self.snapshot.about.source.as_str(), "commands" | "files") {
            self.takes_part(job, competes)
        } else {
            competes
        }
    }

    /// Whether a job takes part by `ActiveJobs`, as far as it is eligible.
    fn takes_part(&self, job: &Job, is_eligible: bool) -> bool {
        match self.config.settings.as_ref().map_or(ActiveJobs::Eligible, |settings| settings.active_jobs) {
            ActiveJobs::Pending => true,
            ActiveJobs::Eligible => is_eligible,
            ActiveJobs::Startable => match obstacle(&job.reason) {
                // Until its reservation begins a job has no time from which on it is eligible.
                Some(Obstacle::Reservation) => is_eligible || job.priority != 0 && job.eligible == 0,
                // Whether a cap stops it has been asked before.
                Some(Obstacle::Threshold)
                    if self.config.settings.as_ref().is_some_and(Settings::caps_stop) =>
                {
                    is_eligible
                }
                obstacle => is_eligible && !matches!(obstacle, Some(Obstacle::Other | Obstacle::Threshold)),
            },
        }
    }

    /// Whether a job may be started: not held, and its time has come.
    pub fn is_eligible(&self, job: &Job) -> bool {
        job.priority != 0 && job.eligible != 0 && job.eligible <= self.at
    }

    pub fn job(job: &Job) -> JobFacts {
        JobFacts {
            id: job.id,
            priority: job.priority,
            direct: job.direct,
            site: shifted(job.site),
            nice: shifted(job.nice),
            accrue_time: job.accrue,
        }
    }

    pub fn size(job: &Job, partition: Option<&Partition>) -> JobSize {
        JobSize {
            total_cpus: job.size_cpus,
            // What counts is known.
            max_cpus: 0,
            min_cpus: 0,
            min_nodes: job.nodes,
            time_limit: job.limit.unwrap_or(NO_VAL),
            partition_max_time: partition.map(|partition| partition.max_time.unwrap_or(INFINITE)),
        }
    }

    pub fn partition(partition: &Partition) -> facts::Partition {
        facts::Partition {
            priority_job_factor: partition.job_factor,
            norm_priority: partition.job_factor_norm,
        }
    }

    pub fn qos(qos: &Qos) -> facts::Qos {
        facts::Qos {
            priority: qos.priority,
            norm_priority: qos.priority_norm,
            usage_threshold: qos.usage_threshold.unwrap_or(f64::from(NO_VAL)),
        }
    }

    pub fn tres<'a>(job: &'a Job, partition: Option<&'a Partition>) -> TresFacts<'a> {
        TresFacts {
            allocated: None,
            requested: Some(&job.tres),
            of_partition: partition.map(|partition| partition.tres.as_slice()),
        }
    }

    /// The place of a TRES in all lists.
    pub fn tres_at(&self, name: &str) -> Option<usize> {
        self.snapshot.tres.iter().position(|tres| tres.name.eq_ignore_ascii_case(name))
    }

    /// Minutes that a job may run; `None` without a limit.
    pub fn minutes(job: &Job, partition: Option<&Partition>) -> Option<u32> {
        let limit = job.limit.or_else(|| partition.and_then(|partition| partition.max_time));
        limit.filter(|minutes| *minutes < NO_VAL)
    }

    pub fn size_facts(&self, job: &Job, partition: Option<&Partition>) -> SizeFacts {
        let count = |name| {
            let at = self.tres_at(name);
            at.and_then(|at| job.tres.get(at)).copied().map_or(0, facts::amount)
        };
        SizeFacts {
            cpus: count("cpu"),
            billing: count("billing"),
            minutes_left: Self::minutes(job, partition).map(f64::from),
        }
    }

    /// What a job asks for, as points weigh it.
    pub fn request<'a>(&self, job: &'a Job, partition: Option<&Partition>) -> Request<'a> {
        let count = |name, or: u64| {
            let amount = self.tres_at(name).and_then(|at| job.tres.get(at)).copied();
            amount.map_or(or, facts::amount)
        };
        Request {
            nodes: count("node", u64::from(job.nodes)),
            cpus: count("cpu", u64::from(job.cpus)),
            memory: count("mem", 0),
            tmp_disk: job.tmp_disk,
            tres: &job.tres,
            group: job.group,
            limit: Self::minutes(job, partition).map_or(UNLIMITED, |minutes| 60 * u64::from(minutes)),
            accrue_time: job.accrue,
            submit_time: job.submit,
            start_time: job.start,
            holds: false,
            course: Course {
                restarts: job.restarts,
                deadline: job.deadline,
                nice: job.nice,
                suspended: false,
            },
        }
    }

    /// The book of the partition that a job is in, or was tried in last.
    pub fn book_of(&self, job: &Job) -> BookAt {
        self.book_in(job, &job.partition)
    }

    /// The book in which a job is in a partition.
    pub fn book_in(&self, job: &Job, partition: &str) -> BookAt {
        if self.closed.partitions.is_empty() || !self.competes(job) {
            return self.config.books.of_partition(partition);
        }
        self.closed.book(self.config, job, partition)
    }

    /// Those of all of its partitions.
    pub fn books_of(&self, job: &Job) -> BookSet {
        let partitions = std::iter::once(&job.partition).chain(&job.partitions);
        let books = partitions.map(|name| BookSet::one(self.book_in(job, name)));
        books.fold(BookSet::from_numbers([]), BookSet::and)
    }

    /// What a job is called in a book, as override tickets look at it.
    pub fn names(&self, job: &'m Job, book: BookAt) -> JobNames<'m> {
        let in_book = |name: &&String| self.book_in(job, name) == book;
        let first = job.partitions.iter().find(in_book);
        let first = first.or_else(|| job.partitions.first()).unwrap_or(&job.partition);
        let task = job.array_tasks.parse().ok();
        JobNames {
            partition: first,
            qos: &job.qos,
            wckey: job.wckey.trim_start_matches('*'),
            id: job.id,
            array: (job.array_job != 0).then_some((job.array_job, task)),
            own: job.own_tickets,
        }
    }

    /// The same of jobs that run.
    pub fn names_of_running(running: &'m Running) -> JobNames<'m> {
        JobNames {
            partition: &running.partition,
            qos: &running.qos,
            wckey: running.wckey.trim_start_matches('*'),
            own: running.own_tickets,
            ..JobNames::default()
        }
    }

    /// The time, in the user's zone, as dates of settings are compared with it.
    pub fn date(&self) -> Date {
        dates::date(self.at, &TimeZone::system())
    }
}

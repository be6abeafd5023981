//! Points: the priority function of Maui, as a term that is added to the site factor of a job.
//!
//! P = Σ W · min(cap, Σ w · min(cap, value)) over components and their parts (Maui Administrator's Guide, 5.1.2), times `PointsWeight`,
//! rounded half away from zero, and limited to `±PointsCap`. Each component is one file behind the trait [`Component`].
//!
//! Without lines of points none of this runs: see [`Points::configured`]. [`Points::learn`] and [`Points::weigh`] look up all that is the
//! same for many jobs, so that [`Points::value`] hashes and allocates nothing.

mod associations;
mod beyond;
mod component;
mod in_books;
mod job;
mod learning;
mod lines;
mod listing;
mod measure;
mod named;
mod reader;
mod steps;
mod tables;
mod target_usage;
mod terms;

use std::collections::HashMap;

use self::associations::{Associations, Lines};
use self::component::{Component, ComponentLine, Ground};
use self::in_books::BookTargets;
use self::lines::LineKind;
use self::named::NamedLines;
use self::steps::Steps;
use self::tables::{Object, Objects};
use self::terms::{amount, least, weight};
use crate::policy::pools::Named;
use crate::rules::targets::NO_CAP;
use crate::settings::{self, ComponentKind, Settings};
use crate::ties::settled;

pub use beyond::Beyond;
pub(crate) use job::GroupAt;
pub use job::{expansion_factor, JobState, Needs, PartitionAt, PointsJob, QosAt, Request};
pub use listing::{Listed, TargetStanding, Whose};
pub use measure::{Range, Ranges};
pub use reader::{number, Facts as JobFacts, Reader};
pub use resources::processor_equivalents;
pub use target_usage::TargetUsage;
pub use targets::Curve;

/// The largest `UsageThreshold` of a QOS by which slurmctld keeps jobs beyond a cap from starting. A site with a larger one uses it for
/// something else.
pub const LARGEST_THRESHOLD: f64 = 1e-6;

/// Declares the components: one line each, `word of settings, name: file::Type`.
macro_rules! components {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:ident: $file:ident::$component:ident,)+) => {
        $(mod $file;)+

        /// The points of a job by component, each with its weight and cap.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Parts {
            $($(#[doc = $doc])+ pub $name: f64,)+
            /// The job goes beyond a cap: the total is `-PointsCap`, whatever the parts.
            pub is_capped: bool,
            /// Those for a grant that is not used up.
            pub granted: f64,
            /// A grant of the job is used up for now: the total is `-PointsCap`, whatever the parts.
            pub is_beyond_grant: bool,
            /// The points.
            pub total: i32,
        }

        impl Parts {
            /// The points of each component, by its word.
            pub fn by_word(&self) -> impl Iterator<Item = (String, f64)> {
                [$((ComponentKind::$kind.to_string(), self.$name)),+].into_iter()
            }
        }

        /// The largest sum of each component that counts in percent, whatever its sign, of all jobs.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Largest {
            $($(#[doc = $doc])+ pub $name: f64,)+
        }

        impl Largest {
            /// Each by the word of its component.
            pub(crate) fn by_word(&mut self) -> impl Iterator<Item = (String, &mut f64)> {
                [$((ComponentKind::$kind.to_string(), &mut self.$name)),+].into_iter()
            }
        }

        /// Which lines hold in a partition.
        #[derive(Clone, Debug)]
        struct Plan {
            $($name: Option<ComponentLine<$file::$component>>,)+
            /// `XFMinLimit`, in seconds.
            min_limit: f64,
            needs: Needs,
        }

        impl Plan {
            /// Those of `find`.
            fn of<'l>(settings: &Settings, find: impl Fn(ComponentKind) -> Option<&'l settings::Component>) -> Self {
                let mut needs = Needs::default();
                $(
                    let $name = find(ComponentKind::$kind).map(ComponentLine::of).or_else(|| ComponentLine::without(settings));
                    if let Some(ComponentLine { component, .. }) = &$name {
                        needs |= $file::$component::needs(component, settings);
                        needs.percent |= $name.as_ref().is_some_and(|line| line.percent.is_some());
                    }
                )+
                let min_limit = find(ComponentKind::Serv).and_then(|line| line.xfactor_min_limit);
                Self { $($name,)+ min_limit: min_limit.unwrap_or_default().as_secs_f64(), needs }
            }

            #[inline]
            fn sum(&self, ground: &Ground<'_>) -> f64 {
                let mut sum = 0.0;
                $(if let Some(line) = &self.$name {
                    sum += line.value(ground, ground.ranges.largest.$name);
                })+
                sum
            }

            fn parts(&self, ground: &Ground<'_>) -> Parts {
                $(let $name = self.$name.as_ref().map_or(0.0, |line| line.value(ground, ground.ranges.largest.$name));)+
                Parts { $($name,)+ ..Parts::default() }
            }

            fn larger(&self, mut largest: Largest, ground: &Ground<'_>) -> Largest {
                $(if let Some(line) = &self.$name {
                    largest.$name = line.larger(largest.$name, ground);
                })+
                largest
            }
        }
    };
}

components! {
    /// CRED: by priorities of those the job belongs to.
    Cred cred: credentials::Credentials,
    /// FS: by targets of their usage.
    Fs fs: fair_share::FairShare,
    /// RES: by what it requests.
    Res res: resources::Resources,
    /// SERV: by how long it has waited.
    Serv serv: service::Service,
    /// TARGET: by how near it is to the wait that it should have at most.
    Target target: targets::Target,
    /// USAGE: by what it has used.
    Usage usage: usage::Usage,
    /// URGENCY: its wait, its deadline and its nice value relative to those of all others.
    Urgency urgency: urgency::Urgency,
    /// ATTR: by its state.
    Attr attr: attributes::Attributes,
}

/// What a job would use in all of its time limit, in seconds times `TargetMetric`; 0 for one that runs.
#[inline]
fn requested(job: &PointsJob<'_>) -> f64 {
    job.elapsed.map_or_else(|| amount(job.request.metric) * amount(job.limit), |_| 0.0)
}

/// All that gives points, compiled from settings.
#[derive(Clone, Debug)]
pub struct Points {
    /// `PointsWeight`
    weight: f64,
    /// `PointsCap`
    cap: f64,
    /// The first applies in partitions without a line.
    plans: Vec<Plan>,
    priorities: credentials::Priorities,
    promises: service::Promises,
    targets: fair_share::Targets,
    associations: Associations,
    qos: Objects<u32>,
    groups: Objects<u32>,
    partitions: Objects<String>,
    needs: Needs,
    named: NamedLines,
    steps: Steps,
    urgency: urgency::Weights,
    ranges: Ranges,
    /// Targets of single books.
    books: Vec<BookTargets>,
}

impl Points {
    /// Those that the settings ask for; `None` where no line of `Component`, `Service`, `Target` or `Grant` does.
    pub fn configured(settings: &Settings) -> Option<Self> {
        let Settings { components, services, targets: lines, .. } = settings;
        if components.is_empty() && services.is_empty() && lines.is_empty() && settings.grants.is_empty() {
            return None;
        }
        let priorities = credentials::Priorities::of(settings);
        let targets = fair_share::Targets::of(settings, None);
        let named = NamedLines::of(settings);
        let books = BookTargets::all(settings, &named);
        let mut points = Self {
            weight: weight(settings.points_weight),
            #[allow(clippy::cast_precision_loss)] // fits 32 bits
            cap: (settings.points_cap as f64).clamp(0.0, f64::from(i32::MAX)),
            plans: Vec::new(),
            promises: service::Promises::of(settings),
            associations: Associations::new(Lines { named: &named, priorities: &priorities, targets: &targets }),
            qos: Objects::default(),
            groups: Objects::default(),
            partitions: Objects::default(),
            needs: Needs::default(),
            named,
            steps: Steps::of(settings.fs_step),
            urgency: urgency::Weights::configured(settings),
            ranges: Ranges::default(),
            books,
            priorities,
            targets,
        };
        points.plan(settings);
        points.learn_qos(&[]);
        points.learn_groups(&HashMap::new());
        Some(points)
    }

    /// Makes the plans, and the partitions that lines name.
    fn plan(&mut self, settings: &Settings) {
        let find = |partition: Option<&str>, kind: ComponentKind| {
            settings.components.iter().find(|line| {
                line.component == kind
                    && match (&line.partitions, partition) {
                        (Some(names), Some(partition)) => names.iter().any(|name| name == partition),
                        (None, None) => true,
                        _ => false,
                    }
            })
        };
        let shared = self.named.needs(settings);
        let plan = |partition: Option<&str>| {
            let mut plan = Plan::of(settings, |kind| find(partition, kind).or_else(|| find(None, kind)));
            plan.needs |= shared;
            plan
        };
        self.plans.push(plan(None));
        let mut others = Object::new(
            self.priorities.of_others(LineKind::Partition),
            self.targets.of_others(LineKind::Partition),
        );
        others.promise = self.promises.of_other_partitions();
        self.partitions = Objects::new(others);
        for name in self.named.of_kind(LineKind::Partition) {
            if self.partitions.find(name) > 0 {
                continue;
            }
            let mut partition = Object::new(
                self.priorities.priority(LineKind::Partition, name),
                self.targets.rules(LineKind::Partition, name),
            );
            partition.promise = self.promises.of_partition(name);
            let has_lines = |line: &settings::Component| {
                line.partitions.iter().flatten().any(|partition| partition == name)
            };
            if settings.components.iter().any(has_lines) {
                if let Ok(at) = u16::try_from(self.plans.len()) {
                    self.plans.push(plan(Some(name)));
                    partition.plan = at;
                }
            }
            self.partitions.insert(name.to_owned(), |_| partition);
        }
        for (line, book) in settings.books.iter().filter_map(|line| {
            let at = self.books.iter().position(|book| book.name.eq_ignore_ascii_case(&line.name))?;
            Some((line, u8::try_from(at + 1).ok()?))
        }) {
            let others = *self.partitions.get(0);
            for name in &line.partitions {
                let at = self.partitions.insert(name.clone(), |_| others);
                if let Some(partition) = self.partitions.get_mut(at) {
                    partition.book = book;
                }
            }
        }
        for plan in &self.plans {
            self.needs |= plan.needs;
        }
        self.needs.grants = !settings.grants.is_empty();
    }

    /// Which facts are worth reading, of jobs in any partition, and what else is worth knowing.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Which facts are worth reading of jobs in a partition.
    pub fn needs_in(&self, partition: PartitionAt) -> Needs {
        let plan = usize::from(self.partitions.get(partition.0).plan);
        self.plans.get(plan).map_or(self.needs, |plan| plan.needs)
    }

    /// The names of Unix groups in all lines, each once. Those that are numbers need not be looked up.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.named.groups()
    }

    /// The names in all lines that name objects, and whether users, accounts and groups of that name exist, as of the last [`Self::learn`].
    pub fn named(&self) -> impl Iterator<Item = Named<'_>> {
        self.named.all(|kind, name| self.associations.has(kind, name))
    }

    /// Where a partition is.
    pub fn partition(&self, name: &str) -> PartitionAt {
        PartitionAt(self.partitions.find(name))
    }

    /// Where a QOS is, by its id.
    pub fn qos(&self, id: u32) -> QosAt {
        QosAt(self.qos.find(&id))
    }

    /// Where a Unix group is, by its number.
    pub fn group(&self, gid: u32) -> GroupAt {
        GroupAt(self.groups.find(&gid))
    }

    /// What the points of a job are asked of.
    #[inline]
    fn with<R: Default>(&self, job: &PointsJob<'_>, answer: impl FnOnce(&Plan, &Ground<'_>) -> R) -> R {
        let newcomer;
        let own = if let Some(own) = job.node.and_then(|node| self.associations.own(node)) {
            own
        } else {
            newcomer = self.associations.of_names(job.newcomer);
            &newcomer
        };
        let qos = self.qos.get(job.qos.0);
        let partition = self.partitions.get(job.partition.0);
        let Some(plan) = self.plans.get(usize::from(partition.plan)) else { return R::default() };
        let ground = Ground {
            job,
            own,
            book: self.book_of(partition).map(|book| book.own(job)),
            group: self.groups.get(job.group.0),
            qos,
            partition,
            promise: self.promises.promise(qos.promise, partition.promise),
            min_limit: plan.min_limit,
            ranges: &self.ranges,
            urgency: &self.urgency,
            whole: self.cap,
        };
        answer(plan, &ground)
    }

    /// The targets of the book of a partition.
    #[inline]
    fn book_of(&self, partition: &Object) -> Option<&BookTargets> {
        self.books.get(usize::from(partition.book).checked_sub(1)?)
    }

    /// Whether a job goes beyond a cap, or a grant that puts it last. One that runs requests nothing more.
    #[inline]
    fn is_capped(&self, Ground { job, own, group, qos, partition, book, .. }: &Ground<'_>) -> bool {
        let in_book = book.map_or(NO_CAP, |book| book.room);
        let room = || {
            let others = least(group.room.any, qos.room.any);
            least(least(own.room, others), least(partition.room.any, in_book))
        };
        let is_beyond_grant = job.granted.is_last && job.elapsed.is_none();
        is_beyond_grant || self.needs.caps && requested(job) > room()
    }

    /// Whether a job must not start because it exceeds a cap with `Block=yes` or a grant with `Beyond=block`. It is never true of a running
    /// job, nor before the first [`Self::weigh`].
    pub fn is_stopped(&self, job: &PointsJob<'_>) -> bool {
        self.needs.stops
            && job.elapsed.is_none()
            && self.with(job, |_, Ground { group, qos, partition, .. }| {
                let of = |associations: &Associations| associations.stopping(job.node, job.newcomer);
                let own = of(&self.associations);
                let in_book = self.book_of(partition).map_or(NO_CAP, |book| of(&book.associations));
                let others = group.room.min(qos.room).min(partition.room);
                job.granted.is_stopped || requested(job) > own.min(others.stopping).min(in_book)
            })
    }

    /// `-PointsCap`
    #[allow(clippy::cast_possible_truncation)] // fits
    fn lowest(&self) -> i32 {
        -(self.cap as i32)
    }

    /// The sum of all components as points.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the cap fits; NaN, which does not come, would be 0
    fn rounded(&self, sum: f64, granted: f64) -> i32 {
        let points = settled(sum * self.weight + granted).clamp(-self.cap, self.cap);
        // As `f64::round`, which is a call of the C library where the processor may be an old one. The cap is a whole number.
        let whole = points as i32;
        let part = points - f64::from(whole);
        whole + i32::from(part >= 0.5) - i32::from(part <= -0.5)
    }

    /// The points of a job.
    pub fn value(&self, job: &PointsJob<'_>) -> i32 {
        self.with(job, |plan, ground| {
            if self.is_capped(ground) {
                self.lowest()
            } else {
                self.rounded(plan.sum(ground), ground.job.granted.points)
            }
        })
    }

    /// The same by component.
    pub fn explain(&self, job: &PointsJob<'_>) -> Parts {
        self.with(job, |plan, ground| Parts {
            is_capped: self.is_capped(ground),
            granted: job.granted.points,
            is_beyond_grant: job.granted.is_last && job.elapsed.is_none(),
            total: self.value(job),
            ..plan.parts(ground)
        })
    }
}

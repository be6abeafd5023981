//! Points: the priority function of Maui, as a term that is added to the site factor of a job.
//!
//! P = Σ W · min(cap, Σ w · min(cap, value)) over components and their parts (Maui Administrator's Guide, 5.1.2), times `PointsWeight`,
//! rounded half away from zero, and limited to `±PointsCap`. Each component is one file behind the trait [`Component`].
//!
//! Without lines of points none of this runs: see [`Points::configured`]. [`Points::learn`] and [`Points::weigh`] look up all that is the
//! same for many jobs, so that [`Points::value`] hashes and allocates nothing.

mod associations;
mod beyond;
pub mod bypass;
mod component;
mod in_books;
mod job;
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

use rustc_hash::FxHashMap;

use self::associations::{Associations, Lines};
use self::component::{Component, ComponentLine, Ground};
use self::in_books::BookTargets;
use self::lines::LineKind;
use self::named::NamedLines;
use self::steps::Steps;
use self::tables::{Object, Objects};
use self::terms::{amount, least, weight};
use crate::policy::pools::{Named, Names};
use crate::rules::targets::{KeptSteps, NO_CAP};
use crate::settings::{self, ComponentKind, Settings};
use crate::ties::settled;
use crate::tree::{Node, ShareTree};

pub use beyond::Beyond;
pub use job::expansion_factor;
pub use job::{GroupAt, JobState, Needs, PartitionAt, PointsJob, QosAt, Request};
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
            pub fn by_word(&mut self) -> impl Iterator<Item = (String, &mut f64)> {
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

/// What lines say of a Unix group.
#[derive(Clone, Copy, Debug, Default)]
struct OfGroup {
    priority: Option<f64>,
    class_weight: Option<f64>,
    rules: fair_share::Rules,
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

    /// Takes the names of associations, the existing QOS, and the numbers of groups by name. Call it when one of them is new, and then
    /// [`Self::weigh`]: until then nobody is far from a target.
    pub fn learn<'n>(
        &mut self,
        tree: &ShareTree,
        names: impl Fn(Node) -> Names<'n>,
        qos: &[(u32, &str)],
        groups: &HashMap<String, u32>,
    ) {
        let Self { named, priorities, targets, associations, books, .. } = self;
        associations.learn(tree, &names, Lines { named, priorities, targets });
        for book in books {
            book.learn(tree, &names, named);
        }
        self.learn_qos(qos);
        self.learn_groups(groups);
    }

    fn learn_qos(&mut self, qos: &[(u32, &str)]) {
        let kind = LineKind::Qos;
        let mut others = Object::new(self.priorities.of_others(kind), self.targets.of_others(kind));
        others.promise = self.promises.of_other_qos();
        self.qos = Objects::new(others);
        if !self.needs.qos {
            return;
        }
        for (id, name) in qos {
            let mut object =
                Object::new(self.priorities.priority(kind, name), self.targets.rules(kind, name));
            object.promise = self.promises.of_qos(name);
            self.qos.insert(*id, |_| object);
        }
    }

    fn learn_groups(&mut self, groups: &HashMap<String, u32>) {
        let kind = LineKind::Group;
        let mut others = Object::new(self.priorities.of_others(kind), self.targets.of_others(kind));
        others.class_weight = self.priorities.class_weight_of_others();
        self.groups = Objects::new(others);
        self.named.learn_groups(groups);
        // A group may be on one line by its name, on another by its number.
        let mut lines: FxHashMap<u32, OfGroup> = FxHashMap::default();
        for (name, gid) in self.named.numbers() {
            let group = lines.entry(gid).or_default();
            group.priority = group.priority.or(self.priorities.own(kind, name));
            group.class_weight = group.class_weight.or(self.priorities.own_class_weight(name));
            group.rules = group.rules.or(self.targets.own(kind, name));
        }
        for (gid, OfGroup { priority, class_weight, rules }) in lines {
            let priority = priority.unwrap_or_else(|| self.priorities.of_others(kind));
            let mut group = Object::new(priority, rules.or(self.targets.of_others(kind)));
            group.class_weight = class_weight.or(others.class_weight);
            self.groups.insert(gid, |_| group);
        }
    }

    /// Compares usage with targets: by half-life and in windows, as the lines need them ([`Self::needs`]). Call it in every cycle. `tree`
    /// is the one that was learnt last.
    pub fn weigh(&mut self, tree: &ShareTree, halflife: &TargetUsage, window: &TargetUsage) {
        if !self.needs.targets {
            return;
        }
        let usage = [halflife, window];
        self.steps.begin();
        self.associations.weigh(tree, usage, (&self.targets, &mut self.steps));
        self.qos.read(usage.map(|usage| &usage.qos), self.targets.has_others(LineKind::Qos));
        self.groups.read(usage.map(|usage| &usage.groups), self.targets.has_others(LineKind::Group));
        self.partitions
            .read(usage.map(|usage| &usage.partitions), self.targets.has_others(LineKind::Partition));
        let (of_root, of_all) = (usage.map(TargetUsage::of_root), usage.map(TargetUsage::of_all));
        self.qos.judge(&of_root);
        self.groups.judge(&of_all);
        self.partitions.judge(&of_all);
        self.qos.step(LineKind::Qos, &of_root, &mut self.steps);
        self.groups.step(LineKind::Group, &of_all, &mut self.steps);
        self.partitions.step(LineKind::Partition, &of_all, &mut self.steps);
    }

    /// Which steps everybody's distances are in, as of the last [`Self::weigh`]; `None` where they do not count in steps ([`FSStep`]).
    ///
    /// [`FSStep`]: crate::settings::Settings::fs_step
    pub fn kept_steps(&self) -> Option<KeptSteps> {
        self.steps.are_used().then(|| {
            let of_books = self.books.iter().flat_map(BookTargets::kept_steps);
            self.steps.levels().into_iter().chain(of_books).collect()
        })
    }

    /// Goes on with the steps of an earlier process, or of other settings.
    pub fn restore_steps(&mut self, steps: &KeptSteps) {
        self.steps.restore(steps);
        for book in &mut self.books {
            book.restore_steps(steps);
        }
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

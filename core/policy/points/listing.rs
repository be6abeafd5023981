//! Lists every target, floor, ceiling and cap with its current distance, for reports. [`Points::weigh`] has computed all of it: nothing is
//! computed a second time here.

use std::cmp::Ordering;

use super::associations::{Associations, Level};
use super::fair_share::{Ceiling, Goal, Targets, WINDOW};
use super::lines::LineKind;
use super::tables::Object;
use super::{Plan, Points, TargetUsage};
use crate::rules::targets::{percentage, Cap, Measure, Side, Totals};
use crate::settings::{TargetKind, TargetType};
use crate::ties::same;
use crate::tree::{Node, ShareTree};

/// Whom a target is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Whose {
    /// A user, in all accounts.
    User(String),
    /// A Unix group, by its number.
    Group(u32),
    /// Jobs directly in an account.
    Account(String),
    /// A node of the tree: an account with all below it, or an association of a user.
    Level(Node),
    /// A QOS, by its id.
    Qos(u32),
    /// A partition.
    Partition(String),
}

/// What somebody has of one target. Amounts are in seconds times `TargetMetric`.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Of what.
    pub kind: TargetKind,
    /// Of whom.
    pub whose: Whose,
    /// The book whose usage counts; `None` for all usage.
    pub book: Option<String>,
    /// The kind of target.
    pub target_type: TargetType,
    /// There is a line for it. Else it is a level of the tree, whose target is its part of the shares.
    pub has_line: bool,
    /// What the line says.
    pub target: Cap,
    /// How the distance is measured.
    pub measure: Measure,
    /// Usage is counted in windows, not by half-life.
    pub in_windows: bool,
    /// The percentage is of what it and its siblings have used.
    pub is_of_level: bool,
    /// What was used.
    pub used: f64,
    /// What a percentage is of; with hours the usage of all.
    pub total: f64,
    /// What counts of it.
    pub standing: TargetStanding,
}

/// What counts of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TargetStanding {
    /// Of a target, floor or ceiling.
    Goal {
        /// How far the usage is below it, as it counts: in whole steps with `FSStep`, times `Weight` if that is a factor, after `CapTiers`.
        distance: f64,
        /// The same before steps and `CapTiers`.
        exact: f64,
        /// The sum over the levels from the root to it, which is `FSParent` there; of levels of the tree only.
        path: Option<f64>,
        /// The points that jobs have by it alone, before they are rounded; `None` where that depends on the job.
        points: Option<f64>,
    },
    /// Of a cap.
    Cap {
        /// How much it allows; `None` where nothing was used at all that it could be a part of.
        allowed: Option<f64>,
        /// Jobs that wait are beyond it, however little they ask for.
        is_beyond: bool,
        /// Jobs beyond it do not start.
        stops: bool,
        /// `-PointsCap` where all are beyond it, `None` else: it depends on what a job asks for.
        points: Option<f64>,
    },
}

impl Listed {
    /// The usage in percent of the total; `None` if that is 0.
    pub fn percent(&self) -> Option<f64> {
        percentage(self.used, self.total)
    }
}

/// Whose usage is compared with what.
#[derive(Clone, Copy)]
struct Part<'p> {
    associations: &'p Associations,
    targets: &'p Targets,
    usage: [&'p TargetUsage; 2],
    /// Which of the books, from 0.
    book: Option<usize>,
}

impl Points {
    /// The distances from all targets in force, as last weighed: users, groups, accounts, nodes of the tree, QOS and partitions, each by
    /// name, and the books after all usage. `usage` is what was given to [`Self::weigh`], `partitions` are the existing ones.
    pub fn listing(&self, tree: &ShareTree, usage: [&TargetUsage; 2], partitions: &[&str]) -> Vec<Listed> {
        let mut rows = Vec::new();
        let of_all = Part { associations: &self.associations, targets: &self.targets, usage, book: None };
        let books = self.books.iter().enumerate().map(|(at, book)| Part {
            associations: &book.associations,
            targets: book.targets(),
            usage: [&book.usage; 2],
            book: Some(at),
        });
        for part in std::iter::once(of_all).chain(books) {
            let totals = part.usage.map(TargetUsage::of_root);
            for (name, object) in part.associations.objects(LineKind::User) {
                self.object(
                    &mut rows,
                    part,
                    (TargetKind::User, Whose::User(name.to_owned())),
                    object,
                    &totals,
                );
            }
            for (name, object) in part.associations.objects(LineKind::Account) {
                let whose = (TargetKind::Account, Whose::Account(name.to_owned()));
                self.object(&mut rows, part, whose, object, &totals);
            }
            for node in tree.nodes() {
                self.level(&mut rows, part, tree, node);
            }
        }
        let (of_root, in_all) = (usage.map(TargetUsage::of_root), usage.map(TargetUsage::of_all));
        for (gid, object) in self.groups.iter() {
            self.object(&mut rows, of_all, (TargetKind::Group, Whose::Group(*gid)), object, &in_all);
        }
        for (id, object) in self.qos.iter() {
            self.object(&mut rows, of_all, (TargetKind::Qos, Whose::Qos(*id)), object, &of_root);
        }
        for name in partitions {
            let object = self.partitions.get(self.partitions.find(*name));
            let whose = (TargetKind::Partition, Whose::Partition((*name).to_owned()));
            self.object(&mut rows, of_all, whose, object, &in_all);
        }
        let book = |row: &Listed| self.books.iter().position(|book| Some(&book.name) == row.book.as_ref());
        rows.sort_by(|a, b| {
            let by_name = || a.whose.cmp(&b.whose);
            (LineKind::from(a.kind) as usize)
                .cmp(&(LineKind::from(b.kind) as usize))
                .then_with(|| book(a).cmp(&book(b)))
                .then_with(|| if a.kind == b.kind { by_name() } else { Ordering::Equal })
        });
        rows
    }

    fn object(
        &self,
        rows: &mut Vec<Listed>,
        part: Part<'_>,
        (kind, whose): (TargetKind, Whose),
        object: &Object,
        totals: &[Totals; 2],
    ) {
        if let Some(goal) = object.rules.goal {
            let (used, of) = (object.usage[goal.by], totals[goal.by]);
            let distance = object.held.delta;
            let of_partition = (kind == TargetKind::Partition).then_some(object.plan);
            let standing = TargetStanding::Goal {
                distance,
                exact: goal.factor * goal.distance(used, of),
                path: None,
                points: self.points_by(kind.into(), part.book, of_partition, (distance, object.weight)),
            };
            rows.push(self.goal(part, (kind, whose.clone()), &goal, (used, goal.total(of)), standing));
        }
        if let Some(ceiling) = object.rules.ceiling {
            let (used, of) = (object.usage[ceiling.by], totals[ceiling.by]);
            rows.push(self.cap(part, (kind, whose), ceiling, used, of));
        }
    }

    fn level(&self, rows: &mut Vec<Listed>, part: Part<'_>, tree: &ShareTree, node: Node) {
        let kind = TargetKind::Parent;
        let used = part.usage.map(|usage| usage.nodes.get(node.index()).copied().unwrap_or_default());
        let totals = part.usage.map(TargetUsage::of_root);
        if let Some(Level { goal, has_line, total, tier }) = part.associations.level(tree, node, part.targets)
        {
            let used = used[goal.by];
            let standing = TargetStanding::Goal {
                distance: goal.factor * tier.delta(),
                exact: goal.factor * goal.distance_on_level(used, total, totals[goal.by]),
                path: Some(tier.sum()),
                points: self.points_by(kind.into(), part.book, None, (tier.sum(), 0.0)),
            };
            let row = self.goal(part, (kind, Whose::Level(node)), &goal, (used, total), standing);
            rows.push(Listed { is_of_level: true, has_line, target: Cap::Delivered(goal.percent), ..row });
        }
        if let Some(ceiling) = part.associations.parent_rules(node).ceiling {
            let (used, of) = (used[ceiling.by], totals[ceiling.by]);
            rows.push(self.cap(part, (kind, Whose::Level(node)), ceiling, used, of));
        }
    }

    fn goal(
        &self,
        part: Part<'_>,
        (kind, whose): (TargetKind, Whose),
        goal: &Goal,
        (used, total): (f64, f64),
        standing: TargetStanding,
    ) -> Listed {
        Listed {
            kind,
            whose,
            book: self.name_of(part.book),
            target_type: match goal.side {
                Side::Both => TargetType::Target,
                Side::Below => TargetType::Floor,
                Side::Above => TargetType::Ceiling,
            },
            has_line: true,
            target: if goal.of_available {
                Cap::Available(goal.percent)
            } else {
                Cap::Delivered(goal.percent)
            },
            measure: goal.measure,
            in_windows: part.book.is_none() && goal.by == WINDOW,
            is_of_level: false,
            used,
            total,
            standing,
        }
    }

    fn cap(
        &self,
        part: Part<'_>,
        (kind, whose): (TargetKind, Whose),
        Ceiling { cap, by, stops }: Ceiling,
        used: f64,
        totals: Totals,
    ) -> Listed {
        let is_beyond = cap.room(used, totals) < 0.0;
        let allowed = cap.allowed(totals);
        Listed {
            kind,
            whose,
            book: self.name_of(part.book),
            target_type: TargetType::Cap,
            has_line: true,
            target: cap,
            measure: Measure::Difference,
            in_windows: part.book.is_none() && by == WINDOW,
            is_of_level: false,
            used,
            total: if matches!(cap, Cap::Available(_)) { totals.available } else { totals.delivered },
            standing: TargetStanding::Cap {
                allowed: allowed.is_finite().then_some(allowed),
                is_beyond,
                stops,
                points: is_beyond.then(|| f64::from(self.lowest())),
            },
        }
    }

    fn name_of(&self, book: Option<usize>) -> Option<String> {
        book.and_then(|at| self.books.get(at)).map(|book| book.name.clone())
    }

    /// The points of a distance by itself, where they are those of all jobs that it counts for: by the line of FS that holds for them, and with what the object
    /// adds to its weight. `of_partition` is the plan of a partition.
    fn points_by(
        &self,
        kind: LineKind,
        book: Option<usize>,
        of_partition: Option<u16>,
        (distance, own_weight): (f64, f64),
    ) -> Option<f64> {
        if distance == 0.0 {
            return Some(0.0);
        }
        let of = |plan: u16| self.plans.get(usize::from(plan));
        let plans: Vec<&Plan> = match (of_partition, book) {
            (Some(plan), _) => of(plan).into_iter().collect(),
            (None, Some(book)) => {
                let is_in_book = |object: &&Object| usize::from(object.book) == book + 1;
                let partitions = self.partitions.iter().map(|(_, object)| object).filter(is_in_book);
                partitions.filter_map(|object| of(object.plan)).collect()
            }
            (None, None) => self.plans.iter().collect(),
        };
        let weighs_by_job = self.weighs_by_job(kind, book);
        let value = |plan: &&Plan| {
            let Some(line) = &plan.fs else { return Some(0.0) };
            let part = line.component.part(kind, distance);
            if part == 0.0 {
                return Some(0.0);
            }
            let has_shared_cap = line.component.has_cap(kind) && !self.books.is_empty() && kind.is_in_books();
            let is_alone =
                !weighs_by_job && line.percent.is_none() && line.cap.is_infinite() && !has_shared_cap;
            // No zero has a sign.
            is_alone.then_some((line.weight + own_weight) * part * self.weight + 0.0)
        };
        let mut values = plans.iter().map(value);
        let first = values.next()??;
        values.all(|other| other.is_some_and(|other| same(other, first))).then_some(first)
    }

    /// Whether the weight of FS depends on who else a job belongs to.
    fn weighs_by_job(&self, kind: LineKind, book: Option<usize>) -> bool {
        let of_all = [LineKind::Group, LineKind::Account]
            .into_iter()
            .any(|adds| self.targets.adds_weight(adds) && !(adds == kind && book.is_none()));
        let of_books = self.books.iter().enumerate().any(|(at, other)| {
            other.targets().adds_weight(LineKind::Account) && !(kind == LineKind::Account && book == Some(at))
        });
        of_all || of_books
    }
}

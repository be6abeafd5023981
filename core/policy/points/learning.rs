//! What points learn of a cluster: the names of its associations, QOS and Unix groups, and how far everybody's usage is from the targets.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::associations::Lines;
use super::in_books::BookTargets;
use super::lines::LineKind;
use super::tables::{Object, Objects};
use super::{fair_share, Points, TargetUsage};
use crate::policy::pools::Names;
use crate::rules::targets::KeptSteps;
use crate::tree::{Node, ShareTree};

/// What lines say of a Unix group.
#[derive(Clone, Copy, Debug, Default)]
struct OfGroup {
    priority: Option<f64>,
    class_weight: Option<f64>,
    rules: fair_share::Rules,
}

impl Points {
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

    pub(super) fn learn_qos(&mut self, qos: &[(u32, &str)]) {
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

    pub(super) fn learn_groups(&mut self, groups: &HashMap<String, u32>) {
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
}

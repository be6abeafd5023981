//! The priorities and targets of each association: those of its user, of its account, and of the accounts above it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::credentials::Priorities;
use super::fair_share::{Goal, Room, Rules, Targets};
use super::lines::{folded, LineKind};
use super::named::NamedLines;
use super::steps::Steps;
use super::tables::{Object, Objects, Own};
use super::TargetUsage;
use crate::policy::pools::Names;
use crate::rules::targets::{Tier, NO_CAP};
use crate::tree::{at, Node, ShareTree};

/// What lines say, and whom they name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'l> {
    pub named: &'l NamedLines,
    pub priorities: &'l Priorities,
    pub targets: &'l Targets,
}

/// How a node stands among its siblings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub goal: Goal,
    /// The target is that of a line.
    pub has_line: bool,
    /// What it and its siblings have used.
    pub total: f64,
    pub tier: Tier,
}

/// Priorities and targets of every association, by its place in the tree.
#[derive(Clone, Debug)]
pub(super) struct Associations {
    /// By node.
    own: Vec<Own>,
    /// Includes those that lines name and that may have no association yet.
    users: Objects<String>,
    accounts: Objects<String>,
    /// Users that lines name and that there are no associations of.
    missing: FxHashSet<String>,
    /// User and account by node.
    objects: Vec<(u32, u32)>,
    /// The association of each account.
    account_nodes: FxHashMap<String, Node>,
    /// What `Parent` lines say; the first is nothing. By node, which of them.
    parent_rules: Vec<Rules>,
    parent_rules_at: Vec<u32>,
    /// By node, what jobs directly in an account have used. Scratch space.
    direct: Vec<[f64; 2]>,
    /// By node, its part of the shares of its siblings. Empty without targets of parents, as the next two.
    shares: Vec<f64>,
    /// By node, what those have used that are below it in terms of fair-share.
    levels: Vec<[f64; 2]>,
    tiers: Vec<Tier>,
    /// By node, under which name its step is kept; empty without steps.
    step_names: Vec<String>,
    /// By node, what caps of the accounts leave that it is in. Empty without such caps.
    rooms: Vec<Room>,
    /// By node, what caps leave beyond which jobs do not start. Empty without such caps.
    stopping: Vec<f64>,
    /// What those have that nothing is known of.
    nobody: Own,
}

impl Associations {
    /// None yet.
    pub(super) fn new(lines: Lines<'_>) -> Self {
        let Lines { named, priorities, targets } = lines;
        let objects = |kind| {
            let others = Object::new(priorities.of_others(kind), targets.of_others(kind));
            let mut objects = Objects::new(others);
            for name in named.of_kind(kind) {
                object(&mut objects, kind, name, lines);
            }
            objects
        };
        let (users, accounts) = (objects(LineKind::User), objects(LineKind::Account));
        let missing =
            named.of_kind(LineKind::User).map(|name| folded(LineKind::User, name).into_owned()).collect();
        let mut nobody = Own { weight: accounts.get(0).weight, ..Own::default() };
        nobody.user = users.get(0).held;
        nobody.account = accounts.get(0).held;
        nobody.parent.credential = priorities.of_others(LineKind::Parent);
        Self {
            own: Vec::new(),
            users,
            accounts,
            missing,
            objects: Vec::new(),
            account_nodes: FxHashMap::default(),
            parent_rules: vec![Rules::default()],
            parent_rules_at: Vec::new(),
            direct: Vec::new(),
            shares: Vec::new(),
            levels: Vec::new(),
            tiers: Vec::new(),
            step_names: Vec::new(),
            rooms: Vec::new(),
            stopping: Vec::new(),
            nobody,
        }
    }

    /// Takes a tree and what its associations are called. Distances are 0 and nothing is capped until they are weighed.
    pub(super) fn learn<'n>(
        &mut self,
        tree: &ShareTree,
        names: impl Fn(Node) -> Names<'n>,
        lines: Lines<'_>,
    ) {
        *self = Self::new(lines);
        let Lines { priorities, targets, .. } = lines;
        let asks = |kind| priorities.has(kind) || targets.has(kind);
        let (asks_user, asks_account) = (asks(LineKind::User), asks(LineKind::Account));
        // The sum over the accounts on the way that have a priority.
        let mut credentials: Vec<Option<f64>> = Vec::with_capacity(tree.len());
        for node in tree.nodes() {
            let called = names(node);
            let above = tree.parent(node).map(Node::index);
            let mut credential = above.and_then(|above| credentials.get(above).copied().flatten());
            let mut rules_at = 0;
            let (mut user, mut account) = (0, 0);
            if tree.is_user(node) {
                account = above.and_then(|above| self.objects.get(above)).map_or(0, |(_, account)| *account);
                if !self.missing.is_empty() {
                    self.missing.remove(folded(LineKind::User, called.user).as_ref());
                }
                if asks_user {
                    user = object(&mut self.users, LineKind::User, called.user, lines);
                }
            } else {
                let name = folded(LineKind::Account, called.account);
                if asks_account {
                    account = object(&mut self.accounts, LineKind::Account, &name, lines);
                }
                if above.is_some() {
                    if let Some(own) = priorities.own(LineKind::Parent, &name) {
                        credential = Some(credential.unwrap_or_default() + own);
                    }
                    let rules = targets.rules(LineKind::Parent, &name);
                    if rules != Rules::default() {
                        rules_at = u32::try_from(self.parent_rules.len()).unwrap_or_default();
                        self.parent_rules.push(rules);
                    }
                }
                self.account_nodes.entry(name.into_owned()).or_insert(node);
            }
            credentials.push(credential);
            self.objects.push((user, account));
            self.parent_rules_at.push(rules_at);
            let mut own = self.nobody;
            own.user = self.users.get(user).held;
            own.account = self.accounts.get(account).held;
            own.weight = self.accounts.get(account).weight;
            own.parent.credential = credential.unwrap_or(self.nobody.parent.credential);
            self.own.push(own);
        }
        if targets.has_goals(LineKind::Parent) {
            self.learn_shares(tree);
            if targets.has_steps {
                let name = |node: Node| match names(node) {
                    Names { user: "", account } => account.to_owned(),
                    Names { user, account } => format!("{account} {user}"),
                };
                self.step_names = tree.nodes().map(name).collect();
            }
        }
        if targets.has_ceilings(LineKind::Parent) {
            self.rooms.resize(tree.len(), Room::default());
        }
        if targets.stops {
            self.stopping.resize(tree.len(), NO_CAP);
        }
    }

    fn learn_shares(&mut self, tree: &ShareTree) {
        let raw = |node: Node| if tree.uses_parent(node) { 0.0 } else { f64::from(tree.shares(node)) };
        let mut sums = vec![0.0; tree.len()];
        for node in tree.nodes() {
            if let Some(above) = tree.fair_share_parent(node) {
                sums[above.index()] += raw(node);
            }
        }
        let share = |node: Node| {
            let sum = tree.fair_share_parent(node).map_or(0.0, |above| at(&sums, above));
            if sum > 0.0 {
                raw(node) / sum
            } else {
                0.0
            }
        };
        self.shares = tree.nodes().map(share).collect();
        self.levels.resize(tree.len(), [0.0; 2]);
        self.tiers.resize(tree.len(), Tier::ROOT);
    }

    /// Compares usage with targets.
    pub(super) fn weigh(
        &mut self,
        tree: &ShareTree,
        usage: [&TargetUsage; 2],
        (targets, steps): (&Targets, &mut Steps),
    ) {
        let totals = usage.map(TargetUsage::of_root);
        self.read(tree, usage, targets);
        self.users.judge(&totals);
        self.accounts.judge(&totals);
        self.users.step(LineKind::User, &totals, steps);
        self.accounts.step(LineKind::Account, &totals, steps);
        self.weigh_levels(tree, usage, (targets, steps));
        self.weigh_parents(tree, usage);
        for (node, own) in tree.nodes().zip(&mut self.own) {
            let (user, account) = at(&self.objects, node);
            let (user, account) = (self.users.get(user), self.accounts.get(account));
            own.user.delta = user.held.delta;
            own.account.delta = account.held.delta;
            own.parent.delta = self.tiers.get(node.index()).map_or(0.0, |tier| tier.sum());
            let parents = self.rooms.get(node.index()).copied().unwrap_or_default();
            let mut room = account.room.min(parents);
            if tree.is_user(node) {
                room = room.min(user.room);
            }
            own.room = room.any;
            if let Some(stopping) = self.stopping.get_mut(node.index()) {
                *stopping = room.stopping;
            }
        }
        self.nobody.user.delta = self.users.get(0).held.delta;
        self.nobody.account.delta = self.accounts.get(0).held.delta;
        self.nobody.room = self.accounts.get(0).room.any;
    }

    /// Adds up what users and accounts have used.
    fn read(&mut self, tree: &ShareTree, usage: [&TargetUsage; 2], targets: &Targets) {
        if !targets.has(LineKind::User) && !targets.has(LineKind::Account) {
            return;
        }
        self.users.forget_usage();
        self.accounts.forget_usage();
        // Of an account what is below it, less what is below the accounts in it.
        self.direct.clear();
        self.direct.extend(tree.nodes().map(|node| of(usage, node)));
        for node in tree.nodes().filter(|node| !tree.is_user(*node)) {
            let above = tree.parent(node).and_then(|above| self.direct.get_mut(above.index()));
            for (direct, below) in above.into_iter().flatten().zip(of(usage, node)) {
                *direct -= below;
            }
        }
        for node in tree.nodes() {
            let (user, account) = at(&self.objects, node);
            if tree.is_user(node) {
                add(&mut self.users, user, of(usage, node));
                continue;
            }
            let mut direct = at(&self.direct, node);
            for (direct, all) in direct.iter_mut().zip(of(usage, node)) {
                // What rounding leaves of a difference is not usage.
                if *direct <= all * 1e-9 {
                    *direct = 0.0;
                }
            }
            add(&mut self.accounts, account, direct);
        }
        // The first of each stand for those of whom nothing is known.
        self.users
            .get_mut(0)
            .into_iter()
            .chain(self.accounts.get_mut(0))
            .for_each(|nobody| nobody.usage = [0.0; 2]);
    }

    /// What the caps of accounts leave to all below them.
    fn weigh_parents(&mut self, tree: &ShareTree, usage: [&TargetUsage; 2]) {
        let totals = usage.map(TargetUsage::of_root);
        if self.rooms.len() != tree.len() {
            return;
        }
        for node in tree.nodes() {
            let above = tree.parent(node).map_or(Room::default(), |above| self.rooms[above.index()]);
            let rules = self.parent_rules.get(at(&self.parent_rules_at, node) as usize);
            let own = rules.map_or(Room::default(), |rules| rules.room(of(usage, node), &totals));
            self.rooms[node.index()] = above.min(own);
        }
    }

    /// How far each node is from its target, with the levels above it; see [`crate::rules::targets::Tiers`]. Levels and siblings are
    /// those of fair-share: an association with `Fairshare=parent` is no level.
    fn weigh_levels(
        &mut self,
        tree: &ShareTree,
        usage: [&TargetUsage; 2],
        (targets, steps): (&Targets, &mut Steps),
    ) {
        if self.tiers.len() != tree.len() || tree.is_empty() {
            return;
        }
        let totals = usage.map(TargetUsage::of_root);
        self.levels.fill([0.0; 2]);
        for node in tree.nodes().filter(|node| !tree.uses_parent(*node)) {
            let Some(above) = tree.fair_share_parent(node) else { continue };
            for (level, used) in self.levels[above.index()].iter_mut().zip(of(usage, node)) {
                *level += used.max(0.0);
            }
        }
        for node in tree.nodes() {
            let Some(above) = tree.fair_share_parent(node) else { continue };
            let (index, above) = (node.index(), above.index());
            let mut tier = self.tiers[above];
            if !tree.uses_parent(node) {
                let goal = self.goal_of_level(node, targets);
                let (used, level) = (of(usage, node)[goal.by], self.levels[above][goal.by]);
                let mut delta = goal.distance_on_level(used, level, totals[goal.by]);
                if let Some(name) = self.step_names.get(index) {
                    delta = steps.stepped(LineKind::Parent, name, delta, goal.measure);
                }
                tier = tier.below(delta, goal.factor, targets.tiers);
            }
            self.tiers[index] = tier;
        }
    }

    /// The target of a node among its siblings: that of its line, or its part of the shares.
    fn goal_of_level(&self, node: Node, targets: &Targets) -> Goal {
        let goal = self.parent_rules(node).goal;
        goal.unwrap_or_else(|| targets.by_share(at(&self.shares, node)))
    }

    /// How a node stands among its siblings; `None` if that does not count, or the node is no level.
    pub(super) fn level(&self, tree: &ShareTree, node: Node, targets: &Targets) -> Option<Level> {
        let above = tree.fair_share_parent(node).filter(|_| !tree.uses_parent(node))?;
        let (tier, of_level) = (*self.tiers.get(node.index())?, *self.levels.get(above.index())?);
        let goal = self.goal_of_level(node, targets);
        let has_line = self.parent_rules(node).goal.is_some();
        Some(Level { goal, has_line, total: of_level[goal.by], tier })
    }

    /// Users and accounts that lines or the tree name.
    pub(super) fn objects(&self, kind: LineKind) -> impl Iterator<Item = (&str, &Object)> {
        let objects = if kind == LineKind::User { &self.users } else { &self.accounts };
        objects
            .iter()
            .map(|(name, object)| (name.as_str(), object))
            .filter(move |(name, _)| self.has(kind, name))
    }

    /// What an association has.
    #[inline]
    pub(super) fn own(&self, node: Node) -> Option<&Own> {
        self.own.get(node.index())
    }

    /// What an association has that is newer than the tree: what its user has elsewhere, what its account has, and all accounts above.
    #[cold]
    pub(super) fn of_names(&self, names: Option<Names<'_>>) -> Own {
        let Some(names) = names else { return self.nobody };
        let user = self.users.get(self.users.find(folded(LineKind::User, names.user).as_ref()));
        let name = folded(LineKind::Account, names.account);
        let account = self.account_nodes.get(name.as_ref()).and_then(|node| self.own(*node));
        let mut own = *account.unwrap_or(&self.nobody);
        own.user = user.held;
        own.room = own.room.min(user.room.any);
        if account.is_none() {
            // An account that is new, too, may have a line.
            let account = self.accounts.get(self.accounts.find(name.as_ref()));
            (own.account, own.weight) = (account.held, account.weight);
        }
        own
    }

    /// What the caps of an association leave beyond which jobs do not start, or of one that is newer than the tree.
    pub(super) fn stopping(&self, node: Option<Node>, newcomer: Option<Names<'_>>) -> f64 {
        if let Some(stopping) = node.and_then(|node| self.stopping.get(node.index())) {
            return *stopping;
        }
        let nobody = self.accounts.get(0).room.stopping;
        let Some(names) = newcomer else { return nobody };
        let account = self.account_nodes.get(folded(LineKind::Account, names.account).as_ref());
        let account = account.and_then(|node| self.stopping.get(node.index())).copied().unwrap_or(nobody);
        let user = self.users.get(self.users.find(folded(LineKind::User, names.user).as_ref()));
        account.min(user.room.stopping)
    }

    /// The user and the account that an association is of.
    pub(super) fn objects_of(&self, node: Option<Node>, newcomer: Option<Names<'_>>) -> (&Object, &Object) {
        let of_node = node.and_then(|node| self.objects.get(node.index())).copied();
        let (user, account) = of_node.unwrap_or_else(|| {
            let find = |objects: &Objects<String>, kind, name| objects.find(folded(kind, name).as_ref());
            newcomer.map_or((0, 0), |names| {
                let user = find(&self.users, LineKind::User, names.user);
                (user, find(&self.accounts, LineKind::Account, names.account))
            })
        });
        (self.users.get(user), self.accounts.get(account))
    }

    /// What `Target=Parent` lines say of an account.
    pub(super) fn parent_rules(&self, node: Node) -> &Rules {
        let at = self.parent_rules_at.get(node.index()).copied().unwrap_or_default();
        self.parent_rules.get(at as usize).unwrap_or(&self.parent_rules[0])
    }

    /// Whether there is a user or account of a name that lines name.
    pub(super) fn has(&self, kind: LineKind, name: &str) -> bool {
        let name = folded(kind, name);
        match kind {
            LineKind::User => !self.missing.contains(name.as_ref()),
            _ => self.account_nodes.contains_key(name.as_ref()),
        }
    }
}

/// What an association and all below it have used, by half-life and in windows.
fn of(usage: [&TargetUsage; 2], node: Node) -> [f64; 2] {
    usage.map(|usage| at(&usage.nodes, node))
}

/// The place of a user or account, which is added if it is unknown.
fn object(objects: &mut Objects<String>, kind: LineKind, name: &str, lines: Lines<'_>) -> u32 {
    let name = folded(kind, name);
    match objects.find(name.as_ref()) {
        0 => objects.insert(name.into_owned(), |name| {
            Object::new(lines.priorities.priority(kind, name), lines.targets.rules(kind, name))
        }),
        known => known,
    }
}

fn add(objects: &mut Objects<String>, at: u32, used: [f64; 2]) {
    let Some(object) = objects.get_mut(at) else { return };
    for (sum, used) in object.usage.iter_mut().zip(used) {
        *sum += used;
    }
}

//! Functional tickets: a fixed pool (`TicketsFunctional`) that is divided by fixed shares of users, accounts and departments
//! (`Functional=`), whatever they have used.
//!
//! Every kind has its part of the pool (`FunctionalWeight*`). Within it an object has its shares over those of all objects with jobs. An
//! object's tickets are divided among its jobs as override tickets are: the n-th job claims the n-th part.
//!
//! These are the rules of Grid Engine's functional policy. Claims are ranked with 0.001 added to the sums. For waiting jobs the weights are
//! divided by their sum once; for running jobs kinds without shares leave their part to the others. Departments are top-level accounts here
//! and projects are leaf accounts, and all jobs have the same job shares. The treatment of jobs beyond `MaxFunctionalJobs` is our reading:
//! they get what the next one would, without the 0.001.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::groups::Groups;
use super::ranking::{Part, Ranking};
use super::{Bearer, Ground, Named, Names, Pool, PoolQueue, Who};
use crate::settings::{Functional, FunctionalKind, Settings};
use crate::tree::{Node, ShareTree, USE_PARENT};

/// User, account, department.
const KINDS: usize = 3;

/// An object that a job's association is of, and its shares there.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    object: u32,
    shares: f64,
}

/// What jobs of one category have in common: by kind. Jobs without any shares are in none.
type Category = [Option<Held>; KINDS];

/// One kind of objects.
#[derive(Clone, Debug, Default)]
struct FunctionalPart {
    /// Its part of the pool.
    weight: f64,
    /// Jobs that run or have got their tickets, by object.
    active: Vec<f64>,
    /// Jobs that run, by object.
    running: Vec<f64>,
    /// Shares of all objects with active jobs.
    sum: f64,
    /// The same of running jobs alone.
    sum_running: f64,
}

/// Tickets by functional shares, whatever was used.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionalTickets {
    pool: f64,
    /// Shares of an object are divided among its jobs.
    shared: bool,
    /// The number of jobs that are ranked one by one.
    most: usize,
    lines: Vec<Functional>,
    /// Names in lines that there are no associations of, by kind.
    missing: HashSet<(u8, String)>,
    kinds: [FunctionalPart; KINDS],
    /// Objects by name, kind by kind. They stay where the tree is new: what is counted is theirs.
    objects: [FxHashMap<String, u32>; KINDS],
    categories: Vec<Category>,
    /// The category of every association.
    of_node: Vec<Option<u32>>,
}

/// What is added to sums before they divide a claim, so that the first one has something to be divided by.
const BEFORE_THE_FIRST: f64 = 0.001;

impl FunctionalTickets {
    fn category(&self, node: Node) -> Option<&Category> {
        let at = self.of_node.get(node.index()).copied().flatten()?;
        self.categories.get(at as usize)
    }

    /// What an object gives to the next of its jobs, of this sum of shares.
    fn gives(&self, kind: &FunctionalPart, held: Held, sum: f64) -> f64 {
        let jobs = if self.shared { kind.active[held.object as usize] + 1.0 } else { 1.0 };
        part(self.pool * kind.weight, held.shares / jobs, sum)
    }

    /// The sum by which the claim of a head is divided: without its own shares where they are the object's. `more` is added.
    fn sum_for_head(&self, kind: &FunctionalPart, held: Held, more: f64) -> f64 {
        kind.sum + more + if self.shared { 0.0 } else { held.shares }
    }

    /// The tickets of a job that is the next of its objects, of which `sum` says the sum of shares.
    fn claim(&self, category: &Category, sum: impl Fn(&FunctionalPart, Held) -> f64) -> f64 {
        let held = self.kinds.iter().zip(category).filter_map(|(kind, held)| Some((kind, (*held)?)));
        held.map(|(kind, held)| self.gives(kind, held, sum(kind, held))).sum()
    }

    /// The numbers of the first object of each kind among those of all kinds, and how many there are.
    fn firsts(&self) -> [u32; KINDS + 1] {
        let mut firsts = [0; KINDS + 1];
        for (kind, of_kind) in self.kinds.iter().enumerate() {
            firsts[kind + 1] = firsts[kind] + u32::try_from(of_kind.active.len()).unwrap_or_default();
        }
        firsts
    }

    fn sums(&self) -> [u64; KINDS] {
        [0, 1, 2].map(|kind| self.kinds[kind].sum.to_bits())
    }

    /// What an object gives to the next of its jobs, with these shares.
    fn next_of(&self, firsts: [u32; KINDS + 1], part_of: Part) -> f64 {
        let Part { object, shares } = part_of;
        let at = firsts[1..KINDS].iter().filter(|first| object >= **first).count();
        let (kind, held) = (&self.kinds[at], Held { object: object - firsts[at], shares });
        self.gives(kind, held, self.sum_for_head(kind, held, BEFORE_THE_FIRST))
    }

    /// Jobs of a category begin to count.
    fn count(&mut self, category: Category, jobs: f64) {
        for (kind, held) in self.kinds.iter_mut().zip(category) {
            let Some(Held { object, shares }) = held else { continue };
            let active = &mut kind.active[object as usize];
            if !self.shared {
                kind.sum += shares * jobs;
            } else if *active == 0.0 {
                kind.sum += shares;
            }
            *active += jobs;
        }
    }

    /// The tickets of the job that was counted last.
    fn exact(&self, category: &Category) -> f64 {
        let of_kind = |(kind, held): (&FunctionalPart, &Option<Held>)| {
            let Some(held) = *held else { return 0.0 };
            let jobs = if self.shared { kind.active[held.object as usize] } else { 1.0 };
            part(self.pool * kind.weight, held.shares / jobs, kind.sum)
        };
        self.kinds.iter().zip(category).map(of_kind).sum()
    }

    /// The line that says the shares of each object of a kind, by name in lower case: the first that names it.
    fn lines_by_name(&self, kind: FunctionalKind) -> FxHashMap<String, &Functional> {
        let mut by_name = FxHashMap::default();
        for line in self.lines.iter().filter(|line| line.kind == kind) {
            for name in &line.names {
                by_name.entry(name.to_ascii_lowercase()).or_insert(line);
            }
        }
        by_name
    }

    fn count_running(&mut self, running: &[Who]) {
        for kind in &mut self.kinds {
            kind.active.fill(0.0);
            kind.sum = 0.0;
        }
        let of_jobs = running
            .iter()
            .filter(|job| job.count > 0)
            .filter_map(|job| Some((*self.category(job.node)?, f64::from(job.count))));
        let counted: Vec<(Category, f64)> = of_jobs.collect();
        for (category, jobs) in &counted {
            for (kind, held) in self.kinds.iter_mut().zip(category) {
                if let Some(Held { object, .. }) = held {
                    kind.active[*object as usize] += jobs;
                }
            }
        }
        for (category, jobs) in counted {
            for (kind, held) in self.kinds.iter_mut().zip(category) {
                if let Some(Held { object, shares }) = held {
                    let all = if self.shared { kind.active[object as usize] } else { 1.0 };
                    kind.sum += shares / all * jobs;
                }
            }
        }
        for kind in &mut self.kinds {
            kind.running.clone_from(&kind.active);
            kind.sum_running = kind.sum;
        }
    }
}

/// The shares that a line gives to an association with these raw shares.
fn shares(line: &Functional, raw: u32) -> f64 {
    line.shares.parse().unwrap_or(match raw {
        USE_PARENT => 1.0,
        raw => f64::from(raw),
    })
}

/// A part of a pool; none where nobody has shares.
fn part(pool: f64, shares: f64, sum: f64) -> f64 {
    if sum > 0.0 {
        pool * shares / sum
    } else {
        0.0
    }
}

impl Pool for FunctionalTickets {
    fn is_asked_for(settings: &Settings) -> bool {
        settings.tickets_functional > 0
    }

    fn configure(&mut self, settings: &Settings) {
        // All jobs are alike, so none has shares by itself; the part of the pool that is theirs stays unspent, as in Grid Engine.
        let weights = [
            settings.functional_weight_user,
            settings.functional_weight_account,
            settings.functional_weight_department,
            settings.functional_weight_job,
        ];
        let all: f64 = weights.iter().sum();
        #[allow(clippy::cast_precision_loss)] // at most 10^9
        let pool = settings.tickets_functional as f64;
        *self = Self {
            pool,
            shared: settings.share_functional_shares,
            most: usize::try_from(settings.max_functional_jobs).unwrap_or(usize::MAX),
            lines: settings.functional.clone(),
            ..Self::default()
        };
        for (kind, weight) in self.kinds.iter_mut().zip(weights) {
            kind.weight = if all > 0.0 { weight / all } else { 0.0 };
        }
    }

    fn learn<'n>(&mut self, tree: &ShareTree, names: &dyn Fn(Node) -> Names<'n>) {
        let mut objects = std::mem::take(&mut self.objects);
        let mut categories = std::mem::take(&mut self.categories);
        let mut of_node = std::mem::take(&mut self.of_node);
        let lines = [FunctionalKind::User, FunctionalKind::Account, FunctionalKind::Department]
            .map(|kind| self.lines_by_name(kind));
        let mut known: FxHashMap<[Option<(u32, u64)>; KINDS], u32> = FxHashMap::default();
        let mut departments: Vec<Node> = Vec::with_capacity(tree.len());
        let written = self
            .lines
            .iter()
            .flat_map(|line| line.names.iter().map(|name| (line.kind as u8, name.to_ascii_lowercase())));
        let mut missing: HashSet<(u8, String)> = written.collect();
        categories.clear();
        of_node.clear();
        for node in tree.nodes() {
            let parent = tree.parent(node).unwrap_or(node);
            // The account below the root; of the root itself, the root.
            let department = match departments.get(parent.index()) {
                Some(above) if Some(*above) != tree.root() => *above,
                _ if tree.is_user(node) => parent,
                _ => node,
            };
            departments.push(department);
            if !missing.is_empty() {
                let (user, account) = (names(node).user, names(node).account);
                missing.remove(&(FunctionalKind::User as u8, user.to_ascii_lowercase()));
                missing.remove(&(FunctionalKind::Account as u8, account.to_ascii_lowercase()));
                missing.remove(&(
                    FunctionalKind::Department as u8,
                    names(department).account.to_ascii_lowercase(),
                ));
            }
            if self.pool == 0.0 || !tree.is_user(node) {
                of_node.push(None);
                continue;
            }
            let held = [
                (names(node).user, tree.shares(node)),
                (names(parent).account, tree.shares(parent)),
                (names(department).account, tree.shares(department)),
            ];
            let mut category: Category = [None; KINDS];
            for (at, (name, raw)) in held.into_iter().enumerate() {
                let name = name.to_ascii_lowercase();
                // As a line names it, else as a line for everybody says.
                let line = lines[at].get(&name).or_else(|| lines[at].get("*"));
                let shares = line.map_or(0.0, |line| shares(line, raw));
                if shares > 0.0 {
                    let next = u32::try_from(objects[at].len()).unwrap_or_default();
                    let object = *objects[at].entry(name).or_insert(next);
                    category[at] = Some(Held { object, shares });
                }
            }
            let key = category.map(|held| held.map(|held| (held.object, held.shares.to_bits())));
            let categories = &mut categories;
            of_node.push(category.iter().any(Option::is_some).then(|| {
                *known.entry(key).or_insert_with(|| {
                    categories.push(category);
                    u32::try_from(categories.len() - 1).unwrap_or_default()
                })
            }));
        }
        for (kind, objects) in self.kinds.iter_mut().zip(&objects) {
            kind.active.resize(objects.len(), 0.0);
            kind.running.resize(objects.len(), 0.0);
        }
        (self.objects, self.categories, self.of_node, self.missing) = (objects, categories, of_node, missing);
    }

    fn named(&self) -> Vec<Named<'_>> {
        let exists = |line: &'_ Functional, name: &str| {
            !self.missing.contains(&(line.kind as u8, name.to_ascii_lowercase()))
        };
        let named = self.lines.iter().flat_map(|line| {
            line.names.iter().filter(|name| *name != "*").map(|name| Named {
                place: &line.place.0,
                setting: "Functional",
                kind: line.kind.to_string(),
                name,
                of: Bearer::Association(exists(line, name)),
            })
        });
        named.collect()
    }

    fn is_idle(&self) -> bool {
        self.pool == 0.0
    }

    fn hand_out(&mut self, queue: &PoolQueue<'_>, before: Option<&[f64]>, tickets: &mut [f64]) {
        self.count_running(queue.running);
        let group = |job: usize| {
            let node = queue.waiting[job].node;
            self.of_node.get(node.index()).copied().flatten().map(|category| category as usize)
        };
        let groups = Groups::of(queue.waiting, self.categories.len(), before, group);
        let with_before = |_: usize, job: usize| before.map_or(0.0, |before| before[job]);
        let firsts = self.firsts();
        let parts = |group: usize| {
            let held = self.categories[group].into_iter().zip(firsts);
            held.filter_map(|(held, first)| {
                held.map(|held| Part { object: first + held.object, shares: held.shares })
            })
        };
        let mut ranking = Ranking::new(groups, firsts[KINDS] as usize, parts, with_before);
        ranking.refresh(|part| self.next_of(firsts, part));
        for _ in 0..self.most {
            let Some((group, job)) = ranking.next(with_before) else { break };
            let (category, sums) = (self.categories[group], self.sums());
            self.count(category, 1.0);
            tickets[job] = self.exact(&category);
            if self.sums() == sums {
                for (held, first) in category.into_iter().zip(firsts) {
                    if let Some(held) = held {
                        ranking.change(first + held.object, |part| self.next_of(firsts, part));
                    }
                }
            } else {
                ranking.refresh(|part| self.next_of(firsts, part));
            }
        }
        for group in 0..ranking.count() {
            let mut left = ranking.left(group).peekable();
            if left.peek().is_some() {
                let claim =
                    self.claim(&self.categories[group], |kind, held| self.sum_for_head(kind, held, 0.0));
                left.for_each(|job| tickets[job] = claim);
            }
        }
    }

    fn of_running(&self, _ground: Ground<'_>, job: Who) -> f64 {
        let Some(category) = self.category(job.node) else { return 0.0 };
        // Kinds without shares leave their part to the others.
        let weights: f64 =
            self.kinds.iter().filter(|kind| kind.sum_running > 0.0).map(|kind| kind.weight).sum();
        let of_kind = |(kind, held): (&FunctionalPart, &Option<Held>)| {
            let Some(held) = *held else { return 0.0 };
            let jobs = if self.shared { kind.running[held.object as usize].max(1.0) } else { 1.0 };
            part(self.pool * kind.weight, held.shares / jobs, kind.sum_running)
        };
        let tickets: f64 = self.kinds.iter().zip(category).map(of_kind).sum();
        if weights > 0.0 {
            tickets / weights
        } else {
            0.0
        }
    }

    fn of_next(&self, _ground: Ground<'_>, job: Who, _before: f64) -> f64 {
        let Some(category) = self.category(job.node) else { return 0.0 };
        self.claim(category, |kind, held| {
            let counted = self.shared && kind.active[held.object as usize] > 0.0;
            kind.sum + if counted { 0.0 } else { held.shares }
        })
    }

    fn join(&mut self, _ground: Ground<'_>, job: Who) {
        if let Some(category) = self.category(job.node).copied() {
            self.count(category, f64::from(job.count));
        }
    }
}

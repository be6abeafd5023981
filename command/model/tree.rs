//! Turns the associations of a snapshot into the form that the engine takes.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use multifactor2_core::books::BookAt;
use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, NodeSpec, ShareTree};
use multifactor2_snapshot::records::Association;
use multifactor2_snapshot::Snapshot;

use super::{Algorithm, Config, TreeWindows};

/// A tree that has every association, and every job where tickets depend on who waits. Shares and tickets are computed of this alone.
#[derive(Clone, Copy, Debug)]
pub struct WholeTree<'t>(&'t Tree);

impl Deref for WholeTree<'_> {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        self.0
    }
}

/// The associations as a tree, with the usage that shares go by.
#[derive(Debug)]
pub struct Tree {
    /// Shape and shares.
    pub shape: Arc<ShareTree>,
    /// Raw usage by node, decayed up to the time of the model.
    pub usage: Vec<f64>,
    /// What the share tree of each book goes by, by node; the default book first.
    measured: Vec<Vec<f64>>,
    /// The windows that the share tree goes by; `None` if it does not.
    pub windows: Option<TreeWindows>,
    nodes: Vec<Option<Node>>,
    associations: Vec<usize>,
    by_id: HashMap<u32, usize>,
    /// What is computed over it depends on who waits.
    by_queue: bool,
}

impl Tree {
    /// Of a snapshot, at a time.
    pub(super) fn of(snapshot: &Snapshot, config: &Config, at: i64) -> Self {
        let all = &snapshot.associations;
        let by_id: HashMap<u32, usize> =
            all.iter().enumerate().rev().map(|(place, association)| (association.id, place)).collect();
        let specs: Vec<NodeSpec> = all
            .iter()
            .map(|association| NodeSpec {
                parent: (association.parent != 0).then(|| {
                    let parent = by_id.get(&association.parent).and_then(|place| u32::try_from(*place).ok());
                    parent.unwrap_or(u32::MAX)
                }),
                shares: association.shares,
                user: !association.user.is_empty(),
            })
            .collect();
        let shape = Arc::new(ShareTree::build(&specs));
        let nodes: Vec<Option<Node>> = (0..all.len()).map(|place| shape.position(place)).collect();
        let mut associations = vec![0; shape.len()];
        for (place, node) in nodes.iter().enumerate() {
            if let Some(node) = node {
                associations[node.index()] = place;
            }
        }
        #[allow(clippy::cast_precision_loss)] // seconds
        let seconds = at.saturating_sub(snapshot.about.time) as f64;
        let over = decay_over(decay_factor(config.half_life), seconds);
        let by_node = |of: fn(&Association) -> f64, over: f64| -> Vec<f64> {
            associations.iter().map(|place| of(&all[*place]) * over).collect()
        };
        let usage = by_node(|association| association.usage, over);
        let settings = config.settings.as_ref();
        let find = |id| by_id.get(&id).and_then(|place: &usize| nodes[*place]);
        let windows = settings.and_then(Settings::tree_windows);
        let windows = windows.map(|of| TreeWindows::of(snapshot, of, at, (shape.len(), find)));
        let counts_for_tree = settings.is_some_and(Settings::counts_for_tree);
        // What there was to use decays as well, so that parts of it stay; what is in windows does not decay.
        let over = if counts_for_tree { 1.0 } else { over };
        let is_told = (counts_for_tree || !config.books.is_empty())
            && all.iter().any(|association| association.dominant.is_some());
        let mut measured = vec![match &windows {
            Some(windows) if windows.have_moved() => windows.usage_at(at),
            _ if is_told => by_node(|association| association.dominant.unwrap_or_default(), over),
            _ => usage.clone(),
        }];
        measured.resize_with(config.books.names().len() + 1, || vec![0.0; shape.len()]);
        let book_called = |name: &str| config.books.names().iter().position(|known| known == name);
        for record in &snapshot.book_associations {
            if let Some((book, node)) = book_called(&record.book).zip(find(record.association)) {
                measured[book + 1][node.index()] = record.usage * over;
            }
        }
        let by_queue = config.algorithm == Algorithm::Multifactor2;
        Self { shape, usage, measured, windows, nodes, associations, by_id, by_queue }
    }

    /// The whole tree; `None` if part of it, or of the waiting jobs, is hidden or was not requested.
    pub fn whole(&self, snapshot: &Snapshot) -> Option<WholeTree<'_>> {
        let is_whole = !self.shape.is_empty()
            && self.shape.len() == snapshot.associations.len()
            && !snapshot.about.partial_tree
            && !snapshot.about.only_jobs
            && !self.hides_competitors(snapshot);
        is_whole.then_some(WholeTree(self))
    }

    fn hides_competitors(&self, snapshot: &Snapshot) -> bool {
        self.by_queue && snapshot.about.partial_queue
    }

    /// What cannot be known because of what is missing.
    pub(super) fn note(&self, snapshot: &Snapshot) -> Option<String> {
        if self.whole(snapshot).is_some() || snapshot.associations.is_empty() {
            return None;
        }
        if snapshot.about.only_jobs {
            return Some(
                "Other users and jobs were not asked for, so FAIRSHARE and standings are what Slurm shows."
                    .to_owned(),
            );
        }
        if self.hides_competitors(snapshot) && !snapshot.about.partial_tree {
            return Some(
                "Tickets depend on all waiting jobs, and some are hidden: FAIRSHARE and standings are what Slurm shows. Ask as an operator, \
                 or use the snapshot of the plugin."
                    .to_owned(),
            );
        }
        Some(
            "Only some associations are visible, so shares of others and tickets cannot be computed: FAIRSHARE is what Slurm shows. Ask as \
             an operator, or use the snapshot of the plugin."
                .to_owned(),
        )
    }

    /// Where an association is in the tree, by its place in the snapshot.
    pub fn node(&self, association: usize) -> Option<Node> {
        self.nodes.get(association).copied().flatten()
    }

    /// The place in the snapshot of what is at a node.
    pub fn association(&self, node: Node) -> usize {
        self.associations[node.index()]
    }

    /// The place in the snapshot of the association with an id.
    pub fn by_id(&self, id: u32) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// From the root down to an association, by their places in the snapshot; only itself where it is not in the tree.
    pub fn path(&self, association: usize) -> Vec<usize> {
        let Some(node) = self.node(association) else { return vec![association] };
        let up = std::iter::successors(Some(node), |node| self.shape.parent(*node));
        let mut path: Vec<usize> = up.map(|node| self.association(node)).collect();
        path.reverse();
        path
    }

    /// The associations that compete with one for its level, by their places, itself among them; none for the root, and for one that
    /// does not compete. `shape` has the shares of the book.
    pub fn siblings(&self, shape: &ShareTree, association: usize) -> Vec<usize> {
        let Some(node) = self.node(association) else { return Vec::new() };
        let Some(parent) = shape.fair_share_parent(node).filter(|_| !shape.uses_parent(node)) else {
            return Vec::new();
        };
        let of_level =
            |other: &Node| shape.fair_share_parent(*other) == Some(parent) && !shape.uses_parent(*other);
        shape.nodes().filter(of_level).map(|node| self.association(node)).collect()
    }

    /// What users and accounts are called, by node.
    pub(super) fn names<'t, 's: 't>(&'t self, snapshot: &'s Snapshot) -> impl Fn(Node) -> Names<'s> + 't {
        |node| {
            let association = &snapshot.associations[self.association(node)];
            Names { user: &association.user, account: &association.account }
        }
    }

    /// The usage for the share tree of a book, by node.
    pub fn measured(&self, book: BookAt) -> &[f64] {
        self.measured.get(book.index()).unwrap_or(&self.measured[0])
    }

    /// What an association, by its place, has in all windows, each as it counts; `None` if the share tree uses no windows, or the snapshot
    /// lacks them.
    pub fn in_windows(&self, association: usize) -> Option<f64> {
        self.windows.as_ref().filter(|windows| !windows.are_lost())?;
        self.node(association).map(|node| self.measured[0][node.index()])
    }
}

impl WholeTree<'_> {
    /// The usage for the share tree of a book, with that of an association, and so of all above it, changed by an amount.
    pub fn measured_with(&self, book: BookAt, association: usize, change: f64) -> Vec<f64> {
        let mut measured = self.measured(book).to_owned();
        let mut next = self.node(association);
        while let Some(node) = next {
            let value = &mut measured[node.index()];
            *value = (*value + change).max(0.0);
            next = self.shape.parent(node);
        }
        measured
    }
}

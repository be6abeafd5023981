//! Random trees, and their way into engine and model.

use std::ops::Range;

use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree, USE_PARENT};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use multifactor2_fixtures::model::Association;

/// A distribution over the engine's tree, by index in the list of associations.
pub struct Engine {
    pub tree: ShareTree,
    pub fair_share: FairShare,
}

impl Engine {
    /// Distributes tickets; `order` is the order in which the tree gets to see the associations.
    pub fn run_in_order(associations: &[Association], order: &[usize]) -> (Self, Vec<Node>) {
        let place = |n: usize| u32::try_from(order.iter().position(|&at| at == n).unwrap()).unwrap();
        let specs: Vec<NodeSpec> = order
            .iter()
            .map(|&n| NodeSpec {
                parent: associations[n].parent.map(place),
                shares: associations[n].shares.unwrap_or(USE_PARENT),
                user: associations[n].user,
            })
            .collect();
        let tree = ShareTree::build(&specs);
        let nodes: Vec<Node> = (0..order.len())
            .map(|n| tree.position(place(n) as usize).expect("all are in the tree"))
            .collect();

        let mut engine = Self { tree, fair_share: FairShare::new() };
        engine.distribute(associations, &nodes);
        (engine, nodes)
    }

    /// Distributes them anew.
    pub fn distribute(&mut self, associations: &[Association], nodes: &[Node]) {
        let mut usage = vec![0.0; self.tree.len()];
        let mut waiting = vec![0; self.tree.len()];
        for (association, node) in associations.iter().zip(nodes) {
            usage[node.index()] = association.usage;
            waiting[node.index()] = u32::from(association.waiting);
        }
        self.fair_share.distribute(&self.tree, &usage, &waiting);
    }

    /// A user submits a job that waits.
    pub fn submit(&mut self, node: Node) -> f64 {
        self.fair_share.submit(&self.tree, node, true)
    }

    pub fn run(associations: &[Association]) -> (Self, Vec<Node>) {
        Self::run_in_order(associations, &(0..associations.len()).collect::<Vec<_>>())
    }
}

/// Shares as administrators set them, and as they should not.
pub fn any_shares() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![
        6 => (1_u32..100).prop_map(Some),
        1 => Just(Some(0)),
        2 => Just(None),
        1 => (1_u32..=0xffff_fffe).prop_map(|shares| (shares != USE_PARENT).then_some(shares)),
        1 => Just(Some(0xffff_fffe)),
    ]
}

pub fn plain_shares() -> impl Strategy<Value = Option<u32>> {
    (1_u32..1000).prop_map(Some)
}

/// Trees of any shape. Every leaf may be a user; usage adds up along the tree.
pub fn trees(
    sizes: Range<usize>,
    shares: impl Strategy<Value = Option<u32>>,
) -> impl Strategy<Value = Vec<Association>> {
    let usage = prop_oneof![2 => Just(0.0), 3 => 0.0..1e6, 1 => 0.0..1e15];
    let association = (
        any::<Index>(),
        prop::bool::weighted(0.3),
        shares,
        prop::bool::weighted(0.9),
        usage,
        prop::bool::weighted(0.4),
    );
    (vec(association, sizes), prop::bool::weighted(0.05)).prop_map(|(rows, idle)| {
        let mut tree: Vec<Association> = rows
            .into_iter()
            .enumerate()
            .map(|(n, (parent, deeper, shares, user, usage, waiting))| Association {
                parent: (n > 0).then(|| if deeper { n - 1 } else { parent.index(n) }),
                shares,
                user,
                usage: if idle { 0.0 } else { usage },
                waiting,
            })
            .collect();
        for n in (1..tree.len()).rev() {
            let parent = tree[n].parent.unwrap();
            tree[parent].usage += tree[n].usage;
            tree[parent].user = false;
        }
        tree[0].user = false;
        tree
    })
}

/// True if `above` is an ancestor of `n`.
pub fn is_below(tree: &[Association], n: usize, above: usize) -> bool {
    tree[n].parent.is_some_and(|parent| parent == above || is_below(tree, parent, above))
}

/// Equal but for rounding.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

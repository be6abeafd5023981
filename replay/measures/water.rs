//! Entitlement by water-filling: what each user would have got if the available amount had been divided by shares among those who wanted
//! some.
//!
//! At a node with an amount to divide, every child gets x = min(demand, λ·shares), with λ such that everything is given out or all demand
//! is met. Then each divides its x in the same way. So what an idle account leaves goes to its siblings, and no account counts as cheated
//! of what it did not request (flux-sched #282).

use multifactor2_core::{Node, ShareTree};

/// Demands and entitlements by [`Node::index`].
#[derive(Clone, Debug, Default)]
pub struct Water {
    children: Vec<Vec<Node>>,
    demands: Vec<f64>,
    given: Vec<f64>,
}

impl Water {
    /// For a tree.
    pub fn new(tree: &ShareTree) -> Self {
        let mut children = vec![Vec::new(); tree.len()];
        for node in tree.nodes() {
            if let Some(parent) = tree.parent(node) {
                children[parent.index()].push(node);
            }
        }
        Self { children, ..Self::default() }
    }

    /// Divides an amount. `demands` are those of users, by node; those of accounts are their sums.
    pub fn fill(&mut self, tree: &ShareTree, amount: f64, demands: &[f64]) -> &[f64] {
        self.demands.clear();
        self.demands.extend_from_slice(demands);
        self.demands.resize(tree.len(), 0.0);
        for node in tree.nodes().rev() {
            if let Some(parent) = tree.parent(node) {
                self.demands[parent.index()] += self.demands[node.index()];
            }
        }
        self.given.clear();
        self.given.resize(tree.len(), 0.0);
        let Some(root) = tree.root() else { return &self.given };
        self.given[root.index()] = amount.min(self.demands[root.index()]);
        for node in tree.nodes() {
            self.divide(tree, node);
        }
        &self.given
    }

    fn divide(&mut self, tree: &ShareTree, node: Node) {
        let Self { children, demands, given } = self;
        let mut level: Vec<(Node, f64, f64)> = children[node.index()]
            .iter()
            .map(|child| (*child, demands[child.index()], weight(tree, *child)))
            .filter(|(_, demand, _)| *demand > 0.0)
            .collect();
        // Those first that need the least for their shares: their demand is met whatever the others get.
        let fill = |(_, demand, shares): &(Node, f64, f64)| {
            if *shares > 0.0 {
                demand / shares
            } else {
                f64::INFINITY
            }
        };
        level.sort_by(|one, other| fill(one).total_cmp(&fill(other)));
        let mut left = given[node.index()];
        let mut shares: f64 = level.iter().map(|(_, _, shares)| shares).sum();
        for (child, demand, of_child) in level {
            let part = if shares > 0.0 && of_child > 0.0 { left * of_child / shares } else { left };
            let got = demand.min(part.max(0.0));
            given[child.index()] = got;
            left -= got;
            shares -= of_child;
        }
    }
}

/// Shares among siblings; one that draws on its parent's counts as one share.
fn weight(tree: &ShareTree, node: Node) -> f64 {
    if tree.uses_parent(node) {
        1.0
    } else {
        f64::from(tree.shares(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use multifactor2_core::NodeSpec;

    fn tree() -> ShareTree {
        let spec = |parent, shares, user| NodeSpec { parent, shares, user };
        ShareTree::build(&[
            spec(None, 1, false),
            spec(Some(0), 60, false),
            spec(Some(1), 1, true),
            spec(Some(0), 40, false),
            spec(Some(3), 1, true),
            spec(Some(3), 3, true),
        ])
    }

    fn given(amount: f64, demands: &[f64]) -> Vec<f64> {
        let tree = tree();
        Water::new(&tree).fill(&tree, amount, demands).to_vec()
    }

    #[test]
    fn by_shares_where_all_want_more() {
        let given = given(100.0, &[0.0, 0.0, 999.0, 0.0, 999.0, 999.0]);
        assert_eq!(given, [100.0, 60.0, 60.0, 40.0, 10.0, 30.0]);
    }

    #[test]
    fn what_one_leaves_goes_to_the_others() {
        assert_eq!(given(100.0, &[0.0, 0.0, 20.0, 0.0, 5.0, 999.0]), [100.0, 20.0, 20.0, 80.0, 5.0, 75.0]);
        assert_eq!(given(100.0, &[0.0, 0.0, 20.0, 0.0, 0.0, 0.0]), [20.0, 20.0, 20.0, 0.0, 0.0, 0.0]);
    }
}

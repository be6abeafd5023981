//! The association tree and its normalised shares.
//!
//! The shape changes only when an administrator changes associations, but usage changes in every cycle. So the shape is put once into flat
//! arrays in pre-order (a parent always precedes its children), and every later question is one linear scan.
//! [`FairShare`](super::FairShare) holds what changes.

/// The value of raw shares that `Fairshare=parent` is stored as.
pub const USE_PARENT: u32 = 0x7FFF_FFFF;

/// The smallest positive normalised share. Thousands of levels of divided shares would underflow to zero and take everybody's tickets;
/// shares below this value all count alike.
pub(crate) const SMALLEST_SHARE: f64 = 1e-300;

const NOWHERE: u32 = u32::MAX;

/// One association as its source knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Index of the parent association in the same slice; `None` for the root.
    pub parent: Option<u32>,
    /// Raw shares, or [`USE_PARENT`]. The root's are not used.
    pub shares: u32,
    /// True for the association of a user, false for an account.
    pub user: bool,
}

/// Position of an association in pre-order. Valid for the tree that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// The position as an index into arrays by node, below [`ShareTree::len`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Structure and normalised shares of an association tree; 37 bytes per association.
#[derive(Clone, Debug, Default)]
pub struct ShareTree {
    /// Pre-order position by input index, `NOWHERE` for associations that were left out.
    positions: Vec<u32>,
    /// The next three by position; the root is its own parent and fair-share parent.
    parents: Vec<u32>,
    fair_share_parents: Vec<u32>,
    shares: Vec<u32>,
    users: Vec<bool>,
    shares_norm: Vec<f64>,
    /// Raw shares without what those of all siblings have in common, 0 for `Fairshare=parent`: so it makes no difference by what the
    /// shares of a level are multiplied, not to the last bit.
    claims: Vec<u32>,
    /// By fair-share parent: the normalised share that one such share is.
    per_claim: Vec<f64>,
}

impl ShareTree {
    /// Builds the tree from associations in any order; siblings keep their input order.
    ///
    /// The first association without a parent is the root. What cannot be reached from it (further roots,
    /// orphans, cycles, parents out of range) is left out, see [`Self::position`].
    pub fn build(nodes: &[NodeSpec]) -> Self {
        let mut tree = Self { positions: vec![NOWHERE; nodes.len()], ..Self::default() };
        let Some(root) = nodes.iter().position(|node| node.parent.is_none()) else { return tree };

        let order = tree.place(nodes, root);
        tree.link(nodes, &order);
        tree.normalise();
        tree
    }

    /// Assigns positions in pre-order and returns the input index at each position.
    fn place(&mut self, nodes: &[NodeSpec], root: usize) -> Vec<u32> {
        let mut last_child = vec![NOWHERE; nodes.len()];
        let mut previous_sibling = vec![NOWHERE; nodes.len()];
        for (index, node) in (0..NOWHERE).zip(nodes) {
            let Some(parent) = node.parent else { continue };
            if let Some(last) = last_child.get_mut(parent as usize) {
                previous_sibling[index as usize] = std::mem::replace(last, index);
            }
        }

        // Every association has one parent, so that it is pushed at most once and cycles stay outside.
        let mut order = Vec::with_capacity(nodes.len());
        let mut stack: Vec<u32> = u32::try_from(root).into_iter().collect();
        while let Some(index) = stack.pop() {
            self.positions[index as usize] = u32::try_from(order.len()).unwrap_or(NOWHERE);
            order.push(index);
            let mut child = last_child[index as usize];
            while child != NOWHERE {
                stack.push(child);
                child = previous_sibling[child as usize];
            }
        }
        order
    }

    fn link(&mut self, nodes: &[NodeSpec], order: &[u32]) {
        self.shares = order.iter().map(|&index| nodes[index as usize].shares).collect();
        self.users = order.iter().map(|&index| nodes[index as usize].user).collect();
        let parent = |index: u32| nodes[index as usize].parent;
        self.parents = order
            .iter()
            .map(|&index| parent(index).map_or(0, |parent| self.positions[parent as usize]))
            .collect();
        self.relate();
    }

    /// Finds out whom each draws on: those above with `Fairshare=parent` are looked through.
    fn relate(&mut self) {
        self.fair_share_parents = Vec::with_capacity(self.parents.len());
        for &parent in &self.parents {
            let transparent = parent != 0 && self.shares[parent as usize] == USE_PARENT;
            self.fair_share_parents.push(if transparent {
                self.fair_share_parents[parent as usize]
            } else {
                parent
            });
        }
    }

    /// The same associations at the same places, with other shares.
    #[must_use]
    pub(crate) fn with_shares(&self, shares: impl Fn(Node) -> u32) -> Self {
        let mut tree = Self { shares: self.nodes().map(shares).collect(), ..self.clone() };
        tree.relate();
        if !tree.is_empty() {
            tree.normalise();
        }
        tree
    }

    fn normalise(&mut self) {
        let competing = || self.nodes().skip(1).filter(|&node| !self.uses_parent(node));
        let parent = |node: Node| self.fair_share_parents[node.index()] as usize;
        let mut common = vec![0_u32; self.len()];
        for node in competing() {
            let common = &mut common[parent(node)];
            *common = common_divisor(self.shares(node), *common);
        }
        let mut claims = vec![0_u32; self.len()];
        let mut sums = vec![0_u64; self.len()];
        for node in competing() {
            let claim = self.shares(node).checked_div(common[parent(node)]).unwrap_or(0);
            claims[node.index()] = claim;
            sums[parent(node)] += u64::from(claim);
        }

        let (mut shares_norm, mut per_claim) =
            (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        for node in self.nodes() {
            let of_parent = shares_norm.get(parent(node)).copied().unwrap_or(1.0);
            let own = if node.index() == 0 || self.uses_parent(node) {
                of_parent
            } else if claims[node.index()] == 0 || of_parent == 0.0 {
                0.0
            } else {
                let share = of_parent * f64::from(claims[node.index()]) / as_f64(sums[parent(node)]);
                share.max(SMALLEST_SHARE)
            };
            shares_norm.push(own);
            per_claim.push(own / as_f64(sums[node.index()].max(1)));
        }
        (self.shares_norm, self.claims, self.per_claim) = (shares_norm, claims, per_claim);
    }

    /// Number of associations in the tree, without those that were left out.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// True if there is no root.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The root association.
    pub fn root(&self) -> Option<Node> {
        (!self.is_empty()).then_some(Node(0))
    }

    /// All associations in pre-order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator + Clone {
        // A position fits u32: `place` numbers at most u32::MAX associations.
        (0..u32::try_from(self.len()).unwrap_or(NOWHERE)).map(Node)
    }

    /// Where the association with this index in the input of [`Self::build`] is; `None` if it was left out.
    pub fn position(&self, input: usize) -> Option<Node> {
        self.positions.get(input).copied().filter(|&position| position != NOWHERE).map(Node)
    }

    /// The association with an index below [`Self::len`].
    pub fn node(&self, index: u32) -> Option<Node> {
        ((index as usize) < self.len()).then_some(Node(index))
    }

    /// The parent association; `None` for the root.
    pub fn parent(&self, node: Node) -> Option<Node> {
        above(&self.parents, node)
    }

    /// The nearest ancestor that competes for tickets itself, whose tickets this association draws on; `None`
    /// for the root.
    pub fn fair_share_parent(&self, node: Node) -> Option<Node> {
        above(&self.fair_share_parents, node)
    }

    /// Raw shares; [`USE_PARENT`] for `Fairshare=parent`.
    pub fn shares(&self, node: Node) -> u32 {
        at(&self.shares, node)
    }

    /// S: the part of the whole cluster that the association is promised, from 0 to 1. With `Fairshare=parent` it is that of the fair-share
    /// parent.
    pub fn shares_norm(&self, node: Node) -> f64 {
        at(&self.shares_norm, node)
    }

    /// Raw shares without the common divisor of all siblings; 0 for the root and for `Fairshare=parent`. Multiplying all shares of a level
    /// by a number changes none of them.
    pub(crate) fn claim(&self, node: Node) -> u32 {
        at(&self.claims, node)
    }

    /// The normalised share that one of the claims ([`Self::claim`]) below an association is.
    pub(crate) fn shares_norm_per_claim(&self, fair_share_parent: Node) -> f64 {
        at(&self.per_claim, fair_share_parent)
    }

    /// True for `Fairshare=parent`: the association does not compete, its users draw on their account's
    /// tickets.
    pub fn uses_parent(&self, node: Node) -> bool {
        node != Node(0) && self.shares(node) == USE_PARENT
    }

    /// True for the association of a user.
    pub fn is_user(&self, node: Node) -> bool {
        at(&self.users, node)
    }

    /// Like [`Self::fair_share_parent`], for scans that start behind the root.
    pub(super) fn fair_share_parent_index(&self, node: Node) -> usize {
        at(&self.fair_share_parents, node) as usize
    }
}

fn above(table: &[u32], node: Node) -> Option<Node> {
    (node != Node(0)).then(|| table.get(node.index()).copied().map(Node)).flatten()
}

/// The value of a node; the type's zero for a node of another, larger tree.
pub fn at<T: Copy + Default>(values: &[T], node: Node) -> T {
    values.get(node.index()).copied().unwrap_or_default()
}

/// The largest number that divides both; 0 divides nothing, so the other one where one of them is 0.
fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A sum of 32 bit shares as a number to divide by; exact up to 2^53.
#[allow(clippy::cast_precision_loss)] // two million associations with the largest shares stay exact
fn as_f64(shares: u64) -> f64 {
    shares as f64
}

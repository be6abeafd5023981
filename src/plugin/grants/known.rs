//! Which grants associations are in, as of the last cycle, for answers that hold no lock of associations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use multifactor2_core::policy::pools::Names;
use multifactor2_core::rules::grants::Scopes;
use multifactor2_core::{Node, ShareTree};
use rustc_hash::FxHashMap;

use super::places::{add_others, Sets};
use crate::host::access::Open;
use crate::host::records::Job;

/// The places of sequences by association.
#[derive(Debug, Default)]
pub struct KnownGrants {
    /// By the names of all others that a job belongs to.
    pub scopes: Arc<Scopes>,
    /// The set of each node of the tree.
    by_node: Vec<u32>,
    sets: Sets,
    /// Those of an account and of all above it.
    by_account: FxHashMap<String, Vec<u32>>,
    /// The account above each one; an empty name for none. Nothing where no line is for accounts.
    pub parents: Arc<BTreeMap<String, String>>,
}

impl KnownGrants {
    /// Those of all associations that there are.
    pub fn of<'n>(
        scopes: &Arc<Scopes>,
        tree: &ShareTree,
        nodes: impl Iterator<Item = Node>,
        names: impl Fn(Node) -> Names<'n>,
    ) -> Self {
        let mut by_account = FxHashMap::<String, Vec<u32>>::default();
        let (mut by_node, mut sets) = (vec![0; tree.len()], Sets::default());
        let mut parents = BTreeMap::new();
        for node in nodes {
            let Names { user, account } = names(node);
            if !by_account.contains_key(account) {
                let up = || {
                    let nodes = std::iter::successors(Some(node), |node| tree.parent(*node));
                    nodes.map(|above| names(above).account)
                };
                if scopes.have_accounts() {
                    let above = up().find(|above| *above != account);
                    parents.insert(account.to_owned(), above.unwrap_or_default().to_owned());
                }
                by_account.insert(account.to_owned(), scopes.of_path(up()));
            }
            let above = by_account.get(account).map_or(&[][..], Vec::as_slice);
            let places: Vec<u32> = scopes.of_user(user).iter().chain(above).copied().collect();
            if let Some(of) = by_node.get_mut(node.index()) {
                *of = sets.number(&places);
            }
        }
        Self { scopes: Arc::clone(scopes), by_node, sets, by_account, parents: Arc::new(parents) }
    }

    /// Whether it was made from these.
    pub fn is_of(&self, scopes: &Arc<Scopes>) -> bool {
        Arc::ptr_eq(&self.scopes, scopes)
    }

    /// Those of a node: of its user, its account and all above it.
    pub fn of_node(&self, node: Node) -> &[u32] {
        self.sets.get(self.set_of(node))
    }

    /// The number of the same set.
    pub fn set_of(&self, node: Node) -> u32 {
        self.by_node.get(node.index()).copied().unwrap_or_default()
    }

    /// All sets, by their numbers.
    pub fn sets(&self) -> impl Iterator<Item = &[u32]> {
        self.sets.all()
    }

    /// Those of a job, but for those of QOS. `newcomer` has user and account of one whose association is newer.
    pub fn of_job<A: Open>(
        &self,
        job: Job<'_, A>,
        node: Option<Node>,
        newcomer: Option<&(String, String)>,
    ) -> Cow<'_, [u32]> {
        let places = match (node, newcomer) {
            (Some(node), _) => Cow::Borrowed(self.of_node(node)),
            (None, Some((user, account))) => {
                let of_account = self.by_account.get(account).map_or(&[][..], Vec::as_slice);
                Cow::Owned(self.scopes.of_user(user).iter().chain(of_account).copied().collect())
            }
            (None, None) => Cow::Borrowed(&[][..]),
        };
        if !self.scopes.have_others() {
            return places;
        }
        let mut places = places.into_owned();
        add_others(&self.scopes, job, &mut places);
        Cow::Owned(places)
    }
}

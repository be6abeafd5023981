//! Which grants associations are in, as the last cycle has found it: for answers that hold no lock of associations.

use std::collections::BTreeMap;
use std::sync::Arc;

use multifactor2_core::policy::pools::Names;
use multifactor2_core::rules::grants::Scopes;
use multifactor2_core::{Node, ShareTree};
use rustc_hash::FxHashMap;

use super::places::add_others;
use crate::host::access::Open;
use crate::host::records::Job;

/// The places of sequences by association.
#[derive(Debug, Default)]
pub struct KnownGrants {
    /// By the names of all others that a job belongs to.
    pub scopes: Arc<Scopes>,
    by_id: FxHashMap<u32, Vec<u32>>,
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
        ids: impl Iterator<Item = (u32, Node)>,
        names: impl Fn(Node) -> Names<'n>,
    ) -> Self {
        let (mut by_id, mut by_account) = (FxHashMap::default(), FxHashMap::<String, Vec<u32>>::default());
        let mut parents = BTreeMap::new();
        for (id, node) in ids {
            let Names { user, account } = names(node);
            if !by_account.contains_key(account) {
                if scopes.have_accounts() {
                    let above = std::iter::successors(Some(node), |node| tree.parent(*node));
                    let above = above.map(|above| names(above).account).find(|above| *above != account);
                    parents.insert(account.to_owned(), above.unwrap_or_default().to_owned());
                }
                let up = std::iter::successors(Some(node), |node| tree.parent(*node));
                let places = scopes.of_path(up.map(|above| names(above).account));
                by_account.insert(account.to_owned(), places);
            }
            let above = by_account.get(account).map_or(&[][..], Vec::as_slice);
            let places: Vec<u32> = scopes.of_user(user).iter().chain(above).copied().collect();
            if !places.is_empty() {
                by_id.insert(id, places);
            }
        }
        Self { scopes: Arc::clone(scopes), by_id, by_account, parents: Arc::new(parents) }
    }

    /// Whether it was made from these.
    pub fn is_of(&self, scopes: &Arc<Scopes>) -> bool {
        Arc::ptr_eq(&self.scopes, scopes)
    }

    /// Those of a job, but for those of QOS. `newcomer` has user and account of one whose association is newer.
    pub fn of_job<A: Open>(&self, job: Job<'_, A>, newcomer: Option<&(String, String)>) -> Vec<u32> {
        let (_, id) = job.named_association();
        let mut places = match (self.by_id.get(&id), newcomer) {
            (Some(places), _) => places.clone(),
            (None, Some((user, account))) => {
                let of_account = self.by_account.get(account).map_or(&[][..], Vec::as_slice);
                self.scopes.of_user(user).iter().chain(of_account).copied().collect()
            }
            (None, None) => Vec::new(),
        };
        add_others(&self.scopes, job, &mut places);
        places
    }
}

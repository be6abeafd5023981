//! The association tree of a workload, and its QOS.

use multifactor2_core::NodeSpec;

use super::{QosLimits, Workload};

/// The place of the root association.
pub const ROOT: u32 = 0;

/// An association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association {
    /// The place of its parent; `None` for the root.
    pub parent: Option<u32>,
    /// Its account, a place in [`Workload::accounts`].
    pub account: u32,
    /// Its user, a place in [`Workload::users`]; `None` for that of an account.
    pub user: Option<u32>,
    /// Raw shares, or [`USE_PARENT`](multifactor2_core::USE_PARENT).
    pub shares: u32,
    /// A source told its shares. Those of others are 1.
    pub is_listed: bool,
}

/// A QOS.
#[derive(Clone, Debug, PartialEq)]
pub struct Qos {
    /// What it is called; empty for that of jobs without one.
    pub name: String,
    /// Its priority.
    pub priority: u32,
    /// What usage of its jobs is multiplied with.
    pub usage_factor: f64,
    /// Its limits on running jobs; `None` where the source does not tell of limits.
    pub limits: Option<QosLimits>,
}

impl Qos {
    /// One of which nothing is known but its name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), priority: 0, usage_factor: 1.0, limits: None }
    }
}

impl Workload {
    /// The tree as the core takes it, in the order of [`Workload::associations`].
    pub fn node_specs(&self) -> Vec<NodeSpec> {
        let spec =
            |of: &Association| NodeSpec { parent: of.parent, shares: of.shares, user: of.user.is_some() };
        self.associations.iter().map(spec).collect()
    }

    /// What an association is called: `account`, or `account/user`.
    pub fn association_name(&self, place: u32) -> String {
        let of = &self.associations[place as usize];
        let account = self.accounts.name(of.account);
        match of.user {
            None => account.to_owned(),
            Some(user) => format!("{account}/{}", self.users.name(user)),
        }
    }
}

//! Series by user. They name only the users that were asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use multifactor2_snapshot::Snapshot;

use crate::error::Error;

/// The most users that `top=` gives.
pub const MOST_USERS: usize = 1000;

/// Users who have series of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Users {
    /// These.
    Named(BTreeSet<String>),
    /// So many, those with the largest usage.
    Top(usize),
}

impl FromStr for Users {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some(number) = text.strip_prefix("top=") {
            let number = number.parse().ok().filter(|number| (1..=MOST_USERS).contains(number));
            return number
                .map(Users::Top)
                .ok_or_else(|| format!("must be top=N with N from 1 to {MOST_USERS}").into());
        }
        let names: BTreeSet<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.contains("") || names.len() > MOST_USERS {
            return Err(format!("must be at most {MOST_USERS} names separated by commas, or top=N").into());
        }
        Ok(Users::Named(names))
    }
}

impl Users {
    /// The names of those that were asked for.
    pub(super) fn names<'s>(asked: Option<&'s Self>, snapshot: &'s Snapshot) -> BTreeSet<&'s str> {
        match asked {
            None => BTreeSet::new(),
            Some(Self::Named(names)) => names.iter().map(String::as_str).collect(),
            Some(Self::Top(most)) => {
                let mut usage = BTreeMap::<&str, f64>::new();
                for association in snapshot.associations.iter().filter(|association| !association.user.is_empty()) {
                    *usage.entry(&association.user).or_default() += association.usage;
                }
                let mut order: Vec<(&str, f64)> = usage.into_iter().collect();
                // By name where usage is the same, since the map is in order.
                order.sort_by(|a, b| b.1.total_cmp(&a.1));
                order.into_iter().take(*most).map(|(name, _)| name).collect()
            }
        }
    }
}

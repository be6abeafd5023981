//! Adds accounts and users that do not exist yet, as `sacctmgr add` would.

use std::str::FromStr;

use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::records::Association;

use super::apply::Changed;
use super::change::{ShareChange, Who};
use crate::error::Error;

/// A new account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    /// Its name.
    pub name: String,
    /// [`USE_PARENT`] for `parent`.
    pub shares: u32,
    /// The account above it.
    pub parent: String,
}

impl FromStr for NewAccount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const ALLOWED: &str = "give a name, its shares, and its parent account unless that is root, such as chem2=30@science";
        let (rest, parent) = text.split_once('@').unwrap_or((text, "root"));
        let ShareChange { who, shares } = rest.parse().map_err(|_| ALLOWED)?;
        if parent.is_empty() || !who.user.is_empty() {
            return Err(ALLOWED.into());
        }
        Ok(Self { name: who.account, shares, parent: parent.to_owned() })
    }
}

/// A new user of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUser(pub ShareChange);

impl FromStr for NewUser {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const ALLOWED: &str = "give a user, an account and shares, such as ann@chem=5";
        let change: ShareChange = text.parse().map_err(|_| ALLOWED)?;
        if change.who.user.is_empty() {
            return Err(ALLOWED.into());
        }
        Ok(Self(change))
    }
}

impl Changed {
    pub(super) fn new_account(&mut self, new: &NewAccount) -> Result<(), Error> {
        let parent = Who { user: String::new(), account: new.parent.clone() };
        let parent = self.snapshot.associations[self.find(&parent)?[0]].id;
        self.add(Who { user: String::new(), account: new.name.clone() }, parent, new.shares)?;
        self.said.push(format!("Added: account {} below {}, with {}.", new.name, new.parent, described(new.shares)));
        Ok(())
    }

    pub(super) fn new_user(&mut self, NewUser(ShareChange { who, shares }): &NewUser) -> Result<(), Error> {
        let account = Who { user: String::new(), account: who.account.clone() };
        let parent = self.snapshot.associations[self.find(&account)?[0]].id;
        self.add(who.clone(), parent, *shares)?;
        self.said.push(format!("Added: {who}, with {}.", described(*shares)));
        Ok(())
    }

    /// An association without usage.
    fn add(&mut self, who: Who, parent: u32, shares: u32) -> Result<(), Error> {
        let all = &mut self.snapshot.associations;
        if all.iter().any(|one| one.user == who.user && one.account == who.account && one.partition.is_empty()) {
            return Err(format!("{who} exists already: change its shares with --shares").into());
        }
        let id = all.iter().map(|one| one.id).max().unwrap_or(0).saturating_add(1);
        let is_dominant = all.iter().any(|one| one.dominant.is_some());
        all.push(Association {
            id,
            parent,
            account: who.account,
            user: who.user,
            shares,
            dominant: is_dominant.then_some(0.0),
            ..Association::default()
        });
        Ok(())
    }
}

fn described(shares: u32) -> String {
    if shares == USE_PARENT { "Fairshare=parent".to_owned() } else { format!("{shares} shares") }
}

//! Finds the grants that a job is in, by the names of its user, account and so on.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::lines::Key;
use crate::settings::GrantKind;

/// Places by name. Short names and places are in the table itself: a cycle looks up thousands, and would wait for every separate piece of
/// memory.
type ByName = FxHashMap<SmallVec<[u8; 24]>, SmallVec<[u32; 2]>>;

/// The places of sequences by the names that they have. Filters of partitions are not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scopes {
    accounts: ByName,
    users: ByName,
    groups: FxHashMap<u32, SmallVec<[u32; 2]>>,
    qos: ByName,
    wckeys: ByName,
}

impl Scopes {
    /// Those of sequences, by whose they are; `gid` says which number a Unix group has.
    pub fn of<'k>(keys: impl Iterator<Item = &'k Key>, gid: impl Fn(&str) -> Option<u32>) -> Self {
        let mut scopes = Self::default();
        for (place, key) in (0..).zip(keys) {
            let name = SmallVec::from_slice(key.name.as_bytes());
            let of = match key.kind {
                GrantKind::Account => scopes.accounts.entry(name),
                GrantKind::User => scopes.users.entry(name),
                GrantKind::Qos => scopes.qos.entry(name),
                GrantKind::WcKey => scopes.wckeys.entry(name),
                GrantKind::Group => {
                    if let Some(gid) = key.name.parse().ok().or_else(|| gid(&key.name)) {
                        scopes.groups.entry(gid).or_default().push(place);
                    }
                    continue;
                }
            };
            of.or_default().push(place);
        }
        scopes
    }

    /// Those of an account and of all above it: `up` names them from the lowest on. An association of a user names its account, as the
    /// account's own association does.
    pub fn of_path(&self, up: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<u32> {
        let mut places = Vec::new();
        let mut last = None;
        for account in up {
            if last.as_ref().is_none_or(|last: &_| AsRef::<str>::as_ref(last) != account.as_ref()) {
                places.extend(self.of_account(account.as_ref()));
                last = Some(account);
            }
        }
        places
    }

    /// Those of an account itself.
    pub fn of_account(&self, name: &str) -> &[u32] {
        found(&self.accounts, name)
    }

    /// Those of a user.
    pub fn of_user(&self, name: &str) -> &[u32] {
        found(&self.users, name)
    }

    /// Those of a Unix group.
    pub fn of_group(&self, gid: Option<u32>) -> &[u32] {
        gid.and_then(|gid| self.groups.get(&gid)).map_or(&[], SmallVec::as_slice)
    }

    /// Those of a QOS.
    pub fn of_qos(&self, name: &str) -> &[u32] {
        found(&self.qos, name)
    }

    /// Those of a wckey, without the star of a default one.
    pub fn of_wckey(&self, name: &str) -> &[u32] {
        found(&self.wckeys, name)
    }

    /// Whether accounts are.
    pub fn have_accounts(&self) -> bool {
        !self.accounts.is_empty()
    }

    /// Whether Unix groups or wckeys are asked for, which belong to a job and not to its association.
    pub fn have_others(&self) -> bool {
        self.have_groups() || self.have_wckeys()
    }

    /// Whether Unix groups are asked for.
    pub fn have_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether QOS are.
    pub fn have_qos(&self) -> bool {
        !self.qos.is_empty()
    }

    /// Whether wckeys are.
    pub fn have_wckeys(&self) -> bool {
        !self.wckeys.is_empty()
    }
}

fn found<'s>(of: &'s ByName, name: &str) -> &'s [u32] {
    of.get(name.as_bytes()).map_or(&[], SmallVec::as_slice)
}

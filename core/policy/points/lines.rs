//! Whom the lines of settings name.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::settings::{CredentialKind, ServiceKind, TargetKind};

/// What can have a priority, a promise or a target, in the order of the parts of CRED and FS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    User,
    Group,
    Account,
    Parent,
    Qos,
    Partition,
}

impl LineKind {
    /// Whether books can have targets of it.
    pub(super) fn is_in_books(self) -> bool {
        matches!(self, Self::User | Self::Account | Self::Parent)
    }
}

/// How many kinds there are.
pub(super) const KINDS: usize = 6;

macro_rules! kinds {
    ($($of:ident: $($kind:ident)+;)+) => {
        $(impl From<$of> for LineKind {
            fn from(kind: $of) -> Self {
                match kind {
                    $($of::$kind => Self::$kind,)+
                }
            }
        })+
    };
}

kinds! {
    CredentialKind: User Group Account Parent Qos Partition;
    TargetKind: User Group Account Parent Qos Partition;
    ServiceKind: Qos Partition;
}

/// A name as it is compared with others. Slurm keeps accounts and QOS in small letters, all else as it is.
pub(super) fn folded(kind: LineKind, name: &str) -> Cow<'_, str> {
    let differs = name.bytes().any(|letter| letter.is_ascii_uppercase());
    match kind {
        LineKind::Account | LineKind::Parent | LineKind::Qos if differs => name.to_ascii_lowercase().into(),
        _ => name.into(),
    }
}

/// What the lines of one kind say of each name, the first that names it, and of all others.
#[derive(Clone, Debug)]
pub(super) struct ByName<T> {
    named: FxHashMap<String, T>,
    others: Option<T>,
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self { named: FxHashMap::default(), others: None }
    }
}

impl<T: Clone> ByName<T> {
    pub(super) fn insert(&mut self, kind: LineKind, names: &[String], value: T) {
        for name in names {
            if name == "*" {
                self.others.get_or_insert(value.clone());
            } else {
                self.named.entry(folded(kind, name).into_owned()).or_insert(value.clone());
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.others.is_none()
    }

    /// What holds for an object.
    pub(super) fn get(&self, kind: LineKind, name: &str) -> Option<&T> {
        self.own(kind, name).or(self.of_others())
    }

    /// What a line says that names it.
    pub(super) fn own(&self, kind: LineKind, name: &str) -> Option<&T> {
        self.named.get(folded(kind, name).as_ref())
    }

    /// What all lines say.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.named.values().chain(&self.others)
    }

    pub(super) fn of_others(&self) -> Option<&T> {
        self.others.as_ref()
    }
}

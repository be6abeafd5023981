//! The settings that name nobody, for a file that everybody may read.
//!
//! Each kind of line is listed by name, so that a new kind does not compile until somebody has decided about it.

use super::{
    ChargeKind, ComponentKind, CredentialKind, GrantKind, OverrideKind, ServiceKind, Settings, TargetKind,
};

/// Settings without the lines that name users, accounts, Unix groups, wckeys, jobs or reservations.
#[derive(Clone, Debug, PartialEq)]
pub struct Public {
    /// The others, in force as before.
    pub settings: Settings,
    /// How many lines were left out.
    pub withheld: usize,
}

/// Who or what a line names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Nothing,
    Partitions,
    /// Slurm tells everybody of QOS.
    Qos,
    /// Users, accounts, Unix groups, wckeys, jobs, reservations.
    Somebody,
}

impl Settings {
    /// The settings that everybody may know; with `partitions` also lines that name partitions.
    ///
    /// The path of the snapshot and its readers are left out, with their Unix group.
    pub fn public(&self, partitions: bool) -> Public {
        let mut settings = self.clone();
        let is_public = |names: Names| match names {
            Names::Nothing | Names::Qos => true,
            Names::Partitions => partitions,
            Names::Somebody => false,
        };
        settings.overrides.retain(|line| {
            is_public(match line.kind {
                OverrideKind::Qos => Names::Qos,
                OverrideKind::Partition => Names::Partitions,
                OverrideKind::User
                | OverrideKind::Account
                | OverrideKind::Parent
                | OverrideKind::WcKey
                | OverrideKind::Job => Names::Somebody,
            })
        });
        settings.functional.retain(|line| line.names.iter().all(|name| name == "*"));
        settings.components.retain(|line| {
            // All kinds are about jobs at large.
            let (ComponentKind::Cred
            | ComponentKind::Fs
            | ComponentKind::Res
            | ComponentKind::Serv
            | ComponentKind::Target
            | ComponentKind::Usage
            | ComponentKind::Urgency
            | ComponentKind::Attr) = line.component;
            is_public(if line.partitions.is_none() { Names::Nothing } else { Names::Partitions })
        });
        settings.credentials.retain(|line| {
            is_public(match line.kind {
                CredentialKind::Qos => Names::Qos,
                CredentialKind::Partition => Names::Partitions,
                CredentialKind::User
                | CredentialKind::Group
                | CredentialKind::Account
                | CredentialKind::Parent => Names::Somebody,
            })
        });
        settings.services.retain(|line| {
            is_public(match line.kind {
                ServiceKind::Qos => Names::Qos,
                ServiceKind::Partition => Names::Partitions,
            })
        });
        settings.targets.retain(|line| {
            is_public(match line.kind {
                TargetKind::Qos => Names::Qos,
                TargetKind::Partition => Names::Partitions,
                TargetKind::User | TargetKind::Group | TargetKind::Account | TargetKind::Parent => {
                    Names::Somebody
                }
            })
        });
        settings.charges.retain(|line| {
            is_public(match line.kind {
                ChargeKind::Requeued => Names::Nothing,
                ChargeKind::Qos => Names::Qos,
                ChargeKind::Partition => Names::Partitions,
                ChargeKind::Reservation | ChargeKind::WcKey | ChargeKind::Account | ChargeKind::Parent => {
                    Names::Somebody
                }
            })
        });
        settings.books.retain(|line| {
            // Shares are those of accounts.
            is_public(if line.shares.is_none() { Names::Partitions } else { Names::Somebody })
        });
        // Their adjustments name a grant by its name: with QOS that is no secret either.
        let of_grant = |kind: GrantKind| {
            is_public(match kind {
                GrantKind::Qos => Names::Qos,
                GrantKind::Account | GrantKind::User | GrantKind::Group | GrantKind::WcKey => Names::Somebody,
            })
        };
        let books = settings.books.clone();
        let is_told = |of: &Option<Vec<String>>, book: &Option<String>| {
            let has_book = |name: &String| books.iter().any(|line| line.name.eq_ignore_ascii_case(name));
            (of.is_none() || partitions) && book.as_ref().is_none_or(has_book)
        };
        settings.grants.retain(|line| of_grant(line.kind) && is_told(&line.partitions, &line.book));
        settings.adjusts.retain(|line| of_grant(line.kind) && is_told(&line.partitions, &line.book));
        if settings.snapshot_readers().is_some() {
            let default = Settings::default();
            (settings.snapshot_group, settings.snapshot_mode) =
                (default.snapshot_group, default.snapshot_mode);
        }
        let withheld = self.lines().len() - settings.lines().len();
        Public { settings, withheld }
    }
}

//! Reads and writes associations and QOS, and their usage.

use std::cell::Cell;
use std::ffi::c_char;

use super::{cells, Association, AssociationUsage, Qos, QosUsage};
use crate::host::access::{Open, Write};
use crate::host::constants::QOS_FLAG_NO_DECAY;
use crate::host::long_double::LongDoubles;

impl<'a, A: Open> Association<'a, A> {
    /// Its usage record, which is never absent in slurmctld.
    pub fn usage(self) -> Option<AssociationUsage<'a, A>> {
        self.follow(|assoc| assoc.usage)
    }

    /// Usage charged to the association itself; from 22.05 on. Often the same record as [`Association::usage`].
    pub fn leaf_usage(self) -> Option<AssociationUsage<'a, A>> {
        let field = self.layout().leaf_usage?;
        self.follow(|_| field)
    }

    /// True for a leaf of the tree, an association with a user.
    pub fn is_user(self) -> bool {
        !self.get(|assoc| assoc.user).is_null()
    }
}

impl Association<'_, Write> {
    /// Frees the leaf usage if it is a separate record, as a reset of the usage does.
    pub fn drop_leaf_usage(self) {
        let (Some(field), Some(leaf)) = (self.layout().leaf_usage, self.leaf_usage()) else { return };
        if self.usage().is_some_and(|usage| usage == leaf) {
            return;
        }
        // SAFETY: a usage record that only this association points to; the pointer is cleared with it.
        unsafe { (self.host().sym.slurmdb_destroy_assoc_usage)(leaf.as_ptr().cast()) };
        self.set(|_| field, std::ptr::null_mut());
    }
}

impl<'a, A: Open> AssociationUsage<'a, A> {
    /// The parent in the tree.
    pub fn parent(self) -> Option<Association<'a, A>> {
        self.follow(|usage| usage.parent_assoc_ptr)
    }
}

impl<'a> AssociationUsage<'a, Write> {
    /// Raw usage by TRES.
    pub fn tres_raw(self) -> LongDoubles<'a> {
        // SAFETY: one long double per TRES, under the association lock.
        unsafe { LongDoubles::of(self.layout().usage_tres_raw, self.as_ptr(), self.host().tres_count()) }
    }

    /// TRES seconds of running jobs that count against run-minute limits.
    pub fn run_seconds(self) -> &'a [Cell<u64>] {
        // SAFETY: one entry per TRES, under the association write lock.
        unsafe { cells(self.get(|usage| usage.grp_used_tres_run_secs), self.host.tres_count()) }
    }
}

impl<'a, A: Open> Qos<'a, A> {
    /// Its usage record.
    pub fn usage(self) -> Option<QosUsage<'a, A>> {
        self.follow(|qos| qos.usage)
    }

    /// `QOS_FLAG_NO_DECAY`
    pub fn is_undecayed(self) -> bool {
        self.get(|qos| qos.flags) & QOS_FLAG_NO_DECAY != 0
    }
}

impl<'a> QosUsage<'a, Write> {
    /// Raw usage by TRES.
    pub fn tres_raw(self) -> LongDoubles<'a> {
        // SAFETY: one long double per TRES, under the QOS lock.
        unsafe { LongDoubles::of(self.layout().usage_tres_raw, self.as_ptr(), self.host().tres_count()) }
    }

    /// TRES seconds of running jobs that count against run-minute limits.
    pub fn run_seconds(self) -> &'a [Cell<u64>] {
        // SAFETY: one entry per TRES, under the QOS write lock.
        unsafe { cells(self.get(|usage| usage.grp_used_tres_run_secs), self.host.tres_count()) }
    }

    /// Run seconds that count against the limits of one account and one user within the QOS; from 24.05 on.
    pub fn run_seconds_of(self, association: Association<'_>, user_id: u32) -> [&'a [Cell<u64>]; 2] {
        let host = self.host();
        // The functions are older than what they are needed for here: before 24.05 slurmctld counts nothing there.
        let functions = host.sym.acct_used_limits.zip(host.sym.user_used_limits);
        let Some((by_account, by_user)) = functions.filter(|_| host.counts_run_seconds_of_users()) else {
            return [&[], &[]];
        };
        let layout = self.layout();
        let name: *mut c_char = association.get(|assoc| assoc.acct).cast();
        // SAFETY: the functions take the address of a list pointer inside the record, make the entry where there
        // is none and return it; the QOS write lock is held.
        let entries = unsafe {
            [
                by_account(layout.acct_limit_list.address(self.as_ptr()).cast(), name),
                by_user(layout.user_limit_list.address(self.as_ptr()).cast(), user_id),
            ]
        };
        entries.map(|entry| {
            if entry.is_null() {
                return &[][..];
            }
            // SAFETY: a live `slurmdb_used_limits_t`, whose array has one entry per TRES.
            unsafe { cells(host.layout.used_limits.tres_run_secs.get(entry.cast()), host.tres_count()) }
        })
    }
}

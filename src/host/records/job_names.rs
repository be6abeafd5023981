//! The names of a job that ticket pools use: its wckey, the administrator's comment, and the array or heterogeneous job that it is part of.

use std::borrow::Cow;

use super::Job;
use crate::host::access::Open;
use crate::host::constants::NO_VAL;

impl<'a, A: Open> Job<'a, A> {
    /// The wckey, empty for none. Slurm marks a user's default one by a star before it, which is no part of it.
    pub fn wckey(self) -> Cow<'a, str> {
        without_mark(self.text(|job| job.wckey))
    }

    /// The reservations that it requests, separated by commas; empty for none. No self-check covers it, so it is read only in a release
    /// that was compared.
    pub fn reservations_asked_for(self) -> Cow<'a, str> {
        if self.host().verified {
            self.text(|job| job.resv_name)
        } else {
            Cow::Borrowed("")
        }
    }

    /// `AdminComment`, empty for none.
    pub fn admin_comment(self) -> Cow<'a, str> {
        self.text(|job| job.admin_comment)
    }

    /// The id of the job array that it belongs to, and which task of it it is; all tasks that have not left the array yet
    /// are one job without a task.
    pub fn array(self) -> Option<(u32, Option<u32>)> {
        array_of(self.get(|job| job.array_job_id), self.get(|job| job.array_task_id))
    }

    /// The id of the leader of the heterogeneous job that it is a component of; its own for the leader.
    pub fn het_leader(self) -> Option<u32> {
        some(self.get(|job| job.het_job_id))
    }
}

fn without_mark(wckey: Cow<'_, str>) -> Cow<'_, str> {
    match wckey {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix('*').unwrap_or(text)),
        Cow::Owned(text) => Cow::Owned(text.strip_prefix('*').map_or_else(|| text.clone(), str::to_owned)),
    }
}

fn array_of(job_id: u32, task_id: u32) -> Option<(u32, Option<u32>)> {
    Some((some(job_id)?, Some(task_id).filter(|task| *task != NO_VAL)))
}

/// An id; 0 stands for none, and so does `NO_VAL`.
fn some(id: u32) -> Option<u32> {
    Some(id).filter(|id| *id != 0 && *id != NO_VAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_star_of_a_default_wckey_is_no_part_of_it() {
        for (stored, name) in [("", ""), ("a", "a"), ("*a", "a"), ("**a", "*a"), ("a*", "a*"), ("*", "")] {
            assert_eq!(without_mark(Cow::Borrowed(stored)), name);
            assert_eq!(without_mark(Cow::Owned(stored.to_owned())), name);
        }
    }

    #[test]
    fn ids_that_stand_for_none_are_none() {
        assert_eq!(array_of(0, NO_VAL), None);
        assert_eq!(array_of(0, 0), None);
        assert_eq!(array_of(NO_VAL, 1), None);
        assert_eq!(array_of(7, NO_VAL), Some((7, None)));
        assert_eq!(array_of(7, 0), Some((7, Some(0))));
        assert_eq!((some(0), some(NO_VAL), some(5)), (None, None, Some(5)));
    }
}

//! `slurm_conf`: the configuration as the running slurmctld has it.
//!
//! A number is read when it is needed, without a lock, as everywhere in slurmctld. A text is not: slurmctld frees it when it reads
//! slurm.conf again, and none of its locks is held at every call that tells the plugin of a new configuration (up to 22.05 a SIGHUP may
//! arrive during `scontrol reconfigure`). So no pointer to a text leaves this module. A text is copied under the mutex under which every
//! release replaces all texts (`conf_lock` of `read_config.c`). Nothing else is taken under that mutex, so it can be taken anywhere.

use std::ffi::{CStr, CString};

use multifactor2_core::calendar::ResetPeriod;

use super::constants;
use super::layout::{ConfLayout, Field, Ptr};
use super::Host;

/// What a field of `slurm_conf` may be to be read without a lock.
pub trait Number: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($type:ty)*) => { $( impl sealed::Sealed for $type {} impl Number for $type {} )* };
}

numbers!(u16 u32 u64);

/// The numbers of `slurm_conf`.
#[derive(Clone, Copy, Debug)]
pub struct Conf(&'static Host);

impl Conf {
    /// `PriorityUsageResetPeriod`
    pub fn reset_period(self) -> ResetPeriod {
        reset_period(self.get(|conf| conf.priority_reset_period))
    }

    /// Reads a number.
    pub fn get<T: Number>(self, pick: impl FnOnce(&'static ConfLayout) -> Field<ConfLayout, T>) -> T {
        // SAFETY: an object of the host that lives as long as the process, in the layout of the running release.
        unsafe { pick(&self.0.layout.conf).get(self.0.sym.slurm_conf) }
    }
}

/// The mutex of slurmctld's configuration, held.
struct Texts<'h>(&'h Host);

impl<'h> Texts<'h> {
    fn lock(host: &'h Host) -> Self {
        // SAFETY: no arguments; released by the guard. What comes back is the address of `slurm_conf`.
        unsafe { (host.sym.conf_lock)() };
        Self(host)
    }

    /// Where a text begins; null for none. It is there as long as the mutex is held.
    fn address(&self, pick: impl FnOnce(&ConfLayout) -> Field<ConfLayout, Ptr>) -> Ptr {
        // SAFETY: as in `Conf::get`.
        unsafe { pick(&self.0.layout.conf).get(self.0.sym.slurm_conf) }
    }
}

impl Drop for Texts<'_> {
    fn drop(&mut self) {
        // SAFETY: counterpart of the lock taken in `lock`, on the same thread.
        unsafe { (self.0.sym.conf_unlock)() }
    }
}

impl Host {
    /// The numbers of `slurm_conf`.
    pub fn conf(&'static self) -> Conf {
        Conf(self)
    }

    /// A copy of a text of `slurm_conf`; empty for none.
    pub fn conf_text(&self, pick: impl FnOnce(&ConfLayout) -> Field<ConfLayout, Ptr>) -> String {
        self.copy_conf_text(pick).map_or_else(String::new, |text| text.to_string_lossy().into_owned())
    }

    fn copy_conf_text(&self, pick: impl FnOnce(&ConfLayout) -> Field<ConfLayout, Ptr>) -> Option<CString> {
        let texts = Texts::lock(self);
        let text = texts.address(pick);
        // SAFETY: terminated, and not freed while the mutex is held, which lives longer than the copying.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text.cast()) }.to_owned())
    }

    /// Lets `look` have the address at which a text should be, before the layout is trusted: to be looked at through the kernel only.
    pub(super) fn at_conf_text<T>(
        &self,
        pick: impl FnOnce(&ConfLayout) -> Field<ConfLayout, Ptr>,
        look: impl FnOnce(usize) -> T,
    ) -> T {
        let texts = Texts::lock(self);
        look(texts.address(pick) as usize)
    }

    /// The weights of `PriorityWeightTRES`, one per TRES; `None` where it is not set. A value that Slurm
    /// cannot read is fatal in Slurm itself.
    pub fn tres_weights(&self) -> Option<Vec<f64>> {
        let text = self.copy_conf_text(|conf| conf.priority_weight_tres)?;
        let count = self.tres_count();
        // SAFETY: a terminated string, which is only read; the array that comes back has `count` entries and is ours to free.
        unsafe {
            let weights =
                (self.sym.tres_weight_array)(text.as_ptr(), i32::try_from(count).unwrap_or(i32::MAX), true);
            if weights.is_null() {
                return None;
            }
            let copy = std::slice::from_raw_parts(weights, count).to_vec();
            self.free(weights.cast());
            Some(copy)
        }
    }
}

/// The period that a number of `slurm_conf` stands for. Slurm checks the value.
fn reset_period(number: u16) -> ResetPeriod {
    match number {
        constants::PRIORITY_RESET_NOW => ResetPeriod::Now,
        constants::PRIORITY_RESET_DAILY => ResetPeriod::Daily,
        constants::PRIORITY_RESET_WEEKLY => ResetPeriod::Weekly,
        constants::PRIORITY_RESET_MONTHLY => ResetPeriod::Monthly,
        constants::PRIORITY_RESET_QUARTERLY => ResetPeriod::Quarterly,
        constants::PRIORITY_RESET_YEARLY => ResetPeriod::Yearly,
        _ => ResetPeriod::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_periods_are_those_of_slurm_conf() {
        let numbers = [
            0,
            constants::PRIORITY_RESET_NOW,
            constants::PRIORITY_RESET_DAILY,
            constants::PRIORITY_RESET_WEEKLY,
            constants::PRIORITY_RESET_MONTHLY,
            constants::PRIORITY_RESET_QUARTERLY,
            constants::PRIORITY_RESET_YEARLY,
        ];
        let words = ["NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"];
        assert_eq!(numbers.map(|number| reset_period(number).word()), words);
    }
}

//! The factors that `sprio` shows: our records, in memory of the host.

use std::cell::Cell;

use multifactor2_core::factors::Evaluation;

use super::{cells, PriorityFactors};

impl<'a> PriorityFactors<'a> {
    /// Writes what a priority is made of, but for TRES.
    pub fn write(self, evaluation: &Evaluation) {
        self.set(|f| f.nice, evaluation.nice);
        self.set(|f| f.priority_age, evaluation.age);
        self.set(|f| f.priority_assoc, evaluation.assoc);
        self.set(|f| f.priority_fs, evaluation.fair_share);
        self.set(|f| f.priority_js, evaluation.job_size);
        self.set(|f| f.priority_part, evaluation.partition);
        self.set(|f| f.priority_qos, evaluation.qos);
        self.set(|f| f.priority_site, evaluation.site);
    }

    /// Weighted TRES factors, one per TRES, and their weights: allocated as the host expects to free them.
    pub fn tres_arrays(self, weights: &[f64]) -> &'a [Cell<f64>] {
        let host = self.host();
        let count = weights.len();
        let kept = usize::try_from(self.get(|factors| factors.tres_cnt)).unwrap_or(0);
        let present = !self.get(|factors| factors.priority_tres).is_null()
            && !self.get(|factors| factors.tres_weights).is_null();
        if !present || kept != count {
            self.drop_tres_arrays();
            self.set(|factors| factors.priority_tres, host.allocate(count, size_of::<f64>()));
            self.set(|factors| factors.tres_weights, host.allocate(count, size_of::<f64>()));
            self.set(|factors| factors.tres_cnt, u32::try_from(count).unwrap_or(0));
        }
        // SAFETY: `count` doubles each, allocated above or in an earlier cycle with the same count; this record's arrays are
        // reached by nobody else.
        let [kept_weights, products] = unsafe {
            [self.get(|factors| factors.tres_weights), self.get(|factors| factors.priority_tres)]
                .map(|array| cells::<f64>(array, count))
        };
        for (kept, weight) in kept_weights.iter().zip(weights) {
            kept.set(*weight);
        }
        products
    }

    /// Frees the TRES arrays.
    pub fn drop_tres_arrays(self) {
        // SAFETY: arrays of the host's allocator that only this record points to.
        unsafe {
            self.host().free(self.get(|factors| factors.priority_tres));
            self.host().free(self.get(|factors| factors.tres_weights));
        }
        self.set(|factors| factors.priority_tres, std::ptr::null_mut());
        self.set(|factors| factors.tres_weights, std::ptr::null_mut());
        self.set(|factors| factors.tres_cnt, 0);
    }
}

//! Sorts the charges of many jobs by the owners of usage that they go to.
//!
//! A job is charged to its association and to all above it. Charged job by job, the same few records would be read and written for every
//! job. Sorted by owner, each is read and written once, and its sum is formed in registers. The charges of an owner keep the order of the
//! jobs, because a sum of floating-point numbers depends on it. Seconds are integers, which are summed from the bottom of the tree to its
//! top.

/// Which charges go to which owner of usage, and the seconds that they release there.
#[derive(Debug, Default)]
pub struct Ledger {
    /// TRES of which seconds are released.
    width: usize,
    /// By owner, the one above it, which comes before it.
    above: Vec<Option<u32>>,
    /// By owner and TRES, sums of released seconds.
    released: Vec<u64>,
    /// All bits that are set in any summand of these: none is larger.
    bits: u64,
    /// Charges in the order of jobs, each with the lowest owner that it goes to.
    entries: Vec<(u32, u32)>,
    /// Once sorted: by owner, where its charges end; those of the next begin there.
    ends: Vec<usize>,
    /// Once sorted: charges, by owner and in the order of jobs.
    sorted: Vec<u32>,
}

impl Ledger {
    /// Forgets all owners and charges; from now on seconds of `width` TRES are released.
    pub fn clear(&mut self, width: usize) {
        self.width = width;
        self.above.clear();
        self.released.clear();
        self.bits = 0;
        self.entries.clear();
        self.ends.clear();
        self.sorted.clear();
    }

    /// A new owner, below one that there is already; returns its number. The first is 0; there are fewer than 2^32.
    pub fn add_owner(&mut self, above: Option<u32>) -> u32 {
        let number = u32::try_from(self.above.len()).unwrap_or(u32::MAX);
        debug_assert!(above.is_none_or(|above| above < number), "owner {above:?} is not there yet");
        self.above.push(above);
        self.released.resize(self.above.len() * self.width, 0);
        number
    }

    /// Enters a charge for an owner and all above it; `released` has seconds by TRES.
    pub fn enter(&mut self, owner: u32, charge: u32, released: &[u64]) {
        debug_assert!(released.len() == self.width, "{} TRES", released.len());
        self.entries.push((owner, charge));
        add(&mut self.released[owner as usize * self.width..][..self.width], released);
        self.bits = released.iter().fold(self.bits, |bits, seconds| bits | seconds);
    }

    /// Sorts what was entered.
    pub fn sort(&mut self) {
        // How many charges each has, those of owners below it included.
        self.ends.clear();
        self.ends.resize(self.above.len(), 0);
        for (owner, _) in &self.entries {
            self.ends[*owner as usize] += 1;
        }
        for owner in (0..self.above.len()).rev() {
            let Some(above) = self.above[owner].map(|above| above as usize) else { continue };
            self.ends[above] += self.ends[owner];
            let (before, sums) = self.released.split_at_mut(owner * self.width);
            add(&mut before[above * self.width..][..self.width], &sums[..self.width]);
        }
        // Where they begin, which moves to where they end as they are put there.
        let mut begin = 0;
        for end in &mut self.ends {
            begin += std::mem::replace(end, begin);
        }
        self.sorted.clear();
        self.sorted.resize(begin, 0);
        for (owner, charge) in &self.entries {
            let mut next = Some(*owner);
            while let Some(owner) = next {
                let end = &mut self.ends[owner as usize];
                self.sorted[*end] = *charge;
                *end += 1;
                next = self.above[owner as usize];
            }
        }
    }

    /// What an owner is charged, in the order of jobs. Needs [`Ledger::sort`].
    pub fn charges(&self, owner: usize) -> &[u32] {
        let begin = owner.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.sorted[begin..self.ends[owner]]
    }

    /// Seconds by TRES that the charges of an owner release in all; `None` where a sum could be 2^64 or more. Needs
    /// [`Ledger::sort`].
    pub fn released(&self, owner: usize) -> Option<&[u64]> {
        // As many times the largest as there are summands.
        self.bits.checked_mul(self.entries.len() as u64)?;
        Some(&self.released[owner * self.width..][..self.width])
    }
}

/// Adds TRES by TRES.
fn add(sums: &mut [u64], more: &[u64]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.wrapping_add(*more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_charge_goes_to_its_owner_and_all_above_in_the_order_of_jobs() {
        let mut ledger = Ledger::default();
        ledger.clear(1);
        let root = ledger.add_owner(None);
        let account = ledger.add_owner(Some(root));
        let user = ledger.add_owner(Some(account));
        let other = ledger.add_owner(Some(root));
        for (charge, owner) in [user, other, user, account].into_iter().enumerate() {
            ledger.enter(
                owner,
                u32::try_from(charge).unwrap(),
                &[10_u64.pow(u32::try_from(charge).unwrap())],
            );
        }
        ledger.sort();
        let found: Vec<(&[u32], u64)> =
            (0..4).map(|owner| (ledger.charges(owner), ledger.released(owner).unwrap()[0])).collect();
        assert_eq!(
            found,
            [(&[0, 1, 2, 3][..], 1111), (&[0, 2, 3][..], 1101), (&[0, 2][..], 101), (&[1][..], 10)]
        );
    }

    #[test]
    fn there_is_no_sum_where_it_could_be_too_large() {
        for (seconds, fits) in [(u64::MAX / 4, true), (u64::MAX / 2, true), (u64::MAX / 2 + 1, false)] {
            let mut ledger = Ledger::default();
            ledger.clear(2);
            let root = ledger.add_owner(None);
            let user = ledger.add_owner(Some(root));
            ledger.enter(user, 0, &[1, seconds]);
            ledger.enter(root, 1, &[1, seconds]);
            ledger.sort();
            let sums = [2, seconds.wrapping_mul(2)];
            assert_eq!(ledger.released(0), fits.then_some(&sums[..]), "{seconds}");
        }
    }

    #[test]
    fn nothing_entered_is_nothing_charged_also_after_another_use() {
        let mut ledger = Ledger::default();
        ledger.clear(3);
        ledger.add_owner(None);
        ledger.enter(0, 7, &[1, 2, 3]);
        ledger.sort();
        ledger.clear(0);
        ledger.add_owner(None);
        ledger.sort();
        assert_eq!((ledger.charges(0), ledger.released(0)), (&[][..], Some(&[][..])));
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Against charging job by job, with as many TRES as make a mistaken index show.
        #[test]
        fn sorted_charges_are_those_of_every_job_one_by_one(
            above in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
            entries in prop::collection::vec((any::<prop::sample::Index>(), 0..u64::MAX / 64), 0..60),
        ) {
            let mut ledger = Ledger::default();
            ledger.clear(3);
            let above: Vec<Option<u32>> = above
                .iter()
                .enumerate()
                .map(|(owner, pick)| (owner > 0).then(|| u32::try_from(pick.index(owner)).unwrap()))
                .collect();
            for above in &above {
                ledger.add_owner(*above);
            }
            let mut expected = vec![(Vec::new(), [0; 3]); above.len()];
            for (charge, (pick, seconds)) in entries.iter().enumerate() {
                let charge = u32::try_from(charge).unwrap();
                let owner = u32::try_from(pick.index(above.len())).unwrap();
                ledger.enter(owner, charge, &[*seconds, 1, *seconds / 3]);
                let mut next = Some(owner);
                while let Some(owner) = next {
                    expected[owner as usize].0.push(charge);
                    let sums = &mut expected[owner as usize].1;
                    *sums = [sums[0] + seconds, sums[1] + 1, sums[2] + seconds / 3];
                    next = above[owner as usize];
                }
            }
            ledger.sort();
            for (owner, (charges, seconds)) in expected.iter().enumerate() {
                prop_assert_eq!(ledger.charges(owner), &charges[..]);
                prop_assert_eq!(ledger.released(owner), Some(&seconds[..]));
            }
        }
    }
}

//! How many CPUs of each pool will be free at which time, as far as time limits tell.
//!
//! The first step is the present. Steps are kept in flat arrays, one for each pool, because a pass looks at all of them some hundred times:
//! a search over some thousand adjacent numbers takes less than a microsecond.

use super::allocation::Allocation;

/// Free CPUs by pool and time.
#[derive(Debug, Default)]
pub struct Profile {
    /// When each step begins. The first two may be the same time: what ends now has not ended yet.
    times: Vec<i64>,
    /// By pool: what is free from that time on. Negative where a reservation was rounded into a time that others hold.
    free: Vec<Vec<i32>>,
}

/// A place in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    step: usize,
    /// When.
    pub time: i64,
}

impl Slot {
    /// This very moment.
    pub fn is_now(self) -> bool {
        self.step == 0
    }
}

impl Profile {
    /// Begins anew: what is free now, and what comes free when (times in order, pool, CPUs).
    pub fn rebuild(&mut self, now: i64, free: &[i32], ends: impl Iterator<Item = (i64, u16, i32)>) {
        self.times.clear();
        self.times.push(now);
        self.free.resize_with(free.len(), Vec::new);
        for (steps, free) in self.free.iter_mut().zip(free) {
            steps.clear();
            steps.push(*free);
        }
        let mut last = None;
        for (time, pool, cpus) in ends {
            let time = time.max(now);
            if last != Some(time) {
                last = Some(time);
                self.times.push(time);
                for steps in &mut self.free {
                    let before = steps[steps.len() - 1];
                    steps.push(before);
                }
            }
            if let Some(step) = self.free[usize::from(pool)].last_mut() {
                *step += cpus;
            }
        }
    }

    /// The steps behind a time.
    fn steps_before(&self, time: i64) -> usize {
        self.times.partition_point(|at| *at < time).max(1)
    }

    /// The least that a pool has free from a step on until a time.
    fn least(&self, pool: u16, from: usize, until: i64) -> i32 {
        let to = self.steps_before(until).max(from + 1);
        self.free[usize::from(pool)][from..to].iter().copied().min().unwrap_or_default()
    }

    /// The allocation of a job that holds CPUs of pools from a place on for some time; `None` if it does not fit.
    pub fn allocate(&self, slot: Slot, pools: &[u16], cpus: i32, length: i64) -> Option<Allocation> {
        let until = slot.time.saturating_add(length);
        Allocation::take(pools, cpus, |pool| self.least(pool, slot.step, until))
    }

    /// The same where it is known to fit.
    pub fn allocate_found(&self, slot: Slot, pools: &[u16], cpus: i32, length: i64) -> Option<Allocation> {
        match pools {
            [pool] => Some(Allocation::One(*pool, cpus)),
            _ => self.allocate(slot, pools, cpus, length),
        }
    }

    /// This very moment.
    pub fn now(&self) -> Slot {
        Slot { step: 0, time: self.times[0] }
    }

    /// Whether a job fits now.
    pub fn fits_now(&self, pools: &[u16], cpus: i32, length: i64) -> bool {
        if let [pool] = pools {
            let steps = &self.free[usize::from(*pool)];
            // The first step mostly decides.
            return steps[0] >= cpus
                && first_below(&steps[..self.steps_before(self.times[0].saturating_add(length))], cpus)
                    .is_none();
        }
        self.allocate(self.now(), pools, cpus, length).is_some()
    }

    /// The earliest place where a job fits, at or after a time. `None` where it never does.
    pub fn earliest(&self, after: i64, pools: &[u16], cpus: i32, length: i64) -> Option<Slot> {
        let mut step = if after <= self.times[0] { 0 } else { self.step_after(after) };
        let count = self.times.len();
        while step < count {
            let time = self.times[step].max(after);
            let until = time.saturating_add(length);
            let to = self.steps_before(until).max(step + 1);
            let blocked = match pools {
                [pool] => {
                    let steps = &self.free[usize::from(*pool)];
                    match first_at_least(&steps[step..], cpus) {
                        None => return None,
                        Some(0) => first_below(&steps[step..to], cpus).map(|at| step + at),
                        Some(skip) => {
                            step += skip;
                            continue;
                        }
                    }
                }
                _ => self.blocked_of_several(pools, cpus, step, to),
            };
            match blocked {
                None => return Some(Slot { step, time }),
                Some(at) => step = at + 1,
            }
        }
        None
    }

    /// The step in which a time lies.
    fn step_after(&self, time: i64) -> usize {
        self.times.partition_point(|at| *at <= time).saturating_sub(1)
    }

    /// A step from which on a job in several pools cannot have begun; `None` where it fits.
    fn blocked_of_several(&self, pools: &[u16], cpus: i32, from: usize, to: usize) -> Option<usize> {
        let mut least: Vec<i32> = vec![i32::MAX; pools.len()];
        for step in from..to {
            let (mut sum, mut here) = (0_i64, 0_i64);
            for (least, pool) in least.iter_mut().zip(pools) {
                let free = self.free[usize::from(*pool)][step];
                here += i64::from(free.max(0));
                *least = (*least).min(free);
                sum += i64::from((*least).max(0));
            }
            if here < i64::from(cpus) {
                return Some(step);
            }
            if sum < i64::from(cpus) {
                // It might still fit from the next step on.
                return Some(from);
            }
        }
        None
    }

    /// Takes CPUs from a time on until another.
    pub fn take(&mut self, begin: i64, end: i64, allocation: &Allocation) {
        self.change(begin, end, allocation, -1);
    }

    /// Gives CPUs back that were taken.
    pub fn give(&mut self, begin: i64, end: i64, allocation: &Allocation) {
        self.change(begin, end, allocation, 1);
    }

    /// Takes CPUs from this very moment on.
    pub fn take_now(&mut self, end: i64, allocation: &Allocation) {
        let to = self.cut(end);
        allocation.for_each(|pool, cpus| {
            for free in &mut self.free[usize::from(pool)][..to] {
                *free -= cpus;
            }
        });
    }

    fn change(&mut self, begin: i64, end: i64, allocation: &Allocation, sign: i32) {
        let now = self.times[0];
        // What begins now begins after what ends now.
        let from = if begin <= now { usize::from(self.times.get(1) == Some(&now)) } else { self.cut(begin) };
        let to = self.cut(end.max(now));
        allocation.for_each(|pool, cpus| {
            if let Some(steps) = self.free[usize::from(pool)].get_mut(from..to.max(from)) {
                for free in steps {
                    *free += sign * cpus;
                }
            }
        });
    }

    /// The step that begins at a time, which is added if it is missing.
    fn cut(&mut self, time: i64) -> usize {
        let step = self.times.partition_point(|at| *at < time);
        if self.times.get(step) == Some(&time) && step > 0 {
            return step;
        }
        if step == 0 {
            // Only the present itself.
            return usize::from(self.times.get(1) == Some(&time));
        }
        self.times.insert(step, time);
        for steps in &mut self.free {
            let before = steps[step - 1];
            steps.insert(step, before);
        }
        step
    }

    /// What is free at a time.
    #[cfg(test)]
    fn free_at(&self, pool: u16, time: i64) -> i32 {
        self.free[usize::from(pool)][self.step_after(time)]
    }
}

/// Numbers that are looked at together.
const SIDE: usize = 32;

/// The place of the first number below another.
fn first_below(numbers: &[i32], bound: i32) -> Option<usize> {
    first(numbers, |number| number < bound)
}

/// The place of the first number that is not below another.
fn first_at_least(numbers: &[i32], bound: i32) -> Option<usize> {
    first(numbers, |number| number >= bound)
}

/// The place of the first number of a kind. Whole groups are asked at once, which the processor does side by side.
#[inline]
fn first(numbers: &[i32], is: impl Fn(i32) -> bool) -> Option<usize> {
    let groups = numbers.chunks(SIDE);
    for (group, numbers) in groups.enumerate() {
        if numbers.iter().fold(false, |any, number| any | is(*number)) {
            return numbers.iter().position(|number| is(*number)).map(|at| group * SIDE + at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let mut profile = Profile::default();
        profile.rebuild(100, &[2, 0], [(150, 0, 3), (150, 1, 4), (200, 0, 5)].into_iter());
        profile
    }

    #[test]
    fn the_earliest_place() {
        let profile = profile();
        let at =
            |pools: &[u16], cpus, length| profile.earliest(100, pools, cpus, length).map(|slot| slot.time);
        assert_eq!(at(&[0], 2, 10), Some(100));
        assert_eq!(at(&[0], 3, 10), Some(150));
        assert_eq!(at(&[0], 10, 10), Some(200));
        assert_eq!(at(&[0], 11, 10), None);
        assert_eq!(at(&[1, 0], 9, 10), Some(150));
        assert_eq!(profile.earliest(170, &[0], 3, 10).map(|slot| slot.time), Some(170));
    }

    #[test]
    fn a_reservation_is_planned_around() {
        let mut profile = profile();
        profile.take(120, 160, &Allocation::One(0, 2));
        assert_eq!((profile.free_at(0, 120), profile.free_at(0, 150), profile.free_at(0, 160)), (0, 3, 5));
        assert!(profile.fits_now(&[0], 2, 20));
        assert!(!profile.fits_now(&[0], 2, 21));
        assert_eq!(profile.earliest(100, &[0], 2, 21).map(|slot| slot.time), Some(150));
        profile.give(120, 160, &Allocation::One(0, 2));
        assert!(profile.fits_now(&[0], 2, 1000));
    }

    /// What ends at this moment, and has not ended yet, is not free yet.
    #[test]
    fn the_present_is_before_what_ends_now() {
        let mut profile = Profile::default();
        profile.rebuild(100, &[1], [(100, 0, 4)].into_iter());
        assert!(!profile.fits_now(&[0], 2, 10));
        let slot = profile.earliest(100, &[0], 5, 10).unwrap();
        assert_eq!((slot.time, slot.is_now()), (100, false));
        profile.take(100, 110, &Allocation::One(0, 5));
        assert!(!profile.fits_now(&[0], 1, 1));
    }
}

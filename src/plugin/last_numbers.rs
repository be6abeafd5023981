//! Our last number for each job record, for the passive state. If job records do not match the layout, none of them is read, and a job
//! keeps our last number for its address. Addresses are compared and never followed.

use rustc_hash::FxHashSet;

/// The number that each record got last, by address. Numbers of the last calculation that was not left out are in its drafts.
#[derive(Debug, Default)]
pub struct LastNumbers {
    /// While a calculation runs, and after one that was left out: what there was before, the newest last.
    before: Vec<(usize, u32)>,
    /// Answers since it has begun, the newest last. Of an address that was answered for again the older ones are left out now and then.
    since: Vec<(usize, u32)>,
    /// How many there were when that was done last.
    compacted: usize,
}

impl LastNumbers {
    /// Answers that are always kept: 4 MiB. To look which of them are older than others costs more than a submission, and mostly the next
    /// calculation comes before.
    const FEW: usize = 1 << 18;

    /// Notes our answer for the job with a record at an address.
    pub fn note(&mut self, address: usize, number: u32) {
        self.since.push((address, number));
        if self.since.len() > (2 * self.compacted).max(Self::FEW) {
            let mut seen = FxHashSet::default();
            // The newest of each stays.
            self.since.reverse();
            self.since.retain(|(address, _)| seen.insert(*address));
            self.since.reverse();
            self.compacted = self.since.len();
        }
    }

    /// A calculation begins, and does not keep the numbers of the one before.
    pub fn begin(&mut self, before: Vec<(usize, u32)>) {
        if !before.is_empty() {
            self.before = before;
        }
        self.before.append(&mut self.since);
    }

    /// The calculation is over, and its own numbers are there; what there was before it is given back, to be freed without a lock.
    pub fn end(&mut self) -> Vec<(usize, u32)> {
        std::mem::take(&mut self.before)
    }

    /// The last number for an address, if it is newer than the drafts of the last calculation that was not left out.
    pub fn get(&self, address: usize) -> Option<u32> {
        newest(&self.since, address).or_else(|| newest(&self.before, address))
    }
}

fn newest(numbers: &[(usize, u32)], address: usize) -> Option<u32> {
    numbers.iter().rev().find(|(at, _)| *at == address).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_for_the_same_jobs_take_no_more_memory_however_often_they_are_asked_for() {
        let mut numbers = LastNumbers::default();
        for number in 0..1_000_000 {
            numbers.note(number as usize % 3000, number);
            assert!(numbers.since.len() <= LastNumbers::FEW, "{number}");
        }
        assert_eq!(numbers.get(7), Some(999_007));
        assert_eq!(numbers.get(3000), None);
    }

    #[test]
    fn the_last_number_for_an_address_is_the_answer_since_or_that_of_the_calculation_before() {
        let mut numbers = LastNumbers::default();
        assert_eq!(numbers.get(64), None);
        numbers.note(64, 7);
        numbers.note(192, 4);
        numbers.begin(vec![(64, 3), (128, 5)]);
        numbers.note(192, 9);
        assert_eq!(
            [64, 128, 192, 256].map(|at| numbers.get(at)),
            [Some(7), Some(5), Some(9), None],
            "while a calculation runs"
        );
        numbers.end();
        assert_eq!([64, 128, 192].map(|at| numbers.get(at)), [None, None, Some(9)]);
    }
}

//! What the points of one job take from all jobs: the ranges of urgency and priority, and the largest value of each component. They are
//! those of the last calculation, over waiting and running jobs.

use super::{Largest, Points, PointsJob};

/// The smallest and the largest number of all jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range(Option<(f64, f64)>);

/// Where the largest number is less above the smallest, all are in the middle.
const NARROW: f64 = 1e-5;

impl Range {
    /// From the smallest to the largest number.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        Self((low.is_finite() && high.is_finite() && low <= high).then_some((low, high)))
    }

    /// Both; `None` where there are no jobs.
    pub(crate) fn ends(self) -> Option<(f64, f64)> {
        self.0
    }

    fn take(&mut self, number: f64) {
        let (low, high) = self.0.unwrap_or((number, number));
        self.0 = Some((low.min(number), high.max(number)));
    }

    /// Where a number is: 0 at the smallest, 1 at the largest, 0.5 where all are alike.
    #[inline]
    pub(super) fn part(self, number: f64) -> f64 {
        match self.0 {
            Some((low, high)) if high - low >= NARROW => ((number - low) / (high - low)).clamp(0.0, 1.0),
            _ => 0.5,
        }
    }
}

/// What all jobs have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranges {
    /// Of the urgency.
    pub urgency: Range,
    /// Of the nice value, with the sign turned round.
    pub priority: Range,
    /// The largest sum of each component that counts in percent, whatever its sign.
    pub largest: Largest,
}

/// What files call the ends of a range, and the largest sum.
const ENDS: [&str; 3] = ["low", "high", "largest"];

impl Ranges {
    /// All numbers that there are, as files hold them: of what, which end, and the number.
    pub fn numbers(&self) -> Vec<(String, &'static str, f64)> {
        let mut numbers = Vec::new();
        for (of, range) in [("urgency", self.urgency), ("priority", self.priority)] {
            let ends = range
                .ends()
                .map(|(low, high)| [(of.to_owned(), ENDS[0], low), (of.to_owned(), ENDS[1], high)]);
            numbers.extend(ends.into_iter().flatten());
        }
        let mut largest = self.largest;
        let sums = largest.by_word().map(|(word, sum)| (word, ENDS[2], *sum));
        numbers.extend(sums.filter(|(_, _, sum)| *sum > 0.0));
        numbers
    }

    /// The same from such numbers. What is not known is left out.
    pub fn of_numbers(numbers: &[(&str, &str, f64)]) -> Self {
        let find = |of: &str, end: &str| {
            numbers.iter().find(|(is, at, _)| *is == of && *at == end).map(|found| found.2)
        };
        let range =
            |of: &str| find(of, ENDS[0]).zip(find(of, ENDS[1])).map(|(low, high)| Range::new(low, high));
        let mut ranges = Self {
            urgency: range("urgency").unwrap_or_default(),
            priority: range("priority").unwrap_or_default(),
            largest: Largest::default(),
        };
        for (word, sum) in ranges.largest.by_word() {
            *sum = find(&word, ENDS[2]).unwrap_or_default();
        }
        ranges
    }
}

impl Points {
    /// Takes all waiting and running jobs, before points are requested. Call it in every cycle, after [`weigh`](Self::weigh), if
    /// [`Needs::all_jobs`](super::Needs::all_jobs) says so.
    pub fn measure<'j>(&mut self, jobs: impl Iterator<Item = PointsJob<'j>> + Clone) {
        let mut ranges = Ranges::default();
        if self.needs.urgency {
            for job in jobs.clone() {
                ranges.urgency.take(self.urgency.of(&job));
                ranges.priority.take(-job.nice);
            }
        }
        self.ranges = ranges;
        if self.needs.percent {
            for job in jobs {
                let largest = ranges.largest;
                ranges.largest =
                    self.with(&job, |plan, ground| Some(plan.larger(largest, ground))).unwrap_or(largest);
            }
            self.ranges = ranges;
        }
    }

    /// What all jobs had when they were measured last.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Goes on with what others have measured.
    pub fn restore_ranges(&mut self, ranges: Ranges) {
        self.ranges = ranges;
    }
}

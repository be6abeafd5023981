//! What dilution depends on: the sizes of running and waiting jobs of every association, and the part of the tickets that remains after
//! them.

/// How much is left of tickets behind what runs and what comes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    /// `DilutionQuantum`: the size that leaves half of the tickets.
    pub quantum: f64,
    /// `DilutionExponent`
    pub exponent: f64,
    /// `DilutionUnit=job`: sizes are whole.
    pub whole: bool,
}

impl Rule {
    /// (q / (q + size))^e; all of it where the size is no number or negative.
    pub(super) fn left(&self, size: f64) -> f64 {
        if size.is_nan() || size <= 0.0 {
            return 1.0;
        }
        let left = self.quantum / (self.quantum + size);
        #[allow(clippy::float_cmp)] // exactly the default
        if self.exponent == 1.0 {
            left
        } else {
            left.powf(self.exponent)
        }
    }
}

/// Normalised shares of those who compete.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    sum: f64,
    count: f64,
}

impl Shares {
    /// With those of one more.
    pub(super) fn and(self, shares: f64) -> Self {
        Self { sum: self.sum + shares, count: self.count + 1.0 }
    }

    /// What the sizes of one of them are multiplied by: the mean shares by its own.
    pub(super) fn scale(self, own: f64) -> f64 {
        if self.sum > 0.0 && own > 0.0 {
            self.sum / self.count / own
        } else {
            1.0
        }
    }
}

/// What there is of jobs, by association.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// Sizes of those that wait.
    pub waiting: Vec<f64>,
    /// Sizes of those that run; nothing where they do not count.
    pub running: Vec<f64>,
    /// Sizes of those that have begun to wait since the last cycle.
    pub joined: Vec<f64>,
    /// How many wait or run.
    pub jobs: Vec<u32>,
    /// A user with waiting jobs, those that have joined included.
    pub active: Vec<bool>,
}

impl Load {
    /// Clears everything, for a tree of this number of associations.
    pub(super) fn clear(&mut self, associations: usize) {
        for sizes in [&mut self.waiting, &mut self.running, &mut self.joined] {
            sizes.clear();
            sizes.resize(associations, 0.0);
        }
        self.jobs.clear();
        self.jobs.resize(associations, 0);
        self.active.clear();
        self.active.resize(associations, false);
    }
}

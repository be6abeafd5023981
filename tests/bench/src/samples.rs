//! Repeated measurements of one quantity, and a row of the result: the same quantity of stock and of ours.
//!
//! The median is what is reported. Neighbours on the machine can only add time, so the minimum says what the code
//! costs where the median is disturbed; both ratios are written out.

/// Measurements of one quantity.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one.
    pub fn push(&mut self, value: f64) {
        let at = self.0.partition_point(|other| *other < value);
        self.0.insert(at, value);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest one; NaN where there is none.
    pub fn min(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    /// The largest one; NaN where there is none.
    pub fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    /// The middle one, or the mean of the two in the middle; NaN where there is none.
    pub fn median(&self) -> f64 {
        let (count, at) = (self.0.len(), self.0.len() / 2);
        match count {
            0 => f64::NAN,
            _ if count % 2 == 1 => self.0[at],
            _ => (self.0[at - 1] + self.0[at]) / 2.0,
        }
    }
}

/// What a row was measured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// Jobs.
    pub jobs: u32,
    /// Associations.
    pub associations: u32,
    /// Whether `PriorityWeightTRES` is set.
    pub tres: bool,
    /// What the heap, or the place of measurement, is: `fresh`, `arrays` (fresh, ids in another order than the list), `scattered`,
    /// `live`, `live newest`.
    pub heap: &'static str,
}

impl Scene {
    /// Whether jobs lie in the order of memory, as where the processor fetches the next one by itself.
    pub fn is_in_order(&self) -> bool {
        self.heap != "scattered"
    }
}

/// What ours is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The stock plugin.
    Stock,
    /// Ours without settings; ours has those of this name.
    Plain(&'static str),
}

impl Beside {
    /// The name of the settings; empty where there are none.
    pub fn settings(self) -> &'static str {
        match self {
            Self::Stock => "",
            Self::Plain(settings) => settings,
        }
    }
}

/// One quantity, of ours and of what it is compared with.
#[derive(Debug, Clone)]
pub struct MeasureRow {
    /// What was measured.
    pub measure: &'static str,
    /// On what.
    pub scene: Scene,
    /// `ms`, `ns`, `B`.
    pub unit: &'static str,
    /// What the first samples are of.
    pub beside: Beside,
    /// The stock plugin, or ours without settings.
    pub stock: Samples,
    /// Ours.
    pub ours: Samples,
    /// Smallest ratio stock : ours that was aimed at; with settings, the largest ours : plain.
    pub goal: Option<f64>,
}

impl MeasureRow {
    /// Stock's median over ours: above 1 ours is cheaper.
    pub fn ratio(&self) -> f64 {
        self.stock.median() / self.ours.median()
    }

    /// Stock's minimum over ours.
    pub fn ratio_of_minima(&self) -> f64 {
        self.stock.min() / self.ours.min()
    }

    /// Whether it is as good as was aimed at; true without a goal.
    pub fn is_good(&self) -> bool {
        self.goal.is_none_or(|goal| match self.beside {
            Beside::Stock => self.ratio() >= goal,
            Beside::Plain(_) => 1.0 / self.ratio() <= goal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let mut samples = Samples::default();
        assert!(samples.median().is_nan() && samples.min().is_nan());
        for value in [5.0, 1.0, 3.0] {
            samples.push(value);
        }
        let told = |samples: &Samples| format!("{} {} {}", samples.min(), samples.median(), samples.max());
        assert_eq!(told(&samples), "1 3 5");
        samples.push(4.0);
        assert_eq!((told(&samples).as_str(), samples.count()), ("1 3.5 5", 4));
    }
}

//! What grants do to jobs, as of the last calculation.

use std::sync::Arc;

use super::lines::Key;
use crate::settings::GrantBeyond;

/// What the grants of a job do to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Granted {
    /// It comes last.
    pub is_last: bool,
    /// It does not start.
    pub is_stopped: bool,
    /// What it gets for being within.
    pub points: f64,
}

/// How one sequence stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Effect {
    /// It says nothing.
    #[default]
    Nothing,
    /// Its jobs get points.
    Within(f64),
    /// They are beyond.
    Beyond(GrantBeyond),
}

/// The partitions that each sequence is for, by its place. Nothing where each is for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters(Option<Arc<[Option<Vec<String>>]>>);

impl Filters {
    /// Those of sequences, by whose they are.
    pub fn of<'k>(keys: impl Iterator<Item = &'k Key>) -> Self {
        let all: Arc<[Option<Vec<String>>]> = keys.map(|key| key.partitions.clone()).collect();
        Self(Some(all).filter(|all| all.iter().any(Option::is_some)))
    }

    fn let_through(&self, place: u32, partition: &str) -> bool {
        let filter = self.0.as_ref().and_then(|all| all.get(place as usize)?.as_ref());
        filter.is_none_or(|names| names.iter().any(|name| name == partition))
    }
}

/// How all sequences stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// By their places.
    all: Vec<Effect>,
    filters: Filters,
}

impl Effects {
    /// Each sequence by its place, with what it does.
    pub fn of(filters: Filters, all: Vec<Effect>) -> Self {
        Self { all, filters }
    }

    /// Whether it depends on the partition what they do.
    pub fn have_filters(&self) -> bool {
        self.filters.0.is_some()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The effect of the grants at these places on a job in a partition. A job beyond one of them is beyond, and `Beyond=block` counts
    /// before the last place. Of points the largest counts, once.
    pub fn granted(&self, places: impl IntoIterator<Item = u32>, partition: &str) -> Granted {
        let mut granted = Granted::default();
        let mut is_beyond = false;
        for place in places {
            let Some(effect) = self.all.get(place as usize) else { continue };
            if !self.filters.let_through(place, partition) {
                continue;
            }
            match *effect {
                Effect::Nothing => (),
                Effect::Within(points) => granted.points = granted.points.max(points),
                Effect::Beyond(beyond) => {
                    is_beyond = true;
                    granted.is_stopped |= beyond == GrantBeyond::Block;
                    // Where slurmctld cannot keep it from starting it comes last.
                    granted.is_last |= beyond != GrantBeyond::Share;
                }
            }
        }
        if is_beyond {
            granted.points = 0.0;
        }
        granted
    }
}

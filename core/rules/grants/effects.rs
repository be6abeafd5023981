//! What grants do to jobs, as the last calculation has found it.

use super::lines::Sequences;
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

/// How all sequences stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// By their places, with the partitions that each is for; `None` for all.
    all: Vec<(Effect, Option<Vec<String>>)>,
}

impl Effects {
    /// Each sequence by its place, with what it does.
    pub fn of(sequences: &Sequences, effect: impl Fn(usize) -> Effect) -> Self {
        let all = sequences.all.iter().enumerate();
        Self { all: all.map(|(at, sequence)| (effect(at), sequence.key.partitions.clone())).collect() }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What some of them, by their places, do to a job in a partition: beyond one is beyond, where not to start comes before the last
    /// place; of points the most count, once.
    pub fn granted(&self, places: impl IntoIterator<Item = u32>, partition: &str) -> Granted {
        let mut granted = Granted::default();
        let mut is_beyond = false;
        for place in places {
            let Some((effect, partitions)) = self.all.get(place as usize) else { continue };
            if partitions.as_ref().is_some_and(|names| !names.iter().any(|name| name == partition)) {
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

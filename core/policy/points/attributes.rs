//! ATTR: the state of a job (Moab, `JOBATTRPRIOF STATE[...]`).

use super::terms::Terms;
use super::{Component, Ground, JobState, Needs};
use crate::settings::{self, Settings};

/// ATTR on one line: State.
#[derive(Clone, Debug)]
pub(super) struct Attributes {
    terms: Terms<1>,
    /// In the order of [`JobState::ALL`].
    states: [f64; 3],
}

impl Component for Attributes {
    fn of(line: &settings::Component) -> Self {
        let value = |(state, name): (JobState, &str)| match &line.states {
            None => f64::from(u8::from(state == JobState::Running)),
            Some(states) => {
                let named = states.iter().find(|(state, _)| state.eq_ignore_ascii_case(name));
                named.map_or(0.0, |(_, value)| *value)
            }
        };
        Self { terms: Terms::of([line.state]), states: JobState::ALL.map(value) }
    }

    fn needs(&self, _settings: &Settings) -> Needs {
        Needs { course: self.terms.counts(0), ..Needs::default() }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        self.terms.sum([self.states[ground.job.state as usize]])
    }
}

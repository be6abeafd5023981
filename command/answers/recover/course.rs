//! How usage develops: existing usage decays or falls window by window, and new usage follows an assumption.

use multifactor2_core::books::BookAt;
use multifactor2_core::decay::{decay_factor, decay_over, run_decay};
use multifactor2_core::Node;
use multifactor2_snapshot::records::{Job, Running};

use super::times::{self, Clock};
use super::Others;
use crate::model::{Model, TreeWindows};

/// Usage in the future: what becomes of it, and what others add.
#[derive(Clone, Debug)]
pub(super) struct Course<'m> {
    /// Usage now, by node.
    now: Vec<f64>,
    /// What is added in each second, by node.
    rates: Vec<f64>,
    law: Law<'m>,
}

/// What becomes of usage.
#[derive(Clone, Debug)]
enum Law<'m> {
    HalfLife {
        /// Seconds between two calculations of slurmctld.
        period: f64,
        factor: f64,
        /// `PriorityDecayHalfLife`; 0 for no decay.
        half_life: i64,
    },
    Windows {
        windows: &'m TreeWindows,
        clock: Clock,
        at: i64,
        /// Those whose amounts grow old while all others keep their usage, each with all above it; `None` if all do.
        only: Option<Vec<Vec<Node>>>,
    },
}

impl<'m> Course<'m> {
    /// Of usage in a book. The users at some nodes stop; their jobs that run go on where `running_on` says so.
    pub fn new(
        model: &'m Model<'_>,
        users: &[Node],
        (others, running_on): (Others, bool),
        book: BookAt,
    ) -> Self {
        let now = model.tree.measured(book).to_owned();
        let shape = &model.tree.shape;
        let above = |node: Node| std::iter::successors(Some(node), |node| shape.parent(*node));
        let keeps = others == Others::KeepUsage;
        let law = match &model.tree.windows {
            Some(windows) => Law::Windows {
                windows,
                clock: Clock::of(model),
                at: model.at,
                only: keeps.then(|| users.iter().map(|user| above(*user).collect()).collect()),
            },
            None => Law::HalfLife {
                period: f64::from(model.config.calc_period.max(1)),
                factor: decay_factor(model.config.half_life),
                half_life: model.config.half_life.into(),
            },
        };
        let mut course = Self { rates: vec![0.0; now.len()], now, law };
        let running = running(model, book);
        match others {
            Others::KeepUsage if model.tree.windows.is_none() => {
                // What each second must add, so that what decays is made up for.
                let keeps = course.keeps();
                course.rates = course.now.iter().map(|usage| usage * keeps).collect();
                for user in users {
                    let own = course.rates[user.index()];
                    above(*user).for_each(|node| {
                        let rate = &mut course.rates[node.index()];
                        *rate = (*rate - own).max(0.0);
                    });
                }
            }
            Others::Stop | Others::KeepUsage => (),
            Others::RunOn => {
                for node in shape.nodes().filter(|node| !users.contains(node)) {
                    above(node).for_each(|above| course.rates[above.index()] += running[node.index()]);
                }
            }
        }
        if running_on {
            for user in users {
                above(*user).for_each(|node| course.rates[node.index()] += running[user.index()]);
            }
        }
        course
    }

    /// With a half-life, the part of usage that must be added in each second to keep it.
    fn keeps(&self) -> f64 {
        let Law::HalfLife { period, factor, .. } = self.law else { return 0.0 };
        (1.0 - decay_over(factor, period)) / run_decay(period, factor)
    }

    fn adds_nothing(&self) -> bool {
        self.rates.iter().all(|rate| *rate == 0.0)
    }

    /// All parts stay as they are: nothing is added, and all decay alike, or nobody has any usage.
    pub fn changes_nothing(&self) -> bool {
        let is_alike = match &self.law {
            Law::HalfLife { .. } => true,
            Law::Windows { .. } => self.now.iter().all(|usage| *usage == 0.0),
        };
        is_alike && self.adds_nothing()
    }

    /// Why they do.
    pub fn why_nothing(&self) -> &'static str {
        match self.law {
            Law::HalfLife { half_life: 0, .. } => "none of it decays",
            Law::HalfLife { .. } => "all of it decays alike",
            Law::Windows { .. } => "the windows have none",
        }
    }

    /// Usage by node after this number of seconds.
    pub fn usage(&self, after: i64) -> Vec<f64> {
        match &self.law {
            Law::HalfLife { factor, .. } => {
                #[allow(clippy::cast_precision_loss)] // seconds
                let after = after as f64;
                let left = decay_over(*factor, after);
                let keeps = self.keeps();
                let seconds = if keeps > 0.0 { (1.0 - left) / keeps } else { after };
                self.now.iter().zip(&self.rates).map(|(now, rate)| now * left + rate * seconds).collect()
            }
            Law::Windows { windows, at, only, .. } => {
                let then = at.saturating_add(after);
                let mut left = windows.usage_at(then);
                if let Some(only) = only {
                    let mut kept = self.now.clone();
                    for way in only {
                        let gone = way.first().map_or(0.0, |user| self.now[user.index()] - left[user.index()]);
                        for node in way {
                            let kept = &mut kept[node.index()];
                            *kept = (*kept - gone).max(0.0);
                        }
                    }
                    left = kept;
                }
                let seconds = windows.seconds(*at, then);
                left.iter().zip(&self.rates).map(|(left, rate)| left + rate * seconds).collect()
            }
        }
    }

    /// How far it is looked, in seconds: until nothing changes any more.
    pub fn horizon(&self) -> i64 {
        match &self.law {
            Law::HalfLife { half_life, .. } => times::horizon(*half_life),
            Law::Windows { windows, clock, at, .. } => {
                clock.next(windows.begin_after(windows.depth())).saturating_sub(*at).max(1)
            }
        }
    }

    /// The times at which it is looked, up to an end: with windows those of the calculations after each begins, and where something is
    /// added of the last ones before.
    pub fn times(&self, end: i64) -> Vec<i64> {
        match &self.law {
            Law::HalfLife { .. } => times::steps(end).collect(),
            Law::Windows { windows, clock, at, .. } => {
                let mut times = Vec::new();
                for window in 1..=windows.depth() {
                    let begin = windows.begin_after(window);
                    if !self.adds_nothing() {
                        times.push(clock.last(begin).saturating_sub(*at));
                    }
                    times.push(clock.next(begin).saturating_sub(*at));
                }
                times.push(end);
                times.retain(|after| (1..=end).contains(after));
                times.sort_unstable();
                times.dedup();
                times
            }
        }
    }

    /// The first time between two at which something is so, where it is at the later one.
    pub fn first_in(&self, before: i64, after: i64, is_so: impl Fn(i64) -> bool) -> i64 {
        match &self.law {
            Law::HalfLife { .. } => times::first_in(before, after, is_so),
            // Between the calculations of two windows nothing changes but by what is added.
            Law::Windows { .. } if self.adds_nothing() => after,
            Law::Windows { clock, at, .. } => {
                let found = times::first_in(before, after, is_so);
                clock.next(at.saturating_add(found)).saturating_sub(*at).min(after)
            }
        }
    }
}

/// What the jobs that run add in each second, by the node of their association.
fn running(model: &Model<'_>, book: BookAt) -> Vec<f64> {
    let mut rates = vec![0.0; model.tree.shape.len()];
    let in_book = |running: &&Running| model.book_of(&running.partition) == book;
    for running in model.snapshot.running.iter().filter(in_book) {
        let node = model.tree.by_id(running.association).and_then(|place| model.tree.node(place));
        if let Some(node) = node {
            let job = Job {
                partition: running.partition.clone(),
                qos: running.qos.clone(),
                wckey: running.wckey.clone(),
                ..Job::default()
            };
            let factor = model.usage_factor(&running.qos).unwrap_or(1.0);
            rates[node.index()] +=
                running.billing * factor * model.charge_factor(model.tree.association(node), &job);
        }
    }
    rates
}

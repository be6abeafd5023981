//! How usage goes on: what there is decays, what is added follows an assumption.

use multifactor2_core::books::BookAt;
use multifactor2_core::decay::{decay_factor, decay_over, run_decay};
use multifactor2_core::Node;
use multifactor2_snapshot::records::{Job, Running};

use super::Others;
use crate::model::Model;

/// Usage in the future: what decays, and what others add.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// Usage now, by node.
    now: Vec<f64>,
    /// What is added in each second, by node.
    rates: Vec<f64>,
    /// Seconds between two calculations of slurmctld.
    period: f64,
    factor: f64,
}

impl Course {
    /// Of usage in a book. The users at some nodes stop; their jobs that run go on where `running_on` says so.
    pub fn new(
        model: &Model<'_>,
        users: &[Node],
        (others, running_on): (Others, bool),
        book: BookAt,
    ) -> Self {
        let now = model.tree.measured(book).to_owned();
        let factor = decay_factor(model.config.half_life);
        let mut course = Self {
            rates: vec![0.0; now.len()],
            now,
            period: f64::from(model.config.calc_period.max(1)),
            factor,
        };
        let running = running(model, book);
        let shape = &model.tree.shape;
        let above = |node: Node| std::iter::successors(Some(node), |node| shape.parent(*node));
        match others {
            Others::Stop => (),
            Others::KeepUsage => {
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

    /// The part of usage that has to be added in each second to keep it.
    fn keeps(&self) -> f64 {
        let lost = 1.0 - decay_over(self.factor, self.period);
        lost / run_decay(self.period, self.factor)
    }

    /// Nothing is added, so all parts stay as they are.
    pub fn changes_nothing(&self) -> bool {
        self.rates.iter().all(|rate| *rate == 0.0)
    }

    /// Usage by node after so many seconds: what there is decays, and so does what each calculation adds.
    pub fn usage(&self, after: i64) -> Vec<f64> {
        #[allow(clippy::cast_precision_loss)] // seconds
        let after = after as f64;
        let left = decay_over(self.factor, after);
        let keeps = self.keeps();
        let seconds = if keeps > 0.0 { (1.0 - left) / keeps } else { after };
        self.now.iter().zip(&self.rates).map(|(now, rate)| now * left + rate * seconds).collect()
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

//! Slurm's own `priority/multifactor`: Fair Tree, and the classic formula.
//!
//! Factors are those of the last cycle; a job that is submitted between two cycles has that of its association. Before the first cycle
//! nobody has used anything. The classic formula of slurmctld sees accounts one cycle behind their usage; here they are not behind.

use multifactor2_core::policy::stock::{factors, Algorithm, Classic};
use multifactor2_core::{Node, ShareTree};

use super::standing::{FairSharePolicy, Ground, Newcomer, Queued, Running};
use crate::trace::config::Config;

/// Fair-share by an algorithm of priority/multifactor.
#[derive(Debug)]
pub struct Stock {
    algorithm: Algorithm,
    /// By node.
    factors: Vec<f64>,
    /// Usage of the last cycle, of which factors have not been computed, as nobody waited.
    usage: Option<Vec<f64>>,
}

impl Stock {
    /// Fair Tree.
    pub fn fair_tree() -> Self {
        Self::of(Algorithm::FairTree)
    }

    /// The classic formula, with `FairShareDampeningFactor` and `PriorityFlags=DEPTH_OBLIVIOUS` of a configuration.
    pub fn classic(config: &Config) -> Self {
        let dampening = config.number("FairShareDampeningFactor").unwrap_or(1);
        let settings = Classic {
            dampening: u16::try_from(dampening).unwrap_or(u16::MAX),
            depth_oblivious: config.has_flag("DEPTH_OBLIVIOUS"),
            // What sshare shows is not looked at.
            shows_factor: true,
        };
        Self::of(Algorithm::Classic(settings))
    }

    fn of(algorithm: Algorithm) -> Self {
        Self { algorithm, factors: Vec::new(), usage: Some(Vec::new()) }
    }

    fn compute(&mut self, tree: &ShareTree, usage: &[f64]) {
        self.factors = factors(tree, usage, self.algorithm);
    }
}

impl FairSharePolicy for Stock {
    fn looks_at_jobs(&self) -> bool {
        false
    }

    fn distribute(&mut self, ground: &Ground<'_>, _: &[Queued<'_>], _: &[Running<'_>]) {
        if ground.waiting.iter().any(|jobs| *jobs > 0) {
            self.usage = None;
            self.compute(ground.tree, ground.usage);
        } else {
            self.usage = Some(ground.usage.to_vec());
        }
    }

    fn of_waiting(&self, _: usize, node: Node) -> f64 {
        self.factors.get(node.index()).copied().unwrap_or_default()
    }

    fn submit(&mut self, tree: &ShareTree, job: &Newcomer<'_>) -> f64 {
        if let Some(usage) = self.usage.take() {
            self.compute(tree, &usage);
        }
        self.of_waiting(0, job.node)
    }
}

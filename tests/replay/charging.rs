//! What jobs add to usage.

use std::cell::RefCell;
use std::rc::Rc;

use multifactor2_core::decay::{decay_factor, decay_over, run_decay};
use multifactor2_core::settings::Settings;
use multifactor2_core::ShareTree;
use multifactor2_fixtures::assert_near;
use multifactor2_replay::order::{Multifactor, Order, Started, Tickets};
use multifactor2_replay::sim::{run, Scheduler};
use multifactor2_replay::workload::{Setup, Workload};
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{jobs, machine, workload};

/// An order that can be looked at afterwards.
struct Seen<'s>(Rc<RefCell<Multifactor<'s>>>);

impl Order for Seen<'_> {
    fn period(&self) -> Option<u32> {
        self.0.borrow().period()
    }
    fn submit(&mut self, now: i64, job: u32, priorities: &mut Vec<u32>) {
        self.0.borrow_mut().submit(now, job, priorities);
    }
    fn start(&mut self, started: Started) {
        self.0.borrow_mut().start(started);
    }
    fn end(&mut self, now: i64, job: u32) {
        self.0.borrow_mut().end(now, job);
    }
    fn cycle(&mut self, now: i64, waiting: &[u32], set: &mut dyn FnMut(u32, &[u32])) {
        self.0.borrow_mut().cycle(now, waiting, set);
    }
}

/// Usage at the end by place of the association.
fn usage(workload: &Workload, shared: bool) -> Vec<f64> {
    let machine = machine(shared);
    let setup = Setup::new(workload, &machine);
    let settings = Settings::default();
    let order = Rc::new(RefCell::new(Multifactor::new(&setup, Box::new(Tickets::new(&settings)))));
    let outcome = run(&setup, &Scheduler::Easy, Box::new(Seen(Rc::clone(&order))), true, |_| true);
    assert_eq!(outcome.misfits, outcome.starts.iter().filter(|start| **start == i64::MIN).count() as u64);
    let tree = ShareTree::build(&workload.node_specs());
    let by_node = order.borrow().usage().by_node().to_vec();
    (0..workload.associations.len()).map(|place| by_node[tree.position(place).unwrap().index()]).collect()
}

/// Without decay a job adds its CPUs times its run time, whatever cycles it runs through, and accounts have what is below them.
#[test]
fn usage_is_cpus_times_run() {
    check(100, &(jobs(50), any::<bool>()), |(made, shared)| {
        let workload = workload(&made, &[("PriorityDecayHalfLife", "0"), ("PriorityCalcPeriod", "00:00:47")]);
        let usage = usage(&workload, shared);
        let mut expected = vec![0.0; workload.associations.len()];
        let machine = machine(shared);
        let setup = Setup::new(&workload, &machine);
        for (at, job) in (0_u32..).zip(&workload.jobs) {
            let fits = setup.partitions(at).iter().any(|partition| setup.fits(at, *partition));
            let mut next = fits.then_some(job.association);
            while let Some(place) = next {
                expected[place as usize] += f64::from(job.cpus) * f64::from(job.run);
                next = workload.associations[place as usize].parent;
            }
        }
        prop_assert_eq!(usage, expected);
        Ok(())
    });
}

/// With decay a period counts as the plugin counts it: each stretch as old as its begin, then decay at each cycle.
#[test]
fn usage_decays_as_in_the_plugin() {
    // Alone from the beginning: 1200 s on 3 CPUs, with cycles each 300 s.
    let workload = workload(&[(0, 60, 0, 3, 0, 0)], &[("PriorityDecayHalfLife", "00:30:00")]);
    let factor = decay_factor(1800);
    let mut expected = 0.0;
    for _ in 0..3 {
        expected = expected * decay_over(factor, 300.0) + run_decay(300.0, factor) * 3.0;
    }
    // The end comes before the cycle of the same second.
    expected += run_decay(300.0, factor) * 3.0;
    for usage in usage(&workload, false) {
        assert_near(usage, expected, "usage");
    }
}

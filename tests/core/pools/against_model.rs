//! Random cases in engine and model.
//!
//! What ties on paper ties in both, as a rule: the numbers are chosen for it (see [`super::cases`]), and jobs that are alike go through
//! the same arithmetic. But users who have used nothing have an F of 100 or of 99.99999999999999, as their shares are rounded,
//! and sums of different numbers may be equal on paper. There rounding decides who comes first, here one and there the other. So a case
//! that differs is let pass where the model compared claims that differ by less than 1e-12. These cases are counted: with a
//! wrong rule for ties, more than one in ten differ; by rounding alone, one in ten thousand.

use multifactor2_core::policy::pools::JobTickets;
use multifactor2_fixtures::pools_model::{schedule_closely, ModelTickets};
use multifactor2_fixtures::random;

use super::cases::{case, Case};
use super::{engine, text};
use crate::random::near;

/// Less than this is rounding.
const ROUNDING: f64 = 1e-12;

pub fn in_engine(case: &Case) -> Vec<(JobTickets, f64)> {
    let mut engine = engine(&case.config, &case.tree, &case.objects, &case.jobs);
    let tickets = engine.cycle(&case.jobs);
    tickets.into_iter().map(|tickets| (tickets, engine.factor(tickets))).collect()
}

pub fn agree(found: &(JobTickets, f64), expected: &ModelTickets) -> bool {
    let (JobTickets { overridden, functional, share_tree, .. }, factor) = *found;
    near(overridden, expected.o)
        && near(functional, expected.f)
        && near(share_tree, expected.s)
        && near(factor, expected.factor)
}

/// A case in words, with what was found and what was expected.
pub fn report(case: &Case, found: &[(JobTickets, f64)], expected: &[ModelTickets]) -> String {
    let mut lines = vec![text(&case.config, &case.objects, &case.jobs)];
    lines.extend(case.tree.nodes.iter().map(|row| format!("{row:?}")));
    for ((job, found), expected) in case.jobs.iter().zip(found).zip(expected) {
        let wrong = if agree(found, expected) { "" } else { "WRONG " };
        lines.push(format!("{job:?}\n    {wrong}{found:?}\n    {expected:?}"));
    }
    lines.join("\n")
}

#[test]
fn engine_agrees_with_the_model() {
    const CASES: usize = 4000;
    let mut random = random();
    let mut rounded = 0;
    for _ in 0..CASES {
        let case = case(&mut random);
        let found = in_engine(&case);
        let (expected, closest) = schedule_closely(&case.config, &case.tree, &case.objects, &case.jobs);
        if !found.iter().zip(&expected).all(|(found, expected)| agree(found, expected)) {
            assert!(closest < ROUNDING, "{}", report(&case, &found, &expected));
            rounded += 1;
        }
    }
    assert!(rounded * 500 < CASES, "{rounded} of {CASES} cases were turned round by rounding");
}

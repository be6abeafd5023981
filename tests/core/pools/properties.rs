//! What holds for every input: no number is none, factors are from 0 to 1, and what must not matter does not.

use fastrand::Rng;
use multifactor2_core::policy::pools::{JobTickets, Pools, WaitingJob, Who};
use multifactor2_fixtures::pools_model::{ModelJob, ModelTree};
use multifactor2_fixtures::{pick, random};

use super::cases::{self, case, tree};
use super::{engine, settings, Engine};
use crate::promises::words;
use crate::random::near;

const CASES: usize = 400;

fn is_sane(tickets: JobTickets) -> bool {
    let JobTickets { overridden, functional, share_tree, .. } = tickets;
    [overridden, functional, share_tree].iter().all(|tickets| tickets.is_finite() && *tickets >= 0.0)
}

/// Sizes and places that nobody should have.
fn wild(random: &mut Rng, who: &mut Who, outside: multifactor2_core::Node) {
    let sizes = [0.0, 1.0, 1e300, f64::MAX, f64::INFINITY, f64::NAN, -1.0, f64::MIN_POSITIVE];
    who.size = sizes[random.usize(..sizes.len())];
    if random.u32(..5) == 0 {
        who.node = outside;
    }
    who.count = [0, 1, 2, u32::MAX][random.usize(..4)];
}

#[test]
fn no_input_gives_a_number_that_is_none() {
    let mut random = random();
    let mut large = ModelTree::new(0.0);
    for at in 0..40 {
        large.add_user("root", &format!("user{at}"), Some(1), 0.0);
    }
    let outside = *Engine::new("", &large).nodes.last().unwrap();
    for _ in 0..CASES {
        let case = case(&mut random);
        let mut engine = engine(&case.config, &case.tree, &case.objects, &case.jobs);
        let mut all: Vec<(WaitingJob, Who)> =
            case.jobs.iter().map(|job| (engine.waiting(job), engine.who(job))).collect();
        for (job, who) in &mut all {
            wild(&mut random, who, outside);
            (job.node, job.size) = (who.node, who.size);
        }
        let (running, waiting) = all.split_at(random.usize(..=all.len()));
        let running: Vec<Who> = running.iter().map(|(_, who)| *who).collect();
        let waiting: Vec<WaitingJob> = waiting.iter().map(|(job, _)| *job).collect();
        let mut tickets = engine.distribute(&waiting, &running);
        for (_, who) in &all {
            tickets.push(engine.pools.of_running(&engine.tree, &engine.fair_share, *who));
            tickets.push(engine.pools.of_next(&engine.tree, &engine.fair_share, *who));
            engine.fair_share.join(&engine.tree, who.node);
            let tickets = engine.pools.of_next(&engine.tree, &engine.fair_share, *who);
            engine.pools.join(&engine.tree, &engine.fair_share, *who, tickets);
        }
        for tickets in tickets {
            assert!(is_sane(tickets), "{tickets:?}\n{case:#?}\n{all:#?}");
            let factor = engine.factor(tickets);
            assert!((0.0..=1.0).contains(&factor), "{factor}\n{case:#?}\n{all:#?}");
        }
    }
}

#[test]
fn before_the_first_cycle_and_in_an_empty_queue_nothing_goes_wrong() {
    let mut random = random();
    for _ in 0..CASES {
        let case = case(&mut random);
        let mut engine = engine(&case.config, &case.tree, &case.objects, &case.jobs);
        for job in &case.jobs {
            assert!(is_sane(engine.submit(job)), "{case:#?}");
        }
        assert!(engine.cycle(&[]).is_empty());
        assert!(engine.pools.max_tickets() <= 0.0);
        for job in &case.jobs {
            let tickets = engine.submit(job);
            assert!(is_sane(tickets) && (0.0..=1.0).contains(&engine.factor(tickets)), "{case:#?}");
        }
    }
}

#[test]
fn the_best_waiting_job_has_exactly_1() {
    let mut random = random();
    for _ in 0..CASES {
        let case = case(&mut random);
        let mut engine = engine(&case.config, &case.tree, &case.objects, &case.jobs);
        let tickets = engine.cycle(&case.jobs);
        let waiting = tickets.iter().zip(&case.jobs).filter(|(_, job)| !job.running);
        let factors: Vec<f64> = waiting.map(|(tickets, _)| engine.factor(*tickets)).collect();
        assert!(factors.iter().all(|factor| (0.0..=1.0).contains(factor)));
        if engine.pools.max_tickets() > 0.0 {
            assert_eq!(factors.iter().copied().fold(0.0, f64::max).to_bits(), 1_f64.to_bits(), "{case:#?}");
        }
    }
}

/// The pools are not even there for that, so the factor is today's to the bit. Where they have to be, for `AdminCommentTickets`, tickets are
/// multiplied by `TicketsShare` first, which is exact with 1000 and rounded else.
#[test]
fn the_undiluted_share_tree_alone_gives_the_factor_of_the_user() {
    for text in ["", "TicketsShare=7", "PolicyHierarchy=SOF", "CompensationFactor=3", "Distribution=strict"] {
        assert!(Pools::configured(&settings(text)).is_none(), "{text}");
    }
    let mut random = random();
    for _ in 0..CASES {
        let tree = tree(&mut random);
        let jobs = cases::jobs(&mut random, &tree, false);
        let jobs: Vec<ModelJob> = jobs.into_iter().map(|job| ModelJob { own: 0.0, ..job }).collect();
        let distribution = pick(&mut random, &words());
        let scale = pick(&mut random, &["linear", "log"]);
        for (share, exact) in [(1000, true), (10_000, false)] {
            let text = format!("Distribution={distribution}\nFairShareScale={scale}\nTicketsShare={share}");
            let mut engine = Engine::new(&text, &tree);
            for (tickets, job) in engine.cycle(&jobs).into_iter().zip(&jobs) {
                let of_user = engine.fair_share.priority(engine.node(&job.user, &job.account));
                let factor = engine.factor(tickets);
                assert!(near(factor, of_user) || (factor - of_user).abs() < 1e-12, "{factor}, not {of_user}");
                assert!(!exact || factor.to_bits() == of_user.to_bits(), "{factor}, not {of_user}");
            }
        }
    }
}

/// The place of a job among those of its user.
fn place(job: &ModelJob) -> (i64, bool, i64, u32) {
    (job.nice, job.accrue == 0, job.accrue, job.id)
}

#[test]
fn factors_of_a_user_never_rise_where_the_share_tree_counts_alone() {
    let mut random = random();
    for _ in 0..CASES {
        let mut case = case(&mut random);
        case.config.tickets_functional = 0.0;
        case.objects.clear();
        for job in &mut case.jobs {
            job.own = 0.0;
        }
        let mut engine = engine(&case.config, &case.tree, &case.objects, &case.jobs);
        let tickets = engine.cycle(&case.jobs);
        let all = || case.jobs.iter().zip(&tickets).filter(|(job, _)| !job.running);
        for ((first, of_first), (second, of_second)) in all().flat_map(|a| all().map(move |b| (a, b))) {
            if first.user == second.user && first.account == second.account && place(first) < place(second) {
                assert!(of_first.share_tree >= of_second.share_tree, "{first:?}, {second:?}\n{case:#?}");
            }
        }
    }
}

#[test]
fn other_units_of_the_shares_of_a_level_change_nothing() {
    let mut random = random();
    for _ in 0..CASES {
        let mut case = case(&mut random);
        case.config.tickets_functional = 0.0;
        case.objects.clear();
        // Powers of two are exact: what ties goes on to tie.
        let (node, factor) = (random.usize(..case.tree.nodes.len()), 1 << random.u32(1..10));
        let mut scaled = case.clone();
        for at in level_of(&case.tree, node) {
            scaled.tree.nodes[at].shares = case.tree.nodes[at].shares.map(|shares| shares * factor);
        }
        let tickets = |case: &cases::Case| {
            engine(&case.config, &case.tree, &case.objects, &case.jobs).cycle(&case.jobs)
        };
        for (before, after) in tickets(&case).into_iter().zip(tickets(&scaled)) {
            assert!(near(before.total(), after.total()), "{before:?} became {after:?}\n{case:#?}");
        }
    }
}

/// Who competes with an association, also through accounts with `Fairshare=parent`.
fn level_of(tree: &ModelTree, node: usize) -> Vec<usize> {
    let is_transparent = |at: usize| at > 0 && !tree.nodes[at].user && tree.nodes[at].shares.is_none();
    let above = |at: usize| {
        let mut above = tree.nodes[at].parent?;
        while is_transparent(above) {
            above = tree.nodes[above].parent?;
        }
        Some(above)
    };
    (0..tree.nodes.len()).filter(|at| above(*at) == above(node) && above(*at).is_some()).collect()
}

#[test]
fn the_order_in_which_jobs_are_given_does_not_matter() {
    let mut random = random();
    for _ in 0..CASES {
        let case = case(&mut random);
        let mut shuffled = case.jobs.clone();
        random.shuffle(&mut shuffled);
        let tickets = |jobs: &[ModelJob]| {
            let mut engine = engine(&case.config, &case.tree, &case.objects, jobs);
            let mut by_id: Vec<(u32, JobTickets)> =
                jobs.iter().map(|job| job.id).zip(engine.cycle(jobs)).collect();
            by_id.sort_by_key(|(id, _)| *id);
            by_id
        };
        for ((id, before), (_, after)) in tickets(&case.jobs).into_iter().zip(tickets(&shuffled)) {
            assert!(
                near(before.overridden, after.overridden),
                "{id}: {before:?} became {after:?}\n{case:#?}"
            );
            assert!(
                near(before.functional, after.functional),
                "{id}: {before:?} became {after:?}\n{case:#?}"
            );
            assert!(
                near(before.share_tree, after.share_tree),
                "{id}: {before:?} became {after:?}\n{case:#?}"
            );
        }
    }
}

//! Submissions between two cycles: a job has what the next cycle gives it, where it is the last of its user there. That takes no look at
//! the jobs; see `memory.rs` for what it costs.

use fastrand::Rng;
use multifactor2_core::policy::pools::JobTickets;
use multifactor2_fixtures::pools_model::{ModelJob, ModelTree};
use multifactor2_fixtures::{pick, random};

use super::cases::{self, tree};
use super::Engine;
use crate::random::near;

const CASES: usize = 800;

/// A job that comes last among those of its user.
fn last(id: u32, user: &str, account: &str) -> ModelJob {
    ModelJob { nice: 1000, ..ModelJob::waiting(id, user, account) }
}

/// Jobs without tickets of their own.
fn jobs(random: &mut Rng, tree: &ModelTree, unit: bool) -> Vec<ModelJob> {
    let mut jobs = cases::jobs(random, tree, unit);
    for job in &mut jobs {
        job.own = 0.0;
    }
    jobs
}

/// User and account of an association.
fn users(tree: &ModelTree) -> Vec<(&str, &str)> {
    let users = tree.nodes.iter().filter(|row| row.user);
    users.map(|row| (row.name.as_str(), tree.nodes[row.parent.unwrap()].name.as_str())).collect()
}

fn waits(jobs: &[ModelJob], (user, account): (&str, &str)) -> bool {
    jobs.iter().any(|job| !job.running && job.user == user && job.account == account)
}

/// Submits some jobs to a cycle of some others, and compares what each is given with what the next cycle gives it.
fn submitted(random: &mut Rng, text: &str, tree: &ModelTree, jobs: &[ModelJob], of: &[(&str, &str)]) {
    let mut engine = Engine::new(text, tree);
    engine.cycle(jobs);
    let mut all = jobs.to_vec();
    for id in 100..random.u32(101..104) {
        let (user, account) = of[random.usize(..of.len())];
        let mut job = last(id, user, account);
        job.size = jobs.first().map_or(1.0, |first| first.size);
        let found = engine.submit(&job);
        all.push(job);
        let expected = *Engine::new(text, tree).cycle(&all).last().unwrap();
        assert!(equal(found, expected), "{text}\n{tree:#?}\n{all:#?}\n{found:?}, not {expected:?}");
    }
}

fn equal(a: JobTickets, b: JobTickets) -> bool {
    near(a.overridden, b.overridden) && near(a.functional, b.functional) && near(a.share_tree, b.share_tree)
}

#[test]
fn a_submission_has_what_the_next_cycle_gives_it_where_users_dilute() {
    let mut random = random();
    for _ in 0..CASES {
        let (tree, unit) = (tree(&mut random), random.bool());
        let jobs = jobs(&mut random, &tree, unit);
        let distribution = pick(
            &mut random,
            &["tickets", "tickets\nCompensationFactor=2", "standing", "strict", "tickets\nParentUsers=split"],
        );
        let dilution = pick(&mut random, &["none", "user", "user\nDilutionExponent=0.5\nDilutionRunning=no"]);
        let text = format!("Distribution={distribution}\nDilution={dilution}");
        let users = users(&tree);
        let one = users[random.usize(..users.len())];
        submitted(&mut random, &text, &tree, &jobs, &[one]);
        // Newcomers see each other. Who waits already keeps what the cycle gave.
        let new: Vec<_> = users.iter().copied().filter(|user| !waits(&jobs, *user)).collect();
        if !new.is_empty() {
            submitted(&mut random, &text, &tree, &jobs, &new);
        }
    }
}

/// Jobs of one user, who waits already: nothing else changes.
#[test]
fn a_submission_has_what_the_next_cycle_gives_it_in_the_tree() {
    let mut random = random();
    for _ in 0..CASES {
        let (tree, unit) = (tree(&mut random), random.bool());
        let jobs = jobs(&mut random, &tree, unit);
        let Some(other) = jobs.iter().find(|job| !job.running) else { continue };
        let distribution = pick(&mut random, &["tickets", "tickets\nCompensationFactor=2", "standing"]);
        let exponent = pick(&mut random, &["1", "1", "0.5", "0", "2"]);
        let unit = if unit { "job" } else { "cpu" };
        let text = format!(
            "Distribution={distribution}\nDilution=tree\nDilutionExponent={exponent}\nDilutionUnit={unit}"
        );
        submitted(&mut random, &text, &tree, &jobs, &[(&other.user, &other.account)]);
    }
}

/// The first job of somebody new. What the others have of the level then becomes less, so that it does not come behind them all.
#[test]
fn a_newcomer_has_what_the_next_cycle_gives_it_in_the_tree() {
    let mut random = random();
    for _ in 0..CASES {
        let mut tree = tree(&mut random);
        // Nobody ties, as there rounding would decide. What users with `Fairshare=parent` have does not become less.
        for row in &mut tree.nodes {
            row.usage = if row.parent.is_none() { 2e6 } else { 1e6 * random.f64() };
            row.shares = if row.user { row.shares.or(Some(1)) } else { row.shares };
        }
        let jobs = jobs(&mut random, &tree, true);
        let users = users(&tree);
        let Some(new) = users.iter().find(|user| !waits(&jobs, **user)) else { continue };
        submitted(&mut random, "Dilution=tree", &tree, &jobs, &[*new]);
    }
}

/// As no other job of the user comes behind it, and the first jobs of all others come before.
#[test]
fn a_submission_has_what_the_next_cycle_gives_it_of_override_and_functional_tickets() {
    let mut random = random();
    for _ in 0..CASES {
        let tree = tree(&mut random);
        let unit = random.bool();
        let jobs = jobs(&mut random, &tree, unit);
        let Some(other) = jobs.iter().find(|job| !job.running) else { continue };
        let text = "TicketsShare=0\nTicketsFunctional=10000\nPolicyHierarchy=NONE\n\
                    Functional=User Name=* Shares=3\n\
                    Override=User Name=ann,bob Tickets=100 Shared=yes\nOverride=User Name=ann Tickets=60 Shared=no";
        submitted(&mut random, text, &tree, &jobs, &[(&other.user, &other.account)]);
    }
}

/// Two equal users, of whom one has 1000 jobs. The other's first job is worth as much as the first one's first.
#[test]
fn a_newcomer_is_not_behind_a_thousand_jobs_of_another() {
    let mut tree = ModelTree::new(0.0);
    for account in ["A", "B"] {
        tree.add_account("root", account, Some(1), 0.0);
        for user in ["ann", "bob"] {
            tree.add_user(account, user, Some(1), 0.0);
        }
    }
    let mut jobs: Vec<ModelJob> = (0..1000).map(|id| ModelJob::waiting(id, "ann", "A")).collect();
    jobs.push(ModelJob::waiting(1000, "ann", "B"));
    let mut engine = Engine::new("Dilution=tree", &tree);
    engine.cycle(&jobs);
    let submit = |engine: &mut Engine, id| engine.submit(&ModelJob::waiting(id, "bob", "A")).share_tree;
    // 5000 of A: ann's first, and bob's behind it, as it has the larger id.
    assert!(near(submit(&mut engine, 1001), 2500.0));
    // Then ann's second, and bob's.
    assert!(near(submit(&mut engine, 1002), 1250.0));
}

/// Two users in an account beside another account, and some jobs of each that wait.
fn two_users(ann: u32, bob: u32) -> (ModelTree, Vec<ModelJob>) {
    let mut tree = ModelTree::new(0.0);
    for account in ["A", "B"] {
        tree.add_account("root", account, Some(1), 0.0);
        for user in ["ann", "bob"] {
            tree.add_user(account, user, Some(1), 0.0);
        }
    }
    let of =
        |first: u32, count: u32, user| (0..count).map(move |at| ModelJob::waiting(first + 2 * at, user, "A"));
    let jobs = of(1, ann, "ann").chain(of(31, bob, "bob")).chain([ModelJob::waiting(61, "ann", "B")]);
    (tree, jobs.collect())
}

/// Tickets of the share tree that a new job of bob gets at once, and in the next cycle.
fn now_and_then(text: &str, (tree, mut jobs): (ModelTree, Vec<ModelJob>)) -> [f64; 2] {
    let mut engine = Engine::new(text, &tree);
    engine.cycle(&jobs);
    let job = last(71, "bob", "A");
    let now = engine.submit(&job).share_tree;
    jobs.push(job);
    [now, Engine::new(text, &tree).cycle(&jobs).last().unwrap().share_tree]
}

/// ann's four jobs have 5000, 2500, … in the account, and bob's second 2500. With 3000 override tickets it comes before all of them.
#[test]
fn a_submission_comes_before_others_by_what_earlier_pools_give_it() {
    let with = |tickets: u32| {
        let text =
            format!("Dilution=tree\nPolicyHierarchy=OS\nOverride=User Name=bob Tickets={tickets} Shared=no");
        now_and_then(&text, two_users(4, 1))
    };
    assert!(with(1).iter().all(|tickets| near(*tickets, 5000.0 / 3.0)), "{:?}", with(1));
    assert!(with(3000).iter().all(|tickets| near(*tickets, 5000.0 / 2.0)), "{:?}", with(3000));
}

/// Nobody's standing becomes less by somebody new, so the first job of bob ties with ann's first and comes behind it.
#[test]
fn a_newcomer_by_standing_comes_behind_those_who_are_as_good() {
    let all = now_and_then("Dilution=tree\nDistribution=standing", two_users(4, 0));
    assert!(all.iter().all(|tickets| near(*tickets, 10000.0 / 2.0)), "{all:?}");
}

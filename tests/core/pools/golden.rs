//! Model and engine against what is known of Grid Engine's tickets, and against numbers worked out by hand: each case once, in both. Random
//! cases, of which nobody knows the numbers, are elsewhere; this says that the model which they are compared with is right.

use multifactor2_core::policy::pools::JobTickets;
use multifactor2_fixtures::pools_model::{
    schedule, ModelConfig, ModelDilution, ModelDistribution, ModelFunctional, ModelJob, ModelKind, ModelNode,
    ModelObject, ModelShares, ModelTickets, ModelTree,
};
use multifactor2_fixtures::seed_tables::{self, Found, JOBS, TABLES};
use multifactor2_fixtures::{assert_near, model};
use proptest::prelude::*;

use super::against_model::{agree, in_engine, report};
use super::cases::Case;
use super::Engine;
use crate::random::{any_shares, near, trees};

/// The tickets of jobs in the model, and the same in the engine.
#[track_caller]
fn in_both(
    config: &ModelConfig,
    tree: &ModelTree,
    objects: &[ModelObject],
    jobs: &[ModelJob],
) -> Vec<ModelTickets> {
    let expected = schedule(config, tree, objects, jobs);
    let case =
        Case { config: config.clone(), tree: tree.clone(), objects: objects.to_vec(), jobs: jobs.to_vec() };
    let found = in_engine(&case);
    let all_agree = found.iter().zip(&expected).all(|(found, expected)| agree(found, expected));
    assert!(all_agree && found.len() == expected.len(), "{}", report(&case, &found, &expected));
    expected
}

/// The seed under a hierarchy, with other settings.
fn seed_with(hierarchy: &str, change: impl Fn(&mut ModelConfig, &mut [ModelObject])) -> Vec<ModelTickets> {
    let (mut config, tree, mut objects, jobs) = seed_tables::for_the_model(hierarchy);
    change(&mut config, &mut objects);
    in_both(&config, &tree, &objects, &jobs)
}

fn printed(tickets: &[ModelTickets]) -> Vec<[String; 9]> {
    let found = |(found, (_, account)): (&ModelTickets, &(u32, &'static str))| -> Found {
        let ModelTickets { id, o, f, s, .. } = *found;
        Found { job: id, account, own: 0.0, o, f, s }
    };
    seed_tables::printed(tickets.iter().zip(&JOBS).map(found).collect())
}

/// Job by job: total, override, functional.
#[track_caller]
fn assert_tickets(found: &[ModelTickets], expected: &[(u32, f64, f64)]) {
    assert_eq!(found.len(), expected.len());
    for (id, o, f) in expected {
        let found = found.iter().find(|found| found.id == *id).expect("a job of the table");
        assert_near(found.o, *o, &format!("override tickets of {id}"));
        assert_near(found.f, *f, &format!("functional tickets of {id}"));
        assert_near(found.total, o + f, &format!("tickets of {id}"));
    }
}

/// Tickets of the share tree in the order of the jobs.
#[track_caller]
fn assert_share_tree(found: &[ModelTickets], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_near(found.s, *expected, &format!("job {}", found.id));
    }
}

fn jobs_of(names: &[(&str, &str)]) -> Vec<ModelJob> {
    (1..).zip(names).map(|(id, (user, account))| ModelJob::waiting(id, user, account)).collect()
}

#[test]
fn all_cells_of_both_tables() {
    for (hierarchy, table) in TABLES {
        let table = table.map(|row| row.map(str::to_owned));
        assert_eq!(printed(&seed_with(hierarchy, |_, _| ())), table, "{hierarchy}");
        // With the lines that the page shows.
        let (_, tree, _, jobs) = seed_tables::for_the_model(hierarchy);
        let found = Engine::new(&seed_tables::settings(hierarchy), &tree).cycle(&jobs);
        let found = found.iter().zip(&JOBS).map(|(tickets, (job, account))| {
            let JobTickets { overridden: o, functional: f, share_tree: s, .. } = *tickets;
            Found { job: *job, account, own: 0.0, o, f, s }
        });
        assert_eq!(seed_tables::printed(found.collect()), table, "{hierarchy}");
    }
}

/// Policies that are in no hierarchy are paid all the same, and influence nothing.
#[test]
fn without_a_hierarchy_the_table_is_that_of_functional_tickets_first() {
    let found = printed(&seed_with("NONE", |_, _| ()));
    assert_eq!(found, TABLES[1].1.map(|row| row.map(str::to_owned)));
}

/// The script that derives these cases gives the rest the fourth job's claim, 6249.94. Here it is the claim of a fifth job.
#[test]
fn jobs_beyond_the_limit_get_what_the_next_one_would() {
    let found = seed_with("OFS", |config, _| config.max_functional_jobs = 4);
    assert_tickets(
        &found,
        &[
            (223_690, 10.0, 25_000.0),
            (223_691, 5.0, 12_500.0),
            (223_683, 0.0, 25_000.0 / 3.0),
            (223_684, 0.0, 6250.0),
            (223_685, 0.0, 5000.0),
            (223_686, 0.0, 5000.0),
            (223_687, 0.0, 5000.0),
            (223_688, 0.0, 5000.0),
            (223_689, 0.0, 5000.0),
        ],
    );
}

#[test]
fn override_tickets_that_are_not_shared_go_whole_to_each_job() {
    let found = seed_with("OFS", |config, objects| {
        config.share_override = false;
        objects[0] = config.line(ModelKind::Account, seed_tables::PROJECT, seed_tables::PROJECT_TICKETS);
    });
    let mut expected = TABLES[0].1;
    expected[1] = ["223691", "0.50020", "PRJ1", "12510", "0", "10", "12500", "0", "0.18"];
    assert_eq!(printed(&found), expected.map(|row| row.map(str::to_owned)));
}

/// With one user the sum of shares grows as fast as its jobs, so the table is the same.
#[test]
fn functional_shares_that_are_not_shared() {
    let found = seed_with("OFS", |config, _| config.share_functional = false);
    assert_eq!(printed(&found), TABLES[0].1.map(|row| row.map(str::to_owned)));
}

fn two_accounts() -> ModelTree {
    let mut tree = ModelTree::new(0.0);
    tree.add_account("root", "top", Some(1), 0.0);
    tree.add_account("top", "left", Some(30), 0.0);
    tree.add_account("top", "right", Some(10), 0.0);
    for account in ["left", "right"] {
        tree.add_user(account, "a", Some(100), 0.0);
        tree.add_user(account, "b", Some(300), 0.0);
    }
    tree
}

fn functional_only() -> ModelConfig {
    ModelConfig { tickets_share: 0.0, tickets_functional: 100_000.0, ..ModelConfig::default() }
}

#[test]
fn two_users_with_functional_shares() {
    let mut config = functional_only();
    config.functional[0] = ModelFunctional::some(&[("a", 100.0), ("b", 300.0)]);
    let jobs =
        jobs_of(&[("a", "left"), ("a", "left"), ("a", "left"), ("b", "left"), ("b", "left"), ("b", "left")]);
    let expected = [
        (1, 0.0, 6250.0),
        (2, 0.0, 3125.0),
        (3, 0.0, 6250.0 / 3.0),
        (4, 0.0, 25_000.0),
        (5, 0.0, 12_500.0),
        (6, 0.0, 6250.0),
    ];
    assert_tickets(&in_both(&config, &two_accounts(), &[], &jobs), &expected);
    config.functional[0] = ModelFunctional::all(ModelShares::RawShares);
    assert_tickets(&in_both(&config, &two_accounts(), &[], &jobs), &expected);
}

/// Running jobs divide the whole pool, as only one kind has shares; a waiting one is the next after them.
#[test]
fn running_jobs_count_for_functional_and_override_tickets() {
    let mut config = functional_only();
    config.functional[0] = ModelFunctional::some(&[("a", 100.0)]);
    let mut jobs = jobs_of(&[("a", "left"), ("a", "right")]);
    jobs.push(ModelJob::running(3, "a", "left"));
    let lines = [
        config.line(ModelKind::User, "a", 60.0),
        ModelObject { shared: false, ..config.line(ModelKind::Account, "left", 7.0) },
    ];
    let found = in_both(&config, &two_accounts(), &lines, &jobs);
    assert_tickets(
        &found,
        &[(1, 30.0 + 7.0, 12_500.0), (2, 20.0, 25_000.0 / 3.0), (3, 60.0 + 7.0, 100_000.0)],
    );
    assert_near(found[2].factor, 1.0, "a running job");
    assert_near(found[1].factor, found[1].total / found[0].total, "the second job");
}

/// Each of three kinds with shares has its quarter; the department of both jobs is `top`.
#[test]
fn accounts_and_departments_have_functional_shares() {
    let mut config = functional_only();
    config.functional[1] = ModelFunctional::all(ModelShares::RawShares);
    config.functional[2] = ModelFunctional::some(&[("top", 5.0)]);
    let jobs = jobs_of(&[("a", "right"), ("a", "left")]);
    // 2 comes first: 30 of 30, 5 of 5. Then 1: 10 of 40, and half of the department.
    let expected = [(1, 0.0, 6250.0 + 12_500.0), (2, 0.0, 25_000.0 + 25_000.0)];
    assert_tickets(&in_both(&config, &two_accounts(), &[], &jobs), &expected);
}

/// 2 has the largest claim, then 3: of the tickets of `top` they get all and a half, 1 a third.
#[test]
fn an_override_line_of_every_kind() {
    let config = ModelConfig { tickets_share: 0.0, ..ModelConfig::default() };
    let mut jobs =
        jobs_of(&[("a", "left"), ("b", "left"), ("a", "right"), ("a", "root"), ("nobody", "nowhere")]);
    jobs[1].qos = "high".to_owned();
    jobs[2].partition = "gpu".to_owned();
    jobs[2].wckey = "key".to_owned();
    jobs[4].own = 3.0;
    let lines = [
        config.line(ModelKind::Parent, "top", 60.0),
        config.line(ModelKind::Qos, "high", 100.0),
        config.line(ModelKind::Partition, "gpu", 1.0),
        config.line(ModelKind::WcKey, "key", 2.0),
        // Two lines of one object add up.
        config.line(ModelKind::WcKey, "key", 3.0),
    ];
    let found = in_both(&config, &two_accounts(), &lines, &jobs);
    let expected = [(1, 20.0, 0.0), (2, 160.0, 0.0), (3, 36.0, 0.0), (4, 0.0, 0.0), (5, 3.0, 0.0)];
    assert_tickets(&found, &expected);
}

/// Inside a category: nice, time of accrual with 0 last, number of job and task.
#[test]
fn the_order_of_jobs_that_are_alike() {
    let config = ModelConfig { tickets_share: 0.0, ..ModelConfig::default() };
    let mut jobs = jobs_of(&[("a", "left"); 5]);
    (jobs[0].nice, jobs[1].accrue, jobs[2].accrue) = (10, 0, 7);
    (jobs[3].id, jobs[3].task, jobs[4].nice) = (2, 1, -1);
    // An array's tasks are jobs of their own in slurmctld, so the engine knows numbers of jobs alone.
    let found = schedule(&config, &two_accounts(), &[config.line(ModelKind::User, "a", 60.0)], &jobs);
    let o: Vec<f64> = found.iter().map(|found| found.o).collect();
    for (found, rank) in o.iter().zip([5.0, 3.0, 2.0, 4.0, 1.0]) {
        assert_near(*found, 60.0 / rank, "override tickets");
    }
}

fn tree_diluted() -> ModelConfig {
    ModelConfig { dilution: ModelDilution::Tree, ..ModelConfig::default() }
}

/// S·F of A and B, of equal shares, is as 1 to 9. With C = 1.2 the claim of B is divided by 0.9 / (1.2 · 0.5), so it is as 1 to 6.
#[test]
fn compensation() {
    let mut tree = ModelTree::new(1000.0);
    for (account, user, usage) in [("A", "ua", 900.0), ("B", "ub", 100.0)] {
        tree.add_account("root", account, Some(50), usage);
        tree.add_user(account, user, Some(1), usage);
    }
    let jobs = jobs_of(&[("ua", "A"), ("ua", "A"), ("ub", "B"), ("ub", "B")]);
    for (compensation, of_a) in [(5.0, 1000.0), (1.2, 10_000.0 / 7.0), (0.0, 1000.0)] {
        let config = ModelConfig { compensation, ..tree_diluted() };
        let of_b = 10_000.0 - of_a;
        let found = in_both(&config, &tree, &[], &jobs);
        assert_share_tree(&found, &[of_a, of_a / 2.0, of_b, of_b / 2.0]);
    }
}

/// S²/U of P1 and P2 is as 0.36 to 0.64, that of u1 and u2 as 0.25 to 0.75.
fn three_users() -> (ModelTree, Vec<ModelJob>) {
    let mut tree = ModelTree::new(500.0);
    tree.add_account("root", "P1", Some(60), 400.0);
    tree.add_account("root", "P2", Some(40), 100.0);
    tree.add_user("P1", "u1", Some(50), 300.0);
    tree.add_user("P1", "u2", Some(50), 100.0);
    tree.add_user("P2", "u3", Some(1), 100.0);
    let names = [("u1", "P1"), ("u1", "P1"), ("u2", "P1"), ("u2", "P1"), ("u3", "P2"), ("u3", "P2")];
    (tree, jobs_of(&names))
}

#[test]
fn dilution_by_the_tree() {
    let (tree, jobs) = three_users();
    let found = in_both(&tree_diluted(), &tree, &[], &jobs);
    assert_share_tree(&found, &[1200.0, 900.0, 3600.0, 1800.0, 6400.0, 3200.0]);
}

/// P2 alone has nobody to compete with, so its user is the top: all tickets, then a half.
#[test]
fn levels_without_competition_are_left_out_of_the_tree() {
    let (tree, jobs) = three_users();
    assert_share_tree(&in_both(&tree_diluted(), &tree, &[], &jobs[4..]), &[10_000.0, 5000.0]);
    // Of P1 the users are the branches.
    let found = in_both(&tree_diluted(), &tree, &[], &jobs[..4]);
    assert_share_tree(&found, &[2500.0, 1250.0, 7500.0, 3750.0]);
}

/// With override tickets u1's second job comes before its first and before those of u2. So it gets the 3600 of P1, the others a half, a
/// third and a fourth of them.
#[test]
fn tickets_of_earlier_policies_rank_jobs_in_the_tree() {
    let (tree, mut jobs) = three_users();
    jobs[1].own = 6000.0;
    let found = in_both(&tree_diluted(), &tree, &[], &jobs);
    assert_share_tree(&found, &[900.0, 3600.0, 1800.0, 1200.0, 6400.0, 3200.0]);
    let config = ModelConfig { hierarchy: "SFO".to_owned(), ..tree_diluted() };
    let found = in_both(&config, &tree, &[], &jobs);
    assert_share_tree(&found, &[1200.0, 900.0, 3600.0, 1800.0, 6400.0, 3200.0]);
    assert_near(found[1].total, 6900.0, "both pools");
}

/// T is 900, 2700 and 6400. The k-th job with r running gets T/(r + k).
#[test]
fn dilution_by_the_user() {
    let (tree, mut jobs) = three_users();
    jobs.push(ModelJob::running(7, "u2", "P1"));
    jobs.push(ModelJob::running(8, "u2", "P1"));
    let mut config = ModelConfig { dilution: ModelDilution::User, ..ModelConfig::default() };
    let expected = [900.0, 450.0, 2700.0 / 3.0, 2700.0 / 4.0, 6400.0, 3200.0, 1350.0, 1350.0];
    assert_share_tree(&in_both(&config, &tree, &[], &jobs), &expected);
    config.count_running = false;
    let expected = [900.0, 450.0, 2700.0, 1350.0, 6400.0, 3200.0, 2700.0, 2700.0];
    assert_share_tree(&in_both(&config, &tree, &[], &jobs), &expected);
    // Sizes of four by quanta of two: the second job has two ahead, under the root 1/√3.
    (config.quantum, config.exponent) = (2.0, 0.5);
    for job in &mut jobs {
        job.size = 4.0;
    }
    let found = in_both(&config, &tree, &[], &jobs);
    assert_near(found[1].s, 900.0 / 3_f64.sqrt(), "the second job of u1");
}

/// Two jobs of u2 run: below P1 the first has two ahead, below u2, too. u2's keys are 0.75/3 and 0.75/4, u1's 0.25 and 0.125. The first two
/// are equal, so the smaller number comes first.
#[test]
fn what_runs_dilutes_every_association_above_it() {
    let (tree, mut jobs) = three_users();
    jobs.push(ModelJob::running(7, "u2", "P1"));
    jobs.push(ModelJob::running(8, "u2", "P1"));
    let found = in_both(&tree_diluted(), &tree, &[], &jobs);
    // A running job has the fourth part of its user's tickets, as two run and two wait.
    let expected = [1200.0, 600.0, 900.0, 720.0, 6400.0, 3200.0, 675.0, 675.0];
    assert_share_tree(&found, &expected);
}

/// F of P1 is 0.6/0.8, that of P2 0.4/0.2; that of u1 0.3/0.6, that of u2 0.3/0.2. So P1 has 0.375 of P2's, u1 a third of u2's. The mean S of
/// the users is a third: two jobs of u1 count as 2/0.9, those of u3 as 2/1.2.
#[test]
fn dilution_under_standing_is_weighed_by_shares() {
    let (tree, jobs) = three_users();
    let mut config = ModelConfig {
        distribution: ModelDistribution::Standing,
        dilution: ModelDilution::User,
        ..ModelConfig::default()
    };
    let left = |weight: f64| 1.0 / (1.0 + 1.0 / weight);
    let expected = [1250.0, 1250.0 * left(0.9), 3750.0, 3750.0 * left(0.9), 10_000.0, 10_000.0 * left(1.2)];
    assert_share_tree(&in_both(&config, &tree, &[], &jobs), &expected);
    // In the tree u1 and u2 weigh 1 at their level, so their keys are 1/3, 1/6 and 1, 1/2, while P1 weighs 1.2 and P2 0.8.
    config.dilution = ModelDilution::Tree;
    let of_p1 = |ahead: f64| 3750.0 / (1.0 + ahead / 1.2);
    let expected = [of_p1(2.0), of_p1(3.0), of_p1(0.0), of_p1(1.0), 10_000.0, 10_000.0 / (1.0 + 1.0 / 0.8)];
    assert_share_tree(&in_both(&config, &tree, &[], &jobs), &expected);
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    /// The other model says who has which tickets: those who wait, and as running jobs those who do not.
    #[test]
    fn undiluted_tickets_are_those_of_the_share_tree(associations in trees(1..30, any_shares())) {
        let nodes = associations.iter().enumerate().map(|(at, row)| ModelNode {
            name: at.to_string(),
            parent: row.parent,
            shares: row.shares,
            user: row.user,
            usage: row.usage,
        });
        let tree = ModelTree { nodes: nodes.collect() };
        let (mut jobs, mut expected) = (Vec::new(), Vec::new());
        for (at, (row, outcome)) in associations.iter().zip(model::outcomes(&associations)).enumerate() {
            if let (true, Some(account)) = (row.user, row.parent) {
                let job = ModelJob::waiting(1, &at.to_string(), &account.to_string());
                jobs.push(ModelJob { running: !row.waiting, ..job });
                expected.push((10.0 * outcome.tickets, outcome.factor));
            }
        }
        let found = schedule(&ModelConfig::default(), &tree, &[], &jobs);
        for (found, (tickets, factor)) in found.iter().zip(expected) {
            prop_assert!(near(found.s, tickets) && near(found.factor, factor), "{found:?}, not {tickets}, {factor}");
        }
    }
}

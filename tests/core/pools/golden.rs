//! The engine against the tables that are known of Grid Engine, and against numbers worked out by hand.

use multifactor2_core::policy::pools::JobTickets;
use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::pools_model::{ModelJob, ModelTree};
use multifactor2_fixtures::seed_tables::{self, Found, JOBS, NO_PROJECT, PROJECT, SHARES, TABLES, USER};

use super::Engine;

/// Two accounts with the user in each.
fn seed_tree() -> ModelTree {
    let mut tree = ModelTree::new(0.0);
    for account in [NO_PROJECT, PROJECT] {
        tree.add_account("root", account, Some(1), 0.0);
        tree.add_user(account, USER, Some(SHARES), 0.0);
    }
    tree
}

/// The seed's jobs with its settings under a hierarchy, and lines that take their place.
fn seed_with(hierarchy: &str, lines: &[&str]) -> Vec<JobTickets> {
    let mut text = seed_tables::settings(hierarchy);
    for line in lines {
        let attribute = line.split('=').next().unwrap();
        let others = |kept: &&str| !kept.starts_with(&format!("{attribute}="));
        text = text.lines().filter(others).collect::<Vec<_>>().join("\n") + "\n" + line + "\n";
    }
    let jobs: Vec<ModelJob> =
        JOBS.iter().map(|(id, account)| ModelJob::waiting(*id, USER, account)).collect();
    Engine::new(&text, &seed_tree()).cycle(&jobs)
}

fn printed(tickets: &[JobTickets]) -> Vec<[String; 9]> {
    let found = |(tickets, (job, account)): (&JobTickets, &(u32, &'static str))| {
        let JobTickets { overridden: o, functional: f, share_tree: s, .. } = *tickets;
        Found { job: *job, account, own: 0.0, o, f, s }
    };
    seed_tables::printed(tickets.iter().zip(&JOBS).map(found).collect())
}

fn cells(table: &[seed_tables::Row; 9]) -> [[String; 9]; 9] {
    table.map(|row| row.map(str::to_owned))
}

/// Tickets of one pool in the order of the jobs.
#[track_caller]
fn assert_tickets(found: &[JobTickets], of: impl Fn(&JobTickets) -> f64, expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in (1..).zip(found.iter().map(of).zip(expected)) {
        assert_near(found, *expected, &format!("job {at}"));
    }
}

#[test]
fn all_cells_of_both_tables() {
    for (hierarchy, table) in TABLES {
        assert_eq!(printed(&seed_with(hierarchy, &[])), cells(&table), "{hierarchy}");
    }
}

#[test]
fn without_a_hierarchy_the_table_is_that_of_functional_tickets_first() {
    assert_eq!(printed(&seed_with("NONE", &[])), cells(&TABLES[1].1));
}

#[test]
fn jobs_beyond_the_limit_get_what_the_next_one_would() {
    let found = seed_with("OFS", &["MaxFunctionalJobs=4"]);
    let rest = 100_000.0 / 4.0 / 5.0;
    let expected = [25_000.0 / 3.0, 6250.0, rest, rest, rest, rest, rest, 25_000.0, 12_500.0];
    assert_tickets(&found, |found| found.functional, &expected);
    assert_tickets(&found, |found| found.overridden, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 5.0]);
}

#[test]
fn override_tickets_that_are_not_shared_go_whole_to_each_job() {
    let mut expected = cells(&TABLES[0].1);
    expected[1] = ["223691", "0.50020", "PRJ1", "12510", "0", "10", "12500", "0", "0.18"].map(str::to_owned);
    assert_eq!(printed(&seed_with("OFS", &["ShareOverrideTickets=no"])), expected);
    let line = format!("Override=Account Name={PROJECT} Tickets=10 Shared=no");
    assert_eq!(printed(&seed_with("OFS", &[&line])), expected);
}

/// With one user the sum of shares grows as fast as its jobs.
#[test]
fn functional_shares_that_are_not_shared() {
    assert_eq!(printed(&seed_with("OFS", &["ShareFunctionalShares=no"])), cells(&TABLES[0].1));
}

fn jobs_of(names: &[(&str, &str)]) -> Vec<ModelJob> {
    (1..).zip(names).map(|(id, (user, account))| ModelJob::waiting(id, user, account)).collect()
}

#[test]
fn two_users_with_functional_shares() {
    let mut tree = ModelTree::new(0.0);
    for (user, shares) in [("a", 100), ("b", 300)] {
        tree.add_user("root", user, Some(shares), 0.0);
    }
    let names = ["a", "a", "a", "b", "b", "b"].map(|user| (user, "root"));
    let expected = [6250.0, 3125.0, 6250.0 / 3.0, 25_000.0, 12_500.0, 6250.0];
    for line in [
        "Functional=User Name=* Shares=RawShares",
        "Functional=User Name=a Shares=100\nFunctional=User Name=b Shares=300",
    ] {
        let text = format!("TicketsShare=0\nTicketsFunctional=100000\n{line}");
        let mut engine = Engine::new(&text, &tree);
        assert_tickets(&engine.cycle(&jobs_of(&names)), |found| found.functional, &expected);
    }
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
    for (factor, of_a) in [("5", 1000.0), ("1.2", 10_000.0 / 7.0), ("0", 1000.0)] {
        let mut engine = Engine::new(&format!("Dilution=tree\nCompensationFactor={factor}"), &tree);
        let of_b = 10_000.0 - of_a;
        assert_tickets(&engine.cycle(&jobs), |found| found.share_tree, &[of_a, of_a / 2.0, of_b, of_b / 2.0]);
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
    let mut engine = Engine::new("Dilution=tree", &tree);
    let of = |found: &JobTickets| found.share_tree;
    assert_tickets(&engine.cycle(&jobs), of, &[1200.0, 900.0, 3600.0, 1800.0, 6400.0, 3200.0]);
    // P2 alone has nobody to compete with, so its user is the top. Of P1 the users are the branches.
    assert_tickets(&engine.cycle(&jobs[4..]), of, &[10_000.0, 5000.0]);
    assert_tickets(&engine.cycle(&jobs[..4]), of, &[2500.0, 1250.0, 7500.0, 3750.0]);
}

/// T is 900, 2700 and 6400.
#[test]
fn dilution_by_the_user() {
    let (tree, mut jobs) = three_users();
    jobs.push(ModelJob::running(7, "u2", "P1"));
    jobs.push(ModelJob::running(8, "u2", "P1"));
    let expected = [900.0, 450.0, 2700.0 / 3.0, 2700.0 / 4.0, 6400.0, 3200.0, 1350.0, 1350.0];
    let mut engine = Engine::new("Dilution=user", &tree);
    assert_tickets(&engine.cycle(&jobs), |found| found.share_tree, &expected);
}

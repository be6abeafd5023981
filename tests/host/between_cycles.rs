//! What happens between two cycles: fresh users, new and removed associations, changes to the tree and to usage. A job has
//! a sensible factor at once, and the exact one after the next cycle.

use std::fs;

use slurm_inproc::{Association, Conf, Host, HostResult};

use crate::example::{number, tree};
use crate::setup::{fill, options, ours, waiting, FAIR_TREE};
use crate::tree::{account, assert_near, id, job_factor, user, Tree};

/// A host with the example after its first cycle.
fn loaded() -> HostResult<(Host, Tree)> {
    let (mut host, tree) = (ours()?, tree());
    tree.load(&mut host)?;
    host.init()?;
    Ok((host, tree))
}

/// Submits a job of number n and returns its factor.
fn submit(host: &mut Host, tree: &Tree, n: usize) -> HostResult<f64> {
    host.jobs(&[tree.job(n)])?;
    host.set_priority(id(n))?;
    job_factor(host, id(n))
}

/// Runs a cycle five minutes later and compares everything with the model of the changed tree.
fn settle(host: &mut Host, tree: &Tree) -> HostResult<()> {
    // Where parents change, Slurm works out the usage of accounts anew.
    tree.load_usage(host)?;
    host.advance(300)?;
    host.cycle()?;
    tree.assert_written(host)
}

#[test]
fn a_job_of_a_fresh_user_has_its_factor_at_once() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    for name in ["user3", "user1", "user4"] {
        let n = number(name);
        // With the tickets of the last cycle: all three are asked before any counts as active.
        let expected = tree.outcomes()[n].factor;
        assert_near(submit(&mut host, &tree, n)?, expected, name);
    }
    for name in ["user3", "user1", "user4"] {
        tree.0[number(name)].waiting = true;
    }
    settle(&mut host, &tree)?;
    host.quit().map(drop)
}

#[test]
fn a_further_job_of_an_active_user_has_the_factor_of_the_others() -> HostResult<()> {
    let (mut host, tree) = loaded()?;
    let n = number("user2");
    host.jobs(&[tree.job(n), tree.job(n).with_id(77)])?;
    host.set_priority(77)?;
    assert_near(job_factor(&mut host, 77)?, 20.0 / 81.0, "the second job of user2");
    host.quit().map(drop)
}

#[test]
fn where_nobody_waited_the_first_job_has_everything() -> HostResult<()> {
    let mut host = ours()?;
    let mut tree = tree();
    for node in &mut tree.0 {
        node.waiting = false;
    }
    tree.load(&mut host)?;
    host.init()?;
    assert_near(submit(&mut host, &tree, number("user2"))?, 1.0, "the only job");
    host.quit().map(drop)
}

#[test]
fn a_new_association_has_a_factor_at_once_and_the_exact_one_after_a_cycle() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    // A user in a new account, then one more beside user5 with twice its shares.
    for new in [account(7, 40, 0.0), user(13, 3, 0.0, false), user(10, 2, 0.0, false)] {
        tree.0.push(new);
    }
    host.associations(&(13..16).map(|n| tree.association(n)).collect::<Vec<_>>())?;
    // The second is seen by the first, and both by the best of the last cycle.
    let best = tree.best_tickets();
    for n in [14, 15] {
        let factor = submit(&mut host, &tree, n)?;
        tree.0[n].waiting = true;
        assert_near(factor, (tree.outcomes()[n].tickets / best).min(1.0), "a job of a new user");
    }
    settle(&mut host, &tree)?;
    host.quit().map(drop)
}

#[test]
fn sshare_between_cycles_shows_a_new_association_as_it_would_be() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    tree.0.push(user(10, 2, 0.0, false));
    host.associations(&[tree.association(13)])?;
    host.set_association_usage(id(13))?;
    let (record, expected) = (host.dump_association(id(13))?, tree.outcomes()[13]);
    assert_near(record.shares_norm, expected.s, "S");
    assert_near(record.usage_efctv.to_f64(), expected.u_eff, "U_eff");
    assert_near(record.fs_factor, expected.factor, "prospective factor");
    host.quit().map(drop)
}

#[test]
fn a_removed_association_is_forgotten_and_its_job_has_no_fair_share() -> HostResult<()> {
    let mut host = ours()?;
    let mut tree = tree();
    tree.0.push(user(10, 5, 0.0, true));
    tree.load(&mut host)?;
    host.init()?;
    tree.assert_written(&mut host)?;
    // slurmctld clears the pointer of the job when the association goes.
    host.associations(&[Association::new(id(13)).delete(true)])?;
    host.set_priority(id(13))?;
    assert_near(job_factor(&mut host, id(13))?, 0.0, "a job without association");
    tree.0.pop();
    settle(&mut host, &tree)?;
    assert_near(job_factor(&mut host, id(13))?, 0.0, "a job without association");
    host.quit().map(drop)
}

#[test]
fn associations_may_come_and_go_at_the_same_address() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    for round in 0..20_u32 {
        // The allocator gives the same memory again, with another id and other shares.
        tree.0.push(user(10, 1 + round, 0.0, true));
        let fresh = tree.association(13);
        host.associations(&[fresh])?;
        host.jobs(&[tree.job(13)])?;
        settle(&mut host, &tree)?;
        host.delete_job(id(13))?;
        host.associations(&[Association::new(id(13)).delete(true)])?;
        tree.0.pop();
        if round % 2 == 0 {
            settle(&mut host, &tree)?;
        }
    }
    host.quit().map(drop)
}

#[test]
fn changed_shares_count_from_the_next_cycle_on() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    for (name, shares) in [("A", Some(90)), ("user2", Some(7)), ("F", None), ("D", Some(0)), ("D", Some(60))]
    {
        tree.0[number(name)].shares = shares;
        host.associations(&[
            Association::new(id(number(name))).shares(shares.unwrap_or(crate::setup::USE_PARENT))
        ])?;
        settle(&mut host, &tree)?;
    }
    host.quit().map(drop)
}

#[test]
fn a_moved_account_takes_its_users_along() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    // F, with user5, from D to A.
    tree.0[number("F")].parent = Some(number("A"));
    host.associations(&[Association::new(id(number("F"))).parent(id(number("A")))])?;
    settle(&mut host, &tree)?;
    host.quit().map(drop)
}

#[test]
fn new_usage_counts_from_the_next_cycle_on() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    for (name, more) in [("user5", 1e4), ("user3", 5e5), ("user5", 1e9)] {
        let mut at = Some(number(name));
        while let Some(n) = at {
            tree.0[n].usage += more;
            at = tree.0[n].parent;
        }
        tree.load_usage(&mut host)?;
        settle(&mut host, &tree)?;
    }
    host.quit().map(drop)
}

#[test]
fn the_last_job_of_a_user_takes_its_tickets_with_it() -> HostResult<()> {
    let (mut host, mut tree) = loaded()?;
    host.delete_job(id(number("user5")))?;
    tree.0[number("user5")].waiting = false;
    settle(&mut host, &tree)?;
    assert_near(job_factor(&mut host, id(number("user2")))?, 1.0, "the only user who waits");
    host.quit().map(drop)
}

/// Dilution is taken out of the settings. Until the next calculation a job has a part of the tickets that the last one handed out.
#[test]
fn after_a_change_of_settings_a_submission_has_tickets_of_the_last_calculation() -> HostResult<()> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), "Dilution=user\n".to_owned())];
    let mut host = Host::start(&options)?;
    fill(&mut host)?;
    host.configure(&Conf::new().flags(FAIR_TREE).weight_fairshare(1200_u32))?;
    host.jobs(&[waiting(1), waiting(2)])?;
    host.init()?;
    fs::write(host.directory().join("multifactor2.conf"), "")?;
    host.reconfigure(true)?;
    host.jobs(&[waiting(3)])?;
    assert_eq!(host.set_priority(3)?, 400, "the third job of three");
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(host.dump_job(3)?.priority, 1200, "all jobs of a user are alike");
    host.quit().map(drop)
}

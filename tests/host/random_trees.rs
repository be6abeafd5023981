//! Trees of any shape with any shares, usage and jobs, before and after changes: always as the model says.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use slurm_inproc::{Host, HostResult};

use crate::setup::ours;
use crate::tree::{id, Tree};
use multifactor2_fixtures::model::Association;

/// Shares as administrators set them, and as they should not.
fn shares() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![
        6 => (1_u32..100).prop_map(Some),
        1 => Just(Some(0)),
        2 => Just(None),
        1 => (1_u32..0x7fff_ffff).prop_map(Some),
    ]
}

fn usage() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 3 => 0.0..1e6, 1 => 0.0..1e15]
}

/// Usage adds up along the tree, and who has children is an account.
fn settle(mut tree: Vec<Association>) -> Tree {
    for n in (1..tree.len()).rev() {
        let parent = tree[n].parent.expect("only the root has none");
        tree[parent].usage += tree[n].usage;
        tree[parent].user = false;
    }
    tree[0].user = false;
    for node in &mut tree {
        node.waiting &= node.user;
    }
    Tree(tree)
}

fn trees() -> impl Strategy<Value = Tree> {
    let row = (
        any::<Index>(),
        prop::bool::weighted(0.3),
        shares(),
        prop::bool::weighted(0.9),
        usage(),
        any::<bool>(),
    );
    (vec(row, 1..40), prop::bool::weighted(0.05)).prop_map(|(rows, idle)| {
        let node =
            |(n, (parent, deeper, shares, user, usage, waiting)): (usize, (Index, bool, _, _, f64, _))| {
                Association {
                    parent: (n > 0).then(|| if deeper { n - 1 } else { parent.index(n) }),
                    shares,
                    user,
                    usage: if idle { 0.0 } else { usage },
                    waiting,
                }
            };
        settle(rows.into_iter().enumerate().map(node).collect())
    })
}

/// Other shares, other usage and other waiting jobs for some associations of a tree.
fn change(host: &mut Host, tree: &Tree, changes: &[(Index, Option<u32>, f64, bool)]) -> HostResult<Tree> {
    let mut next = tree.clone();
    // Usage of their own, without what their children add.
    for n in 1..tree.0.len() {
        let parent = tree.0[n].parent.expect("only the root has none");
        next.0[parent].usage -= tree.0[n].usage;
    }
    for node in &mut next.0 {
        node.usage = node.usage.max(0.0);
    }
    for (at, shares, usage, waits) in changes {
        let n = at.index(tree.0.len());
        if n == 0 {
            continue;
        }
        let node = &mut next.0[n];
        (node.shares, node.usage) = (*shares, *usage);
        if node.user && node.waiting != *waits {
            node.waiting = *waits;
            if *waits {
                host.jobs(&[next.job(n)])?;
            } else {
                host.delete_job(id(n))?;
            }
        }
        let shares = slurm_inproc::Association::new(id(n)).shares(shares.unwrap_or(crate::setup::USE_PARENT));
        host.associations(&[shares])?;
    }
    let next = settle(next.0);
    next.load_usage(host)?;
    Ok(next)
}

fn run(tree: &Tree, changes: &[(Index, Option<u32>, f64, bool)]) -> HostResult<()> {
    let mut host = ours()?;
    tree.load(&mut host)?;
    host.init()?;
    tree.assert_written(&mut host)?;
    // A user without jobs gets, between cycles, what the next cycle would give, by the best of the last: newcomers count.
    let best = tree.best_tickets();
    let mut now = tree.clone();
    for n in (0..tree.0.len()).filter(|n| tree.0[*n].user && !tree.0[*n].waiting) {
        host.jobs(&[tree.job(n)])?;
        host.set_priority(id(n))?;
        let factor = crate::tree::job_factor(&mut host, id(n))?;
        now.0[n].waiting = true;
        let tickets = now.outcomes()[n].tickets;
        let expected = if tickets > 0.0 { (tickets / best).min(1.0) } else { 0.0 };
        crate::tree::assert_near(factor, expected, &format!("a fresh job of {n} in {tree:?}"));
        host.delete_job(id(n))?;
    }
    let next = change(&mut host, tree, changes)?;
    host.advance(300)?;
    host.cycle()?;
    next.assert_written(&mut host)?;
    host.quit().map(drop)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn every_tree_is_as_the_model_says(
        tree in trees(),
        changes in vec((any::<Index>(), shares(), usage(), any::<bool>()), 0..6),
    ) {
        run(&tree, &changes).unwrap_or_else(|error| panic!("{error}"));
    }
}

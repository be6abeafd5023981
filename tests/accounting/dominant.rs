//! Dominant shares: against their definition, what they promise, and the sums that they come from.

use multifactor2_accounting::ended::Ended;
use multifactor2_accounting::measures::Measure;
use multifactor2_accounting::raw_usage::Seen;
use multifactor2_accounting::sums::{Cycle, Recipe, Sums};
use multifactor2_accounting::sums_file::{parse, text};
use multifactor2_accounting::tally::{Charge, Tally, TallyPlace};
use multifactor2_core::decay::{decay_factor, decay_over, run_decay};
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};
use multifactor2_fixtures::dominant_model::{shares as model_shares, Used};
use multifactor2_fixtures::{assert_near, model};
use proptest::prelude::*;

const NAMES: [&str; 3] = ["cpu", "mem", "gres/gpu"];

fn recipe(names: &[&str]) -> Recipe {
    let tres = names.iter().map(|name| (*name).to_owned()).collect();
    Recipe { metric: "billing".to_owned(), tres, ..Recipe::default() }
}

fn weighted(weights: &[f64]) -> Vec<(String, f64)> {
    NAMES.iter().zip(weights).map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

/// A cycle at `now` without decay: what associations, by id, and the cluster have had more of.
fn count(sums: &mut Sums, now: i64, used: &[(u32, Vec<f64>)], capacity: &[f64]) {
    let mut tally = Tally::default();
    tally.begin(None, sums.width());
    tally.add_columns(TallyPlace::CAPACITY, 0, capacity);
    for (id, amounts) in used {
        let place = sums.association(*id);
        tally.add_columns(place, 0, amounts);
    }
    sums.settle(Cycle { now, decay: 1.0, last_reset: 0, tally: &tally }, &mut Vec::new());
}

/// A tree of associations with the ids 1, 2, …
fn tree(parents: &[Option<usize>]) -> ShareTree {
    let nodes: Vec<NodeSpec> = parents
        .iter()
        .map(|parent| NodeSpec {
            parent: parent.map(|at| u32::try_from(at).unwrap()),
            shares: 1,
            user: false,
        })
        .collect();
    ShareTree::build(&nodes)
}

fn find(tree: &ShareTree) -> impl Fn(u32) -> Option<Node> + '_ {
    |id| tree.position(id as usize - 1)
}

fn measure(sums: &Sums, weights: &[f64]) -> Measure {
    sums.measures(Some(&weighted(weights)), &[]).default.unwrap()
}

/// D by the index of the association.
fn shares(sums: &Sums, weights: &[f64], parents: &[Option<usize>]) -> Vec<f64> {
    let tree = tree(parents);
    let mut by_node = Vec::new();
    measure(sums, weights).shares(&tree, find(&tree), &mut by_node);
    (0..parents.len()).map(|at| by_node[tree.position(at).unwrap().index()]).collect()
}

fn shares_of(all: &[Used], capacity: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut sums = Sums::new(recipe(&NAMES[..capacity.len()]), 1000, 0);
    let used: Vec<(u32, Vec<f64>)> = (1..).zip(all).map(|(id, used)| (id, used.own.clone())).collect();
    count(&mut sums, 1100, &used, capacity);
    shares(&sums, weights, &all.iter().map(|used| used.parent).collect::<Vec<_>>())
}

/// A job that uses a tenth of the processors, and one that uses a tenth of the GPUs. With `PriorityFlags=MAX_TRES` the largest of each job
/// is billed, and that is added: a fifth.
#[test]
fn a_tenth_of_the_processors_and_a_tenth_of_the_gpus_are_a_tenth() {
    let of = |parent: usize, own: [f64; 3]| Used { parent: Some(parent), own: own.to_vec() };
    let root = Used { parent: None, own: vec![0.0; 3] };
    // Both jobs of one user; of two users; each user has an account.
    let one = [root.clone(), of(0, [100.0, 0.0, 8.0])];
    let users = [root.clone(), of(0, [0.0; 3]), of(1, [100.0, 0.0, 0.0]), of(1, [0.0, 0.0, 8.0])];
    let accounts = [root, of(0, [0.0; 3]), of(0, [0.0; 3]), of(1, [100.0, 0.0, 0.0]), of(2, [0.0, 0.0, 8.0])];
    let capacity = [1000.0, 4000.0, 80.0];
    for (all, expected) in [
        (&one[..], &[0.1, 0.1][..]),
        (&users, &[0.1, 0.1, 0.1, 0.1]),
        (&accounts, &[0.1, 0.1, 0.1, 0.1, 0.1]),
    ] {
        assert_eq!(shares_of(all, &capacity, &[1.0; 3]), expected);
    }
    assert_eq!(shares_of(&one, &capacity, &[1.0, 1.0, 2.0]), [0.2, 0.2]);
    assert_eq!(shares_of(&one, &capacity, &[1.0]), [0.1, 0.1], "only processors are listed");
    let max_tres = [[100.0, 0.0, 0.0], [0.0, 0.0, 8.0]]
        .map(|job| job.iter().zip(capacity).map(|(used, all)| used / all).fold(0.0, f64::max));
    assert_near(max_tres.iter().sum(), 0.2, "MAX_TRES");
}

/// Three levels: each account is dominated by another TRES, and the root by none of these alone.
#[test]
fn each_level_is_added_up_before_the_largest_is_taken() {
    let of = |parent: usize, own: [f64; 3]| Used { parent: Some(parent), own: own.to_vec() };
    let all = [
        Used { parent: None, own: vec![0.0; 3] },
        of(0, [0.0; 3]),
        of(0, [0.0; 3]),
        of(1, [0.0; 3]),
        of(3, [30.0, 10.0, 0.0]),
        of(3, [10.0, 10.0, 5.0]),
        of(1, [0.0, 0.0, 30.0]),
        of(2, [5.0, 40.0, 0.0]),
    ];
    assert_eq!(
        shares_of(&all, &[100.0; 3], &[1.0; 3]),
        [0.6, 0.4, 0.4, 0.4, 0.3, 0.1, 0.3, 0.4],
        "the root has used 45, 60 and 35 of 100"
    );
}

#[test]
fn without_capacity_nobody_has_used_anything() {
    let all = [Used { parent: None, own: vec![0.0; 2] }, Used { parent: Some(0), own: vec![5.0, 5.0] }];
    assert_eq!(shares_of(&all, &[0.0, 0.0], &[1.0, 1.0]), [0.0, 0.0]);
    assert_eq!(shares_of(&all, &[0.0, 10.0], &[1.0, 1.0]), [0.5, 0.5], "a TRES that there is none of");
    assert_eq!(shares(&Sums::new(recipe(&["cpu"]), 0, 0), &[1.0], &[None, Some(0)]), [0.0, 0.0]);
    // Not kept yet: the list has changed since the last cycle.
    assert_eq!(shares(&Sums::new(recipe(&[]), 0, 0), &[1.0], &[None]), [0.0]);
}

/// Jobs of three users on one TRES, over many cycles of many lengths: what is billed of it, decayed and charged as slurmctld does it, has the
/// same normalised usage at every level.
#[test]
fn one_tres_is_billing() {
    let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(2)];
    let factor = decay_factor(86_400);
    let mut sums = Sums::new(recipe(&["cpu"]), 1_000_000, 0);
    let (tree, mut billed) = (tree(&parents), vec![0.0_f64; parents.len()]);
    let mut now = 1_000_000_i64;
    for cycle in 0..500_u32 {
        let seconds = cycle * 37 % 600 + 1;
        now += i64::from(seconds);
        let seconds = f64::from(seconds);
        let over = decay_over(factor, seconds);
        for usage in &mut billed {
            *usage *= over;
        }
        let mut tally = Tally::default();
        tally.begin(None, sums.width());
        tally.add_columns(TallyPlace::CAPACITY, 0, &[run_decay(seconds, factor) * 512.0]);
        for (id, cpus) in [(4_u32, cycle % 7), (5, cycle * cycle % 11), (6, 1)] {
            // Some start within the cycle; a QOS has a factor.
            let ran = run_decay(if cpus == 3 { seconds / 3.0 } else { seconds }, factor) * 0.7;
            let place = sums.association(id);
            tally.add_columns(place, 0, &[ran * f64::from(cpus)]);
            for at in std::iter::successors(Some(id as usize - 1), |at| parents[*at]) {
                billed[at] += ran * f64::from(cpus);
            }
        }
        sums.settle(Cycle { now, decay: over, last_reset: 0, tally: &tally }, &mut Vec::new());
        let mut by_node = Vec::new();
        measure(&sums, &[1.0]).shares(&tree, find(&tree), &mut by_node);
        let by_billing: Vec<f64> = (0..parents.len()).map(|at| billed[at]).collect();
        let waiting = vec![0; parents.len()];
        let [mut dominant, mut billing] = [FairShare::new(), FairShare::new()];
        dominant.distribute(&tree, &by_node, &waiting);
        let mut usage = vec![0.0; parents.len()];
        for (at, billed) in by_billing.into_iter().enumerate() {
            usage[tree.position(at).unwrap().index()] = billed;
        }
        billing.distribute(&tree, &usage, &waiting);
        for node in tree.nodes() {
            let [ours, due] =
                [&dominant, &billing].map(|fair_share| fair_share.competition().usage_norm(node));
            assert!((ours - due).abs() <= 1e-12 * due, "cycle {cycle}, {node:?}: {ours}, not {due}");
        }
    }
}

fn ended(job: u32, association: u32, start: i64, run: f64, columns: Vec<f64>) -> Ended {
    let charge = Charge { start, run, rate: 0.0, decayed: 0.0 };
    Ended { job, started: start, charge, columns, association: Some(association), ..Ended::default() }
}

#[test]
fn a_job_that_has_ended_counts_up_to_the_time_of_each_cycle() {
    let mut sums = Sums::new(recipe(&["cpu", "mem"]), 1000, 0);
    let mut jobs = vec![ended(1, 4, 1080, 40.0, vec![80.0, 400.0])];
    let mut tally = Tally::default();
    tally.begin(None, sums.width());
    sums.settle(Cycle { now: 1100, decay: 0.5, last_reset: 0, tally: &tally }, &mut jobs);
    assert_eq!(sums.used(4), [20.0, 100.0]);
    assert_eq!(jobs[0].columns, [20.0, 100.0]);
    sums.settle(Cycle { now: 1200, decay: 1.0, last_reset: 0, tally: &tally }, &mut jobs);
    assert_eq!((sums.used(4), jobs.len()), (&[40.0, 200.0][..], 0));
    // A reset of all, and one of an association by the fall of slurmctld's usage.
    let seen = |raw| [Seen { id: 1, parent: None, raw }, Seen { id: 4, parent: Some(1), raw }];
    sums.remember(&seen(40.0), &[]);
    sums.reset_as_slurmctld(&seen(0.0), &[], &mut []);
    assert!(sums.used(4).is_empty());
    count(&mut sums, 1300, &[(4, vec![1.0, 2.0])], &[10.0, 10.0]);
    sums.settle(Cycle { now: 1400, decay: 1.0, last_reset: 1400, tally: &tally }, &mut jobs);
    assert!(sums.used(4).is_empty() && sums.given().is_empty());
}

/// What is removed goes to the account above, and what is moved takes its usage along.
#[test]
fn usage_follows_the_tree() {
    let mut sums = Sums::new(recipe(&["cpu"]), 1000, 0);
    let seen = |parents: &[(u32, Option<u32>)]| -> Vec<Seen> {
        parents.iter().map(|&(id, parent)| Seen { id, parent, raw: 1.0 }).collect()
    };
    let all = [(1, None), (2, Some(1)), (3, Some(1)), (4, Some(2)), (5, Some(2))];
    count(&mut sums, 1100, &[(4, vec![10.0]), (5, vec![30.0])], &[100.0]);
    sums.survey(&seen(&all), true);
    assert_eq!(shares(&sums, &[1.0], &[None, Some(0), Some(0), Some(1), Some(1)]), [0.4, 0.4, 0.0, 0.1, 0.3]);
    assert_eq!(
        shares(&sums, &[1.0], &[None, Some(0), Some(0), Some(1), Some(2)]),
        [0.4, 0.1, 0.3, 0.1, 0.3],
        "moved"
    );
    sums.survey(&seen(&all[..4]), true);
    assert_eq!(shares(&sums, &[1.0], &[None, Some(0), Some(0), Some(1)]), [0.4, 0.4, 0.0, 0.1], "removed");
}

#[test]
fn a_file_has_all_of_it_and_one_of_the_version_before_is_read() {
    let mut sums = Sums::new(recipe(&["cpu", "gres/gpu"]), 1000, 0);
    count(&mut sums, 1100, &[(4, vec![1.0 / 3.0, 0.0]), (5, vec![0.0, 1e-300])], &[1e9, 7.5]);
    let jobs = [ended(1, 4, 1100, 10.0, vec![0.1, 5.0]), ended(2, 4, 1100, 10.0, Vec::new())];
    let written = text(&sums, &jobs);
    assert!(written.starts_with("multifactor2_usage 2\n"), "{written}");
    let (read, found) = parse(&written).unwrap();
    assert_eq!((text(&read, &found), &found[..]), (written.clone(), &jobs[..]));
    assert_eq!((read.used(4), read.used(5), read.given()), (sums.used(4), sums.used(5), sums.given()));
    for (from, to, why) in [
        ("tres cpu gres/gpu", "tres", "line 4"),
        ("tres cpu gres/gpu", "tres cpu cpu", "line 4"),
        ("tres cpu gres/gpu", "tres cpu", "line 7"),
        ("tres cpu gres/gpu", "tres cpu gres/gpu\ntres mem", "line 5"),
        ("used - 1000000000 7.5", "used - 1000000000", "line 7"),
        ("used - 1000000000 7.5", "used - 1000000000 -1", "line 7"),
        ("used 4", "used 6", "line 9"),
        ("used 5", "used 4", "line 11"),
        ("- 0.1 5", "- 0.1", "line 12"),
        ("- 0.1 5", "- 0.1 5 6", "line 12"),
    ] {
        let bad = written.replacen(from, to, 1);
        assert_ne!(bad, written, "{from}");
        let problem = parse(&bad).expect_err(to);
        assert!(problem.contains(why), "{to}: {problem}");
    }
    // Without TRES beside the file is what it was.
    let old = "multifactor2_usage 1\nsince 1000 0\nrecipe cpu yes 100 4 10\nall 3 0 1\ncapacity 5\n\
               association 4 - - - - - 3 0 1\nended 1 5 6 7.0 8.0 9.0 4 - - - -\nend\n";
    let (mut read, mut jobs) = parse(old).unwrap();
    assert_eq!(text(&read, &jobs), old);
    assert!(parse(&old.replacen('1', "5", 1)).unwrap_err().contains("newer"));
    let with = Recipe { tres: vec!["cpu".to_owned()], ..read.recipe().clone() };
    assert!(read.follow(&with, &mut jobs).is_empty());
    assert!(read.used(4).is_empty() && jobs[0].columns.is_empty());
    assert_eq!(text(&read, &jobs), old.replacen('1', "2", 1).replace("10\n", "10\ntres cpu\n"));
}

#[test]
fn another_list_keeps_what_is_on_both_and_another_metric_keeps_all() {
    let mut sums = Sums::new(recipe(&["cpu", "mem"]), 1000, 0);
    count(&mut sums, 1100, &[(4, vec![1.0, 2.0])], &[10.0, 20.0]);
    let mut job = ended(1, 4, 1100, 10.0, vec![3.0, 4.0]);
    for (new, used, given, of_job) in [
        (recipe(&["gres/gpu", "mem"]), [0.0, 2.0], [0.0, 20.0], [0.0, 4.0]),
        (
            Recipe { metric: "node".to_owned(), ..recipe(&["mem", "cpu"]) },
            [2.0, 0.0],
            [20.0, 0.0],
            [4.0, 0.0],
        ),
    ] {
        sums.follow(&new, [&mut job]);
        assert_eq!((sums.used(4), sums.given(), &job.columns[..]), (&used[..], &given[..], &of_job[..]));
    }
    sums.follow(&recipe(&[]), []);
    assert!(sums.used(4).is_empty() && sums.given().is_empty());
}

/// Associations with a parent before them, their usage of three TRES, what there was, and weights.
fn cluster() -> impl Strategy<Value = (Vec<Used>, [f64; 3], [f64; 3])> {
    let amount = || prop_oneof![1 => Just(0.0), 3 => 0.0..1e6_f64];
    let used = prop::collection::vec((any::<prop::sample::Index>(), [amount(), amount(), amount()]), 1..20);
    let tree = used.prop_map(|all| {
        let parent = |at: usize, index: &prop::sample::Index| (at > 0).then(|| index.index(at));
        let all = all.iter().enumerate();
        all.map(|(at, (index, own))| Used { parent: parent(at, index), own: own.to_vec() }).collect()
    });
    let positive = || 1.0..1e9_f64;
    let weight = || 0.01..100.0_f64;
    (tree, [positive(), positive(), positive()], [weight(), weight(), weight()])
}

fn near(found: &[f64], expected: &[f64]) -> bool {
    found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= 1e-12 * expected)
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn they_are_as_defined((all, capacity, weights) in cluster(), raw in prop::collection::vec(0..5_u32, 20)) {
        let expected = model_shares(&all, &capacity, &weights);
        let found = shares_of(&all, &capacity, &weights);
        prop_assert!(near(&found, &expected), "{:?}, not {:?}", found, expected);
        // What the share tree makes of them.
        let has_children = |at: usize| all.iter().any(|used| used.parent == Some(at));
        let nodes: Vec<NodeSpec> = all.iter().enumerate().map(|(at, used)| NodeSpec {
            parent: used.parent.map(|at| u32::try_from(at).unwrap()),
            shares: raw[at],
            user: !has_children(at),
        }).collect();
        let tree = ShareTree::build(&nodes);
        let (mut usage, mut waiting) = (vec![0.0; all.len()], vec![0; all.len()]);
        for (at, found) in found.iter().enumerate() {
            let node = tree.position(at).unwrap().index();
            (usage[node], waiting[node]) = (*found, u32::from(at % 2 == 1 && !has_children(at)));
        }
        let mut fair_share = FairShare::new();
        fair_share.distribute(&tree, &usage, &waiting);
        let outcomes = model::outcomes(&nodes.iter().enumerate().map(|(at, node)| model::Association {
            parent: all[at].parent,
            shares: Some(node.shares),
            user: node.user,
            usage: expected[at],
            waiting: at % 2 == 1,
        }).collect::<Vec<_>>());
        for (at, due) in outcomes.iter().enumerate() {
            let node = tree.position(at).unwrap();
            assert_near(fair_share.competition().usage_norm(node), due.u, "U");
            assert_near(fair_share.competition().usage_effective(&tree, node), due.u_eff, "U_eff");
            assert_near(fair_share.competition().level_fs(&tree, node), due.f, "F");
            assert_near(fair_share.tickets(node), due.tickets, "T");
        }
    }

    #[test]
    fn another_unit_of_a_tres_changes_nothing((all, capacity, weights) in cluster(), tres in 0..3_usize, unit in 1e-6..1e6_f64) {
        let before = shares_of(&all, &capacity, &weights);
        let (mut other, mut given) = (all, capacity);
        for used in &mut other {
            used.own[tres] *= unit;
        }
        given[tres] *= unit;
        let after = shares_of(&other, &given, &weights);
        prop_assert!(near(&after, &before), "{:?}, not {:?}", after, before);
    }

    /// A job in two: of the same user, or one part of another user, who is new. Whoever had the job does not have less, taken together.
    #[test]
    fn splitting_a_job_never_lowers_usage(
        (all, capacity, weights) in cluster(), which in any::<prop::sample::Index>(),
        job in [0.0..1e6_f64, 0.0..1e6_f64, 0.0..1e6_f64], part in [0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64],
    ) {
        let at = which.index(all.len());
        let parts = [0, 1].map(|of: usize| -> Vec<f64> {
            job.iter().zip(part).map(|(job, part)| job * if of == 0 { part } else { 1.0 - part }).collect()
        });
        let with = |more: &[(usize, &[f64])]| -> Vec<Used> {
            let mut all = all.clone();
            all.push(Used { parent: all[at].parent.or(Some(0)), own: vec![0.0; 3] });
            for (at, more) in more {
                all[*at].own.iter_mut().zip(*more).for_each(|(used, more)| *used += more);
            }
            all
        };
        let whole = shares_of(&with(&[(at, &job)]), &capacity, &weights);
        let same_user = shares_of(&with(&[(at, &parts[0]), (at, &parts[1])]), &capacity, &weights);
        prop_assert!(near(&same_user, &whole), "{:?}, not {:?}", same_user, whole);
        let u = |shares: &[f64], at: usize| if shares[0] > 0.0 { shares[at] / shares[0] } else { 0.0 };
        for at in 0..whole.len() {
            prop_assert!(u(&same_user, at) >= u(&whole, at) * (1.0 - 1e-12));
        }
        let new = all.len();
        let two_users = shares_of(&with(&[(at, &parts[0]), (new, &parts[1])]), &capacity, &weights);
        for account in (0..all.len()).filter(|account| at != 0 && is_above(&all, *account, at)) {
            prop_assert!((two_users[account] - whole[account]).abs() <= 1e-12 * whole[account]);
        }
        if at != 0 {
            prop_assert!(two_users[at] + two_users[new] >= whole[at] * (1.0 - 1e-12));
        }
    }

    /// Between the largest below an account and the sum of them.
    #[test]
    fn an_account_has_no_less_than_the_largest_and_no_more_than_all_below((all, capacity, weights) in cluster()) {
        let shares = shares_of(&all, &capacity, &weights);
        for at in 0..all.len() {
            let below = (0..all.len()).filter(|below| all[*below].parent == Some(at));
            let own = all[at].own.iter().zip(capacity).zip(weights).map(|((own, all), weight)| weight * own / all).fold(0.0, f64::max);
            let (largest, sum) = below.fold((own, own), |(largest, sum), below| (f64::max(largest, shares[below]), sum + shares[below]));
            prop_assert!(shares[at] >= largest * (1.0 - 1e-12) && shares[at] <= sum * (1.0 + 1e-12));
        }
    }
}

fn is_above(all: &[Used], above: usize, at: usize) -> bool {
    std::iter::successors(all[at].parent, |at| all[*at].parent).any(|parent| parent == above)
}

//! Random cases: trees, lines, jobs and settings.
//!
//! Numbers are such that what ties, ties exactly, in whatever order it is computed: tickets divide by every number of jobs, shares and sizes
//! are small, weights are halves and quarters.

use fastrand::Rng;
use multifactor2_fixtures::pick;
use multifactor2_fixtures::pools_model::{
    ModelConfig, ModelDilution, ModelDistribution, ModelFunctional, ModelJob, ModelKind, ModelObject,
    ModelShares, ModelTree,
};

/// What the model and the engine are given.
#[derive(Clone, Debug)]
pub struct Case {
    pub config: ModelConfig,
    pub tree: ModelTree,
    pub objects: Vec<ModelObject>,
    /// By id.
    pub jobs: Vec<ModelJob>,
}

const USERS: [&str; 5] = ["ann", "bob", "cem", "dee", "eve"];
const QUEUES: [&str; 3] = ["", "fast", "slow"];

/// All subsets of the letters in all orders.
const HIERARCHIES: [&str; 16] =
    ["NONE", "O", "F", "S", "OF", "FO", "OS", "SO", "FS", "SF", "OFS", "OSF", "FOS", "FSO", "SOF", "SFO"];

/// Divides by all numbers up to 16.
const DIVISIBLE: u32 = 720_720;

/// Of the functional policy.
const WEIGHTS: [[f64; 4]; 6] = [
    [0.25; 4],
    [0.5, 0.25, 0.25, 0.0],
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 0.25, 0.25, 0.0],
    [1.0, 2.0, 4.0, 1.0],
    [0.0, 0.0, 0.0, 1.0],
];

fn one_in(random: &mut Rng, parts: u32) -> bool {
    random.u32(..parts) == 0
}

fn from<T: Copy>(random: &mut Rng, values: &[T]) -> T {
    values[random.usize(..values.len())]
}

/// Shares of an association.
fn shares(random: &mut Rng) -> Option<u32> {
    match random.u32(..10) {
        0 => None,
        1 => Some(0),
        _ => Some(random.u32(1..5)),
    }
}

fn usage(random: &mut Rng) -> f64 {
    if one_in(random, 3) {
        0.0
    } else {
        f64::from(random.u32(1..100))
    }
}

/// Up to six accounts in at most three levels, and up to five users, some of them in several.
pub fn tree(random: &mut Rng) -> ModelTree {
    let mut tree = ModelTree::new(0.0);
    let mut accounts = vec![("root".to_owned(), 0)];
    for at in 0..random.usize(1..7) {
        let (above, depth) = accounts[random.usize(..accounts.len())].clone();
        if depth < 3 {
            let name = format!("a{at}");
            tree.add_account(&above, &name, shares(random), usage(random));
            accounts.push((name, depth + 1));
        }
    }
    for at in 0..random.usize(1..9) {
        let account = &accounts[random.usize(..accounts.len())].0;
        let user = USERS[(at + random.usize(..2)) % USERS.len()];
        let rows = &tree.nodes;
        let is_there = |row: &multifactor2_fixtures::pools_model::ModelNode| {
            row.user && row.name == user && row.parent.is_some_and(|parent| rows[parent].name == *account)
        };
        if !rows.iter().any(is_there) {
            tree.add_user(account, user, shares(random), usage(random));
        }
    }
    for at in (1..tree.nodes.len()).rev() {
        let parent = tree.nodes[at].parent.expect("only the root has none");
        tree.nodes[parent].usage += tree.nodes[at].usage;
    }
    tree
}

/// Up to 14 jobs, at most five of them running, sorted by id.
pub fn jobs(random: &mut Rng, tree: &ModelTree, unit: bool) -> Vec<ModelJob> {
    let users: Vec<usize> = (0..tree.nodes.len()).filter(|&at| tree.nodes[at].user).collect();
    let (count, alike) = (random.u32(..15), random.bool());
    let mut running = 0;
    let job = |id: u32| {
        let at = users[random.usize(..users.len())];
        let row = &tree.nodes[at];
        let account = &tree.nodes[row.parent.expect("a user is in an account")].name;
        let mut job = ModelJob::waiting(10 + id, &row.name, account);
        if one_in(random, 4) && running < 5 {
            (job.running, running) = (true, running + 1);
        }
        if !unit {
            job.size = from(random, &[0.0, 0.5, 1.0, 2.0, 8.0, 32.0]);
        }
        if !alike {
            job.nice = from(random, &[0, 0, 0, 10, -10]);
            job.accrue = from(random, &[0, 100, 100, 200]);
        }
        pick(random, &QUEUES).clone_into(&mut job.partition);
        pick(random, &QUEUES).clone_into(&mut job.qos);
        pick(random, &QUEUES).clone_into(&mut job.wckey);
        if one_in(random, 6) {
            job.own = f64::from(random.u32(1..1000));
        }
        job
    };
    (0..count).map(job).collect()
}

/// Up to five lines of override tickets.
fn objects(random: &mut Rng, tree: &ModelTree) -> Vec<ModelObject> {
    let accounts: Vec<&str> =
        tree.nodes.iter().filter(|row| !row.user).map(|row| row.name.as_str()).collect();
    let count = if random.bool() { 0 } else { random.usize(1..6) };
    let line = |_| {
        let account = from(random, &accounts);
        let (kind, name) = match random.u32(..6) {
            0 => (ModelKind::User, from(random, &USERS)),
            1 => (ModelKind::Account, account),
            2 => (ModelKind::Parent, account),
            3 => (ModelKind::Qos, from(random, &QUEUES[1..])),
            4 => (ModelKind::Partition, from(random, &QUEUES[1..])),
            _ => (ModelKind::WcKey, from(random, &QUEUES[1..])),
        };
        let tickets = f64::from(DIVISIBLE * from(random, &[0, 1, 1, 2, 12]));
        ModelObject { kind, name: name.to_owned(), tickets, shared: random.bool() }
    };
    (0..count).map(line).collect()
}

fn functional(random: &mut Rng, names: &[&str]) -> ModelFunctional {
    let shares = |random: &mut Rng| match random.u32(..4) {
        0 => ModelShares::RawShares,
        1 => ModelShares::Number(0.0),
        _ => ModelShares::Number(f64::from(random.u32(1..5))),
    };
    let mut functional = ModelFunctional::all(shares(random));
    for name in names.iter().take(random.usize(..3)) {
        functional.named.insert((*name).to_owned(), shares(random));
    }
    functional
}

/// Settings of every kind.
fn config(random: &mut Rng, tree: &ModelTree) -> ModelConfig {
    let accounts: Vec<&str> =
        tree.nodes.iter().filter(|row| !row.user).map(|row| row.name.as_str()).collect();
    let distribution =
        from(random, &[ModelDistribution::Tickets, ModelDistribution::Tickets, ModelDistribution::Standing]);
    let compensation = if distribution == ModelDistribution::Tickets && random.bool() {
        from(random, &[1.0, 1.25, 2.0, 5.0])
    } else {
        0.0
    };
    ModelConfig {
        tickets_share: f64::from(from(random, &[0, 10_000, 10_000, 1_000_000])),
        tickets_functional: f64::from(from(random, &[0, 10_000, 1_000_000])),
        hierarchy: pick(random, &HIERARCHIES).to_owned(),
        compensation,
        max_functional_jobs: from(random, &[200, 200, 4, 1]),
        share_override: !one_in(random, 4),
        share_functional: random.bool(),
        weights: from(random, &WEIGHTS),
        functional: [
            functional(random, &USERS),
            functional(random, &accounts),
            functional(random, &accounts[1..]),
        ],
        dilution: from(
            random,
            &[ModelDilution::None, ModelDilution::User, ModelDilution::Tree, ModelDilution::Tree],
        ),
        quantum: from(random, &[1.0, 1.0, 2.0, 16.0, 0.25]),
        exponent: from(random, &[1.0, 1.0, 1.0, 0.5, 0.0, 2.0]),
        count_running: !one_in(random, 4),
        distribution,
    }
}

/// A case of every kind.
pub fn case(random: &mut Rng) -> Case {
    let tree = tree(random);
    let config = config(random, &tree);
    let objects = objects(random, &tree);
    let unit = random.bool();
    let jobs = jobs(random, &tree, unit);
    Case { config, tree, objects, jobs }
}

//! The points of jobs: against the numbers of the manuals, numbers worked out by hand, what holds for all input, and the model.

mod against_model;
mod effects;
mod golden;
mod lines;
mod promises;
mod properties;
mod rows;
mod targets;
mod tree;

use std::collections::HashMap;

use multifactor2_core::policy::points::{Beyond, Needs, Parts, Points, PointsJob, Request, TargetUsage};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::settings::Settings;
use multifactor2_core::{NodeSpec, ShareTree};

/// One hour in seconds.
pub const HOUR: f64 = 3600.0;

pub fn settings(text: &str) -> Settings {
    Settings::parse(text, "test").unwrap_or_else(|errors| panic!("{text}\n{errors}")).settings
}

/// Accounts, users and their usage.
#[derive(Clone, Debug)]
pub struct Site {
    specs: Vec<NodeSpec>,
    /// Of users and accounts.
    names: Vec<(String, String)>,
    /// Of each with all below it.
    usage: Vec<f64>,
    /// The same in windows.
    pub window: TargetUsage,
    /// By half-life, of all but the associations.
    pub halflife: TargetUsage,
}

impl Site {
    /// The root alone.
    pub fn new() -> Self {
        Self {
            specs: vec![NodeSpec { parent: None, shares: 1, user: false }],
            names: vec![(String::new(), "root".into())],
            usage: vec![0.0],
            window: TargetUsage::default(),
            halflife: TargetUsage::default(),
        }
    }

    fn add(mut self, parent: &str, shares: u32, user: &str, account: &str) -> Self {
        let is_parent = |(user, account): &(String, String)| user.is_empty() && account == parent;
        let parent = self.names.iter().position(is_parent).expect("an account");
        let parent = Some(u32::try_from(parent).unwrap());
        self.specs.push(NodeSpec { parent, shares, user: !user.is_empty() });
        self.names.push((user.into(), account.into()));
        self.usage.push(0.0);
        self
    }

    pub fn account(self, parent: &str, name: &str, shares: u32) -> Self {
        self.add(parent, shares, "", name)
    }

    /// A user with its own usage, which the accounts above have, too.
    pub fn user(self, account: &str, name: &str, shares: u32, usage: f64) -> Self {
        let mut site = self.add(account, shares, name, account);
        let mut at = site.specs.len() - 1;
        site.usage[at] += usage;
        while let Some(parent) = site.specs[at].parent {
            at = parent as usize;
            site.usage[at] += usage;
        }
        site
    }

    /// A user of an account with as much as one of a hundred parts.
    pub fn with(self, account: &str, user: &str, usage: f64) -> Self {
        let has = self.names.iter().any(|(user, name)| user.is_empty() && name == account);
        let site = if has { self } else { self.account("root", account, 1) };
        site.user(account, user, 1, usage)
    }

    /// A QOS with usage.
    pub fn qos(mut self, id: u32, usage: f64) -> Self {
        self.halflife.qos.insert(id, usage);
        self
    }

    /// Usage in windows is ten times what it is by half-life.
    fn usage(&self, tree: &ShareTree) -> [TargetUsage; 2] {
        let mut both = [self.halflife.clone(), self.window.clone()];
        for (usage, factor) in both.iter_mut().zip([1.0, 10.0]) {
            usage.nodes = vec![0.0; tree.len()];
            for (at, used) in self.usage.iter().enumerate() {
                usage.nodes[tree.position(at).unwrap().index()] = used * factor;
            }
        }
        both
    }

    /// Points by these lines.
    pub fn points(self, lines: &str) -> Cluster {
        let points = Points::configured(&settings(lines)).expect("lines that ask for points");
        let tree = ShareTree::build(&self.specs);
        let mut cluster = Cluster { site: self, points, tree };
        cluster.learn();
        cluster.weigh();
        cluster
    }
}

/// QOS by id.
const ALL_QOS: [(u32, &str); 3] = [(1, "normal"), (2, "short"), (3, "high")];

/// A site whose jobs have points.
pub struct Cluster {
    pub site: Site,
    pub points: Points,
    pub tree: ShareTree,
}

impl Cluster {
    pub fn learn(&mut self) {
        let mut names = vec![Names::default(); self.tree.len()];
        for (at, (user, account)) in self.site.names.iter().enumerate() {
            names[self.tree.position(at).unwrap().index()] = Names { user, account };
        }
        let groups = HashMap::from([("staff".to_owned(), 500), ("guests".to_owned(), 501)]);
        self.points.learn(&self.tree, |node| names[node.index()], &ALL_QOS, &groups);
    }

    pub fn weigh(&mut self) {
        let [halflife, window] = self.site.usage(&self.tree);
        self.points.weigh(&self.tree, &halflife, &window);
    }

    /// A job of a user in an account, with nothing else.
    pub fn job(&self, user: &str, account: &str) -> PointsJob<'static> {
        let is_it = |(name, of): &(String, String)| name == user && of == account;
        let at = self.site.names.iter().position(is_it).expect("an association");
        PointsJob { node: self.tree.position(at), ..PointsJob::default() }
    }

    pub fn value(&self, job: &PointsJob<'_>) -> i32 {
        let value = self.points.value(job);
        let Parts { total, .. } = self.points.explain(job);
        assert_eq!(total, value, "explained otherwise");
        value
    }

    /// The caps that a job goes beyond.
    pub fn beyond(&self, job: &PointsJob<'_>) -> Vec<Beyond> {
        let usage = self.site.usage(&self.tree);
        self.points.beyond(&self.tree, usage.each_ref(), job)
    }

    /// The points of a user's job.
    pub fn of(&self, user: &str, account: &str) -> i32 {
        self.value(&self.job(user, account))
    }
}

/// The points of a job of nobody.
pub fn value(lines: &str, job: &PointsJob<'_>) -> i32 {
    Site::new().points(lines).value(job)
}

pub fn needs(lines: &str) -> Needs {
    Points::configured(&settings(lines)).expect("lines that ask for points").needs()
}

/// A job with this request.
pub fn requests(nodes: f64, cpus: f64, memory: f64, disk: f64) -> PointsJob<'static> {
    let request = Request { nodes, cpus, memory, disk, ..Request::default() };
    PointsJob { request, ..PointsJob::default() }
}

/// A job that has waited so long and may run so long, in seconds.
pub fn waited(wait: f64, limit: f64) -> PointsJob<'static> {
    PointsJob { wait, limit, ..PointsJob::default() }
}

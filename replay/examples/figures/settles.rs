//! What policies do to shares in the long run: the numbers and the picture of docs/weights.md.
//!
//! All users always have jobs waiting, which [`Full::is_full`] proves of every replay here. Jobs start in the order of their priorities
//! (`fcfs`), and only fair-share counts.

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::settings::Settings;
use multifactor2_core::{ShareTree, USE_PARENT};
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Outcome, Plan, Scheduler};
use multifactor2_replay::synthetic::{Full, Member, Work};
use multifactor2_replay::workload::BillingWeights;
use multifactor2_replay::Workload;

use crate::table::{each, Table};

const HOUR: u32 = 3600;

/// A machine, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    pub cpus: u32,
    /// In hours.
    pub half_life: u32,
    /// The second half counts.
    pub half_lives: u32,
    /// `PriorityCalcPeriod` in seconds.
    pub period: u32,
}

/// Of the picture: a CPU comes free in each cycle.
pub const SLOW: Ground = Ground { cpus: 12, half_life: 48, half_lives: 10, period: 300 };

/// Of what dilution does: many jobs of each user run at one time.
pub const WIDE: Ground = Ground { cpus: 60, half_life: 24, half_lives: 6, period: 600 };

/// For most users no whole number of CPUs.
const LARGE: Ground = Ground { cpus: 250, half_life: 24, half_lives: 4, period: 900 };

/// How it goes for a user.
#[derive(Clone, Debug)]
pub struct Career {
    pub name: String,
    pub account: String,
    /// Its normalised shares.
    pub share: f64,
    /// Its decayed usage in parts of all, after every step of a hundredth of the time.
    pub usage: Vec<f64>,
    /// What it had of all that was used in the second half.
    pub had: f64,
}

/// Steps of [`Career::usage`].
pub const STEPS: u32 = 100;

/// A policy by its name in the documentation, or its settings.
pub fn policy(name: &str) -> Policy {
    match name {
        "Fair Tree" => Policy::FairTree,
        "classic" => Policy::Classic,
        "tickets" => Policy::Multifactor2(Box::default()),
        "standing" | "strict" => policy(&format!("Distribution={name}")),
        settings => {
            Policy::Multifactor2(Box::new(Settings::parse(settings, "figures").expect(settings).settings))
        }
    }
}

/// How it goes for all users.
///
/// # Panics
/// Somebody was out of jobs, so that the result would say nothing.
pub fn run(tree: &[Member], ground: Ground, policy: &Policy) -> Vec<Career> {
    let Ground { cpus, half_life, half_lives, period } = ground;
    let hours = half_life * half_lives;
    let full = Full { seed: 1, cpus, hours, waiting: 12, half_life, period, tree: tree.to_vec() };
    let workload = full.make();
    let mut machine = workload.machine.clone().expect("a machine was made");
    // Memory counts, so that billing is another number than that of CPUs where jobs have some.
    machine.partitions[0].billing = BillingWeights { memory: 1.0, ..BillingWeights::CPUS };
    let scheduler = Scheduler::Fcfs;
    let outcome =
        simulate(&Plan { workload: &workload, machine: &machine, scheduler, policy }).expect("a plan");
    let (begin, end) = (Full::BEGIN, full.end());
    let quarter = begin + (end - begin) / 4;
    assert!(Full::is_full(&workload, &outcome, quarter, end), "somebody is out of jobs: {policy:?}");
    let shares = ShareTree::build(&workload.node_specs());
    let decay = decay_over(decay_factor(half_life * HOUR), f64::from(hours * HOUR / STEPS));
    let steps: Vec<Vec<f64>> = (0..STEPS)
        .map(|step| {
            let at = |step| begin + i64::from(step) * (end - begin) / i64::from(STEPS);
            used(&workload, &outcome, at(step), at(step + 1))
        })
        .collect();
    let (mut sums, mut parts) = (vec![0.0; workload.associations.len()], Vec::new());
    for step in &steps {
        for (sum, used) in sums.iter_mut().zip(step) {
            *sum = *sum * decay + used;
        }
        let all: f64 = sums.iter().sum();
        parts.push(sums.iter().map(|sum| sum / all).collect::<Vec<f64>>());
    }
    let second = used(&workload, &outcome, begin + (end - begin) / 2, end);
    let all: f64 = second.iter().sum();
    let users = workload.associations.iter().enumerate();
    users
        .filter_map(|(place, of)| {
            Some(Career {
                name: workload.users.name(of.user?).to_owned(),
                account: workload.accounts.name(of.account).to_owned(),
                share: shares.shares_norm(shares.position(place)?),
                usage: parts.iter().map(|parts| parts[place]).collect(),
                had: second[place] / all,
            })
        })
        .collect()
}

/// What associations used between two times, by billing.
#[allow(clippy::cast_precision_loss)] // seconds
fn used(workload: &Workload, outcome: &Outcome, from: i64, to: i64) -> Vec<f64> {
    let billing = BillingWeights { memory: 1.0, ..BillingWeights::CPUS };
    let mut used = vec![0.0; workload.associations.len()];
    for (at, (job, start)) in workload.jobs.iter().zip(&outcome.starts).enumerate() {
        if let Some(end) = outcome.end(workload, at) {
            used[job.association as usize] +=
                (end.min(to) - (*start).max(from)).max(0) as f64 * billing.of(job);
        }
    }
    used
}

/// The sum of how far all users' usage is from their shares, from 0 to 2.
pub fn error(users: &[Career]) -> f64 {
    users.iter().map(|user| (user.had - user.share).abs()).sum()
}

/// What the users of each account have had, or each user, such as `69.2 : 30.8`.
fn parts(users: &[Career], by_account: bool) -> String {
    let mut parts: Vec<(&str, f64)> = Vec::new();
    for user in users {
        let name = if by_account { &user.account } else { &user.name };
        match parts.last_mut().filter(|(last, _)| last == name) {
            Some((_, had)) => *had += user.had,
            None => parts.push((name, user.had)),
        }
    }
    parts.iter().map(|(_, had)| format!("{:.1}", 100.0 * had)).collect::<Vec<_>>().join(" : ")
}

/// Accounts: shares, the number of users, and what all of these request together, in parts of the machine.
pub fn accounts(accounts: &[(u32, u32, f64)]) -> Vec<Member> {
    let mut tree = Vec::new();
    for (at, (shares, users, asks)) in accounts.iter().enumerate() {
        let account = format!("account{at}");
        tree.push(Member::account(&account, *shares));
        let work = Work::hourly(asks / f64::from(*users));
        tree.extend(
            (0..*users).map(|user| Member::user(&account, &format!("user{at}.{user}"), 1, work.clone())),
        );
    }
    tree
}

/// The documented example. Everybody asks for one and a half times the share.
pub fn example() -> Vec<Member> {
    let account =
        |parent: &str, name, shares| Member { parent: parent.to_owned(), ..Member::account(name, shares) };
    let user = |account, name, share: f64| Member::user(account, name, 1, Work::hourly(1.5 * share));
    vec![
        account("", "A", 40),
        account("A", "B", 30),
        account("A", "C", 10),
        account("", "D", 60),
        account("D", "E", 25),
        account("D", "F", 35),
        user("B", "user1", 0.3),
        user("C", "user2", 0.05),
        user("C", "user3", 0.05),
        user("E", "user4", 0.25),
        user("F", "user5", 0.35),
    ]
}

/// A tree of the picture.
pub struct Scene {
    /// Its name in the documentation.
    pub name: &'static str,
    pub tree: Vec<Member>,
    /// Who is looked at: what they are called, and how the names of the users begin.
    pub groups: &'static [(&'static str, &'static str)],
}

/// The trees of the picture.
pub fn scenes() -> [Scene; 4] {
    [
        Scene {
            name: "60 : 40",
            tree: accounts(&[(60, 1, 0.9), (40, 1, 0.6)]),
            groups: &[("60 shares", "user0."), ("40 shares", "user1.")],
        },
        Scene {
            name: "90 : 10",
            tree: accounts(&[(90, 1, 1.05), (10, 1, 0.2)]),
            groups: &[("90 shares", "user0."), ("10 shares", "user1.")],
        },
        Scene {
            name: "20 users against 1",
            tree: accounts(&[(50, 20, 0.8), (50, 1, 1.0)]),
            groups: &[("20 users", "user0."), ("1 user", "user1.")],
        },
        Scene {
            name: "the example",
            tree: example(),
            groups: &[
                ("user1", "user1"),
                ("user2", "user2"),
                ("user3", "user3"),
                ("user4", "user4"),
                ("user5", "user5"),
            ],
        },
    ]
}

/// The orders of the picture.
pub const ORDERS: [&str; 5] = ["tickets", "standing", "strict", "Fair Tree", "classic"];

/// A tree, and how it went under each of [`ORDERS`].
pub type SettlingRow = (Scene, Vec<Vec<Career>>);

/// What the picture shows.
pub fn rows() -> Vec<SettlingRow> {
    scenes()
        .into_iter()
        .map(|scene| {
            let careers = each(&ORDERS, |order| run(&scene.tree, SLOW, &policy(order)));
            (scene, careers)
        })
        .collect()
}

/// How far usage is from shares, by tree and order.
pub fn distributions(rows: &[SettlingRow]) -> Table {
    let mut table = Table::new(["tree"].into_iter().chain(ORDERS));
    for (scene, careers) in rows {
        let errors = careers.iter().map(|careers| format!("{:.3}", error(careers)));
        table.push(std::iter::once(scene.name.to_owned()).chain(errors));
    }
    table
}

/// Two siblings by `tickets`, compared with the squares of their shares.
pub fn squares() -> Table {
    let mut table = Table::new(["shares", "usage settles at", "squares of the shares"]);
    let pairs = [(50, 50), (60, 40), (75, 25), (90, 10)];
    let settled = each(&pairs, |(a, b)| {
        let tree =
            accounts(&[(*a, 1, 1.05 * f64::from(*a).sqrt() / 9.0), (*b, 1, 1.3 * f64::from(*b) / 100.0)]);
        parts(&run(&tree, SLOW, &policy("tickets")), true)
    });
    for ((a, b), settled) in pairs.into_iter().zip(settled) {
        let square = |shares: u32| 100.0 * f64::from(shares * shares) / f64::from(a * a + b * b);
        table.push([format!("{a} : {b}"), settled, format!("{:.1} : {:.1}", square(a), square(b))]);
    }
    table
}

/// Two accounts with equal shares by `tickets`, one of which has many users.
pub fn many_users() -> Table {
    let mut table = Table::new(["active users", "usage settles at, in percent"]);
    let counts = [1, 20, 50];
    let settled = each(&counts, |count| {
        let asks = if *count == 1 { (0.6, 0.6) } else { (0.1, 1.05) };
        // So that each of many users runs some jobs within a half-life.
        let ground = Ground { half_life: 7 * 24, ..SLOW };
        parts(&run(&accounts(&[(50, *count, asks.0), (50, 1, asks.1)]), ground, &policy("tickets")), true)
    });
    for (count, settled) in counts.iter().zip(settled) {
        table.push([format!("{count} against 1"), settled]);
    }
    table
}

/// With dilution that is not refused.
pub const DILUTED: [(&str, &str); 5] = [
    ("tickets", "user"),
    ("tickets", "tree"),
    ("standing", "user"),
    ("standing", "tree"),
    ("strict", "user"),
];

/// Users, each in a separate account. Jobs of the first one may differ from the others'.
fn users(shares: &[u32], asks: f64, first: &Work, others: &Work) -> Vec<Member> {
    let all: u32 = shares.iter().sum();
    let mut tree = Vec::new();
    for (at, shares) in shares.iter().enumerate() {
        let name = format!("account{at}");
        let asks = (asks * f64::from(*shares) / f64::from(all)).min(1.05);
        let work = Work { asks, ..if at == 0 { first } else { others }.clone() };
        tree.push(Member::account(&name, *shares));
        tree.push(Member::user(&name, &format!("user{at}"), 1, work));
    }
    tree
}

/// 10 : 30 : 60; each requests `asks` times its share.
fn three(asks: f64) -> Vec<Member> {
    let work = Work::hourly(0.0);
    users(&[10, 30, 60], asks, &work, &work)
}

/// What users with the shares 10 : 30 : 60 have, by distribution and dilution.
pub fn dilution() -> Table {
    let dilutions = ["none", "user", "tree"];
    let mut table = Table::new(["Distribution", "`Dilution=none`", "`user`", "`tree`"]);
    for distribution in ["tickets", "standing", "strict"] {
        let cells = each(&dilutions, |dilution| {
            let settings = format!("Distribution={distribution} Dilution={dilution}");
            match Settings::parse(&settings, "figures") {
                Ok(_) => parts(&run(&three(1.5), WIDE, &policy(&settings)), true),
                Err(_) => "not allowed".to_owned(),
            }
        });
        table.push(std::iter::once(format!("`{distribution}`")).chain(cells));
    }
    table
}

/// The largest error of three trees, by the unit of dilution.
pub fn units(rows: &[(&str, &str)]) -> Table {
    let units = ["job", "cpu", "billing", "committed"];
    let mut table =
        Table::new(["Distribution, Dilution", "`DilutionUnit=job`", "`cpu`", "`billing`", "`committed`"]);
    for (distribution, dilution) in rows {
        let cells = each(&units, |unit| {
            let settings = format!("Distribution={distribution} Dilution={dilution} DilutionUnit={unit}");
            let trees = [users(&[60, 40], 1.3, &mixed(unit), &mixed(unit)), three(1.3), example()];
            let errors = trees.map(|mut tree| {
                for work in tree.iter_mut().filter_map(|member| member.work.as_mut()) {
                    *work = Work { asks: work.asks, ..mixed(unit) };
                }
                error(&run(&tree, LARGE, &policy(&settings)))
            });
            format!("{:.3}", errors.into_iter().fold(0.0, f64::max))
        });
        table.push(std::iter::once(format!("`{distribution}`, `{dilution}`")).chain(cells));
    }
    table
}

/// Jobs that are unlike in what they are counted by; all alike where every one counts as one.
fn mixed(unit: &str) -> Work {
    match unit {
        "job" => Work::hourly(0.0),
        _ => Work { cpus: 1..=4, limit: 100..=400, memory: 0..=1024, ..Work::hourly(0.0) },
    }
}

/// What else moves usage away from shares with dilution, or does not.
pub fn cases() -> Table {
    let hourly = Work::hourly(0.0);
    let twenty = accounts(&[(50, 20, 0.65), (50, 1, 0.65)]);
    let wide = users(&[50, 50], 1.5, &Work { cpus: 4..=4, ..hourly.clone() }, &hourly);
    let long = users(
        &[50, 50],
        1.6,
        &Work { limit: 400..=400, ..hourly.clone() },
        &Work { limit: 100..=100, ..hourly.clone() },
    );
    let parent = || {
        let mut tree = accounts(&[(1, 4, 0.8), (1, 1, 0.65)]);
        for member in tree.iter_mut().filter(|member| member.parent == "account0") {
            member.shares = USE_PARENT;
        }
        tree
    };
    let cases: [(&str, Vec<Member>, Ground, &str); 15] = [
        ("20 users against 1, 60 CPUs", twenty.clone(), WIDE, "Dilution=user"),
        ("20 users against 1, 410 CPUs", twenty.clone(), Ground { cpus: 410, ..WIDE }, "Dilution=user"),
        ("20 users against 1, 60 CPUs", twenty, WIDE, "Dilution=tree"),
        ("jobs of four CPUs against one", wide.clone(), LARGE, "Dilution=user"),
        ("jobs of four CPUs against one", wide, LARGE, "Dilution=user DilutionUnit=cpu"),
        (
            "limits of four times the run against one",
            long.clone(),
            LARGE,
            "Dilution=user DilutionUnit=committed",
        ),
        ("limits of four times the run against one", long, LARGE, "Dilution=user DilutionUnit=cpu"),
        ("10 : 30 : 60", three(1.8), WIDE, "Dilution=user DilutionExponent=0.5"),
        ("10 : 30 : 60", three(1.3), WIDE, "Distribution=standing Dilution=user DilutionExponent=0.5"),
        ("10 : 30 : 60", three(1.8), WIDE, "Dilution=user DilutionRunning=no"),
        ("10 : 30 : 60", three(1.8), WIDE, "Distribution=standing Dilution=user DilutionRunning=no"),
        ("four `Fairshare=parent` against one user", parent(), WIDE, "Dilution=user"),
        ("four `Fairshare=parent` against one user", parent(), WIDE, "Distribution=standing Dilution=user"),
        ("four `Fairshare=parent` against one user", parent(), WIDE, "Dilution=tree"),
        ("four `Fairshare=parent` against one user", parent(), WIDE, "Dilution=user ParentUsers=split"),
    ];
    let settled =
        each(&cases, |(_, tree, ground, settings)| parts(&run(tree, *ground, &policy(settings)), true));
    let mut table = Table::new(["case", "settings", "usage settles at, in percent"]);
    for ((case, _, _, settings), settled) in cases.iter().zip(settled) {
        let settings: Vec<String> = settings.split(' ').map(|setting| format!("`{setting}`")).collect();
        table.push([(*case).to_owned(), settings.join(", "), settled]);
    }
    table
}

//! What settings make of one small site: numbers of every part of the engine, so that a line that counts changes one of them.
//!
//! Accounts, users, partitions and QOS are called as on the page. What was used is charged by the rules of the settings, the share trees and
//! targets go by it, and jobs that wait and run get their factors and points.

use std::collections::HashMap;
use std::sync::Arc;

use multifactor2_accounting::rule_history::RuleHistory;
use multifactor2_accounting::sums::{columns, Cycle, Recipe, Sums};
use multifactor2_accounting::tally::{Tally, TallyPlace};
use multifactor2_core::books::{BookAt, BookLines, BookSet, Books};
use multifactor2_core::facts::{Course, Request, TresTotal};
use multifactor2_core::policy::points::{
    number as number_of, JobFacts, Points, PointsJob, Reader, TargetUsage,
};
use multifactor2_core::policy::pools::{
    comment_tickets, order, JobNames, Measure, Names, Pools, SizeFacts, WaitingJob, Who,
};
use multifactor2_core::rules::charge_rules::{ChargeFactors, ChargeRules};
use multifactor2_core::rules::minimum;
use multifactor2_core::rules::windows::{enter, usage, Windows};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, NodeSpec, ShareTree};

/// It is Wednesday, the 20th of January 2027, 12:00 UTC, which is the local time.
const NOW: i64 = 1_800_446_400;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

/// With the one above, and shares.
const ACCOUNTS: [(&str, usize, u32); 10] = [
    ("root", 0, 1),
    ("physics", 0, 40),
    ("optics", 1, 3),
    ("chemistry", 0, 20),
    ("marketing", 0, 10),
    ("support", 0, 10),
    ("climate", 0, 8),
    ("prj1", 0, 6),
    ("scavenger", 0, 6),
    ("lasers", 2, 1),
];

/// With account, shares and Unix group.
const USERS: [(&str, &str, u32, u32); 11] = [
    ("john", "physics", 5, 500),
    ("ada", "optics", 2, 500),
    ("eve", "optics", 3, 501),
    ("paul", "chemistry", 1, 501),
    ("john", "prj1", 1, 500),
    ("mia", "marketing", 1, 501),
    ("sue", "support", 1, 500),
    ("clara", "climate", 1, 501),
    ("sam", "scavenger", 1, 501),
    ("leo", "lasers", 1, 502),
    ("pia", "prj1", 2, 502),
];

const QOS: [(u32, &str); 4] = [(1, "normal"), (2, "special"), (3, "short"), (4, "long")];
const GROUPS: [(&str, u32); 2] = [("staff", 500), ("guests", 501)];

/// What is counted: these TRES, and billing.
const TRES: [(&str, &str, u64); 4] =
    [("cpu", "", 256), ("mem", "", 1_024_000), ("gres", "gpu", 16), ("billing", "", 672)];
const BILLING: usize = 3;

/// CPUs, memory in MB, GPUs, and what they cost.
fn tres([cpus, memory, gpus]: [u32; 3]) -> [u64; 4] {
    [cpus, memory, gpus, cpus + memory / 4000 + 10 * gpus].map(u64::from)
}

/// Work of the past: user, partition, QOS, what it had, hours since it began, minutes that it ran.
type Past = (usize, &'static str, &'static str, [u32; 3], i64, i64);

const PAST: [Past; 23] = [
    (0, "debug", "normal", [8, 16_000, 0], 90, 300),
    (0, "gpu", "special", [2, 32_000, 1], 30, 240),
    (0, "debug", "short", [1, 1000, 0], 7, 1),
    (1, "batch", "normal", [64, 64_000, 0], 110, 1800),
    (1, "gpu", "long", [4, 16_000, 4], 50, 600),
    (2, "batch", "long", [16, 160_000, 0], 20, 900),
    (3, "modern-gpu", "normal", [4, 16_000, 8], 40, 1200),
    (3, "legacy-gpu", "normal", [4, 16_000, 2], 16, 600),
    (3, "batch", "normal", [32, 8000, 0], 85, 1000),
    (4, "debug", "short", [4, 4000, 0], 12, 100),
    (5, "debug", "normal", [1, 40_000, 0], 10, 150),
    (6, "long", "long", [40, 40_000, 0], 60, 2000),
    (6, "batch", "normal", [10, 10_000, 0], 15, 400),
    (7, "debug", "normal", [1, 1000, 0], 200, 30),
    (8, "scavenger", "normal", [64, 64_000, 0], 33, 1500),
    (8, "lab-scavenger", "normal", [32, 1000, 0], 70, 1500),
    (8, "scavenger", "short", [16, 16_000, 0], 9, 60),
    (3, "scavenger", "short", [16, 16_000, 0], 19, 160),
    (9, "long", "special", [6, 6000, 0], 120, 700),
    (9, "debug", "short", [2, 2000, 0], 300, 700),
    (10, "gpu", "normal", [2, 8000, 1], 100, 333),
    (10, "debug", "short", [2, 8000, 0], 3, 2),
    (1, "long", "long", [8, 8000, 0], 44, 500),
];

/// A job that waits, or began to run so many minutes ago.
struct Job {
    user: usize,
    partition: &'static str,
    qos: &'static str,
    has: [u32; 3],
    limit: u64,
    /// Minutes since it was submitted; it gains age since half of them.
    waits: i64,
    runs: Option<i64>,
    course: Course,
    comment: &'static str,
}

/// All of them, with the ids 1, 2, … An administrator has written tickets into the comment of every third.
fn jobs() -> Vec<Job> {
    let partitions = ["debug", "gpu", "long", "batch", "modern-gpu", "scavenger"];
    let limits = [9000, 400_000, 250, 200];
    let job = |at: usize| {
        let number = u32::try_from(at).expect("it is small");
        let signed = i64::from(number);
        let runs = (at % 6 == 4).then_some(10 + 7 * signed);
        let course = Course {
            restarts: number % 5,
            deadline: if at % 4 == 1 { NOW + HOUR * (2 + signed) } else { 0 },
            nice: signed % 3 * 50,
            suspended: at % 12 == 4,
        };
        Job {
            user: at % USERS.len(),
            partition: partitions[at % 7 % partitions.len()],
            qos: QOS[at % 5 % QOS.len()].1,
            has: [1 << (number % 7), 2000 << (number % 5), number % 4],
            limit: limits[at % 4] * (1 + u64::from(number) % 13 * (1 + u64::from(number) % 9)),
            waits: if at % 8 == 3 { 8 } else { 10 * signed * signed + 10 },
            runs,
            course,
            comment: if at % 3 == 0 { "for the deadline, tickets=2000" } else { "" },
        }
    };
    (0..66).map(job).collect()
}

fn number(count: i64) -> f64 {
    number_of(u64::try_from(count).unwrap_or(0))
}

/// The site by the settings that are tried.
struct World<'s> {
    settings: &'s Settings,
    tree: Arc<ShareTree>,
    /// By [`Node::index`].
    names: Vec<Names<'static>>,
    lines: BookLines,
}

/// What a piece of work counts.
struct Charged {
    at: Past,
    start: i64,
    /// Seconds times what they are multiplied with.
    seconds: f64,
}

impl<'s> World<'s> {
    fn new(settings: &'s Settings) -> Self {
        let account = |name: &str| ACCOUNTS.iter().position(|(account, ..)| *account == name);
        let parent = |at: usize| Some(u32::try_from(at).expect("it is small"));
        let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
        specs.extend(ACCOUNTS[1..].iter().map(|(_, above, shares)| NodeSpec {
            parent: parent(*above),
            shares: *shares,
            user: false,
        }));
        specs.extend(USERS.iter().map(|(_, name, shares, _)| NodeSpec {
            parent: account(name).and_then(parent),
            shares: *shares,
            user: true,
        }));
        let tree = Arc::new(ShareTree::build(&specs));
        let of_accounts = ACCOUNTS.iter().map(|(account, ..)| Names { user: "", account });
        let of_users = USERS.iter().map(|(user, account, ..)| Names { user, account });
        let mut names = vec![Names::default(); tree.len()];
        for (at, name) in of_accounts.chain(of_users).enumerate() {
            names[tree.position(at).expect("it is in the tree").index()] = name;
        }
        Self { settings, tree, names, lines: BookLines::of(settings) }
    }

    fn user(&self, user: usize) -> Node {
        self.tree.position(ACCOUNTS.len() + user).expect("it is in the tree")
    }

    /// Charges all work by the lines of `Charge` and by `MinimumCharge`; it is of the users who come so much later in the list.
    fn charged(&self, shift: usize) -> Vec<Charged> {
        let history = RuleHistory { former: Vec::new(), current: ChargeRules::of(self.settings) };
        let charge = |&(of, partition, qos, has, hours, minutes): &Past| {
            let user = (of + shift) % USERS.len();
            let (start, account) = (NOW - hours * HOUR, USERS[user].1);
            let end = (start + 60 * minutes).min(NOW);
            let factors = |rules: &ChargeRules| -> ChargeFactors {
                let own = rules.partitions.of(partition).times(rules.qos.of(qos));
                own.times(rules.accounts.of(account)).times(rules.parents.of(account))
            };
            let divided = history.divided(start, end, |_| Some(0));
            let rules = divided.within(start, end);
            let all: Vec<ChargeFactors> = rules.all().map(factors).collect();
            let run = minimum::Run { start, end, suspended: 0, before_suspension: 0 };
            let missing = number(run.missing(rules.minimum_at(end)));
            let last = all.last().copied().unwrap_or_default();
            let mean = rules.mean(start, number(end - start), |at| all[at]);
            Charged {
                at: (user, partition, qos, has, hours, minutes),
                start,
                seconds: number(end - start) * mean.usage + missing * last.usage,
            }
        };
        PAST.iter().map(charge).collect()
    }

    /// What the share tree of each book goes by.
    fn usage_of_books(&self, charged: &[Charged]) -> Vec<Vec<f64>> {
        let weights = self.settings.dominant_weights();
        let listed = weights.iter().flatten().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let books = self.lines.names().to_vec();
        let recipe =
            Recipe { metric: "billing".into(), tres: listed, books: books.clone(), ..Recipe::default() };
        let measured: Vec<usize> = columns::measures(&recipe).into_iter().map(place_of).collect();
        let mut sums = Sums::new(recipe.clone(), NOW - 100 * DAY, 0);
        let mut tally = Tally::default();
        tally.begin(None, sums.width());
        let all = |of: &[u64; 4]| measured.iter().map(|at| number_of(of[*at])).collect::<Vec<_>>();
        let whole = all(&TRES.map(|(_, _, count)| count)).into_iter().map(|count| count * 14.0 * number(DAY));
        tally.add_columns(TallyPlace::CAPACITY, 0, &whole.collect::<Vec<_>>()[..recipe.tres.len()]);
        let mut raw = vec![0.0; self.tree.len()];
        for charge in charged {
            let (user, partition, _, has, ..) = charge.at;
            let seconds = charge.seconds * decay(charge.start);
            let amounts: Vec<f64> = all(&tres(has)).iter().map(|amount| amount * seconds).collect();
            let place = sums.association(u32::try_from(user).expect("it is small"));
            tally.add_columns(place, 0, &amounts[..recipe.tres.len()]);
            if let Some(book) = self.lines.of_partition(partition).index().checked_sub(1) {
                tally.add_columns(place, columns::first_of(&recipe, book), &amounts);
            }
            let seconds = match self.settings.tree_windows() {
                Some(windows) => in_windows(charge, windows),
                None => seconds,
            };
            self.add(&mut raw, user, seconds * number_of(tres(has)[BILLING]));
        }
        sums.settle(Cycle { now: NOW, decay: 1.0, last_reset: 0, tally: &tally }, &mut Vec::new());
        let find = |id: u32| Some(self.user(usize::try_from(id).ok()?));
        let mut by_book = Vec::new();
        sums.measures(weights.as_deref(), &books).by_book(&self.tree, find, &raw, &mut by_book);
        by_book
    }

    /// Adds to a user and all above.
    fn add(&self, usage: &mut [f64], user: usize, amount: f64) {
        let mut next = Some(self.user(user));
        while let Some(node) = next {
            usage[node.index()] += amount;
            next = self.tree.parent(node);
        }
    }

    /// What targets are compared with, of the work that `counts`, where `counted` says as how many seconds.
    fn target_usage(
        &self,
        charged: &[Charged],
        counts: impl Fn(&str) -> bool,
        counted: impl Fn(&Charged) -> f64,
    ) -> TargetUsage {
        let mut sum = TargetUsage { nodes: vec![0.0; self.tree.len()], ..TargetUsage::default() };
        let metric = place_of(&self.settings.target_metric);
        for charge in charged {
            let (user, partition, qos, has, ..) = charge.at;
            if !counts(partition) {
                continue;
            }
            let amount = counted(charge) * number_of(tres(has)[metric]);
            self.add(&mut sum.nodes, user, amount);
            *sum.qos.entry(qos_id(qos)).or_default() += amount;
            *sum.groups.entry(USERS[user].3).or_default() += amount;
            *sum.partitions.entry(partition.to_owned()).or_default() += amount;
            sum.all += amount;
        }
        sum.capacity = 3.0 * number(DAY) * number_of(TRES[metric].2);
        sum
    }

    /// By half-life, and in windows.
    fn target_usages(&self, charged: &[Charged]) -> [TargetUsage; 2] {
        let Settings { target_window, target_depth, target_decay, .. } = self.settings;
        let length = i64::try_from(target_window.as_secs()).expect("it is short");
        let depth = usize::try_from(*target_depth).expect("it is small");
        let in_windows = |charge: &Charged| in_windows(charge, (length, depth, *target_decay));
        let halflife = |charge: &Charged| charge.seconds * decay(charge.start);
        [self.target_usage(charged, |_| true, halflife), self.target_usage(charged, |_| true, in_windows)]
    }

    /// The factors of all jobs, at a date.
    fn factors(&self, jobs: &[Job], charged: &[Charged], now: Date) -> Vec<f64> {
        let mut books = Books::default();
        books.configure(self.settings);
        let account = |node: Node| {
            let Names { user, account } = self.names[node.index()];
            user.is_empty().then_some(account)
        };
        books.plant(&self.tree, &self.lines, account);
        books.clear_waiting();
        let book_of = |job: &Job| self.lines.of_partition(job.partition);
        for job in jobs.iter().filter(|job| job.runs.is_none()) {
            books.note_waiting(self.user(job.user), BookSet::one(book_of(job)));
        }
        let by_book = self.usage_of_books(charged);
        books.distribute(|book: BookAt| &by_book[book.index()]);
        let numbers = BookSet::from_numbers(0..=self.lines.names().len());
        let mut factors = vec![0.0; jobs.len()];
        for at in numbers.iter() {
            let (fair_share, tree) = (&books.get(at).fair_share, &books.get(at).tree);
            let own = (1..).zip(jobs).enumerate().filter(|(_, (_, job))| book_of(job) == at);
            let own: Vec<(usize, (u32, &Job))> = own.collect();
            let Some(mut pools) = Pools::configured(self.settings) else {
                for (place, (_, job)) in own {
                    factors[place] = fair_share.priority(self.user(job.user));
                }
                continue;
            };
            pools.begin(now);
            pools.learn(tree, |node| self.names[node.index()]);
            let who: Vec<Who> = own.iter().map(|(_, (id, job))| self.who(&mut pools, *id, job)).collect();
            let waiting = own.iter().zip(&who).filter(|((_, (_, job)), _)| job.runs.is_none());
            let waiting: Vec<WaitingJob> =
                waiting.map(|((_, (id, job)), who)| waiting_job(*id, job, *who)).collect();
            let running = own.iter().zip(&who).filter(|((_, (_, job)), _)| job.runs.is_some());
            let running: Vec<Who> = running.map(|(_, who)| *who).collect();
            let mut tickets = Vec::new();
            pools.distribute(tree, fair_share, &waiting, &running, &mut tickets);
            let mut tickets = tickets.into_iter();
            for ((place, (_, job)), who) in own.iter().zip(&who) {
                let given = match job.runs {
                    None => tickets.next().expect("one of each that waits"),
                    Some(_) => pools.of_running(tree, fair_share, *who),
                };
                factors[*place] = pools.factor(given);
            }
        }
        factors
    }

    fn who(&self, pools: &mut Pools, id: u32, job: &Job) -> Who {
        let asked = pools.own_tickets();
        let own = comment_tickets(job.comment).expect("a good comment").filter(|_| asked.admin_comment);
        let names = JobNames {
            partition: job.partition,
            qos: job.qos,
            id,
            own: own.unwrap_or(0),
            ..JobNames::default()
        };
        let [cpus, _, _, billing] = tres(job.has);
        let left = number_of(job.limit) / 60.0 - number(job.runs.unwrap_or(0));
        let size = Measure::of(self.settings).size(SizeFacts { cpus, billing, minutes_left: Some(left) });
        Who { node: self.user(job.user), extra: pools.extra(names), size, count: 1 }
    }

    /// Points of all jobs, who is stopped, and how far each is beyond caps.
    fn points(&self, jobs: &[Job], charged: &[Charged]) -> Vec<f64> {
        let Some(mut points) = Points::configured(self.settings) else { return vec![0.0; 4 * jobs.len()] };
        let groups: HashMap<String, u32> =
            GROUPS.iter().map(|(name, gid)| ((*name).to_owned(), *gid)).collect();
        points.learn(&self.tree, |node| self.names[node.index()], &QOS, &groups);
        let usages = self.target_usages(charged);
        points.weigh(&self.tree, &usages[0], &usages[1]);
        let of_book = |name: &str| {
            let counts = |partition: &str| {
                self.lines.name(self.lines.of_partition(partition)).eq_ignore_ascii_case(name)
            };
            self.target_usage(charged, counts, |charge| charge.seconds * decay(charge.start))
        };
        let of_books: Vec<TargetUsage> = points.target_books().map(of_book).collect();
        points.weigh_books(&self.tree, &of_books);
        let totals =
            TRES.map(|(kind, name, count)| TresTotal { kind: kind.into(), name: name.into(), count });
        let mut reader = Reader::new(&totals, self.settings);
        reader.counts_running = true;
        let asked = (1..).zip(jobs).map(|(id, job)| self.points_job(&points, &reader, id, job));
        let asked: Vec<PointsJob<'_>> = asked.collect();
        points.measure(asked.iter().copied());
        let mut numbers = Vec::new();
        for job in &asked {
            let beyond = points.beyond(&self.tree, usages.each_ref(), job);
            let (used, allowed) = beyond
                .iter()
                .fold((0.0, 0.0), |(used, allowed), beyond| (used + beyond.used, allowed + beyond.allowed));
            let stopped = f64::from(u8::from(points.is_stopped(job)));
            numbers.extend([f64::from(points.value(job)), stopped, used, allowed]);
        }
        numbers
    }

    fn points_job(&self, points: &Points, reader: &Reader, id: u32, job: &Job) -> PointsJob<'static> {
        let amounts = tres(job.has);
        let submit_time = NOW - 60 * (job.waits + job.runs.unwrap_or(0));
        let request = Request {
            nodes: u64::from(1 + id % 3),
            cpus: amounts[0],
            memory: amounts[1],
            tmp_disk: 100 * id,
            tres: &amounts,
            group: Some(USERS[job.user].3),
            limit: job.limit,
            accrue_time: submit_time + 30 * job.waits,
            submit_time,
            start_time: job.runs.map_or(0, |runs| NOW - 60 * runs),
            holds: job.runs.is_some(),
            course: job.course,
        };
        let facts: JobFacts = reader.facts(points.needs(), id, &request, NOW);
        PointsJob {
            node: Some(self.user(job.user)),
            partition: points.partition(job.partition),
            qos: points.qos(qos_id(job.qos)),
            group: points.group(facts.group),
            bypass: id % 4,
            accuracy: f64::from(10 * (id % 7)),
            ..facts.job()
        }
    }
}

fn waiting_job(id: u32, job: &Job, who: Who) -> WaitingJob {
    let nice = 0x8000_0000 + u32::try_from(job.course.nice).expect("it is not negative");
    let age = u32::try_from(30 * job.waits).ok();
    WaitingJob { node: who.node, id, order: order(nice, age), size: who.size, extra: who.extra }
}

/// What seconds count in windows: length, number and decay.
fn in_windows(charge: &Charged, (length, depth, decay): (i64, usize, f64)) -> f64 {
    let mut amounts = Vec::new();
    Windows::new(length, depth, NOW)
        .split(charge.start, charge.seconds, |age, run| enter(&mut amounts, age, run));
    usage(&amounts, decay)
}

/// With a half-life of a week.
fn decay(start: i64) -> f64 {
    0.5_f64.powf(number(NOW - start) / number(7 * DAY))
}

/// Where a TRES is.
fn place_of(name: &str) -> usize {
    let is_it = |(kind, of, count): &(&str, &str, u64)| {
        TresTotal { kind: (*kind).into(), name: (*of).into(), count: *count }.is_called(name)
    };
    TRES.iter().position(is_it).unwrap_or_else(|| panic!("the site has no {name}"))
}

fn qos_id(name: &str) -> u32 {
    QOS.iter().find(|(_, qos)| *qos == name).map_or_else(|| panic!("no QOS {name}"), |(id, _)| *id)
}

/// The numbers that lines make of the site, as many whatever the lines; why they are refused otherwise.
pub fn of(text: &str) -> Result<Vec<f64>, String> {
    let loaded = Settings::parse(text, "rows_page").map_err(|errors| errors.to_string())?;
    let (world, jobs, mut numbers) = (World::new(&loaded.settings), jobs(), Vec::new());
    // Whoever is above a target in one past is below it in another.
    for shift in [0, 10] {
        let charged = world.charged(shift);
        numbers.extend(charged.iter().map(|charge| charge.seconds));
        // Before the deadline of a project, when it is near, and when it is over.
        for day in [10, 20, 27] {
            let now = Date { year: 2027, month: 1, day, ..Date::default() };
            numbers.extend(world.factors(&jobs, &charged, now));
        }
        numbers.extend(world.points(&jobs, &charged));
    }
    Ok(numbers)
}

/// Whether numbers differ by more than rounding.
pub fn differ(one: &[f64], other: &[f64]) -> bool {
    assert_eq!(one.len(), other.len(), "as many numbers whatever the lines");
    one.iter().zip(other).any(|(one, other)| (one - other).abs() > 1e-9 * one.abs().max(other.abs()))
}

//! docs/policies.md: every number on the page, from the situation that stands above it.
//!
//! An indented block has `# multifactor2.conf` and its lines, then `# situation` and a line for each account: `NAME SHARES`, and after a
//! colon its users: `NAME SHARES`, `used USAGE` and jobs between commas, one user and the next between semicolons. An account is
//! below the one that is indented less. The tables that follow are of that block. Their columns say what holds: nothing (`before`), the
//! block (`after`), the block `on` a date, or the block with more settings. A row is of one job or user, or of several between commas,
//! whose numbers stand in the same order. Numbers have the decimals that they are printed with.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use multifactor2_core::policy::pools::{
    comment_tickets, order, Extra, JobNames, JobTickets, Measure, Names, Pools, SizeFacts, WaitingJob, Who,
};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::{ActiveJobs, Settings};
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree, USE_PARENT};
use multifactor2_fixtures::{project, seed_tables};

const PAGE: &str = "docs/policies.md";

/// Of tables that name none.
const TODAY: Date = Date { year: 2027, month: 1, day: 20, hour: 12, minute: 0, second: 0 };

/// Nice value 0 as Slurm keeps it.
const NICE_OFFSET: u32 = 0x8000_0000;

#[derive(Clone, Debug, Default)]
struct Association {
    user: String,
    account: String,
    parent: Option<u32>,
    shares: u32,
    usage: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waits,
    /// For a limit of its user.
    AtLimit,
    Held,
    Runs,
}

#[derive(Clone, Debug)]
struct Job {
    id: u32,
    /// Index of the association.
    of: usize,
    state: State,
    cpus: u64,
    minutes: Option<f64>,
    partition: String,
    qos: String,
    comment: String,
}

/// Accounts, users and jobs as the page writes them.
#[derive(Clone, Debug, Default)]
struct Situation {
    associations: Vec<Association>,
    jobs: Vec<Job>,
}

impl Situation {
    fn read(lines: &[&str]) -> Self {
        let root = Association { account: "root".to_owned(), shares: 1, ..Association::default() };
        let mut situation = Self { associations: vec![root], jobs: Vec::new() };
        // Accounts from the root down to the last one, with how far each is indented.
        let mut path = vec![(-1, 0)];
        for line in lines {
            let indent = i32::try_from(line.len() - line.trim_start().len()).unwrap();
            while path.last().is_some_and(|(above, _)| *above >= indent) {
                path.pop();
            }
            let parent = path.last().unwrap().1;
            let (account, users) = line.trim().split_once(": ").unwrap_or((line.trim(), ""));
            let (name, shares) = named(account);
            let account = situation.add(parent, "", name, shares);
            path.push((indent, account));
            for user in users.split("; ").filter(|user| !user.is_empty()) {
                let mut parts = user.split(", ");
                let (user, shares) = named(parts.next().unwrap());
                let first = situation.associations.len();
                for user in each(user) {
                    situation.add(account, &user, name, shares);
                }
                let users: Vec<usize> = (first..situation.associations.len()).collect();
                parts.for_each(|part| situation.note(&users, part));
            }
        }
        for at in (1..situation.associations.len()).rev() {
            let Association { parent, usage, .. } = situation.associations[at];
            situation.associations[parent.unwrap() as usize].usage += usage;
        }
        situation
    }

    fn add(&mut self, parent: usize, user: &str, account: &str, shares: u32) -> usize {
        let (user, account) = (user.to_owned(), account.to_owned());
        let parent = Some(u32::try_from(parent).unwrap());
        self.associations.push(Association { user, account, parent, shares, usage: 0.0 });
        self.associations.len() - 1
    }

    /// Usage or jobs of a user, or of each of some.
    fn note(&mut self, users: &[usize], part: &str) {
        let words: Vec<&str> = part.split(' ').collect();
        let ids = match words[..] {
            ["used", usage] | ["used", usage, "each"] => {
                users.iter().for_each(|of| self.associations[*of].usage = number(usage));
                return;
            }
            ["job", id, ..] => id.parse().unwrap()..=id.parse().unwrap(),
            ["jobs", ids, ..] => {
                let (first, last) = ids.split_once('-').expect(part);
                RangeInclusive::new(first.parse().unwrap(), last.parse().unwrap())
            }
            _ => panic!("{part:?} is neither usage nor jobs"),
        };
        let mut job = Job {
            id: 0,
            of: 0,
            state: State::Waits,
            cpus: 1,
            minutes: None,
            partition: String::new(),
            qos: String::new(),
            comment: String::new(),
        };
        let mut rest = &words[2..];
        while !rest.is_empty() {
            let taken = match rest {
                ["in", "turn"] => 2,
                ["running", ..] => (job.state = State::Runs, 1).1,
                ["held", ..] => (job.state = State::Held, 1).1,
                ["at", "a", "limit", ..] => (job.state = State::AtLimit, 3).1,
                ["of", cpus, "CPUs", ..] => (job.cpus = cpus.parse().unwrap(), 3).1,
                ["for", hours, "hours", ..] => (job.minutes = Some(60.0 * number(hours)), 3).1,
                ["for", days, "days", ..] => (job.minutes = Some(1440.0 * number(days)), 3).1,
                ["in", "partition", name, ..] => (job.partition = (*name).to_owned(), 3).1,
                ["in", "QOS", name, ..] => (job.qos = (*name).to_owned(), 3).1,
                ["with", comment, ..] => (job.comment = (*comment).to_owned(), 2).1,
                _ => panic!("{part:?}: what is {rest:?}?"),
            };
            rest = &rest[taken..];
        }
        let of = users.iter().cycle();
        self.jobs.extend(ids.zip(of).map(|(id, of)| Job { id, of: *of, ..job.clone() }));
    }
}

/// `p1-p3` are three names.
fn each(name: &str) -> Vec<String> {
    let Some((first, last)) = name.split_once('-') else { return vec![name.to_owned()] };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |name: &str| name.trim_start_matches(stem).parse::<u32>().expect(name);
    (number(first)..=number(last)).map(|at| format!("{stem}{at}")).collect()
}

fn named(text: &str) -> (&str, u32) {
    let (name, shares) = text.split_once(' ').unwrap_or_else(|| panic!("{text:?} has no shares"));
    (name, if shares == "parent" { USE_PARENT } else { shares.parse().expect(text) })
}

fn number(text: &str) -> f64 {
    text.parse().expect(text)
}

/// What commands show.
#[derive(Debug, Default)]
struct Shown {
    /// FAIRSHARE of `sprio -n`, by job, with the tickets behind it where there are pools.
    sprio: BTreeMap<u32, (f64, Option<JobTickets>)>,
    /// `FairShare` of sshare, by user and account.
    sshare: BTreeMap<(String, String), f64>,
    /// Waiting jobs, the best first, with their users.
    queue: Vec<(u32, String, String)>,
}

/// One cycle of the plugin.
fn show(settings: &Settings, now: Date, situation: &Situation) -> Shown {
    let Situation { associations, jobs } = situation;
    let spec =
        |row: &Association| NodeSpec { parent: row.parent, shares: row.shares, user: !row.user.is_empty() };
    let tree = ShareTree::build(&associations.iter().map(spec).collect::<Vec<_>>());
    let nodes: Vec<Node> = (0..associations.len()).map(|at| tree.position(at).unwrap()).collect();
    let counts = |job: &&Job| match (job.state, settings.active_jobs) {
        (State::Waits, _) | (State::AtLimit, ActiveJobs::Eligible) => true,
        (State::Runs, _) | (State::AtLimit | State::Held, ActiveJobs::Eligible | ActiveJobs::Startable) => {
            false
        }
        (State::AtLimit | State::Held, ActiveJobs::Pending) => true,
    };
    let (mut usage, mut waiting) = (vec![0.0; tree.len()], vec![0; tree.len()]);
    for (row, node) in associations.iter().zip(&nodes) {
        usage[node.index()] = row.usage;
    }
    for job in jobs.iter().filter(counts) {
        waiting[nodes[job.of].index()] += 1;
    }
    let mut fair_share = FairShare::new();
    fair_share.configure(settings);
    fair_share.distribute(&tree, &usage, &waiting);

    let mut shown = Shown::default();
    let users = || associations.iter().zip(&nodes).filter(|(row, _)| !row.user.is_empty());
    let pending = jobs.iter().filter(|job| job.state != State::Runs);
    if let Some(mut pools) = Pools::configured(settings) {
        pools.begin(now);
        let mut names = vec![Names::default(); tree.len()];
        for (row, node) in associations.iter().zip(&nodes) {
            names[node.index()] = Names { user: &row.user, account: &row.account };
        }
        pools.learn(&tree, |node| names[node.index()]);
        let measure = Measure::of(settings);
        let mut who = |job: &Job| {
            let own = comment_tickets(&job.comment).unwrap().unwrap_or_default();
            let (partition, qos) = (job.partition.as_str(), job.qos.as_str());
            let extra = pools.extra(JobNames { partition, qos, id: job.id, own, ..JobNames::default() });
            let facts = SizeFacts { cpus: job.cpus, billing: job.cpus, minutes_left: job.minutes };
            Who { node: nodes[job.of], extra, size: measure.size(facts), count: 1 }
        };
        let all: Vec<(&Job, Who)> = jobs.iter().map(|job| (job, who(job))).collect();
        let queue = all.iter().filter(|(job, _)| counts(job)).map(|(job, who)| WaitingJob {
            node: who.node,
            id: job.id,
            order: order(NICE_OFFSET, Some(0)),
            size: who.size,
            extra: who.extra,
        });
        let queue: Vec<WaitingJob> = queue.collect();
        let running = all.iter().filter(|(job, _)| job.state == State::Runs).map(|(_, who)| *who);
        let mut tickets = Vec::new();
        pools.distribute(&tree, &fair_share, &queue, &running.collect::<Vec<_>>(), &mut tickets);
        let of_queue: BTreeMap<u32, JobTickets> = queue.iter().map(|job| job.id).zip(tickets).collect();
        for (job, who) in all.iter().filter(|(job, _)| job.state != State::Runs) {
            let known = of_queue.get(&job.id).copied();
            let tickets = known.unwrap_or_else(|| pools.of_next(&tree, &fair_share, *who));
            shown.sprio.insert(job.id, (pools.factor(tickets), Some(tickets)));
        }
        for (row, node) in users() {
            let next = Who { node: *node, extra: Extra::default(), size: 0.0, count: 1 };
            let factor = pools.factor(pools.of_next(&tree, &fair_share, next));
            shown.sshare.insert((row.user.clone(), row.account.clone()), factor);
        }
    } else {
        for job in pending.clone() {
            shown.sprio.insert(job.id, (fair_share.priority(nodes[job.of]), None));
        }
        for (row, node) in users() {
            shown.sshare.insert((row.user.clone(), row.account.clone()), fair_share.priority(*node));
        }
    }
    let startable = pending.filter(|job| job.state == State::Waits);
    shown.queue = startable
        .map(|job| {
            let row = &associations[job.of];
            (job.id, row.user.clone(), row.account.clone())
        })
        .collect();
    shown.queue.sort_by(|a, b| shown.sprio[&b.0].0.total_cmp(&shown.sprio[&a.0].0).then(a.0.cmp(&b.0)));
    shown
}

/// A block of the page, and the tables that follow it.
#[derive(Debug, Default)]
struct Example {
    heading: String,
    settings: String,
    situation: Situation,
    /// Line, and cells.
    rows: Vec<(usize, Vec<String>)>,
}

fn examples(page: &str) -> Vec<Example> {
    let (mut examples, mut heading): (Vec<Example>, String) = (Vec::new(), String::new());
    let mut lines = (1..).zip(page.lines()).peekable();
    while let Some((at, line)) = lines.next() {
        if let Some(text) = line.strip_prefix('#') {
            text.trim_matches(['#', ' ']).clone_into(&mut heading);
        } else if line == "    # multifactor2.conf" {
            let mut block = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.is_empty() || line.starts_with("    "))
            {
                block.push(line.get(4..).unwrap_or_default());
            }
            let middle = block.iter().position(|line| *line == "# situation").expect(&heading);
            let lines: Vec<&str> =
                block[middle + 1..].iter().filter(|line| !line.is_empty()).copied().collect();
            examples.push(Example {
                heading: heading.clone(),
                settings: block[..middle].join("\n"),
                situation: Situation::read(&lines),
                rows: Vec::new(),
            });
        } else if let Some(example) = examples.last_mut().filter(|example| example.heading == heading) {
            if let Some(row) = line.strip_prefix('|') {
                let cells = row.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned());
                example.rows.push((at, cells.collect()));
            }
        }
    }
    examples
}

/// What is shown in a column of that name.
fn column(example: &Example, name: &str) -> Shown {
    let (text, now) = match name.trim_matches('`') {
        "before" => (String::new(), TODAY),
        "after" => (example.settings.clone(), TODAY),
        name => match name.strip_prefix("on ") {
            Some(date) => (example.settings.clone(), noon(date)),
            None => (format!("{}\n{name}", example.settings), TODAY),
        },
    };
    let loaded =
        Settings::parse(&text, PAGE).unwrap_or_else(|errors| panic!("{}: {errors}", example.heading));
    show(&loaded.settings, now, &example.situation)
}

fn noon(date: &str) -> Date {
    let numbers: Vec<u16> = date.split('-').map(|part| part.parse().expect(date)).collect();
    let small = |at: usize| u8::try_from(numbers[at]).unwrap();
    Date { year: numbers[0], month: small(1), day: small(2), hour: 12, ..Date::default() }
}

/// A number with the decimals of what is printed.
fn as_printed(found: f64, printed: &str) -> String {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{found:.decimals$}")
}

/// The number that should be printed for one job or one user.
fn one(shown: &Shown, key: Key<'_>, printed: &str) -> String {
    let (factor, tickets) = match key {
        Key::Job(id) => shown.sprio[&id],
        Key::User(user, account) => (shown.sshare[&(user.to_owned(), account.to_owned())], None),
        Key::First(count, user, account) => {
            let best = shown.queue.iter().take(count);
            return best.filter(|(_, of, at)| of == user && at == account).count().to_string();
        }
    };
    let factor = as_printed(factor, printed.split(' ').next().unwrap());
    match tickets.filter(|_| printed.contains('(')) {
        None => factor,
        Some(JobTickets { overridden, functional, share_tree }) => {
            let [o, f, s] = [overridden, functional, share_tree].map(f64::trunc);
            format!("{factor} ({o}+{f}+{s})")
        }
    }
}

/// What a number of a table is of.
#[derive(Clone, Copy)]
enum Key<'r> {
    Job(u32),
    User(&'r str, &'r str),
    /// How many of so many jobs.
    First(usize, &'r str, &'r str),
}

/// What the cells of a row are of, and how many of them only name it.
fn keys<'r>(example: &Example, in_jobs: bool, row: &'r [String]) -> (Vec<Key<'r>>, usize) {
    let list = |at: usize| row[at].split(", ");
    // One name stands for all.
    let with = |names: usize, others: usize| {
        let last = list(others).last().unwrap();
        list(names).zip(list(others).chain(std::iter::repeat(last)))
    };
    if !in_jobs {
        return (with(0, 1).map(|(user, account)| Key::User(user, account)).collect(), 2);
    }
    if let Some(count) = row[0].strip_prefix("first ") {
        let count = count.parse().unwrap();
        return (with(1, 2).map(|(user, account)| Key::First(count, user, account)).collect(), 3);
    }
    let of_job = |(id, user): (&str, &str)| {
        let id = id.parse().expect(id);
        let job = example.situation.jobs.iter().find(|job| job.id == id).expect("a job of the block");
        let of = &example.situation.associations[job.of];
        assert_eq!((of.user.as_str(), &of.account), (user, &row[2]), "job {id}");
        Key::Job(id)
    };
    (with(0, 1).map(of_job).collect(), 3)
}

/// Compares all tables of an example, and says how many numbers there were.
fn compare(example: &Example, mistakes: &mut Vec<String>) -> usize {
    let (mut compared, mut columns, mut head) = (0, Vec::new(), Vec::new());
    for (line, row) in &example.rows {
        if ["job", "user"].contains(&row[0].as_str()) {
            head.clone_from(row);
            let names = if head[0] == "job" { 3 } else { 2 };
            columns = head[names..].iter().map(|name| column(example, name)).collect();
        } else if !row[0].starts_with('-') {
            assert_eq!(row.len(), head.len(), "{PAGE} line {line}");
            let (keys, names) = keys(example, head[0] == "job", row);
            for (shown, cell) in columns.iter().zip(&row[names..]) {
                let printed = cell.split(", ").chain(std::iter::repeat(cell.as_str()));
                let expected = keys.iter().zip(printed).map(|(key, printed)| one(shown, *key, printed));
                let expected = expected.collect::<Vec<_>>().join(", ");
                if *cell != expected {
                    mistakes.push(format!("{PAGE} line {line}: {expected}, not {cell}"));
                }
                compared += keys.len();
            }
        }
    }
    compared
}

#[test]
fn every_number_of_the_page() {
    let (mut mistakes, mut compared) = (Vec::new(), 0);
    for example in &examples(&project::read(PAGE)) {
        let numbers = compare(example, &mut mistakes);
        assert!(numbers >= 4, "{}: a block without a table", example.heading);
        compared += numbers;
    }
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
    assert!(compared >= 140, "{compared}");
}

/// Every complaint has a section, and the setting that the table gives for it is in the block there.
#[test]
fn every_complaint_has_an_example() {
    let page = project::read(PAGE);
    let examples = examples(&page);
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let mut complaints = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| [")) {
        let (_, link) = line.split_once("](#").expect(line);
        let (link, settings) = link.split_once(')').expect(line);
        let example = examples.iter().find(|example| anchor(&example.heading) == link).expect(line);
        for setting in settings.split('`').skip(1).step_by(2).filter(|setting| *setting != "cpu") {
            assert!(example.settings.contains(setting), "{line}");
        }
        complaints.push(&example.heading);
    }
    assert_eq!(complaints, examples.iter().map(|example| &example.heading).collect::<Vec<_>>());
}

/// What an administrator copies from the page is good, and nothing in it is odd.
#[test]
fn every_block_is_a_configuration() {
    for Example { heading, settings, .. } in examples(&project::read(PAGE)) {
        let loaded = Settings::parse(&settings, PAGE).unwrap_or_else(|errors| panic!("{heading}: {errors}"));
        assert!(loaded.warnings.is_empty(), "{heading}: {:?}", loaded.warnings);
    }
}

/// The page has the tables of Grid Engine: priorities and tickets of every job under both hierarchies.
#[test]
fn the_tables_of_grid_engine_are_on_the_page() {
    let page = project::read(PAGE);
    for (column, (_, table)) in seed_tables::TABLES.iter().enumerate() {
        for [job, priority, .., override_tickets, functional, share_tree, _] in table {
            let row = page.lines().find(|line| line.starts_with(&format!("| {job} |"))).expect(job);
            let cell = row.split('|').nth(4 + column).unwrap().trim();
            let printed = format!("{priority} ({override_tickets}+{functional}+{share_tree})");
            assert_eq!(cell, printed, "job {job}");
        }
    }
}

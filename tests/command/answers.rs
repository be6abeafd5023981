//! What is answered, case by case.

use multifactor2_command::answers::why::compare;
use multifactor2_command::answers::why::{self, ReasonKind, Why};
use multifactor2_command::answers::{queue, tree};
use multifactor2_command::input::assemble;
use multifactor2_command::input::commands::PRIORITIES;
use multifactor2_command::model::reasons;
use multifactor2_command::model::{Algorithm, Believe, Model, Options, Step};
use multifactor2_command::options::{AsJson, Printed};
use multifactor2_command::output::show::printout;
use multifactor2_command::output::Terminal;
use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::example::number;
use multifactor2_snapshot::records::{About, Group, Job, Usage};
use multifactor2_snapshot::Snapshot;

use crate::{recorded, site};

/// Of the example with job 1001, of user2, changed.
fn changed(change: impl Fn(&mut Job)) -> Snapshot {
    let mut snapshot = site::example();
    change(&mut snapshot.jobs[0]);
    snapshot
}

fn ask(snapshot: &Snapshot) -> Why {
    why::why(&Model::of(snapshot, Options::default()), "1001").unwrap()
}

/// A change of the job, the kind of reason that follows, and what is said.
type Case = (fn(&mut Job), ReasonKind, &'static str);

#[test]
fn the_dominant_reason_comes_first() {
    let why = ask(&site::example());
    assert_eq!(why.kind, ReasonKind::Behind);
    assert_eq!(
        why.sentence,
        "Job 1001 is 2nd of 2 in partition main; the one before it belongs to account f, whose account d is below its share \
         (LevelFS 2.4 against 0.888889 of account a)."
    );
    assert!(why.details[0].contains("FAIRSHARE: on average 7530.86 more"), "{:?}", why.details);
    let cases: [Case; 7] = [
        (
            |job| (job.priority, job.reason) = (0, "JobHeldUser".into()),
            ReasonKind::Held,
            "is held, so it has no place",
        ),
        (
            |job| (job.eligible, job.reason) = (0, "Dependency".into()),
            ReasonKind::NotEligible,
            "waits for other jobs",
        ),
        (
            |job| (job.eligible, job.reason) = (site::TIME + 60, "BeginTime".into()),
            ReasonKind::NotEligible,
            "may not start before",
        ),
        (
            |job| job.reason = "QOSMaxJobsPerUserLimit".into(),
            ReasonKind::Obstacle,
            "A higher priority does not help job",
        ),
        (|job| (job.direct, job.priority) = (true, 7), ReasonKind::SetByHand, "was set by hand and stays 7"),
        (
            |job| (job.priority, job.reason) = (20_000, "Resources".into()),
            ReasonKind::First,
            "is first of 2 in partition main",
        ),
        (|job| job.partition = "gpu".into(), ReasonKind::First, "is first of 1 in partition gpu"),
    ];
    for (change, kind, says) in cases {
        let why = ask(&changed(change));
        assert_eq!(why.kind, kind, "{}", why.sentence);
        assert!(why.sentence.contains(says), "{}", why.sentence);
        assert!(!why.next.is_empty(), "{says}: nothing to do");
    }
}

/// Slurm's reason is that of its last look: `Priority` of a job that has become the first would say that others are before it.
#[test]
fn a_job_that_is_first_is_not_said_to_be_behind_others() {
    let why = ask(&changed(|job| job.priority = 20_000));
    assert_eq!(why.kind, ReasonKind::First);
    assert!(why.sentence.ends_with("it starts as soon as there is room."), "{}", why.sentence);
}

/// The job of the other partition has the higher priority, and may want the same nodes.
#[test]
fn first_of_a_small_partition_is_not_looked_at_first() {
    let why = ask(&changed(|job| job.partition = "gpu".into()));
    assert_eq!((why.kind, why.places[0].rank, why.places[0].position), (ReasonKind::First, 1, 2));
    assert_eq!(why.places[0].elsewhere, 1);
    assert!(!why.sentence.contains("considers it first"), "{}", why.sentence);
    let says = "Ahead of it in the whole queue: 1 job of other partitions.";
    assert!(why.sentence.contains(says), "{}", why.sentence);
    assert_eq!(why.places[0].competing, None);
    let with_nodes = |main: &str, tier: u32| {
        let mut snapshot = changed(|job| job.partition = "gpu".into());
        for (partition, nodes) in snapshot.partitions.iter_mut().zip([main, "n[3-4]"]) {
            nodes.clone_into(&mut partition.nodes);
        }
        snapshot.partitions[0].tier = tier;
        let why = ask(&snapshot);
        (why.places[0].competing, why.sentence)
    };
    let (competing, sentence) = with_nodes("n[1-3]", 1);
    assert_eq!(competing, Some(1));
    let says =
        "1 job of other partitions stands before it for nodes that it may use: 1 in main, which has 1 of these 2.";
    assert!(sentence.ends_with(says), "{sentence}");
    let (_, sentence) = with_nodes("n[1-4]", 7);
    assert!(sentence.ends_with("1 in main, which has all of them, by a higher PriorityTier."), "{sentence}");
    // They share none: nobody is before it where it may start.
    let (competing, sentence) = with_nodes("n[1-2]", 1);
    assert_eq!(competing, Some(0));
    assert!(sentence.contains("considers it first"), "{sentence}");
}

/// It was "first of 1 in partition gpu", at place 9 of those who compete for the same nodes: counted again by hand in what Slurm said.
#[test]
fn who_stands_before_it_for_the_same_nodes_is_counted() {
    for release in recorded::RELEASES {
        let snapshot = recorded::snapshot(release, "multifactor2-root");
        let model = Model::of(&snapshot, Options::default());
        let queue = model.queue().unwrap();
        let nodes = |name: &str| match name {
            "main" | "gpu" => ["n1", "n2"].as_slice(),
            "held" => &["n1"],
            "secret" => &["n2"],
            other => panic!("{other}"),
        };
        for (at, slot) in queue.slots.iter().enumerate() {
            let own = model.partition_of(slot);
            let shares = |other: &str| nodes(other).iter().any(|node| nodes(own).contains(node));
            let before = |wanted: &dyn Fn(&str) -> bool| -> std::collections::BTreeSet<usize> {
                let found = queue.slots[..at].iter().filter(|other| wanted(model.partition_of(other)));
                found.map(|other| other.job).filter(|job| *job != slot.job).collect()
            };
            let in_own = before(&|partition| partition == own);
            let elsewhere = before(&|partition| partition != own && shares(partition));
            let expected = elsewhere.difference(&in_own).count();
            let why = why::of_job(&model, &model.queue(), slot.job);
            let place = why.places.iter().find(|place| place.position == at + 1).unwrap();
            assert_eq!(place.competing, Some(expected), "{release}: {place:?}");
            let is_first = why.sentence.contains("considers it first");
            assert!(
                !is_first || why.places.iter().any(|place| place.rank == 1 && place.competing == Some(0))
            );
        }
    }
}

#[test]
fn the_sum_the_way_and_the_levers_of_the_example() {
    let why = ask(&site::example());
    let sum: f64 = why.terms.iter().map(|term| term.product).sum();
    assert_near(sum.floor(), f64::from(why.priority), "sum");
    assert_near(why.terms.iter().map(|term| term.part).sum(), 1.0, "parts");
    let fair_share = why.terms.iter().find(|term| term.name == "FAIRSHARE").unwrap();
    assert_eq!(fair_share.numbers, "198.02 / 801.98");
    assert_near(fair_share.factor.unwrap(), why.fair_share.unwrap(), "factor");
    let way: Vec<&str> = why.path.iter().map(|level| level.account.as_str()).collect();
    assert_eq!(way, ["root", "a", "c", "c"]);
    assert_eq!((why.path[1].competing, why.path[1].competitors[0].account.as_str()), (Some(2), "d"));
    assert_eq!((why.path[2].shares, why.path[2].level_shares), (Some(10), Some(40)));
    // Without usage of user2: A has S * F of 0.4 * 0.4 / 0.2, against 1.44 of D, and the root has 0.75 of the usage.
    let (a, d): (f64, f64) = (0.4 * 0.4 / (0.2 / 0.75), 0.6 * 0.6 / (0.25 / 0.75));
    assert_near(why.cost_of_own_usage.unwrap(), a / d - why.fair_share.unwrap(), "cost");
    assert!(why.levers.windows(2).all(|pair| pair[0].gain >= pair[1].gain) && why.levers.len() == 3);
}

/// sprio has a row for each partition, with a SITE of its own, in which points are; it was that of the job in all of them.
#[test]
fn each_partition_has_its_own_site() {
    for release in recorded::RELEASES {
        let mut texts = recorded::texts(release, "multifactor2-root");
        let sums = texts.text(PRIORITIES).to_owned();
        // A job in two partitions: in `held` it has 5000 more.
        let id = |row: &str| row.split('|').next().unwrap().parse::<u32>().unwrap();
        let several = |row: &&str| sums.lines().filter(|other| id(other) == id(row)).count() > 1;
        let row = sums.lines().filter(several).find(|row| row.ends_with("|held")).unwrap();
        let mut cells: Vec<String> = row.split('|').map(str::to_owned).collect();
        let more = |cell: &str| (cell.parse::<i64>().unwrap() + 5000).to_string();
        (cells[1], cells[3]) = (more(&cells[1]), more(&cells[3]));
        texts.texts.insert(PRIORITIES.to_owned(), sums.replace(row, &cells.join("|")));
        let snapshot = assemble(&texts, None).unwrap();
        let place = snapshot.jobs.iter().position(|job| job.id == id(row)).unwrap();
        let model = Model::of(&snapshot, Options::default());
        let site = |partition: &str| {
            let entry = model.jobs[place].entries.iter().find(|entry| entry.partition == partition).unwrap();
            let shown = entry.shown.unwrap();
            assert!((f64::from(entry.priority) - shown.sum()).abs() < 1.0, "{release}: {entry:?}");
            (shown.site, entry.computed.map(|(computed, _)| computed.site))
        };
        let ((of_held, computed_held), (of_gpu, computed_gpu)) = (site("held"), site("gpu"));
        assert_near(of_held - of_gpu, 5000.0, release);
        if let (Some(held), Some(gpu)) = (computed_held, computed_gpu) {
            assert_near(held - gpu, 5000.0, release);
        }
        assert_eq!(why::of_job(&model, &model.queue(), place).lacks, None, "{release}");
    }
}

/// sprio leaves out jobs whose time has not come: what their priority is made of is not known in full, and was said to be.
#[test]
fn a_sum_that_is_not_the_priority_says_what_it_lacks() {
    let mut snapshot = site::example();
    let of = |snapshot: &Snapshot| {
        let model = Model::of(snapshot, Options::default());
        let why = why::of_job(&model, &model.queue(), 0);
        let text = printout(&model, why.clone(), AsJson::default(), &Printed::default(), Terminal::PLAIN);
        (why, text.unwrap().out)
    };
    let (whole, text) = of(&snapshot);
    assert!(
        whole.lacks.is_none() && text.contains(&format!("The priority {} is the sum of", whole.priority))
    );
    snapshot.jobs[0].priority += 700;
    let (moved, text) = of(&snapshot);
    let lacks = moved.lacks.unwrap();
    assert!((lacks.amount - 700.0).abs() < 1.0, "{lacks:?}");
    assert!(text.contains("not known: The addends that Slurm shows do not add up to this number"), "{text}");
    assert!(text.contains(&format!("What is known of the priority {}", moved.priority)), "{text}");
    snapshot.jobs[0].is_computed = false;
    let (unshown, text) = of(&snapshot);
    assert!(
        unshown.lacks.unwrap().sentence.starts_with("sprio leaves out jobs whose begin time has not come"),
        "{text}"
    );
    snapshot.parameters.insert("PriorityFlags".to_owned(), "INCR_ONLY".to_owned());
    snapshot.jobs[0].is_computed = true;
    assert!(of(&snapshot).0.lacks.unwrap().sentence.contains("INCR_ONLY"));
}

/// It was "tickets 10000 / 0".
#[test]
fn nothing_is_divided_by_the_tickets_of_nobody() {
    let mut snapshot = site::example();
    for job in &mut snapshot.jobs {
        (job.eligible, job.competes) = (0, false);
    }
    let fair_share = ask(&snapshot).terms.into_iter().find(|term| term.name == "FAIRSHARE").unwrap();
    assert_eq!(fair_share.numbers, "nobody competes now");
}

#[test]
fn nice_is_a_lever() {
    let mut snapshot = changed(|job| job.nice = 3000);
    site::show(&mut snapshot);
    let why = ask(&snapshot);
    let lever = why.levers.iter().find(|lever| lever.what.contains("nice")).unwrap();
    assert_near(lever.gain, 3000.0, "gain");
}

#[test]
fn of_two_jobs_the_first_step_that_decides_is_told() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, Options::default());
    for (a, b) in [("1001", "1002"), ("1002", "1001")] {
        let answer = compare::compare(&model, a, b).unwrap();
        assert_eq!((answer.first.as_str(), answer.step), ("1002", Some(Step::Priority)));
        let parting = answer.parting.unwrap();
        assert_eq!(
            (parting.above.as_str(), parting.first.account.as_str(), parting.second.account.as_str()),
            ("root", "d", "a")
        );
    }
    let held = changed(|job| job.priority = 0);
    let answer = compare::compare(&Model::of(&held, Options::default()), "1001", "1002").unwrap();
    assert_eq!((answer.first.as_str(), answer.step), ("1002", None));
}

#[test]
fn the_queue_says_whose_jobs_are_before() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, Options::default());
    let filter = queue::Filter { users: vec!["user2".to_owned()], ..queue::Filter::default() };
    let answer = queue::queue(&model, &filter).unwrap();
    assert_eq!(
        (answer.places, answer.rows.len(), answer.rows[0].position, answer.rows[0].rank),
        (2, 1, Some(2), Some(2))
    );
    assert_eq!((answer.ahead[0].account.as_str(), answer.ahead[0].jobs), ("f", 1));
    let held = changed(|job| job.priority = 0);
    let answer = queue::queue(&Model::of(&held, Options::default()), &queue::Filter::default()).unwrap();
    assert_eq!((answer.rows.len(), answer.outside.len()), (1, 1));
}

#[test]
fn a_part_of_the_tree_has_what_is_above_and_below_it() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, Options::default());
    let names = |users: &[&str], accounts: &[&str]| {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let answer = tree::tree(&model, &tree::Filter { users: own(users), accounts: own(accounts) });
        answer.rows.into_iter().map(|row| row.account + &row.user).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&["user4"], &[]), "root d e euser4");
    assert_eq!(names(&[], &["a"]), "root a b buser1 c cuser2 cuser3");
    assert_eq!(names(&["user2"], &["c"]), "root a c cuser2");
    assert_eq!(names(&["user2"], &["b"]), "");
    let rows = tree::tree(&model, &tree::Filter::default()).rows;
    assert_eq!((rows.len(), rows[0].waiting, rows[1].waiting), (13, 2, 1));
}

#[test]
fn where_slurm_shows_something_else_it_is_said_and_which_to_believe() {
    let mut snapshot = site::example();
    snapshot.parameters.insert("PriorityWeightAge".to_owned(), "2000".to_owned());
    let model = Model::of(&snapshot, Options::default());
    let differences = model.differences(0);
    assert_eq!(differences.len(), 1);
    let age = &differences[0];
    assert_eq!((age.what.as_str(), age.shown, age.computed), ("AGE", 100.0, 200.0));
    assert_eq!(age.believe, Believe::ComputedFromNextCycle);
    assert_eq!(model.jobs[0].priority, 3569, "the queue goes by what Slurm has");
    snapshot.parameters.insert("PriorityWeightAge".to_owned(), "1000".to_owned());
    snapshot.parameters.insert("PriorityFlags".to_owned(), "INCR_ONLY".to_owned());
    snapshot.jobs[0].priority = 9000;
    let kept = Model::of(&snapshot, Options::default()).differences(0);
    assert_eq!((kept[0].what.as_str(), kept[0].believe), ("PRIORITY", Believe::Shown));
}

#[test]
fn what_cannot_be_known_is_said_and_slurms_number_taken() {
    let mut snapshot = site::example();
    snapshot.settings = None;
    let mut hidden = site::example();
    hidden.associations.retain(|association| association.user == "user2");
    let mut partial = site::example();
    (partial.about.partial_tree, partial.about.partial_queue) = (true, true);
    for (snapshot, says) in
        [(&snapshot, Some("--conf")), (&hidden, Some("operator")), (&partial, Some("operator"))]
    {
        let model = Model::of(snapshot, Options::default());
        assert_eq!(
            says.map(|says| model.notes.iter().any(|note| note.contains(says))),
            says.map(|_| true),
            "{:?}",
            model.notes
        );
        assert!(model.jobs[0].factor.is_none());
        assert_near(model.jobs[0].computed.unwrap().0.fair_share, snapshot.jobs[0].fair_share, "FAIRSHARE");
        let why = ask(snapshot);
        if snapshot.about.partial_queue {
            assert_eq!((why.kind, why.places.len()), (ReasonKind::Waits, 0));
            assert!(why.unknown.is_some());
        } else {
            assert_eq!((why.unknown, why.places[0].rank), (None, 2));
        }
    }
}

/// Of the five users of the example Fair Tree ranks user5 first and user2 last: D is before A, F before E, B before C, and user3 of C
/// has used nothing.
#[test]
fn under_stock_the_numbers_are_those_of_its_algorithm() {
    let mut snapshot = site::example();
    snapshot.about.priority_type = "priority/multifactor".to_owned();
    snapshot.settings = None;
    let anew = Options { recompute: true, ..Options::default() };
    let model = Model::of(&snapshot, anew);
    assert_eq!((model.config.algorithm, model.notes.len()), (Algorithm::FairTree, 0));
    for (user, factor) in [("user5", 1.0), ("user4", 0.8), ("user1", 0.6), ("user3", 0.4), ("user2", 0.2)] {
        assert_near(model.standings[number(user)].factor.unwrap(), factor, user);
    }
    assert_near(model.standings[number("D")].level_fs.unwrap(), 2.4, "LevelFS of D");
    assert!(model.standings[number("A")].active && !model.standings[number("E")].active);
    assert_eq!([0, 1].map(|job| model.jobs[job].priority), [2000 + 1100, 10_000 + 1100]);
    snapshot.parameters.insert("PriorityFlags".to_owned(), "NO_FAIR_TREE".to_owned());
    let model = Model::of(&snapshot, anew);
    assert_eq!(model.config.algorithm, Algorithm::Classic);
    let factor = |user| model.standings[number(user)].factor.unwrap();
    assert!(factor("user5") > factor("user4") && factor("user1") > factor("user2") && factor("user2") > 0.0);
}

#[test]
fn jobs_in_several_partitions_have_a_place_in_each() {
    let mut snapshot = changed(|job| job.partitions = vec!["main".to_owned(), "gpu".to_owned()]);
    site::show(&mut snapshot);
    let why = ask(&snapshot);
    let places: Vec<(&str, u32, usize)> =
        why.places.iter().map(|place| (place.partition.as_str(), place.priority, place.rank)).collect();
    assert_eq!(places, [("main", 3569, 2), ("gpu", 3069, 1)]);
}

#[test]
fn pools_and_points_count_as_the_plugin_gives_them() {
    let mut snapshot = site::example();
    let user5 = snapshot.associations.iter().find(|association| association.user == "user5").unwrap().clone();
    for id in 1003..1006 {
        snapshot.jobs.push(site::job(id, &user5));
    }
    site::set(&mut snapshot, "Dilution=user");
    site::set(&mut snapshot, "Component=RES Proc=5");
    site::show(&mut snapshot);
    let model = Model::of(&snapshot, Options::default());
    let of_user5: Vec<f64> =
        [1002, 1003, 1004, 1005].map(|id| model.jobs[model.job(id).unwrap()].factor.unwrap()).to_vec();
    for (factor, expected) in of_user5.iter().zip([1.0, 0.5, 1.0 / 3.0, 0.25]) {
        assert_near(*factor, expected, "each job behind others of its user has a part");
    }
    assert_near(model.jobs[0].computed.unwrap().0.site, 5.0, "one processor");
    assert_eq!(model.jobs[0].points.unwrap().total, 5);
}

/// A line names a Unix group, and jobs have its number: the plugin's snapshot says which it is.
#[test]
fn targets_of_a_group_find_it_by_its_name() {
    let mut snapshot = site::example();
    snapshot.groups.push(Group { name: "laser".to_owned(), id: 500 });
    (snapshot.jobs[0].group, snapshot.jobs[1].group) = (Some(500), Some(501));
    for (of, key, amount) in [("group", "500", 300.0), ("group", "501", 900.0), ("all", "", 1000.0)] {
        let (model, of, key) = ("halflife".to_owned(), of.to_owned(), key.to_owned());
        snapshot.usage.push(Usage { model, of, key, amount });
    }
    site::set(&mut snapshot, "Component=FS Weight=100 FSGroup=10");
    site::set(&mut snapshot, "Component=CRED Group=1");
    site::set(&mut snapshot, "Target=Group Name=laser Percent=50");
    site::set(&mut snapshot, "Credential=Group Name=laser Priority=777");
    let points = |snapshot: &Snapshot| {
        let model = Model::of(snapshot, Options { recompute: true, ..Options::default() });
        let of_job = |job: usize| model.jobs[job].points.map(|points| (points.fs, points.cred, points.total));
        (of_job(0), of_job(1))
    };
    // 30 percent of all usage is 20 below the target.
    assert_eq!(points(&snapshot), (Some((20_000.0, 777.0, 20_777)), Some((0.0, 0.0, 0))));
    snapshot.groups[0].id = 501;
    assert_eq!(points(&snapshot), (Some((0.0, 0.0, 0)), Some((-40_000.0, 777.0, -39_223))));
    // Slurm's commands do not tell the numbers of groups. That is said, and nothing guessed.
    let commands = Snapshot { groups: Vec::new(), usage: Vec::new(), ..snapshot };
    let about = About { source: "commands".to_owned(), ..commands.about.clone() };
    let commands = Snapshot { about, ..commands };
    let model = Model::of(&commands, Options::default());
    assert!(model.jobs.iter().all(|job| job.points.is_none()));
    assert!(model.notes.iter().any(|note| note.contains("snapshot of the plugin")), "{:?}", model.notes);
}

#[test]
fn every_reason_of_slurm_has_a_sentence_and_a_remedy() {
    let words = include_str!("reasons.txt");
    assert!(words.lines().count() > 200);
    for word in words.lines() {
        let reason = reasons::explain(word);
        assert!(!reason.sentence.contains("not known here"), "{word}");
        assert!(reason.sentence.ends_with('.') && reason.remedy.ends_with(['.', '\'']), "{word}: {reason:?}");
    }
    let limit = reasons::explain("QOSMaxGRESPerUser");
    assert!(
        limit.is_obstacle && limit.sentence.contains("generic resources such as GPUs for one user's jobs"),
        "{}",
        limit.sentence
    );
    let minutes = reasons::explain("AssocGrpCPURunMinutesLimit").sentence;
    assert!(
        minutes.contains("the product of CPUs and the minutes that running jobs may still take"),
        "{minutes}"
    );
}

/// The factor of Fair Tree is a rank: sshare shows the quotient only.
#[test]
fn fair_tree_says_rank_and_number() {
    for release in recorded::RELEASES {
        let snapshot = recorded::snapshot(release, "fair-tree-root");
        let users = snapshot.associations.iter().filter(|row| !row.user.is_empty()).count();
        let model = Model::of(&snapshot, Options::default());
        let queue = model.queue();
        for job in 0..snapshot.jobs.len() {
            let why = why::of_job(&model, &queue, job);
            let Some(term) = why.terms.iter().find(|term| term.name == "FAIRSHARE") else { continue };
            let (rank, of) = term.numbers.split_once(" / ").unwrap_or_else(|| panic!("{release}: {term:?}"));
            let (rank, of): (f64, f64) = (rank.parse().unwrap(), of.parse().unwrap());
            assert!((term.factor.unwrap() - rank / of).abs() < 1e-4, "{release}: {term:?}");
            assert_eq!(of.to_string(), users.to_string(), "{release}");
        }
    }
}

/// A group stands for its columns; what adds up, adds up; what is not known is empty in CSV.
#[test]
fn columns_of_the_queue_come_in_groups() {
    for release in recorded::RELEASES {
        let snapshot = recorded::snapshot(release, "multifactor2-root");
        let model = Model::of(&snapshot, Options::default());
        let shown = |format: &str, csv: bool| {
            let answer = queue::queue(&model, &queue::Filter::default()).unwrap();
            let format = format.split(',').map(str::to_owned).collect();
            let printed = Printed { format, csv, parsable2: !csv, ..Printed::default() };
            printout(&model, answer, AsJson::default(), &printed, Terminal::PLAIN)
        };
        let text = shown("priority,addends", false).unwrap().out;
        let mut lines = text.lines();
        let header = lines.next().unwrap();
        assert!(header.starts_with("Priority|AgeAddend|AssocAddend|FairShareAddend|"), "{release}: {header}");
        let mut sums = 0;
        for line in lines {
            let cells: Vec<&str> = line.split('|').collect();
            let Ok(addends) =
                cells[1..].iter().map(|cell| cell.parse::<f64>()).collect::<Result<Vec<_>, _>>()
            else {
                assert!(cells[1..].iter().all(|cell| *cell == "-"), "{release}: {line}");
                continue;
            };
            let (priority, sum): (f64, f64) = (cells[0].parse().unwrap(), addends.iter().sum());
            // sprio rounds what TRES add.
            assert!((priority - sum).abs() < 2.0, "{release}: {line}: {sum}");
            sums += 1;
        }
        assert!(sums > 10, "{release}: {text}");
        let csv = shown("job,points,tickets", true).unwrap().out;
        assert!(csv.starts_with("Job,Points,CREDPoints,"), "{csv}");
        assert!(csv.lines().skip(1).all(|line| !line.contains(",-")), "{csv}");
        let refused = shown("addend", false).unwrap_err().to_string();
        assert!(refused.contains("there is no column addend") && refused.contains("AgeAddend"), "{refused}");
    }
}

/// Tickets are those that sprio's FAIRSHARE goes by, points those that its SITE has.
#[test]
fn tickets_of_the_queue_are_those_of_the_tree() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, Options::default());
    let answer = queue::queue(&model, &queue::Filter::default()).unwrap();
    for row in &answer.rows {
        let tickets = row.tickets.unwrap_or_else(|| panic!("{row:?}"));
        let most =
            answer.rows.iter().filter_map(|row| row.tickets).map(|tickets| tickets.total).fold(0.0, f64::max);
        assert!((tickets.total / most - row.fair_share.unwrap()).abs() < 1e-9, "{row:?}");
        assert_eq!((tickets.overridden, row.points), (None, None));
    }
}

/// The example, with points for whom it has.
fn with_points() -> multifactor2_snapshot::Snapshot {
    let mut snapshot = site::example();
    for line in ["Component=CRED User=1", "Component=RES Proc=2", "Credential=User Name=* Priority=70"] {
        site::set(&mut snapshot, line);
    }
    snapshot
}

/// What the rows say is added up: each job once, tickets of a user's association once.
#[test]
fn sums_of_the_queue_are_those_of_its_rows() {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    let mut have_points = 0;
    let snapshots = recorded::RELEASES.map(|release| recorded::snapshot(release, "multifactor2-root"));
    for snapshot in snapshots.into_iter().chain([site::example(), with_points()]) {
        let model = Model::of(&snapshot, Options::default());
        let answer = queue::queue(&model, &queue::Filter::default()).unwrap();
        let mut first = std::collections::BTreeMap::new();
        for row in &answer.rows {
            first.entry(row.id).or_insert(row);
        }
        let mut whole = Some(0.0);
        for user in &answer.users {
            let own: Vec<_> = first.values().filter(|row| row.user == user.user).collect();
            assert_eq!(user.jobs, own.len(), "{}", user.user);
            let association =
                |id: u32| snapshot.jobs.iter().find(|job| job.id == id).map(|job| job.association);
            let by_association: std::collections::BTreeMap<Option<u32>, Option<f64>> = own
                .iter()
                .map(|row| (association(row.id), row.tickets.map(|tickets| tickets.total)))
                .collect();
            let due: Option<f64> = by_association.values().copied().sum();
            assert_eq!(user.tickets.is_some(), due.is_some(), "{user:?}");
            assert!(due.is_none_or(|due| near(user.tickets.unwrap(), due)), "{user:?}, not {due:?}");
            whole = whole.zip(user.tickets).map(|(sum, tickets)| sum + tickets);
            let points: Option<Vec<_>> = own.iter().map(|row| row.points).collect();
            assert_eq!(user.points.is_some(), points.is_some(), "{user:?}");
            if let (Some(sum), Some(points)) = (user.points, points) {
                have_points += usize::from(sum.total != 0);
                assert_eq!(sum.total, points.iter().map(|of| of.total).sum::<i64>());
                for (found, due) in [
                    (sum.cred, points.iter().map(|of| of.cred).sum::<f64>()),
                    (sum.fs, points.iter().map(|of| of.fs).sum()),
                    (sum.serv, points.iter().map(|of| of.serv).sum()),
                    (sum.res, points.iter().map(|of| of.res).sum()),
                ] {
                    assert!(near(found, due), "{user:?}: {found}, not {due}");
                }
            }
        }
        let parts: Option<f64> = answer.users.iter().map(|user| user.tickets_part).sum();
        assert_eq!(parts.is_some(), whole.is_some_and(|whole| whole > 0.0) && answer.unknown.is_none());
        assert!(parts.is_none_or(|parts| near(parts, 1.0)), "{parts:?}");
    }
    assert!(have_points > 1, "{have_points}");
}

/// Under classic the factor follows from effective usage, which sshare shows; elsewhere nothing does.
#[test]
fn effective_usage_is_on_the_way_where_it_counts() {
    for release in recorded::RELEASES {
        for (case, is_there) in
            [("classic-root", true), ("fair-tree-root", false), ("multifactor2-root", false)]
        {
            let snapshot = recorded::snapshot(release, case);
            let model = Model::of(&snapshot, Options::default());
            let job = snapshot.jobs.iter().position(|job| job.user == "ada").unwrap();
            let why = why::of_job(&model, &model.queue(), job);
            let effective = why.path.last().unwrap().usage_effective;
            let shown =
                printout(&model, why, AsJson::default(), &Printed::default(), Terminal::PLAIN).unwrap().out;
            assert_eq!(shown.contains("EffectvUsage"), is_there, "{release} {case}: {shown}");
            let is_shown = shown.contains(&multifactor2_command::output::numbers::number(effective));
            assert!(!is_there || is_shown, "{release}: {effective} is not in {shown}");
        }
    }
}

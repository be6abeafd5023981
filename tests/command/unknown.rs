//! Nothing is said of places where the queue is not known as a whole: who hides it, who did not ask, who did not answer.

use std::sync::Mutex;

use multifactor2_command::answers::queue::{self, QueueAnswer};
use multifactor2_command::answers::why::compare::compare;
use multifactor2_command::answers::why::{self, ReasonKind, Why};
use multifactor2_command::answers::{what_if, Answer};
use multifactor2_command::input::ask::{ask_with, CommandAnswer, Question};
use multifactor2_command::input::commands::{CONFIG, PARTITIONS, PRIORITIES, QOS, QUEUE};
use multifactor2_command::input::{assemble, texts::Texts};
use multifactor2_command::model::order::UnknownKind;
use multifactor2_command::model::{Model, Options};
use multifactor2_command::options::{AsJson, Printed};
use multifactor2_command::output::{show::printout, Terminal};
use multifactor2_snapshot::Snapshot;

use crate::recorded;

/// What speaks of a place, in any answer.
const OF_PLACES: [&str; 10] = [
    " first of ",
    "1st of",
    "2nd of",
    "3rd of",
    "th of",
    "considers it first",
    "before it",
    " in the partition",
    "would have position",
    "place of the queue",
];

fn shown<A: Answer + multifactor2_command::output::show::Show>(model: &Model<'_>, answer: A) -> String {
    printout(model, answer, AsJson::default(), &Printed::default(), Terminal::PLAIN).unwrap().out
}

/// Asks what has places, of all jobs, and returns what it is that is not known.
fn assert_no_place(snapshot: &Snapshot, what: &str) -> UnknownKind {
    let model = Model::of(snapshot, Options::default());
    let partial = model.queue().expect_err(what);
    let all: QueueAnswer = queue::queue(&model, &queue::Filter::default()).unwrap();
    assert!(all.rows.iter().all(|row| row.position.is_none() && row.rank.is_none()), "{what}");
    assert!(all.ahead.is_empty() && all.unknown.as_ref() == Some(&partial.why), "{what}");
    let mut texts = vec![shown(&model, all)];
    let changes = what_if::Changes::default();
    let what_if = what_if::of_model(&model, &changes).unwrap();
    assert!(what_if.moved.is_none() && what_if.tau.is_none() && what_if.unknown.is_some(), "{what}");
    assert!(what_if.rows.iter().all(|row| row.position_before.is_none() && row.position_after.is_none()));
    for job in 0..snapshot.jobs.len() {
        let why: Why = why::of_job(&model, &model.queue(), job);
        assert!(why.places.is_empty() && why.levers.iter().all(|lever| lever.rank.is_none()), "{what}");
        assert!(!matches!(why.kind, ReasonKind::First | ReasonKind::Behind), "{what}: {why:?}");
        let is_in = model.jobs[job].is_eligible;
        assert_eq!(why.unknown.is_some(), is_in, "{what}: {why:?}");
        assert!(!is_in || !why.sentence.contains("is not in the queue"), "{what}: {}", why.sentence);
        assert!(why.kind != ReasonKind::Waits || !why.next.is_empty(), "{what}: nothing to do");
        texts.push(shown(&model, why));
    }
    for text in texts {
        for words in OF_PLACES {
            assert!(!text.contains(words), "{what} says \"{words}\": {text}");
        }
    }
    partial.why.kind
}

fn without(texts: &Texts, name: &str) -> Snapshot {
    let mut texts = texts.clone();
    texts.texts.remove(name);
    texts.manifest.failed.insert(name.to_owned(), "it took too long".to_owned());
    assemble(&texts, None).unwrap()
}

#[test]
fn who_sees_a_part_of_the_queue_is_told_no_place() {
    for release in recorded::RELEASES {
        assert!(Model::of(&recorded::snapshot(release, "multifactor2-root"), Options::default())
            .queue()
            .is_ok());
        for case in ["jobs-ada", "all-ada", "all-nemo"] {
            let snapshot = recorded::snapshot(release, case);
            assert_eq!(assert_no_place(&snapshot, &format!("{release} {case}")), UnknownKind::Hidden);
        }
        // An operator sees everything.
        let operator = recorded::snapshot(release, "all-olga");
        assert!(Model::of(&operator, Options::default()).queue().is_ok(), "{release}");
    }
}

#[test]
fn a_command_that_did_not_answer_leaves_no_place() {
    for release in recorded::RELEASES {
        let texts = recorded::texts(release, "multifactor2-root");
        for name in [QUEUE, PRIORITIES, PARTITIONS] {
            let what = format!("{release} without {name}");
            assert_eq!(assert_no_place(&without(&texts, name), &what), UnknownKind::NotAnswered, "{what}");
        }
    }
}

/// Once every tier was 1 then.
#[test]
fn partitions_that_are_hidden_have_no_tier() {
    let mut snapshot = recorded::snapshot("24.11.5", "multifactor2-root");
    snapshot.parameters.insert("PrivateData".to_owned(), "partitions".to_owned());
    let waits = |partition: &str| {
        let is_there = |job: &&multifactor2_snapshot::records::Job| {
            job.partition == partition && job.partitions.is_empty() && job.priority > 0
        };
        let model = Model::of(&snapshot, Options::default());
        let place = snapshot.jobs.iter().position(|job| is_there(&job));
        place.filter(|place| model.jobs[*place].is_eligible).map(|place| snapshot.jobs[place].id.to_string())
    };
    let named: Vec<String> =
        snapshot.partitions.iter().filter_map(|partition| waits(&partition.name)).collect();
    let [first, second, ..] = &named[..] else { panic!("jobs of two partitions: {named:?}") };
    assert!(compare(&Model::of(&snapshot, Options::default()), first, second).is_ok());
    snapshot.partitions.clear();
    assert_eq!(assert_no_place(&snapshot, "no partitions"), UnknownKind::Hidden);
    let refused = compare(&Model::of(&snapshot, Options::default()), first, second).unwrap_err().to_string();
    assert!(refused.contains("comes first is not known: PrivateData=partitions"), "{refused}");
}

#[test]
fn preemption_by_qos_is_asked_for_or_there_is_no_place() {
    let texts = recorded::texts("24.11.5", "multifactor2-root");
    let config = texts.text(CONFIG).to_owned();
    let line = config.lines().find(|line| line.starts_with("PreemptType ")).unwrap();
    let by_qos = config.replace(line, "PreemptType             = preempt/qos");
    for (config, asked) in [(&config, false), (&by_qos, true)] {
        let names = Mutex::new(Vec::new());
        let run = |call: &multifactor2_command::input::commands::Call| {
            names.lock().unwrap().push(call.name);
            let text = if call.name == CONFIG { config.clone() } else { String::new() };
            Ok(CommandAnswer { is_good: true, text, said: String::new() })
        };
        ask_with(&Question::default(), 0, "mark", &run).unwrap();
        let names = names.into_inner().unwrap();
        assert_eq!(names.contains(&QOS), asked, "{names:?}");
    }
    let mut texts = texts;
    texts.texts.insert(CONFIG.to_owned(), by_qos);
    // What an earlier version has saved does not say it.
    assert_eq!(assert_no_place(&assemble(&texts, None).unwrap(), "an old answer"), UnknownKind::NotAnswered);
    // Bug: the column was not asked for, so each QOS was taken to preempt none, and places were told all the same.
    let old = texts.text(QOS).to_owned();
    let column = |line: &str| match line.rsplit_once('|').unwrap() {
        (rest, "Name") => format!("{rest}|Preempt|Name\n"),
        (rest, "high") => format!("{rest}|normal,low|high\n"),
        (rest, name) => format!("{rest}||{name}\n"),
    };
    texts.texts.insert(QOS.to_owned(), old.lines().map(column).collect());
    let snapshot = assemble(&texts, None).unwrap();
    let high = snapshot.qos.iter().find(|qos| qos.name == "high").unwrap();
    assert_eq!(high.preempt, ["normal", "low"]);
    let model = Model::of(&snapshot, Options::default());
    let queue = model.queue().unwrap_or_else(|partial| panic!("{:?}", partial.why));
    let first_others = queue.slots.iter().position(|slot| model.job_of(slot).qos != "high").unwrap();
    assert!(queue.slots[first_others..].iter().all(|slot| model.job_of(slot).qos != "high"));
    let unanswered = without(&texts, QOS);
    assert_eq!(assert_no_place(&unanswered, "without QOS"), UnknownKind::NotAnswered);
    // The plugin cannot say.
    let mut of_plugin = unanswered;
    "plugin".clone_into(&mut of_plugin.about.source);
    assert_eq!(assert_no_place(&of_plugin, "of the plugin"), UnknownKind::NotAsked);
}

/// Bug: raw shares stood as parts of a level of which others are hidden.
#[test]
fn shares_of_a_level_are_summed_where_all_of_it_is_seen() {
    for release in recorded::RELEASES {
        let level_shares = |case: &str| {
            let snapshot = recorded::snapshot(release, case);
            let model = Model::of(&snapshot, Options::default());
            let job = (0..snapshot.jobs.len()).find(|job| snapshot.jobs[*job].user == "ada").unwrap();
            let why = multifactor2_command::answers::why::of_job(&model, &model.queue(), job);
            why.path.last().unwrap().level_shares
        };
        assert!(level_shares("multifactor2-root").is_some(), "{release}");
        assert_eq!(level_shares("usage-ada"), None, "{release}");
    }
}

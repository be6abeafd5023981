//! What-if: changes by hand, what nothing changes, and what cannot be known.

use clap::Parser;
use multifactor2_command::answers::what_if::{self, apply, Changes, WhatIf};
use multifactor2_command::model::{Algorithm, Model, Options};
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::Job;
use multifactor2_snapshot::Snapshot;
use proptest::prelude::*;

use crate::outputs::{answered, Sample};
use crate::site;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct AskedChanges {
    #[command(flatten)]
    changes: Changes,
}

/// Changes as they are written on the command line.
fn changes(words: &[&str]) -> Changes {
    AskedChanges::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}")).changes
}

fn ask(snapshot: &Snapshot, words: &[&str]) -> Result<WhatIf, String> {
    what_if::what_if(snapshot, None, &changes(words)).map_err(|error| error.to_string())
}

fn changed(snapshot: &Snapshot, words: &[&str]) -> Snapshot {
    let model = Model::of(snapshot, Options { recompute: true, ..Options::default() });
    apply(&model, &changes(words)).unwrap().snapshot
}

/// The example, where user2 and user5 wait, user4 too.
fn site() -> Snapshot {
    let mut snapshot = site::example();
    let user4 = snapshot.associations.iter().find(|one| one.user == "user4").unwrap().clone();
    snapshot.jobs.push(site::job(1003, &user4));
    site::show(&mut snapshot);
    snapshot
}

/// What is different beside the jobs themselves, so that two ways to it can be compared.
fn usage(snapshot: &Snapshot, account: &str, user: &str) -> f64 {
    snapshot.associations.iter().find(|one| (&*one.account, &*one.user) == (account, user)).unwrap().usage
}

#[test]
fn without_a_change_the_queue_is_as_it_is() {
    let answer = ask(&site(), &[]).unwrap();
    assert_eq!((answer.tau, answer.moved, answer.changes.len()), (Some(1.0), Some(0), 0));
    assert_eq!(answer.standings, []);
    for (place, row) in answer.rows.iter().enumerate() {
        assert_eq!((row.position_before, row.position_after), (Some(place + 1), Some(place + 1)));
        assert_eq!((row.gain, row.priority_before), (Some(0), row.priority_after));
        assert_eq!(row.fair_share_before, row.fair_share_after);
    }
}

#[test]
fn shares_move_jobs() {
    // user4 of e and user5 of f share the tickets of d by F² · S: with 25 to 35 shares, F of e is 1, that of f 100.
    let answer = ask(&site(), &["--shares", "e=2500,f=0"]).unwrap();
    assert_eq!(
        answer.changes,
        ["The shares of account e are 2500, not 25.", "The shares of account f are 0, not 35."]
    );
    let jobs: Vec<u32> = answer.rows.iter().map(|row| row.id).collect();
    assert_eq!(jobs, [1003, 1001, 1002]);
    let before: Vec<_> = answer.rows.iter().map(|row| row.position_before.unwrap()).collect();
    assert_eq!(before, [3, 2, 1]);
    assert_eq!((answer.tau, answer.moved), (Some(-1.0), Some(2)));
    // f has no tickets, so its user gets the lowest factor; e has all of d's.
    assert_eq!(answer.rows[0].fair_share_after, Some(1.0));
    assert_eq!(answer.rows[2].fair_share_after, Some(0.0));
    let gains: Vec<(&str, f64)> =
        answer.accounts.iter().map(|group| (group.name.as_str(), group.mean)).collect();
    assert_eq!(gains, [("e", 2.0), ("c", 0.0), ("f", -2.0)]);
}

#[test]
fn a_reset_takes_usage_from_all_above_as_sacctmgr_does() {
    let snapshot = site();
    let reset = changed(&snapshot, &["--usage", "user2@c=0"]);
    let taken = usage(&snapshot, "c", "user2");
    for account in ["c", "a", "root"] {
        assert_near(usage(&reset, account, ""), usage(&snapshot, account, "") - taken, account);
    }
    assert_near(usage(&reset, "c", "user2"), 0.0, "user2");
    assert_near(usage(&reset, "d", ""), usage(&snapshot, "d", ""), "d");
    // Of an account: that of all below it.
    let reset = changed(&snapshot, &["--usage", "a=0"]);
    for (account, user) in [("a", ""), ("b", ""), ("b", "user1"), ("c", ""), ("c", "user2")] {
        assert_near(usage(&reset, account, user), 0.0, account);
    }
    assert_near(usage(&reset, "root", ""), usage(&snapshot, "root", "") - usage(&snapshot, "a", ""), "root");
}

#[test]
fn usage_is_given_in_hours_and_never_below_nothing() {
    let snapshot = site();
    let more = changed(&snapshot, &["--usage", "user2@c=+1000h"]);
    assert_near(usage(&more, "c", "user2"), usage(&snapshot, "c", "user2") + 3_600_000.0, "user2");
    assert_near(usage(&more, "root", ""), usage(&snapshot, "root", "") + 3_600_000.0, "root");
    let less = changed(&snapshot, &["--usage=user2@c=-1000000d"]);
    assert_near(usage(&less, "c", "user2"), 0.0, "user2");
    assert_near(usage(&less, "c", ""), usage(&snapshot, "c", "") - usage(&snapshot, "c", "user2"), "c");
    let exact = changed(&snapshot, &["--usage", "user2@c=90m"]);
    assert_near(usage(&exact, "c", "user2"), 5400.0, "user2");
}

/// Where partitions overlap in part the size of the cluster is not told: JOBSIZE stayed at the old weight, and nothing moved.
#[test]
fn the_weight_of_job_sizes_counts_without_the_size_of_the_cluster() {
    let mut snapshot = site();
    for (at, job) in snapshot.jobs.iter_mut().enumerate() {
        (job.cpus, job.size_cpus, job.nodes) = (1 << at, 1 << at, 1);
    }
    snapshot.parameters.insert("PriorityWeightJobSize".to_owned(), "1000".to_owned());
    site::show(&mut snapshot);
    let with_size = ask(&snapshot, &["--weight", "jobsize=500000"]).unwrap();
    // As the commands tell it.
    "commands".clone_into(&mut snapshot.about.source);
    (snapshot.about.cpus, snapshot.about.nodes) = (0, 0);
    let without = ask(&snapshot, &["--weight", "jobsize=500000"]).unwrap();
    assert!(with_size.moved > Some(0));
    for (with_size, without) in with_size.rows.iter().zip(&without.rows) {
        assert_eq!((with_size.id, with_size.gain), (without.id, without.gain));
        let [a, b] = [with_size, without].map(|row| row.priority_after.unwrap());
        assert!(a.abs_diff(b) <= 1, "{a} and {b}");
    }
    let refused = ask(&snapshot, &["--submit", "-A c -p main -t 60", "--as", "user2"]).unwrap_err();
    assert!(refused.contains("size of the cluster is not known here"), "{refused}");
    // Of a weight of 0 nothing is shown that could be multiplied.
    snapshot.parameters.insert("PriorityWeightJobSize".to_owned(), "0".to_owned());
    snapshot.jobs.iter_mut().for_each(|job| job.job_size = 0.0);
    let refused = ask(&snapshot, &["--weight", "jobsize=10"]).unwrap_err();
    assert!(refused.contains("Slurm does not show JOBSIZE while its weight is 0"), "{refused}");
    assert!(ask(&snapshot, &["--submit", "-A c -p main -t 60", "--as", "user2"]).is_ok());
}

#[test]
fn weights_and_half_life_are_those_of_slurm_conf() {
    let answer = ask(&site(), &["--weight", "fairshare=0,age=20000"]).unwrap();
    // All have waited for a tenth of PriorityMaxAge.
    assert!(answer.rows.iter().all(|row| row.priority_after == Some(3000)), "{:?}", answer.rows);

    let snapshot = site();
    let half_life = changes(&["--half-life", "14-0"]);
    let now = what_if::what_if(&snapshot, None, &half_life).unwrap();
    assert_eq!((now.moved, now.standings.len()), (Some(0), 0));
    assert!(now.remarks[0].contains("stays") && now.remarks[0].contains("--at"), "{:?}", now.remarks);
    // Two weeks later usage is a half, not a quarter (with the half-life as Slurm computes it).
    let later = what_if::what_if(&snapshot, Some(site::TIME + 14 * 86_400), &half_life).unwrap();
    let root = later.standings.iter().find(|one| one.account == "root").unwrap();
    let of_now = usage(&snapshot, "root", "");
    assert!((root.usage_before / of_now - 0.25).abs() < 1e-3, "{root:?}");
    assert!((root.usage_after / of_now - 0.5).abs() < 1e-3, "{root:?}");
}

#[test]
fn the_plugin_is_switched_there_and_back() {
    let snapshot = site();
    let answer = ask(&snapshot, &["--plugin", "stock"]).unwrap();
    assert_eq!(answer.algorithm_after, Algorithm::FairTree);
    // By rank: f before e, b before c, a after d; in c user3 before user2.
    let factor = |user: &str| {
        let change =
            answer.standings.iter().find(|one| one.user == user).map(|one| one.factor_after.unwrap());
        change.unwrap_or(1.0)
    };
    for (user, rank) in [("user5", 5.0), ("user4", 4.0), ("user1", 3.0), ("user3", 2.0), ("user2", 1.0)] {
        assert_near(factor(user), rank / 5.0, user);
    }
    let classic = ask(&snapshot, &["--plugin", "classic"]).unwrap();
    assert_eq!(classic.algorithm_after, Algorithm::Classic);
    // There and back: what there was, without settings, which were the defaults.
    let stock = changed(&snapshot, &["--plugin", "stock"]);
    let back = ask(&stock, &["--plugin", "multifactor2"]).unwrap();
    let before = ask(&snapshot, &[]).unwrap();
    let factors = |answer: &WhatIf| {
        answer.rows.iter().map(|row| (row.id, row.fair_share_after.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(factors(&back), factors(&before));
}

#[test]
fn a_submitted_job_takes_its_place() {
    let answer = ask(&site(), &["--submit", "-A b -p main -c 8 -t 1-0", "--as", "user1"]).unwrap();
    let row = answer.rows.iter().find(|row| row.submitted).unwrap();
    assert_eq!(
        (row.id, row.user.as_str(), row.account.as_str(), row.position_before),
        (1004, "user1", "b", None)
    );
    // It has no age; its user competes now, so others have fewer tickets.
    let user1 = answer.standings.iter().find(|one| one.user == "user2").unwrap();
    assert!(user1.factor_after < user1.factor_before, "{user1:?}");
    assert_eq!(answer.rows.len(), 4);
}

#[test]
fn an_account_is_taken_out_with_its_jobs_and_usage() {
    let snapshot = site();
    let without = changed(&snapshot, &["--without-account", "d"]);
    assert!(without.associations.iter().all(|one| !["d", "e", "f"].contains(&one.account.as_str())));
    assert_eq!(without.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [1001]);
    assert_near(
        usage(&without, "root", ""),
        usage(&snapshot, "root", "") - usage(&snapshot, "d", ""),
        "root",
    );
    let answer = ask(&snapshot, &["--without-account", "d"]).unwrap();
    let gone: Vec<u32> =
        answer.rows.iter().filter(|row| row.position_after.is_none()).map(|row| row.id).collect();
    assert_eq!((gone, answer.rows[0].gain), (vec![1002, 1003], Some(1)));
}

#[test]
fn what_cannot_be_known_is_refused_with_the_next_step() {
    let mut unknown = site();
    unknown.settings = None;
    let mut partial = site();
    partial.about.partial_tree = true;
    for (snapshot, words, expected) in [
        (&unknown, &["--shares", "b=3"][..], "--conf"),
        (&unknown, &["--usage", "user2@c=0"], "--conf"),
        (&partial, &["--shares", "b=3"], "operator"),
        (&partial, &["--plugin", "stock"], "operator"),
        (&site(), &["--shares", "nobody=3"], "tree"),
        (&site(), &["--shares", "root=3"], "root"),
        (&site(), &["--usage", "b=+3h"], "name a user"),
        (&site(), &["--weight", "gres/gpu=3"], "TRES are"),
        (&site(), &["--without-account", "root"], "root"),
        (&site(), &["--submit", "-A b -p main", "--as", "user2"], "give one of c"),
        (&site(), &["--submit", "-A b -p none", "--as", "user1"], "main, gpu"),
        (&site(), &["--submit", "-A b", "--as", "user1"], "-p"),
        (&site(), &["--submit", "-p main -q none", "--as", "user1"], "normal, high"),
    ] {
        let error = ask(snapshot, words).unwrap_err();
        assert!(error.contains(expected), "{words:?}: {error}");
    }
    // Weights need no settings: Slurm's factors stay.
    let answer = ask(&unknown, &["--weight", "fairshare=20000"]).unwrap();
    for row in &answer.rows {
        let (before, after) = (row.priority_before.unwrap() - 1100, row.priority_after.unwrap() - 1100);
        assert!(after.abs_diff(2 * before) <= 1, "{row:?}");
    }
}

/// A new account takes shares from its siblings; a new user gets a factor, as if slurmdbd had made them. The live test compares with that.
#[test]
fn accounts_and_users_that_are_not_there_yet() {
    let snapshot = site();
    let with = changed(&snapshot, &["--new-account", "x=30,y=5@x", "--new-user", "user2@y=7"]);
    let find = |account: &str, user: &str| {
        with.associations.iter().find(|row| row.account == account && row.user == user).unwrap()
    };
    let (top, below, user) = (find("x", ""), find("y", ""), find("y", "user2"));
    assert_eq!((below.parent, user.parent, user.shares, user.usage), (top.id, below.id, 7, 0.0));
    assert_eq!(with.associations.iter().find(|row| row.id == top.parent).unwrap().account, "root");
    let answer = ask(
        &snapshot,
        &["--new-account", "x=30", "--new-user", "user2@x=1", "--submit", "-A x -p main", "--as", "user2"],
    );
    assert!(answer.unwrap().rows.iter().any(|row| row.submitted && row.account == "x"));
    for (words, part) in [
        (["--new-account", "b=3"], "account b exists already"),
        (["--new-account", "x=3@zoo"], "there is no account zoo here"),
        (["--new-user", "user2@c=3"], "user user2 in c exists already"),
        (["--new-user", "user2@zoo=3"], "there is no account zoo here"),
    ] {
        let error = ask(&snapshot, &words).unwrap_err();
        assert!(error.contains(part), "{words:?}: {error}");
    }
}

#[test]
fn jobs_that_wait_may_be_otherwise() {
    let snapshot = site();
    let first = snapshot.jobs.iter().find(|job| job.priority > 0).unwrap().clone();
    let with = |to: &str| -> Result<Snapshot, String> {
        let words = ["--job", &format!("{} {to}", first.id)];
        let model = Model::of(&snapshot, Options { recompute: true, ..Options::default() });
        apply(&model, &changes(&words)).map(|changed| changed.snapshot).map_err(|error| error.to_string())
    };
    let job = |to: &str| with(to).unwrap().jobs.iter().find(|job| job.id == first.id).unwrap().clone();
    assert_eq!(job("Nice=-7").nice, -7);
    assert_eq!(job("NumCPUs=12 TimeLimit=1-0").cpus, 12);
    assert_eq!(job("TimeLimit=1-0").limit, Some(1440));
    assert_eq!(job("partition=gpu,main").partitions, ["gpu", "main"]);
    assert_eq!(job("hold").priority, 0);
    assert_eq!(job("hold release").priority, 1);
    for (to, part) in [
        ("", "give a job and its changes"),
        ("QOS=zoo", "there is no QOS zoo"),
        ("Partition=zoo", "there is no partition zoo"),
        ("Account=zoo", "has no association with account zoo"),
        ("Nice=x", "give a whole number from -2147483645"),
        ("NumCPUs=0", "from 1 to 100000000"),
        ("Features=x", "changes are QOS=, Partition="),
    ] {
        let words = ["--job", &format!("{} {to}", first.id)];
        let unread = AskedChanges::try_parse_from(words).err().map(|error| error.to_string());
        let error = unread.unwrap_or_else(|| with(to).unwrap_err());
        assert!(error.contains(part), "{to}: {error}");
    }
    assert!(ask(&snapshot, &["--job", "7 hold"]).unwrap_err().contains("squeue -j 7"));
}

#[test]
fn bad_changes_name_what_is_allowed() {
    for (words, expected) in [
        (["--shares", "b"], "chem=30"),
        (["--shares", "b=-1"], "chem=30"),
        (["--shares", "@b=1"], "ann@chem"),
        (["--usage", "b=1x"], "+1000h"),
        (["--usage", "b=1e300"], "+1000h"),
        (["--half-life", "long"], "14-0"),
        (["--weight", "age=-1"], "fairshare=50000"),
        (["--submit", "-t never"], "UNLIMITED"),
        (["--submit", "--mem=0"], "give an amount"),
        (["--submit", "--gres=gpu:x:y"], "gpu:4"),
        (["--submit", "-n 0"], "1.."),
        (["--submit", "--begin=now"], "-A -p -q -n -c -N --mem --gres -G -t"),
        (["--submit", "-A 'b"], "quote"),
        (["--plugin", "sge"], "stock"),
    ] {
        let error =
            AskedChanges::try_parse_from(words).err().unwrap_or_else(|| panic!("{words:?}")).to_string();
        assert!(error.contains(expected), "{words:?}: {error}");
    }
}

#[test]
fn programs_get_one_row_a_place() {
    let sample = Sample::new(&site());
    let csv = sample.ask(&["what-if", "--shares", "e=2500,f=0", "--csv", "-o", "position,before,gain,job"]);
    assert!(answered(&csv), "{}", csv.err);
    let forward = csv.out.lines().nth(1).unwrap();
    // A cell that begins with a plus sign is made harmless.
    assert!(forward.starts_with("1,3,") && forward.ends_with("+2,1003"), "{}", csv.out);
    let text = sample.ask(&["what-if", "--shares", "e=2500,f=0"]);
    assert!(
        text.out.starts_with("2 places move of 3 in the queue. Kendall's tau of both orders is -1"),
        "{}",
        text.out
    );
}

/// Changes of which each is about something else.
const INDEPENDENT: [&[&str]; 6] = [
    &["--shares", "a2=7"],
    &["--usage", "a3=0"],
    &["--weight", "age=12345"],
    &["--half-life", "3-0"],
    &["--weight", "fairshare=77,qos=1"],
    &["--plugin", "classic"],
];

fn random(seed: u64) -> Snapshot {
    site::random(site::Size { associations: 40, jobs: 50 }, seed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn a_change_to_what_there_is_changes_nothing(seed: u64) {
        let snapshot = random(seed);
        let one = snapshot.associations.iter().find(|one| one.parent != 0 && one.user.is_empty());
        let Some(one) = one else { return Ok(()) };
        let shares = match one.shares { 0x7FFF_FFFF => "parent".to_owned(), shares => shares.to_string() };
        let words = ["--shares".to_owned(), format!("{}={shares}", one.account)];
        let answer = ask(&snapshot, &words.each_ref().map(String::as_str)).unwrap();
        prop_assert_eq!(answer.moved, Some(0));
        prop_assert_eq!(answer.standings, []);
        prop_assert!(answer.tau.is_none_or(|tau| tau >= 1.0));
        for row in answer.rows {
            prop_assert_eq!((row.gain, row.priority_before), (Some(0), row.priority_after));
        }
    }

    #[test]
    fn independent_changes_commute(seed: u64, a in 0..INDEPENDENT.len(), b in 0..INDEPENDENT.len()) {
        prop_assume!(a != b);
        let snapshot = random(seed);
        let there = changed(&changed(&snapshot, INDEPENDENT[a]), INDEPENDENT[b]);
        let other = changed(&changed(&snapshot, INDEPENDENT[b]), INDEPENDENT[a]);
        prop_assert_eq!(&there, &other);
        let together: Vec<&str> = INDEPENDENT[a].iter().chain(INDEPENDENT[b]).copied().collect();
        prop_assert_eq!(changed(&snapshot, &together), there);
    }

    #[test]
    fn what_if_never_panics(
        seed: u64,
        all in prop::sample::subsequence(&INDEPENDENT[..], 0..5),
        plugin in prop::sample::select(vec!["stock", "classic", "multifactor2"]),
        days in 0..40_i64,
        limit in any::<Option<u32>>(),
        parent: u32,
    ) {
        let mut snapshot = random(seed);
        // Whatever a file may say.
        if let Some(job) = snapshot.jobs.first_mut() {
            *job = Job { limit, tres: vec![u64::MAX; 9], id: u32::MAX, ..job.clone() };
        }
        if let Some(association) = snapshot.associations.last_mut() {
            association.parent = parent;
        }
        let mut words: Vec<&str> = all.iter().flat_map(|words| words.iter().copied()).collect();
        if !words.contains(&"--plugin") {
            words.extend(["--plugin", plugin]);
        }
        words.extend(["--submit", "-p main,gpu -c 4 -G 2 -t 0", "--as", "u1", "--without-account", "a4"]);
        let _ = what_if::what_if(&snapshot, Some(site::TIME + days * 86_400), &changes(&words));
        words.truncate(words.len() - 6);
        let _ = what_if::what_if(&snapshot, None, &changes(&words));
    }
}

//! What the documentation promises of tickets for single jobs, asked of each word of `Dilution` by itself: a new word is asked without
//! anybody having to think of it.

use multifactor2_core::policy::pools::JobTickets;
use multifactor2_core::settings::value::Kind;
use multifactor2_core::settings::SETTINGS;
use multifactor2_fixtures::pools_model::{ModelJob, ModelTree};
use proptest::prelude::*;

use super::Engine;

/// The words of the setting.
fn words() -> Vec<&'static str> {
    let setting = SETTINGS.iter().find(|setting| setting.name == "Dilution").unwrap();
    let Kind::Choice(words) = &setting.kind else { panic!("Dilution is a choice") };
    words.iter().map(|word| word.text).collect()
}

/// Shares, usage and waiting jobs of a user.
#[derive(Clone, Copy, Debug)]
struct User {
    shares: u32,
    usage: f64,
    jobs: u32,
}

/// Accounts by shares, each with its users.
type Site = Vec<(u32, Vec<User>)>;

/// The tickets of the jobs of each user, in their order, by account.
type Found = Vec<Vec<Vec<f64>>>;

fn name(account: usize, user: usize) -> String {
    format!("u{account}-{user}")
}

fn tree(site: &Site) -> ModelTree {
    let usage = |users: &[User]| users.iter().map(|user| user.usage).sum::<f64>();
    let mut tree = ModelTree::new(site.iter().map(|(_, users)| usage(users)).sum());
    for (at, (shares, users)) in site.iter().enumerate() {
        tree.add_account("root", &format!("a{at}"), Some(*shares), usage(users));
        for (place, user) in users.iter().enumerate() {
            tree.add_user(&format!("a{at}"), &name(at, place), Some(user.shares), user.usage);
        }
    }
    tree
}

/// Job by job: the first of each user, in the order of the site, then the second ones.
fn jobs(site: &Site) -> Vec<(usize, usize, ModelJob)> {
    let mut jobs = Vec::new();
    for turn in 0..8 {
        for (account, (_, users)) in site.iter().enumerate() {
            for (user, _) in users.iter().enumerate().filter(|(_, user)| turn < user.jobs) {
                let id = u32::try_from(jobs.len()).unwrap() + 1;
                let job = ModelJob::waiting(id, &name(account, user), &format!("a{account}"));
                jobs.push((account, user, job));
            }
        }
    }
    jobs
}

fn found(word: &str, site: &Site, reversed: bool) -> (Found, Vec<f64>) {
    let mut engine = Engine::new(&format!("Dilution={word}"), &tree(site));
    let mut jobs = jobs(site);
    if reversed {
        jobs.reverse();
    }
    let given: Vec<ModelJob> = jobs.iter().map(|(.., job)| job.clone()).collect();
    let tickets: Vec<JobTickets> = engine.cycle(&given);
    let factors = tickets.iter().map(|tickets| engine.factor(*tickets)).collect();
    let mut by_job: Vec<_> = jobs.iter().zip(&tickets).collect();
    by_job.sort_by_key(|((.., job), _)| job.id);
    let mut found: Found = site.iter().map(|(_, users)| vec![Vec::new(); users.len()]).collect();
    for ((account, user, _), tickets) in by_job {
        found[*account][*user].push(tickets.total());
    }
    (found, factors)
}

/// The site with other values for the first two users of the first account.
fn with(site: &Site, change: impl Fn(&mut User, &mut User)) -> Site {
    let mut site = site.clone();
    let [first, second, ..] = &mut site[0].1[..] else { panic!("two users") };
    change(first, second);
    site
}

type Promise = fn(&str, &Site) -> Result<(), String>;

const PROMISES: [(&str, Promise); 5] = [
    ("the best job has a factor of 1, and none has more", the_best_has_1),
    ("of two users who differ in usage alone the one who used less has more", less_usage_is_more),
    ("of two users who differ in shares alone the one with more shares has more", more_shares_are_more),
    ("equal users take turns, in whatever order their jobs come", equals_take_turns),
    ("what users of one account do among each other changes nothing for others", others_are_not_concerned),
];

fn the_best_has_1(word: &str, site: &Site) -> Result<(), String> {
    let (_, factors) = found(word, site, false);
    let best = factors.iter().copied().fold(0.0, f64::max);
    if best.to_bits() == 1_f64.to_bits() && factors.iter().all(|factor| *factor >= 0.0) {
        return Ok(());
    }
    Err(format!("factors are {factors:?}"))
}

/// The first of the two is further below its share: none of its jobs has less than that of the other, and its first one more.
fn first_has_more(word: &str, site: &Site) -> Result<(), String> {
    let (found, _) = found(word, site, false);
    let (more, less) = (&found[0][0], &found[0][1]);
    if more[0] > less[0] && more.iter().zip(less).all(|(more, less)| *more >= less * (1.0 - 1e-12)) {
        return Ok(());
    }
    Err(format!("they have {more:?} and {less:?}"))
}

fn less_usage_is_more(word: &str, site: &Site) -> Result<(), String> {
    let less_used = |first: &mut User, second: &mut User| {
        // Above the usage floor of 1 % of the share.
        first.usage += 1e5;
        *second = User { usage: 2.0 * first.usage + 1.0, ..*first };
    };
    first_has_more(word, &with(site, less_used))
}

fn more_shares_are_more(word: &str, site: &Site) -> Result<(), String> {
    let more_shares = |first: &mut User, second: &mut User| {
        first.usage += 1e5;
        *second = *first;
        first.shares *= 2;
    };
    first_has_more(word, &with(site, more_shares))
}

fn equals_take_turns(word: &str, site: &Site) -> Result<(), String> {
    let site = with(site, |first, second| *second = *first);
    for reversed in [false, true] {
        let (found, _) = found(word, &site, reversed);
        let (first, second) = (&found[0][0], &found[0][1]);
        let turns: Vec<f64> =
            first.iter().zip(second).flat_map(|(first, second)| [*first, *second]).collect();
        if turns.windows(2).any(|pair| pair[1] > pair[0] * (1.0 + 1e-12)) {
            return Err(format!("they have {first:?} and {second:?}"));
        }
    }
    Ok(())
}

fn others_are_not_concerned(word: &str, site: &Site) -> Result<(), String> {
    let moved = with(site, |first, second| (first.usage, second.usage) = (0.0, first.usage + second.usage));
    let ((before, _), (after, _)) = (found(word, site, false), found(word, &moved, false));
    for (before, after) in before[1..].iter().flatten().flatten().zip(after[1..].iter().flatten().flatten()) {
        if (before - after).abs() > 1e-9 * before.max(1.0) {
            return Err(format!("a job had {before} and has {after}"));
        }
    }
    Ok(())
}

fn sites() -> impl Strategy<Value = Site> {
    let user = (1_u32..100, prop_oneof![1 => Just(0.0), 4 => 0.0..1e6], 1_u32..6);
    let user = user.prop_map(|(shares, usage, jobs)| User { shares, usage, jobs });
    prop::collection::vec((1_u32..100, prop::collection::vec(user, 2..4)), 2..4)
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn every_dilution_keeps_what_is_promised(site in sites()) {
        for word in words() {
            for (promise, holds) in PROMISES {
                let kept = holds(word, &site);
                prop_assert!(kept.is_ok(), "Dilution={word}: {promise}, but {}", kept.unwrap_err());
            }
        }
    }
}

//! What the documentation promises of every distribution of the share tree, asked of each word of `Distribution` by itself: a new word is
//! asked without anybody having to think of it.

use multifactor2_core::policy::distribution::{self, Claim, Rule};
use multifactor2_core::settings::value::Kind;
use multifactor2_core::settings::{Settings, SETTINGS};
use multifactor2_core::{FairShare, Node};
use multifactor2_fixtures::model::Association;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::random::{near, Engine};

/// The words of the setting.
pub fn words() -> Vec<&'static str> {
    let setting = SETTINGS.iter().find(|setting| setting.name == "Distribution").unwrap();
    let Kind::Choice(words) = &setting.kind else { panic!("Distribution is a choice") };
    words.iter().map(|word| word.text).collect()
}

fn settings(word: &str) -> Settings {
    Settings::parse(&format!("Distribution={word}"), "test").unwrap().settings
}

/// Accounts below the root by shares, each with its users by shares and usage. All of these wait.
#[derive(Clone, Debug)]
struct Site(Vec<(u32, Vec<(u32, f64)>)>);

impl Site {
    fn associations(&self) -> Vec<Association> {
        let usage = |users: &[(u32, f64)]| users.iter().map(|(_, usage)| usage).sum::<f64>();
        let all = self.0.iter().map(|(_, users)| usage(users)).sum();
        let mut list =
            vec![Association { parent: None, shares: Some(1), user: false, usage: all, waiting: false }];
        for (shares, users) in &self.0 {
            let account = list.len();
            let (parent, shares, usage) = (Some(0), Some(*shares), usage(users));
            list.push(Association { parent, shares, user: false, usage, waiting: false });
            list.extend(users.iter().map(|(shares, usage)| Association {
                parent: Some(account),
                shares: Some(*shares),
                user: true,
                usage: *usage,
                waiting: true,
            }));
        }
        list
    }

    /// Where the accounts are in the list.
    fn accounts(&self) -> Vec<usize> {
        let sizes = self.0.iter().map(|(_, users)| 1 + users.len());
        sizes.scan(1, |next, size| Some(std::mem::replace(next, *next + size))).collect()
    }

    /// Shares and usage of a user.
    fn user(&mut self, account: usize, at: usize) -> &mut (u32, f64) {
        &mut self.0[account].1[at]
    }
}

/// A distribution, with the place in the tree of each association of the list, which the tree gets to see from the last one on if it is `reversed`.
struct Distributed {
    engine: Engine,
    list: Vec<Association>,
    nodes: Vec<Node>,
}

impl Distributed {
    fn new(fair_share: FairShare, list: Vec<Association>, reversed: bool) -> Self {
        let order: Vec<usize> =
            if reversed { (0..list.len()).rev().collect() } else { (0..list.len()).collect() };
        let (mut engine, nodes) = Engine::run_in_order(&list, &order);
        engine.fair_share = fair_share;
        engine.distribute(&list, &nodes);
        Self { engine, list, nodes }
    }

    fn tickets(&self, at: usize) -> f64 {
        self.engine.fair_share.tickets(self.nodes[at])
    }

    fn level_fs(&self, at: usize) -> f64 {
        self.engine.fair_share.competition().level_fs(&self.engine.tree, self.nodes[at])
    }
}

/// What a promise is asked of: a rule, at a site, two users of one of its accounts.
#[derive(Clone)]
struct Case<'c> {
    rule: &'c dyn Fn() -> FairShare,
    site: Site,
    account: usize,
    users: [usize; 2],
}

impl Case<'_> {
    fn distributed(&self, reversed: bool) -> Distributed {
        Distributed::new((self.rule)(), self.site.associations(), reversed)
    }

    /// Shares and usage of the two.
    fn values(&self) -> [(u32, f64); 2] {
        self.users.map(|user| self.site.0[self.account].1[user])
    }

    /// The same with other ones.
    fn with(&self, values: [(u32, f64); 2]) -> Self {
        let mut case = self.clone();
        for (user, values) in self.users.into_iter().zip(values) {
            *case.site.user(self.account, user) = values;
        }
        case
    }

    /// Where the two are in the list.
    fn places(&self) -> [usize; 2] {
        let first = self.site.accounts()[self.account] + 1;
        self.users.map(|user| first + user)
    }
}

type Promise = fn(&Case<'_>) -> Result<(), String>;

const PROMISES: [(&str, Promise); 5] = [
    ("nobody has more than the account above", nobody_has_more_than_the_parent),
    ("of two users who differ in usage alone the one who used less has more", less_usage_is_more),
    ("of two users who differ in shares alone the one with more shares has more", more_shares_are_more),
    ("equal users have the same, in whatever order they come", equals_are_equal),
    ("what users of one account do among each other changes nothing for others", others_are_not_concerned),
];

fn nobody_has_more_than_the_parent(case: &Case<'_>) -> Result<(), String> {
    let found = case.distributed(false);
    for (at, association) in found.list.iter().enumerate() {
        let (has, factor) = (found.tickets(at), found.engine.fair_share.priority(found.nodes[at]));
        let of_parent = association.parent.map_or(f64::MAX, |parent| found.tickets(parent));
        if has > of_parent * (1.0 + 1e-12) || !(0.0..=1.0).contains(&factor) {
            return Err(format!("{at} has {has} of {of_parent}, and a factor of {factor}"));
        }
    }
    Ok(())
}

/// The first of the two is further below its share, so it has more, and never less.
fn first_has_more(case: &Case<'_>) -> Result<(), String> {
    let found = case.distributed(false);
    let [(more, high), (less, low)] = case.places().map(|at| (found.tickets(at), found.level_fs(at)));
    if more < less || high > low * (1.0 + 1e-9) && more <= less {
        return Err(format!("they have {more} and {less}"));
    }
    Ok(())
}

fn less_usage_is_more(case: &Case<'_>) -> Result<(), String> {
    let [(shares, usage), _] = case.values();
    first_has_more(&case.with([(shares, usage), (shares, 2.0 * usage + 1.0)]))
}

fn more_shares_are_more(case: &Case<'_>) -> Result<(), String> {
    let [(shares, usage), _] = case.values();
    first_has_more(&case.with([(2 * shares, usage + 1.0), (shares, usage + 1.0)]))
}

fn equals_are_equal(case: &Case<'_>) -> Result<(), String> {
    let case = case.with([case.values()[0]; 2]);
    let [forwards, backwards] = [false, true].map(|reversed| case.distributed(reversed));
    let [a, b] = case.places().map(|at| forwards.tickets(at));
    if a.to_bits() != b.to_bits() {
        return Err(format!("they have {a} and {b}"));
    }
    let differing = (0..forwards.list.len()).find(|at| !near(forwards.tickets(*at), backwards.tickets(*at)));
    differing
        .map_or(Ok(()), |at| Err(format!("{at} has {} or {}", forwards.tickets(at), backwards.tickets(at))))
}

fn others_are_not_concerned(case: &Case<'_>) -> Result<(), String> {
    let before = case.distributed(false);
    // One has all usage of the two, and the other no work any more.
    let [(first, of_first), (second, of_second)] = case.values();
    let moved = case.with([(first, 0.0), (second, of_first + of_second)]);
    let mut list = moved.site.associations();
    list[case.places()[0]].waiting = false;
    let after = Distributed::new((case.rule)(), list, false);
    let account = case.site.accounts()[case.account];
    let others = (0..before.list.len()).filter(|at| before.list[*at].parent != Some(account));
    for at in others {
        if !near(before.tickets(at), after.tickets(at)) {
            return Err(format!("{at} had {} and has {}", before.tickets(at), after.tickets(at)));
        }
    }
    Ok(())
}

/// Where everybody always waits and the best goes first, usage comes to be as the shares of the accounts are.
fn settles_on_shares(rule: &dyn Fn() -> FairShare) -> bool {
    const STEPS: usize = 6000;
    const LEFT: f64 = 0.997;
    let mut site = Site(vec![(50, vec![(1, 0.0); 2]), (30, vec![(1, 0.0)]), (20, vec![(1, 0.0); 3])]);
    for _ in 0..STEPS {
        let found = Distributed::new(rule(), site.associations(), false);
        let factor = |account: usize, user: usize| {
            let at = site.accounts()[account] + 1 + user;
            found.engine.fair_share.priority(found.nodes[at])
        };
        let users = site
            .0
            .iter()
            .enumerate()
            .flat_map(|(account, (_, users))| (0..users.len()).map(move |user| (account, user)));
        let best = users
            .reduce(|best, next| if factor(next.0, next.1) > factor(best.0, best.1) { next } else { best });
        let (account, user) = best.unwrap();
        site.0.iter_mut().flat_map(|(_, users)| users).for_each(|(_, usage)| *usage *= LEFT);
        site.user(account, user).1 += 1.0;
    }
    let list = site.associations();
    site.accounts()
        .iter()
        .zip(&site.0)
        .all(|(at, (shares, _))| (list[*at].usage / list[0].usage - f64::from(*shares) / 100.0).abs() < 0.02)
}

fn sites() -> impl Strategy<Value = Site> {
    let user = (1_u32..100, prop_oneof![1 => Just(0.0), 4 => 0.0..1e6]);
    prop::collection::vec((1_u32..100, prop::collection::vec(user, 2..5)), 2..4).prop_map(Site)
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn every_distribution_keeps_what_is_promised(site in sites(), account in any::<Index>(), users in any::<[Index; 2]>()) {
        let account = account.index(site.0.len());
        let count = site.0[account].1.len();
        let first = users[0].index(count);
        let second = (first + 1 + users[1].index(count - 1)) % count;
        for word in words() {
            let rule = || {
                let mut fair_share = FairShare::new();
                fair_share.configure(&settings(word));
                fair_share
            };
            for (promise, holds) in PROMISES {
                let kept = holds(&Case { rule: &rule, site: site.clone(), account, users: [first, second] });
                prop_assert!(kept.is_ok(), "Distribution={word}: {promise}, but {}", kept.unwrap_err());
            }
        }
    }
}

#[test]
fn usage_settles_on_the_shares_under_those_that_say_so_and_no_other() {
    for word in words() {
        let settings = settings(word);
        let rule = || {
            let mut fair_share = FairShare::new();
            fair_share.configure(&settings);
            fair_share
        };
        let promised = distribution::settles_on_shares(settings.distribution);
        assert_eq!(settles_on_shares(&rule), promised, "Distribution={word}");
    }
}

/// The same for every sibling, whatever shares and usage are.
#[derive(Clone, Debug, Default)]
struct Equal {
    siblings: Vec<u32>,
}

impl Rule for Equal {
    type Held = f64;
    const SETTLES_ON_SHARES: bool = false;

    fn begin(&mut self, associations: usize) {
        self.siblings = vec![0; associations];
    }

    fn claim(&mut self, parent: usize, _claim: Claim) {
        self.siblings[parent] += 1;
    }

    fn settle(&mut self) {}

    fn root(tickets: f64) -> f64 {
        tickets
    }

    fn tickets(held: f64) -> f64 {
        held
    }

    fn part(&self, parent: usize, of_parent: f64, claim: Claim) -> f64 {
        of_parent / f64::from(self.siblings[parent] + u32::from(!claim.active))
    }
}

#[test]
fn a_rule_that_ignores_shares_and_usage_does_not_pass() {
    let site = Site(vec![(50, vec![(3, 7.0), (2, 9.0)]), (30, vec![(1, 4.0), (1, 0.0)])]);
    let rule = || FairShare::dividing_by(Equal::default());
    let case = Case { rule: &rule, site, account: 0, users: [0, 1] };
    let broken = PROMISES.into_iter().filter(|(_, holds)| holds(&case).is_err());
    let broken: Vec<&str> = broken.map(|(promise, _)| promise).collect();
    assert_eq!(broken, [PROMISES[1].0, PROMISES[2].0]);
    assert!(!settles_on_shares(&rule));
}

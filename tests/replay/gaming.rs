//! What a user gains who plays, under the settings that docs/policies.md recommends. docs/replay.md has the table.

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::Scheduler;
use multifactor2_replay::strategist::{service, Played, Strategy, STRATEGIES};
use multifactor2_replay::workload::Machine;

use crate::made::multifactor2;
use crate::saturated::{workload, User};

/// A second account has shares of its own, whatever divides them. Bursts gain about 2 %, which is no more than chance makes here.
const NOT_COVERED: &[Strategy] = &[Strategy::SecondAccount, Strategy::Burst];

/// Of short jobs less is committed at a time, so the next one has more tickets.
const NOT_BY_TIME: &[Strategy] = &[Strategy::SecondAccount, Strategy::Burst, Strategy::Tiny];

/// Settings, and those strategies that may gain more than 2 % under them: docs/replay.md says so, with the numbers.
const SETTINGS: [(&str, &[Strategy]); 6] = [
    ("", NOT_COVERED),
    ("Distribution=standing", NOT_COVERED),
    ("Distribution=strict", NOT_COVERED),
    ("Dilution=user", NOT_COVERED),
    ("Dilution=user\nDilutionUnit=committed\nDilutionQuantum=240", NOT_BY_TIME),
    ("Dilution=user\nCompensationFactor=1", NOT_COVERED),
];

const USERS: [User; 5] = [
    User { name: "ada", account: "physics", shares: 40, demand: 0.35 },
    User { name: "bob", account: "physics", shares: 40, demand: 0.3 },
    User { name: "eve", account: "chemistry", shares: 40, demand: 0.4 },
    User { name: "fay", account: "chemistry", shares: 40, demand: 0.3 },
    User { name: "gus", account: "biology", shares: 20, demand: 0.4 },
];

#[test]
fn nobody_gains_by_playing_but_where_it_is_documented() {
    let workload = workload(&USERS, 32, 48, &[1, 2]);
    let machine = Machine::of_procs(32);
    let scheduler = Scheduler::Easy;
    let gain = |strategy, policy: &Policy| {
        let played = Played::new(&workload, "ada", strategy).unwrap();
        service(&played, &machine, &scheduler, policy).unwrap().gain().unwrap()
    };
    let mut policies: Vec<(String, Policy, &[Strategy])> = SETTINGS
        .iter()
        .map(|(settings, not_covered)| (settings.replace('\n', " "), multifactor2(settings), *not_covered))
        .collect();
    policies.push(("fair-tree".to_owned(), Policy::FairTree, NOT_COVERED));
    let mut wrong = Vec::new();
    println!("| settings | honest | {} |", STRATEGIES.map(Strategy::name).join(" | "));
    for (name, policy, not_covered) in &policies {
        let honest = gain(Strategy::Honest, policy);
        let gains = STRATEGIES.map(|strategy| gain(strategy, policy));
        println!("| {name} | {honest:.3} | {} |", gains.map(|gain| format!("{gain:.3}")).join(" | "));
        for (strategy, gain) in STRATEGIES.into_iter().zip(gains) {
            if gain > 1.02 && !not_covered.contains(&strategy) {
                wrong.push(format!("{name}: {strategy} {gain:.3}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

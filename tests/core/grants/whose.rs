//! Whose jobs a grant is for, and how it is called.

use multifactor2_core::rules::grants::{Effect, Effects, Filters, Granted, Scopes, Sequences};
use multifactor2_core::settings::Settings;

fn sequences(lines: &[&str]) -> Sequences {
    let line = |line: &&str| format!("Grant={line} Amount=1 From=2027-01-01 Until=2027-12-31\n");
    let text: String = lines.iter().map(line).collect();
    Sequences::of(&Settings::parse(&text, "f").unwrap_or_else(|errors| panic!("{errors}")).settings, |_| 0)
}

/// Slurm keeps accounts and QOS in small letters, all else as it is.
#[test]
fn each_is_found_by_its_name() {
    let kinds =
        ["Account Name=Physics", "User Name=ada", "Group Name=staff", "QOS Name=High", "WCKey Name=Paper"];
    let sequences = sequences(&kinds);
    let gid = |name: &str| (name == "staff").then_some(500);
    let scopes = Scopes::of(sequences.all.iter().map(|sequence| &sequence.key), gid);
    let called = |places: &[u32]| -> Vec<String> {
        places.iter().map(|place| sequences.all[*place as usize].key.in_words()).collect()
    };
    assert_eq!(called(scopes.of_account("physics")), ["account physics"]);
    assert_eq!(called(&scopes.of_path(["lasers", "physics", "root"])), ["account physics"]);
    assert_eq!(called(scopes.of_user("ada")), ["user ada"]);
    assert_eq!(called(scopes.of_group(Some(500))), ["Unix group staff"]);
    assert_eq!(called(scopes.of_qos("high")), ["QOS high"]);
    assert_eq!(called(scopes.of_wckey("Paper")), ["wckey Paper"]);
    let others = [
        scopes.of_account("lasers"),
        scopes.of_user("Ada"),
        scopes.of_group(Some(501)),
        scopes.of_wckey("paper"),
    ];
    assert!(others.iter().all(|places| places.is_empty()), "{others:?}");
}

#[test]
fn partitions_and_books_are_in_its_name() {
    let of = |line: &str| sequences(&[line]).all[0].key.in_words();
    assert_eq!(of("User Name=ada Partition=gpu"), "user ada in partition gpu");
    assert_eq!(of("User Name=ada Partition=gpu,fat"), "user ada in partitions fat,gpu");
}

/// Jobs in other partitions have no points for it, and are not beyond it.
#[test]
fn a_grant_of_a_partition_does_nothing_to_jobs_in_others() {
    let sequences = sequences(&["User Name=ada Partition=gpu,fat"]);
    let filters = Filters::of(sequences.all.iter().map(|sequence| &sequence.key));
    let granted = |effect, partition| Effects::of(filters.clone(), vec![effect]).granted([0], partition);
    let within = Granted { points: 7.0, ..Granted::default() };
    let granted_within = |partition| granted(Effect::Within(7.0), partition);
    assert_eq!(["gpu", "fat", "cpu"].map(granted_within), [within, within, Granted::default()]);
    let beyond = Effect::Beyond(sequences.all[0].lines[0].beyond);
    assert_ne!(granted(beyond, "gpu"), Granted::default());
    assert_eq!(granted(beyond, "cpu"), Granted::default());
}

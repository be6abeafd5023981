//! What docs/points.md promises of every component, asked of each word of `Component` and of each of its parts by itself: a new word or part
//! is asked without anybody having to think of it.

use multifactor2_core::policy::points::{JobState, PointsJob, Request};
use multifactor2_core::settings::schema::Setting;
use multifactor2_core::settings::value::Kind;
use multifactor2_core::settings::SETTINGS;
use proptest::prelude::*;

use super::{Cluster, Site, HOUR};

/// The words of `Component`, each with its parts.
fn components() -> Vec<(&'static str, Vec<&'static str>)> {
    let setting = SETTINGS.iter().find(|setting| setting.name == "Component").unwrap();
    let Kind::Choice(words) = setting.kind else { panic!("Component is a choice") };
    let attributes = setting.attributes.unwrap();
    let parts = |word: &str| {
        let is_part = |setting: &&Setting| setting.with == Some(word) && setting.is_described;
        attributes.iter().filter(is_part).map(|setting| setting.name).collect()
    };
    words.iter().map(|word| (word.text, parts(word.text))).collect()
}

/// Slurm has none.
const ALWAYS_0: &str = "Swap";

/// What components go by, so that none of their parts is 0: priorities, targets, waits.
const LINES: &str = "\
    Credential=User Name=alice Priority=7\nCredential=Group Name=staff Priority=5\nCredential=Account Name=a Priority=3\n\
    Credential=Parent Name=a Priority=11\nCredential=QOS Name=short Priority=13\nCredential=Partition Name=debug Priority=17\n\
    Target=User Name=alice Percent=60\nTarget=Group Name=staff Percent=60\nTarget=Account Name=a Percent=70\nTarget=Parent Name=a Percent=60\n\
    Target=QOS Name=short Percent=30\nTarget=Partition Name=debug Percent=40\n\
    Service=QOS Name=* TargetQueueTime=01:00:00 TargetXFactor=3\nPointsCap=2147483647\n";

/// alice in a has used 10 of 100.
fn cluster(lines: &str) -> Cluster {
    let mut site = Site::new().with("a", "alice", 10.0).with("b", "bob", 90.0).qos(2, 10.0);
    for usage in [&mut site.halflife, &mut site.window] {
        usage.groups.insert(500, 10.0);
        usage.partitions.insert("debug".to_owned(), 10.0);
        usage.all = 100.0;
    }
    site.points(&format!("{LINES}{lines}"))
}

/// A job of alice.
fn job(cluster: &Cluster, [size, wait, limit]: [f64; 3]) -> PointsJob<'static> {
    let request = Request {
        nodes: size,
        cpus: 2.0 * size,
        memory: 3.0 * size,
        disk: size,
        equivalents: size,
        metric: size,
    };
    PointsJob {
        request,
        wait,
        limit,
        bypass: 4,
        elapsed: Some(limit / 3.0),
        restarts: 2,
        accuracy: 40.0,
        state: JobState::Running,
        partition: cluster.points.partition("debug"),
        qos: cluster.points.qos(2),
        group: cluster.points.group(500),
        ..cluster.job("alice", "a")
    }
}

fn count(parts: usize) -> f64 {
    u32::try_from(parts).unwrap().into()
}

/// What a line gives a job.
fn points(line: &str, facts: [f64; 3]) -> f64 {
    let cluster = cluster(line);
    let job = job(&cluster, facts);
    f64::from(cluster.value(&job))
}

fn is_near(found: f64, expected: f64) -> bool {
    // Points are rounded to whole ones.
    (found - expected).abs() <= 1.0 + 1e-6 * expected.abs()
}

#[test]
fn every_part_counts_something() {
    for (word, parts) in components() {
        assert!(!parts.is_empty(), "{word}");
        for part in parts.iter().filter(|part| **part != ALWAYS_0) {
            let found = points(&format!("Component={word} {part}=1000"), [2.0, 2.0 * HOUR, HOUR]);
            assert!(found.abs() >= 1.0, "Component={word} {part}=1000 gives {found}");
        }
    }
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn every_component_keeps_what_is_promised(
        size in 1.0..100.0_f64, wait in 60.0..40_000.0_f64, limit in 60.0..40_000.0_f64,
        weights in prop::collection::vec(1.0..100.0_f64, 8), cap in 1.0..1000.0_f64,
    ) {
        let facts = [size, wait, limit];
        for (word, parts) in components() {
            let each: Vec<String> =
                parts.iter().zip(weights.iter().cycle()).map(|(part, weight)| format!("{part}={weight}")).collect();
            let line = |weight: f64, parts: &[String]| format!("Component={word} Weight={weight} {}\n", parts.join(" "));
            let whole = points(&line(1.0, &each), facts);
            // The cap of the total would hide what is asked here.
            prop_assume!(whole.abs() < 1e8);
            prop_assert!(is_near(points(&line(0.0, &each), facts), 0.0), "{word}: a weight of 0 gives no points");
            prop_assert!(is_near(points(&line(2.0, &each), facts), 2.0 * whole), "{word}: twice the weight, twice the points");
            prop_assert!(is_near(points(&line(-1.0, &each), facts), -whole), "{word}: the opposite weight, the opposite points");
            let capped = points(&format!("{} Cap={cap}\n", line(1.0, &each).trim_end()), facts);
            prop_assert!(is_near(capped, whole.min(cap)), "{word}: {capped} with Cap={cap}, {whole} without");
            let sum: f64 = each.iter().map(|part| points(&line(1.0, std::slice::from_ref(part)), facts)).sum();
            prop_assert!((sum - whole).abs() <= 1.0 + count(each.len()) + 1e-6 * whole.abs(), "{word}: {whole} is not the sum of its parts, {sum}");
            let mut reversed = each.clone();
            reversed.reverse();
            prop_assert!(is_near(points(&line(1.0, &reversed), facts), whole), "{word}: the order of its parts counts");
            // A line for another partition, and another component, change nothing.
            let other = format!("{}Component={word} Partition=elsewhere {}\n", line(1.0, &each), each.join(" "));
            prop_assert!(is_near(points(&other, facts), whole), "{word}: another partition's line counts here");
        }
    }

    /// The points of all components together are the sum of each one's.
    #[test]
    fn components_add_up(size in 1.0..100.0_f64, wait in 60.0..40_000.0_f64, limit in 60.0..40_000.0_f64) {
        let facts = [size, wait, limit];
        let line = |(word, parts): &(&str, Vec<&str>)| format!("Component={word} {}\n", parts.iter().map(|part| format!("{part}=3")).collect::<Vec<_>>().join(" "));
        let lines: Vec<String> = components().iter().map(line).collect();
        let sum: f64 = lines.iter().map(|line| points(line, facts)).sum();
        let whole = points(&lines.concat(), facts);
        prop_assert!((sum - whole).abs() <= 1.0 + count(lines.len()), "{sum} {whole}");
    }
}

//! Edges of settings and sums: to the second, to the letter, to the first use.

#![allow(clippy::float_cmp)] // whole numbers and halves are exact

use multifactor2_core::policy::pools::{JobNames, Names, Pools, WaitingJob};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, NodeSpec, ShareTree};
use multifactor2_fixtures::assert_near;

fn settings(text: &str) -> Settings {
    Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{errors}")).settings
}

#[test]
fn a_line_with_dates_is_in_force_to_the_second() {
    let at = |text: &str| -> Date {
        let (day, time) = text.split_once(' ').unwrap();
        let number = |text: &str| text.parse::<u8>().unwrap();
        let day: Vec<&str> = day.split('-').collect();
        let time: Vec<u8> = time.split(':').map(number).collect();
        Date {
            year: day[0].parse().unwrap(),
            month: number(day[1]),
            day: number(day[2]),
            hour: time[0],
            minute: time[1],
            second: time[2],
        }
    };
    for (dates, times) in [
        (
            "From=2027-01-30 Until=2027-01-31",
            ["2027-01-29 23:59:59", "2027-01-30 00:00:00", "2027-01-31 23:59:59", "2027-02-01 00:00:00"],
        ),
        (
            "From=2027-01-30T06:30:10 Until=2027-01-31T12:00",
            ["2027-01-30 06:30:09", "2027-01-30 06:30:10", "2027-01-31 12:00:00", "2027-01-31 12:00:01"],
        ),
    ] {
        let mut pools =
            Pools::configured(&settings(&format!("Override=User Name=ada Tickets=1 {dates}"))).unwrap();
        let changes = times.map(|time| {
            let changes = pools.begin(at(time));
            changes.first().map(|change| change.begins)
        });
        assert_eq!(changes, [Some(false), Some(true), None, Some(false)], "{dates}");
    }
}

/// A job in a partition with override tickets, and in another one: there it has none of them, and all others.
#[test]
fn another_entry_of_a_job_loses_the_tickets_of_a_partition_and_no_more() {
    let lines = "Override=Partition Name=fast Tickets=1000\nOverride=User Name=ada Tickets=500\n";
    for count in [1_u32, 2, 4] {
        let mut pools = Pools::configured(&settings(lines)).unwrap();
        let node = |parent, user| NodeSpec { parent, shares: 1, user };
        let tree = ShareTree::build(&[node(None, false), node(Some(0), true)]);
        let ada = tree.position(1).unwrap();
        let now = Date { year: 2027, month: 1, day: 1, hour: 0, minute: 0, second: 0 };
        pools.begin(now);
        let user = |node| if node == ada { "ada" } else { "" };
        pools.learn(&tree, |node| Names { user: user(node), account: "root" });
        let names = |partition| JobNames { partition, ..JobNames::default() };
        let extra = pools.extra(names("fast"));
        let mut fair_share = FairShare::new();
        fair_share.distribute(&tree, &[0.0; 2], &[0, 1]);
        let job = |id| WaitingJob { node: ada, id, order: 0, size: 1.0, extra };
        let jobs: Vec<WaitingJob> = (1..=count).map(job).collect();
        let mut tickets = Vec::new();
        pools.distribute(&tree, &fair_share, &jobs, &[], &mut tickets);
        for (nth, has) in (1..=count).map(f64::from).zip(tickets) {
            assert_near(has.overridden, 1500.0 / nth, "both");
            let elsewhere = pools.in_entry(has, names("batch"));
            assert_near(elsewhere.overridden, 500.0 / nth, &format!("the {nth}. of {count}"));
            assert_eq!((elsewhere.share_tree, elsewhere.functional), (has.share_tree, has.functional));
            assert_eq!(pools.in_entry(has, names("fast")), has);
        }
    }
}

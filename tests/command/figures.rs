//! The pictures of pages that are drawn from the model: who starts next in one queue, and tickets on their way down the documented tree.

use std::fmt::Write as _;

use multifactor2_command::answers::what_if::{of_model, ChangeRow, Changes, Plugin, WhatIf};
use multifactor2_command::model::{Model, Options};
use multifactor2_core::rules::grants::{Pace, Periods, Sequences};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_fixtures::project::made;
use multifactor2_fixtures::svg::begin;

use crate::shown::cluster;
use crate::site;

/// docs/figures/tickets.svg: the documented tree, from the root on the left to users on the right. Lines are as wide as the tickets on them.
fn tickets() -> String {
    let snapshot = cluster();
    let model = Model::of(&snapshot, Options::default());
    // Who has no shares is no part of the picture.
    let shown = |at: usize| {
        !["root", "rest"].contains(&snapshot.associations[at].account.as_str())
            || snapshot.associations[at].parent == 0
    };
    let rows: Vec<usize> = (0..snapshot.associations.len()).filter(|at| shown(*at)).collect();
    let place = |id: u32| rows.iter().position(|at| snapshot.associations[*at].id == id);
    let depth = |row: usize| {
        let mut depth = 0;
        let mut at = row;
        while let Some(parent) = place(snapshot.associations[rows[at]].parent) {
            (at, depth) = (parent, depth + 1);
        }
        depth
    };
    let x = |row: usize| 20 + depth(row) * 130;
    let y = |row: usize| 36 + row * 34;
    let (mut lines, mut texts, mut words) = (String::new(), String::new(), Vec::new());
    for (row, at) in rows.iter().enumerate() {
        let (one, standing) = (&snapshot.associations[*at], &model.standings[*at]);
        let tickets = standing.tickets.unwrap_or_default();
        let side = if ["a", "b", "c"].contains(&one.account.as_str()) { "a" } else { "d" };
        if let Some(parent) = place(one.parent) {
            let (from, middle, to) = (x(parent) + 8, y(row), x(row) - 6);
            let path = format!("M{from} {} V{middle} H{to}", y(parent) + 8);
            let _ = if standing.active {
                writeln!(
                    lines,
                    "<path class=\"flow {side}\" stroke-width=\"{:.1}\" d=\"{path}\"/>",
                    (tickets / 50.0).max(1.0)
                )
            } else {
                writeln!(lines, "<path class=\"idle\" d=\"{path}\"/>")
            };
        }
        let name = if one.parent == 0 {
            "root"
        } else if one.user.is_empty() {
            &one.account
        } else {
            &one.user
        };
        let (weight, said) = if standing.active {
            ("head", format!("{tickets:.0} tickets"))
        } else {
            ("dim", "nobody waits".to_owned())
        };
        let factor = standing
            .factor
            .filter(|_| standing.active && !one.user.is_empty())
            .map(|factor| format!(", factor {factor:.3}"));
        let _ = writeln!(
            texts,
            "<text class=\"{weight}\" x=\"{}\" y=\"{}\">{name}</text><text class=\"{weight}\" x=\"{}\" y=\"{}\">S {:.2}  U {:.2}  {said}{}</text>",
            x(row),
            y(row) + 5,
            x(row) + 60,
            y(row) + 5,
            standing.shares_norm,
            standing.usage_norm,
            factor.clone().unwrap_or_default(),
        );
        words.push(format!("{name}: {said}{}.", factor.unwrap_or_default()));
    }
    let height = u32::try_from(y(rows.len())).unwrap();
    begin(760, height, "1000 tickets on their way down the documented tree", &words.join(" "))
        + &lines
        + &texts
        + "</svg>\n"
}

/// The queue of the pictures: the tutorial's cluster, in which user4 waits as well. Under one more line of multifactor2.conf, where there is one.
fn queue_under(line: Option<&str>) -> WhatIf {
    let mut snapshot = site::example();
    let of = |user: &str| snapshot.associations.iter().find(|one| one.user == user).unwrap();
    let more = [("user4", 1003), ("user5", 1004), ("user2", 1005)].map(|(user, id)| site::job(id, of(user)));
    snapshot.jobs.extend(more);
    site::show(&mut snapshot);
    if let Some(line) = line {
        site::set(&mut snapshot, line);
    }
    let changes = Changes { plugin: Some(Plugin::Stock), ..Changes::default() };
    of_model(&Model::of(&snapshot, Options::default()), &changes).unwrap()
}

/// A queue in a picture: its title, and user and fair-share factor of each job, the first to start first.
type Queue = (&'static str, Vec<(String, f64)>);

fn queue(title: &'static str, mut rows: Vec<ChangeRow>, is_after: bool) -> Queue {
    rows.sort_by_key(|row| if is_after { row.position_after } else { row.position_before });
    let factor = |row: &ChangeRow| if is_after { row.fair_share_after } else { row.fair_share_before };
    (title, rows.iter().map(|row| (row.user.clone(), factor(row).unwrap())).collect())
}

/// One queue under several policies, side by side: bars as long as the factors.
fn queues(title: &str, width: u32, all: &[Queue]) -> String {
    let (mut drawn, mut described) = (String::new(), Vec::new());
    let step = width / u32::try_from(all.len()).unwrap();
    // Name and number beside the bar.
    let longest = f64::from(step - 175);
    for (x, (title, rows)) in (0..).step_by(step as usize).zip(all) {
        let _ = writeln!(drawn, "<text class=\"head\" x=\"{}\" y=\"24\">{title}</text>", x + 10);
        let mut order = Vec::new();
        for (place, (user, factor)) in (0..).zip(rows) {
            let y = 36 + place * 29;
            let top = if ["user4", "user5"].contains(&user.as_str()) { "d" } else { "a" };
            let _ = writeln!(
                drawn,
                "<text x=\"{}\" y=\"{}\">{}. {user} of {top}</text><rect class=\"{top}\" x=\"{}\" y=\"{y}\" width=\"{:.1}\" height=\"20\"/>\
                 <text x=\"{:.1}\" y=\"{}\">{factor:.3}</text>",
                x + 10,
                y + 15,
                place + 1,
                x + 115,
                factor * longest,
                f64::from(x) + 121.0 + factor * longest,
                y + 15,
            );
            order.push(format!("{user} {factor:.3}"));
        }
        described.push(format!("{title}: {}.", order.join(", ")));
    }
    let description = format!("Fair-share factors, the first to start above. {}", described.join(" "));
    begin(width, 190, title, &description) + &drawn + "</svg>\n"
}

/// docs/figures/next.svg: who starts next in one queue, under Fair Tree and under this plugin.
fn next() -> String {
    let rows = queue_under(None).rows;
    queues(
        "Who starts next, in one queue, under Fair Tree and under multifactor2",
        720,
        &[queue("Fair Tree", rows.clone(), true), queue("multifactor2", rows, false)],
    )
}

/// docs/figures/distributions.svg: the same queue under Fair Tree and under each `Distribution`.
fn distributions() -> String {
    let under = |title, line| queue(title, queue_under(Some(line)).rows, false);
    queues(
        "One queue under Fair Tree and under each Distribution",
        1120,
        &[
            queue("Fair Tree", queue_under(None).rows, true),
            under("tickets", "Distribution=tickets"),
            under("standing", "Distribution=standing"),
            under("strict", "Distribution=strict"),
        ],
    )
}

/// docs/figures/rush.svg: what may be used in each month by who has used 40 of 100 hours in each month before, under each preset of grants.
fn rush() -> String {
    const PRESETS: [&str; 4] = ["jsc", "nhr", "rwth", "nesi"];
    let mut drawn = String::new();
    let mut described = Vec::new();
    for (place, preset) in (0_u32..).zip(PRESETS) {
        let line = format!(
            "Grant=Account Name=a Preset={preset} Amount=1200 From=2027-01-01 Until=2027-12-31 TimeZone=UTC"
        );
        let sequences = Sequences::of(&Settings::parse(&line, "f").unwrap().settings, |_| 0);
        let grant = &sequences.all[0].lines[0].grant;
        let months = Periods::new(date(1, 1), date(12, 31), Pace::Month, &|_| 0).unwrap();
        let base = 132 + place * 128;
        let _ = writeln!(drawn, "<text class=\"head\" x=\"10\" y=\"{}\">{preset}</text>", base - 50);
        let mut used = vec![0_i128; grant.count()];
        let mut all = Vec::new();
        for month in 1..=12 {
            let (begin, _) = months.span(month).unwrap();
            let standing = grant.standing(&used, begin).unwrap();
            let usable = (standing.beyond_from - used[standing.period - 1]).max(0) / 3600;
            let height = u32::try_from(usable).unwrap() / 12;
            let x = 60 + u32::try_from(month).unwrap() * 50;
            let class = if month == 12 { "a" } else { "d" };
            let _ = writeln!(
                drawn,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"32\" height=\"{height}\"/>\
                 <text class=\"middle\" x=\"{}\" y=\"{}\">{usable}</text>",
                base - height,
                x + 16,
                base - height - 4,
            );
            all.push(usable.to_string());
            used[standing.period - 1] += 40 * 3600;
        }
        let page = multifactor2_fixtures::project::read("docs/grants.md");
        assert!(page.contains(&format!("| `{preset}` | {}: ", all[11])), "{preset} in December: {}", all[11]);
        described.push(format!("{preset}: {}.", all.join(", ")));
    }
    for (month, name) in (1_u32..).zip("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(' ')) {
        let _ =
            writeln!(drawn, "<text class=\"middle dim\" x=\"{}\" y=\"536\">{name}</text>", 76 + month * 50);
    }
    let description =
        format!("Hours that may be used from the first of each month on. {}", described.join(" "));
    begin(720, 548, "What may be used in each month under four rules, of 1200 hours a year", &description)
        + &drawn
        + "</svg>\n"
}

fn date(month: u8, day: u8) -> Date {
    Date { year: 2027, month, day, hour: 0, minute: 0, second: 0 }
}

#[test]
fn the_pictures_are_those_of_the_model() {
    for (path, drawn) in [
        ("docs/figures/next.svg", next()),
        ("docs/figures/distributions.svg", distributions()),
        ("docs/figures/tickets.svg", tickets()),
        ("docs/figures/rush.svg", rush()),
    ] {
        made(path, drawn.as_bytes());
    }
}

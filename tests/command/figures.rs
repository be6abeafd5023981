//! The pictures of pages that are drawn from the model: who starts next in one queue, and tickets on their way down the documented tree.

use std::fmt::Write as _;

use multifactor2_command::answers::what_if::{of_model, ChangeRow, Changes, Plugin, WhatIf};
use multifactor2_command::model::{Model, Options};

use crate::shown::{cluster, made};
use crate::site;

/// What all of them begin with: light and dark, as the system prefers.
fn begin(width: u32, height: u32, title: &str, description: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>\n  \
         text {{ font: 13px sans-serif; fill: #222 }}\n  .head {{ font-weight: bold }}\n  .back {{ fill: #fff }}\n  .a {{ fill: #d55e00; stroke: #d55e00 }}\n  \
         .d {{ fill: #0072b2; stroke: #0072b2 }}\n  .flow {{ fill: none }}\n  .idle {{ fill: none; stroke: #999; stroke-dasharray: 3 3 }}\n  .dim {{ fill: #777 }}\n  \
         @media (prefers-color-scheme: dark) {{ text {{ fill: #ddd }} .back {{ fill: #161b22 }} .a {{ fill: #ff8c42; stroke: #ff8c42 }}\n    \
         .d {{ fill: #4aa3df; stroke: #4aa3df }} .flow {{ fill: none }} .dim {{ fill: #999 }} }}\n</style>\n<title>{title}</title>\n<desc>{description}</desc>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
    )
}

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

/// The queue of the picture: the tutorial's cluster, in which user4 waits, too.
fn queue_of_the_picture() -> WhatIf {
    let mut snapshot = site::example();
    let of = |user: &str| snapshot.associations.iter().find(|one| one.user == user).unwrap();
    let more = [("user4", 1003), ("user5", 1004), ("user2", 1005)].map(|(user, id)| site::job(id, of(user)));
    snapshot.jobs.extend(more);
    site::show(&mut snapshot);
    let changes = Changes { plugin: Some(Plugin::Stock), ..Changes::default() };
    of_model(&Model::of(&snapshot, Options::default()), &changes).unwrap()
}

/// docs/figures/next.svg: who starts next in one queue, under Fair Tree and under this plugin.
fn next() -> String {
    let queue = queue_of_the_picture();
    let mut rows = Vec::new();
    let (mut stock, mut ours): (Vec<_>, Vec<_>) = (queue.rows.iter().collect(), queue.rows.iter().collect());
    stock.sort_by_key(|row| row.position_after);
    ours.sort_by_key(|row| row.position_before);
    let mut described = Vec::new();
    for (x, title, all, factor) in [
        (0, "Fair Tree", stock, (|row: &ChangeRow| row.fair_share_after) as fn(&ChangeRow) -> Option<f64>),
        (370, "multifactor2", ours, |row: &ChangeRow| row.fair_share_before),
    ] {
        rows.push(format!("<text class=\"head\" x=\"{}\" y=\"24\">{title}</text>\n", x + 10));
        let mut order = Vec::new();
        for (place, row) in (0..).zip(all) {
            let (factor, y) = (factor(row).unwrap(), 36 + place * 29);
            let top = if ["user4", "user5"].contains(&row.user.as_str()) { "d" } else { "a" };
            rows.push(format!(
                "<text x=\"{}\" y=\"{}\">{}. {} of {top}</text><rect class=\"{top}\" x=\"{}\" y=\"{y}\" width=\"{:.1}\" height=\"20\"/>\
                 <text x=\"{:.1}\" y=\"{}\">{factor:.3}</text>\n",
                x + 10,
                y + 15,
                place + 1,
                row.user,
                x + 115,
                factor * 170.0,
                f64::from(x) + 121.0 + factor * 170.0,
                y + 15,
            ));
            order.push(format!("{} {factor:.3}", row.user));
        }
        described.push(format!("{title}: {}.", order.join(", ")));
    }
    let description = format!("Fair-share factors, the first to start above. {}", described.join(" "));
    begin(720, 190, "Who starts next, in one queue, under Fair Tree and under multifactor2", &description)
        + &rows.concat()
        + "</svg>\n"
}

#[test]
fn the_pictures_are_those_of_the_model() {
    for (path, drawn) in [("docs/figures/next.svg", next()), ("docs/figures/tickets.svg", tickets())] {
        made(path, drawn.as_bytes());
    }
}

//! How targets and windows are shown: what fits, what is explained, what the page has, and who is chosen.

use multifactor2_command::answers::tree::targets::{targets, Asked};
use multifactor2_command::answers::tree::{page, tree, Filter};
use multifactor2_command::answers::Report;
use multifactor2_command::model::{Model, Options};
use multifactor2_command::options::{AsJson, Printed};
use multifactor2_command::output::show::printout;
use multifactor2_command::output::Terminal;
use multifactor2_fixtures::points_model::cases;
use multifactor2_snapshot::records::Window;
use serde_json::Value;

use super::{in_windows, small, snapshot, BOTH};
use crate::outputs::{answered, conforms, schema, Sample};
use crate::site;

/// Each number of both tables is in the page, and the bars are as long as they say.
#[test]
fn the_page_has_the_numbers_of_both_tables() {
    let page = Sample::new(&in_windows()).written(&["tree"], "--html");
    let after =
        |text: &str| page.split_once(text).unwrap_or_else(|| panic!("no {text}: {page}")).1.to_owned();
    let cells = |table: &str| -> Vec<String> {
        let body = table.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
        let cells = body.split("<td").skip(1).map(|cell| cell.split_once('>').unwrap().1);
        cells.map(|cell| cell.split("</td>").next().unwrap().to_owned()).collect()
    };
    let targets = cells(&after("<caption>Targets: usage and what it should be</caption>"));
    assert_eq!(targets[1..], ["target", "50%", "31.7919%", "18.2081", "-", "18.2081"]);
    assert!(
        targets[0].contains("width=\"31.79%\"") && targets[0].contains("class=\"mark\" x=\"50.00%\""),
        "{targets:?}"
    );
    let windows = cells(&after("<caption>Windows: usage and weighted usage of each</caption>"));
    assert_eq!(windows[4..6], ["68.75", "31.7919"]);
    // Of four columns one is empty, and the first is the highest.
    assert_eq!(windows[0].matches("<rect").count(), 3, "{windows:?}");
    for part in [
        "x=\"0.00%\" y=\"0.00\" width=\"22.50%\" height=\"13.00\"",
        "x=\"50.00%\" y=\"10.83\"",
        "x=\"75.00%\" y=\"2.17\"",
    ] {
        assert!(windows[0].contains(part), "{part}: {windows:?}");
    }
    let rows: Vec<&[String]> = windows[6..].chunks(6).collect();
    for (row, due) in rows.iter().zip([
        ["60", "1", "60", "54.5455"],
        ["0", "0.5", "0", "0"],
        ["10", "0.25", "2.5", "10"],
        ["50", "0.125", "6.25", "33.3333"],
    ]) {
        assert_eq!(row[2..], due, "{windows:?}");
    }
    assert_eq!(rows.len(), 4);
    let without = Sample::new(&site::example()).written(&["tree"], "--html");
    assert!(!without.contains("Targets: usage and") && !without.contains("<h2>Windows"));
}

/// What a sentence above a table explains is in it, and nothing in it is left without.
#[test]
fn what_is_explained_is_there() {
    let mut random = multifactor2_fixtures::random();
    let mut seen = [0; 5];
    for _ in 0..80 {
        let case = cases::case(&mut random);
        let snapshot = snapshot(&case);
        let shown = Sample::new(&snapshot).ask(&["tree", "--targets"]).out;
        let Some((above, table)) = shown.split_once("\n\n") else { panic!("{shown}") };
        let above = above.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<&str> = table.lines().skip(1).take_while(|line| !line.is_empty()).collect();
        let metric = format!("h: hours of {}.", case.settings.metric);
        let has = |mark: &dyn Fn(&str) -> bool| rows.iter().any(|row| row.split_whitespace().any(mark));
        let is_hours =
            |word: &str| word.strip_suffix('h').is_some_and(|number| number.parse::<f64>().is_ok());
        for (at, (explained, is_there)) in [
            (metric.as_str(), has(&is_hours)),
            ("avail: of what the cluster could have delivered.", has(&|word| word.ends_with("%avail"))),
            ("sib: of what it and its siblings have used;", has(&|word| word.ends_with("%sib"))),
            ("ratio: the distance is a part of the target.", has(&|word| word == "ratio")),
            (
                "Points of -: they depend on the job.",
                rows.iter().any(|row| row.ends_with('-')) || !table.contains("Points"),
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let is_explained = above.contains(explained);
            if above.starts_with("Usage and its targets.") {
                assert_eq!(is_explained, is_there, "{explained}: {shown}");
                seen[at] += usize::from(is_there);
            } else {
                assert!(!is_explained, "{shown}");
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 3), "{seen:?}");
}

/// The plugin may tell of fewer windows than count: the sum has them all, and that is said.
#[test]
fn windows_that_are_not_told_are_in_the_sum_alone() {
    let lines = "Component=FS FSUser=1\nTarget=User Name=ada Percent=50\nTargetUsage=window\nTargetDepth=9\nTargetDecay=1";
    let sums = [("window", "association", "6", 7200.0), ("window", "association", "1", 14_400.0)];
    let mut snapshot = small(lines, &sums);
    for (of, key, amounts) in [
        ("association", "6", [1800.0, 1800.0]),
        ("association", "1", [3600.0, 3600.0]),
        ("all", "", [3600.0; 2]),
    ] {
        let (of, key, amounts) = (of.to_owned(), key.to_owned(), amounts.to_vec());
        let (begin, length, told) = if of == "all" { (43_200, 43_200, 2) } else { (0, 0, 0) };
        snapshot.windows.push(Window { of, key, amounts, begin, length, told });
    }
    let shown = Sample::new(&snapshot).ask(&["tree", "--windows"]).out;
    let said = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("Windows of 12:00:00, of which 9 count. Amounts are in hours of billing;"),
        "{shown}"
    );
    assert!(said.contains("The snapshot has the latest 2; older ones are only in the sums."), "{shown}");
    assert!(said.contains("User ada: 2 h count, 50% of all usage"), "{shown}");
    snapshot.windows[2].told = 9;
    assert!(!Sample::new(&snapshot).ask(&["tree", "--windows"]).out.contains("The snapshot has"));
}

#[test]
fn rows_fit_a_terminal_and_programs_have_all_fields() {
    let mut random = multifactor2_fixtures::random();
    let terminal = Terminal { width: Some(80), ..Terminal::PLAIN };
    let mut rows = 0;
    for _ in 0..60 {
        let case = cases::case(&mut random);
        let snapshot = snapshot(&case);
        let model = Model::of(&snapshot, Options::default());
        for asked in [BOTH, Asked { windows: false, ..BOTH }, Asked { targets: false, ..BOTH }] {
            let answer = targets(&model, &Filter::default(), asked);
            let shown = printout(&model, answer.clone(), AsJson::default(), &Printed::default(), terminal)
                .unwrap()
                .out;
            for line in shown.lines() {
                assert!(line.chars().count() <= 80, "{line}\n{shown}\n{}", case.settings);
            }
            let printed = Printed { parsable2: true, ..Printed::default() };
            let table = printout(&model, answer.clone(), AsJson::default(), &printed, terminal);
            if asked == BOTH {
                assert!(table.unwrap_err().to_string().contains("a single table"));
                continue;
            }
            let table = table.unwrap().out;
            let fields: Vec<usize> = table.lines().map(|line| line.split('|').count()).collect();
            assert!(fields.iter().all(|count| *count == if asked.targets { 15 } else { 11 }), "{table}");
            rows += fields.len();
            let json =
                printout(&model, answer, AsJson { json: true }, &Printed::default(), terminal).unwrap().out;
            let (value, schema) = (serde_json::from_str::<Value>(&json).unwrap(), schema("targets"));
            conforms(&value, &schema, &schema, "targets").unwrap();
        }
        let report = Report::new(&model, tree(&model, &Filter::default()));
        let answer = targets(&model, &Filter::default(), BOTH);
        let page = page::page(&report, &answer).unwrap();
        assert_eq!(page.contains("Targets: usage and"), !answer.targets.unwrap_or_default().is_empty());
        assert_eq!(page.contains("Windows: usage and weighted"), answer.windows.is_some());
    }
    assert!(rows > 500, "{rows}");
}

#[test]
fn a_filter_leaves_those_that_are_asked_for() {
    let lines = "Component=FS FSUser=1\nTarget=User Name=* Percent=50\nTarget=Account Name=* Percent=50\n\
                 Target=QOS Name=* Percent=50\nTarget=Parent Name=physics Percent=50";
    let site = Sample::new(&small(lines, &[]));
    let whose = |words: &[&str]| {
        let shown = site.ask(&[&["tree", "--targets", "-P", "-n", "-o", "kind,name"], words].concat());
        assert!(answered(&shown), "{shown:?}");
        shown.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(whose(&[]).len(), 2 + 3 + 5 + 2);
    assert_eq!(
        whose(&["-u", "ada"]),
        ["User|ada", "Account|history", "Account|root", "Parent|history", "Parent|ada in history"]
    );
    assert_eq!(
        whose(&["-A", "physics"]),
        ["User|john", "Account|physics", "Account|root", "Parent|physics", "Parent|john in physics"]
    );
}

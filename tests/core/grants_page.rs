//! docs/grants.md: its examples are settings, and its numbers are right.

use multifactor2_core::rules::grants::{shown, Sequences};
use multifactor2_core::settings::Settings;
use multifactor2_fixtures::project;

fn examples() -> Vec<String> {
    let page = project::read("docs/grants.md");
    let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
    lines
        .filter(|line| line.starts_with("Grant=") || line.starts_with("Adjust="))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_example_is_read_without_a_warning() {
    let lines = examples();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    let text = format!("{}\n{}\n{}\n", lines[0], lines[3], lines[4]);
    for text in [text, lines[1].clone(), lines[2].clone()] {
        let loaded = Settings::parse(&text, "docs/grants.md").unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(loaded.warnings, [], "{text}");
    }
}

/// The table of a bank, and the command that makes lines of it.
#[test]
fn the_table_of_a_bank_becomes_lines() {
    let page = project::read("docs/grants.md");
    let lines: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let header = lines.iter().position(|line| line.starts_with("account,unit,amount,")).unwrap();
    let table = lines[header..header + 3].join("\n") + "\n";
    let awk = lines.iter().find(|line| line.starts_with("awk ")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("grants.csv"), table).unwrap();
    let output =
        std::process::Command::new("sh").args(["-c", awk]).current_dir(directory.path()).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let loaded = Settings::parse(&lines, "f").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((loaded.settings.grants.len(), &loaded.warnings[..]), (2, &[][..]), "{lines}");
    let second = &loaded.settings.grants[1];
    assert_eq!(
        (&second.names[..], second.amount.as_str(), second.tres().as_deref()),
        (&["ocean".to_owned()][..], "20000", Some("gres/gpu"))
    );
}

/// What may be used in each month, by the rules of two presets.
#[test]
fn the_table_of_months_is_computed() {
    let page = project::read("docs/grants.md");
    let rows: Vec<Vec<String>> = page
        .lines()
        .filter(|line| {
            ["January", "February", "March", "April", "May"]
                .iter()
                .any(|month| line.starts_with(&format!("| {month} |")))
        })
        .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert_eq!(rows.len(), 5);
    let number = |text: &str| text.parse::<f64>().unwrap();
    for (column, preset) in [(3, "jsc"), (4, "rwth")] {
        let line = format!(
            "Grant=Account Name=a Preset={preset} Amount=1200 From=2027-01-01 Until=2027-12-31 TimeZone=UTC"
        );
        let sequences = Sequences::of(&Settings::parse(&line, "f").unwrap().settings, |_| 0);
        let grant = &sequences.all[0].lines[0].grant;
        let mut used = Vec::new();
        for (period, row) in (1..).zip(&rows) {
            let (begin, _) = grant.periods.span(period).unwrap();
            used.push(0);
            let standing = grant.standing(&used, begin).unwrap();
            #[allow(clippy::cast_precision_loss)] // small
            let usable = standing.beyond_from.max(0) as f64 / 3600.0;
            assert_eq!(format!("{usable:.0}"), row[column], "{preset}, month {period}");
            #[allow(clippy::cast_possible_truncation)] // small
            let hours = number(&row[2]) as i128;
            used[period - 1] = hours * 3600;
        }
    }
}

/// What is left by the third rule on the last day of a month and on the first of the next one.
#[test]
fn the_numbers_of_ageing_are_computed() {
    let line = "Grant=Account Name=a Preset=nesi Amount=1200 From=2027-01-01 Until=2027-12-31 TimeZone=UTC";
    let sequences = Sequences::of(&Settings::parse(line, "f").unwrap().settings, |_| 0);
    let grant = &sequences.all[0].lines[0].grant;
    let first = grant.periods.whole().0;
    let left = |day: i64, used: &[i128]| {
        let used: Vec<i128> = used.iter().map(|hours| hours * 3600).collect();
        shown(&grant.standing(&used, first + day * 86_400).unwrap().balance) / 3600.0
    };
    let page = project::read("docs/grants.md");
    for (day, used, words) in [
        (31, &[40][..], "1,160 are left"),
        (89, &[40, 130], "1,030 were left"),
        (90, &[40, 130], "904.11 on 1 April"),
    ] {
        let left = format!("{:.2}", left(day, used)).trim_end_matches(".00").to_owned();
        assert_eq!(left, words.split(' ').next().unwrap().replace(',', ""));
        assert!(page.contains(words), "{words}");
    }
}

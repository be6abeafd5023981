//! docs/charging.md: its examples are settings, and its numbers are right.

use multifactor2_core::rules::charge_rules::ChargeRules;
use multifactor2_core::settings::Settings;

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/charging.md")).unwrap()
}

#[test]
fn every_example_is_read_without_a_warning() {
    let page = page();
    let lines: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(lines.len(), 10, "{lines:#?}");
    for line in lines {
        let loaded = Settings::parse(line, "docs/charging.md").unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(loaded.warnings, [], "{line}");
        assert_ne!(loaded.settings, Settings::default(), "{line}");
    }
}

/// Shares over usage, by hand: nine equal shares, and no less than a hundredth of a share of usage.
#[test]
fn the_table_of_accounts_is_computed() {
    let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
    let page = page();
    let rows: Vec<[f64; 3]> = page
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
            let usage = cells.get(1)?.trim_end_matches(", then 0");
            let is_number = usage.starts_with(|first: char| first.is_ascii_digit());
            is_number.then(|| [number(usage), number(cells[2]), number(cells[3])])
        })
        .collect();
    assert_eq!(rows.len(), 9);
    let scavenger = 43_214_818_947.0;
    let root: f64 = rows.iter().map(|row| row[0]).sum();
    assert_eq!(root.to_bits(), 69_067_378_677.0_f64.to_bits(), "as the university's listing shows it");
    let level = |usage: f64, root: f64| 1.0 / (9.0 * usage / root).max(0.01);
    for [usage, all, others] in rows {
        assert!((level(usage, root) - all).abs() < 6e-5, "{usage}: {all}");
        let usage = if usage >= scavenger { 0.0 } else { usage };
        assert!((level(usage, root - scavenger) - others).abs() < 6e-5, "{usage}: {others}");
    }
}

/// Slurm keeps accounts and QOS in small letters. Of partitions, reservations and wckeys `Night` and `night` are two.
#[test]
fn names_of_lines_are_compared_as_slurm_compares_them() {
    let of = |kind: &str, name: &str| {
        let line = format!("Charge={kind} Name=Night Factor=0.5");
        let rules = ChargeRules::of(&Settings::parse(&line, "test").unwrap().settings);
        let by_name = match kind {
            "Partition" => &rules.partitions,
            "QOS" => &rules.qos,
            "Reservation" => &rules.reservations,
            "WCKey" => &rules.wckeys,
            "Account" => &rules.accounts,
            _ => &rules.parents,
        };
        by_name.of(name).usage
    };
    for (kind, of_other_case) in [
        ("Partition", 1.0),
        ("Reservation", 1.0),
        ("WCKey", 1.0),
        ("QOS", 0.5),
        ("Account", 0.5),
        ("Parent", 0.5),
    ] {
        let found = ["Night", "night", "NIGHT", "nigh"].map(|name| of(kind, name));
        let expected = [0.5_f64, of_other_case, of_other_case, 1.0];
        assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "{kind}");
    }
}

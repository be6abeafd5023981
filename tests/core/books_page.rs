//! docs/books.md: its examples are settings, and its table is what they give.

use multifactor2_core::settings::Settings;
use multifactor2_fixtures::books_model::{in_book, Account};

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/books.md")).unwrap()
}

#[test]
fn every_example_is_read_without_a_warning() {
    let page = page();
    let lines: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(lines.len(), 6, "{lines:#?}");
    for line in lines {
        let loaded = Settings::parse(line, "docs/books.md").unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!((loaded.warnings.len(), loaded.settings.books.len()), (0, 1), "{line}");
    }
}

#[test]
fn the_table_of_moabs_example_is_computed() {
    let page = page();
    let (_, moab) = page.split_once("\n## Moab\n").unwrap();
    let lines: Vec<&str> = moab.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let text = lines.join(
        "
",
    );
    let books = Settings::parse(&text, "page").unwrap().settings.books;
    let rows: Vec<Vec<&str>> = moab
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let [head, _, rows @ ..] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((rows.len(), head.len()), (4, 4));
    let account = |parent, name: &str, waits: bool| Account {
        parent,
        shares: Some(1),
        name: name.to_owned(),
        own: vec![0.0],
        waiting: vec![waits],
    };
    let mut all = vec![account(None, "root", false)];
    all.extend(rows.iter().map(|row| account(Some(0), row[0], false)));
    all.extend((1..=rows.len()).map(|parent| account(Some(parent), "", true)));
    for (column, book) in books.iter().enumerate() {
        assert_eq!(head[column + 1], book.partitions[0]);
        let shares = book.shares_of_accounts().unwrap();
        let shares: Vec<(&str, u32)> = shares.iter().map(|(name, shares)| (name.as_str(), *shares)).collect();
        let due = in_book(&all, 0, Some(&shares));
        for (at, row) in rows.iter().enumerate() {
            let shown: f64 = row[column + 1].parse().unwrap();
            assert!((due[5 + at].factor - shown).abs() < 5e-4, "{}: {shown}", row[0]);
        }
    }
}

//! docs/snapshot.md describes every kind and every column, and no others.

use multifactor2_fixtures::project::read;
use multifactor2_snapshot::format::{FORMAT, LONGEST_LINE, MOST_RECORDS, VERSION};
use multifactor2_snapshot::records::{
    About, Association, Book, BookAssociation, Entry, Grant, Group, Job, Parameter, Partition, Qos, Record,
    Running, Setting, TreeWindow, Tres, Usage, Window,
};

fn of<R: Record>() -> (&'static str, Vec<String>) {
    (R::KIND, R::COLUMNS.iter().map(|column| (*column).to_owned()).collect())
}

/// Kinds in their order in a file.
fn kinds() -> Vec<(&'static str, Vec<String>)> {
    vec![
        of::<About>(),
        of::<Parameter>(),
        of::<Setting>(),
        of::<Tres>(),
        of::<Partition>(),
        of::<Qos>(),
        of::<Association>(),
        of::<Book>(),
        of::<BookAssociation>(),
        of::<Job>(),
        of::<Entry>(),
        of::<Running>(),
        of::<Usage>(),
        of::<Window>(),
        of::<TreeWindow>(),
        of::<Group>(),
        of::<Grant>(),
    ]
}

#[test]
fn the_page_has_every_kind_and_column_with_unit_and_meaning() {
    let page = read("docs/snapshot.md");
    let sections: Vec<&str> = page.split("\n### `").skip(1).collect();
    assert_eq!(sections.len(), kinds().len());
    for ((kind, columns), section) in kinds().iter().zip(sections) {
        let (name, text) = section.split_once('`').expect("a heading");
        assert_eq!(name, *kind, "kinds are in the order of the file");
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let described: Vec<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
        assert_eq!(&described, columns, "{kind}: columns are in the order of the file");
        for row in rows {
            assert_eq!(row.len(), 3, "{kind}: {row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{kind}: {row:?}");
        }
    }
}

#[test]
fn the_page_has_the_version_and_the_limits() {
    let page = read("docs/snapshot.md");
    assert!(page.contains(&format!("{{\"format\":\"{FORMAT}\",\"version\":{VERSION}}}")));
    assert_eq!((LONGEST_LINE, MOST_RECORDS), (1 << 20, 4_000_000));
    assert!(page.contains("1 MiB") && page.contains("4,000,000 records"));
}

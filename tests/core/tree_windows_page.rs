//! docs/tree-windows.md: its lines are settings, and its table is what they give.

use multifactor2_core::rules::windows::{roll, usage};
use multifactor2_core::settings::Settings;

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tree-windows.md")).unwrap()
}

#[test]
fn the_table_is_what_the_lines_give() {
    let page = page();
    let is_ours = |line: &&str| line.starts_with("Tree");
    let lines: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("    ")).filter(is_ours).collect();
    let loaded = Settings::parse(&lines.join("\n"), "page").unwrap();
    assert_eq!(loaded.warnings, []);
    let (length, depth, decay) = loaded.settings.tree_windows().unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("window"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let [windows @ .., sum] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((length, depth), (86_400, windows.len()));
    let number = |cell: &str| cell.parse::<f64>().unwrap();
    let column = |at: usize| windows.iter().map(|row| number(row[at])).collect::<Vec<f64>>();
    let (mut ann, mut all) = (column(2), column(3));
    for (age, row) in (0..).zip(windows) {
        assert_eq!(number(row[0]).to_bits(), f64::from(age).to_bits());
        let counts = decay.powi(age);
        for (cell, due) in [(4, counts), (5, counts * number(row[2])), (6, counts * number(row[3]))] {
            assert!((number(row[cell]) - due).abs() < 1e-12, "{row:?}");
        }
    }
    assert_eq!(
        [usage(&ann, decay), usage(&all, decay)].map(f64::to_bits),
        [sum[5], sum[6]].map(|cell| number(cell).to_bits())
    );
    let said = |part: f64| format!("{:.2} %", 100.0 * part);
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("a NormUsage of {}.", said(usage(&ann, decay) / usage(&all, decay)))));
    roll(&mut ann, 1, depth);
    roll(&mut all, 1, depth);
    let (ann, all) = (usage(&ann, decay), usage(&all, decay));
    assert!(text.contains(&format!("it is {ann} of {all}, which is {}.", said(ann / all))), "{ann} {all}");
}

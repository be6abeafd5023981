//! The tables of docs/performance.md, from `results.csv`: one line for all cases of a measure that differ only in
//! associations and TRES weights, and one table of what settings cost.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::policies::OLDER;

/// What stands around the part of the page that is made here, each on a line of its own.
const BEGIN: &str = "<!-- begin bench";
const END: &str = "<!-- end bench";

/// The same of the part on answers of the command.
const BEGIN_ANSWERS: &str = "<!-- begin answers";
const END_ANSWERS: &str = "<!-- end answers";

/// All cases of a measure on one kind of heap with one number of jobs: medians and ratios.
#[derive(Debug)]
struct MeasuredLine {
    /// Measure, jobs and heap.
    what: [String; 3],
    unit: String,
    goal: String,
    stock: Range,
    ours: Range,
    ratio: Range,
}

/// Measures that are in the results only.
const LEFT_OUT: [&str; 2] = ["job write lock, longest", "running: association write lock held"];

#[derive(Debug, Clone, Copy)]
struct Range(f64, f64);

impl Range {
    const NONE: Range = Range(f64::INFINITY, f64::NEG_INFINITY);

    fn add(&mut self, value: f64) {
        *self = Range(self.0.min(value), self.1.max(value));
    }

    /// With so many decimals; one number where both are the same in them.
    fn shown(self, decimals: usize, unit: &str) -> String {
        let [low, high] = [self.0, self.1].map(|value| format!("{value:.decimals$}"));
        match (self.0.is_finite(), low == high) {
            (false, _) => "–".to_owned(),
            (true, true) => low + unit,
            (true, false) => format!("{low}–{high}{unit}"),
        }
    }
}

/// Rewrites the part of the page between the marks.
pub fn rewrite(page: &Path, csv: &str, notes: &[String]) -> Result<()> {
    replace(page, (BEGIN, END), &part(csv, notes)?)
}

/// The same with the answers of the command.
pub fn rewrite_answers(page: &Path, list: &str) -> Result<()> {
    replace(page, (BEGIN_ANSWERS, END_ANSWERS), list)
}

fn replace(page: &Path, marks: (&str, &str), part: &str) -> Result<()> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let new = replaced(&text, marks, part).with_context(|| format!("{} has no marks", page.display()))?;
    fs::write(page, new).with_context(|| page.display().to_string())
}

fn replaced(text: &str, (begin, end): (&str, &str), part: &str) -> Option<String> {
    let begin = text.find(begin)?;
    let begin = begin + text[begin..].find('\n')? + 1;
    let end = begin + text[begin..].find(end)?;
    Some(format!("{}{part}{}", &text[..begin], &text[end..]))
}

/// The table, and what was noted.
fn part(csv: &str, notes: &[String]) -> Result<String> {
    let mut text = String::from(
        "\n| measure | jobs | heap | stock | this plugin | stock : this | goal | reference : this |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let rows = rows(csv)?;
    let beside_stock: Vec<&ResultRow> = rows.iter().filter(|row| row.settings.is_empty()).collect();
    for line in lines(&beside_stock).iter().filter(|line| !LEFT_OUT.contains(&line.what[0].as_str())) {
        let [measure, jobs, heap] = &line.what;
        let decimals = usize::from(line.unit != "ns");
        let unit = format!(" {}", line.unit);
        let _ = writeln!(
            text,
            "| {measure} | {jobs} | {heap} | {} | {} | {} | {} | {} |",
            line.stock.shown(decimals, &unit),
            line.ours.shown(decimals, &unit),
            line.ratio.shown(1, ""),
            if line.goal.is_empty() { "–" } else { &line.goal },
            of_reference(&rows, &line.what).shown(1, ""),
        );
    }
    text.push_str(&with_settings(&rows));
    text.push('\n');
    for note in notes {
        let _ = writeln!(text, "- {note}");
    }
    text.push('\n');
    Ok(text)
}

/// The older build as a multiple of this one.
fn of_reference(rows: &[ResultRow], what: &[String; 3]) -> Range {
    let mut range = Range::NONE;
    for row in rows.iter().filter(|row| row.settings == OLDER && row.what == *what) {
        range.add(row.stock / row.ours);
    }
    range
}

/// Cells of a row behind its measure. The last one may have commas.
const CELLS: usize = 16;

/// A row of `results.csv`.
#[derive(Debug)]
struct ResultRow {
    /// Measure, jobs and heap.
    what: [String; 3],
    unit: String,
    goal: String,
    settings: String,
    stock: f64,
    ours: f64,
}

fn rows(csv: &str) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for row in csv.lines().skip(1) {
        let (measure, rest) =
            row.trim_start_matches('"').split_once("\",").context("a row has no measure")?;
        // jobs, associations, TRES weights, heap, unit, rounds, three of stock, three of ours, two ratios, goal, settings.
        let cells: Vec<&str> = rest.splitn(CELLS, ',').collect();
        let number = |at: usize| -> Result<f64> {
            cells.get(at).and_then(|cell| cell.parse().ok()).with_context(|| format!("cell {at} of: {row}"))
        };
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        rows.push(ResultRow {
            what: [measure.to_owned(), thousands(cell(0)), cell(3).to_owned()],
            unit: cell(4).to_owned(),
            goal: cell(14).to_owned(),
            settings: cell(15).to_owned(),
            stock: number(7)?,
            ours: number(10)?,
        });
    }
    Ok(rows)
}

fn lines(rows: &[&ResultRow]) -> Vec<MeasuredLine> {
    let mut lines: Vec<MeasuredLine> = Vec::new();
    for row in rows {
        let at = lines.iter().position(|line| line.what == row.what).unwrap_or_else(|| {
            lines.push(MeasuredLine {
                what: row.what.clone(),
                unit: row.unit.clone(),
                goal: row.goal.clone(),
                stock: Range::NONE,
                ours: Range::NONE,
                ratio: Range::NONE,
            });
            lines.len() - 1
        });
        let line = &mut lines[at];
        line.stock.add(row.stock);
        line.ours.add(row.ours);
        line.ratio.add(row.stock / row.ours);
    }
    lines
}

/// What the page tells of settings.
const OF_SETTINGS: [&str; 5] = [
    "cycle, CPU",
    "job write lock held",
    "priority_p_set, new job",
    "memory kept per job",
    "decay thread per cycle, CPU",
];

/// What settings cost, as multiples of the same without any.
fn with_settings(rows: &[ResultRow]) -> String {
    let told = |row: &&ResultRow| {
        let settings = row.settings.as_str();
        // What is measured beside other settings is no multiple of none.
        let is_beside = settings.contains(" beside ");
        !is_beside && !matches!(settings, "" | OLDER) && OF_SETTINGS.contains(&row.what[0].as_str())
    };
    let (mut columns, mut lines): (Vec<&str>, Vec<&[String; 3]>) = (Vec::new(), Vec::new());
    for row in rows.iter().filter(told) {
        if !columns.contains(&row.settings.as_str()) {
            columns.push(&row.settings);
        }
        if !lines.contains(&&row.what) {
            lines.push(&row.what);
        }
    }
    if columns.is_empty() {
        return String::new();
    }
    let mut text = format!("\n| measure | jobs | heap | without | {} |\n", columns.join(" | "));
    let _ = writeln!(text, "|---|---|---|---|{}", "---|".repeat(columns.len()));
    for what in lines {
        let of_line: Vec<&ResultRow> = rows.iter().filter(told).filter(|row| &row.what == what).collect();
        let Some(first) = of_line.first() else { continue };
        let without = Range(first.stock, first.stock);
        let _ = write!(
            text,
            "| {} | {} |",
            what.join(" | "),
            without.shown(usize::from(first.unit == "ms"), &format!(" {}", first.unit))
        );
        for column in &columns {
            let found = of_line.iter().find(|row| row.settings == *column);
            let times = found.map_or_else(|| "–".to_owned(), |row| format!("× {:.1}", row.ours / row.stock));
            let _ = write!(text, " {times} |");
        }
        text.push('\n');
    }
    text
}

/// `100000` as `100,000`.
fn thousands(number: &str) -> String {
    let mut text = String::new();
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && (number.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "measure,jobs,...\n\
        \"cycle, CPU\",100000,1000,false,fresh,ms,5,31,32.5,34,23,25,26,1.3,1.3,3,\n\
        \"cycle, CPU\",100000,10000,true,fresh,ms,5,57,58.5,60,28,29.25,30,2,2,3,\n\
        \"list for sprio, per job\",100000,1000,false,fresh,ns,5,250,260.4,340,300,316.6,360,0.8,0.9,,\n\
        \"cycle, CPU\",10000,100000,false,fresh,ms,5,66,67,68,45,50,51,1.4,1.5,3,\n\
        \"cycle, CPU\",100000,1122,false,fresh,ms,5,29,30,31,29,30.4,31,1,1,1.2,strict\n\
        \"cycle, CPU\",100000,1122,false,fresh,ms,5,29,30,31,50,51,52,0.6,0.6,3,tree\n\
        \"memory kept per job\",100000,1122,false,fresh,B,1,84,84,84,200,210,210,0.4,0.4,,tree\n\
        \"cycle, CPU\",100000,1122,false,fresh,ms,5,29,30,31,33,36,39,0.8,0.8,,5,000 grants\n\
        \"cycle, CPU\",100000,1122,false,fresh,ms,5,29,30,31,33,36,39,0.8,0.8,,5,000 grants beside tree\n\
        \"cycle, CPU\",100000,1122,false,fresh,ms,5,29,20,31,29,25,31,1,1,1.2,older build : this\n\
        \"sprio of all jobs\",100000,1122,false,fresh,ms,1,84,84,84,200,210,210,0.4,0.4,,tree\n";

    #[test]
    fn cases_of_a_measure_are_one_line() {
        let part = part(CSV, &["Machine: two".to_owned()]).unwrap();
        for line in [
            "| cycle, CPU | 100,000 | fresh | 32.5–58.5 ms | 25.0–29.2 ms | 1.3–2.0 | 3 | 0.8 |",
            "| list for sprio, per job | 100,000 | fresh | 260 ns | 317 ns | 0.8 | – | – |",
            "| cycle, CPU | 10,000 | fresh | 67.0 ms | 50.0 ms | 1.3 | 3 | – |",
            "| measure | jobs | heap | without | strict | tree | 5,000 grants |",
            "| cycle, CPU | 100,000 | fresh | 30.0 ms | × 1.0 | × 1.7 | × 1.2 |",
            "| memory kept per job | 100,000 | fresh | 84 B | – | × 2.5 | – |",
            "- Machine: two",
        ] {
            assert!(part.contains(&format!("\n{line}\n")), "{line}\n{part}");
        }
        assert!(!part.contains("sprio of all jobs"), "{part}");
    }

    #[test]
    fn only_the_part_between_the_marks_changes() {
        let page = "a\n<!-- begin bench: x -->\nold\n<!-- end bench -->\nb\n";
        assert_eq!(replaced(page, (BEGIN, END), "new\n").unwrap(), page.replace("old", "new"));
        assert_eq!(replaced("a\n", (BEGIN, END), "new\n"), None);
        assert!(part("measure\n\"x\",1,2\n", &[]).is_err());
    }
}

//! The result: a table on standard output, `results.csv` and `ratios.svg`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::samples::{Beside, MeasureRow, Samples};

/// What was measured so far; each row is printed when it comes.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<MeasureRow>,
    notes: Vec<String>,
}

impl Report {
    /// Adds a row and prints it as progress.
    pub fn add(&mut self, row: MeasureRow) {
        eprintln!("{}", line(&row));
        self.rows.push(row);
    }

    /// Adds a sentence that follows the table.
    pub fn note(&mut self, note: String) {
        eprintln!("{note}");
        self.notes.push(note);
    }

    /// Our median of a measure for so many jobs and associations, on a fresh heap without TRES weights.
    pub fn median(&self, measure: &str, jobs: u32, associations: u32) -> Option<f64> {
        let found = self.rows.iter().find(|row| {
            let scene = &row.scene;
            (row.measure, row.beside) == (measure, Beside::Stock)
                && (scene.jobs, scene.associations, scene.tres, scene.heap)
                    == (jobs, associations, false, "fresh")
        });
        found.map(|row| row.ours.median())
    }

    /// The table, in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| measure | settings | jobs | associations | TRES weights | heap | unit | stock, or without settings | ours | ratio | goal |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            let _ = writeln!(text, "{}", line(row));
        }
        text.push('\n');
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text
    }

    /// Writes table, CSV and plot into a directory.
    pub fn write(&self, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory)?;
        fs::write(directory.join("results.md"), self.table())?;
        fs::write(directory.join("results.csv"), self.csv())?;
        fs::write(directory.join("ratios.svg"), self.plot())?;
        Ok(())
    }

    fn csv(&self) -> String {
        let mut text = String::from(
            "measure,jobs,associations,tres_weights,heap,unit,rounds,\
             stock_min,stock_median,stock_max,ours_min,ours_median,ours_max,\
             ratio_of_medians,ratio_of_minima,goal,settings\n",
        );
        for row in &self.rows {
            let scene = &row.scene;
            let _ = write!(
                text,
                "\"{}\",{},{},{},{},{},{},{},{},{:.3},{:.3},",
                row.measure,
                scene.jobs,
                scene.associations,
                scene.tres,
                scene.heap,
                row.unit,
                row.ours.count(),
                numbers(&row.stock),
                numbers(&row.ours),
                row.ratio(),
                row.ratio_of_minima()
            );
            let goal = row.goal.map_or_else(String::new, |goal| goal.to_string());
            let _ = writeln!(text, "{goal},{}", row.beside.settings());
        }
        text
    }

    /// One bar per row: our median as a part of stock's, whose bar is as long as the frame.
    fn plot(&self) -> String {
        const LINE: usize = 22;
        const LEFT: f64 = 520.0;
        const WIDTH: f64 = 400.0;
        let rows: Vec<&MeasureRow> = self.rows.iter().filter(|row| row.beside == Beside::Stock).collect();
        let height = (rows.len() + 2) * LINE;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1040\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"10\" y=\"16\" font-weight=\"bold\">Time of priority/multifactor2 as a part of stock \
             priority/multifactor (grey: stock)</text>\n"
        );
        for (at, row) in rows.into_iter().enumerate() {
            let y = (at + 1) * LINE + 6;
            let part = (row.ours.median() / row.stock.median() * WIDTH).clamp(1.0, 1.25 * WIDTH);
            let colour = if row.is_good() { "#269" } else { "#c60" };
            let _ = writeln!(
                svg,
                "<text x=\"10\" y=\"{text_y}\">{}</text>\
                 <rect x=\"{LEFT}\" y=\"{y}\" width=\"{WIDTH}\" height=\"14\" fill=\"#ddd\"/>\
                 <rect x=\"{LEFT}\" y=\"{y}\" width=\"{part:.1}\" height=\"14\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{text_y}\">{:.2} : 1</text>",
                label(row),
                LEFT + WIDTH.max(part) + 8.0,
                row.ratio(),
                text_y = y + 11,
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn label(row: &MeasureRow) -> String {
    let scene = &row.scene;
    let tres = if scene.tres { ", TRES" } else { "" };
    format!("{}: {} jobs, {} associations{tres}, {}", row.measure, scene.jobs, scene.associations, scene.heap)
}

fn numbers(samples: &Samples) -> String {
    format!("{:.3},{:.3},{:.3}", samples.min(), samples.median(), samples.max())
}

/// Median and spread.
fn spread(samples: &Samples) -> String {
    format!("{:.2} ({:.2}–{:.2})", samples.median(), samples.min(), samples.max())
}

fn line(row: &MeasureRow) -> String {
    let scene = &row.scene;
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    [
        row.measure.to_owned(),
        row.beside.settings().to_owned(),
        scene.jobs.to_string(),
        scene.associations.to_string(),
        if scene.tres { "yes" } else { "no" }.to_owned(),
        scene.heap.to_owned(),
        row.unit.to_owned(),
        spread(&row.stock),
        spread(&row.ours),
        format!("{:.2}", row.ratio()),
        or_none(row.goal.map(|goal| format!("{goal}"))),
    ]
    .iter()
    .fold("|".to_owned(), |line, cell| line + " " + cell + " |")
}

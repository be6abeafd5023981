//! Shows how a factor recovers, with a small plot: one bar for each time.

use std::fmt::Write as _;

use crate::answers::recover::{Account, Point, Recover, Scenario};
use crate::answers::About;
use crate::error::Error;
use crate::options::Printed;
use crate::output::numbers::{number, span};
use crate::output::show::{close, Show};
use crate::output::{Page, Terminal};

/// The length of the bar of 1.
const LENGTH: f64 = 50.0;

/// The most bars of a plot.
const BARS: usize = 12;

impl Show for Recover {
    fn show(&self, about: &About, _: &Printed, terminal: Terminal) -> Result<String, Error> {
        let mut page = Page::new(terminal);
        for account in &self.accounts {
            page.headline(&headline(&self.user, account));
            let mut said: Vec<&str> = account.courses.iter().map(|course| course.sentence.as_str()).collect();
            said.dedup();
            for sentence in said {
                page.item(sentence);
            }
            let plotted = account.courses.iter().find(|course| course.points.len() > 1);
            if let Some(course) = plotted {
                page.title(&format!("{} ('|' marks {})", course.others.described(), number(self.to)));
                plot(&mut page, course, self.to);
            }
            page.ready("\n");
        }
        self.remarks.iter().for_each(|remark| page.warning(remark));
        close(&mut page, about);
        Ok(page.finish())
    }
}

fn headline(user: &str, account: &Account) -> String {
    let mut name = format!("{user} in {}", account.account);
    if !account.partition.is_empty() {
        let _ = write!(name, " ({})", account.partition);
    }
    if let Some(book) = &account.book {
        name.extend([", book ", book, ","]);
    }
    format!("The fair-share factor of {name} is {} now.", number(account.factor))
}

fn plot(page: &mut Page, course: &Scenario, to: f64) {
    let points = thinned(&course.points);
    let width = points.iter().map(|point| label(point).len()).max().unwrap_or_default();
    for point in points {
        let bar: String = (0..=cells(1.0)).map(|cell| mark(cell, point.factor, to)).collect();
        page.ready(&format!("{:>width$}  {:.3}  {}", label(point), point.factor, bar.trim_end()));
    }
}

fn mark(cell: usize, factor: f64, to: f64) -> char {
    match cell {
        cell if cell == cells(to) => '|',
        cell if cell < cells(factor) => '#',
        _ => ' ',
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to 50
fn cells(factor: f64) -> usize {
    (factor.clamp(0.0, 1.0) * LENGTH).round() as usize
}

fn label(point: &Point) -> String {
    match point.after {
        0 => "now".to_owned(),
        after => format!("+{}", span(after)),
    }
}

/// The first, the last, and some in between.
fn thinned(points: &[Point]) -> Vec<&Point> {
    let last = points.len().saturating_sub(1);
    let bars = points.len().min(BARS);
    (0..bars).map(|bar| &points[last * bar / (bars - 1).max(1)]).collect()
}

//! Draws charts as SVG. Widths are percentages and heights are pixels, so that text has the same size on a phone as on a desktop.

use std::fmt::Write as _;

use maud::{html, Markup, PreEscaped};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Shown, COLOURS};
use crate::output::{escape, numbers};

/// How a value is written.
pub type Unit = fn(f64) -> String;

/// Parts of 100, as they are.
pub fn percent(value: f64) -> String {
    numbers::percent(value / 100.0)
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    pub(super) title: String,
    pub(super) desc: String,
    height: usize,
    body: Markup,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SvgLine {
    /// What it is.
    pub name: String,
    /// x and y, from the left to the right.
    pub points: Vec<(f64, f64)>,
}

/// What an axis is, and how its values are written.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its name, with the unit.
    pub name: &'static str,
    /// How values are written.
    pub unit: Unit,
}

impl Chart {
    /// In a page.
    pub(super) fn inline(&self, id: usize) -> Markup {
        let (title, desc) = (format!("chart{id}-title"), format!("chart{id}-desc"));
        html! {
            svg role="img" aria-labelledby={ (title) " " (desc) } height=(self.height) {
                title id=(title) { (Shown(&self.title)) }
                desc id=(desc) { (Shown(&self.desc)) }
                (self.body)
            }
        }
    }

    /// As a separate file, with a line that says what it is about.
    pub fn file(&self, about: &str) -> String {
        const AROUND: usize = 16;
        const ABOVE: usize = 82;
        // What is too long for a line is whole in the description.
        const LINE: usize = 100;
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" width="760" height=(self.height + ABOVE + 2 * AROUND) role="img" aria-labelledby="title desc" {
                title #title { (Shown(&self.title)) }
                desc #desc { (Shown(about)) " " (Shown(&self.desc)) }
                style { (PreEscaped(COLOURS)) }
                rect.ground width="100%" height="100%" {}
                text.strong x=(AROUND) y="28" { (Shown(&short(&self.title, LINE))) }
                text.muted x=(AROUND) y="50" { (Shown(&short(about, LINE))) }
                text.muted x=(AROUND) y="72" { (Shown(&short(&self.desc, LINE))) }
                svg x=(AROUND) y=(AROUND + ABOVE) width=(760 - 2 * AROUND) height=(self.height) { (self.body) }
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", svg.into_string())
    }
}

/// Names of the series and how high they are: side by side, or one below the other where that does not fit on a phone. None for one.
fn legend(series: &[&str], are_lines: bool) -> (usize, Markup) {
    const ROOM: usize = 280;
    const LINE: usize = 20;
    if series.len() < 2 {
        return (0, html! {});
    }
    let names: Vec<String> = series.iter().map(|name| short(name, 34)).collect();
    // 7.5 pixels a letter is more than any of them takes.
    let widths: Vec<usize> = names.iter().map(|name| 34 + name.width() * 15 / 2).collect();
    let fits = widths.iter().sum::<usize>() <= ROOM;
    let place = |at: usize| if fits { (widths[..at].iter().sum(), 0) } else { (0, at * LINE) };
    let markup = html! {
        @for (at, name) in names.iter().enumerate() {
            @let (x, y) = place(at);
            @if are_lines {
                line class={ "line s" (at % 4) } x1=(x) x2=(x + 14) y1=(y + 9) y2=(y + 9) {}
            } @else {
                rect class={ "s" (at % 4) } x=(x) y=(y + 2) width="12" height="12" {}
            }
            text.muted x=(x + 20) y=(y + 13) { (name) }
        }
    };
    (if fits { LINE } else { LINE * names.len() } + 10, markup)
}

/// Text cut off after this many columns, as it will be shown.
fn short(text: &str, most: usize) -> String {
    let text = escape::terminal(text, false);
    if text.width() <= most {
        return text.into_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        if short.width() + character.width().unwrap_or(0) >= most {
            break;
        }
        short.push(character);
    }
    short.push('\u{2026}');
    short
}

/// From 0 to the most there can be, as percent; 0 for no number.
pub(super) fn length(value: f64, most: f64) -> String {
    let value = if value > 0.0 { value.min(most) } else { 0.0 };
    format!("{value:.2}%")
}

/// Bars, several to an item, one below the other. All begin at 0; what is below 0 or no number has none.
pub fn bars(title: &str, desc: &str, series: &[&str], items: &[(String, Vec<f64>)], unit: Unit) -> Chart {
    const BAR: usize = 12;
    let (top, legend) = legend(series, false);
    let step = 22 + series.len() * (BAR + 3) + 10;
    let largest = items
        .iter()
        .flat_map(|(_, values)| values)
        .copied()
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    // The rest of the line is for the value.
    let width = |value: f64| length(84.0 * value / largest, 84.0);
    let body = html! {
        (legend)
        @for (at, (name, values)) in items.iter().enumerate() {
            @let y = top + at * step;
            g {
                title { (Shown(name)) }
                text.strong y=(y + 14) { (Shown(&short(name, 30))) }
                @for (which, value) in values.iter().enumerate() {
                    @let y = y + 22 + which * (BAR + 3);
                    rect.track y=(y) width="84%" height=(BAR) {}
                    rect class={ "s" (which % 4) } y=(y) width=(width(*value)) height=(BAR) {}
                    text.muted.end x="100%" y=(y + 11) { (Shown(&unit(*value))) }
                }
            }
        }
    };
    Chart { title: title.to_owned(), desc: desc.to_owned(), height: (top + items.len() * step).max(1), body }
}

/// A row of a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// How many are above it.
    pub level: usize,
    /// What it is called.
    pub name: String,
    /// Its name is in bold.
    pub is_strong: bool,
    /// Two parts from 0 to 1.
    pub parts: [f64; 2],
    /// What is behind the bars.
    pub shown: String,
}

/// A tree: names on the left, two bars to each, and a word at the end.
pub fn tree(title: &str, desc: &str, series: [&str; 2], rows: &[Branch]) -> Chart {
    const STEP: usize = 24;
    // Names end where bars begin, at 44 percent, also deep in the tree.
    let indent = |row: &Branch| 14 * row.level.min(10);
    let (top, legend) = legend(&series, false);
    let body = html! {
        (legend)
        @for (at, row) in rows.iter().enumerate() {
            @let y = top + at * STEP;
            @let width = |part: f64| length(46.0 * part, 46.0);
            g {
                title { (Shown(&row.name)) }
                text.strong[row.is_strong] x=(indent(row)) y=(y + 14) { (Shown(&short(&row.name, 40 - indent(row) / 8))) }
                rect.track x="44%" y=(y + 3) width="46%" height="15" {}
                rect.s0 x="44%" y=(y + 3) width=(width(row.parts[0])) height="7" {}
                rect.s1 x="44%" y=(y + 11) width=(width(row.parts[1])) height="7" {}
                text.muted.end x="100%" y=(y + 15) { (Shown(&row.shown)) }
            }
        }
    };
    Chart { title: title.to_owned(), desc: desc.to_owned(), height: top + rows.len() * STEP, body }
}

/// From the least to the largest, wider than nothing.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    match (low, high) {
        (low, high) if low > high => (0.0, 1.0),
        (low, high) if low < high => (low, high),
        (low, _) => (low - 0.5, low + 0.5),
    }
}

/// The frame of a chart with two axes: four lines with values, the body within, the values below.
fn frame(
    series: &[&str],
    x: Axis,
    y: Axis,
    xs: (f64, f64),
    ys: (f64, f64),
    inner: &Markup,
) -> (usize, Markup) {
    const HEIGHT: usize = 220;
    let (top, legend) = legend(series, true);
    let top = top + 26;
    let part = |(low, high): (f64, f64), part: f64| low + (high - low) * part;
    let body = html! {
        (legend)
        text.muted y=(top - 10) { (y.name) }
        @for quarter in 0..=4_u16 {
            @let height = top + HEIGHT * usize::from(quarter) / 4;
            line.rule x1="0" x2="100%" y1=(height) y2=(height) {}
        }
        svg y=(top) width="100%" height=(HEIGHT) viewBox="0 0 1000 1000" preserveAspectRatio="none" { (inner) }
        @for quarter in 0..4_u16 {
            @let height = top + HEIGHT * usize::from(quarter) / 4;
            text.muted x="2" y=(height + 14) { (Shown(&(y.unit)(part(ys, 1.0 - f64::from(quarter) / 4.0)))) }
        }
        text.muted y=(top + HEIGHT + 18) { (Shown(&(x.unit)(xs.0))) }
        text.muted.middle x="50%" y=(top + HEIGHT + 18) { (Shown(&(x.unit)(part(xs, 0.5)))) }
        text.muted.end x="100%" y=(top + HEIGHT + 18) { (Shown(&(x.unit)(xs.1))) }
        text.muted.middle x="50%" y=(top + HEIGHT + 38) { (x.name) }
    };
    (top + HEIGHT + 46, body)
}

/// Lines over a common axis. The vertical axis holds 0 where `from_zero`.
pub fn lines(title: &str, desc: &str, x: Axis, y: Axis, lines: &[SvgLine], from_zero: bool) -> Chart {
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let xs = range(all().map(|point| point.0));
    let ys = range(all().map(|point| point.1).chain(from_zero.then_some(0.0)));
    let place = |value: f64, (low, high): (f64, f64)| 1000.0 * (value - low) / (high - low);
    let inner = html! {
        @for (at, line) in lines.iter().enumerate() {
            @let points = line.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).fold(String::new(), |mut text, (x, y)| {
                let _ = write!(text, "{:.1},{:.1} ", place(*x, xs), 1000.0 - place(*y, ys));
                text
            });
            polyline class={ "line s" (at % 4) } points=(points.trim_end()) {}
        }
    };
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let (height, body) = frame(&names, x, y, xs, ys, &inner);
    Chart { title: title.to_owned(), desc: desc.to_owned(), height, body }
}

/// How many values are in each of `bins` equal steps from the least to the largest.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts, and a place within bins
pub fn histogram(title: &str, desc: &str, x: Axis, values: &[f64], bins: usize) -> Chart {
    let bins = bins.max(1);
    let xs = range(values.iter().copied());
    let mut counts = vec![0_usize; bins];
    for value in values.iter().filter(|value| value.is_finite()) {
        let bin = (*value - xs.0) / (xs.1 - xs.0) * bins as f64;
        counts[(bin as usize).min(bins - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or_default().max(1) as f64;
    let width = 1000.0 / bins as f64;
    let inner = html! {
        @for (at, count) in counts.iter().enumerate() {
            @let height = 1000.0 * *count as f64 / most;
            rect.s0 x=(format!("{:.1}", at as f64 * width + 0.05 * width)) y=(format!("{:.1}", 1000.0 - height))
                width=(format!("{:.1}", 0.9 * width)) height=(format!("{height:.1}")) {}
        }
    };
    let y = Axis { name: "Count", unit: |value| format!("{value:.0}") };
    let (height, body) = frame(&[], x, y, xs, (0.0, most), &inner);
    Chart { title: title.to_owned(), desc: desc.to_owned(), height, body }
}

//! Charts as SVG: widths are percentages and heights are pixels, so that text has the same size on a phone as on a desk.

use std::fmt::Write as _;

use maud::{html, Markup, PreEscaped};

use super::{Shown, COLOURS};

/// How a value is written.
pub type Unit = fn(f64) -> String;

/// Parts of 100, as they are.
pub fn percent(value: f64) -> String {
    format!("{value:.1} %")
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
pub struct Line {
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

    /// As a file of its own.
    pub fn file(&self) -> String {
        const AROUND: usize = 16;
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" width="760" height=(self.height + 60 + 2 * AROUND) role="img" aria-labelledby="title desc" {
                title #title { (Shown(&self.title)) }
                desc #desc { (Shown(&self.desc)) }
                style { (PreEscaped(COLOURS)) }
                rect.ground width="100%" height="100%" {}
                text.strong x=(AROUND) y="28" { (Shown(&self.title)) }
                text.muted x=(AROUND) y="50" { (Shown(&self.desc)) }
                svg x=(AROUND) y=(AROUND + 60) width=(760 - 2 * AROUND) height=(self.height) { (self.body) }
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", svg.into_string())
    }
}

/// Names of the series, one beside the other.
fn legend(series: &[&str]) -> Markup {
    // 7.5 pixels a letter is more than any of them takes.
    let width = |name: &str| 34 + name.chars().count() * 15 / 2;
    html! {
        @for (at, name) in series.iter().enumerate() {
            @let x: usize = series[..at].iter().map(|name| width(name)).sum();
            rect class={ "s" (at % 4) } x=(x) y="2" width="12" height="12" {}
            text.muted x=(x + 18) y="13" { (Shown(name)) }
        }
    }
}

/// Text with an end.
pub(super) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('\u{2026}');
    short
}

/// Bars, several to an item, one below the other. All begin at 0; what is below 0 or no number has none.
pub fn bars(title: &str, desc: &str, series: &[&str], items: &[(String, Vec<f64>)], unit: Unit) -> Chart {
    const BAR: usize = 12;
    let top = if series.len() > 1 { 30 } else { 0 };
    let step = 22 + series.len() * (BAR + 3) + 10;
    let largest = items
        .iter()
        .flat_map(|(_, values)| values)
        .copied()
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    // The rest of the line is for the value.
    let width = |value: f64| if largest > 0.0 { (84.0 * value / largest).clamp(0.0, 84.0) } else { 0.0 };
    let body = html! {
        @if top > 0 { (legend(series)) }
        @for (at, (name, values)) in items.iter().enumerate() {
            @let y = top + at * step;
            g {
                title { (Shown(name)) }
                text.strong y=(y + 14) { (Shown(&short(name, 40))) }
                @for (which, value) in values.iter().enumerate() {
                    @let y = y + 22 + which * (BAR + 3);
                    rect.track y=(y) width="84%" height=(BAR) {}
                    rect class={ "s" (which % 4) } y=(y) width=(format!("{:.2}%", width(*value))) height=(BAR) {}
                    text.muted.end x="100%" y=(y + 11) { (Shown(&unit(*value))) }
                }
            }
        }
    };
    Chart { title: title.to_owned(), desc: desc.to_owned(), height: (top + items.len() * step).max(1), body }
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
    let top = if series.len() > 1 { 54 } else { 26 };
    let part = |(low, high): (f64, f64), part: f64| low + (high - low) * part;
    let body = html! {
        @if series.len() > 1 { (legend(series)) }
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
pub fn lines(title: &str, desc: &str, x: Axis, y: Axis, lines: &[Line], from_zero: bool) -> Chart {
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

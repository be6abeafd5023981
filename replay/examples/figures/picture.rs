//! Draws usage against shares over ten half-lives as an SVG file: a row for each tree, a column for each order, a line for each group of
//! users. The lines are few, so the text of the file is written here without a plotting crate.

use std::fmt::Write;

use crate::settles::{error, Career, Scene, SettlingRow, ORDERS, STEPS};

/// From the top of the project.
pub const FILE: &str = "docs/figures/settles.svg";

/// Of a panel.
const WIDTH: f64 = 140.0;
const HEIGHT: f64 = 90.0;
/// From one panel to the next.
const STEP: (f64, f64) = (156.0, 136.0);
/// The first panel.
const FIRST: (f64, f64) = (44.0, 64.0);

/// Of each group: a colour that most people can tell from the others, and a width, so that two lines can be seen in one place.
const PENS: [(&str, f64); 5] =
    [("#0072b2", 3.2), ("#d55e00", 1.4), ("#009e73", 3.2), ("#cc79a7", 1.4), ("#e69f00", 1.4)];

const HEAD: &str = "\
<style>
  text { font: 11px sans-serif; fill: #222 }
  .back { fill: #fff }
  .head { font-weight: bold }
  .small { font-size: 9px; fill: #666 }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .frame { fill: none; stroke: #bbb }
  .usage { fill: none }
  .share { fill: none; stroke-dasharray: 2 3 }
  @media (prefers-color-scheme: dark) { text { fill: #ddd } .small { fill: #aaa } .back { fill: #161b22 } .frame { stroke: #555 } }
</style>
<title>Usage against shares over ten half-lives</title>
<desc>Solid: part of all usage. Dashed: share. A row for each tree, a column for each order of jobs.</desc>
";

/// The whole file.
pub fn draw(rows: &[SettlingRow]) -> String {
    let width = FIRST.0 + 5.0 * STEP.0;
    let count: f64 = rows.iter().map(|_| 1.0).sum();
    let height = FIRST.1 + count * STEP.1 - 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n"
    );
    svg += HEAD;
    svg += "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n";
    let mut x = FIRST.0;
    for name in ORDERS {
        text(&mut svg, "head middle", x + WIDTH / 2.0, 18.0, name);
        x += STEP.0;
    }
    let mut y = FIRST.1;
    for (scene, careers) in rows {
        let all = careers.iter().flatten().flat_map(|career| career.usage.iter().copied());
        let panel = Panel { scene, top: if all.fold(0.0, f64::max) <= 0.6 { 0.6 } else { 1.0 }, y };
        panel.legend(&mut svg);
        panel.scale(&mut svg);
        let mut x = FIRST.0;
        for careers in careers {
            panel.draw(&mut svg, x, careers);
            x += STEP.0;
        }
        y += STEP.1;
    }
    svg += "</svg>\n";
    svg
}

/// Adds an element.
macro_rules! add {
    ($svg:expr, $($text:tt)*) => {
        writeln!($svg, $($text)*).expect("a string grows")
    };
}

fn text(svg: &mut String, class: &str, x: f64, y: f64, text: &str) {
    add!(svg, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#);
}

/// What the panels of a row have in common.
struct Panel<'a> {
    scene: &'a Scene,
    /// The largest part that fits.
    top: f64,
    y: f64,
}

impl Panel<'_> {
    /// Name of the tree, and which group has which pen.
    fn legend(&self, svg: &mut String) {
        let y = self.y - 12.0;
        text(svg, "head", FIRST.0, y, self.scene.name);
        let mut x = FIRST.0 + STEP.0;
        for ((name, _), (colour, width)) in self.scene.groups.iter().zip(PENS) {
            let at = y - 4.0;
            add!(
                svg,
                r#"<path class="usage" stroke="{colour}" stroke-width="{width}" d="M{x:.1} {at:.1}h16"/>"#
            );
            text(svg, "", x + 20.0, y, name);
            x += 96.0;
        }
    }

    fn scale(&self, svg: &mut String) {
        for part in [0.0, self.top / 2.0, self.top] {
            let name = format!("{:.0} %", 100.0 * part);
            text(svg, "small end", FIRST.0 - 4.0, self.height(part) + 3.0, &name);
        }
    }

    fn height(&self, part: f64) -> f64 {
        self.y + HEIGHT * (1.0 - part / self.top)
    }

    fn draw(&self, svg: &mut String, x: f64, careers: &[Career]) {
        let y = self.y;
        add!(svg, r#"<rect class="frame" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}"/>"#);
        let mut groups: Vec<_> = self.scene.groups.iter().zip(PENS).collect();
        // Broad lines below narrow ones.
        groups.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
        for ((_, prefix), (colour, width)) in groups {
            let group: Vec<&Career> =
                careers.iter().filter(|career| career.name.starts_with(prefix)).collect();
            let share = self.height(group.iter().map(|career| career.share).sum());
            add!(svg, r#"<path class="share" stroke="{colour}" d="M{x} {share:.1}h{WIDTH}"/>"#);
            let mut line = String::new();
            for step in 1..=STEPS {
                let usage = group.iter().map(|career| career.usage[step as usize - 1]);
                let (at, usage) = (x + WIDTH * f64::from(step) / f64::from(STEPS), self.height(usage.sum()));
                let command = if step == 1 { 'M' } else { 'L' };
                write!(line, "{command}{at:.1} {usage:.1}").expect("a string grows");
            }
            add!(svg, r#"<path class="usage" stroke="{colour}" stroke-width="{width}" d="{line}"/>"#);
        }
        text(svg, "small", x, y + HEIGHT + 11.0, "0 – 10 half-lives");
        let off = format!("off by {:.3}", error(careers));
        text(svg, "small end", x + WIDTH, y + HEIGHT + 11.0, &off);
    }
}

//! Formats settings for one line of a log: those that differ from the default, and what has changed. The length of the line is bounded.

use std::collections::HashMap;

use super::report::Shown;
use super::table::Settings;

/// Settings, lines of lists among them, that a message has at most.
const MOST: usize = 16;
/// Characters of each.
const LONGEST: usize = 160;

impl Settings {
    /// Those that are not as by default; empty where all are.
    pub fn summary(&self) -> String {
        some_of(&self.lines())
    }

    /// What has changed since others were in force; `None` where nothing has.
    pub fn changes_since(&self, before: &Self) -> Option<String> {
        if self == before {
            return None;
        }
        let (old, new) = (before.lines(), self.lines());
        let (begun, gone) = (without(&new, &old), without(&old, &new));
        let said =
            |what: &str, lines: &[String]| (!lines.is_empty()).then(|| format!("{what}: {}", some_of(lines)));
        let parts: Vec<String> =
            [said("now", &begun), said("no longer", &gone)].into_iter().flatten().collect();
        // The same lines in another order, or written in another way.
        Some(if parts.is_empty() { "the order of lines".to_owned() } else { parts.join(". ") })
    }
}

/// Those of some lines that others do not have, each as often as they have it less often.
fn without(lines: &[String], others: &[String]) -> Vec<String> {
    let mut left = HashMap::<&String, usize>::new();
    for line in others {
        *left.entry(line).or_default() += 1;
    }
    let mut is_more = |line: &&String| match left.get_mut(*line) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    lines.iter().filter(|line| is_more(line)).cloned().collect()
}

/// The first few of some lines, and how many more there are.
fn some_of(lines: &[String]) -> String {
    let mut shown: Vec<String> =
        lines.iter().take(MOST).map(|line| Shown(line, LONGEST).to_string()).collect();
    if lines.len() > MOST {
        shown.push(format!("and {} more", lines.len() - MOST));
    }
    shown.join("; ")
}

//! Writes the text of metrics, and the file.

use std::fmt;
use std::path::Path;

use super::MetricsAnswer;
use crate::error::Error;
use crate::files;

impl fmt::Display for MetricsAnswer {
    /// The text format of Prometheus, version 0.0.4: each name described once, without times, a newline at the end.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for metric in &self.metrics {
            writeln!(f, "# HELP {} {}", metric.name, metric.help)?;
            writeln!(f, "# TYPE {} gauge", metric.name)?;
            for series in &metric.series {
                f.write_str(metric.name)?;
                for (at, (name, value)) in series.labels.iter().enumerate() {
                    let before = if at == 0 { "{" } else { "," };
                    write!(f, "{before}{name}=\"{}\"", escaped(value))?;
                }
                let end = if series.labels.is_empty() { "" } else { "}" };
                writeln!(f, "{end} {}", series.value)?;
            }
        }
        Ok(())
    }
}

/// As the format wants it between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A name without characters that steer a terminal or turn text round: they are written as `\u{1b}`.
pub(super) fn shown(value: &str) -> String {
    let mut shown = String::with_capacity(value.len());
    for letter in value.chars() {
        if crate::output::escape::is_treacherous(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Writes the file, so that a collector never sees half of it. Everybody may read it.
///
/// # Errors
/// A name that the collector does not read, or what the file system says.
pub fn write(answer: &MetricsAnswer, path: &Path) -> Result<(), Error> {
    if path.extension().is_none_or(|end| end != "prom") || path.file_stem().is_none() {
        return Err(Error::Question(format!(
            "{}: the textfile collector reads only files whose name ends in .prom: choose another name",
            path.display()
        )));
    }
    files::write(path, answer.to_string().as_bytes(), Some(0o644))
}

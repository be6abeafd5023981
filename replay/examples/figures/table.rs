//! Writes tables in Markdown between the marks of a page, and runs work on all cores.

use std::fmt::{self, Write};
use std::sync::Mutex;
use std::thread;

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With what stands above the columns.
    pub fn new(head: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { rows: vec![head.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Rows below the head, for tests.
    #[allow(dead_code)]
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows[1..]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, row) in self.rows.iter().enumerate() {
            writeln!(f, "| {} |", row.join(" | "))?;
            if at == 0 {
                writeln!(f, "|{}", "---|".repeat(row.len()))?;
            }
        }
        Ok(())
    }
}

/// The text between the marks of a block of a page, with a line break at its end.
pub fn block<'p>(page: &'p str, name: &str) -> &'p str {
    let begin = format!("<!-- begin {name}: made by \"make figures\" -->\n");
    let end = format!("<!-- end {name} -->");
    let found = page.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    found.unwrap_or_else(|| panic!("no lines {begin:?} and {end:?}")).0
}

/// The page with another text in a block.
pub fn with_block(page: &str, name: &str, text: &impl fmt::Display) -> String {
    let old = block(page, name);
    let from = old.as_ptr() as usize - page.as_ptr() as usize;
    let mut new = page[..from].to_owned();
    write!(new, "{text}").expect("a string grows");
    new + &page[from + old.len()..]
}

/// The result for each item, computed on the cores that there are.
pub fn each<T: Sync, R: Send>(items: &[T], compute: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (Mutex::new(0), Mutex::new(Vec::new()));
    let work = || loop {
        let at = {
            let mut next = next.lock().expect("nobody panics with it");
            *next += 1;
            *next - 1
        };
        let Some(item) = items.get(at) else { break };
        let result = compute(item);
        results.lock().expect("nobody panics with it").push((at, result));
    };
    let cores = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().expect("nobody panics with it");
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

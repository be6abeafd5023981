//! Gives each name a stable number, so that what many jobs have in common is kept once.

use rustc_hash::FxHashMap;

/// Names by number, and numbers by name.
#[derive(Clone, Debug, Default)]
pub struct Names {
    all: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    /// The number of a name.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// All of them, by their numbers.
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// The name with a number; empty for none.
    pub fn name(&self, number: u32) -> &str {
        self.all.get(number as usize).map_or("", String::as_str)
    }
}

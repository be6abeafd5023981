//! Names, each kept once.

use std::collections::HashMap;

/// The longest name that is taken, in bytes. Slurm's are far shorter.
pub const LONGEST_NAME: usize = 256;

/// Names by number, and numbers by name.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Names {
    /// The number of a name, which is added where it is new.
    pub fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    /// The number of a name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name of a number; empty for one that was never given.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All names, by number.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }
}

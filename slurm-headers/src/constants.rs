//! Constants of Slurm's headers that are the same in every release: `constants.tsv`, and its Rust source.
//!
//! Flags and states are numbers that no compiler of ours can check. They are kept as data with the layouts, compared with
//! the headers of a tree together with them, and both the plugin and the test host are built with what stands there.

use std::fmt::Write as _;

use crate::table::TableError;

/// The committed constants, as text.
const CONSTANTS_TSV: &str = include_str!("../constants.tsv");

/// A constant of Slurm's headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant {
    /// Its name in the headers and in the generated source.
    pub name: String,
    /// Its Rust type.
    pub kind: String,
    /// Its value.
    pub value: u64,
}

/// The committed constants.
///
/// # Errors
/// Only when `constants.tsv` itself is damaged.
pub fn constants() -> Result<Vec<Constant>, TableError> {
    let lines = CONSTANTS_TSV.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines.skip(1).map(|(at, line)| parse(at + 1, line)).collect()
}

fn parse(line: usize, text: &str) -> Result<Constant, TableError> {
    let fail = |message: &str| TableError { file: "constants.tsv", line, message: message.to_owned() };
    let [name, kind, value] = text.split('\t').collect::<Vec<_>>()[..] else {
        return Err(fail("three cells expected"));
    };
    if !["u16", "u32", "u64", "i32", "usize"].contains(&kind) {
        return Err(fail("kind is not one of u16, u32, u64, i32, usize"));
    }
    let number = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    let value = number.map_err(|_| fail("the value is not a number"))?;
    Ok(Constant { name: name.to_owned(), kind: kind.to_owned(), value })
}

/// One `pub const` for each.
pub fn constants_source(constants: &[Constant]) -> String {
    let mut text = String::from("// Generated from slurm-headers/constants.tsv by build.rs.\n");
    for Constant { name, kind, value } in constants {
        let _ = writeln!(text, "/// Slurm's `{name}`.\npub const {name}: {kind} = {value:#x};");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_constants_are_readable_and_each_is_there_once() {
        let mut names: Vec<String> = constants().unwrap().into_iter().map(|one| one.name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert!(all > 20 && names.len() == all, "{names:?}");
    }

    #[test]
    fn damaged_lines_are_named() {
        for (line, why) in [("A\tu32", "three cells"), ("A\ti8\t1", "kind"), ("A\tu32\tx", "not a number")] {
            let error = parse(7, line).unwrap_err().to_string();
            assert!(error.starts_with("constants.tsv line 7") && error.contains(why), "{error}");
        }
        assert_eq!(parse(1, "A\tu64\t0x10").unwrap().value, 16);
        assert!(constants_source(&constants().unwrap()).contains("pub const JOB_REVOKED: u32 = 0x80000;"));
    }
}

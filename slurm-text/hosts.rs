//! Reads node lists as Slurm writes them: `n[1-3,7],gpu[01-02]`.

use std::collections::BTreeSet;

/// The most nodes of one partition that are told apart.
const MOST: usize = 100_000;

/// All names; `None` where there are too many, or they cannot be read.
pub fn names(text: &str) -> Option<BTreeSet<String>> {
    Some(in_order(text)?.into_iter().collect())
}

/// All names in their order, which is mostly that of slurm.conf; `None` as in [`names`].
pub fn in_order(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if matches!(text, "" | "(null)" | "N/A") {
        return Some(names);
    }
    let mut depth = 0_u32;
    for part in text.split(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => (),
        }
        character == ',' && depth == 0
    }) {
        add(part, &mut names)?;
    }
    Some(names)
}

/// The names of one pattern. Several pairs of brackets, as of some topologies, are not taken apart.
fn add(pattern: &str, names: &mut Vec<String>) -> Option<()> {
    let Some((before, rest)) = pattern.split_once('[') else {
        names.push(pattern.to_owned());
        return (names.len() <= MOST).then_some(());
    };
    let (ranges, after) = rest.split_once(']')?;
    if after.contains('[') {
        return None;
    }
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (width, first, last) = (first.len(), first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        if width > 20 || last.checked_sub(first)? > MOST as u64 {
            return None;
        }
        for number in first..=last {
            names.push(format!("{before}{number:0width$}{after}"));
            if names.len() > MOST {
                return None;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_hold_numbers_and_ranges() {
        let of = |text| in_order(text);
        assert_eq!(
            of("n[1-3,7],gpu[01-02]x,m"),
            Some(["n1", "n2", "n3", "n7", "gpu01x", "gpu02x", "m"].map(String::from).to_vec())
        );
        assert_eq!(names("n[1-3]"), names("n3,n2,n1,n1"));
        assert_eq!(of("(null)"), Some(Vec::new()));
        for bad in
            ["n[1", "n[a]", "n[1-]", "n[2-1]", "n[1][2]", "n[0-99999999999]", "n[000000000000000000000001-2]"]
        {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}

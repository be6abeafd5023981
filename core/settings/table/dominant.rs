//! What `DominantTRES` lists.

use std::collections::HashSet;

/// The largest weight of a TRES.
const MAX_WEIGHT: f64 = 1e9;

/// The TRES that `DominantTRES` lists, in small letters, and the weight of each; `None` for a text that is none.
pub(super) fn weights(text: &str) -> Option<Vec<(String, f64)>> {
    let mut seen = HashSet::new();
    let entry = |entry: &str| {
        let (name, weight) = entry.split_once('=').map_or((entry, "1"), |(name, weight)| (name, weight));
        let (name, weight) = (name.trim().to_ascii_lowercase(), weight.trim().parse::<f64>().ok()?);
        let is_name = !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "/_:.-".contains(letter));
        let is_good = is_name && weight > 0.0 && weight <= MAX_WEIGHT && seen.insert(name.clone());
        is_good.then_some((name, weight))
    };
    (text.len() <= 2000).then(|| text.split(',').map(entry).collect()).flatten()
}

/// Whether a text lists TRES, each once.
pub(super) fn lists_tres(text: &str) -> bool {
    weights(text).is_some()
}

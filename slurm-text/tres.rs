//! Reads lists of TRES, amounts with units, and `TRESBillingWeights`.

use crate::lines::{number, MOST_NAMES};

/// The letters of units, each 1024 times the one before; a blank stands for none.
const UNITS: &str = " KMGTPE";

/// Memory and burst buffers are counted in MB.
fn counted_in(name: &str) -> usize {
    let is_in_mb =
        name.eq_ignore_ascii_case("mem") || name.get(..3).is_some_and(|bb| bb.eq_ignore_ascii_case("bb/"));
    if is_in_mb {
        2
    } else {
        0
    }
}

/// The number of a value, and the place of its unit in [`UNITS`]; `None` for one that is none.
fn with_unit(text: &str) -> Option<(f64, Option<usize>)> {
    let text = text.trim();
    match text.char_indices().next_back()? {
        (end, unit) if unit.is_ascii_alphabetic() => {
            Some((number(&text[..end])?, Some(UNITS.find(unit.to_ascii_uppercase())?)))
        }
        _ => Some((number(text)?, None)),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // one of seven places
fn power(unit: usize, counted_in: usize) -> f64 {
    1024_f64.powi(unit as i32 - counted_in as i32)
}

/// `cpu=2,mem=1000M,gres/gpu=1`: names and amounts, memory in MB. What cannot be read is left out.
pub fn list(text: &str) -> Vec<(&str, u64)> {
    let pairs = text.split(',').take(MOST_NAMES).filter_map(|part| {
        let (name, amount) = part.split_once('=')?;
        Some((name.trim(), amount_of(name.trim(), amount)?))
    });
    pairs.collect()
}

/// An amount of a TRES. Without a unit it is in what the TRES is counted in: memory in MB.
fn amount_of(name: &str, text: &str) -> Option<u64> {
    let (amount, unit) = with_unit(text)?;
    let counted_in = counted_in(name);
    let amount = amount * unit.map_or(1.0, |unit| power(unit, counted_in));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
    (0.0..=9e18).contains(&amount).then(|| amount.round() as u64)
}

/// `TRESBillingWeights`, such as `CPU=1.0,Mem=0.25G`: each name with the weight of one of what the TRES is counted in, of one MB of
/// memory here; or the part of the text that cannot be read. A weight may be given for a larger unit, never for a smaller one: slurmctld
/// takes that for none (`slurm_get_tres_weight_array` in `src/common/slurm_protocol_api.c`).
pub fn billing_weights(text: &str) -> impl Iterator<Item = Result<(&str, f64), &str>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.take(MOST_NAMES).map(|part| {
        let read = || {
            let (name, value) = part.split_once('=')?;
            let (weight, unit) = with_unit(value)?;
            let counted_in = counted_in(name.trim());
            Some((name.trim(), weight / unit.map_or(1.0, |unit| power(unit.max(counted_in), counted_in))))
        };
        read().ok_or(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units_of_1024() {
        assert_eq!(list("cpu=2,mem=1000M,node=1"), [("cpu", 2), ("mem", 1000), ("node", 1)]);
        assert_eq!(list("mem=1.50G,gres/gpu:a100=2"), [("mem", 1536), ("gres/gpu:a100", 2)]);
        assert_eq!(list("mem=2T,mem=7,mem=512K"), [("mem", 2 << 20), ("mem", 7), ("mem", 1)]);
        assert_eq!(list("billing=1K"), [("billing", 1024)]);
        assert!(list("N/A").is_empty() && list("cpu=x,mem=-1,mem=infE,mem=9E9E").is_empty());
    }

    #[test]
    fn weights_are_those_of_what_is_counted() {
        let read: Vec<_> =
            billing_weights("CPU=1.0, Mem=0.25G,GRES/gpu=2,mem=3K,x,cpu=many,node=2q").collect();
        let gigabyte = 0.25 / 1024.0;
        assert_eq!(
            read[..4],
            [Ok(("CPU", 1.0)), Ok(("Mem", gigabyte)), Ok(("GRES/gpu", 2.0)), Ok(("mem", 3.0))]
        );
        assert_eq!(read[4..], [Err("x"), Err("cpu=many"), Err("node=2q")]);
        assert_eq!(billing_weights("").count(), 0);
    }
}

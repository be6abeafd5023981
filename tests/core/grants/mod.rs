//! The rules of grants: the cells of their definitions, and random grants against a model by another hand.

mod against_model;
mod cells;
mod kept;
mod model;
mod model_of_days;
mod whose;

use num_bigint::BigInt;
use num_rational::BigRational;

/// A decimal number, exactly.
pub fn number(text: &str) -> BigRational {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let all: BigInt = format!("{whole}{part}").parse().unwrap();
    BigRational::new(all, BigInt::from(10).pow(u32::try_from(part.len()).unwrap()))
}

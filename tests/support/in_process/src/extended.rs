//! Exact floating-point values.
//!
//! Slurm keeps usage in `long double`, which Rust cannot hold. The host writes such numbers in hexadecimal; this type
//! keeps every bit of them, compares them exactly and does the two operations that a decay cycle does (multiply, add)
//! with the rounding of the x87 format, so that a test can state what the last bit must be.

use std::fmt;
use std::str::FromStr;

/// A number of the x87 80-bit format: 64 bits of mantissa, rounding to nearest even.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extended {
    /// ± mantissa · 2^exponent with the mantissa's highest bit set.
    Finite {
        /// Sign.
        negative: bool,
        /// All 64 bits, the highest one set.
        mantissa: u64,
        /// Power of two of the mantissa's lowest bit.
        exponent: i32,
    },
    /// Zero; its sign is not kept.
    Zero,
    /// ± infinity.
    Infinite {
        /// Sign.
        negative: bool,
    },
    /// Not a number; like a float's, equal to nothing but found equal here so that records compare.
    NotANumber,
}

impl Extended {
    /// Round a 128-bit mantissa, with everything below it folded into its lowest bit, to 64 bits.
    fn rounded(negative: bool, wide: u128, exponent: i32) -> Self {
        if wide == 0 {
            return Self::Zero;
        }
        let drop = 64 - i32::try_from(wide.leading_zeros()).unwrap_or(0);
        if drop <= 0 {
            let mantissa = u64::try_from(wide << -drop).expect("shifted to 64 bits");
            return Self::Finite { negative, mantissa, exponent: exponent + drop };
        }
        let kept = wide >> drop;
        let rest = wide & ((1 << drop) - 1);
        let half = 1_u128 << (drop - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        let (kept, drop) = if up && kept == u128::from(u64::MAX) {
            (1 << 63, drop + 1)
        } else {
            (kept + u128::from(up), drop)
        };
        let mantissa = u64::try_from(kept).expect("64 bits are kept");
        Self::Finite { negative, mantissa, exponent: exponent + drop }
    }

    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::NotANumber => f64::NAN,
            Self::Infinite { negative } => f64::INFINITY.copysign(if negative { -1.0 } else { 1.0 }),
            Self::Finite { negative, mantissa, exponent } => {
                // In two steps: 2^exponent alone may be too small for a double.
                let half = exponent / 2;
                #[expect(clippy::cast_precision_loss, reason = "rounding to double is what is asked for")]
                let value = mantissa as f64 * f64::from(half).exp2() * f64::from(exponent - half).exp2();
                if negative {
                    -value
                } else {
                    value
                }
            }
        }
    }

    /// The product, rounded once.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        match (self, other) {
            (
                Self::Finite { negative, mantissa, exponent },
                Self::Finite { negative: n, mantissa: m, exponent: e },
            ) => Self::rounded(negative != n, u128::from(mantissa) * u128::from(m), exponent + e),
            (Self::Zero, Self::Finite { .. } | Self::Zero) | (Self::Finite { .. }, Self::Zero) => Self::Zero,
            (
                Self::Infinite { negative },
                Self::Infinite { negative: n } | Self::Finite { negative: n, .. },
            )
            | (Self::Finite { negative, .. }, Self::Infinite { negative: n }) => {
                Self::Infinite { negative: negative != n }
            }
            _ => Self::NotANumber,
        }
    }

    /// The sum of two numbers that are not negative, rounded once.
    ///
    /// # Panics
    /// If one of them is negative, infinite or not a number: usage never is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let (low, high) = match (self, other) {
            (Self::Zero, sum) | (sum, Self::Zero) => return sum,
            (
                Self::Finite { negative: false, exponent, .. },
                Self::Finite { negative: false, exponent: e, .. },
            ) => {
                if exponent <= e {
                    (self, other)
                } else {
                    (other, self)
                }
            }
            _ => panic!("only finite numbers that are not negative can be added"),
        };
        let (Self::Finite { mantissa: a, exponent: ea, .. }, Self::Finite { mantissa: b, exponent: eb, .. }) =
            (low, high)
        else {
            unreachable!("both are finite here")
        };
        // The high number gets 63 more bits below; what the low one loses beyond them only matters as "not zero".
        let shift = (eb - ea).min(200);
        let up = shift.min(63);
        let down = shift - up;
        let a = u128::from(a);
        let lost = down > 0 && (down >= 128 || a & ((1 << down.min(127)) - 1) != 0);
        let a = if down >= 128 { 0 } else { a >> down };
        Self::rounded(false, ((u128::from(b) << up) + a) | u128::from(lost), eb - up)
    }
}

impl From<f64> for Extended {
    fn from(value: f64) -> Self {
        if value.is_nan() {
            return Self::NotANumber;
        }
        if value.is_infinite() {
            return Self::Infinite { negative: value < 0.0 };
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let power = i32::try_from(bits >> 52 & 0x7ff).expect("11 bits");
        let (mantissa, exponent) =
            if power == 0 { (fraction, -1074) } else { (fraction | 1 << 52, power - 1075) };
        Self::rounded(value.is_sign_negative(), u128::from(mantissa), exponent)
    }
}

impl From<u64> for Extended {
    fn from(value: u64) -> Self {
        Self::rounded(false, u128::from(value), 0)
    }
}

/// The text is no hexadecimal number as C's `%a` or `%La` write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a hexadecimal floating-point number")]
pub struct NotHexadecimal(String);

impl FromStr for Extended {
    type Err = NotHexadecimal;

    fn from_str(text: &str) -> Result<Self, NotHexadecimal> {
        let error = || NotHexadecimal(text.to_owned());
        let (negative, body) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        match body {
            "inf" => return Ok(Self::Infinite { negative }),
            "nan" => return Ok(Self::NotANumber),
            _ => {}
        }
        let (digits, power) = body.strip_prefix("0x").and_then(|b| b.split_once('p')).ok_or_else(error)?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mantissa = u128::from_str_radix(&format!("{whole}{fraction}"), 16).map_err(|_| error())?;
        let exponent: i32 = power.parse().map_err(|_| error())?;
        let below = i32::try_from(fraction.len()).map_err(|_| error())?;
        Ok(Self::rounded(negative, mantissa, exponent - 4 * below))
    }
}

impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Zero => f.write_str("0x0p+0"),
            Self::NotANumber => f.write_str("nan"),
            Self::Infinite { negative } => f.write_str(if negative { "-inf" } else { "inf" }),
            Self::Finite { negative, mantissa, exponent } => {
                write!(f, "{}0x{mantissa:x}p{exponent:+}", if negative { "-" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Extended {
        text.parse().expect("a number")
    }

    #[test]
    fn reads_what_c_writes() {
        assert_eq!(parse("0x8p-3"), Extended::from(1.0));
        assert_eq!(parse("0x1.8p-1"), Extended::from(0.75));
        assert_eq!(parse("-0x0p+0"), Extended::Zero);
        assert_eq!(parse("-inf"), Extended::Infinite { negative: true });
        assert!("1.5".parse::<Extended>().is_err());
        assert!("0x1.8".parse::<Extended>().is_err());
    }

    #[test]
    fn rounds_half_to_even() {
        let one_and_last_bit = parse("0x8.000000000000001p-3");
        let half_a_bit = Extended::from((-64_f64).exp2());
        assert_eq!(Extended::from(1.0).plus(half_a_bit), Extended::from(1.0));
        assert_eq!(one_and_last_bit.plus(half_a_bit), parse("0x8.000000000000002p-3"));
        assert_eq!(parse("0xf.fffffffffffffffp-3").plus(half_a_bit.plus(half_a_bit)), Extended::from(2.0));
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn keeps_every_double(value in any::<f64>().prop_filter("a number", |v| !v.is_nan())) {
            let exact = Extended::from(value);
            prop_assert!(value.abs() < f64::MIN_POSITIVE || exact.to_f64().to_bits() == value.to_bits());
            prop_assert_eq!(exact.to_string().parse::<Extended>(), Ok(exact));
        }

        #[test]
        fn computes_with_whole_numbers(a in 0..1_u64 << 31, b in 0..1_u64 << 31) {
            prop_assert_eq!(Extended::from(a).times(Extended::from(b)), Extended::from(a * b));
            prop_assert_eq!(Extended::from(a << 30).plus(Extended::from(b)), Extended::from((a << 30) + b));
        }

        #[test]
        fn sums_do_not_depend_on_order(a in 0.0..1e300_f64, b in 0.0..1e-3_f64) {
            let (a, b) = (Extended::from(a), Extended::from(b));
            prop_assert_eq!(a.plus(b), b.plus(a));
        }
    }
}

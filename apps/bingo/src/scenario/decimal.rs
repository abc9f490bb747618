//! Decimal numbers without floating point: millionths, so that every machine reckons alike.

use std::fmt;

use serde::{Serialize, Serializer};

/// Millionths in one.
pub(crate) const MILLION: u64 = 1_000_000;

/// A decimal number from 0, with at most six places, held in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Decimal(pub(crate) u64);

impl Decimal {
    pub(crate) const ONE: Decimal = Decimal(MILLION);

    /// From a text such as `0.85`: digits, and at most six of them behind a point.
    pub(crate) fn parse(text: &str) -> Option<Decimal> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || whole.len() > 9 || part.len() > 6 {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let part: u64 = format!("{part:0<6}").parse().ok()?;
        Some(Decimal(whole * MILLION + part))
    }

    /// The product, rounded to the nearest millionth.
    pub(crate) fn times(self, other: Decimal) -> Decimal {
        if let Some(product) =
            self.0.checked_mul(other.0).and_then(|product| product.checked_add(MILLION / 2))
        {
            return Decimal(product / MILLION);
        }
        let product = u128::from(self.0) * u128::from(other.0);
        let rounded = (product + u128::from(MILLION / 2)) / u128::from(MILLION);
        Decimal(u64::try_from(rounded).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / MILLION, self.0 % MILLION);
        if part == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{part:06}").trim_end_matches('0'))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_exactly() {
        for (text, millionths) in [("0.85", 850_000), ("1", 1_000_000), ("12.000001", 12_000_001), ("0", 0)] {
            let read = Decimal::parse(text).unwrap();
            assert_eq!((read.0, read.to_string().as_str()), (millionths, text));
        }
        assert_eq!(Decimal::parse("1.50").unwrap().to_string(), "1.5");
        for text in ["", ".5", "1.", "-1", "+1", "1e3", "0.1234567", "1,5", "١", "1 ", "1234567890"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn products_are_rounded_to_the_nearest() {
        let product = |a, b| Decimal::parse(a).unwrap().times(Decimal::parse(b).unwrap()).to_string();
        assert_eq!(product("0.85", "1.15"), "0.9775");
        assert_eq!(product("0.000001", "0.5"), "0.000001");
        assert_eq!(product("0.000001", "0.4"), "0");
    }
}

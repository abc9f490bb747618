//! The weight of an outcome: a true fraction.

use serde::{Serialize, Serializer};

use super::faults::Faults;
use super::fields::Field;
use super::node::Node;
use crate::limits::WEIGHT;

/// Numerator and denominator, both above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) numerator: u64,
    pub(crate) denominator: u64,
}

impl Weight {
    /// `"1/5000"`, or a whole number.
    pub(super) fn read(field: &Field<'_>, faults: &mut Faults) -> Option<Weight> {
        let parsed = match field.node {
            Node::Whole(value) => u64::try_from(*value).ok().map(|numerator| (numerator, 1)),
            Node::Text(text) => {
                let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
                part(numerator).zip(part(denominator))
            }
            _ => None,
        };
        let fits = |value: u64| (1..=WEIGHT).contains(&value);
        match parsed.filter(|(numerator, denominator)| fits(*numerator) && fits(*denominator)) {
            Some((numerator, denominator)) => Some(Weight { numerator, denominator }),
            None => {
                let shown = field.node.shown();
                let advice = format!("such as \"1/4\" or 3, with numbers from 1 to {WEIGHT}");
                faults.add(&field.place, format!("{shown} is not a weight {advice}"));
                None
            }
        }
    }
}

fn part(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}/{}", self.numerator, self.denominator))
    }
}

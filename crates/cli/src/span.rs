//! Spans of time as people write them: `500ms`, `10s`, `5m`, `2h`, `7d`.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a span. A bare number is refused: nobody should have to guess its unit.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let bad = || {
        format!("`{text}` is not a span of time: write a number and a unit, such as 500ms, 10s, 5m, 2h or 7d")
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, millis)| millis).ok_or_else(bad)?;
    if number.is_empty() {
        return Err(bad());
    }
    let number: u64 = number.parse().map_err(|_| too_long(text))?;
    number.checked_mul(*millis).map(Duration::from_millis).ok_or_else(|| too_long(text))
}

fn too_long(text: &str) -> String {
    format!("`{text}` is longer than any clock can count: choose a shorter span")
}

/// Writes how long something takes or took, roughly: one unit is enough for a table.
pub(crate) fn rough(span: Duration) -> String {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let (name, size) = UNITS.iter().rev().find(|(_, size)| millis >= *size).unwrap_or(&UNITS[0]);
    format!("{}{name}", millis / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (text, millis) in
            [("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("2h", 7_200_000), ("7d", 604_800_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)));
            assert_eq!(rough(Duration::from_millis(millis)), text);
        }
        assert_eq!(rough(Duration::from_secs(3_725)), "1h");
        assert_eq!(rough(Duration::from_micros(10)), "0ms");
    }

    #[test]
    fn what_is_refused() {
        for text in ["", "10", "s", "-5s", "1.5h", "10 s", "10y"] {
            assert!(parse(text).unwrap_err().contains("a unit"), "{text}");
        }
        for text in ["99999999999999999999s", "18446744073709551615d"] {
            assert!(parse(text).unwrap_err().contains("shorter"), "{text}");
        }
    }
}

//! Keys: what other parts of the file, exports and addresses call a thing.

use crate::limits::KEY_BYTES;

/// Words that mean something to file systems or to the languages that read exports.
const RESERVED: [&str; 16] = [
    "con",
    "prn",
    "aux",
    "nul",
    "null",
    "nil",
    "none",
    "true",
    "false",
    "nan",
    "inf",
    "undefined",
    "default",
    "constructor",
    "prototype",
    "all",
];

/// Says what is wrong with a key, as the end of a sentence about it.
pub(super) fn check(key: &str) -> Result<(), String> {
    if key.len() > KEY_BYTES {
        return Err(format!("is longer than {KEY_BYTES} bytes"));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let starts = key.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !starts || !key.bytes().all(fits) {
        return Err("is not a key: a letter, then letters, digits, `_`, `-` or `.`, all ASCII".to_owned());
    }
    if key.contains("..") || key.ends_with('.') {
        return Err("has a `.` with nothing behind it".to_owned());
    }
    let first = key.split('.').next().unwrap_or_default().to_ascii_lowercase();
    if RESERVED.contains(&first.as_str()) {
        return Err("is a reserved word; take another key".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ascii_identifiers() {
        for good in ["a", "quest.ds2", "item.dragon_hunter_lance", "Row-1", "x9"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "../x", "a/../b", "a..b", "a.", "9a", ".a", "-a", "ä", "a b", "a\0", "NUL", "con.txt"]
        {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check(&"k".repeat(KEY_BYTES + 1)).is_err());
    }
}

//! The files of the workspace as plain values, for the rules of `tidy` to look at.
//!
//! Nothing in here judges. Everything can be made from a text, so every rule is tested without a disk.

pub(crate) mod compose;
pub(crate) mod items;
pub(crate) mod manifest;
pub(crate) mod markdown;
pub(crate) mod mask;
pub(crate) mod program;
pub(crate) mod tree;

pub(crate) use tree::{File, Tree};

/// The words of a text, each with its offset. A word is letters, digits and underscores.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_gap = |c: char| !(c.is_alphanumeric() || c == '_');
    let mut next = 0;
    let pieces = text.split_inclusive(is_gap).map(move |piece| {
        let start = next;
        next += piece.len();
        (start, piece.trim_end_matches(is_gap))
    });
    pieces.filter(|(_, word)| !word.is_empty())
}

/// The line, counted from 1, that an offset lies in.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_place() {
        let found: Vec<_> = words("fn über_all(x: u8)").collect();
        assert_eq!(found, [(0, "fn"), (3, "über_all"), (13, "x"), (16, "u8")]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_at("a\nb", 0), 1);
        assert_eq!(line_at("a\nb", 2), 2);
    }
}

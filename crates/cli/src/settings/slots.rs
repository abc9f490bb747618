//! How many jobs run at once: for every built-in kind, and for each of them by name.

use std::collections::BTreeMap;

/// What may be named: the built-in kinds, and the applications that have slots.
const KINDS: [&str; 5] = ["echo", "sleep", "shell", "http", "bingo"];

/// Slots of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// On this worker, for this kind alone: at least so many can run here, whatever other kinds do.
    pub(crate) least: u32,
    /// In the whole fleet at once, at most.
    pub(crate) most: Option<u32>,
}

/// Slots of every kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    others: Share,
    named: BTreeMap<String, Share>,
}

impl Slots {
    /// Reads `8`, or `8, shell=1, http=2..16`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut slots = Slots { others: Share { least: 8, most: None }, named: BTreeMap::new() };
        for part in text.split(',').map(str::trim) {
            match part.split_once('=') {
                None => slots.others = share(part)?,
                Some((kind, share_of)) => {
                    let kind = kind.trim();
                    if !KINDS.contains(&kind) {
                        return Err(format!("`{kind}` is no built-in kind: use {}", KINDS.join(", ")));
                    }
                    slots.named.insert(kind.to_owned(), share(share_of.trim())?);
                }
            }
        }
        Ok(slots)
    }

    /// Those of an application, if they were said: one that computes fits itself to the machine otherwise.
    pub(crate) fn named(&self, name: &str) -> Option<Share> {
        self.named.get(name).copied()
    }

    /// Those of a kind.
    pub(crate) fn of(&self, kind: &str) -> Share {
        self.named.get(kind).copied().unwrap_or(self.others)
    }
}

fn share(text: &str) -> Result<Share, String> {
    let (least, most) = match text.split_once("..") {
        Some((least, most)) => (number(least)?, Some(number(most)?)),
        None => (number(text)?, None),
    };
    match most.is_some_and(|most| most < least) {
        true => Err(format!("`{text}`: the most is less than the least")),
        false => Ok(Share { least, most }),
    }
}

fn number(text: &str) -> Result<u32, String> {
    let most = turnwise::limits::SLOTS;
    let number = text.trim().parse().ok().filter(|slots| (1..=most).contains(slots));
    number.ok_or_else(|| format!("`{text}` is not a number of slots: use 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_share() {
        let slots = Slots::parse("4, shell=1, http = 2..16").unwrap();
        assert_eq!(slots.of("echo"), Share { least: 4, most: None });
        assert_eq!(slots.of("shell"), Share { least: 1, most: None });
        assert_eq!(slots.of("http"), Share { least: 2, most: Some(16) });
        assert_eq!(Slots::parse("shell=1").unwrap().of("echo").least, 8);
        assert_eq!(Slots::parse("4, bingo=1").unwrap().named("bingo"), Some(Share { least: 1, most: None }));
        assert_eq!(Slots::parse("4").unwrap().named("bingo"), None, "as many as there are processors");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let bad =
            [("0", "use 1 to"), ("shel=1", "no built-in kind"), ("http=4..2", "less than"), ("", "use 1 to")];
        for (text, why) in bad {
            assert!(Slots::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}

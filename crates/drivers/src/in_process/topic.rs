//! Topic keys: words between dots. Pure, so that the rules can be tested to the last corner.

/// Whether a routing key fits a pattern: `*` stands for one word, `#` for any number of words, also none.
///
/// An empty key has no words. Walks both texts without copying; on a dead end it goes back to the last `#`
/// and lets that one take another word, which is enough because an earlier `#` could only take the same
/// words.
pub(super) fn fits(pattern: &str, key: &str) -> bool {
    let (mut pattern, mut key) = (words(pattern), words(key));
    let mut last_any = None;
    loop {
        match (pattern.map(first), key.map(first)) {
            (Some(("#", rest)), _) => {
                pattern = rest;
                last_any = Some((pattern, key));
            }
            (Some((wanted, rest)), Some((word, others))) if wanted == "*" || wanted == word => {
                (pattern, key) = (rest, others);
            }
            (None, None) => return true,
            _ => {
                let Some((behind, Some(taken))) = last_any else { return false };
                (pattern, key) = (behind, first(taken).1);
                last_any = Some((pattern, key));
            }
        }
    }
}

/// Whether a pattern fits more than the key that is spelled like it.
pub(super) fn is_pattern(key: &str) -> bool {
    key.split('.').any(|word| word == "*" || word == "#")
}

/// The words of a text, or nothing if it has none.
fn words(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// The first word, and the words behind it.
fn first(words: &str) -> (&str, Option<&str>) {
    words.split_once('.').map_or((words, None), |(word, rest)| (word, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, fitting: &[&str], others: &[&str]) {
        for key in fitting {
            assert!(fits(pattern, key), "`{pattern}` must fit `{key}`");
        }
        for key in others {
            assert!(!fits(pattern, key), "`{pattern}` must not fit `{key}`");
        }
    }

    #[test]
    fn plain_words_fit_themselves() {
        check("a", &["a"], &["", "b", "aa", "a.b", "a.", ".a"]);
        check("room.42", &["room.42"], &["room", "room.4", "room.421", "room.42.x", "x.room.42"]);
        check("", &[""], &["a", "."]);
    }

    #[test]
    fn a_star_is_exactly_one_word() {
        check("*", &["a", "room"], &["", "a.b"]);
        check("a.*", &["a.b", "a."], &["a", "a.b.c", "b.b"]);
        check("*.b", &["a.b", ".b"], &["b", "a.c", "a.a.b"]);
        check("a.*.c", &["a.b.c", "a..c"], &["a.c", "a.b.b.c"]);
        check("*.*", &["a.b"], &["a", "a.b.c"]);
    }

    #[test]
    fn a_hash_is_any_number_of_words() {
        check("#", &["", "a", "a.b", "a.b.c"], &[]);
        check("a.#", &["a", "a.b", "a.b.c"], &["", "b", "b.a"]);
        check("#.c", &["c", "b.c", "a.b.c", "c.c"], &["", "c.d", "cc"]);
        check("a.#.c", &["a.c", "a.b.c", "a.b.b.c", "a.c.c"], &["a", "c", "a.c.b", "b.a.c"]);
        check("#.#", &["", "a", "a.b"], &[]);
    }

    #[test]
    fn both_together() {
        check("#.*", &["a", "a.b"], &[""]);
        check("*.#", &["a", "a.b"], &[""]);
        check("#.*.#", &["a", "a.b.c"], &[""]);
        check("*.#.*", &["a.b", "a.b.c"], &["a", ""]);
        check("#.b.*", &["b.c", "a.b.c", "b.b.b", "a.b.b.c"], &["b", "a.c", "b.c.d"]);
    }

    #[test]
    fn a_dead_end_goes_back_to_the_last_hash() {
        check("#.a.#.b", &["a.b", "a.x.b", "x.a.a.b", "a.b.a.b"], &["a", "b", "b.a", "a.b.c"]);
        check("#.a.b.#.c", &["a.b.c", "a.a.b.c", "a.x.a.b.x.c"], &["a.x.b.c", "a.b"]);
    }

    #[test]
    fn marks_count_only_as_whole_words_of_the_pattern() {
        check("a*", &["a*"], &["ab", "a"]);
        check("a.##", &["a.##"], &["a", "a.b"]);
        check("a.b", &[], &["a.*", "a.#", "#"]);
    }

    #[test]
    fn agrees_with_the_plain_definition() {
        fn plainly(pattern: &[&str], key: &[&str]) -> bool {
            match (pattern, key) {
                ([], []) => true,
                (["#", rest @ ..], _) => (0..=key.len()).any(|taken| plainly(rest, &key[taken..])),
                (["*", rest @ ..], [_, others @ ..]) => plainly(rest, others),
                ([wanted, rest @ ..], [word, others @ ..]) => wanted == word && plainly(rest, others),
                _ => false,
            }
        }
        fn every<'a>(alphabet: &[&'a str], most: usize) -> Vec<Vec<&'a str>> {
            let mut all = vec![Vec::new()];
            for length in 0..most {
                let longest: Vec<_> = all.iter().filter(|words| words.len() == length).cloned().collect();
                for words in longest {
                    all.extend(alphabet.iter().map(|word| [&words[..], &[*word]].concat()));
                }
            }
            all
        }
        let keys = every(&["a", "b"], 5);
        for pattern in every(&["a", "b", "*", "#"], 4) {
            for key in &keys {
                let (joined, joined_key) = (pattern.join("."), key.join("."));
                assert_eq!(fits(&joined, &joined_key), plainly(&pattern, key), "`{joined}` `{joined_key}`");
            }
        }
    }

    #[test]
    fn what_is_a_pattern() {
        assert!(is_pattern("#") && is_pattern("a.*") && is_pattern("#.a"));
        assert!(!is_pattern("") && !is_pattern("a.b") && !is_pattern("a*") && !is_pattern("a.##"));
    }
}

//! Rust code with its comments and literals blanked, so that a plain search finds code and nothing else.

/// Replaces comments, strings and character literals by spaces. Line breaks and offsets stay as they are.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = opaque_end(bytes, at);
        match end {
            Some(end) => {
                masked[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
                at = end;
            }
            None => at = token_end(bytes, at),
        }
    }
    String::from_utf8(masked).expect("whole literals were replaced by ASCII")
}

/// Where the comment or literal that starts here ends; nothing if neither starts here.
fn opaque_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        return Some(at + line);
    }
    if rest.starts_with(b"/*") {
        return Some(block_comment_end(bytes, at));
    }
    let prefix = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    match &rest[..prefix] {
        b"" | b"b" | b"c" if rest.get(prefix) == Some(&b'"') => {
            Some(quoted_end(bytes, at + prefix + 1, b'"'))
        }
        b"" | b"b" if rest.get(prefix) == Some(&b'\'') => char_end(bytes, at + prefix),
        b"r" | b"br" | b"cr" => raw_string_end(bytes, at + prefix),
        _ => None,
    }
}

/// Block comments nest.
fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if bytes[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The end of a literal with escapes; `at` is just behind its opening quote.
fn quoted_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// A quote opens a character literal or a lifetime; only the former ends with a quote after one character.
fn char_end(bytes: &[u8], open: usize) -> Option<usize> {
    let first = *bytes.get(open + 1)?;
    if first == b'\\' {
        return Some(quoted_end(bytes, open + 1, b'\''));
    }
    let width = 1 + bytes[open + 2..].iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
    let close = open + 1 + width;
    (bytes.get(close) == Some(&b'\'')).then_some(close + 1)
}

/// `at` is behind the `r`; nothing if no hashes and quote follow (then it is a name).
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at..].iter().take_while(|byte| **byte == b'#').count();
    let open = at + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let closing = [b"\"".as_slice(), &bytes[at..open]].concat();
    let length = bytes[open + 1..].windows(closing.len()).position(|window| window == closing);
    Some(length.map_or(bytes.len(), |length| open + 1 + length + closing.len()))
}

/// Names are passed over whole, so that the `r` in `for"` or the quote after `'a` starts nothing.
fn token_end(bytes: &[u8], at: usize) -> usize {
    let name = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    at + name.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a text, with runs of blanks drawn together.
    fn left(text: &str) -> String {
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
        masked.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_go() {
        assert_eq!(left("a // b {\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(left("/// fn x() {\n//! y\nz"), "z");
        assert_eq!(left("a /* never closed"), "a");
    }

    #[test]
    fn strings_go() {
        assert_eq!(left(r#"f("a \" { // no", b"x\\", c"y") + 1"#), "f( , , ) + 1");
        assert_eq!(left("r\"a\\\" b r#\"say \"hi\" {\"# c br##\"\"#\"## d"), "b c d");
        assert_eq!(left("\"two\nlines\" x"), "x");
        assert_eq!(left("x \"never closed \\"), "x");
    }

    #[test]
    fn characters_go_and_lifetimes_stay() {
        assert_eq!(left(r"['{', '\'', '\u{7d}', 'ü', b'{'] x"), "[ , , , , ] x");
        assert_eq!(
            left("fn f<'a>(x: &'a str, y: &'static str) {}"),
            "fn f<'a>(x: &'a str, y: &'static str) {}"
        );
        assert_eq!(left("'outer: loop { break 'outer; }"), "'outer: loop { break 'outer; }");
    }

    #[test]
    fn names_that_look_like_prefixes_stay() {
        assert_eq!(left("r#type + r + br + for_r(b)"), "r#type + r + br + for_r(b)");
        assert_eq!(left("bar\"x\" y"), "bar y");
    }

    #[test]
    fn every_shape_keeps_the_length() {
        for text in ["", "'", "b'", "r#", "'\\", "\"", "/", "/*", "é'é'é"] {
            assert_eq!(mask(text).len(), text.len(), "{text:?}");
        }
    }
}

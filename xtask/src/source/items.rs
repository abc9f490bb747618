//! Functions, traits and test regions in masked code, found by counting braces.

use std::ops::Range;

use super::words;

/// A function or a trait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) name: &'a str,
    /// From the keyword to the closing brace, or to the semicolon if there is no body.
    pub(crate) range: Range<usize>,
    /// Between the braces.
    pub(crate) body: Option<Range<usize>>,
}

/// The items that a keyword (`fn`, `trait`) starts, inner ones included.
pub(crate) fn items<'a>(code: &'a str, keyword: &str) -> Vec<Item<'a>> {
    words(code)
        .filter(|(_, word)| *word == keyword)
        .filter_map(|(start, word)| item(code, start, start + word.len()))
        .collect()
}

/// The items that are not inside another one of them: the methods of a trait, say.
pub(crate) fn outer_items<'a>(code: &'a str, keyword: &str) -> Vec<Item<'a>> {
    let mut end = 0;
    let mut outer = items(code, keyword);
    outer.retain(|item| {
        let is_outer = item.range.start >= end;
        end = end.max(item.range.end);
        is_outer
    });
    outer
}

fn item(code: &str, start: usize, behind_keyword: usize) -> Option<Item<'_>> {
    // A function pointer type has no name; `$name` is one that a macro fills in.
    let rest = code[behind_keyword..].trim_start();
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
    let name = &rest[..length];
    if name.is_empty() {
        return None;
    }
    let (end, body) = item_end(code, code.len() - rest.len() + length)?;
    Some(Item { name, range: start..end, body })
}

/// Where the item that `from` lies in ends, and what is between its braces if it has any.
///
/// Semicolons and braces inside of brackets belong to types, such as `[u8; 3]`.
fn item_end(code: &str, from: usize) -> Option<(usize, Option<Range<usize>>)> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' if depth == 0 => return None,
            b')' | b']' => depth -= 1,
            b';' if depth == 0 => return Some((at + 1, None)),
            b'{' if depth == 0 => {
                let close = closing(code, at)?;
                return Some((close + 1, Some(at + 1..close)));
            }
            _ => {}
        }
    }
    None
}

/// The offset of the bracket that closes the one at `open`, which is square or curly.
fn closing(code: &str, open: usize) -> Option<usize> {
    let opener = code.as_bytes()[open];
    let closer = if opener == b'{' { b'}' } else { b']' };
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        if byte == opener {
            depth += 1;
        } else if byte == closer {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Every attribute, `#[…]` and `#![…]`, without its brackets.
pub(crate) fn attributes(code: &str) -> Vec<Range<usize>> {
    let starts =
        code.match_indices("#[").map(|(at, _)| at + 1).chain(code.match_indices("#![").map(|(at, _)| at + 2));
    let mut found: Vec<_> = starts.filter_map(|open| Some(open + 1..closing(code, open)?)).collect();
    found.sort_by_key(|range| range.start);
    found
}

/// The items that exist only when testing: whatever a `#[cfg(test)]` stands on.
pub(crate) fn test_regions(code: &str) -> Vec<Range<usize>> {
    let for_tests = |attribute: &Range<usize>| {
        let text = &code[attribute.clone()];
        let mut parts = words(text).map(|(_, word)| word);
        parts.next() == Some("cfg") && parts.any(|word| word == "test") && !text.contains("not(test")
    };
    let region = |attribute: Range<usize>| Some(attribute.start..item_end(code, attribute.end + 1)?.0);
    attributes(code).into_iter().filter(for_tests).filter_map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &str, keyword: &str) -> Vec<String> {
        items(code, keyword).iter().map(|item| item.name.to_owned()).collect()
    }

    #[test]
    fn functions_of_every_shape() {
        let code = "pub async fn a<T: Fn(u8) -> u8>(x: [u8; 3]) -> impl Fn() where T: X { fn inner() {} }\n\
                    trait T { fn b(&self); fn c(&self) { } }\n\
                    type F = fn(u8) -> u8; macro_rules! m { ($n:ident) => { fn $n() {} } }";
        assert_eq!(names(code, "fn"), ["a", "inner", "b", "c", "$n"]);
        assert_eq!(names(code, "trait"), ["T"]);
    }

    #[test]
    fn a_range_reaches_from_keyword_to_brace() {
        let code = "pub fn a() { if x { y } }\nfn b();";
        let found = items(code, "fn");
        assert_eq!(&code[found[0].range.clone()], "fn a() { if x { y } }");
        assert_eq!(&code[found[0].body.clone().unwrap()], " if x { y } ");
        assert_eq!(&code[found[1].range.clone()], "fn b();");
        assert_eq!(found[1].body, None);
    }

    #[test]
    fn a_pattern_in_a_macro_is_no_function() {
        assert_eq!(names("macro_rules! m { (fn $n:ident $b:block) => { } }", "fn"), [""; 0]);
    }

    #[test]
    fn inner_items_can_be_left_out() {
        let outer = outer_items("fn a() { fn b() {} } fn c() {}", "fn");
        assert_eq!(outer.iter().map(|item| item.name).collect::<Vec<_>>(), ["a", "c"]);
    }

    #[test]
    fn attributes_are_found_with_nested_brackets() {
        let code = "#![deny(x)] #[a([1], [2])] fn f() {}";
        let found: Vec<_> = attributes(code).into_iter().map(|range| &code[range]).collect();
        assert_eq!(found, ["deny(x)", "a([1], [2])"]);
    }

    #[test]
    fn test_regions_are_what_only_tests_see() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { c(); } }\nfn d() {}\n\
                    #[cfg(not(test))] fn e() {}\n#[cfg(all(test, unix))] fn g(x: [u8; 3]) { i(); }\n#[cfg(test)] mod far;\n#[test] fn h() {}";
        let found = test_regions(code);
        let inside = |text: &str| found.iter().any(|region| region.contains(&code.find(text).unwrap()));
        for (text, expected) in
            [("c()", true), ("fn d", false), ("fn e", false), ("i()", true), ("far", true), ("fn h", false)]
        {
            assert_eq!(inside(text), expected, "{text}");
        }
    }
}

//! Stated exceptions: one line each, `rule path reason…`. One that covers nothing any more is a finding.

use super::Finding;

/// Where the exceptions are kept.
pub(super) const PATH: &str = "xtask/tidy-exceptions.txt";

/// How findings about the exceptions themselves are reported.
const NAME: &str = "exceptions";

/// A finding and the rule that made it.
pub(super) type Found = (&'static str, Finding);

struct Exception<'a> {
    rule: &'a str,
    path: &'a str,
    line: usize,
}

/// Takes away what the exceptions cover, and adds what is wrong with them.
pub(super) fn apply(text: &str, rules: &[&str], mut found: Vec<Found>) -> Vec<Found> {
    let mut faults = Vec::new();
    let mut exceptions = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read(line, number, rules) {
            Ok(exception) => exceptions.push(exception),
            Err(fault) => faults.push(fault),
        }
    }
    for Exception { rule, path, line } in exceptions {
        let before = found.len();
        found.retain(|(of, finding)| *of != rule || finding.path != path);
        if found.len() == before {
            faults.push(Finding::new(
                PATH,
                line,
                format!("nothing in {path} breaks `{rule}` any more: remove the line"),
            ));
        }
    }
    found.extend(faults.into_iter().map(|fault| (NAME, fault)));
    found
}

fn read<'a>(text: &'a str, line: usize, rules: &[&str]) -> Result<Exception<'a>, Finding> {
    let fault = |message: String| Err(Finding::new(PATH, line, message));
    let mut parts = text.split_whitespace();
    let (Some(rule), Some(path), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return fault("write an exception as: rule path reason".to_owned());
    };
    if !rules.contains(&rule) {
        return fault(format!("there is no rule `{rule}`: the rules are {}", rules.join(", ")));
    }
    Ok(Exception { rule, path, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 2] = ["long", "names"];

    fn found() -> Vec<Found> {
        vec![("long", Finding::new("a.rs", 1, "too long")), ("names", Finding::new("a.rs", 0, "bad name"))]
    }

    /// What is left: the rule, and the line for faults of the exceptions.
    fn left(text: &str) -> Vec<(&'static str, usize)> {
        apply(text, &RULES, found()).iter().map(|(rule, finding)| (*rule, finding.line)).collect()
    }

    #[test]
    fn a_reasoned_exception_covers_one_rule_in_one_file() {
        assert_eq!(left("# why\n\nlong a.rs a table that reads best in one piece\n"), [("names", 0)]);
        assert_eq!(left("long b.rs a reason\n"), [("long", 1), ("names", 0), (NAME, 1)]);
    }

    #[test]
    fn an_exception_that_covers_nothing_is_a_finding() {
        let left = apply("long a.rs reason\nlong a.rs again\n", &RULES, found());
        assert_eq!(left.len(), 2);
        assert!(left[1].1.message.contains("any more"), "{}", left[1].1.message);
    }

    #[test]
    fn a_reason_and_a_known_rule_are_needed() {
        assert_eq!(left("long a.rs\n").last(), Some(&(NAME, 1)));
        assert_eq!(left("\nlength a.rs reason\n").last(), Some(&(NAME, 2)));
    }
}

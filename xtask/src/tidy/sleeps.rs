//! Tests never sleep: they wait for a signal or move a manual clock. A sleep is either too short or too long.

use super::{Finding, Rule};
use crate::source::{File, Tree, items, line_at, words};

pub(super) const RULE: Rule = Rule { name: "sleeps", check };

const SLEEPS: [&str; 3] = ["sleep", "sleep_ms", "sleep_until"];

fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let code = &file.code;
    let regions = items::test_regions(code);
    let all = is_test_file(&file.path);
    words(code)
        .filter(|(at, word)| SLEEPS.contains(word) && is_used(&code[..*at], &code[at + word.len()..]))
        .filter(|(at, _)| all || regions.iter().any(|region| region.contains(at)))
        .map(|(at, _)| {
            let message = "a test must not sleep: wait for a signal, or move the test's clock";
            Finding::new(&file.path, line_at(code, at), message)
        })
        .collect()
}

/// Called or passed on, but not declared: a test may have a clock with such a method.
fn is_used(before: &str, behind: &str) -> bool {
    let before = before.trim_end();
    let declared = words(before).last().is_some_and(|(at, word)| word == "fn" && at + 2 == before.len());
    !declared && (behind.trim_start().starts_with('(') || before.ends_with("::"))
}

fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "system-tests"))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn sleeps_in_test_files_are_refused() {
        let text = "fn f() {\n    std::thread::sleep(d);\n    sleep (d);\n    // sleep(d)\n}\n";
        let files =
            [("crates/a/tests/b.rs", text), ("system-tests/src/lib.rs", text), ("crates/a/src/b.rs", text)];
        let expected = ["crates/a/tests/b.rs:2", "crates/a/tests/b.rs:3"];
        let more = ["system-tests/src/lib.rs:2", "system-tests/src/lib.rs:3"];
        assert_eq!(places(&RULE, &files), [expected, more].concat());
    }

    #[test]
    fn sleeps_in_test_modules_are_refused() {
        let text = "fn f() { sleep(d) }\n#[cfg(test)]\nmod tests {\n    tokio::time::sleep(d).await;\n}\n";
        assert_eq!(places(&RULE, &[("crates/a/src/b.rs", text)]), ["crates/a/src/b.rs:4"]);
    }

    #[test]
    fn passing_one_on_is_using_it_and_declaring_is_not() {
        let text = "let f = std::thread::sleep;\nfn sleep(&self) {}\nlet sleep = 1;\n";
        assert_eq!(places(&RULE, &[("tests/a.rs", text)]), ["tests/a.rs:1"]);
    }
}

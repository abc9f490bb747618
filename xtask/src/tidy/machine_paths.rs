//! No path of somebody's machine: what is committed works in every checkout.

use super::{Finding, Rule};
use crate::source::Tree;

pub(super) const RULE: Rule = Rule { name: "machine-paths", check };

const HOMES: [&str; 3] = ["/work/", "/root/", "/home/"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files() {
        for (number, line) in (1..).zip(file.text.lines()) {
            let home = HOMES
                .into_iter()
                .find(|home| line.match_indices(home).any(|(at, _)| starts_path(&line[..at])));
            found.extend(home.map(|home| {
                let message =
                    format!("a path of one machine (`{home}…`): write it relative to the workspace");
                Finding::new(&file.path, number, message)
            }));
        }
    }
    found
}

/// Nothing in front belongs to the same path or address, as in `src/work/` or `example.com/home/`.
fn starts_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "._-~}>)".contains(c))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn an_absolute_path_is_refused() {
        let text =
            "see /home/me/x\nlet p = \"/root/x\";\nfile:///work/x\nsrc/work/x ../work/x\nhttp://h:1/home/\n";
        assert_eq!(places(&RULE, &[("a.rs", text)]), ["a.rs:1", "a.rs:2", "a.rs:3"]);
    }
}

//! A relative link in a document leads to a file that is committed.

use super::{Finding, Rule};
use crate::source::{Tree, markdown};

pub(super) const RULE: Rule = Rule { name: "links", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.with_suffix(".md") {
        for (line, target) in markdown::links(&file.text) {
            let address = target.split(['#', '?']).next().unwrap_or_default();
            if !address.is_empty() && is_relative(&target) && !leads_somewhere(tree, file.folder(), address) {
                found.push(Finding::new(
                    &file.path,
                    line,
                    format!("no file at `{target}`: correct the link"),
                ));
            }
        }
    }
    found
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

fn leads_somewhere(tree: &Tree, folder: &str, address: &str) -> bool {
    resolved(folder, address).is_some_and(|path| path.is_empty() || tree.has(&path))
}

/// The path from the root; nothing if the address leaves the tree.
fn resolved(folder: &str, address: &str) -> Option<String> {
    if address.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(address.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_link_to_nowhere_is_refused() {
        let page = "[a](gone.md)\n[b](b.md#part) [c](../README.md) [d](./sub/) [e](#here) [f](..)\n\
                    [g](https://example.com/x) [h](mailto:a@b.c)\n[i](../../outside.md)\n[j](/README.md)\n";
        let files = [("docs/a.md", page), ("docs/b.md", ""), ("README.md", ""), ("docs/sub/c.md", "")];
        assert_eq!(places(&RULE, &files), ["docs/a.md:1", "docs/a.md:4", "docs/a.md:5"]);
    }
}

//! Every crate opens with a sentence about what it is for.

use super::{Finding, Rule};
use crate::source::{Tree, manifest};

pub(super) const RULE: Rule = Rule { name: "crate-docs", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let folders: Vec<&str> = manifest::packages(tree).into_iter().map(|(folder, _)| folder).collect();
    let roots = tree.rust().filter(|file| folders.iter().any(|folder| is_crate_root(folder, &file.path)));
    let silent = roots.filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| Finding::new(&file.path, 1, "start the crate with `//!` and what it is for")).collect()
}

fn is_crate_root(package: &str, path: &str) -> bool {
    let Some(inner) = path.strip_prefix(package).and_then(|rest| rest.strip_prefix("/src/")) else {
        return false;
    };
    let is_binary =
        inner.strip_prefix("bin/").is_some_and(|name| !name.contains('/') || name.ends_with("/main.rs"));
    inner == "lib.rs" || inner == "main.rs" || is_binary
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_crate_without_a_word_is_refused() {
        let files = [
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/src/lib.rs", "pub mod b;\n"),
            ("crates/a/src/b.rs", "pub fn c() {}\n"),
            ("crates/a/src/main.rs", "//! Says it.\n"),
            ("crates/a/src/bin/d.rs", "/// Says something else.\nfn main() {}\n"),
        ];
        assert_eq!(places(&RULE, &files), ["crates/a/src/lib.rs:1", "crates/a/src/bin/d.rs:1"]);
    }
}

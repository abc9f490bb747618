//! A contract has few verbs: every driver has to keep every one of them.

use super::{Finding, Rule};
use crate::source::{Tree, items, line_at};

pub(super) const RULE: Rule = Rule { name: "trait-size", check };

const MOST: usize = 6;

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for contract in items::items(&file.code, "trait") {
            let body = contract.body.map_or("", |body| &file.code[body]);
            let methods = items::outer_items(body, "fn").len();
            if methods > MOST {
                let name = contract.name;
                let message =
                    format!("trait `{name}` has {methods} methods, at most {MOST}: split it by who calls it");
                found.push(Finding::new(&file.path, line_at(&file.code, contract.range.start), message));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    fn contract(methods: usize) -> String {
        format!(
            "/// Doc.\npub trait T: Send {{\n{}}}\n",
            "    fn f(&self) { fn inner() {} }\n".repeat(methods)
        )
    }

    #[test]
    fn a_trait_with_too_many_verbs_is_refused() {
        let (full, over) = (contract(MOST), contract(MOST + 1));
        assert_eq!(places(&RULE, &[("full.rs", &full), ("over.rs", &over)]), ["over.rs:2"]);
    }
}

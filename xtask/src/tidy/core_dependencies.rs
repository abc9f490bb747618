//! The core stays pure: nothing that waits, reads a clock, draws a random number or touches the world.

use super::{Finding, Rule};
use crate::source::{Tree, manifest};

pub(super) const RULE: Rule = Rule { name: "core-dependencies", check };

const PATH: &str = "crates/core/Cargo.toml";

/// Calendars, data and digests: values in, values out.
const ALLOWED: [&str; 5] = ["croner", "jiff", "serde", "sha2", "thiserror"];

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.file(PATH).and_then(|file| manifest::read(&file.text)) else {
        return Vec::new();
    };
    let strange = manifest.dependencies.iter().filter(|found| !ALLOWED.contains(&found.name.as_str()));
    strange
        .map(|found| {
            let message =
                format!("the core may not depend on {}, only on {}", found.name, ALLOWED.join(", "));
            Finding::new(PATH, found.line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn an_impure_dependency_is_refused() {
        let text = "[package]\nname = \"turnwise-core\"\n[dependencies]\nserde = \"1\"\ntokio = \"1\"\n\
                    [dev-dependencies]\nproptest = \"1\"\n";
        let files = [(PATH, text), ("crates/drivers/Cargo.toml", text)];
        assert_eq!(places(&RULE, &files), ["crates/core/Cargo.toml:5"]);
    }
}

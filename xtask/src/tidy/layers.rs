//! Dependencies go one way: core ← drivers ← engine ← server ← apps ← cli.

use std::collections::BTreeMap;

use super::{Finding, Rule};
use crate::source::{Tree, manifest};

pub(super) const RULE: Rule = Rule { name: "layers", check };

/// Each package's folder, and the folders that it may name in its manifest. `*` stands for any name.
///
/// Applications are written against the engine and the server: they cannot name a driver, so every one of
/// them runs on every profile. The cryptography stands alone, and this tool
/// only starts servers.
const PLACES: [(&str, &[&str]); 11] = [
    ("crates/core", &[]),
    // Programs of others on this machine: it knows nothing of ours. Drivers and the program use it in
    // their tests.
    ("crates/servers", &[]),
    ("crates/drivers", &["crates/core", "crates/servers"]),
    ("crates/engine", &["crates/core", "crates/drivers"]),
    ("crates/server", &["crates/core", "crates/drivers", "crates/engine"]),
    ("crates/sim", &["crates/core", "crates/drivers", "crates/engine"]),
    ("crates/electionguard", &[]),
    ("apps/*", &["crates/core", "crates/engine", "crates/server", "crates/electionguard"]),
    (
        "crates/cli",
        &["crates/core", "crates/drivers", "crates/engine", "crates/server", "crates/servers", "apps/*"],
    ),
    ("system-tests", &["crates/*", "apps/*"]),
    ("xtask", &["crates/servers"]),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let packages = manifest::packages(tree);
    let folders: BTreeMap<&str, &str> =
        packages.iter().map(|(folder, manifest)| (manifest.name.as_str(), *folder)).collect();
    let mut found = Vec::new();
    for (folder, manifest) in &packages {
        let path = format!("{folder}/Cargo.toml");
        let Some((_, allowed)) = PLACES.iter().find(|(place, _)| fits(place, folder)) else {
            found.push(Finding::new(
                &path,
                0,
                "this package has no layer: give it one in xtask/src/tidy/layers.rs",
            ));
            continue;
        };
        for dependency in &manifest.dependencies {
            let Some(target) = folders.get(dependency.name.as_str()) else { continue };
            if !allowed.iter().any(|place| fits(place, target)) {
                let message = format!("{folder} may not depend on {target}: {}", may(allowed));
                found.push(Finding::new(&path, dependency.line, message));
            }
        }
    }
    found
}

fn fits(place: &str, folder: &str) -> bool {
    match place.strip_suffix('*') {
        Some(parent) => folder.strip_prefix(parent).is_some_and(|name| !name.contains('/')),
        None => place == folder,
    }
}

fn may(allowed: &[&str]) -> String {
    if allowed.is_empty() { "it stands alone".to_owned() } else { format!("only on {}", allowed.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    const CORE: &str = "[package]\nname = \"turnwise-core\"\n[dependencies]\nserde = \"1\"\n";
    const DRIVERS: &str =
        "[package]\nname = \"turnwise-drivers\"\n[dependencies]\nturnwise-core.workspace = true\n";

    #[test]
    fn a_step_up_is_refused() {
        let core = format!("{CORE}turnwise-drivers.workspace = true\n");
        let files = [("crates/core/Cargo.toml", core.as_str()), ("crates/drivers/Cargo.toml", DRIVERS)];
        assert_eq!(places(&RULE, &files), ["crates/core/Cargo.toml:5"]);
    }

    #[test]
    fn an_application_cannot_name_a_driver() {
        let chat = "[package]\nname = \"chat\"\n[dependencies]\nd = { package = \"turnwise-drivers\" }\n";
        let cli = "[package]\nname = \"turnwise-cli\"\n[dependencies]\nchat = \"1\"\nturnwise-core = \"1\"\n";
        let files = [
            ("crates/core/Cargo.toml", CORE),
            ("crates/drivers/Cargo.toml", DRIVERS),
            ("apps/chat/Cargo.toml", chat),
            ("crates/cli/Cargo.toml", cli),
        ];
        assert_eq!(places(&RULE, &files), ["apps/chat/Cargo.toml:4"]);
    }

    #[test]
    fn a_package_without_a_layer_is_refused() {
        assert_eq!(
            places(&RULE, &[("crates/new/Cargo.toml", "[package]\nname = \"new\"\n")]),
            ["crates/new/Cargo.toml:0"]
        );
    }
}

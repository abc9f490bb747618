//! The two things that tidy needs from a `Cargo.toml`: the package's name and what it depends on.

use super::Tree;

/// What a `Cargo.toml` of a package says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    /// Normal and build dependencies. Those of tests are free to point anywhere.
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package's name, also if it was renamed.
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// Where a line of the file belongs.
enum Section {
    Package,
    Dependencies,
    /// A dependency that has a section to itself.
    Dependency,
    Other,
}

/// The packages of the workspace, each with its folder.
pub(crate) fn packages(tree: &Tree) -> Vec<(&str, Manifest)> {
    let manifests = tree.files().iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    manifests.filter_map(|file| Some((file.folder(), read(&file.text)?))).collect()
}

/// Reads a manifest; nothing if it describes no package.
pub(crate) fn read(text: &str) -> Option<Manifest> {
    let mut name = None;
    let mut dependencies: Vec<Dependency> = Vec::new();
    let mut section = Section::Other;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.starts_with('[') && line.split('#').next().is_some_and(|head| head.trim_end().ends_with(']'))
        {
            let (next, single) = section_of(line);
            section = next;
            dependencies.extend(single.map(|name| Dependency { name, line: number }));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
        let key = key.trim().split('.').next().unwrap_or_default().trim_matches('"');
        match section {
            Section::Package if key == "name" => name = Some(unquoted(value)),
            Section::Dependencies => {
                let name = renamed(value).unwrap_or_else(|| key.to_owned());
                dependencies.push(Dependency { name, line: number });
            }
            Section::Dependency if key == "package" => {
                dependencies.last_mut().into_iter().for_each(|last| last.name = unquoted(value));
            }
            _ => {}
        }
    }
    Some(Manifest { name: name?, dependencies })
}

/// What a heading opens, and the dependency that it names itself.
fn section_of(line: &str) -> (Section, Option<String>) {
    let head = line.split('#').next().unwrap_or_default().trim().trim_matches(['[', ']']);
    let parts: Vec<&str> = head.rsplit('.').map(|part| part.trim().trim_matches(['"', '\''])).collect();
    let is_table = |part: &str| part == "dependencies" || part == "build-dependencies";
    match parts[..] {
        ["package"] => (Section::Package, None),
        [last, ..] if is_table(last) => (Section::Dependencies, None),
        [name, table, ..] if is_table(table) => (Section::Dependency, Some(name.to_owned())),
        _ => (Section::Other, None),
    }
}

/// The real name in `{ package = "…" }`.
fn renamed(value: &str) -> Option<String> {
    let (_, behind) = value.split_once("package")?;
    Some(behind.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?.split('"').next()?.to_owned())
}

fn unquoted(value: &str) -> String {
    value.split('#').next().unwrap_or_default().trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
[package]
name = "sample" # a name
version.workspace = true

[dependencies]
# left = "1"
anyhow.workspace = true
alias = { version = "1", package = "real", features = [
    "a",
] }
"quoted" = "1"

[target.'cfg(unix)'.dependencies]
rustix = "1"

[dependencies.single]
version = "1"

[build-dependencies.short]
package = "long"

[dev-dependencies]
proptest = "1"

[lints]
workspace = true
"#;

    #[test]
    fn every_way_to_depend_is_seen() {
        let manifest = read(SAMPLE).unwrap();
        assert_eq!(manifest.name, "sample");
        let names: Vec<_> = manifest.dependencies.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["anyhow", "real", "quoted", "rustix", "single", "long"]);
        assert_eq!(manifest.dependencies[0].line, 8);
    }

    #[test]
    fn a_workspace_is_no_package() {
        assert_eq!(read("[workspace]\nmembers = []\n[workspace.dependencies]\na = \"1\"\n"), None);
    }

    #[test]
    fn packages_come_with_their_folders() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"x\"\n"),
        ]);
        let found = packages(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].1.name.as_str()), ("crates/a", "x"));
    }
}

//! `cargo xtask dist`: the optimised program and what belongs to it, in one archive that is unpacked and tried.
//!
//! As static as can be: with the musl target the program needs nothing of the machine; without it, the C runtime comes
//! from the machine and everything else (SQLite, TLS) is inside.

mod archive;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cargo;
use crate::source::Tree;
use archive::{Archive, Content};

const PROFILE: &str = "dist";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Packed as they are, beside everything in the folders.
const FILES: [&str; 6] =
    ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "compose.yaml", ".env.example"];
const FOLDERS: [&str; 2] = ["docs/", "deploy/"];
/// Where a shell looks for each completion under which name.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "turnwise.bash"), ("zsh", "_turnwise"), ("fish", "turnwise.fish")];

/// What to pack.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The platform; musl if its target and its C compiler are installed, otherwise this machine's.
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
}

/// Builds, packs and tries.
pub(crate) fn run(root: &Path, built: &Path, options: &Options) -> Result<()> {
    let target = options.target.clone().map_or_else(preferred, Ok)?;
    println!("dist: building for {target}");
    let args = ["build", "--locked", "--profile", PROFILE, "--package", "turnwise-cli", "--target", &target];
    cargo::run_with(root, &args, &[("CARGO_ENCODED_RUSTFLAGS", without_machine_paths(root)?)])?;
    let program = built.join(&target).join(PROFILE).join("turnwise");
    println!("dist: what ldd says about it\n{}", linked(&program)?);
    let archive = Archive { folder: built.join(PROFILE), name: format!("turnwise-{VERSION}-{target}") };
    archive.pack(&contents(root, &program)?, time(root)?)?;
    archive.prove(&format!("turnwise {VERSION}"))?;
    println!("dist: packed, unpacked and tried: {}", archive.path().display());
    Ok(())
}

/// The most static target that can be built here.
fn preferred() -> Result<String> {
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let library = said(Command::new("rustc").args(["--print", "target-libdir", "--target", &musl]));
    // SQLite and the cryptography are partly written in C.
    let has_compiler = said(Command::new("musl-gcc").arg("--version")).is_ok();
    if has_compiler && library.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        return Ok(musl);
    }
    println!("dist: {musl} cannot be built here (rustup target add {musl}; apt-get install musl-tools)");
    let about = said(Command::new("rustc").arg("--version").arg("--verbose"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what this machine is")?.to_owned())
}

/// Flags for the compiler: what is packed does not tell where it was built, and is the same wherever that was.
fn without_machine_paths(root: &Path) -> Result<String> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => {
            Path::new(&std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?).join(".cargo")
        }
    };
    let flag = |path: &Path, name| format!("--remap-path-prefix={}={name}", path.display());
    Ok([flag(&home, "cargo"), flag(root, "turnwise")].join("\u{1f}"))
}

/// Which libraries of the machine the program needs.
fn linked(program: &Path) -> Result<String> {
    let output = Command::new("ldd").arg(program).output().context("cannot start ldd")?;
    // Of a static program it speaks on stderr, and fails.
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Everything that is packed.
fn contents(root: &Path, program: &Path) -> Result<Vec<Content>> {
    let mut contents = vec![
        Content::file("turnwise", program)?,
        Content::file("default-config.toml", &root.join("crates/cli/default-config.toml"))?,
    ];
    let tree = Tree::load(root)?;
    let wanted = |path: &str| FILES.contains(&path) || FOLDERS.iter().any(|folder| path.starts_with(folder));
    for path in tree.places().filter(|path| wanted(path) && root.join(path).is_file()) {
        contents.push(Content::file(path, &root.join(path))?);
    }
    for (shell, name) in COMPLETIONS {
        let script = said(Command::new(program).args(["completions", shell]))?;
        contents.push(Content {
            path: format!("completions/{name}"),
            bytes: script.into_bytes(),
            runs: false,
        });
    }
    Ok(contents)
}

/// The time that every file gets: that of the commit, unless the usual variable says another.
fn time(root: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => said(Command::new("git").current_dir(root).args(["log", "-1", "--format=%ct"]))?,
    };
    text.trim().parse().with_context(|| format!("`{}` is not a time in seconds since 1970", text.trim()))
}

/// What a program writes to stdout; an error if it fails.
fn said(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("cannot start {shown}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{shown} failed ({}): {}", output.status, error.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{shown} wrote no valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_exists() {
        let tree = Tree::load(&crate::root().unwrap()).unwrap();
        for file in FILES {
            assert!(tree.file(file).is_some(), "{file}");
        }
        assert!(FOLDERS.iter().all(|folder| tree.has(folder)));
    }

    #[test]
    fn a_program_that_fails_is_named() {
        let error = said(Command::new("git").arg("no-such-command")).unwrap_err().to_string();
        assert!(error.contains("no-such-command"), "{error}");
        assert!(said(&mut Command::new("no-such-program")).is_err());
    }

    #[test]
    fn the_folders_of_this_machine_are_renamed() {
        let flags = without_machine_paths(Path::new("/a/b")).unwrap();
        assert_eq!(flags.split('\u{1f}').count(), 2);
        assert!(flags.ends_with("--remap-path-prefix=/a/b=turnwise"), "{flags}");
    }
}

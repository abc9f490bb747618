//! What each step of the gate does.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use super::examples;
use crate::servers::ForTests;
use crate::{cargo, docs, packages, tidy};

/// The steps, in the order in which they are taken: what fails fastest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Step {
    /// Programs that the checks need
    Packages,
    /// Formatting
    Fmt,
    /// The habits of this code base
    Tidy,
    /// Generated documents
    Docs,
    /// Lints
    Clippy,
    /// Everything that the tests start
    Build,
    /// Unit, integration and system tests
    Tests,
    /// Examples in the documentation
    Doctests,
    /// Example programs
    Examples,
    /// The simulation
    Sim,
    /// The simulation with many more seeds; only with --long
    Soak,
}

/// Seeds of every run, and further ones of a long run.
const SEEDS: &str = "2000";
const SOAK_SEEDS: &str = "100000";

impl Step {
    pub(super) fn all() -> impl Iterator<Item = Step> {
        Step::value_variants().iter().copied()
    }

    /// Part of the gate without being asked for?
    pub(super) fn is_usual(self) -> bool {
        self != Step::Soak
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Step::Packages => "the programs that the checks need are installed",
            Step::Fmt => "the code is formatted",
            Step::Tidy => "the code keeps the habits",
            Step::Docs => "generated documents are in step with the code",
            Step::Clippy => "no lint complains",
            Step::Build => "everything builds, the binary that system tests start included",
            Step::Tests => "all tests pass",
            Step::Doctests => "examples in the documentation work",
            Step::Examples => "example programs work and end",
            Step::Sim => "the simulation keeps the promises for the usual seeds",
            Step::Soak => "the simulation keeps the promises for many more seeds",
        }
    }

    pub(super) fn take(self, root: &Path) -> Result<()> {
        match self {
            Step::Packages => packages::ensure_installed(),
            Step::Fmt => cargo::run(root, &["fmt", "--all", "--check"]),
            Step::Tidy => tidy::run(root),
            Step::Docs => docs::run(root, true),
            Step::Clippy => {
                cargo::run(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            }
            // System tests start the debug build of `turnwise`: it is here already, and its assertions are on.
            // Tests and examples are built with it, because what they need adds features: without them everything below
            // would be built twice.
            Step::Build => cargo::run(root, &["build", "--workspace", "--bins", "--tests", "--examples"]),
            Step::Tests => {
                // Once for all tests, and gone with this value, also if a test fails.
                let servers = ForTests::start()?;
                cargo::run_with(root, tests(cargo::has(root, "nextest")), &servers.variables())
            }
            Step::Doctests => cargo::run(root, &["test", "--doc", "--workspace"]),
            Step::Examples => examples::run(root),
            Step::Sim => cargo::run(root, &sim(&["--seeds", SEEDS])),
            Step::Soak => cargo::run(root, &sim(&["--from", SEEDS, "--seeds", SOAK_SEEDS])),
        }
    }
}

/// The runner that is there: nextest is faster, and nobody is forced to install it.
fn tests(has_nextest: bool) -> &'static [&'static str] {
    if has_nextest {
        return &["nextest", "run", "--workspace"];
    }
    println!("cargo-nextest is not installed: using the slower `cargo test`");
    &["test", "--workspace", "--lib", "--bins", "--tests"]
}

fn sim<'a>(args: &[&'a str]) -> Vec<&'a str> {
    crate::SIM.iter().chain(args).copied().collect()
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().ok_or(fmt::Error)?;
        f.write_str(value.get_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shown_as_it_is_typed() {
        for step in Step::all() {
            assert_eq!(Step::from_str(&step.to_string(), false), Ok(step));
        }
    }

    #[test]
    fn the_soak_goes_on_where_the_usual_seeds_end() {
        assert_eq!(sim(&["--from", SEEDS])[5..], ["--from", "2000"]);
    }

    #[test]
    fn either_runner_covers_the_workspace() {
        assert_eq!(tests(true), ["nextest", "run", "--workspace"]);
        assert_eq!(tests(false)[..2], ["test", "--workspace"]);
    }
}

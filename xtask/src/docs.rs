//! Documents whose tables are written by the code they describe, so the two cannot drift apart.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::cargo;

/// A part of a document that a program writes.
struct Generated {
    /// The document.
    path: &'static str,
    /// Which part of it: its name in the opening marker.
    part: &'static str,
    /// What the document starts with if it does not exist yet.
    opening: &'static str,
    /// Source of the program, so that its absence can be told apart from its failure.
    source: &'static str,
    /// The cargo arguments that run it; it writes the part to stdout.
    run: &'static [&'static str],
}

/// To generate another part, add a line here and an example that prints it.
const GENERATED: &[Generated] = &[Generated {
    path: "docs/state-machine.md",
    part: "state-machine",
    opening: "# The state machine\n\nWhat each command does to a job in each state, printed by the code itself.\n",
    source: "crates/core/examples/state_machine_table.rs",
    run: &["run", "-q", "-p", "turnwise-core", "--example", "state_machine_table"],
}];

const END: &str = "<!-- /generated -->";

/// Writes every generated part, or compares it with what is there.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    for generated in GENERATED {
        let content = content(root, generated)?;
        let path = root.join(generated.path);
        let present = if path.exists() { Some(std::fs::read_to_string(&path)?) } else { None };
        let wanted = with_part(present.as_deref(), generated, &content)?;
        if present.as_deref() == Some(&wanted) {
            println!("docs: {} is in step", generated.path);
        } else if check {
            bail!("{}: run\n    cargo xtask docs", difference(generated.path, present.as_deref(), &wanted));
        } else {
            let folder = path.parent().context("a document lies in a folder")?;
            std::fs::create_dir_all(folder)?;
            std::fs::write(&path, wanted).with_context(|| format!("cannot write {}", generated.path))?;
            println!("docs: wrote {}", generated.path);
        }
    }
    Ok(())
}

fn content(root: &Path, generated: &Generated) -> Result<String> {
    let Generated { path, source, run, .. } = generated;
    ensure!(root.join(source).exists(), "{path} is written by {source}, which does not exist: add it");
    let content = cargo::output(root, run)?;
    ensure!(!content.trim().is_empty(), "{source} printed nothing for {path}");
    Ok(content)
}

/// The document with its part replaced; everything around the markers stays.
fn with_part(present: Option<&str>, generated: &Generated, content: &str) -> Result<String> {
    let Generated { path, part, opening, .. } = generated;
    ensure!(!content.contains(END), "the part `{part}` of {path} must not contain `{END}`");
    let start = format!("<!-- generated: {part} -->");
    let block = format!("{start}\n\n{}\n\n{END}", content.trim());
    let Some(present) = present else { return Ok(format!("{opening}\n{block}\n")) };
    let markers =
        present.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        markers.with_context(|| format!("{path} has lost its markers: put `{start}` and `{END}` back"))?;
    Ok(format!("{before}{block}{after}"))
}

/// Names the first line that differs.
fn difference(path: &str, present: Option<&str>, wanted: &str) -> String {
    let Some(present) = present else { return format!("{path} is missing") };
    let same = present.lines().zip(wanted.lines()).take_while(|(is, should)| is == should).count();
    let line = wanted.lines().nth(same).unwrap_or("");
    format!("{path} is not in step with the code; line {} should read `{line}`", same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Generated = Generated {
        path: "docs/x.md",
        part: "x",
        opening: "# X\n",
        source: "no/such/file.rs",
        run: &["--version"],
    };

    #[test]
    fn a_new_document_gets_a_heading() {
        let text = with_part(None, &SAMPLE, "| a |\n").unwrap();
        assert_eq!(text, "# X\n\n<!-- generated: x -->\n\n| a |\n\n<!-- /generated -->\n");
    }

    #[test]
    fn only_its_own_part_changes() {
        let text = "# Mine\n\n<!-- generated: x -->\nold\n<!-- /generated -->\n\nMore.\n<!-- generated: y -->\n<!-- /generated -->\n";
        let changed = with_part(Some(text), &SAMPLE, "new\n").unwrap();
        assert_eq!(changed, text.replace("\nold\n", "\n\nnew\n\n"));
        assert_eq!(
            with_part(Some(&changed), &SAMPLE, "new\n").unwrap(),
            changed,
            "writing twice changes nothing"
        );
    }

    #[test]
    fn lost_markers_are_an_error() {
        for text in ["# Mine\n", "<!-- generated: x -->\n", "<!-- generated: y -->\n<!-- /generated -->\n"] {
            let error = with_part(Some(text), &SAMPLE, "new").unwrap_err().to_string();
            assert!(error.contains("lost its markers"), "{error}");
        }
        assert!(with_part(None, &SAMPLE, END).is_err());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = content(Path::new("."), &SAMPLE).unwrap_err().to_string();
        assert!(error.contains("no/such/file.rs, which does not exist"), "{error}");
    }

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(difference("a.md", None, "x"), "a.md is missing");
        assert!(difference("a.md", Some("1\n2\n"), "1\n3\n").ends_with("line 2 should read `3`"));
    }
}

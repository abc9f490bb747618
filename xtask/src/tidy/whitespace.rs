//! No blanks at the end of a line, one line break at the end of a file: differences show changes only.

use super::{Finding, Rule};
use crate::source::{File, Tree};

pub(super) const RULE: Rule = Rule { name: "whitespace", check };

fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().iter().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    // Carriage returns are blanks too: `lines` would hide them.
    let lines = (1..).zip(file.text.split('\n'));
    let trailing = lines.filter(|(_, line)| line.ends_with(char::is_whitespace));
    let mut found: Vec<_> = trailing
        .map(|(number, _)| Finding::new(&file.path, number, "remove the blanks at the end of the line"))
        .collect();
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let last = file.text.lines().count();
        found.push(Finding::new(&file.path, last, "end the last line with a line break"));
    }
    if file.text.ends_with("\n\n") {
        let last = file.text.lines().count();
        found.push(Finding::new(&file.path, last, "remove the empty lines at the end"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn blanks_at_line_ends_are_refused() {
        let text = "a\nb \nc\t\nd\r\n";
        assert_eq!(places(&RULE, &[("a.md", text), ("b.md", "a\n")]), ["a.md:2", "a.md:3", "a.md:4"]);
    }

    #[test]
    fn a_file_ends_with_one_line_break() {
        let files = [("a.md", "a\nb"), ("b.md", "a\n\n"), ("c.md", ""), ("d.md", "a\n")];
        assert_eq!(places(&RULE, &files), ["a.md:2", "b.md:2"]);
    }
}

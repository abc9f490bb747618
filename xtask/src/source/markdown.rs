//! The parts of a Markdown text that point at something: code spans, links and tables.

/// The lines outside of code fences, counted from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence = None;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) => return true,
            (None, opened) => fence = opened,
            (open, mark) if open == mark => fence = None,
            _ => {}
        }
        false
    })
}

/// What stands between single backticks in a line.
pub(crate) fn code_spans(line: &str) -> Vec<&str> {
    // Only a span that is closed counts, so a lone backtick is text.
    let parts: Vec<&str> = line.split('`').collect();
    let closed = (parts.len() - 1) / 2 * 2;
    parts[..closed].iter().skip(1).step_by(2).copied().collect()
}

/// Where the links and images of a text lead, with their lines.
pub(crate) fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        let inline = line.split("](").skip(1).map(|behind| behind.split(')').next().unwrap_or_default());
        let definition =
            line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
        for target in inline.chain(definition) {
            // A title may follow the address, and angle brackets may hold it.
            let address = target.split_whitespace().next().unwrap_or_default();
            found.push((number, address.trim_matches(['<', '>']).to_owned()));
        }
    }
    found
}

fn without_code(line: &str) -> String {
    let mut line = line.to_owned();
    let spans: Vec<String> = code_spans(&line).into_iter().map(|span| format!("`{span}`")).collect();
    spans.iter().for_each(|span| line = line.replacen(span, "", 1));
    line
}

/// One row of a table under its headings.
pub(crate) struct Row<'a> {
    pub(crate) line: usize,
    /// Heading and cell, from left to right.
    pub(crate) cells: Vec<(&'a str, &'a str)>,
}

/// The rows of all tables.
pub(crate) fn rows(text: &str) -> Vec<Row<'_>> {
    let mut found = Vec::new();
    let mut headings: Option<Vec<&str>> = None;
    for (number, line) in prose(text) {
        let Some(cells) = cells(line) else {
            headings = None;
            continue;
        };
        match &headings {
            None => headings = Some(cells),
            Some(_) if cells.iter().all(|cell| cell.chars().all(|c| c == '-' || c == ':')) => {}
            Some(names) => {
                found.push(Row { line: number, cells: names.iter().copied().zip(cells).collect() });
            }
        }
    }
    found
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    Some(inner.strip_suffix('|').unwrap_or(inner).split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_hide_their_lines() {
        let text = "a\n```sh\nb\n~~~\n```\nc\n~~~\nd\n~~~\n";
        assert_eq!(prose(text).collect::<Vec<_>>(), [(1, "a"), (6, "c")]);
    }

    #[test]
    fn spans_are_closed_pairs() {
        assert_eq!(code_spans("`a` and `b c`, but ` alone"), ["a", "b c"]);
        assert_eq!(code_spans("none"), [""; 0]);
    }

    #[test]
    fn links_of_every_kind() {
        let text =
            "[a](x.md) ![b](img/y.png \"title\") `[c](no.md)`\n[d]: <z.md#part>\n```\n[e](no.md)\n```\n";
        let expected =
            [(1, "x.md"), (1, "img/y.png"), (2, "z.md#part")].map(|(line, to)| (line, to.to_owned()));
        assert_eq!(links(text), expected);
    }

    #[test]
    fn rows_carry_their_headings() {
        let text = "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n| c |\n| --- |\n| 3 |\n";
        let found = rows(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].cells, [("a", "1"), ("b", "2")]);
        assert_eq!((found[1].line, &found[1].cells[..]), (7, &[("c", "3")][..]));
    }
}

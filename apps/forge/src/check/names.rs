//! Names: they become labels, folders, tables and variables, so little is allowed in them.

use super::reader::{At, Wrong, shown};
use super::words::reserved;

/// Longest name of an entity or a field.
const NAME: usize = 40;
/// Longest name of a service: what is put before and behind it still fits into a label.
const SERVICE: usize = 40;
/// Longest id.
const ID: usize = 64;
/// Longest name of an owner here: it stands in a commit.
const OWNER: usize = 64;

/// A service: a label of the name system.
pub(super) fn service(at: &At<'_>) -> Result<String, Wrong> {
    let name = plain(at, SERVICE, "lower-case letters, digits and dashes", |letter| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
    })?;
    if name.ends_with('-') || name.contains("--") {
        return at.wrong(format!("`{name}` has a dash at its end or two in a row: use single dashes inside"));
    }
    begins_with_letter(at, name)?;
    free(at, name)
}

/// An entity or a field.
pub(super) fn word(at: &At<'_>) -> Result<String, Wrong> {
    let name = plain(at, NAME, "lower-case letters, digits and underscores", |letter| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
    })?;
    if name.ends_with('_') || name.contains("__") {
        return at
            .wrong(format!("`{name}` has an underscore at its end or two in a row: use single ones inside"));
    }
    begins_with_letter(at, name)?;
    free(at, name)
}

/// An id of a request or a trace.
pub(super) fn id(at: &At<'_>) -> Result<String, Wrong> {
    let id = plain(at, ID, "letters, digits, dots, dashes and underscores", |letter| {
        letter.is_ascii_alphanumeric() || "._-".contains(letter)
    })?;
    if !id.starts_with(|letter: char| letter.is_ascii_alphanumeric()) || id.contains("..") {
        return at.wrong(format!(
            "`{id}` begins with a sign or has two dots in a row: begin with a letter or a digit"
        ));
    }
    Ok(id.to_owned())
}

/// Whoever asks.
pub(super) fn owner(at: &At<'_>) -> Result<String, Wrong> {
    let owner = plain(at, OWNER, "letters, digits, dots, dashes, underscores and @", |letter| {
        letter.is_ascii_alphanumeric() || "._-@".contains(letter)
    })?;
    if !owner.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        return at.wrong(format!("`{owner}` begins with a sign: begin with a letter or a digit"));
    }
    Ok(owner.to_owned())
}

fn plain<'a>(at: &At<'a>, most: usize, allowed: &str, fits: impl Fn(char) -> bool) -> Result<&'a str, Wrong> {
    let name = at.text()?;
    if name.is_empty() {
        return at.wrong(format!("is empty: use {allowed}"));
    }
    if let Some(bad) = name.chars().find(|letter| !fits(*letter)) {
        let bad = bad.escape_debug();
        return at.wrong(format!("`{}` has a `{bad}` in it: use {allowed}", shown(name)));
    }
    if name.len() > most {
        return at.wrong(format!("`{}` has {} characters: use at most {most}", shown(name), name.len()));
    }
    Ok(name)
}

fn begins_with_letter(at: &At<'_>, name: &str) -> Result<(), Wrong> {
    match name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        true => Ok(()),
        false => at.wrong(format!("`{name}` does not begin with a letter: begin with one")),
    }
}

fn free(at: &At<'_>, name: &str) -> Result<String, Wrong> {
    match reserved(name) {
        None => Ok(name.to_owned()),
        Some(language) => at.wrong(format!("`{name}` means something in {language}: choose another name")),
    }
}

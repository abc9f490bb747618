//! What a commit writes, as one statement where that is possible: for each statement the server answers on its own, and
//! whoever waits is woken for each answer. (One submission after the other: see `docs/fleet.md` for what it came to.)

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::link::Pending;

/// More statements than this stay apart: every combination is a plan of its own, kept for each connection.
const MOST: usize = 8;

/// Makes one statement of writes to different tables. The last may be a question, and then is what is asked. Inside one
/// statement no write sees another, so two writes to one table stay apart; only those to `job` never meet, because each
/// names the rows that it is about.
pub(super) fn together(pending: Vec<Pending>) -> Vec<Pending> {
    let mut tables = BTreeSet::new();
    let apart = pending.iter().map(|one| table(&one.sql)).all(|table| table == "job" || tables.insert(table));
    let mut texts = BTreeSet::new();
    let differ = pending.iter().all(|one| texts.insert(&*one.sql));
    if !apart || !differ || !(2..=MOST).contains(&pending.len()) {
        return pending;
    }
    let (mut sql, mut values) = (String::new(), Vec::new());
    let mut question = None;
    let last = pending.len() - 1;
    for (place, one) in pending.into_iter().enumerate() {
        let numbered = renumbered(&one.sql, values.len());
        values.extend(one.values);
        if place == last && numbered.starts_with("SELECT ") {
            question = Some(numbered);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(sql, "{} w{place} AS ({numbered})", if place == 0 { "WITH" } else { "," });
        }
    }
    sql.push(' ');
    sql.push_str(question.as_deref().unwrap_or("SELECT 1"));
    vec![Pending { sql: sql.into(), values }]
}

/// The table that a statement writes to; a question writes to none.
fn table(sql: &str) -> &str {
    let mut words = sql.split_whitespace();
    match words.next() {
        Some("INSERT" | "DELETE") => words.nth(1).unwrap_or(""),
        Some("UPDATE") => words.next().unwrap_or(""),
        _ => "",
    }
}

/// The same statement with its values counted from further on.
fn renumbered(sql: &str, before: usize) -> String {
    let mut parts = sql.split('$');
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = part[..digits].parse().unwrap_or(0);
        let _ = write!(text, "${}{}", number + before, &part[digits..]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(sql: &'static str, values: usize) -> Pending {
        Pending { sql: sql.into(), values: (0..values).map(|n| Box::new(n as i64) as _).collect() }
    }

    fn texts(pending: &[Pending]) -> Vec<&str> {
        pending.iter().map(|one| &*one.sql).collect()
    }

    #[test]
    fn values_are_counted_on() {
        let one = together(vec![
            pending("INSERT INTO a VALUES ($1, $2)", 2),
            pending("DELETE FROM b WHERE id = ANY($1)", 1),
            pending("SELECT pg_notify($1, $2)", 2),
        ]);
        let wanted = "WITH w0 AS (INSERT INTO a VALUES ($1, $2)), w1 AS (DELETE FROM b WHERE id = ANY($3)) \
                      SELECT pg_notify($4, $5)";
        assert_eq!(texts(&one), [wanted]);
        assert_eq!(one[0].values.len(), 5);
    }

    #[test]
    fn what_is_alike_or_too_much_stays_apart() {
        let alike = together(vec![
            pending("DELETE FROM a WHERE id = $1", 1),
            pending("DELETE FROM a WHERE id = $1", 1),
        ]);
        assert_eq!(alike.len(), 2);
        let same = ["INSERT INTO error (job) VALUES ($1)", "DELETE FROM error WHERE fence < $1"];
        assert_eq!(together(same.map(|sql| pending(sql, 1)).into()).len(), 2, "one must see the other");
        let jobs = ["INSERT INTO job (id) VALUES ($1)", "UPDATE job SET state = 2 WHERE id = $1"];
        assert_eq!(together(jobs.map(|sql| pending(sql, 1)).into()).len(), 1);
        assert_eq!(together(vec![pending("DELETE FROM a", 0)]).len(), 1);
    }
}
